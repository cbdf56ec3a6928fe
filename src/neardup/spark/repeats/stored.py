"""The texts of all documents, end to end, in files that driver and workers see: one for each split.

A walk compares text where a segment changes its source, which may be in any split; what is cut, shown or counted in
characters is read here too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import distinct, starts_of
from neardup.engine.repeats.originals import Originals
from neardup.engine.repeats.text import MARK_BITS, EndToEnd
from neardup.engine.space import Space
from neardup.errors import SpoolError
from neardup.spark.repeats.job import PLACES, TEXT, PassageJob
from neardup.spark.storage import Storage
from neardup.spool import Column
from neardup.types import I64, U8, Mask

OPEN_FILES = 16
NEAR, BLOCK = 1 << 14, 1 << 20
"""Rows between two that are asked for and read together, and about how many are read together, at most."""
MARKED = 64
"""Splits whose marks are held."""


class StoredColumn(Column):
    """Rows of all splits, in a file for each, to be read only."""

    def __init__(self, storage: Storage, folder: str, starts: I64, dtype: Any = np.uint8, width: int = 1) -> None:
        """``starts`` (int64[splits + 1]): the first row of each split."""
        self.dtype, self.width = np.dtype(dtype), width
        self._storage, self._folder, self._starts = storage, folder, starts
        self._open: OrderedDict[int, Any] = OrderedDict()

    def __len__(self) -> int:
        return int(self._starts[-1])

    def append(self, values: NDArray[Any]) -> None:
        raise NotImplementedError("the workers have written it")

    def slice(self, start: int, stop: int) -> NDArray[Any]:
        start, stop, _ = slice(start, stop).indices(len(self))
        out = self._room(max(0, stop - start))
        self._read(start, out.reshape(-1).view(np.uint8))
        return out

    def take(self, rows: I64) -> NDArray[Any]:
        wanted, back = np.unique(rows, return_inverse=True)
        out = self._room(wanted.size)
        for some in _together(wanted, wanted + 1):
            first = int(wanted[some.start])
            out[some] = self.slice(first, int(wanted[some.stop - 1]) + 1)[wanted[some] - first]
        return out[back]

    def gather(self, begins: I64, lengths: I64, out: NDArray[Any]) -> None:
        """Some stretches of rows, rising and apart, end to end into the beginning of ``out``."""
        at, ends = 0, begins + lengths
        for some in _together(begins, ends):
            first = int(begins[some.start])
            rows = self.slice(first, int(ends[some.stop - 1]))
            for begin, end in zip((begins[some] - first).tolist(), (ends[some] - first).tolist(), strict=True):
                out[at : at + end - begin] = rows[begin:end]
                at += end - begin

    def _room(self, rows: int) -> NDArray[Any]:
        return np.empty(rows if self.width == 1 else (rows, self.width), dtype=self.dtype)

    def _read(self, row: int, out: U8) -> None:
        """Fill ``out`` with the bytes of rows from ``row`` on."""
        record, at = self.dtype.itemsize * self.width, 0
        split = int(np.searchsorted(self._starts, row, side="right")) - 1
        while at < out.size:
            first, stop = self._starts[split : split + 2].tolist()
            size = min(out.size - at, (stop - row) * record)
            if size > 0:
                out[at : at + size] = np.frombuffer(self._part(split, (row - first) * record, size), dtype=np.uint8)
                at += size
                row = stop
            split += 1

    def _part(self, split: int, begin: int, size: int) -> bytes:
        name = file_of(self._folder, split)
        if split not in self._open:
            self._open[split] = self._storage.opened(name)
            if len(self._open) > OPEN_FILES:
                self._open.popitem(last=False)[1].close()
        self._open.move_to_end(split)
        try:
            found: bytes = self._open[split].read_at(size, begin)
        except OSError as exc:
            raise SpoolError(f"{self._storage.root}: {name} cannot be read: {exc}.") from exc
        if len(found) != size:
            raise SpoolError(
                f"{self._storage.root}: {name} is cut short. With --resume (resume=True) what was lost is done again."
            )
        return found


def _together(begins: I64, ends: I64) -> Iterator[slice]:
    """Stretches of rows, rising, that are read together: those that stand near each other."""
    is_apart = (begins[1:] - ends[:-1] > NEAR) | (begins[1:] // BLOCK != begins[:-1] // BLOCK)
    edges = [0, *(np.flatnonzero(is_apart) + 1).tolist(), begins.size]
    yield from (slice(*each) for each in pairwise(edges) if begins.size)


def file_of(folder: str, split: int) -> str:
    """The file of a split."""
    return f"{folder}/{split:06d}.raw"


class StoredText(EndToEnd):
    """Texts, or their units, of all documents."""

    def __init__(self, job: PassageJob, space: Space, offsets: I64, *, is_original: bool = False) -> None:
        """``offsets``: where documents begin and end, of those that are asked for; 0 is added.

        ``is_original``: the bytes of the texts as they were read, not the units that are compared.
        """
        super().__init__(space, 1 if is_original else job.window.unit)
        starts = job.texts if is_original else job.units
        folder = TEXT if is_original else job.compared
        self._job, self._starts = job, starts
        self._stored = StoredColumn(job.storage, folder, starts * self.unit)
        self._data = self._stored
        self._ends.append(offsets[1:] if offsets[0] == 0 else offsets)
        self._marked: OrderedDict[int, I64] = OrderedDict()
        self._begin_pages()

    def _gather(self, begins: I64, lengths: I64, out: U8) -> None:
        self._stored.gather(begins, lengths, out)

    def characters(self, places: I64) -> I64:
        split = np.searchsorted(self._starts, places, side="right") - 1
        split = np.minimum(split, self._starts.size - 2)
        found = places - self._starts[split] + self._job.characters[split]
        is_more = ~self._is_ascii()[split]
        for each in distinct(split[is_more]).tolist():
            mine = np.flatnonzero(split == each)
            counted = self._counted(places[mine], self._marks_of(each), int(self._starts[each]))
            found[mine] = counted + self._job.characters[each]
        return found

    def goes_on_at(self, places: I64) -> Mask:
        found = np.zeros(places.size, dtype=np.bool_)
        inside = np.minimum(places, max(0, len(self._stored) - 1))
        split = np.searchsorted(self._starts, inside, side="right") - 1
        some = np.flatnonzero(~self._is_ascii()[split] & (places < len(self._stored)))
        found[some] = self._stored.take(places[some]) & 0xC0 == 0x80
        return found

    def _is_ascii(self) -> Mask:
        """Of each split, whether its characters are bytes."""
        found: Mask = np.diff(self._job.characters) == np.diff(self._job.texts)
        return found

    def _marks_of(self, split: int) -> I64:
        if split not in self._marked:
            self._marked[split] = self._job.storage.get(f"read/{split:06d}", "marks")["marks"]
            if len(self._marked) > MARKED:
                self._marked.popitem(last=False)
        self._marked.move_to_end(split)
        return self._marked[split]


class StoredOriginals(Originals):
    """The texts as they were read, and where in them the units stand that are compared."""

    def __init__(self, job: PassageJob, space: Space, compared: StoredText, offsets: I64) -> None:
        """``offsets``: of the documents in the texts as they were read."""
        super().__init__(space, compared, are_bytes=True)
        if not job.are_bytes:
            self.text = StoredText(job, space, offsets, is_original=True)
            self._places = StoredColumn(job.storage, PLACES, job.units, np.uint32, 2)


class Marks:
    """Characters of a text that comes bit by bit, counted ahead for every ``2**MARK_BITS`` bytes."""

    def __init__(self) -> None:
        """Of no text."""
        self.size = 0
        self._counts: list[int] = []

    def add(self, text: U8) -> None:
        """Count some more."""
        if not text.size:
            return
        edges = np.arange(-(self.size % (1 << MARK_BITS)), text.size, 1 << MARK_BITS)
        edges[0] = 0
        counts = np.add.reduceat((text & 0xC0) != 0x80, edges, dtype=np.int64).tolist()
        if self.size % (1 << MARK_BITS):
            self._counts[-1] += counts.pop(0)
        self._counts += counts
        self.size += text.size

    @property
    def marks(self) -> I64:
        """int64[n + 1]: the characters before each mark, and all."""
        return starts_of(np.array(self._counts, dtype=np.int64))
