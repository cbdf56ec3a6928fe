"""Provide the texts of a run by row. Texts that can be reread from their file are not kept.

Most documents are never needed again, because only documents that share a bucket are compared. So the store keeps the
location of a record in a plain file, 16 bytes, and the text of any other document (compressed, piped, made from a PDF).
While the collection is small, all texts stay in memory too (``near``), which saves rereading candidates and copies.

A reread text must be unchanged: the sizes and times of the files are checked whenever they are opened
(``inputs.again``), and the print of each text, 128 bits, is compared with that of the first reading. A changed text
raises InputChanged, and is never compared silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from neardup.cutting import cut, distinct
from neardup.engine.space import Space
from neardup.spool import Column, MemoryTexts, Texts, same_bytes
from neardup.stages.sketch import fingerprints
from neardup.stages.verify import numbered
from neardup.types import I64, SLACK, U32, U64, Documents, Mask, Origin, Places

PIECE_BYTES = 4 << 20
"""Bytes of records that are read at a time, few enough for the work on them to stay in the cache."""
_KEPT = -1
_LONGEST = (1 << 32) - 1
_SHARED = 0.8
"""The share of its buffer that a block must fill to stay in it. Otherwise the block is copied."""


class _Places(NamedTuple):
    """The locations of the texts of some rows."""

    origins: I64
    starts: I64
    sizes: I64
    """The bytes of each record."""
    prints: U64
    """uint64[m, 2], or empty if all of these texts are kept."""

    def of(self, some: I64 | slice) -> _Places:
        prints = self.prints[some] if len(self.prints) else self.prints
        return _Places(self.origins[some], self.starts[some], self.sizes[some], prints)


class SourceTexts(Texts):
    """The normalised texts of all rows, either in the files that they were read from, or kept."""

    def __init__(
        self, space: Space, prints: Column, normalize: Callable[[Documents], Documents], *, keep: bool, near: bool
    ) -> None:
        """Create an empty store. ``prints`` has the print of each row.

        With ``keep``, all texts are kept for frequent use. With ``near``, they are in memory until ``leave`` is called.
        """
        self._prints = prints
        self._normalize = normalize
        self._keep = keep
        self._near = MemoryTexts() if near else None
        """The texts of all rows, including kept ones, whose blocks are shared with ``kept``."""
        self.near_bytes = 0
        """The bytes of texts that are in memory and could be reread."""
        self.origins: list[Origin] = []
        self.kept, *self._columns = _made(space)

    @property
    def _segments(self) -> Column:
        """int64[m, 2]: the first row of each added block, and the index of its record file, or _KEPT."""
        return self._columns[0]

    @property
    def _starts(self) -> Column:
        """int64[n]: the start of each row's record in its file, or the row of a kept text in ``kept``."""
        return self._columns[1]

    @property
    def _sizes(self) -> Column:
        """uint32[n, 2]: the bytes of the record (0 for a kept text) and of the normalised text (at most _LONGEST)."""
        return self._columns[2]

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def nbytes(self) -> int:
        """The bytes held, in memory or on disk."""
        return self.kept.nbytes + self.near_bytes + sum(column.nbytes for column in self._columns)

    @property
    def is_at_hand(self) -> bool:
        """Whether all texts are in memory."""
        return self._near is not None or (isinstance(self.kept, MemoryTexts) and len(self.kept) == len(self))

    @property
    def text_bytes(self) -> int:
        """The bytes of all normalised texts, with 4 GB for any longer text. Reads a whole column."""
        return sum(int(sizes[:, 1].sum(dtype=np.int64)) for _, sizes in self._sizes.scan(1 << 20))

    def append(self, documents: Documents) -> None:
        """Add a block of documents at the end, and keep its texts."""
        self.add(documents, None)

    def add(self, documents: Documents, places: Places | None) -> bool:
        """Add a non-empty block of normalised documents at the end, and return whether its memory stays in use."""
        lengths = np.diff(documents.offsets)
        stays = self._keep or places is None or max((places.stops - places.starts).max(), lengths.max()) >= _LONGEST
        compact = _compact(documents) if stays or self._near is not None else None
        if compact is not None and self._near is not None:
            self._near.append(compact)
        if stays:
            assert compact is not None
            origin, starts = _KEPT, np.arange(len(self.kept), len(self.kept) + lengths.size)
            self.kept.append(compact)
            sizes = np.column_stack((np.zeros_like(lengths), np.minimum(lengths, _LONGEST))).astype(np.uint32)
        else:
            assert places is not None
            self.near_bytes += 0 if self._near is None else documents.nbytes + documents.offsets.nbytes
            origin, starts = self._number(places.origin), places.starts
            sizes = np.column_stack((places.stops - starts, lengths)).astype(np.uint32)
        self._segments.append(np.array([[len(self), origin]], dtype=np.int64))
        self._starts.append(starts)
        self._sizes.append(sizes)
        return compact is documents

    def leave(self) -> None:
        """Release the texts in memory, except those that are kept."""
        self._near, self.near_bytes = None, 0

    def _number(self, origin: Origin) -> int:
        if not self.origins or self.origins[-1] is not origin:
            self.origins.append(origin)
        return len(self.origins) - 1

    def spill(self, space: Space, prints: Column) -> None:
        """Move everything into files of the workdir, which is open and already has the ``prints``."""
        self.leave()
        self._prints = prints
        kept, *columns = _made(space)
        for old, new in zip(self._columns, columns, strict=True):
            for _, block in old.scan(1 << 20):
                new.append(block)
        self.kept, self._columns = moved_texts(self.kept, kept), columns

    def state(self) -> list[dict[str, Any]]:
        """Return the record files as JSON values."""
        return [origin.facts for origin in self.origins]

    def restore(self, origins: Sequence[Origin]) -> None:
        """Continue with the record files of an interrupted run, whose columns are already loaded."""
        self.origins = list(origins)

    def lengths(self, rows: I64) -> I64:
        return self._lengths(rows, self._sizes.take(rows))

    def _lengths(self, rows: I64, sizes: U32) -> I64:
        lengths: I64 = sizes[:, 1].astype(np.int64)
        longest = np.flatnonzero(lengths == _LONGEST)
        if longest.size:  # all of these texts are kept
            lengths[longest] = self.kept.lengths(self._starts.take(rows[longest]))
        return lengths

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        """Yield texts as ``Texts.parts`` does: kept ones in their own blocks, others in blocks of about PIECE_BYTES."""
        if self._near is not None:
            yield from self._near.parts(rows, most)
        elif rows.size:
            yield from self._parts(rows, self._places(rows, self._sizes.take(rows)), most)

    def _places(self, rows: I64, sizes: U32) -> _Places:
        """Look up many rows at once, because columns on disk are then read in sequence and not at random."""
        firsts, origin_of = self._segments.slice(0, len(self._segments)).T
        origins = origin_of[np.searchsorted(firsts, rows, side="right") - 1]
        prints = np.empty((0, 2), np.uint64) if (origins == _KEPT).all() else self._prints.take(rows)
        return _Places(origins, self._starts.take(rows), sizes[:, 0].astype(np.int64), prints)

    def _parts(self, rows: I64, at: _Places, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        cuts = np.concatenate(([0], np.flatnonzero(np.diff(at.origins)) + 1, [rows.size]))
        for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            if at.origins[begin] == _KEPT:
                for documents, local, part in self.kept.parts(at.starts[begin:end], most):
                    yield documents, local, slice(begin + part.start, begin + part.stop)
                continue
            for piece in cut(at.sizes[begin:end], PIECE_BYTES):
                part = slice(begin + piece.start, begin + piece.stop)
                documents = self._read(self.origins[at.origins[begin]], at.of(part))
                yield documents, np.arange(len(documents)), part

    def _read(self, origin: Origin, at: _Places) -> Documents:
        documents = self._normalize(origin.read(at.starts, at.starts + at.sizes))
        same = (fingerprints(documents) == at.prints).all(axis=1)
        if not same.all():
            raise origin.changed(int(at.starts[np.argmin(same)]))
        return documents

    def same(self, left: I64, right: I64, room: int) -> Mask:
        """Return which pairs of documents are equal, byte for byte. Pairs sorted by ``left`` need fewer readings.

        ``room`` is the bytes of texts to hold in addition to texts in memory. A document is read once for all pairs
        that fit into ``room`` together. Memory: another 60 bytes for each document.
        """
        if self._near is not None:
            return self._near.same(left, right)
        if isinstance(self.kept, MemoryTexts) and len(self.kept) == len(self):  # then both have the same row numbers
            return self.kept.same(left, right)
        equal = np.zeros(left.size, dtype=np.bool_)
        if not left.size:
            return equal
        rows, a, b = numbered(left, right)
        sizes = self._sizes.take(rows)
        lengths = self._lengths(rows, sizes)
        alike = np.flatnonzero(lengths[a] == lengths[b])
        a, b = a[alike], b[alike]
        places = self._places(rows, sizes)
        held = np.full(a.size, 2, dtype=np.int64)
        held[1:] -= a[1:] == a[:-1]  # the pair before has loaded the left document
        address = np.empty(rows.size, dtype=np.int64)
        for run in cut(lengths[a] * held, min(room, PIECE_BYTES)):
            mine = distinct(np.concatenate((a[run], b[run])))
            parts = list(self._parts(rows[mine], places.of(mine)))  # keep these blocks: the addresses point into them
            for documents, local, part in parts:
                address[mine[part]] = documents.data.ctypes.data + documents.offsets[local]
            equal[alike[run]] = same_bytes(address[a[run]], address[b[run]], lengths[a[run]])
        return equal


def made_texts(name: str, space: Space) -> Texts:
    """Create an empty store of texts where the other data is, or reopen the one that an interrupted run left."""
    return MemoryTexts() if space.workdir is None else space.workdir.texts(name)


def moved_texts(texts: Texts, to: Texts) -> Texts:
    """Move texts in memory to the store ``to``, and return it. Their memory is released block by block."""
    if isinstance(texts, MemoryTexts):
        while texts.blocks:
            to.append(texts.blocks.pop(0))
    return to


def _made(space: Space) -> tuple[Texts, Column, Column, Column]:
    """Create the store of kept texts, and the columns that locate all texts, where the other data is."""
    return (
        made_texts("texts", space),
        space.column("segments", np.int64, 2),
        space.column("starts", np.int64),
        space.column("sizes", np.uint32, 2),
    )


def _compact(documents: Documents) -> Documents:
    """Return the documents in a buffer that is not much larger than they are."""
    first, last = int(documents.offsets[0]), int(documents.offsets[-1])
    if last - first > _SHARED * documents.data.size:
        return documents
    return Documents(np.append(documents.data[first:last], np.zeros(SLACK, np.uint8)), documents.offsets - first)
