"""Runs of postings: the sorted band keys of consecutive documents, in memory; made, merged, looked up.

A run covers the documents ``base`` to ``base + span``. It has a row of postings for each band and one more for the
ids, so that an id is looked up as a key is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import starts_of
from neardup.kernels import postings as kernels
from neardup.kernels.postings import RUN_FIELDS, Found
from neardup.types import I64, U8, U32, U64, Mask

DIRECTORY_SHARE = 3
"""A directory entry stands for 2**3 to 2**4 postings."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Sorted postings of consecutive documents."""

    base: int
    """Number of the first document."""
    span: int
    """Documents that the numbers of the run reach over, removed ones included."""
    postings: U64
    """uint64, row after row, rising inside each."""
    starts: I64
    """int64[rows + 1] into ``postings``."""
    prints: U64
    """uint64[span]: hash of each document's normalised text; equal for copies, and by chance or malice for others."""
    bits: int
    """Leading bits of a key that the directory tells apart."""
    directory: U32
    """uint32[rows, 2**bits + 1]."""
    checks: tuple[U64, U8, U8] | None = None
    """For a mapped file: checksums of its pages, flags of those that were checked, and the pages."""
    name: str | None = None
    """Of its file."""
    fields: I64 = field(init=False)
    """What the kernels need to know of it."""

    def __post_init__(self) -> None:
        values = [_address(self.postings), _address(self.starts), _address(self.directory), _address(self.prints)]
        sums, seen, pages = self.checks if self.checks is not None else (None, None, None)
        values += [self.bits, self.base, _address(pages), _address(sums), _address(seen)]
        assert len(values) == RUN_FIELDS
        object.__setattr__(self, "fields", np.array(values, dtype=np.int64))

    @property
    def end(self) -> int:
        """Number after the last document."""
        return self.base + self.span

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.postings.nbytes + self.starts.nbytes + self.prints.nbytes + self.directory.nbytes

    def row(self, row: int) -> U64:
        """The postings of one row."""
        return self.postings[self.starts[row] : self.starts[row + 1]]


def _address(array: NDArray[Any] | None) -> int:
    """Where the values of an array lie; 0 for none. ``array.ctypes`` takes three times as long."""
    return 0 if array is None else int(array.__array_interface__["data"][0])


def directory_bits(documents: int) -> int:
    """Bits of the directory of a run of so many documents."""
    return min(max(0, documents.bit_length() - 1 - DIRECTORY_SHARE), 24)


def sorted_row(keys: U32, numbers: U64) -> U64:
    """Rising postings of one row: the keys of documents, and their numbers inside the run."""
    row = (keys.astype(np.uint64) << np.uint64(32)) | numbers
    row.sort()
    return row


def fill_directory(postings: U64, starts: I64, bits: int) -> U32:
    """uint32[rows, 2**bits + 1]: where the keys of each prefix begin in each row."""
    out = np.empty((starts.size - 1, (1 << bits) + 1), dtype=np.uint32)
    kernels.directory(postings, starts, bits, out)
    return out


def make_run(base: int, keys: U32, prints: U64, has_shingles: Mask, *, numbers: I64 | None = None) -> Run:
    """A run of documents, the first one of number ``base``.

    ``keys`` is uint32[bands + 1, n]: leading halves of their band keys, and of the hashes of their ids; ``prints`` are
    uint64[span], hashes of their texts, by number. Documents without a shingle (``has_shingles``, bool[n]) have no
    postings but that of their id. Where they are not all there, ``numbers`` (int64[n]) has that of each, from 0.
    """
    rows, n = keys.shape
    everyone = np.arange(n, dtype=np.uint64) if numbers is None else numbers.astype(np.uint64)
    wide = (keys.astype(np.uint64) << np.uint64(32)) | everyone
    if bool(has_shingles.all()):
        wide.sort(axis=1)
        postings, starts = wide.reshape(-1), np.arange(rows + 1, dtype=np.int64) * n
    else:
        parts = [np.sort(wide[row][has_shingles]) for row in range(rows - 1)]
        parts.append(np.sort(wide[rows - 1]))
        postings = np.concatenate(parts)
        starts = starts_of(np.array([part.size for part in parts]))
    bits = directory_bits(n)
    prints = np.ascontiguousarray(prints)
    return Run(base, prints.size, postings, starts, prints, bits, fill_directory(postings, starts, bits))


def merge_runs(first: Run, second: Run) -> Run:
    """One run of two that follow each other. O(postings)."""
    shift = second.base - first.base
    postings = np.empty(first.postings.size + second.postings.size, dtype=np.uint64)
    starts = np.empty_like(first.starts)
    kernels.merge(first.postings, first.starts, second.postings, second.starts, shift, postings, starts)
    span = second.end - first.base
    prints = np.zeros(span, dtype=np.uint64)
    prints[: first.span] = first.prints
    prints[shift:] = second.prints
    bits = directory_bits(span)
    return Run(first.base, span, postings, starts, prints, bits, fill_directory(postings, starts, bits))


def merged_row(runs: Sequence[Run], row: int, gone: Mask | None) -> U64:
    """One row of several runs that follow each other, without the postings of documents that are ``gone``, if any.

    ``gone`` reaches from the first document of the first run to the end of the last.
    """
    base = runs[0].base
    whole: U64 = np.concatenate([run.row(row) + np.uint64(run.base - base) for run in runs])
    if gone is not None:
        whole = whole[~gone[(whole & np.uint64(0xFFFFFFFF)).astype(np.int64)]]
    whole.sort()
    return whole


def without(runs: Sequence[Run], removed: I64) -> tuple[Mask | None, U64]:
    """Which documents of runs that follow each other are among ``removed`` (None: none), and the hashes of all."""
    base, end = runs[0].base, runs[-1].end
    prints = np.zeros(end - base, dtype=np.uint64)
    for run in runs:
        prints[run.base - base : run.end - base] = run.prints
    inside = removed[(removed >= base) & (removed < end)]
    if inside.size == 0:
        return None, prints
    gone = np.zeros(end - base, dtype=np.bool_)
    gone[inside - base] = True
    return gone, prints


def compacted(runs: Sequence[Run], removed: I64) -> Run:
    """One run of several that follow each other, without the postings of removed documents. O(n log n)."""
    gone, prints = without(runs, removed)
    rows = [merged_row(runs, row, gone) for row in range(runs[0].starts.size - 1)]
    starts = starts_of(np.array([row.size for row in rows]))
    postings = np.concatenate(rows)
    bits = directory_bits(max(row.size for row in rows))
    return Run(runs[0].base, prints.size, postings, starts, prints, bits, fill_directory(postings, starts, bits))


def lookup(
    runs: Sequence[Run], table: I64, keys: U32, wanted: Mask, *, first_row: int, limit: int = kernels.ALL
) -> Found:
    """Documents of all ``runs``, which must stay alive meanwhile, that share a key with each query.

    ``table`` is int64[runs, RUN_FIELDS], their fields; ``keys`` are uint32[rows, queries] from ``first_row`` on.
    Queries that are not ``wanted`` (bool[queries]) find nothing. Of each key, the ``limit`` lowest numbers are found.
    """
    return Found(*kernels.lookup(table, np.ascontiguousarray(keys), wanted, first_row, limit))
