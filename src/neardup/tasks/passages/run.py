"""One run: inputs read, repeats found, spans and clean texts given as streams."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from neardup._version import __version__
from neardup.arrays import flags, numbers, strings
from neardup.engine.observe import Observer, Silent
from neardup.engine.repeats.find import Repeats, find_repeats
from neardup.engine.repeats.units import Units, Window
from neardup.engine.space import Budget, Space
from neardup.errors import InputError
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader
from neardup.params import Normalize, RunOptions
from neardup.params.checks import check_choice
from neardup.session import limit_records
from neardup.stages.repeats.policies import POLICIES, Cuts, find_cuts
from neardup.stages.repeats.segments import FIRST, OTHER, Segments
from neardup.stages.repeats.surgery import SNAPS, snap_cuts, without
from neardup.types import I64

DEFAULT_MIN_BYTES = 100
LEAST = {"byte": 16, "char": 16, "word": 4}
"""Units of the shortest stretch that may be asked for: half of them are an anchor, of eight bytes or two words."""
MOST = 1 << 16
"""The hashes of one stretch are held."""
UNCHANGED = Normalize("none")
TEXT_BYTES = 4 << 20
"""Bytes of clean texts in a batch, about."""


@dataclass(frozen=True, slots=True)
class Length:
    """How long a stretch is at least."""

    kind: str
    """``byte``, ``char`` or ``word``."""
    units: int

    def __post_init__(self) -> None:
        least, value = LEAST[self.kind], self.units
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
            raise InputError(f"min_{self.kind}s is {value!r}. Give a whole number from {least} to {MOST:,}.")

    @classmethod
    def of(cls, min_bytes: Any, min_words: Any, min_chars: Any) -> Length:
        """The one that is given, DEFAULT_MIN_BYTES if none is; InputError where several are, or it cannot be used."""
        named = (("byte", min_bytes), ("word", min_words), ("char", min_chars))
        given = [(kind, value) for kind, value in named if value is not None]
        if len(given) > 1:
            names = " and ".join(f"min_{kind}s" for kind, _ in given)
            raise InputError(f"{names} are given. Give one of min_bytes, min_words and min_chars.")
        return cls(*given[0]) if given else cls("byte", DEFAULT_MIN_BYTES)

    @property
    def least_bytes(self) -> int:
        """Bytes of the shortest text that can have so many units: one for each, and one between two words."""
        return 2 * self.units - 1 if self.kind == "word" else self.units


@dataclass(frozen=True, slots=True)
class Cutting:
    """What is cut of repeated passages."""

    policy: str = "first"
    """One of POLICIES."""
    snap: str = "word"
    """One of SNAPS: to what a cut is moved inward."""
    min_cut: int = DEFAULT_MIN_BYTES
    """Bytes of the shortest cut."""
    min_left: int = 0
    """Characters that a text that was cut must have left; with fewer it is left out."""

    def __post_init__(self) -> None:
        check_choice(self.policy, tuple(POLICIES), "policy")
        check_choice(self.snap, SNAPS, "snap")
        for name in ("min_cut", "min_left"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise InputError(f"{name} is {value!r}. Give a whole number of at least 0.")


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document of which something is cut; texts are UTF-8."""

    row: int
    before: bytes
    after: bytes
    cut_bytes: int

    @property
    def left(self) -> int:
        """Characters that are left."""
        return len(self.after.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class PassageSummary:
    """What was read and found."""

    documents: int
    too_short: int
    """Documents that are shorter than the shortest stretch, and hold no passage."""
    bytes: int
    bad: int
    """Records left out because they could not be used."""
    spans: int
    passages: int
    """Spans of which each window stands there for the first time."""
    repeated_bytes: int
    """Bytes of text in spans, each counted once."""
    later_bytes: int
    """Bytes in spans that stood before, each counted once."""
    min_bytes: int | None
    min_words: int | None
    min_chars: int | None
    """Units of the shortest stretch; one of the three, and None of the others."""
    normalize: str
    seconds: float
    version: str = __version__

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class PassageRun:
    """A run that is set up. A context manager: what it has on disk goes when the block ends."""

    reader: Reader
    length: Length
    """Of the shortest stretch."""
    options: RunOptions = field(default_factory=RunOptions)
    observer: Observer = field(default_factory=Silent)
    normalize: Normalize = UNCHANGED
    """How texts are changed before they are compared."""
    provenance: Provenance = field(init=False, default_factory=Provenance)
    space: Space = field(init=False)
    begin: float = field(init=False, default_factory=time.perf_counter)
    _repeats: Repeats | None = field(init=False, default=None)

    @property
    def shortest(self) -> dict[str, Any]:
        """The length of the shortest passage, and what is compared, as options."""
        return {f"min_{self.length.kind}s": self.length.units, "normalize": str(self.normalize)}

    def __enter__(self) -> PassageRun:
        budget = Budget.of(self.options.memory_limit)
        workdir = self.options.workdir
        temporary = Path(tempfile.gettempdir()) / f"neardup-{os.getpid()}-{time.time_ns():x}"
        path = temporary if workdir is None else Path(workdir)
        identity = {"command": "passages", **self.shortest, "version": __version__}
        self.space = Space(budget, path, identity)
        limit_records(self.reader, budget, self.options.workers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.space.close(finished=True)

    def find(self) -> Repeats:
        """Read the inputs and find what repeats; done once."""
        if self._repeats is None:
            self.observer.stage("reading", self.reader.total_bytes, "B")
            threads, length = self.options.workers, self.length
            with closing(self.reader.tasks(threads)) as tasks:
                self._repeats = find_repeats(
                    tasks,
                    Window.of(length.kind, length.units),
                    units=Units(length.kind, self.normalize, self.space),
                    total_bytes=self.reader.total_bytes,
                    threads=threads,
                    names=self.provenance,
                    observer=self.observer,
                    space=self.space,
                )
        return self._repeats

    def spans(self) -> pa.RecordBatchReader:
        """A stream of all spans in the order of the input; the columns are those of ``RepeatedPassages.spans``."""
        repeats, ids = self.find(), self.provenance.ids
        whole = ("start", "end", "start_byte", "end_byte")
        schema = pa.schema(
            [
                ("id", ids.type),
                *((name, pa.int64()) for name in whole),
                ("source_id", ids.type),
                ("source_start", pa.int64()),
                ("count", pa.int64()),
                ("count_min", pa.int64()),
                ("documents", pa.int64()),
                ("first", pa.bool_()),
                ("elsewhere", pa.bool_()),
            ]
        )

        def batches() -> Iterator[pa.RecordBatch]:
            for found in repeats.segments():
                found = in_bytes(repeats, found)
                start, end, source_start = _in_characters(repeats, found)
                columns = [
                    ids.take(found.document),
                    *map(numbers, (start, end, found.start, found.end)),
                    ids.take(found.source),
                    *map(numbers, (source_start, found.most, found.least, found.documents)),
                    flags(found.kind == FIRST),
                    flags(found.kind == OTHER),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def cuts(self, policy: str) -> Iterator[Cuts]:
        """What a policy cuts, in bytes of the texts as read, before cuts are moved inward; those of one document come
        together."""
        repeats = self.find()
        for found in whole_documents(repeats.segments()):
            cuts = find_cuts(found, policy)
            yield Cuts(cuts.document, *repeats.originals.inside(cuts.document, cuts.start, cuts.end))

    def texts(self, cutting: Cutting) -> pa.RecordBatchReader:
        """A stream of id, text, cut_bytes, is_kept of every document, in the order of the input."""
        repeats, ids = self.find(), self.provenance.ids
        schema = pa.schema(
            [("id", ids.type), ("text", pa.large_string()), ("cut_bytes", pa.int64()), ("is_kept", pa.bool_())]
        )

        def batches() -> Iterator[pa.RecordBatch]:
            row, texts, cut, kept, size = 0, [], [], [], 0
            for text, gone in _cut_texts(repeats, self.cuts(cutting.policy), cutting):
                texts.append(text)
                cut.append(gone)
                kept.append(not gone or len(text) >= cutting.min_left)
                size += len(text)
                if size >= TEXT_BYTES:
                    yield batch(row, texts, cut, kept)
                    row, texts, cut, kept, size = row + len(texts), [], [], [], 0
            if texts:
                yield batch(row, texts, cut, kept)

        def batch(row: int, texts: list[str], cut: list[int], kept: list[bool]) -> pa.RecordBatch:
            rows = np.arange(row, row + len(texts))
            columns = [ids.take(rows), strings(texts), numbers(np.array(cut, dtype=np.int64)), flags(np.array(kept))]
            return pa.RecordBatch.from_arrays(columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def cut_documents(self, cutting: Cutting) -> Iterator[CutDocument]:
        """The documents of which something is cut, in the order of the input."""
        return _cut_documents(self.find(), self.cuts(cutting.policy), cutting)

    def summary(self) -> PassageSummary:
        """What was read and found: one pass over the segments."""
        repeats = self.find()
        length, sizes = self.length, np.diff(repeats.text.offsets)
        spans = passages = repeated = later = 0
        for found in whole_documents(repeats.segments()):
            spans += len(found)
            passages += int(np.count_nonzero(found.kind == FIRST))
            found = in_bytes(repeats, found)
            for policy in ("none", "first-greedy"):
                cuts = find_cuts(found, policy)
                size = int((cuts.end - cuts.start).sum())
                repeated, later = (repeated + size, later) if policy == "none" else (repeated, later + size)
        return PassageSummary(
            documents=sizes.size,
            too_short=int(np.count_nonzero(sizes < length.units)),
            bytes=repeats.originals.text.size,
            bad=self.provenance.bad,
            spans=spans,
            passages=passages,
            repeated_bytes=repeated,
            later_bytes=later,
            min_bytes=length.units if length.kind == "byte" else None,
            min_words=length.units if length.kind == "word" else None,
            min_chars=length.units if length.kind == "char" else None,
            normalize=str(self.normalize),
            seconds=round(time.perf_counter() - self.begin, 4),
        )


def in_bytes(repeats: Repeats, found: Segments) -> Segments:
    """The segments in bytes of the texts as read, in place of the units that were compared."""
    start, end = repeats.originals.around(found.document, found.start, found.end)
    source_start, _ = repeats.originals.around(found.source, found.source_start, found.source_start + 1)
    return replace(found, start=start, end=end, source_start=source_start)


def _in_characters(repeats: Repeats, found: Segments) -> tuple[I64, I64, I64]:
    """Start, end and start in the source of segments in bytes, in characters: of those that are whole in them."""
    text, offsets = repeats.originals.text, repeats.originals.text.offsets
    own, other = offsets[found.document], offsets[found.source]
    begin = text.characters(own)
    end_place = own + found.end
    start = text.characters(own + found.start) - begin
    end = (
        text.characters(end_place)
        - begin
        - (text.goes_on_at(end_place) & (found.end < offsets[found.document + 1] - own))
    )
    return start, end, text.characters(other + found.source_start) - text.characters(other)


def whole_documents(parts: Iterator[Segments]) -> Iterator[Segments]:
    """The same segments, all those of one document together."""
    held: list[Segments] = []
    for part in parts:
        last = int(np.searchsorted(part.document, part.document[-1]))
        if last > 0:
            yield Segments.together([*held, part.take(slice(0, last))])
            held = [part.take(slice(last, len(part)))]
        elif held and held[-1].document[-1] != part.document[0]:
            yield Segments.together(held)
            held = [part]
        else:
            held.append(part)
    if held:
        yield Segments.together(held)


def _cut_texts(repeats: Repeats, parts: Iterator[Cuts], cutting: Cutting) -> Iterator[tuple[str, int]]:
    """The text of each document without what is cut, and how many bytes that was."""
    text, row = repeats.originals.text, 0

    def as_is(until: int) -> Iterator[tuple[str, int]]:
        for document in range(row, until):
            yield _bytes_of(repeats, document).decode("utf-8", "replace"), 0

    for each in _cut_documents(repeats, parts, cutting):
        yield from as_is(each.row)
        yield each.after.decode("utf-8", "replace"), each.cut_bytes
        row = each.row + 1
    yield from as_is(text.offsets.size - 1)


def _cut_documents(repeats: Repeats, parts: Iterator[Cuts], cutting: Cutting) -> Iterator[CutDocument]:
    for part in parts:
        bounds = np.flatnonzero(np.diff(part.document, prepend=-1, append=-1))
        for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            document = int(part.document[first])
            whole = _bytes_of(repeats, document)
            spans = list(zip(part.start[first:stop].tolist(), part.end[first:stop].tolist(), strict=True))
            spans = snap_cuts(whole, spans, snap=cutting.snap, least=cutting.min_cut)
            if spans:
                gone = sum(end - start for start, end in spans)
                yield CutDocument(document, whole, without(whole, spans), gone)


def _bytes_of(repeats: Repeats, document: int) -> bytes:
    text = repeats.originals.text
    begin, end = text.offsets[document : document + 2].tolist()
    return text.piece(begin, end).tobytes()
