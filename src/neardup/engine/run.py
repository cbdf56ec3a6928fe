"""Run a search from start to finish: read batches, verify pairs of rows, then cluster them.

gather ── collect ── find_copies                                  a collection with its exact copies grouped
search ── gather ──┬── find_candidates ── check                   verified pairs of representatives
                   ├── ExactJoin                                  the same pairs, by the exact join
                   └── ContainmentJoin                            documents contained in other documents
overlap ── gather ── find_overlaps                                documents that overlap with protected ones
find ── search ── link_rows ── expand_pairs, expand_clusters      pairs and clusters of all rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine.banding.candidates import BandCandidates, find_candidates
from neardup.engine.banding.hot import Check
from neardup.engine.banding.laid_out import LaidOut
from neardup.engine.check import Checker
from neardup.engine.observe import Observer, Stages
from neardup.engine.pairing import Pairing
from neardup.engine.reading.collection import Collection, RowNames, collect, content_order
from neardup.engine.reading.copies import find_copies
from neardup.engine.results.expand import Members, expand_across, expand_clusters, expand_pairs
from neardup.engine.results.pairs import Links, PairStore, link
from neardup.engine.space import Space
from neardup.engine.state import FoundRows, Gathered, RunTally, SearchState
from neardup.params import CONTAINMENT, NO_CROWD, Overlap, Spec
from neardup.stages.shingle import Hasher
from neardup.types import I32, I64, Batch, Mask, Origin

if TYPE_CHECKING:  # each join is imported only by the runs that use it
    from neardup.engine.joins.common import JoinWork
    from neardup.engine.joins.containment import Sizes
    from neardup.engine.joins.overlap import Overlaps


def _join_of(measure: str) -> type[JoinWork]:
    """Import and return the join class of a measure. Overlap has no such class: see ``find_overlaps``."""
    if measure == CONTAINMENT:
        from neardup.engine.joins.containment import ContainmentJoin

        return ContainmentJoin
    from neardup.engine.joins.exact import ExactJoin

    return ExactJoin


def gather(
    tasks: Iterator[Callable[[], Batch]],
    spec: Spec,
    *,
    total_bytes: int | None,
    threads: int,
    names: RowNames,
    observer: Observer,
    space: Space,
    reopened: Callable[[Sequence[dict[str, Any]]], list[Origin]] | None = None,
    keep_written: bool = False,
) -> Gathered:
    """Read a collection and group its exact copies. The result does not depend on ``threads`` or ``space``.

    Each of ``tasks`` reads one batch and may run in any thread; ``names`` receives the batches in order.
    ``total_bytes`` is the input size, if known. ``reopened`` and ``keep_written`` are passed on to ``collect``.
    """
    stages = Stages(space, observer)
    threads = space.budget.threads(threads)
    with stages.stage("read", total_bytes, "bytes"):
        collection = collect(
            tasks,
            spec,
            total_bytes=total_bytes,
            threads=threads,
            names=names,
            observer=observer,
            space=space,
            reopened=reopened,
            keep_written=keep_written,
        )
    with stages.stage("copies"):
        copies = find_copies(collection, threads=threads)
    weight = np.minimum(copies.weight, 1) if spec.collapse_exact else copies.weight
    tally = RunTally(
        documents=len(collection),
        read_bytes=collection.read_bytes,
        empty=copies.empty,
        short=collection.short,
        exact_copies=copies.documents,
        threads=threads,
        seconds=stages.seconds,
    )
    return Gathered(collection, copies, weight, Checker(collection, threads=threads), tally, stages, names)


def with_pairing(gathered: Gathered, pairing: Pairing) -> Gathered:
    """Return the collection limited to the pairs that ``pairing`` allows, without grouping its exact copies."""
    assert gathered.collection.spec.crowd == NO_CROWD, "the leader of a crowd may not form the pairs of its members"
    copies = gathered.copies.apart()
    return replace(gathered, copies=copies, weight=copies.weight, pairing=pairing)


def search(gathered: Gathered, *, split_row: int | None = None, keep_keys: bool = False) -> SearchState:
    """Find the verified pairs of a collection.

    With ``split_row``, the rows from there on are a second collection, and only pairs across the two are found. Only
    joins support this. With ``keep_keys``, the band keys and the pairs that the check rejects are kept for later use.
    """
    spec, rejected = gathered.collection.spec, None
    if spec.exact:
        pairs, crowd = _joined(gathered, split_row)
    else:
        rejected = PairStore("rejected", len(gathered.collection), gathered.space, part=0.05) if keep_keys else None
        gathered.check.rejected = rejected
        pairs, crowd = _banded(gathered, keep_keys=keep_keys)
        gathered.check.rejected = None
    if split_row is None:
        alone = np.flatnonzero((gathered.weight > spec.crowd) & (crowd < 0))
        crowd[alone] = alone
    return replace(SearchState.of(gathered, pairs, crowd, split_row), rejected=rejected)


def overlap(gathered: Gathered, rule: Overlap, is_protected: Mask) -> tuple[SearchState, Overlaps]:
    """Find the documents that overlap with protected ones, and the pairs they form. ``is_protected`` is bool[n]."""
    from neardup.engine.joins.overlap import find_overlaps

    with gathered.stages.stage("overlap"):
        found = find_overlaps(
            *(gathered.collection, gathered.copies, is_protected, rule),
            threads=gathered.tally.threads,
            observer=gathered.stages.observer,
        )
    pairs = PairStore("overlapping", len(gathered.collection), gathered.space, part=0.15)
    others = found.protected != found.rows  # a document and its own protected copy are not a pair
    pairs.add(found.rows[others], found.protected[others], found.share[others])
    gathered.tally.candidates, gathered.tally.checked = found.candidates, found.checked
    nobody = np.full(len(gathered.collection), -1, dtype=np.int32)
    return SearchState.of(gathered, pairs, nobody), found


def _joined(gathered: Gathered, split_row: int | None) -> tuple[PairStore, I32]:
    """Return the verified pairs that the measure's join finds, and the leader of each row's crowd, or -1."""
    collection, spec, tally = gathered.collection, gathered.collection.spec, gathered.tally
    with gathered.stages.stage("join"):
        rows = np.flatnonzero(gathered.weight)
        sides = None if split_row is None else gathered.copies.sides(rows, split_row)
        work = _join_of(spec.measure)
        hasher, observer = Hasher(spec.shingle, spec.seed), gathered.stages.observer
        joined = work(
            collection,
            rows,
            hasher,
            weight=gathered.weight,
            check=gathered.check,
            sides=sides,
            threads=tally.threads,
            observer=observer,
        ).run()
        pairs = _confirmed(joined.pairs, collection, gathered.check, gathered.pairing)
    tally.candidates, tally.checked = joined.candidates_met, joined.overlaps_counted
    none = np.full(len(collection), -1, dtype=np.int32)
    return pairs, joined.crowd if joined.crowd.size else none


def _confirmed(joined: PairStore, collection: Collection, check: Checker, pairing: Pairing | None) -> PairStore:
    """Keep the joined pairs that the pairing allows and the check confirms, with the check's similarities.

    A join hashes with a public key, because every run must meet the same candidates. Texts can be crafted to collide
    under a public key, so no pair is reported without a check.
    """
    space = collection.space
    pairs = PairStore("confirmed", len(collection), space, part=0.15, is_lasting=True)
    if "confirmed" not in space.state:
        for piece in joined.pieces():
            left, right = piece.left, piece.right
            if pairing is not None:
                allowed = pairing.allows(left, right)
                left, right = left[allowed], right[allowed]
            similarity = check(left, right, collection.spec.threshold)
            near = similarity >= 0
            pairs.add(left[near], right[near], similarity[near])
        check.drop_buffers()
        pairs.flush()
        space.checkpoint(confirmed=True)
    joined.drop()
    return pairs


def _banded(gathered: Gathered, *, keep_keys: bool) -> tuple[PairStore, I32]:
    """Return the verified pairs that banding finds, and the leader of each row's crowd, or -1."""
    collection, check, tally, stages = gathered.collection, gathered.check, gathered.tally, gathered.stages
    observer = stages.observer
    with stages.stage("candidates", collection.spec.bands.bands, "bands"):
        candidates = find_candidates(collection, gathered.weight, check, threads=tally.threads, observer=observer)
    if not keep_keys:
        collection.drop_keys()
    with stages.stage("check", None, ""):
        pairs = _verified(candidates, collection, check, observer, gathered.pairing)
        check.drop_buffers()
    tally.candidates = candidates.met - candidates.pending.repeats
    tally.checked = check.checked
    tally.overfull = candidates.overfull
    return pairs, candidates.crowds.crowd


