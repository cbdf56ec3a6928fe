"""The texts of all documents, end to end: in memory, and past a limit in a file of the workdir."""

from __future__ import annotations

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.space import Space
from neardup.kernels.segments import Pages, count_characters
from neardup.spool import Column, FileColumn, MemoryColumn
from neardup.types import I64, SLACK, U8, Documents, Mask

PAGE_BITS = 16
"""Pages of a text in a file have ``2**PAGE_BITS`` bytes."""
LEAST_PAGES = 16
MARK_BITS = 12
"""Characters are counted ahead for every ``2**MARK_BITS`` bytes."""
SCAN = 1 << 22
WHOLE_BITS = 62
"""A text in memory is one page of up to so many bits."""


class EndToEnd:
    """Documents by place: byte ``offsets[d]`` is where document d begins."""

    def __init__(self, space: Space, unit: int = 1, *, name: str = "end-to-end") -> None:
        """An empty one. ``unit``: bytes of a place; ``name``: of its file."""
        self._space = space
        self._name = name
        self.unit = unit
        self._data: Column = MemoryColumn(np.uint8, room=0)
        self._ends = MemoryColumn(np.int64)
        self._ends.append(np.zeros(1, dtype=np.int64))
        self._cache: U8 = np.empty(0, dtype=np.uint8)
        self._begins: I64 = np.zeros(1, dtype=np.int64)
        self._slots: list[int] = []
        self._next = 0
        self._marks: I64 | None = None

    @property
    def is_filed(self) -> bool:
        """Whether the texts are in a file."""
        return isinstance(self._data, FileColumn)

    @property
    def nbytes(self) -> int:
        """Bytes held in memory."""
        return (0 if self.is_filed else self._data.nbytes) + self._ends.nbytes

    @property
    def size(self) -> int:
        """Places of all documents."""
        return int(self._ends.array[-1])

    @property
    def offsets(self) -> I64:
        """int64[n + 1]: the place at which each document begins, and where the last one ends."""
        return self._ends.array

    def append(self, documents: Documents, more: float = 0.0) -> None:
        """Add documents; ``more`` says how many times what there is then is still to come, about."""
        size, unit = self.size, self.unit
        first, last = int(documents.offsets[0]), int(documents.offsets[-1])
        self._ends.append((documents.offsets[1:] - first) // unit + size, more)
        text = documents.data[first:last]
        if isinstance(self._data, MemoryColumn):
            self._data.append(text, more)
        else:
            self._data.append(text)

    def spill(self) -> None:
        """Move the texts to a file."""
        if not self.is_filed:
            self._data = self._space.scratch().filed(self._name, self._data)

    def keep(self) -> None:
        """Have the texts and where they end in files, so that the next checkpoint makes them last."""
        self.spill()
        self._space.scratch().column(f"{self._name}-ends", np.int64).append(self._ends.array)

    def restore(self) -> None:
        """Become what an interrupted run's was, settled."""
        workdir = self._space.scratch()
        self._data = workdir.column(self._name, np.uint8)
        ends = workdir.column(f"{self._name}-ends", np.int64)
        self._ends.clear()
        self._ends.append(ends.slice(0, len(ends)))
        self.settle()

    def settle(self) -> None:
        """No more documents will come: make ready what ``around`` and ``pages`` give."""
        if isinstance(self._data, MemoryColumn):
            self._data.append(np.zeros(2 * SLACK, dtype=np.uint8))
            return
        assert isinstance(self._data, FileColumn)
        self._data.file.rest()  # nothing in its buffer: threads will read
        self._begin_pages()

    def _begin_pages(self) -> None:
        """No page is at hand yet."""
        slots = max(LEAST_PAGES, self._space.budget.share(0.05) >> PAGE_BITS)
        pages = (len(self._data) >> PAGE_BITS) + 1
        self._cache = np.zeros(min(slots, pages) << PAGE_BITS, dtype=np.uint8)
        self._begins = np.full(pages, -1, dtype=np.int64)
        self._slots = [-1] * min(slots, pages)

    def around(self, places: I64, sizes: I64) -> tuple[U8, I64]:
        """Text in which stretches of ``sizes`` units from rising ``places`` stand, and the place of each there.

        There are at least 64 bytes behind each. From a file only the stretches are read, those that overlap once.
        """
        if isinstance(self._data, MemoryColumn):
            return self._data.array, places
        if not places.size:
            return np.zeros(SLACK, dtype=np.uint8), places
        begins, lengths, at = merged(places, sizes)
        out = np.zeros(int(lengths.sum()) * self.unit + SLACK, dtype=np.uint8)
        self._gather(begins * self.unit, lengths * self.unit, out)
        return out, at

    def _gather(self, begins: I64, lengths: I64, out: U8) -> None:
        """Stretches of bytes, rising and apart, end to end into the beginning of ``out``."""
        assert isinstance(self._data, FileColumn)
        self._data.file.gather(begins, lengths, out)

    def piece(self, begin: int, end: int) -> U8:
        """Bytes ``begin`` to ``end``, by place."""
        found: U8 = self._data.slice(begin * self.unit, end * self.unit)
        return found

    def characters(self, places: I64) -> I64:
        """int64[m]: the characters that begin before each byte of the text (UTF-8). Memory: 1/512 of the text."""
        marks = self._character_marks()
        if marks[-1] == self.size:  # ASCII
            return places
        return self._counted(places, marks, 0)

    def _counted(self, places: I64, marks: I64, first: int) -> I64:
        """The characters that begin from byte ``first`` on before each place; ``marks`` are counted from there."""
        wanted, back = np.unique(places, return_inverse=True)
        mark = (wanted - first) >> MARK_BITS
        begins = (mark << MARK_BITS) + first
        data, at = self.around(begins, wanted - begins)
        counts = np.empty(wanted.size, dtype=np.int64)
        count_characters(data, at, at + wanted - begins, counts)
        found: I64 = (marks[mark] + counts)[back]
        return found

    def _character_marks(self) -> I64:
        if self._marks is None:
            step, size = 1 << MARK_BITS, self.size
            counts = np.zeros(-(-size // step) + 1, dtype=np.int64)
            for begin in range(0, size, SCAN):
                data = self.piece(begin, min(begin + SCAN, size))
                begins = np.arange(0, data.size, step)
                to = counts[1 + (begin >> MARK_BITS) :][: begins.size]
                count_characters(data, begins, np.minimum(begins + step, data.size), to)
            self._marks = np.cumsum(counts)
        return self._marks

    def goes_on_at(self, places: I64) -> Mask:
        """Whether each byte, or the end of the text, belongs to a character that began before it."""
        if self._character_marks()[-1] == self.size:
            return np.zeros(places.size, dtype=np.bool_)
        inside, back = np.unique(np.minimum(places, self.size - 1), return_inverse=True)
        data, at = self.around(inside, np.ones(inside.size, dtype=np.int64))
        found: Mask = (data[at] & 0xC0 == 0x80)[back] & (places < self.size)
        return found

    def pages(self) -> Pages:
        """The pages that are at hand; all of a text in memory, as one."""
        if isinstance(self._data, MemoryColumn):
            return Pages(self._data.array, self._begins, WHOLE_BITS)
        return Pages(self._cache, self._begins, PAGE_BITS)

    def bring(self, page: int) -> None:
        """Have a page at hand, in the place of the one that has been there longest."""
        slot = self._next
        self._next = (slot + 1) % len(self._slots)
        if self._slots[slot] >= 0:
            self._begins[self._slots[slot]] = -1
        text = self._data.slice(page << PAGE_BITS, (page + 1) << PAGE_BITS)
        begin = slot << PAGE_BITS
        self._cache[begin : begin + text.size] = text
        self._slots[slot], self._begins[page] = page, begin


def merged(places: I64, sizes: I64) -> tuple[I64, I64, I64]:
    """Stretches of ``sizes`` from rising ``places``, at least one, those that overlap as one.

    int64[k] where these begin, int64[k] their lengths, and int64[n] where each place is when they stand end to end.
    """
    ends = np.maximum.accumulate(places + sizes)
    heads = np.flatnonzero(np.concatenate(([True], places[1:] > ends[:-1])))
    begins = places[heads]
    lengths = np.append(ends[heads[1:] - 1], ends[-1]) - begins
    of = np.searchsorted(heads, np.arange(places.size), side="right") - 1
    return begins, lengths, starts_of(lengths)[of] + places - begins[of]
