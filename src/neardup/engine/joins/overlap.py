"""The overlap join: which documents have n-grams, or whole paragraphs, in common with protected ones, by a rule.

    protected documents ── n-grams in order ──► table ── all other texts ──► who shares enough ── texts are compared

A table of the protected n-grams is made, and the set of each other document is held against it: in two passes where
n-grams of many documents are ignored, else in one. Of a document that shares some, the share of each protected one's
words that stand in shared n-grams is counted. The largest, if it is enough, is confirmed by comparing the texts.

Where the table does not fit into memory, it is made piece by piece. Linear in the texts, but for n-grams that many
protected documents have: each of these costs a step for all of them.

The hashes have a private key, so no text can be written for which they lie, and no removal rests on them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.engine.check import Buffers, TooLargeError, built_sets
from neardup.engine.joins.common import SLAB, slabs
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.reading.copies import Copies
from neardup.engine.threads import in_order
from neardup.kernels.occurring import hashes_in_order
from neardup.params import Overlap
from neardup.stages.passages import Occurrences, find_occurrences
from neardup.stages.shingle import Hasher, shingles, tokens
from neardup.types import F64, I32, I64, U64, Mask

TABLE_SHARE = 0.4
"""Of the memory for data, for the table of protected n-grams."""
GRAM_BYTES = 64
"""Memory for each protected n-gram while the table is made."""
DOCUMENT_BYTES = 60
"""Memory for each n-gram of the largest document while its set is built and its text compared."""
LEAST_BITS, MOST_BITS = 12, 28
"""Binary logarithm of the cells of the table in front, one byte each: about eight for each n-gram."""
STEPS = 1 << 21
"""Places of n-grams in protected documents that a thread looks at together, about."""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Representatives of documents that are not protected and overlap with one that is."""

    rows: I64
    """Rising."""
    protected: I64
    """For each the protected representative that has the largest share in common with it; itself where a copy is."""
    keeper: I64
    """The first row of its text that is protected."""
    share: F64
    """Share of that one's words, characters or bytes that stand in shared n-grams or paragraphs."""
    candidates: int
    """Pairs of a document and a protected one that share an n-gram."""
    checked: int
    """Pairs whose texts were compared."""
    short: int
    """Protected documents that are shorter than an n-gram: they are found in their equals only."""


def find_overlaps(
    collection: Collection,
    copies: Copies,
    is_protected: Mask,
    rule: Overlap,
    *,
    threads: int,
    observer: Observer,
) -> Overlaps:
    """Find the documents that overlap with a protected one (bool[n], by row), by the rule.

    The answer does not depend on threads or memory. Raises TooLargeError where a document does not fit into memory.
    """
    n = len(collection)
    representative = np.arange(n)
    representative[copies.members] = np.repeat(copies.several, np.diff(copies.starts))
    rows = np.flatnonzero(is_protected)
    first = np.full(n, n)
    np.minimum.at(first, representative[rows], rows)
    protected = np.bincount(representative[rows], minlength=n)
    others = copies.weight - protected
    reps = copies.weight > 0
    held, searched = np.flatnonzero(reps & (protected > 0)), np.flatnonzero(reps & (others > 0))
    del representative, rows
    counts = collection.counts.take(np.concatenate((held, searched)))
    largest = np.sort(np.argsort(counts, kind="stable")[-2:])
    need = int(DOCUMENT_BYTES * counts[largest].sum())
    if need > collection.space.budget.work:
        raise TooLargeError(np.concatenate((held, searched))[largest], need)
    join = _OverlapJoin(collection, rule, held, first, searched, others[searched], threads=threads, observer=observer)
    found, owners, share = join.run()
    short = int(protected[held[join.is_short()]].sum())
    return Overlaps(found, owners, first[owners], share, join.candidates, join.checked, short)


