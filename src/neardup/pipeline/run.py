"""A whole run: batches in, verified pairs and clusters of rows out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from neardup.kernels import is_compiled
from neardup.params import Spec
from neardup.pipeline.candidates import Candidates, find_candidates
from neardup.pipeline.check import Checker
from neardup.pipeline.collect import Collection, collect
from neardup.pipeline.copies import Copies, find_copies
from neardup.pipeline.crowds import content_order
from neardup.pipeline.expand import expand
from neardup.pipeline.observe import Observer, Silent, Stopwatch
from neardup.stages import cluster as cluster_stage
from neardup.stages.shingle import Hasher
from neardup.types import F64, I64, Batch, Pairs

__all__ = ["Found", "Tally", "run"]


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
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """Rows found by a run."""

    pairs: Pairs
    members: I64
    """Rows in clusters of two and more, rising."""
    label: I64
    """Smallest row of the cluster of each member."""
    keeper: I64
    """Row that stands for the cluster of each member."""
    similarity: F64
    """Exact similarity of each member to its keeper."""
    crowd_leaders: I64
    crowd_documents: I64
    """Documents of each crowd, leader included."""
    tally: Tally


def run(
    tasks: Iterator[Callable[[], Batch]],
    spec: Spec,
    *,
    link: str,
    total_bytes: int | None,
    threads: int,
    on_batch: Callable[[Batch], None],
    first_of: Callable[[I64], int],
    observer: Observer,
) -> Found:
    """Find the near-duplicates of a collection.

    Args:
        tasks: readers' work, in order; called in threads.
        spec: all that decides which pairs are found.
        link: ``star`` or ``connected``.
        total_bytes: size of the input when known.
        threads: how many; the answer does not depend on it.
        on_batch: sees each batch in order.
        first_of: picks among the rows of exact copies the one that leads a crowd, by something other than row.
        observer: told about progress.
    """
    watch = Stopwatch()
    if not is_compiled():
        observer.note("first run on this machine: compiling kernels for its processor, about ten seconds, once")
    with watch.measure("read"):
        observer.stage("read", total_bytes, "bytes")
        collection = collect(
            tasks, spec, total_bytes=total_bytes, threads=threads, on_batch=on_batch, observer=observer
        )
    with watch.measure("copies"):
        copies = find_copies(collection)
    weight = np.minimum(copies.weight, 1) if spec.collapse_exact else copies.weight
    checker = Checker(collection, Hasher(spec.shingle, spec.seed), threads=threads, observer=Silent())
    with watch.measure("candidates"):
        observer.stage("candidates", spec.bands.bands, "bands")
        candidates = find_candidates(collection, copies, weight, spec, checker, threads=threads, observer=observer)
    with watch.measure("check"):
        observer.stage("check", candidates.left.size, "pairs")
        checker.observer = observer
        pairs = _verified(candidates, collection, checker, spec)
    with watch.measure("cluster"):
        observer.stage("cluster", None, "")
        found = _found(pairs, collection, copies, weight, candidates, spec, link, first_of, checker)
    tally = found.tally
    tally.candidates, tally.checked, tally.overfull = candidates.met, checker.checked, candidates.overfull
    tally.seconds = watch.seconds
    return found


def _verified(candidates: Candidates, collection: Collection, check: Checker, spec: Spec) -> Pairs:
    """Exact similarities of the candidates that reach the threshold, with the stars of the crowds."""

    def passing(left: I64, right: I64) -> tuple[I64, I64, F64]:
        found = check(left, right, spec.threshold)
        passed = found >= 0
        return left[passed], right[passed], found[passed]

    parts = [passing(candidates.left, candidates.right)]
    crowds = candidates.crowds
    if crowds.left.size:
        met = _leaders_met(parts[0][0], parts[0][1], collection, candidates)
        parts.append((np.minimum(crowds.left, crowds.right), np.maximum(crowds.left, crowds.right), crowds.similarity))
        for first, second in met:
            # two crowds turned out to be near: the second leader's members must be able to follow it
            members = crowds.right[crowds.left == second]
            parts.append(passing(np.minimum(members, first), np.maximum(members, first)))
    return Pairs.gathered(parts)


def _leaders_met(left: I64, right: I64, collection: Collection, candidates: Candidates) -> list[tuple[int, int]]:
    """Pairs of crowd leaders among verified pairs, the one that would keep first."""
    crowd = candidates.crowds.crowd
    both = (crowd[left] == left) & (crowd[right] == right)
    ordered = []
    for pair in zip(left[both].tolist(), right[both].tolist(), strict=True):
        first, second = content_order(collection, np.array(pair, dtype=np.int64)).tolist()
        ordered.append((first, second))
    return ordered


def _found(
    pairs: Pairs,
    collection: Collection,
    copies: Copies,
    weight: I64,
    candidates: Candidates,
    spec: Spec,
    link: str,
    first_of: Callable[[I64], int],
    check: Checker,
) -> Found:
    """Clusters of representatives, then everything spelled out for all rows."""
    n = len(collection)
    crowd = candidates.crowds.crowd.copy()
    alone = np.flatnonzero((weight > spec.crowd) & (crowd < 0))
    crowd[alone] = alone
    leads = np.flatnonzero(crowd == np.arange(n))
    keeper, label, to_keeper = _linked(pairs, collection, crowd, link, check)
    spelled = expand(pairs, copies, crowd, leads, keeper, label, to_keeper, spec, first_of)
    sizes = np.bincount(crowd[crowd >= 0], weights=weight[crowd >= 0], minlength=n)[leads].astype(np.int64)
    tally = Tally(
        documents=n,
        read_bytes=collection.read_bytes,
        empty=int(np.count_nonzero(collection.counts == 0)),
        short=collection.short,
        exact_copies=int(np.count_nonzero(copies.representative >= 0)) - copies.rows.size,
    )
    return Found(
        pairs=spelled.pairs,
        members=spelled.members,
        label=spelled.label,
        keeper=spelled.keeper,
        similarity=spelled.similarity,
        crowd_leaders=spelled.speaker[leads],
        crowd_documents=sizes,
        tally=tally,
    )


def _linked(pairs: Pairs, collection: Collection, crowd: I64, link: str, check: Checker) -> tuple[I64, I64, F64]:
    """Keeper, label and similarity to the keeper of every representative; one without pairs is its own keeper.

    Keepers are chosen in content order, leaders of crowds first: their members have pairs with them only.
    """
    n = crowd.size
    involved = np.unique(np.concatenate((pairs.left, pairs.right)))
    order = content_order(collection, involved)
    is_lead = crowd[order] == order
    order = np.concatenate((order[is_lead], order[~is_lead]))
    small = Pairs(np.searchsorted(involved, pairs.left), np.searchsorted(involved, pairs.right), pairs.similarity)
    clusters = cluster_stage.link(small, np.searchsorted(involved, order), involved.size, rule=link)
    keeper = np.arange(n)
    keeper[involved] = involved[clusters.keeper]
    label = np.arange(n)
    label[involved] = involved[clusters.label]
    to_keeper = np.ones(n)
    follow = involved[keeper[involved] != involved]
    to_keeper[follow] = (
        check(np.minimum(follow, keeper[follow]), np.maximum(follow, keeper[follow]), 0.0)
        if link == "connected"
        else _lookup(pairs, follow, keeper[follow])
    )
    return keeper, label, to_keeper


def _lookup(pairs: Pairs, rows: I64, keepers: I64) -> F64:
    """Similarity of pairs that are known to be in ``pairs``, which is sorted."""
    left, right = np.minimum(rows, keepers), np.maximum(rows, keepers)
    span = int(max(pairs.right.max(initial=0), right.max(initial=0))) + 1
    at = np.searchsorted(pairs.left * span + pairs.right, left * span + right)
    return pairs.similarity[at]
