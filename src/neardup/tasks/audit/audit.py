"""Holding the pairs of a search against the truth of a sample."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers
from neardup.engine.check import Checker, TooLargeError, pairs_at_once
from neardup.engine.state import SearchState
from neardup.errors import InputError
from neardup.params import DEFAULT_AUDIT, DEFAULT_SEED, Spec
from neardup.session import Run
from neardup.tasks.audit.exact_partners import Array, ExactPartners, draw, find_exact_partners, gathered
from neardup.tasks.audit.outcome import Audit, judge
from neardup.tasks.audit.statistics import Evidence
from neardup.types import I64, Mask, Pairs

__all__ = ["audit_search", "check_sample"]

BOTH_SIDES = 3
"""Of two collections: what the sides of the two documents of a pair come to when it lies across."""


def audit_search(
    run: Run,
    search: SearchState,
    *,
    documents: int = DEFAULT_AUDIT,
    sample_seed: int = DEFAULT_SEED,
    promise: Spec | None = None,
) -> Audit:
    """Hold the pairs of a search against all true pairs of a sample of its documents.

    The truth is exact and comes from one pass over the texts. The sample depends on the distinct texts and
    ``sample_seed`` alone, the figures on nothing but the sample and the pairs.

    Args:
        run: the run, entered.
        search: what ``run.search()`` gave; it may be used further.
        documents: how many to draw.
        sample_seed: which.
        promise: the spec whose promise is to be kept; that of the run when None.

    Raises:
        InputError: ``documents`` or ``sample_seed`` is out of range, or two documents are too long to be compared
            within the memory limit.
    """
    check_sample(documents, sample_seed)
    with search.stages.stage("audit"):
        drawn = draw(search.collection, search.weight, documents=documents, seed=sample_seed)
        truth = _truth(run, search, drawn)
        listed, false_pairs, hit = _held_against(search, drawn, truth.pairs)
        run.space.release_memory()
        population = int(np.count_nonzero(search.weight))
        measured = Evidence.of(truth.pairs, hit, drawn, population, promise or run.spec)
        recall_low, recall_high, effect = measured.interval()
        chance = measured.chance()
    pairs, caught = hit.size, int(hit.sum())
    theory = float(measured.theory.mean()) if pairs else None
    verdict, is_broken = judge(caught, pairs, (recall_low, recall_high), theory, chance, false_pairs)
    return Audit(
        documents=population,
        sampled=drawn.size,
        sample_seed=sample_seed,
        threshold=run.spec.threshold,
        promised=measured.spec.recall,
        pairs=pairs,
        found=caught,
        recall=caught / pairs if pairs else None,
        recall_low=recall_low,
        recall_high=recall_high,
        design_effect=effect,
        theory=theory,
        chance=chance,
        listed=listed,
        false_pairs=false_pairs,
        precision=1 - false_pairs / listed if listed else None,
        crowd_documents=int(np.count_nonzero(search.crowd[drawn] >= 0)),
        overfull=search.tally.overfull,
        bins=measured.bins(effect),
        is_broken=is_broken,
        verdict=verdict,
        candidates=truth.candidates,
        seconds={name: round(value, 4) for name, value in search.stages.seconds.items()},
        read_bytes=search.collection.read_bytes,
        spec=run.spec.as_dict(),
        bad=run.provenance.bad,
        blank=run.provenance.blank,
        passed_over=run.reader.passed_over,
        missed=_named(run, truth.pairs, ~hit),
    )


def check_sample(documents: int, sample_seed: int) -> None:
    """Raise InputError unless so many documents can be drawn with this seed."""
    if not isinstance(documents, int) or isinstance(documents, bool) or documents < 1:
        raise InputError(f"documents is {documents!r}. Give a whole number of at least 1, such as {DEFAULT_AUDIT}.")
    if not isinstance(sample_seed, int) or isinstance(sample_seed, bool) or not 0 <= sample_seed < 2**63:
        raise InputError(f"sample_seed is {sample_seed!r}. Give a whole number from 0 to 2**63 - 1.")


def _truth(run: Run, search: SearchState, drawn: I64) -> ExactPartners:
    """The true pairs that a search should have: between two collections only those across."""
    threads = search.tally.threads
    try:
        truth = find_exact_partners(
            search.collection, search.weight, search.crowd, drawn, threads=threads, observer=run.observer
        )
    except TooLargeError as exc:
        names = " and ".join(map(str, run.provenance.ids.take(exc.rows).to_pylist()))
        raise InputError(
            f"the documents {names} are too long to be compared for the audit within the memory limit. Raise --memory "
            "(memory=), or leave them out."
        ) from exc
    if search.split_row is None:
        return truth
    pairs = truth.pairs
    sides = [search.copies.sides(rows, search.split_row) for rows in (pairs.left, pairs.right)]
    across = sides[0] | sides[1] == BOTH_SIDES
    return ExactPartners(Pairs(pairs.left[across], pairs.right[across], pairs.similarity[across]), truth.candidates)


def _named(run: Run, pairs: Pairs, which: Mask) -> pa.Table:
    """Some pairs under their ids."""
    ids = run.provenance.ids
    columns = [ids.take(pairs.left[which]), ids.take(pairs.right[which]), numbers(pairs.similarity[which])]
    return pa.table(dict(zip(("id_a", "id_b", "similarity"), columns, strict=True)))


def _held_against(search: SearchState, drawn: I64, true: Pairs) -> tuple[int, int, Mask]:
    """The found pairs that have a document of the sample: how many, how many of them are false, and which are true.

    False are those whose exact similarity, computed anew, is below the threshold or another. The mask is bool[true]:
    whether each of the true pairs was found.
    """
    collection, n = search.collection, len(search.collection)
    spec = collection.spec
    check = Checker(collection, threads=search.tally.threads)
    listed = false = 0
    keys = true.left * n + true.right
    hit = np.zeros(keys.size, dtype=np.bool_)
    for found in _found_pairs(search, drawn):
        listed += len(found)
        false += int(np.count_nonzero(check(found.left, found.right, spec.threshold) != found.similarity))
        wanted = found.left * n + found.right
        place = np.searchsorted(keys, wanted)
        inside = place < keys.size
        hit[place[inside][keys[place[inside]] == wanted[inside]]] = True
    return listed, false, hit


def _found_pairs(search: SearchState, drawn: I64) -> Iterator[Pairs]:
    """The pairs of a search that have a document of the sample, as many at a time as can be checked together."""
    inside = np.zeros(len(search.collection), dtype=np.bool_)
    inside[drawn] = True

    def touching() -> Iterator[tuple[Array, ...]]:
        for piece in search.pairs.pieces():
            some = inside[piece.left] | inside[piece.right]
            yield piece.left[some], piece.right[some], piece.similarity[some]

    for left, right, similarity in gathered(touching(), pairs_at_once(search.space)):
        yield Pairs(left, right, similarity)
