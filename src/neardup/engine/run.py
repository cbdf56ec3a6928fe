"""A whole run: batches in, verified pairs of rows, then clusters.

search ── collect ── find_copies ──┬── find_candidates ── check   verified pairs of representatives
                                   ├── exact.join                 the same by the exact join
                                   └── containment.join           documents that are part of others
find ── search ── link ── spell_pairs, spell_clusters             pairs and clusters of all rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from neardup.engine.banding.candidates import Candidates, find_candidates
from neardup.engine.banding.crowds import Crowds
from neardup.engine.check import Checker
from neardup.engine.joins import containment, exact
from neardup.engine.joins.containment import Sizes, sizes_of
from neardup.engine.observe import Observer, Silent, Stopwatch
from neardup.engine.reading.collect import Ledger, collect
from neardup.engine.reading.collection import SCAN, Collection, content_order
from neardup.engine.reading.copies import Copies, find_copies
from neardup.engine.results.expand import Members, Speakers, spell_across, spell_clusters, spell_pairs
from neardup.engine.results.link import involved_rows, link
from neardup.engine.results.pairs import PairStore
from neardup.engine.space import Space
from neardup.kernels import compiling_note, is_compiled
from neardup.params import CONTAINMENT, Spec
from neardup.stages.shingle import Hasher
from neardup.types import I32, I64, Batch

__all__ = ["Found", "Search", "Tally", "find", "keeping_order", "search"]

DOCUMENT_BYTES = 24
"""Memory for each document that no limit can spare: weights, crowds, parents, ranks."""
PAIRED_BYTES = 110
"""And for each that has a pair or a copy, while clusters are made."""


@dataclass(slots=True)
class Tally:
    """What a run counted."""

    documents: int = 0
    read_bytes: int = 0
    empty: int = 0
    short: int = 0
    exact_copies: int = 0
    """Documents whose normalised text an earlier document has."""
    candidates: int = 0
    checked: int = 0
    overfull: int = 0
    threads: int = 1
    """That worked at a time; fewer than wanted where memory is short."""
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Search:
    """What a search found, in terms of representatives of exact copies."""

    collection: Collection
    copies: Copies
    weight: I32
    """int32[n]: documents that each representative counts for."""
    pairs: PairStore
    """Verified pairs of representatives."""
    crowd: I32
    """int32[n]: the leader of each row's crowd or -1; a leader is its own."""
    check: Checker
    tally: Tally
    watch: Stopwatch
    space: Space
    ledger: Ledger
    cut: int | None = None
    """First row of the collection that the others are held against; None: all are compared with all."""

    def need_memory(self, involved: I64) -> None:
        """Raise unless all documents, and those that have a pair or a copy, can be held as far as they must be.

        Args:
            involved: representatives that have a pair.
        """
        copies = self.copies
        alone = copies.several[~np.isin(copies.several, involved, assume_unique=True)]
        paired = sum(int(copies.weight[rows].sum(dtype=np.int64)) for rows in (involved, alone))
        n = len(self.collection)
        size = DOCUMENT_BYTES * n + PAIRED_BYTES * paired
        self.space.need_memory(size, f"{n} documents, of which {paired} have near-duplicates,")

    @property
    def leads(self) -> I64:
        """Leaders of crowds, rising."""
        at = np.flatnonzero(self.crowd >= 0)
        leads: I64 = at[self.crowd[at] == at]
        return leads


@dataclass(frozen=True, slots=True)
class Found:
    """Rows found by a run."""

    pairs: PairStore
    """Of all rows."""
    members: Members
    crowd_leaders: I64
    crowd_documents: I64
    """Documents of each crowd, leader included."""
    tally: Tally
    sizes: Sizes | None = None
    """Of the rows that have pairs, where the measure is containment: they say which one is part of the other."""


