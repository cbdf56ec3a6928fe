"""Shared passages: what two texts have in common, as spans of characters.

A character is marked exactly when an occurrence of a shingle that both sets hold covers it, so what is marked is what
was counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from neardup.kernels import hashing, occurring
from neardup.stages.shingle import Hasher
from neardup.types import I32, I64, SLACK, U64

Span = tuple[int, int]
SIDES = 8
"""Ways to lay two texts side by side in which ``find_stretch`` looks."""


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

    @property
    def containments(self) -> tuple[float, float]:
        """Share of the first text's shingles that the second has, and the other way round; 1.0 of an empty set."""
        of_a, of_b = (self.common / size if size else 1.0 for size in (self.size_a, self.size_b))
        return of_a, of_b

    @property
    def linked(self) -> list[tuple[int, int]]:
        """The runs of both texts that are linked from either side; a pair that links both ways is listed twice."""
        return [*enumerate(self.links), *((i, j) for j, i in enumerate(self.back))]

    @property
    def longest(self) -> tuple[int, int, int]:
        """Length of the longest shared passage, and where it begins in each text; (0, 0, 0) when there is none.

        A passage has two linked runs, and is as long as the shorter one: a run that was repeated or put together in one
        text counts only as far as the other text has it. Of several the first in ``a``. O(runs).
        """
        best, at_a, at_b = 0, 0, 0
        for i, j in self.linked:
            (start_a, end_a), (start_b, end_b) = self.a[i], self.b[j]
            length = min(end_a - start_a, end_b - start_b)
            if length > best or (length == best and best and (start_a, start_b) < (at_a, at_b)):
                best, at_a, at_b = length, start_a, start_b
        return best, at_a, at_b

    def covered(self, characters: tuple[int, int]) -> tuple[float, float]:
        """Share of the characters of each text that is marked; 0 of a text without characters."""
        marked = (sum(end - start for start, end in spans) for spans in (self.a, self.b))
        of_a, of_b = (some / whole if whole else 0.0 for some, whole in zip(marked, characters, strict=True))
        return of_a, of_b


def groups(passages: Passages) -> tuple[list[int], list[int]]:
    """A number for each run of either text, from 1 in the order of the first text; linked runs have the same.

    A link can be one-sided: of two copies in one text, both lead to the one in the other. So a number stands for all
    runs that links join.
    """
    runs = len(passages.a)
    parent = list(range(runs + len(passages.b)))

    def root(run: int) -> int:
        while parent[run] != run:
            parent[run] = parent[parent[run]]
            run = parent[run]
        return run

    for left, right in passages.linked:
        one, other = root(left), root(runs + right)
        parent[max(one, other)] = min(one, other)
    numbers: dict[int, int] = {}
    numbered = [numbers.setdefault(root(run), len(numbers) + 1) for run in range(len(parent))]
    return numbered[:runs], numbered[runs:]


def find_occurrences(text: str, starts: I64, ends: I64, hasher: Hasher) -> Occurrences:
    """Every shingle of a normalised text; items are split at white space. Fewer than k tokens are one shingle.

    ``starts`` and ``ends`` are int64[len(text)], where each character came from.
    """
    kind, k, _, _ = hasher.params
    data = text.encode("utf-8", "replace")
    firsts, lasts = _tokens(data.decode("utf-8"), hasher)
    if firsts.size == 0 and text and kind != hashing.ITEM:
        firsts, lasts = np.array([0]), np.array([len(text) - 1])  # no token at all: the text as it is
    if kind == hashing.ITEM:
        data = b"\xff".join(item.encode("utf-8", "replace") for item in text.split())
    count = max(firsts.size - k + 1, min(firsts.size, 1))
    hashes = np.empty(count, dtype=np.uint64)
    buffer = np.frombuffer(data + bytes(SLACK), dtype=np.uint8)
    found = occurring.hashes_in_order(hasher.params, buffer, 0, len(data), hashes)
    assert found == count, f"{found} shingles hashed and {count} placed"
    return Occurrences(hashes, starts[firsts[:count]], ends[lasts[-count:]] if count else ends[:0])


