"""Build an index of a whole collection under a temporary name: one transaction, and one segment unless it is huge.

Queries are faster the fewer segments there are. So the keys of the documents wait in a temporary file, from which the
segment is written row by row; to write segments as they come and merge them at the end takes twice as long.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from neardup import logs
from neardup.cutting import distinct
from neardup.engine.fit import PassingSample
from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.index.core import Core
from neardup.index.database import Database
from neardup.index.folders import appearing
from neardup.index.outcomes import Added
from neardup.index.prepared import EMPTY, SHORT, PreparedDocuments, of_batches, original_id
from neardup.index.retention import note_added
from neardup.index.segments import Keys, fresh_name, write_new
from neardup.index.statements import Writing
from neardup.inputs.reader import Reader
from neardup.params import Spec
from neardup.types import I64, U32, U64, Mask

SEGMENT_DOCUMENTS = 1 << 23
"""The number of documents after which a segment is written: writing it takes about 40 bytes of memory for each."""


def build_folder(
    folder: Path, reader: Reader, spec: Spec, on_duplicate: str, *, threads: int, observer: Observer
) -> Added:
    """Make an index of all that a reader reads. It takes its name when it is whole.

    Ids are compared at the end, by their hashes; 8 bytes of memory each.
    """
    with appearing(folder) as place, closing(Database.create(place, spec, fast=True)) as made:
        core, read = Core(place, spec, made, threads=threads), Added()
        observer.stage("build", reader.total_bytes, "bytes")
        with (
            tempfile.TemporaryFile(dir=place) as keys,
            made.writing() as writing,
            closing(of_batches(core.sketcher, reader, threads)) as batches,
        ):
            load = _Load(core, keys)
            for batch, prepared in batches:
                if len(prepared):
                    load.put(writing, prepared)
                logs.skipped(batch.faults)
                read += Added(bad=batch.bad, blank=batch.blank, faults=tuple(batch.faults))
                observer.advance(batch.consumed)
            load.write_segment(writing)
            gone = _settle_ids(writing, load, on_duplicate)
        made.settle()
    replaced, skipped = (gone, 0) if on_duplicate == "replace" else (0, gone)
    told = Added(columns=reader.columns, passed_over=reader.passed_over)
    stored = Added(load.numbers - gone, replaced, skipped, load.empty, load.short)
    return replace(read + told + stored, hints=load.sample.hints(spec))


class _KeyFile:
    """The keys of documents in a file, as ``Keys`` has them, of which one row at a time is in memory."""

    def __init__(self, file: BinaryIO, rows: int, sizes: list[int]) -> None:
        self._file, self._sizes = file, np.array(sizes)
        self.shape = rows, sum(sizes)

    def __getitem__(self, row: int) -> U32:
        begins = self.shape[0] * (np.cumsum(self._sizes) - self._sizes) + row * self._sizes
        whole = np.memmap(self._file, np.uint32, "r")
        return np.concatenate([whole[begin : begin + size] for begin, size in zip(begins, self._sizes, strict=True)])


class _Load:
    """The documents that were stored so far."""

    def __init__(self, core: Core, keys: BinaryIO) -> None:
        self.numbers = self.empty = self.short = 0
        self.sample = PassingSample()
        self.id_prints: list[U64] = [np.empty(0, dtype=np.uint64)]
        self._core, self._keys = core, keys
        self._held: list[tuple[U64, Mask]] = []
        """The prints of each batch of the next segment, and a mask of the texts that have shingles."""
        self._first = 0

    def put(self, writing: Writing, prepared: PreparedDocuments) -> None:
        writing.insert(prepared.rows(self.numbers))
        note_added(writing, self.numbers)
        self.numbers += len(prepared)
        self.empty += int(np.count_nonzero(prepared.kinds & EMPTY))
        self.short += int(np.count_nonzero(prepared.kinds & SHORT))
        self.id_prints.append(prepared.id_prints)
        self.sample.add(prepared.normal, prepared.prints, prepared.has_shingles)
        self._held.append((prepared.prints, prepared.has_shingles))
        self._keys.write(np.ascontiguousarray(prepared.keys).data)
        if self.numbers - self._first >= SEGMENT_DOCUMENTS:
            self.write_segment(writing)

    def write_segment(self, writing: Writing) -> None:
        """Write the postings of the documents that were stored since the last segment."""
        if not self._held:
            return
        core, name = self._core, fresh_name(self._first, self.numbers)
        prints, has_shingles = zip(*self._held, strict=True)
        self._keys.flush()
        keys = Keys(
            self._first,
            [_KeyFile(self._keys, core.views.rows, [part.size for part in prints])],
            np.arange(self.numbers - self._first),
            np.concatenate(prints),
            np.concatenate(has_shingles),
        )
        write_new(core.segment(name), keys, core.spec.id)
        writing.put_segment(self._first, self.numbers, name, np.empty(0, np.int64))
        self._held, self._first = [], self.numbers
        self._keys.seek(0)


def _settle_ids(writing: Writing, load: _Load, on_duplicate: str) -> int:
    """Deal with ids that come back, and set the counters; returns how many documents are gone."""
    gone: list[tuple[int, int]] = []
    for numbers in _repeated(np.concatenate(load.id_prints)):
        by_id: dict[str, list[tuple[int, int]]] = {}
        for number, id, kind, _ in writing.names(numbers.tolist()):
            by_id.setdefault(id, []).append((number, kind))
        for id, copies in by_id.items():
            if len(copies) > 1 and on_duplicate == "error":
                (first, _), (second, _), *_ = copies
                raise InputError(
                    f"the id {original_id(id, copies[-1][1])!r} comes back: documents {first + 1} and {second + 1} have"
                    " it. Make ids distinct, or give on_duplicate='skip' or 'replace' (--on-duplicate)."
                )
            gone += copies[1:] if on_duplicate == "skip" else copies[:-1]
    load.empty -= sum(1 for _, kind in gone if kind & EMPTY)
    load.short -= sum(1 for _, kind in gone if kind & SHORT)
    writing.delete([number for number, _ in gone])
    writing.note_change(documents=load.numbers - len(gone), empty=load.empty, numbers=load.numbers)
    return len(gone)


def _repeated(prints: U64) -> list[I64]:
    """Numbers of documents whose ids have one hash, group by group."""
    order = np.argsort(prints, kind="stable")
    same = np.flatnonzero(prints[order[1:]] == prints[order[:-1]])
    again = distinct(np.concatenate((same, same + 1)))
    cuts = np.flatnonzero(prints[order[again[1:]]] != prints[order[again[:-1]]]) + 1
    return [np.sort(part) for part in np.split(order[again], cuts)]
