"""The documents of a run: normalised texts and what was computed of each, in memory or in a workdir, with one face."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.reading.families import read_slots
from neardup.engine.space import Space
from neardup.params import Spec
from neardup.spool import Column, FileTexts, MemoryColumn, MemoryTexts, Texts, Workdir
from neardup.stages import bands as band_stage
from neardup.types import I32, I64, U32, U64, Documents

__all__ = ["Collection", "Rows", "content_order"]

_LENGTH_BITS = 24
_LONGEST = (1 << _LENGTH_BITS) - 1


@dataclass(frozen=True, slots=True)
class Rows:
    """What sketching made of one batch."""

    documents: Documents
    """Normalised."""
    values: U32
    """uint32[n, slots], signatures."""
    counts: I64
    """int64[n], shingles with repeats; 0 for an empty document."""
    prints: U64
    """uint64[n, 2], hash of the normalised text."""
    keys: U64 | None
    """uint64[bands, n], the key of each band; None when nobody wanted them yet."""
    short: int = 0
    """Of them, documents of fewer tokens than a shingle has."""


@dataclass(slots=True)
class Collection:
    """All documents of a run. A row is the place of a document in the input, from 0."""

    spec: Spec
    space: Space
    texts: Texts
    values: Column
    counts: Column
    prints: Column
    keys: list[Column] = field(default_factory=list)
    """Of each band, when in a workdir: in memory they are made from the signatures."""
    read_bytes: int = 0
    """Bytes of text as read."""
    short: int = 0
    """Documents of fewer than k tokens."""

    @classmethod
    def new(cls, spec: Spec, space: Space) -> Collection:
        """An empty one, or the one that an interrupted run left in the workdir."""
        slots = read_slots(spec)
        if space.workdir is not None:
            return cls(spec, space, *_file_columns(space.workdir, spec, slots))
        return cls(
            spec,
            space,
            MemoryTexts(),
            MemoryColumn(np.uint32, slots),
            MemoryColumn(np.int64),
            MemoryColumn(np.uint64, 2),
        )

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """Bytes held, in memory or on disk."""
        columns = (self.values, self.counts, self.prints, *self.keys)
        return self.texts.nbytes + sum(column.nbytes for column in columns)

    def append(self, rows: Rows, more: float) -> None:
        """Add a batch; ``more`` says how many times what there is so far is still to come."""
        self.short += rows.short
        self.texts.append(rows.documents)
        self.counts.append(rows.counts)
        self.prints.append(rows.prints)
        if isinstance(self.values, MemoryColumn):
            self.values.append(rows.values, more)
            return
        self.values.append(rows.values)
        keys = rows.keys if rows.keys is not None else band_stage.keys_of(rows.values, self.spec.bands)
        for column, band in zip(self.keys, keys, strict=True):
            column.append(band)

    def spill(self, workdir: Workdir) -> None:
        """Move everything into files."""
        texts, values, counts, prints, keys = _file_columns(workdir, self.spec, self.values.width)
        for first in range(0, len(self), ROWS_AT_A_TIME):
            last = min(first + ROWS_AT_A_TIME, len(self))
            block = self.values.slice(first, last)
            values.append(block)
            for column, band in zip(keys, band_stage.keys_of(block, self.spec.bands), strict=True):
                column.append(band)
            counts.append(self.counts.slice(first, last))
            prints.append(self.prints.slice(first, last))
        if isinstance(self.texts, MemoryTexts):
            while self.texts.blocks:
                texts.append(self.texts.blocks.pop(0))
        self.texts, self.values, self.counts, self.prints, self.keys = texts, values, counts, prints, keys

    @property
    def resident(self) -> U32 | None:
        """All signatures, when they are in memory."""
        return self.values.array if isinstance(self.values, MemoryColumn) else None

    def keys_at(self, band: int, rows: I64) -> U64:
        """uint64[m], keys of some rows in one band."""
        resident = self.resident
        if resident is None:
            keys: U64 = self.keys[band].take(rows)
            return keys
        return band_stage.keys_at(resident, rows, band, self.spec.bands)

    def scan_keys(self, band: int, weight: I32, part: int, parts: int) -> tuple[U64, I64]:
        """Keys and rows of the documents with weight whose key lies in one of ``parts`` equal ranges."""
        resident = self.resident
        if resident is not None:
            rows = np.flatnonzero(weight)
            keys = band_stage.keys_at(resident, rows, band, self.spec.bands)
            return band_stage.in_part(keys, rows, part, parts)
        found = []
        for first, keys in self.keys[band].scan(4 * ROWS_AT_A_TIME):
            inside = np.flatnonzero(weight[first : first + keys.size])
            found.append(band_stage.in_part(keys[inside], inside + first, part, parts))
        return np.concatenate([keys for keys, _ in found] or [np.empty(0, np.uint64)]), np.concatenate(
            [rows for _, rows in found] or [np.empty(0, np.int64)]
        )


def _file_columns(workdir: Workdir, spec: Spec, slots: int) -> tuple[FileTexts, Column, Column, Column, list[Column]]:
    return (
        workdir.texts("texts"),
        workdir.column("signatures", np.uint32, slots),
        workdir.column("counts", np.int64),
        workdir.column("prints", np.uint64, 2),
        [workdir.column(f"keys-{band:03d}", np.uint64) for band in range(spec.bands.bands)],
    )


def content_order(collection: Collection, rows: I64) -> I64:
    """``rows`` with the longest text first, then by text hash, then by row: the order to lead and to keep.

    Sorted by one number each, of length and leading bits of the hash; the few that share it are looked at again.
    Memory: 24 bytes a row.
    """
    key = np.empty(rows.size, dtype=np.uint64)
    for i in range(0, rows.size, ROWS_AT_A_TIME):
        part = rows[i : i + ROWS_AT_A_TIME]
        length = np.minimum(collection.texts.lengths(part), _LONGEST).astype(np.uint64)
        hashed = collection.prints.take(part)[:, 0] >> np.uint64(_LENGTH_BITS)
        key[i : i + ROWS_AT_A_TIME] = (np.uint64(_LONGEST) - length) << np.uint64(64 - _LENGTH_BITS) | hashed
    order = np.argsort(key, kind="stable")
    key = key[order]
    same = np.zeros(rows.size, dtype=np.bool_)
    same[1:] = key[1:] == key[:-1]
    again = same.copy()
    again[:-1] |= same[1:]
    at = np.flatnonzero(again)
    if at.size:
        close = rows[order[at]]
        prints = collection.prints.take(close)
        by_content = (close, prints[:, 1], prints[:, 0], -collection.texts.lengths(close))
        order[at] = order[at[np.lexsort((*by_content, np.cumsum(~same[at])))]]
    ordered: I64 = rows[order]
    return ordered