def _tokens(text: str, hasher: Hasher) -> tuple[I64, I64]:
    """First and last character of each token of a text that is valid UTF-8."""
    kind, letters = hasher.params.kind, hasher.params.letters
    if kind == hashing.ITEM:
        spans = np.array([found.span() for found in re.finditer(r"\S+", text)], dtype=np.int64).reshape(-1, 2)
        return spans[:, 0], spans[:, 1] - 1
    places = np.arange(len(text), dtype=np.int64)
    if kind == hashing.CHAR:
        return places, places
    codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4").astype(np.int64)
    if kind == hashing.BYTE:
        places = np.repeat(places, 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000))
        return places, places
    in_word = (letters[codes >> 3] >> (codes & 7).astype(np.uint8) & 1).astype(np.int8)
    edges = np.flatnonzero(np.diff(in_word, prepend=0, append=0))
    return edges[::2], edges[1::2] - 1


def find_passages(a: Occurrences, b: Occurrences) -> Passages:
    """The runs of shared shingles of two texts. Linear.

    The partner of a run is the run of the other text with the shingle that is rarest in both together (of several the
    first): what is everywhere says least about where a passage went. Where that shingle is repeated, its
    j-th occurrence belongs to the j-th of the other text, or to the last there.
    """
    partners_a, counts_a = (np.empty(a.hashes.size, dtype=np.int32) for _ in range(2))
    partners_b, counts_b = (np.empty(b.hashes.size, dtype=np.int32) for _ in range(2))
    size_a, size_b, common = occurring.match(a.hashes, b.hashes, partners_a, partners_b, counts_a, counts_b)
    spans_a, chosen_a, run_of_a = _runs(a, partners_a, counts_a)
    spans_b, chosen_b, run_of_b = _runs(b, partners_b, counts_b)
    return Passages(
        a=[(start, end) for start, end in spans_a.tolist()],
        b=[(start, end) for start, end in spans_b.tolist()],
        links=run_of_b[chosen_a].tolist(),
        back=run_of_a[chosen_b].tolist(),
        common=common,
        size_a=size_a,
        size_b=size_b,
    )


def find_stretch(a: Occurrences, b: Occurrences) -> tuple[Span, Span] | None:
    """The longest stretch of consecutive shingles that two texts share, as its span in each; None: they share none.

    The texts are laid side by side in ``SIDES`` ways at most, those in which most of the rare shingles meet. So a
    longer stretch may be passed over whose shingles are all repeated elsewhere. Of equally long ones it is the first
    in ``a``. Linear, but for one sort.
    """
    partners_a, counts_a = (np.empty(a.hashes.size, dtype=np.int32) for _ in range(2))
    partners_b, counts_b = (np.empty(b.hashes.size, dtype=np.int32) for _ in range(2))
    occurring.match(a.hashes, b.hashes, partners_a, partners_b, counts_a, counts_b)
    at = np.flatnonzero(partners_a >= 0)
    if not at.size:
        return None
    sides, place = np.unique(at - partners_a[at], return_inverse=True)
    weight = np.bincount(place, 1.0 / (counts_a[at] - 1.0) ** 2)
    best: tuple[int, Span, Span] = (0, (0, 0), (0, 0))
    for side in np.sort(sides[np.argsort(-weight, kind="stable")[:SIDES]]).tolist():
        first, stop = max(0, side), min(a.hashes.size, b.hashes.size + side)
        same = a.hashes[first:stop] == b.hashes[first - side : stop - side]
        edges = np.flatnonzero(np.diff(same.astype(np.int8), prepend=0, append=0)) + first
        heads, lasts = edges[::2], edges[1::2] - 1
        if not heads.size:
            continue
        begins, ends = a.starts[heads], a.ends[lasts]
        longest = int(np.argmax(ends - begins))
        mine = int(begins[longest]), int(ends[longest])
        theirs = int(b.starts[heads[longest] - side]), int(b.ends[lasts[longest] - side])
        if mine[1] - mine[0] > best[0] or (mine[1] - mine[0] == best[0] and mine < best[1]):
            best = mine[1] - mine[0], mine, theirs
    return best[1:]


def _runs(own: Occurrences, partners: I32, counts: I32) -> tuple[I64, I32, I32]:
    """Runs of the shared occurrences of one text: int64[r, 2] spans, the occurrence in the other text that each is
    linked to, and for each shared occurrence of this text its run."""
    n = partners.size
    spans, chosen, run_of = np.empty((n, 2), np.int64), np.empty(n, np.int32), np.empty(n, np.int32)
    count = occurring.runs(own.starts, own.ends, partners, counts, spans, chosen, run_of)
    return spans[:count], chosen[:count], run_of
