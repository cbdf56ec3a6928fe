"""The audit of a search: its pairs held against all true pairs of a sample."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from neardup import params, tuning
from neardup.arrays import numbers
from neardup.calls import hinted
from neardup.engine.check import Checker, TooLargeError, pairs_at_once
from neardup.engine.observe import Observer, Silent
from neardup.engine.reading.draw import draw
from neardup.engine.state import SearchState
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.params import (
    Bands,
    CandidateShingle,
    InputOptions,
    Normalize,
    Preset,
    RunOptions,
    SearchOptions,
    Shingle,
    with_preset,
)
from neardup.session import Run
from neardup.tasks.audit.exact_partners import Array, ExactPartners, find_exact_partners, gathered
from neardup.tasks.audit.outcome import Audit, judge
from neardup.tasks.audit.statistics import Evidence
from neardup.tasks.plan.decision import decide
from neardup.types import I64, Mask, Pairs
from neardup.watching import watched

BOTH_SIDES = 3
"""Of two collections: what the sides of the two documents of a pair come to when it lies across."""


@hinted
@watched
@with_preset
def audit(
    inputs: Any,
    *,
    documents: int = params.DEFAULT_AUDIT,
    sample_seed: int = params.DEFAULT_SEED,
    preset: str | Preset | None = None,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    candidates_by: str | CandidateShingle | None = None,
    seed: int = params.DEFAULT_SEED,
    exact: bool = False,
    crowd: int = params.DEFAULT_CROWD,
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    glob: str | None = None,
    encoding: str = "utf-8",
    boilerplate: str = "keep",
    on_bad: str = "fail",
    input_format: str | None = None,
    threads: int | None = None,
    block: int | None = None,
    memory: int | str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    observer: Observer | None = None,
    progress: bool = False,
) -> Audit:
    """Measure the recall and the precision of a search on the collection itself.

    The search is run as ``find`` would run it. Then some documents are sampled, all their near-duplicates are found
    exactly in one pass over the texts, and compared with what the search found. The answer is the same for any
    ``threads``, ``block``, ``memory`` and order of the input.

    Args:
        inputs: as for ``find``.
        documents: how many distinct texts to sample; all when there are fewer.
        sample_seed: which ones. The interval holds the recall of the search for about 95 of 100 seeds, or more.
        threshold, recall, shingle, normalize, sketch, slots, bands, candidates_by, seed, exact, crowd: as for ``find``.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``.
        memory, workdir, resume, observer, progress: as for ``find``.

    Returns:
        Audit with the recall and its interval, over all and by similarity, beside what the promise expects; the
        precision; the verdict; and the table ``missed`` of the true pairs that were not found.

    Raises:
        InputError: an option, a file or a record cannot be used; the message names it and the cure.
        SpoolError: the workdir cannot be used.

    >>> import neardup
    >>> texts = ["a rose is a rose", "a rose is a rose!", "tulips", "tulips, too"]
    >>> done = neardup.audit(texts, shingle="char:4", threshold=0.7)
    >>> done.pairs, done.found, done.recall, done.precision, done.is_broken
    (1, 1, 1.0, 1.0, False)
    """
    given = locals()
    check_sample(documents, sample_seed)
    search, options, watching = SearchOptions.of(given), RunOptions.of(given), observer or Silent()
    spec = tuning.make_spec(search)
    reader = open_inputs(inputs, InputOptions.of(given), item=spec.shingle.kind == "item")
    spec, choice = decide(reader, spec, search, options, watching)
    with Run(reader, spec, options, task={"command": "audit"}, choice=choice, observer=watching) as run:
        return audit_search(run, run.search(), documents=documents, sample_seed=sample_seed)


def audit_search(
    run: Run, search: SearchState, *, documents: int = params.DEFAULT_AUDIT, sample_seed: int = params.DEFAULT_SEED
) -> Audit:
    """Hold the pairs of a search against all true pairs of a sample of its documents.

    The truth is exact and comes from one pass over the texts. The sample depends on the distinct texts and
    ``sample_seed`` alone, the figures on nothing but the sample and the pairs. ``run`` is entered, and ``search`` may
    be used further.
    """
    with search.stages.stage("audit"):
        drawn = draw(search.collection, search.weight, documents=documents, seed=sample_seed)
        truth = _truth(run, search, drawn)
        listed, false_pairs, hit = _held_against(search, drawn, truth.pairs)
        run.space.release_memory()
        population = int(np.count_nonzero(search.weight))
        measured = Evidence.of(truth.pairs, hit, drawn, population, run.spec)
        recall_low, recall_high, effect = measured.interval()
        chance = measured.chance()
    pairs, caught = hit.size, int(hit.sum())
    theory = float(measured.theory.mean()) if pairs and measured.theory is not None else None
    ids, true = run.provenance.ids, truth.pairs
    left, right, similarity = true.left[~hit], true.right[~hit], true.similarity[~hit]
    verdict, is_broken = judge(caught, pairs, (recall_low, recall_high), theory, chance, false_pairs)
    return Audit(
        documents=population,
        sampled=drawn.size,
        sample_seed=sample_seed,
        threshold=run.spec.threshold,
        promised=run.spec.recall,
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
        columns=run.reader.columns,
        missed=pa.table({"id_a": ids.take(left), "id_b": ids.take(right), "similarity": numbers(similarity)}),
    )


def check_sample(documents: int, sample_seed: int) -> None:
    """Raise InputError unless so many documents can be drawn with this seed."""
    if not isinstance(documents, int) or isinstance(documents, bool) or documents < 1:
        raise InputError(
            f"documents is {documents!r}. Give a whole number of at least 1, such as {params.DEFAULT_AUDIT}."
        )
    if not isinstance(sample_seed, int) or isinstance(sample_seed, bool) or not 0 <= sample_seed < 2**63:
        raise InputError(f"sample_seed is {sample_seed!r}. Give a whole number from 0 to 2**63 - 1.")


def _truth(run: Run, search: SearchState, drawn: I64) -> ExactPartners:
    """Return the true pairs that a search should have; between two collections, only pairs across them."""
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
    pairs = truth.pairs
    if search.pairing is not None:
        some = search.pairing.allows(pairs.left, pairs.right)
    elif search.split_row is not None:
        sides = [search.copies.sides(rows, search.split_row) for rows in (pairs.left, pairs.right)]
        some = sides[0] | sides[1] == BOTH_SIDES
    else:
        return truth
    return ExactPartners(Pairs(pairs.left[some], pairs.right[some], pairs.similarity[some]), truth.candidates)


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
    for left, right, similarity in gathered(_found_pairs(search, drawn), pairs_at_once(search.space)):
        listed += left.size
        false += int(np.count_nonzero(check(left, right, spec.threshold) != similarity))
        wanted = left * n + right
        place = np.searchsorted(keys, wanted)
        inside = place < keys.size
        hit[place[inside][keys[place[inside]] == wanted[inside]]] = True
    return listed, false, hit


def _found_pairs(search: SearchState, drawn: I64) -> Iterator[tuple[Array, ...]]:
    """The pairs of a search that have a document of the sample: left, right, similarity."""
    inside = np.zeros(len(search.collection), dtype=np.bool_)
    inside[drawn] = True
    for piece in search.pairs.pieces():
        some = inside[piece.left] | inside[piece.right]
        yield piece.left[some], piece.right[some], piece.similarity[some]
