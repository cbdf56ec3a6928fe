"""Shared passages: what two texts have in common, as spans of characters.

A character is marked exactly when an occurrence of a shingle that both sets hold covers it, so what is marked is what
was counted. Here: the occurrences of shingles in a normalised text with offsets, and the runs that shared ones make.
Not here: normalisation and its offsets (``text``, ``offsets``), and the join of it all (``neardup.pipeline.passages``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from neardup.kernels import hashing, occurring
from neardup.stages.shingle import Hasher
from neardup.types import I32, I64, SLACK, U64

__all__ = ["Occurrences", "Passages", "Span", "find_occurrences", "find_passages"]

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every shingle of a text in order, with repeats: its hash, and from where to where it lies in the original."""

    hashes: U64
    starts: I64
    """int64[n], never falling."""
    ends: I64
    """int64[n], never falling."""


@dataclass(frozen=True, slots=True)
class Passages:
    """What two texts share. Spans are (start, end) in code points of the original texts, rising, apart."""

    a: list[Span]
    """Runs of the first text."""
    b: list[Span]
    """Runs of the second text."""
    links: list[int]
    """For each run of ``a`` its partner among the runs of ``b``: where its rarest shingle occurs there."""
    back: list[int]
    """For each run of ``b`` its partner among the runs of ``a``."""
    common: int
    """Distinct shingles of both."""
    size_a: int
    """Distinct shingles of the first."""
    size_b: int
    """Distinct shingles of the second."""

    @property
    def jaccard(self) -> float:
        """Exact similarity of the sets that the marks stand for; two empty texts are alike."""
        union = self.size_a + self.size_b - self.common
        return self.common / union if union else 1.0


def find_occurrences(text: str, starts: I64, ends: I64, hasher: Hasher) -> Occurrences:
    """Every shingle of a normalised text. A text of fewer than k tokens is its one shingle.

    Args:
        text: normalised; items are split at white space.
        starts, ends: int64[len(text)], where each character came from.
        hasher: shingle and seed.
    """
    data = text.encode("utf-8", "replace")
    firsts, lasts = _tokens(data.decode("utf-8"), hasher)
    if firsts.size == 0 and text and hasher.kind != hashing.ITEM:
        firsts, lasts = np.array([0]), np.array([len(text) - 1])  # no token at all: the text as it is
    if hasher.kind == hashing.ITEM:
        data = b"\xff".join(item.encode("utf-8", "replace") for item in text.split())
    count = max(firsts.size - hasher.k + 1, min(firsts.size, 1))
    hashes = np.empty(count, dtype=np.uint64)
    buffer = np.frombuffer(data + bytes(SLACK), dtype=np.uint8)
    found = occurring.hashes_in_order(hasher.kind, hasher.k, hasher.key, buffer, 0, len(data), hasher.letters, hashes)
    assert found == count, f"{found} shingles hashed and {count} placed"
    return Occurrences(hashes, starts[firsts[:count]], ends[lasts[-count:]] if count else ends[:0])


def _tokens(text: str, hasher: Hasher) -> tuple[I64, I64]:
    """First and last character of each token of a text that is valid UTF-8."""
    if hasher.kind == hashing.ITEM:
        spans = np.array([found.span() for found in re.finditer(r"\S+", text)], dtype=np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1] - 1
    places = np.arange(len(text), dtype=np.int64)
    if hasher.kind == hashing.CHAR:
        return places, places
    codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4").astype(np.int64)
    if hasher.kind == hashing.BYTE:
        places = np.repeat(places, 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000))
        return places, places
    in_word = (hasher.letters[codes >> 3] >> (codes & 7).astype(np.uint8) & 1).astype(np.int8)
    edges = np.flatnonzero(np.diff(in_word, prepend=0, append=0))
    return edges[::2], edges[1::2] - 1


def find_passages(a: Occurrences, b: Occurrences) -> Passages:
    """The runs of shared shingles of two texts. Linear.

    The partner of a run is the run of the other text with the shingle that is rarest in both together (of several the
    one of least hash): what is everywhere says least about where a passage went. Where that shingle is repeated, its
    j-th occurrence belongs to the j-th of the other text, or to the last there.
    """
    partners_a, counts_a = (np.empty(a.hashes.size, dtype=np.int32) for _ in range(2))
    partners_b, counts_b = (np.empty(b.hashes.size, dtype=np.int32) for _ in range(2))
    size_a, size_b, common = occurring.match(a.hashes, b.hashes, partners_a, partners_b, counts_a, counts_b)
    runs_a, runs_b = _Runs.of(a, partners_a, counts_a), _Runs.of(b, partners_b, counts_b)
    return Passages(
        a=runs_a.spans(),
        b=runs_b.spans(),
        links=runs_b.run_of(runs_a.partners),
        back=runs_a.run_of(runs_b.partners),
        common=common,
        size_a=size_a,
        size_b=size_b,
    )


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of the shared occurrences of one text."""

    starts: I64
    ends: I64
    partners: I32
    """Occurrence in the other text that each run is linked to."""
    firsts: I64
    """The first shared occurrence of each."""

    @classmethod
    def of(cls, own: Occurrences, partners: I32, counts: I32) -> _Runs:
        shared = np.flatnonzero(partners >= 0)
        starts, ends = own.starts[shared], own.ends[shared]
        is_first = np.ones(shared.size, dtype=np.bool_)
        np.greater(starts[1:], ends[:-1], out=is_first[1:])
        begins = np.flatnonzero(is_first)
        lasts = np.append(begins[1:], shared.size) - 1 if shared.size else begins
        chosen = shared[_least(counts[shared], own.hashes[shared], begins)]
        return cls(starts[begins], ends[lasts], partners[chosen], shared[begins])

    def spans(self) -> list[Span]:
        return list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))

    def run_of(self, occurrences: I32) -> list[int]:
        """The run that each of these shared occurrences lies in."""
        runs: list[int] = (np.searchsorted(self.firsts, occurrences, side="right") - 1).tolist()
        return runs


def _least(counts: I32, hashes: U64, begins: I64) -> I64:
    """In each run the occurrence of least count, of those the first one of least hash."""
    if begins.size == 0:
        return begins
    sizes = np.diff(begins, append=counts.size)
    rarest = np.flatnonzero(counts == np.repeat(np.minimum.reduceat(counts, begins), sizes))
    begins = np.searchsorted(rarest, begins)
    sizes = np.diff(begins, append=rarest.size)
    hashes = hashes[rarest]
    least = np.flatnonzero(hashes == np.repeat(np.minimum.reduceat(hashes, begins), sizes))
    return rarest[least[np.searchsorted(least, begins)]]
