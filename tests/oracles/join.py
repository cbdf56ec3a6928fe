"""All pairs at least t of a large collection: exact, in numpy, with a prefix filter and no hashing.

Shingles become integers by packing or ranking (never by a hash, so two shingles cannot collide). Then every
set is put in the order rarest shingle first, and two sets with an overlap of o or more share enough
shingles of their prefixes: with prefixes that leave s(x) and s(y) shingles out, at least o - max(s(x),
s(y)) of them. Only such pairs are counted in full. No step touches documents x universe.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tests.oracles.text import normalise

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

_ROOM = 2**62
_SAFE = 1e-9
"""Slack of the filters, which only ever lets more pairs through to the exact count."""


@dataclass(frozen=True)
class Sets:
    """Sets of small integers in CSR form; ``items[offsets[i]:offsets[i + 1]]`` is set i, each item once."""

    offsets: I64
    items: I64

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def sizes(self) -> I64:
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Found:
    """Pairs ``left < right``, sorted, with their exact similarity."""

    left: I64
    right: I64
    similarity: F64

    def __len__(self) -> int:
        return self.left.size

    def at_least(self, threshold: float) -> Found:
        """The pairs of at least ``threshold``."""
        keep = self.similarity >= threshold
        return Found(self.left[keep], self.right[keep], self.similarity[keep])


def sets_of_texts(texts: Sequence[str], shingle: str, how: str = "nfc") -> Sets:
    """The shingle sets of texts, ``char:K`` or ``word:K``."""
    kind, _, size = shingle.partition(":")
    plain = [normalise(text, how) for text in texts]
    rows = [_code_points(text) for text in plain] if kind == "char" else _word_rows(plain)
    return _windows(rows, int(size), plain)


def sets_of_items(rows: Iterable[Set[Hashable]]) -> Sets:
    """Sets of anything hashable."""
    ids: dict[Hashable, int] = {}
    lists = [[ids.setdefault(item, len(ids)) for item in row] for row in rows]
    flat = np.array([i for row in lists for i in row], dtype=np.int64)
    return Sets(_offsets([len(row) for row in lists]), flat)


def all_pairs(sets: Sets, threshold: float) -> Found:
    """Every pair with shared/union >= threshold as a float64 quotient."""
    order = np.argsort(sets.sizes, kind="stable")
    ranked = _rarest_first(sets, order)
    sizes = ranked.sizes
    kept = np.ceil(threshold * sizes - _SAFE).astype(np.int64) - 1
    kept = np.maximum(kept, 0)  # shingles left out of the prefix
    index = _Postings(ranked, sizes - kept)
    lefts, rights, values = [], [], []
    mark = np.zeros(int(ranked.items.max(initial=0)) + 1, dtype=np.uint8)
    for x in range(len(ranked)):
        y = _candidates(ranked, index, kept, x, threshold)
        if y.size == 0:
            continue
        shared = _overlaps(ranked, mark, x, y)
        value = shared / (sizes[x] + sizes[y] - shared)
        good = value >= threshold
        lefts.append(np.full(int(good.sum()), order[x]))
        rights.append(order[y[good]])
        values.append(value[good])
    if not lefts:
        empty = np.zeros(0, dtype=np.int64)
        return Found(empty, empty, np.zeros(0))
    a, b, value = np.concatenate(lefts), np.concatenate(rights), np.concatenate(values)
    low, high = np.minimum(a, b), np.maximum(a, b)
    by = np.lexsort((high, low))
    return Found(low[by], high[by], value[by])


class _Postings:
    """For each shingle the sets whose prefix holds it, rising."""

    def __init__(self, sets: Sets, lengths: I64) -> None:
        self.lengths = lengths
        rows = np.repeat(np.arange(len(sets)), lengths)
        items = sets.items[_ranges(sets.offsets[:-1], lengths)]
        by = np.argsort(items, kind="stable")
        self.rows = rows[by]
        counts = np.bincount(items, minlength=int(sets.items.max(initial=0)) + 1)
        self.start = np.concatenate([[0], np.cumsum(counts)])
        # how many sets before this one hold the shingle in their prefix
        self.before = np.empty(items.size, dtype=np.int64)
        self.before[by] = np.arange(items.size) - np.repeat(self.start[:-1], counts)
        self.first = np.concatenate([[0], np.cumsum(lengths)])

    def earlier(self, sets: Sets, x: int) -> I64:
        """The earlier sets that share a prefix shingle with set x, once for each such shingle."""
        begin = sets.offsets[x]
        items = sets.items[begin : begin + self.lengths[x]]
        before = self.before[self.first[x] : self.first[x + 1]]
        return self.rows[_ranges(self.start[items], before)]


def _candidates(sets: Sets, index: _Postings, kept: I64, x: int, threshold: float) -> I64:
    rows = index.earlier(sets, x)
    if rows.size == 0:
        return rows
    low = int(rows.min())
    counts = np.bincount(rows - low)
    y = np.flatnonzero(counts)
    counts = counts[y]
    y += low
    size = sets.offsets[y + 1] - sets.offsets[y]
    own = int(sets.offsets[x + 1] - sets.offsets[x])
    need = np.ceil(threshold * (size + own) / (1 + threshold) - _SAFE)
    return y[(size >= threshold * own - _SAFE) & (counts >= need - np.maximum(kept[y], kept[x]))]


def _overlaps(sets: Sets, mark: NDArray[np.uint8], x: int, y: I64) -> I64:
    """|x & y| for each y, by marking the shingles of x."""
    own = sets.items[sets.offsets[x] : sets.offsets[x + 1]]
    mark[own] = 1
    start, length = sets.offsets[y], sets.offsets[y + 1] - sets.offsets[y]
    hits = mark[sets.items[_ranges(start, length)]]
    shared = np.add.reduceat(hits, np.cumsum(length) - length, dtype=np.int64)
    mark[own] = 0
    return shared


def _rarest_first(sets: Sets, order: I64) -> Sets:
    """The sets in the given order, each sorted rarest item first, items renamed by rarity."""
    frequency = np.bincount(sets.items)
    rank = np.empty(frequency.size, dtype=np.int64)
    rank[np.argsort(frequency, kind="stable")] = np.arange(frequency.size)
    sizes = sets.sizes[order]
    items = rank[sets.items[_ranges(sets.offsets[order], sizes)]]
    rows = np.repeat(np.arange(order.size), sizes)
    key = rows * max(1, frequency.size) + items
    key.sort()
    return Sets(_offsets(sizes), key % max(1, frequency.size))


def _windows(rows: list[I64], k: int, plain: list[str]) -> Sets:
    """Distinct k-windows of rows of small integers; short rows are one shingle of their own."""
    lengths = np.array([row.size for row in rows], dtype=np.int64)
    flat = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
    counts = np.maximum(lengths - k + 1, 0)
    start = _ranges(_offsets(lengths)[:-1], counts)
    base = int(flat.max(initial=0)) + 1
    key, distinct = np.zeros(start.size, dtype=np.int64), 1
    for step in range(k):
        if distinct > _ROOM // base:
            key, distinct = _ranked(key)
        key = key * base + flat[start + step]
        distinct *= base
    key, named = _ranked(key)
    owner = np.repeat(np.arange(len(rows)), counts)
    short: dict[Hashable, int] = {}
    extra_owner, extra_key = [], []
    for i in np.flatnonzero(counts == 0):
        if plain[i]:
            value: Hashable = rows[i].tobytes() if rows[i].size else plain[i]
            extra_owner.append(i)
            extra_key.append(named + short.setdefault(value, len(short)))
    owner = np.concatenate([owner, np.array(extra_owner, dtype=np.int64)])
    key = np.concatenate([key, np.array(extra_key, dtype=np.int64)])
    universe = max(1, named + len(short))
    both = owner * universe + key
    both.sort()  # not np.unique, which hashes and takes ten times as long here
    both = both[np.diff(both, prepend=-1) > 0]
    return Sets(_offsets(np.bincount(both // universe, minlength=len(rows))), both % universe)


def _ranked(key: I64) -> tuple[I64, int]:
    """Equal numbers by equal small ones, and how many there are. Arrow's dictionary is exact and quick."""
    encoded = pa.array(key).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def _code_points(text: str) -> I64:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)


def _word_rows(plain: list[str]) -> list[I64]:
    ids: dict[str, int] = {}
    return [np.array([ids.setdefault(word, len(ids)) for word in _fast_words(text)], dtype=np.int64) for text in plain]


def _fast_words(text: str) -> list[str]:
    """``text.words`` with one category look-up for each distinct character of the text."""
    table = {ord(c): " " for c in set(text) if unicodedata.category(c)[0] not in "LMN"}
    return [w for w in text.translate(table).split(" ") if w]


def _ranges(starts: I64, lengths: I64) -> I64:
    """Concatenated aranges: starts[i] .. starts[i] + lengths[i]."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if lengths.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)


def _offsets(sizes: Iterable[int] | I64) -> I64:
    sizes = np.asarray(sizes if isinstance(sizes, np.ndarray) else list(sizes), dtype=np.int64)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