class _Grams:
    """The n-grams of some protected documents, and where they occur. A window is an occurrence, numbered from 0."""

    def __init__(self, rows: I64, hashes: U64, starts: I64) -> None:
        """``hashes`` are those of the n-grams of all in order, ``starts`` (int64[rows + 1]) where each one's begin."""
        self.rows, self.starts = rows, starts
        self.distinct, self.gram = np.unique(hashes, return_inverse=True)
        self.gram = self.gram.astype(np.int32)
        self.owner: I32 = np.repeat(np.arange(rows.size, dtype=np.int32), np.diff(starts))
        self.windows: I32 = np.argsort(self.gram, kind="stable").astype(np.int32)
        """Windows by n-gram, those of n-gram g from ``firsts[g]`` on."""
        self.firsts = starts_of(np.bincount(self.gram, minlength=self.distinct.size))
        self.ignored = np.zeros(self.distinct.size, dtype=np.bool_)
        bits = int(np.clip((8 * self.distinct.size).bit_length(), LEAST_BITS, MOST_BITS))
        self._shift = np.uint64(64 - bits)
        self._near = np.zeros(1 << bits, dtype=np.bool_)
        self._near[self.distinct >> self._shift] = True

    def find(self, hashes: U64) -> tuple[I64, I64]:
        """Which hashes are those of n-grams: their places, and the numbers of the n-grams."""
        places = np.flatnonzero(self._near[hashes >> self._shift])
        values = hashes[places]
        grams = np.searchsorted(self.distinct, values)
        known = self.distinct[np.minimum(grams, self.distinct.size - 1)] == values
        return places[known], grams[known]

    def of(self, owner: int) -> slice:
        """The windows of one of ``rows``."""
        return slice(int(self.starts[owner]), int(self.starts[owner + 1]))


Made = TypeVar("Made")
Found = tuple[I64, I64, F64]
"""Documents (their places among those searched), rows of protected ones, shares."""
_NONE: Found = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


