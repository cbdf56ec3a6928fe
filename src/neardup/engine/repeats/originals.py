"""The texts as they were read, and where in them each unit stands that is compared."""

from __future__ import annotations

import numpy as np

from neardup.engine.repeats.text import EndToEnd
from neardup.engine.repeats.units import Compared
from neardup.engine.space import Space
from neardup.kernels.units import trim
from neardup.spool import Column, FileColumn, MemoryColumn
from neardup.types import I64, Documents, Mask, frozen


class Originals:
    """Places of units in the texts as read: eight bytes a unit, and none where units are the bytes of these."""

    def __init__(self, space: Space, compared: EndToEnd, *, are_bytes: bool) -> None:
        """``compared`` has the units; it is the text as well where they ``are_bytes``."""
        self._space = space
        self._compared = compared
        self.text = compared if are_bytes else EndToEnd(space, name="originals")
        """The texts as they were read."""
        self._places: Column | None = None if are_bytes else MemoryColumn(np.uint32, 2)

    @property
    def nbytes(self) -> int:
        """Bytes held in memory, beside the units that are compared."""
        if self._places is None:
            return 0
        return self.text.nbytes + (self._places.nbytes if isinstance(self._places, MemoryColumn) else 0)

    def append(self, documents: Documents, compared: Compared, more: float) -> None:
        """Add documents as they were read, and their units; ``more`` as for ``EndToEnd.append``."""
        if compared.places is None:
            return
        self.text.append(documents, more)
        if isinstance(self._places, MemoryColumn):
            self._places.append(compared.places, more)
        elif self._places is not None:
            self._places.append(compared.places)

    def spill(self) -> None:
        """Move what is in memory to files."""
        if isinstance(self._places, MemoryColumn):
            self.text.spill()
            self._places = self._space.scratch().filed("places", self._places)

    def keep(self) -> None:
        """Have all in files, so that the next checkpoint makes it last."""
        if self._places is not None:
            self.spill()
            self.text.keep()

    def restore(self) -> None:
        """Become what an interrupted run's was, settled."""
        if self._places is not None:
            self.text.restore()
            self._places = self._space.scratch().column("places", np.uint32, 2)

    def settle(self) -> None:
        """No more documents will come."""
        if self._places is not None:
            self.text.settle()
        if isinstance(self._places, FileColumn):
            self._places.file.rest()  # nothing in its buffer: threads will read

    def places_of(self, units: I64) -> I64:
        """int64[n, 2]: where units, numbered through the collection, begin and end in their documents, in bytes."""
        assert self._places is not None
        found: I64 = self._places.take(units).astype(np.int64)
        return found

    def around(self, document: I64, start: I64, end: I64) -> tuple[I64, I64]:
        """Where stretches of units stand, in bytes of their documents as read.

        From the begin of what the first unit came from to the end of what the last one came from. Empty where no
        character of the text is whole in a stretch of bytes.
        """
        if self._places is None:
            return start, end
        begin = self._compared.offsets[document]
        begins = self._field(begin + start, 0)
        return begins, np.maximum(begins, self._field(begin + end - 1, 1))

    def inside(self, document: I64, start: I64, end: I64) -> tuple[I64, I64]:
        """As ``around``, without what units before or behind the stretch came from too."""
        begins, ends = self.around(document, start, end)
        if self._places is None:
            return begins, ends
        first, stop = self._compared.offsets[document], self._compared.offsets[document + 1]
        before = np.where(start > 0, self._field(np.maximum(first + start - 1, first), 1), 0)
        behind = np.where(first + end < stop, self._field(np.minimum(first + end, stop - 1), 0), ends)
        begins = np.maximum(begins, before)
        return begins, np.maximum(begins, np.minimum(ends, behind))

    def are_blank(self, document: I64, start: I64, end: I64) -> Mask:
        """Which stretches of bytes of documents as read, rising and apart, have nothing but white space."""
        sizes = end - start
        data, at = self.text.around(self.text.offsets[document] + start, sizes)
        bounds = np.stack((at, at + sizes), axis=1)
        trim(frozen(data), bounds)
        found: Mask = bounds[:, 0] == bounds[:, 1]
        return found

    def _field(self, units: I64, field: int) -> I64:
        assert self._places is not None
        found: I64 = self._places.take(units)[:, field].astype(np.int64)
        return found