def search(
    tasks: Iterator[Callable[[], Batch]],
    spec: Spec,
    *,
    total_bytes: int | None,
    threads: int,
    ledger: Ledger,
    observer: Observer,
    space: Space,
    cut: Callable[[], int] | None = None,
) -> Search:
    """Find the verified pairs of a collection.

    Args:
        tasks: readers' work, in order; called in threads.
        spec: all that decides which pairs are found.
        total_bytes: size of the input when known.
        threads: how many; the answer does not depend on it.
        ledger: takes note of each batch in order, and tells names of rows.
        observer: told about progress.
        space: memory budget and workdir; the answer does not depend on it.
        cut: tells, when all is read, from which row on a second collection begins, if only pairs across are wanted.
            For the joins.
    """
    watch = Stopwatch()
    threads = space.budget.threads(threads)
    if not is_compiled():
        observer.note(compiling_note())
    with watch.measure("read"):
        observer.stage("read", total_bytes, "bytes")
        collection = collect(
            tasks, spec, total_bytes=total_bytes, threads=threads, ledger=ledger, observer=observer, space=space
        )
    space.need_memory(DOCUMENT_BYTES * len(collection), f"{len(collection)} documents")
    space.settle()
    with watch.measure("copies"):
        copies = find_copies(collection)
    space.settle()
    weight = np.minimum(copies.weight, 1) if spec.collapse_exact else copies.weight
    check = Checker(collection, threads=threads, observer=Silent())
    tally = Tally(
        documents=len(collection),
        read_bytes=collection.read_bytes,
        empty=copies.empty,
        short=collection.short,
        exact_copies=copies.documents,
        threads=threads,
        seconds=watch.seconds,
    )
    first = cut() if cut is not None else None
    if spec.exact:
        with watch.measure("join"):
            rows = np.flatnonzero(weight)
            sides = None if first is None else copies.sides(rows, first)
            join = containment.join if spec.measure == CONTAINMENT else exact.join
            hasher = Hasher(spec.shingle, spec.seed)
            joined = join(collection, rows, hasher, sides=sides, threads=threads, observer=observer)
            pairs = _confirmed(joined.pairs, collection, check)
        crowd = np.full(len(collection), -1, dtype=np.int32)
        tally.candidates, tally.checked = joined.met, joined.counted
    else:
        pairs, crowd = _banded(collection, copies, weight, check, tally, watch, observer)
    space.settle()
    if first is None:
        alone = np.flatnonzero((weight > spec.crowd) & (crowd < 0))
        crowd[alone] = alone
    return Search(collection, copies, weight, pairs, crowd, check, tally, watch, space, ledger, first)


def _confirmed(joined: PairStore, collection: Collection, check: Checker) -> PairStore:
    """What a join found, with similarities as the check has them.

    A join goes by hashes of a public key, since what it has met of a collection must be the same tomorrow, and texts
    can be made for which such hashes lie.
    """
    space = collection.space
    pairs = PairStore("confirmed", len(collection), space, part=0.15, is_lasting=True)
    if "confirmed" not in space.state:
        for piece in joined.pieces():
            similarity = check(piece.left, piece.right, collection.spec.threshold)
            near = similarity >= 0
            pairs.add(piece.left[near], piece.right[near], similarity[near])
        check.rest()
        pairs.flush()
        space.checkpoint(confirmed=True)
    joined.drop()
    return pairs


def _banded(
    collection: Collection,
    copies: Copies,
    weight: I32,
    check: Checker,
    tally: Tally,
    watch: Stopwatch,
    observer: Observer,
) -> tuple[PairStore, I32]:
    """Verified pairs by banding, and the leader of each row's crowd."""
    spec, space, threads = collection.spec, collection.space, tally.threads
    with watch.measure("candidates"):
        observer.stage("candidates", spec.bands.bands, "bands")
        candidates = find_candidates(collection, copies, weight, check, threads=threads, observer=observer)
    space.settle()
    with watch.measure("check"):
        observer.stage("check", len(candidates.pending), "pairs")
        check.observer = observer
        pairs = _verified(candidates, collection, check, space, threads)
        check.observer = Silent()
    check.rest()
    tally.candidates = candidates.met + candidates.pending.met
    tally.checked = check.checked
    tally.overfull = candidates.overfull
    return pairs, candidates.crowds.crowd


