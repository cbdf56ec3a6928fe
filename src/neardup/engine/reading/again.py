"""The texts of a run, by row: what can be read again where it is needed is not kept.

Most documents are never asked for again: only those that share a bucket are compared. So of a record in a plain file
its place is kept, 16 bytes, and of everything else (compressed, piped, made from a PDF) the text. While the collection
is small its texts stay at hand, too (``near``): where many are candidates or copies that saves a second reading.

What is read again must be what was read before: sizes and times of the files are looked at whenever they are opened
(``inputs.again``), and the print of each text, 128 bits, is held against the one of the first reading. A text that was
changed raises InputChanged; it is never compared silently.
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
"""Bytes of records that are read at a time: what is made of them stays in the cache."""
_KEPT = -1
_LONGEST = (1 << 32) - 1
_SHARED = 0.8
"""Share of its buffer that a block must fill to be kept in it; else it is copied."""


class _Places(NamedTuple):
    """Where the texts of some rows are."""

    origins: I64
    starts: I64
    sizes: I64
    """Bytes of the record."""
    prints: U64
    """uint64[m, 2], or none where all texts are kept."""

    def of(self, some: I64 | slice) -> _Places:
        prints = self.prints[some] if len(self.prints) else self.prints
        return _Places(self.origins[some], self.starts[some], self.sizes[some], prints)


class SourceTexts(Texts):
    """Normalised texts of all rows: in the files that they were read from, or kept."""

    def __init__(
        self, space: Space, prints: Column, normalize: Callable[[Documents], Documents], *, keep: bool, near: bool
    ) -> None:
        """None yet. ``prints`` has those of each row; with ``keep`` all are kept: they will be asked for often.

        With ``near`` all stay at hand until ``leave`` is called.
        """
        self._prints = prints
        self._normalize = normalize
        self._keep = keep
        self._near = MemoryTexts() if near else None
        """Of all rows, also of those that are kept: the blocks are the same."""
        self.near_bytes = 0
        """Bytes of texts that are at hand and could be read again."""
        self.origins: list[Origin] = []
        self.kept, *self._columns = _made(space)

    @property
    def _segments(self) -> Column:
        """Of each run of rows: the first of them, and their origin or _KEPT."""
        return self._columns[0]

    @property
    def _starts(self) -> Column:
        """Where the record of a row begins in its file; of one that is kept, its row there."""
        return self._columns[1]

    @property
    def _sizes(self) -> Column:
        """Bytes of the record, 0 where the text is kept, and of the normalised text, _LONGEST at most."""
        return self._columns[2]

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def nbytes(self) -> int:
        """Bytes held, in memory or on disk."""
        return self.kept.nbytes + self.near_bytes + sum(column.nbytes for column in self._columns)

    @property
    def is_at_hand(self) -> bool:
        """Whether all of them are in memory."""
        return self._near is not None or (isinstance(self.kept, MemoryTexts) and len(self.kept) == len(self))

    @property
    def text_bytes(self) -> int:
        """Bytes of all normalised texts, those of more than 4 GB as so many. Reads a column."""
        return sum(int(sizes[:, 1].sum(dtype=np.int64)) for _, sizes in self._sizes.scan(1 << 20))

    def append(self, documents: Documents) -> None:
        """Add a block at the end, which is kept."""
        self.add(documents, None)

    def add(self, documents: Documents, places: Places | None) -> bool:
        """Add a block of normalised documents, not empty, at the end; whether its memory is held on to."""
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
        """Have no texts at hand any more but those that are kept."""
        self._near, self.near_bytes = None, 0

    def _number(self, origin: Origin) -> int:
        if not self.origins or self.origins[-1] is not origin:
            self.origins.append(origin)
        return len(self.origins) - 1

    def spill(self, space: Space, prints: Column) -> None:
        """Move everything into files of the workdir, which is open now and has the ``prints`` already."""
        self.leave()
        self._prints = prints
        kept, *columns = _made(space)
        for old, new in zip(self._columns, columns, strict=True):
            for _, block in old.scan(1 << 20):
                new.append(block)
        self.kept, self._columns = moved_texts(self.kept, kept), columns

    def state(self) -> list[dict[str, Any]]:
        """The origins as JSON values."""
        return [origin.facts for origin in self.origins]

    def restore(self, origins: Sequence[Origin]) -> None:
        """Go on where an interrupted run was, whose columns are there."""
        self.origins = list(origins)

    def lengths(self, rows: I64) -> I64:
        return self._lengths(rows, self._sizes.take(rows))

    def _lengths(self, rows: I64, sizes: U32) -> I64:
        lengths: I64 = sizes[:, 1].astype(np.int64)
        longest = np.flatnonzero(lengths == _LONGEST)
        if longest.size:  # kept, all of them
            lengths[longest] = self.kept.lengths(self._starts.take(rows[longest]))
        return lengths

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        """As ``Texts.parts``: what is kept as it is kept, of what is read again blocks of about PIECE_BYTES."""
        if self._near is not None:
            yield from self._near.parts(rows, most)
        elif rows.size:
            yield from self._parts(rows, self._places(rows, self._sizes.take(rows)), most)

    def _places(self, rows: I64, sizes: U32) -> _Places:
        """Looked up for many rows at once: columns on disk are read through rather than jumped through then."""
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
        """Whether pairs of documents are equal, byte for byte; those of one left document best follow each other.

        ``room``: bytes of texts to hold beside those in memory; each document is read once for as many pairs as that is
        enough for. Memory: 60 bytes for each document beside.
        """
        if self._near is not None:
            return self._near.same(left, right)
        if isinstance(self.kept, MemoryTexts) and len(self.kept) == len(self):  # under the same numbers
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
        held[1:] -= a[1:] == a[:-1]  # then the left document is there already
        address = np.empty(rows.size, dtype=np.int64)
        for run in cut(lengths[a] * held, min(room, PIECE_BYTES)):
            mine = distinct(np.concatenate((a[run], b[run])))
            parts = list(self._parts(rows[mine], places.of(mine)))  # what lies at the addresses must stay
            for documents, local, part in parts:
                address[mine[part]] = documents.data.ctypes.data + documents.offsets[local]
            equal[alike[run]] = same_bytes(address[a[run]], address[b[run]], lengths[a[run]])
        return equal


def made_texts(name: str, space: Space) -> Texts:
    """An empty store of texts where the rest of the data is, or what an interrupted run left of it."""
    return MemoryTexts() if space.workdir is None else space.workdir.texts(name)


def moved_texts(texts: Texts, to: Texts) -> Texts:
    """Texts in another place; their memory is given up block by block."""
    if isinstance(texts, MemoryTexts):
        while texts.blocks:
            to.append(texts.blocks.pop(0))
    return to


def _made(space: Space) -> tuple[Texts, Column, Column, Column]:
    """What texts are kept in, and where the others are, where the rest of the data is."""
    return (
        made_texts("texts", space),
        space.column("segments", np.int64, 2),
        space.column("starts", np.int64),
        space.column("sizes", np.uint32, 2),
    )


def _compact(documents: Documents) -> Documents:
    """The documents in a buffer that is not much larger than they are."""
    first, last = int(documents.offsets[0]), int(documents.offsets[-1])
    if last - first > _SHARED * documents.data.size:
        return documents
    return Documents(np.append(documents.data[first:last], np.zeros(SLACK, np.uint8)), documents.offsets - first)
