"""The arrays that travel between stages: frozen, checked once, no behaviour beyond their shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from neardup.errors import InputChanged
from neardup.shown import shown

SLACK = 64
"""Bytes that must follow the last document in ``Documents.data``: kernels load whole words past its end."""

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Mask = NDArray[np.bool_]


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only contiguous view: one kind of array, so that every kernel is compiled once."""
    view = (array if array.flags.c_contiguous else np.ascontiguousarray(array)).view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True)
class Documents:
    """A block of texts, end to end in one buffer. Document i is ``data[offsets[i]:offsets[i + 1]]``."""

    data: U8
    """UTF-8 (items of a set are separated by the byte 0xFF), with at least SLACK readable bytes after the last."""
    offsets: I64
    """int64[n + 1], not decreasing; need not begin at 0."""

    def __post_init__(self) -> None:
        _need(self.data.dtype == np.uint8 and self.data.ndim == 1, "data must be uint8[m]")
        _need(self.offsets.dtype == np.int64 and self.offsets.size >= 1, "offsets must be int64[n + 1]")
        _need(int(self.offsets[-1]) + SLACK <= self.data.size, "data must have SLACK bytes after the last document")
        object.__setattr__(self, "data", frozen(self.data))
        object.__setattr__(self, "offsets", frozen(self.offsets))

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def nbytes(self) -> int:
        """Bytes of text, without slack."""
        return int(self.offsets[-1] - self.offsets[0])

    def slice(self, start: int, stop: int) -> Documents:
        """Documents ``start`` to ``stop``, sharing the buffer."""
        return Documents(self.data, self.offsets[start : stop + 1])

    def blob(self, i: int, most: int | None = None) -> bytes:
        """The bytes of document i, or the first ``most`` of them."""
        start, stop = self.offsets[i], self.offsets[i + 1]
        return self.data[start : stop if most is None else min(stop, start + most)].tobytes()

    @classmethod
    def from_bytes(cls, texts: Iterable[bytes]) -> Documents:
        """Copy byte strings into one block; for tests, short lists and slow paths."""
        blobs = list(texts)
        offsets = np.fromiter(accumulate(map(len, blobs), initial=0), np.int64, len(blobs) + 1)
        data = np.frombuffer(b"".join([*blobs, bytes(SLACK)]), dtype=np.uint8)
        return cls(data, offsets)

    @classmethod
    def from_texts(cls, texts: Sequence[str]) -> Documents:
        """Encode strings into one block."""
        return cls.from_bytes(text.encode("utf-8") for text in texts)

    @classmethod
    def with_slack(cls, data: U8, offsets: I64) -> Documents:
        """Wrap a buffer, copying it only when it lacks the slack."""
        first, last = int(offsets[0]), int(offsets[-1])
        if last + SLACK <= data.size:
            return cls(data, offsets)
        padded = np.zeros(last - first + SLACK, dtype=np.uint8)
        padded[: last - first] = data[first:last]
        return cls(padded, offsets - first)


class Origin(Protocol):
    """A file whose records can be read again, each by itself."""

    @property
    def facts(self) -> dict[str, Any]:
        """JSON values from which the readers make it again in a later process."""

    def read(self, starts: I64, stops: I64) -> Documents:
        """The documents of some records, by the bytes (or rows) that they have in the file, rising; from any thread.

        Raises InputChanged where the file is not what it was.
        """

    def changed(self, start: int) -> InputChanged:
        """The error to raise where the record that begins there is not what was read before."""


class Places(NamedTuple):
    """Where in a file the records of a batch lie."""

    origin: Origin
    starts: I64
    """int64[n]: where each record begins, in the order of the documents."""
    stops: I64
    """int64[n]: where it ends."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A record that could not be used."""

    source: str
    """The input as the user named it."""
    row: int
    """1-based line (text formats) or row (columnar formats); 0: the whole file."""
    reason: str

    def __str__(self) -> str:
        return shown(f"{self.source}:{self.row}: {self.reason}" if self.row else f"{self.source}: {self.reason}")