def _verified(
    candidates: BandCandidates, collection: Collection, check: Checker, observer: Observer, pairing: Pairing | None
) -> PairStore:
    """Check the candidate pairs, and return those that reach the threshold and the pairs of members and leaders."""
    spec, space, n = collection.spec, collection.space, len(collection)
    # documents held in memory leave half as much room for pairs as documents in files
    pairs = PairStore("verified", n, space, part=0.15 if collection.is_spooled else 0.075)
    pending, crowd = candidates.pending, candidates.crowds.crowd
    check.checked = space.state.get("checked", check.checked)
    if "verified" in space.state:
        pending.drop()
        return pairs
    leaders = PairStore("leaders-met", n, space, part=0.02)
    done = space.state.get("passed", 0)
    laid = LaidOut(pending, crowd, threads=check.threads, pairing=pairing)
    observer.stage("check", len(laid), "")
    observer.advance(done)
    for left, right, passed in laid.pieces(done):
        similarity = check(left, right, spec.threshold, parts=laid.parts, observer=observer)
        near = similarity >= 0
        left, right, similarity = left[near], right[near], similarity[near]
        pairs.add(left, right, similarity)
        leading = (crowd[left] == left) & (crowd[right] == right)
        leaders.add(left[leading], right[leading], similarity[leading])
        if space.is_due:
            pairs.flush()
            leaders.flush()
            check.flush()
            space.checkpoint(passed=passed, checked=check.checked)
    for rows, leader, stars in candidates.crowds.joined():
        pairs.add(rows, leader, stars)
    follow_leaders(pairs, leaders, crowd, collection, check)
    if space.is_lasting:
        pairs.flush()
        check.flush()
        space.checkpoint(verified=True, checked=check.checked, repeats=pending.repeats)
    leaders.drop()
    laid.drop()
    return pairs


