"""The audit of a search: inputs to an Audit."""

from __future__ import annotations

import os
from typing import Any

from neardup import params, tuning
from neardup.engine.observe import Observer, Silent
from neardup.inputs.reader import open_inputs
from neardup.params import Bands, InputOptions, Normalize, RunOptions, SearchOptions, Shingle
from neardup.session import Run
from neardup.tasks.audit.audit import audit_search, check_sample
from neardup.tasks.audit.outcome import Audit
from neardup.tasks.plan.decision import decide

__all__ = ["audit"]


def audit(
    inputs: Any,
    *,
    documents: int = params.DEFAULT_AUDIT,
    sample_seed: int = params.DEFAULT_SEED,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = params.DEFAULT_SEED,
    exact: bool = False,
    crowd: int = params.DEFAULT_CROWD,
    text: str | None = None,
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
) -> Audit:
    """Measure the recall and the precision of a search on the collection itself.

    The search is run as ``find`` would run it. Then some documents are drawn, all their near-duplicates are found
    exactly in one pass over the texts, and what the search found is held against them. The answer is the same for any
    ``threads``, ``block``, ``memory`` and order of the input.

    Args:
        inputs: as for ``find``.
        documents: how many distinct texts to draw; all when there are fewer.
        sample_seed: which ones. The interval holds the recall of the search for about 95 of 100 seeds, or more.
        threshold, recall, shingle, normalize, sketch, slots, bands, seed, exact, crowd: as for ``find``.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``.
        memory, workdir, resume, observer: as for ``find``.

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