class _OverlapJoin:
    def __init__(
        self,
        collection: Collection,
        rule: Overlap,
        held: I64,
        first: I64,
        searched: I64,
        weight: I64,
        *,
        threads: int,
        observer: Observer,
    ) -> None:
        self._collection, self._rule, self._k = collection, rule, rule.shingle.k
        self._held, self._searched, self._weight = held, searched, weight
        self._first = first  # of each representative, its first row that is protected: decides between equal shares
        self._counts = collection.counts.take(searched)
        self._threads, self._observer = threads, observer
        self._hasher = Hasher.private(rule.shingle)
        self._buffers = Buffers(np.uint64)
        self._lock = threading.Lock()
        self.candidates = self.checked = 0

    def run(self) -> Found:
        """Rows that overlap, rising; the protected row that has most in common with each, and how much."""
        counts = self._collection.counts.take(self._held)
        fit = self._collection.space.budget.share(TABLE_SHARE) // GRAM_BYTES
        best = np.full(self._searched.size, -1, dtype=np.int64)
        share = np.zeros(self._searched.size)
        for piece in cut(counts, max(1, min(fit, 1 << 30))) if self._searched.size else ():
            grams = self._grams(self._held[piece], counts[piece])
            if self._rule.most_documents is not None:
                grams.ignored = self._documents_with(grams) > self._rule.most_documents
            for places, owners, shares in self._pass(partial(self._overlapping, grams=grams)):
                earlier = (owners == self._searched[places]) | (self._first[owners] < self._first[best[places]])
                earlier &= best[places] != self._searched[places]
                more = (shares > share[places]) | ((shares == share[places]) & earlier)
                best[places[more]], share[places[more]] = owners[more], shares[more]
        at = np.flatnonzero(best >= 0)
        return self._searched[at], best[at], share[at]

    def is_short(self) -> Mask:
        """Which protected documents have fewer tokens than an n-gram."""
        short: Mask = self._collection.counts.take(self._held) == 1
        for place in np.flatnonzero(short).tolist():
            text = self._text(int(self._held[place]))
            short[place] = len(tokens(text, self._rule.shingle)) < self._k
        return short

    def _grams(self, rows: I64, counts: I64) -> _Grams:
        starts = starts_of(counts)
        hashes = np.empty(int(starts[-1]), dtype=np.uint64)
        for documents, local, part in self._collection.texts.parts(rows):
            for place, at in zip(range(part.start, part.stop), local.tolist(), strict=True):
                out = hashes[starts[place] : starts[place + 1]]
                begin, end = int(documents.offsets[at]), int(documents.offsets[at + 1])
                found = hashes_in_order(self._hasher.params, documents.data, begin, end, out)
                assert found == out.size, f"{found} n-grams hashed and {out.size} counted"
        return _Grams(rows, hashes, starts)

    def _pass(self, work: Callable[[slice], Made]) -> Iterator[Made]:
        """What ``work`` makes of each run of the documents that are searched, in order."""
        self._observer.stage("overlap", self._searched.size, "documents")
        every = list(slabs(self._counts))
        for slab, made in zip(every, in_order(work, every, threads=self._threads), strict=True):
            self._observer.advance(slab.stop - slab.start)
            yield made

    def _hits(self, slab: slice, grams: _Grams) -> tuple[I64, I64]:
        """Each n-gram of ``grams`` that a document of a slab has: places of documents in the slab, and n-grams."""
        rows, counts = self._searched[slab], self._counts[slab]
        with built_sets(self._collection, rows, counts, self._hasher, self._buffers, fresh=SLAB) as sets:
            places, found = grams.find(sets.hashes[: int(counts.sum())])
            document = np.searchsorted(sets.starts, places, side="right") - 1
            inside = places - sets.starts[document] < sets.sizes[document]  # between two sets lies anything
        return document[inside], found[inside]

    def _documents_with(self, grams: _Grams) -> I64:
        """How many of the documents that are searched have each n-gram."""
        total = np.zeros(grams.distinct.size, dtype=np.int64)

        def count(slab: slice) -> tuple[I64, I64]:
            document, gram = self._hits(slab, grams)
            return gram, self._weight[slab][document]

        for gram, weight in self._pass(count):
            np.add.at(total, gram, weight)
        return total

    def _overlapping(self, slab: slice, grams: _Grams) -> Found:
        """The documents of a slab that overlap with one of these protected ones."""
        document, gram = self._hits(slab, grams)
        kept = ~grams.ignored[gram]
        document, gram = document[kept], gram[kept]
        if not document.size:
            return _NONE
        steps = grams.firsts[gram + 1] - grams.firsts[gram]
        members, begins = np.unique(document, return_index=True)
        ends = np.append(begins[1:], document.size)
        done: list[Found] = []
        for part in cut(np.add.reduceat(steps, begins), STEPS):
            some = slice(int(begins[part.start]), int(ends[part.stop - 1]))
            ranked = self._ranked(slab, document[some], gram[some], grams)
            done += self._confirmed(slab, members[part], *ranked, grams=grams)
        if not done:
            return _NONE
        places, owners, share = (np.concatenate(column) for column in zip(*done, strict=True))
        return places, owners, share

    def _ranked(self, slab: slice, document: I64, gram: I64, grams: _Grams) -> tuple[I64, I64, F64]:
        """Documents with the protected ones that have enough in common with them by hashes, the most first."""
        firsts, lengths = grams.firsts[gram], grams.firsts[gram + 1] - grams.firsts[gram]
        before = np.cumsum(lengths) - lengths
        window = grams.windows[np.arange(int(lengths.sum())) + np.repeat(firsts - before, lengths)].astype(np.int64)
        key = np.sort(np.repeat(document, lengths) * grams.gram.size + window)
        document, window = np.divmod(key, grams.gram.size)
        owner = grams.owner[window]
        fresh = np.ones(key.size, dtype=np.bool_)
        fresh[1:] = (document[1:] != document[:-1]) | (owner[1:] != owner[:-1])
        covered = np.full(key.size, self._k, dtype=np.int64)  # tokens up to the next window, or all of the last
        covered[:-1] = np.where(fresh[1:], self._k, np.minimum(window[1:] - window[:-1], self._k))
        begins = np.flatnonzero(fresh)
        document, owners = document[begins], owner[begins].astype(np.int64)
        share: F64 = np.add.reduceat(covered, begins) / (np.diff(grams.starts)[owners] + self._k - 1)
        with self._lock:
            self.candidates += begins.size
        enough = np.flatnonzero(share >= (self._rule.share or 0.0))
        rows = grams.rows[owners[enough]]
        is_other = self._searched[slab][document[enough]] != rows
        order = enough[np.lexsort((self._first[rows], is_other, -share[enough], document[enough]))]
        return document[order], owners[order], share[order]

    def _confirmed(
        self, slab: slice, members: I64, document: I64, owner: I64, most: F64, *, grams: _Grams
    ) -> Iterator[Found]:
        """Of each document the protected one with which it has most in common, by the texts themselves."""
        rows = self._searched[slab]
        firsts, ends = np.searchsorted(document, members), np.searchsorted(document, members, side="right")
        for place, first, end in zip(members.tolist(), firsts.tolist(), ends.tolist(), strict=True):
            own = self._text(int(rows[place])) if end > first else ""
            best, chosen, met, checked = (0.0, True, 0), -1, 1.0, 0
            for each, limit in zip(owner[first:end].tolist(), most[first:end].tolist(), strict=True):
                if limit < -best[0] or limit == -best[0] == met:
                    break  # those behind have less in common than this at most, or as much and come later
                share = self._share_of(own, each, grams)
                checked += 1
                if share > 0.0 and share >= (self._rule.share or 0.0):
                    row = grams.rows[each]
                    key = -share, bool(rows[place] != row), int(self._first[row])
                    best, chosen, met = min((best, chosen, met), (key, each, limit))
            with self._lock:
                self.checked += checked
            if chosen >= 0:
                yield np.array([slab.start + place]), grams.rows[[chosen]], np.array([-best[0]])

    def _share_of(self, own: str, owner: int, grams: _Grams) -> float:
        """The share of a protected document that stands in n-grams, or paragraphs, of a text."""
        other = self._text(int(grams.rows[owner]))
        part = grams.of(owner)
        whole = float(part.stop - part.start + self._k - 1)
        if self._rule.by_paragraph:
            return self._paragraph_tokens(own, other) / whole
        mine, theirs = self._occurrences(own), self._occurrences(other)
        shared = _compared(mine, theirs, own, other, self._rule) & ~grams.ignored[grams.gram[part]]
        return _covered(np.flatnonzero(shared), self._k) / whole

    def _paragraph_tokens(self, own: str, other: str) -> int:
        """Tokens of the paragraphs that a text shares with another and that are long enough."""
        mine = {paragraph.strip() for paragraph in own.split("\n")}
        common = (each.strip() for each in other.split("\n") if each.strip() in mine)
        sizes = (len(tokens(each, self._rule.shingle)) for each in common)
        return sum(size for size in sizes if size >= self._k)

    def _occurrences(self, text: str) -> Occurrences:
        places = np.arange(len(text), dtype=np.int64)
        return find_occurrences(text, places, places + 1, self._hasher)

    def _text(self, row: int) -> str:
        """The normalised text of a document."""
        ((documents, local, _),) = self._collection.texts.parts(np.array([row]))
        return documents.blob(int(local[0])).decode("utf-8", "replace")


