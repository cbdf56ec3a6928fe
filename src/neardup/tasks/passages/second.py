"""A second pass: what repeats in the texts that are left when passages were cut out. Nothing more is cut.

A cut brings together what stood on its two sides, and that may stand elsewhere too; a cut that was moved inward leaves
the ends of a passage; and a policy that keeps first places keeps what overlaps with them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from neardup.engine.space import Space
from neardup.errors import InputError
from neardup.inputs.names import Provenance
from neardup.tasks.passages.cutting import TEXT_BYTES, CutDocument, clean_texts
from neardup.tasks.passages.run import PassageRun
from neardup.tasks.passages.summary import PassageSummary, summarize
from neardup.types import Batch, Documents

SHARE = 0.4
"""Of the memory for data, what the second search may have: the first one's texts are held too."""


def second_pass(run: PassageRun, documents: Iterable[CutDocument], min_left: int) -> PassageSummary:
    """What a search with the settings of ``run`` finds in the texts that are kept, without their cuts.

    ``documents``: all that are cut. Time and disk are those of the first search, for texts of their size.
    InputError where only some of the passages were wanted.
    """
    if not run.has_second_pass:
        raise InputError(
            "a second pass looks for all that repeats exactly, and something else is wanted. Leave --second-pass (or "
            "second_pass()) out, or --gaps, --against, --ignore, --group-by, --min-count, --min-docs and --min-share."
        )
    budget = run.space.budget
    budget = replace(budget, work=int(SHARE * budget.work))
    assert run.space.path is not None, "a run of passages has a folder for its work"
    space = Space(budget, Path(f"{run.space.path.resolve()}-second"), {})
    try:
        run.observer.stage("reading again", None, "B")
        with closing(_tasks(run, documents, min_left)) as tasks:
            repeats = run.search(tasks, total_bytes=None, names=Provenance(), space=space)
        return summarize(repeats, repeats.segments(), run.length, run.normalize, begin=run.begin)
    finally:
        space.close(finished=True)


def _tasks(
    run: PassageRun, documents: Iterable[CutDocument], min_left: int
) -> Generator[Callable[[], Batch], None, None]:
    held: list[str] = []
    size = 0
    for text, _, is_kept in clean_texts(run.find(), documents, min_left):
        if is_kept:
            held.append(text)
            size += len(text)
        if size >= TEXT_BYTES:
            yield partial(_batch, held)
            held, size = [], 0
    yield partial(_batch, held)


def _batch(texts: list[str]) -> Batch:
    documents = Documents.from_texts(texts)
    return Batch(documents, "the clean copies", np.arange(1, len(texts) + 1), consumed=documents.nbytes)