MOST_FAULTS = 1000
"""Bad records that a result describes one by one; all are counted."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a reader hands on: a block of documents, where they came from, and what was wrong on the way."""

    documents: Documents
    source: str
    rows: I64
    """int64[n]: 1-based line or row of each document in ``source``; the id ``source:row`` is made from it."""
    ids: Any = None
    """pyarrow Array[n] of int64 or large_string when the source has ids, else None."""
    columns: Sequence[str | None] | None = None
    """Further columns of each document as JSON, if any were asked for and the source has columns."""
    bad: int = 0
    """Records left out because they could not be used."""
    faults: Sequence[Fault] = field(default=())
    """The first of them, with reasons."""
    blank: int = 0
    """Blank lines passed over (no record, not a fault)."""
    consumed: int = 0
    """Bytes of input that this batch stands for, as stored (compressed where compressed)."""
    places: Places | None = None
    """Where the records lie, where each can be read again by itself."""
    pages: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Where the pages of a document begin, in code points of its text, by its place in the batch, if it has pages."""
    text_bytes: int | None = None
    """Bytes of text that the documents stand for, where they are no longer what was read."""
    give_back: Callable[[], None] | None = None
    """Lets the reader have the memory of the documents, when nobody looks at them any more."""

    def __post_init__(self) -> None:
        _need(self.rows.size == len(self.documents), "rows must have one entry a document")
        _need(self.ids is None or len(self.ids) == len(self.documents), "ids must have one entry a document")
        are_all = self.columns is None or len(self.columns) == len(self.documents)
        _need(are_all, "columns must have one entry a document")


@dataclass(frozen=True, slots=True)
class Alone:
    """A reader's task that stands for so much text that no other should be worked on, or read ahead, beside it."""

    task: Callable[[], Batch]

    def __call__(self) -> Batch:
        """Do it."""
        return self.task()


class NeedsRoom(Exception):
    """A task has found that it should have been worked on alone; ``task`` does it."""

    def __init__(self, task: Alone) -> None:
        super().__init__()
        self.task = task


@dataclass(frozen=True, slots=True)
class ShingleSets:
    """Sets of 64-bit shingle hashes in CSR form."""

    offsets: I64
    """int64[n + 1], starting at 0."""
    hashes: U64
    """uint64[offsets[-1]], strictly rising inside each row."""

    def __post_init__(self) -> None:
        _need(self.offsets.dtype == np.int64 and self.hashes.dtype == np.uint64, "int64 offsets, uint64 hashes")
        _need(int(self.offsets[-1]) == self.hashes.size, "offsets must end at the number of hashes")

    def __len__(self) -> int:
        return self.offsets.size - 1

    def row(self, i: int) -> U64:
        """The sorted hashes of set i."""
        return self.hashes[self.offsets[i] : self.offsets[i + 1]]


class PaddedSets(NamedTuple):
    """Sets of 64-bit shingle hashes with padding between them; a tuple, which kernels take whole."""

    starts: I64
    """int64[n] or more: where each set begins in ``hashes``."""
    sizes: I64
    """int64[n]: hashes of each set, strictly rising."""
    hashes: U64


class SetBlock(NamedTuple):
    """Sets of a join, in rising order of size where they are indexed, and whose they are; as ``PaddedSets`` else."""

    rows: I64
    """int64[n]: the document of each."""
    sides: U8
    """1, 2 or 3; a pair needs both sides. 3 for all where any two may pair."""
    starts: I64
    sizes: I64
    hashes: U64


@dataclass(frozen=True, slots=True)
class Signatures:
    """MinHash signatures: ``values[n, slots]``, uint32. The largest value marks an empty
    slot, which an estimate leaves out where both have it."""

    values: U32

    def __post_init__(self) -> None:
        _need(self.values.dtype == np.uint32 and self.values.ndim == 2, "values must be uint32[n, slots]")

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def slots(self) -> int:
        """Slots per signature."""
        return int(self.values.shape[1])


@dataclass(frozen=True, slots=True)
class Pairs:
    """Verified pairs of rows: ``left < right``, sorted by (left, right), unique."""

    left: I64
    right: I64
    similarity: F64
    """Exact Jaccard similarity, intersection / union."""

    def __post_init__(self) -> None:
        _need(self.left.size == self.right.size == self.similarity.size, "columns must be of one length")
        _need(bool(np.all(self.left < self.right)), "left must be less than right")

    def __len__(self) -> int:
        return self.left.size
