"""The ids of all documents of a run, held as lean as they come."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from neardup.formats.arrays import numbers, text
from neardup.formats.batches import documents_from
from neardup.kernels.hashing import fingerprint
from neardup.types import Batch

__all__ = ["Ids"]

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]

_TEXT = pa.large_string()


class _Own:
    """The ids that a batch brought."""

    __slots__ = ("ids",)

    def __init__(self, batch: Batch) -> None:
        self.ids: Any = batch.ids

    @property
    def has_numbers(self) -> bool:
        return bool(pa.types.is_integer(self.ids.type))

    def take(self, places: I64) -> Any:
        return self.ids.take(numbers(places))

    def hashes(self, type_: Any) -> U64:
        """uint64[n], equal for equal ids; for whole numbers, different for different ones too."""
        if pa.types.is_integer(type_):
            numbers: I64 = self.ids.to_numpy()
            return numbers.view(np.uint64)
        texts = documents_from(self.ids.cast(type_))
        out = np.empty((len(self.ids), 2), dtype=np.uint64)
        fingerprint(texts.data, texts.offsets, out)
        return out[:, 0]


class _Made:
    """The ids of a batch that brought none, ``source:row``; of a run of rows only the ends are kept."""

    __slots__ = ("_rows", "size", "source")

    has_numbers = False

    def __init__(self, batch: Batch) -> None:
        self.source = batch.source
        self.size = len(batch.documents)
        is_run = int(batch.rows[-1] - batch.rows[0]) + 1 == self.size
        self._rows = batch.rows[[0, -1]] if is_run else batch.rows

    @property
    def first(self) -> int:
        return int(self._rows[0])

    @property
    def last(self) -> int:
        return int(self._rows[-1])

    def rows(self, places: I64) -> I64:
        return places + self._rows[0] if self._rows.size != self.size else self._rows[places]

    def take(self, places: I64) -> Any:
        rows = numbers(self.rows(places)).cast(_TEXT)
        return pc.binary_join_element_wise(text(self.source), rows, text(":"))


class Ids:
    """Ids in input order, appended batch by batch.

    A batch without ids costs nothing but its rows, and a run of rows only its ends: such ids are made, as
    ``source:row``, when they are asked for.
    """

    def __init__(self) -> None:
        self._chunks: list[_Own | _Made] = []
        self._starts: list[int] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, batch: Batch) -> None:
        """Add the ids of a batch behind those before."""
        n = len(batch.documents)
        if n == 0:
            return
        self._starts.append(self._size)
        self._chunks.append(_Made(batch) if batch.ids is None else _Own(batch))
        self._size += n

    @property
    def type(self) -> Any:
        """int64 when every source has whole-number ids, else large_string."""
        return pa.int64() if self._chunks and all(chunk.has_numbers for chunk in self._chunks) else _TEXT

    def take(self, rows: I64) -> Any:
        """The ids of documents, by their place in the input.

        Args:
            rows: int64[m], 0-based, in any order, repeats allowed.

        Returns:
            Arrow array[m] of ``type``. The work grows with m and the number of batches, not with the
            documents.
        """
        type_ = self.type
        rows = np.asarray(rows, dtype=np.int64)
        if rows.size == 0:
            return pa.nulls(0, type_)
        if not (int(rows.min()) >= 0 and int(rows.max()) < self._size):
            raise IndexError(f"rows must lie from 0 to {self._size - 1}")
        order = np.argsort(rows, kind="stable")
        ordered = rows[order]
        bounds = np.searchsorted(ordered, [*self._starts, self._size])
        pieces = [
            self._chunks[i].take(ordered[bounds[i] : bounds[i + 1]] - self._starts[i]).cast(type_)
            for i in np.flatnonzero(np.diff(bounds))
        ]
        places = np.empty(rows.size, dtype=np.int64)
        places[order] = np.arange(rows.size)
        return pa.concat_arrays(pieces).take(numbers(places))

    def count_duplicates(self) -> tuple[int, str | None]:
        """How many documents carry the id of an earlier one, and an id that comes back.

        Ids made as ``source:row`` are compared among themselves only. Beside the ids this needs 8 bytes a
        document.
        """
        own = [chunk for chunk in self._chunks if isinstance(chunk, _Own)]
        made: dict[str, list[_Made]] = {}
        for chunk in self._chunks:
            if isinstance(chunk, _Made):
                made.setdefault(chunk.source, []).append(chunk)
        found = [_own_duplicates(own, self.type), *(_made_duplicates(chunks) for chunks in made.values())]
        return sum(count for count, _ in found), next((example for _, example in found if example), None)


def _own_duplicates(chunks: list[_Own], type_: Any) -> tuple[int, str | None]:
    if not chunks:
        return 0, None
    hashes = np.concatenate([chunk.hashes(type_) for chunk in chunks])
    hashes.sort()
    repeated = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
    if repeated.size == 0:
        return 0, None
    del hashes
    # equal hashes are almost surely equal ids, and the few that have them are compared themselves
    suspects = pa.concat_arrays(
        [chunk.take(np.flatnonzero(np.isin(chunk.hashes(type_), repeated))).cast(type_) for chunk in chunks]
    )
    codes = suspects.dictionary_encode().indices.to_numpy()
    firsts = np.unique(codes, return_index=True)[1]
    if firsts.size == codes.size:
        return 0, None
    again = np.ones(codes.size, dtype=np.bool_)
    again[firsts] = False
    return int(codes.size - firsts.size), str(suspects[int(np.argmax(again))].as_py())


def _made_duplicates(chunks: list[_Made]) -> tuple[int, str | None]:
    if all(before.last < after.first for before, after in pairwise(chunks)):
        return 0, None  # the source was read once, from top to bottom
    rows = np.concatenate([chunk.rows(np.arange(chunk.size, dtype=np.int64)) for chunk in chunks])
    firsts = np.unique(rows, return_index=True)[1]
    again = np.delete(rows, firsts)
    return int(again.size), f"{chunks[0].source}:{again[0]}" if again.size else None