def follow_leaders(pairs: PairStore, leaders: PairStore, crowd: I32, collection: Collection, check: Check) -> None:
    """Pair the second crowd's members with the first crowd's leader, for each pair of similar ``leaders``.

    If the second leader is removed, its members still have a keeper. ``crowd`` is int32[n]: each row's leader, or -1.
    """
    held: list[tuple[I64, I64]] = []

    def follow() -> None:
        members, first = (np.concatenate(column) for column in zip(*held, strict=True))
        similarity = check(np.minimum(members, first), np.maximum(members, first), collection.spec.threshold)
        near = similarity >= 0
        pairs.add(members[near], first[near], similarity[near])
        held.clear()

    for pair in (pair for piece in leaders.pieces() for pair in np.column_stack((piece.left, piece.right))):
        first, second = content_order(collection, pair).tolist()  # the preferred keeper first
        members = np.flatnonzero(crowd == second)
        members = members[members != second]
        held.append((members, np.full(members.size, first)))
        if sum(some.size for some, _ in held) > ROWS_AT_A_TIME:
            follow()
    if held:
        follow()


def keeping_order(found: SearchState) -> I64:
    """Return the representatives that have pairs, the preferred keepers first: crowd leaders and references, then the
    others, both sorted by content."""
    involved = found.pairs.involved()
    found.need_memory(involved)
    order = content_order(found.collection, involved)
    del involved
    is_lead = found.crowd[order] == order
    if found.pairing is not None and found.pairing.is_reference is not None:
        is_lead |= found.pairing.is_reference[order]
    return np.concatenate((order[is_lead], order[~is_lead]))


def link_rows(found: SearchState, rule: str) -> Links:
    """Cluster the representatives by ``rule``: ``star`` or ``connected``.

    Keepers are chosen in content order, crowd leaders first, because a crowd's members have no other pairs. If the
    pairing does not let a member form a pair with its keeper, their similarity is NaN.
    """
    order = keeping_order(found)
    check = found.check if found.pairing is None else found.pairing.restricted(found.check)
    return link(found.pairs, order, len(found.collection), found.space, rule=rule, check=check)


def find(found: SearchState, *, rule: str) -> FoundRows:
    """Cluster the representatives by ``rule``, ``star`` or ``connected``, then list the pairs and clusters of all rows.

    A search across two collections gives pairs only, not clusters.
    """
    copies, crowd, spec, space = found.copies, found.crowd, found.collection.spec, found.space
    stages, leads = found.stages, found.leads
    if found.split_row is not None:
        with stages.stage("cluster"):
            pairs = expand_across(found.pairs, copies, found.split_row, spec, space)
        nothing, known = np.empty(0, dtype=np.int64), (found.collection.written, found.collection.prints)
        return FoundRows(pairs, Members.none(), nothing, nothing, found.tally, _sizes(found, pairs), *known)
    with stages.stage("cluster"):
        links = link_rows(found, rule)
    with stages.stage("cluster"):
        listed = found.listed_leaders()
        members = expand_clusters(links, copies, listed)
        pairs = expand_pairs(found.pairs, copies, crowd, leads, listed, spec, space)
    sizes = np.zeros(len(found.collection) if leads.size else 0, dtype=np.int64)
    if leads.size:
        inside = np.flatnonzero(crowd >= 0)
        np.add.at(sizes, crowd[inside], found.weight[inside])
    return FoundRows(
        pairs,
        members,
        listed.of(leads),
        sizes[leads],
        found.tally,
        _sizes(found, pairs),
        found.collection.written,
        found.collection.prints,
    )


def _sizes(found: SearchState, pairs: PairStore) -> Sizes | None:
    """Return the set sizes of the rows that have pairs, or None if the measure is not containment."""
    if found.collection.spec.measure != CONTAINMENT:
        return None
    from neardup.engine.joins.containment import sizes_of

    with found.stages.stage("sizes"):
        return sizes_of(found.collection, pairs.involved(), found.check.hasher, threads=found.tally.threads)
