"""The lines, sentences or paragraphs of a collection: where each stands, and a hash of each that is compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import RowNames
from neardup.engine.repeats.grouping import PARTS
from neardup.engine.repeats.originals import Originals
from neardup.engine.repeats.text import EndToEnd
from neardup.engine.repeats.units import NUMBER, PLACES, Compared, Key
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.kernels import units as kernels
from neardup.kernels.reading import copy_pieces
from neardup.params import Normalize
from neardup.spool import MemoryColumn
from neardup.spool.partitions import Partitions
from neardup.stages.repeats.splitting import is_long, split
from neardup.stages.text import normalize_documents
from neardup.types import I64, SLACK, U64, Batch, Documents, Mask

KEY_SHIFT = np.uint64(64 - 9)
UNITS_SHARE = 0.2
"""Of the memory for data: units that wait to be grouped."""


@dataclass(frozen=True, slots=True)
class WholeUnits:
    """What a unit is, and which are compared."""

    unit: str
    """``line``, ``sentence`` or ``paragraph``."""
    normalize: Normalize
    """How each is changed before it is compared; by itself, so that no step reaches into another."""
    kind: str = "byte"
    least: int = 1
    """A unit with fewer bytes, characters (``char``) or words than this, normalised, repeats nothing. At least 1."""

    def are_counted(self, texts: Documents) -> Mask:
        """Which units, normalised, are large enough."""
        return is_long(texts, self.kind, self.least)

    def longest_runs(self, documents: Documents) -> I64:
        """int64[n]: of each document the most units that follow each other and are all large enough."""
        bounds, counts = split(documents, self.unit)
        is_counted = self.are_counted(self.texts_of(documents, bounds))
        ends = np.cumsum(counts)
        found = np.zeros(counts.size, dtype=np.int64)
        for d, (begin, end) in enumerate(zip((ends - counts).tolist(), ends.tolist(), strict=True)):
            apart = np.flatnonzero(np.concatenate(([True], ~is_counted[begin:end], [True])))
            found[d] = int(np.diff(apart).max()) - 1
        return found

    def texts_of(self, documents: Documents, bounds: I64) -> Documents:
        """The units at some places of ``documents.data``, normalised."""
        begins, sizes = np.ascontiguousarray(bounds[:, 0]), bounds[:, 1] - bounds[:, 0]
        offsets = starts_of(sizes)
        data = np.zeros(int(offsets[-1]) + SLACK, dtype=np.uint8)
        copy_pieces(documents.data, begins, sizes, data, offsets)
        return normalize_documents(Documents(data, offsets), self.normalize)


@dataclass(slots=True)
class ReadUnits:
    """The units of a collection that was read."""

    units: WholeUnits
    numbers: EndToEnd
    """Empty yet: the numbers of units."""
    originals: Originals
    """The texts, and the places of the units."""
    offsets: I64
    """int64[n + 1]: the first unit of each document."""
    hashes: Partitions
    """Hash and number of each unit that is compared."""

    @property
    def count(self) -> int:
        """Units of all documents."""
        return int(self.offsets[-1])

    @classmethod
    def none(cls, units: WholeUnits, space: Space) -> ReadUnits:
        """Nothing yet."""
        numbers = EndToEnd(space, NUMBER, name="numbers")
        originals = Originals(space, numbers, are_bytes=False)
        hashes = space.partitions("units", width=2, parts=PARTS, share=UNITS_SHARE)
        return cls(units, numbers, originals, np.zeros(1, dtype=np.int64), hashes)

    def spill(self) -> None:
        """Move what is in memory to files."""
        self.numbers.spill()
        self.originals.spill()

    def sizes(self, some: I64) -> I64:
        """Bytes of some units as read."""
        bounds = self.originals.places_of(some)
        return bounds[:, 1] - bounds[:, 0]

    def texts(self, some: I64) -> Documents:
        """The texts of some units, rising, as they are compared."""
        text = self.originals.text
        bounds = self.originals.places_of(some)
        document = np.searchsorted(self.offsets, some, side="right") - 1
        begins, sizes = text.offsets[document] + bounds[:, 0], bounds[:, 1] - bounds[:, 0]
        data, at = text.around(begins, sizes)
        block = Documents.with_slack(data, np.zeros(1, dtype=np.int64))
        return self.units.texts_of(block, np.stack((at, at + sizes), axis=1))


class _Divided(NamedTuple):
    """The units of a batch."""

    bounds: I64
    """int64[m, 2]: where each begins and ends in its document, in bytes."""
    counts: I64
    """int64[n]: units of each document."""
    rows: U64
    """uint64[k, 2]: hash and number in the batch of each that is compared, by part of the hash."""
    starts: I64


def read_units(
    tasks: Iterator[Callable[[], Batch]],
    read: ReadUnits,
    *,
    key: Key,
    total_bytes: int | None,
    threads: int,
    names: RowNames,
    observer: Observer,
    space: Space,
) -> None:
    """Read all batches into ``read``, which has nothing yet. ``names`` sees each batch in order.

    Memory: the texts, 8 bytes for each unit, and 16 for each that is compared; what outgrows the budget goes to files.
    """
    units, originals = read.units, read.originals
    ends = MemoryColumn(np.int64)
    ends.append(read.offsets)
    consumed = 0

    def divide(task: Callable[[], Batch]) -> tuple[Batch, _Divided]:
        batch = task()
        return batch, _divide(batch.documents, units, key)

    for batch, divided in in_order(divide, tasks, threads=threads, ahead=threads + 2):
        names.enter(batch)
        consumed += batch.consumed
        observer.advance(batch.consumed)
        at = int(ends.array[-1])
        if at + divided.bounds.shape[0] >= PLACES:
            most = f"{PLACES / 1e9:.1f} billion {units.unit}s"
            raise InputError(f"the collection has more than {most}. Give it in parts.")
        divided.rows[:, 1] += np.uint64(at)
        read.hashes.add(divided.rows, divided.starts)
        left = max(0, total_bytes - consumed) / max(consumed, 1) if total_bytes else 0.0
        left = min(left, 1e4) if not originals.text.is_filed else 0.0
        originals.append(batch.documents, Compared(batch.documents, divided.bounds.astype(np.uint32)), left)
        ends.append(np.cumsum(divided.counts) + at, left)
        if batch.give_back is not None:
            batch.give_back()
        space.need_documents(len(ends), len(ends))
        held = originals.nbytes + ends.nbytes + names.nbytes
        if not originals.text.is_filed and space.path is not None and held > space.budget.store:
            read.spill()
            names.spill(space.scratch())
            space.release_memory()
    originals.settle()
    read.offsets = ends.array


def _divide(documents: Documents, units: WholeUnits, key: Key) -> _Divided:
    """The units of a block, and the hash of each that is compared."""
    if int(np.diff(documents.offsets).max(initial=0)) >= PLACES:
        raise InputError(f"a document has 4 GB or more, too many to be divided into {units.unit}s. Divide it.")
    bounds, counts = split(documents, units.unit)
    texts = units.texts_of(documents, bounds)
    hashes = np.empty(len(texts), dtype=np.uint64)
    kernels.hash_texts(texts.data, texts.offsets, key, hashes)
    some = np.flatnonzero(units.are_counted(texts))
    rows, starts = by_part(hashes[some], some)
    bounds -= np.repeat(documents.offsets[:-1], counts)[:, None]
    return _Divided(bounds, counts, rows, starts)


def by_part(keys: U64, places: I64) -> tuple[U64, I64]:
    """Keys and places side by side, by the first bits of the keys, else in order; and where each part begins."""
    part = (keys >> KEY_SHIFT).astype(np.uint16)
    order = np.argsort(part, kind="stable")
    rows = np.stack((keys[order], places[order].astype(np.uint64)), axis=1)
    return rows, np.searchsorted(part[order], np.arange(PARTS + 1))