def _verified(candidates: Candidates, collection: Collection, check: Checker, space: Space, threads: int) -> PairStore:
    """Exact similarities of the candidates that reach the threshold, with the stars of the crowds."""
    spec, n = collection.spec, len(collection)
    # beside documents in memory there is room for half of what there is beside those in files
    pairs = PairStore("verified", n, space, part=0.15 if collection.resident is None else 0.075)
    pending, crowd = candidates.pending, candidates.crowds.crowd
    check.checked = space.state.get("checked", check.checked)
    pending.met = space.state.get("met", 0)
    if "verified" in space.state:
        pending.drop()
        return pairs
    leaders = PairStore("leaders-met", n, space, part=0.02)
    for left, right, passed in pending.slabs(crowd, skip=space.state.get("passed", 0), threads=threads):
        similarity = check(left, right, spec.threshold)
        near = similarity >= 0
        left, right, similarity = left[near], right[near], similarity[near]
        pairs.add(left, right, similarity)
        leading = (crowd[left] == left) & (crowd[right] == right)
        leaders.add(left[leading], right[leading], similarity[leading])
        if space.is_due:
            pairs.flush()
            leaders.flush()
            space.checkpoint(passed=passed, checked=check.checked, met=pending.met)
    _add_stars(pairs, candidates.crowds)
    for first, second in _ordered(leaders, collection):
        # two crowds turned out to be near: the second leader's members must be able to follow it
        members = np.flatnonzero(crowd == second)
        members = members[members != second]
        similarity = check(np.minimum(members, first), np.maximum(members, first), spec.threshold)
        near = similarity >= 0
        pairs.add(members[near], np.full(int(near.sum()), first), similarity[near])
    if space.is_lasting:
        pairs.flush()
        space.checkpoint(verified=True, checked=check.checked, met=pending.met)
    leaders.drop()
    pending.drop()
    return pairs


def _add_stars(pairs: PairStore, crowds: Crowds) -> None:
    """The verified pairs of crowds: each member with its leader."""
    for first, stars in crowds.stars.scan(SCAN):
        similarity = crowds.similarity.slice(first, first + len(stars))
        kept = crowds.crowd[stars[:, 0]] == stars[:, 1]
        pairs.add(stars[kept, 0], stars[kept, 1], np.array(similarity[kept]))


def _ordered(leaders: PairStore, collection: Collection) -> Iterator[tuple[int, int]]:
    """Pairs of crowd leaders, the one that would keep first."""
    for piece in leaders.pieces():
        for pair in np.column_stack((piece.left, piece.right)):
            first, second = content_order(collection, pair).tolist()
            yield first, second


def keeping_order(found: Search) -> I64:
    """Representatives that have pairs in the order in which they may keep: leaders of crowds first, then by content."""
    involved = involved_rows(found.pairs, len(found.collection))
    found.need_memory(involved)
    order = content_order(found.collection, involved)
    del involved
    is_lead = found.crowd[order] == order
    return np.concatenate((order[is_lead], order[~is_lead]))


def find(found: Search, *, rule: str) -> Found:
    """Clusters of representatives, then everything spelled out for all rows.

    Keepers are chosen in content order, leaders of crowds first: their members have pairs with them only. Between two
    collections there are pairs only, no clusters.

    Args:
        found: what ``search`` gave.
        rule: ``star`` or ``connected``.
    """
    collection, copies, spec, space = found.collection, found.copies, found.collection.spec, found.space
    leads, n = found.leads, len(collection)
    if found.cut is not None:
        with found.watch.measure("cluster"):
            pairs = spell_across(found.pairs, copies, found.cut, spec, space)
        nothing = np.empty(0, dtype=np.int64)
        return Found(pairs, Members.none(), nothing, nothing, found.tally, _sizes(found, pairs))
    with found.watch.measure("cluster"):
        order = keeping_order(found)
        links = link(found.pairs, order, n, space, rule=rule, check=found.check)
        del order
        space.settle()
        speakers = Speakers(leads, copies, found.ledger.first_of)
        members = spell_clusters(links, copies, speakers)
        pairs = spell_pairs(found.pairs, copies, found.crowd, leads, speakers, spec, space)
        space.settle()
    sizes = np.zeros(n if leads.size else 0, dtype=np.int64)
    if leads.size:
        inside = np.flatnonzero(found.crowd >= 0)
        np.add.at(sizes, found.crowd[inside], found.weight[inside])
    return Found(pairs, members, speakers.of(leads), sizes[leads], found.tally, _sizes(found, pairs))


def _sizes(found: Search, pairs: PairStore) -> Sizes | None:
    """Sizes of the sets of the rows that have pairs, where they are asked for."""
    if found.collection.spec.measure != CONTAINMENT:
        return None
    with found.watch.measure("sizes"):
        rows = involved_rows(pairs, len(found.collection))
        sizes = sizes_of(found.collection, rows, found.check.hasher, threads=found.tally.threads)
    found.space.settle()
    return sizes