def _covered(places: I64, k: int) -> int:
    """Tokens that windows of k tokens at these rising places cover."""
    return int(np.minimum(np.diff(places), k).sum()) + k if places.size else 0


def _compared(mine: Occurrences, theirs: Occurrences, own: str, other: str, rule: Overlap) -> Mask:
    """bool[windows of ``other``]: which n-grams ``own`` has too, by the n-grams themselves.

    Hashes say where to look: stretches that are shared by them are compared as texts. Where one differs, two n-grams
    share a hash, and all are compared.
    """
    order = np.argsort(mine.hashes, kind="stable")
    rising = mine.hashes[order]
    at = np.minimum(np.searchsorted(rising, theirs.hashes), rising.size - 1)
    shared: Mask = rising[at] == theirs.hashes
    there = np.flatnonzero(shared)
    here = order[at[there]]
    breaks = np.flatnonzero((np.diff(there) != 1) | (np.diff(here) != 1)) + 1
    for first, last in zip([0, *breaks.tolist()], [*(breaks - 1).tolist(), there.size - 1], strict=True):
        if there.size and not _is_same(
            own[int(mine.starts[here[first]]) : int(mine.ends[here[last]])],
            other[int(theirs.starts[there[first]]) : int(theirs.ends[there[last]])],
            rule,
        ):
            known = set(shingles(own, rule.shingle))
            spans = zip(theirs.starts.tolist(), theirs.ends.tolist(), strict=True)
            return np.array([not known.isdisjoint(shingles(other[start:end], rule.shingle)) for start, end in spans])
    return shared


def _is_same(first: str, second: str, rule: Overlap) -> bool:
    """Whether two stretches have the same tokens."""
    if first == second:
        return True
    row = tokens(first, rule.shingle)
    return bool(row) and row == tokens(second, rule.shingle)
