"""A second pass: what repeats in the texts that are left when passages were cut out. Nothing more is cut.

A cut brings together what stood on its two sides, and that may stand elsewhere too; a cut that was moved inward leaves
the ends of a passage; and a policy that keeps first places keeps what overlaps with them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from neardup.engine.repeats.choice import Choice
from neardup.engine.space import Space
from neardup.inputs.names import Provenance
from neardup.tasks.grouping import Groups
from neardup.tasks.repeats.cutting import TEXT_BYTES, CutDocument, bytes_of, clean_texts
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.summary import PassageSummary
from neardup.types import Batch, Documents

SHARE = 0.4
"""Of the memory for data, what the second search may have: the first one's texts are held too."""


def second_pass(run: PassageRun, documents: Iterable[CutDocument], least_left: int) -> PassageSummary:
    """What a search with the settings of ``run`` finds in the texts that are kept, without their cuts.

    ``documents``: all that are cut. The copies are held against the same collection and templates, and are of the same
    groups; a share of the documents is of those that are kept. Time and disk are those of the first search, for texts
    of their size.
    """
    budget = run.space.budget
    budget = replace(budget, work=int(SHARE * budget.work))
    assert run.space.path is not None, "a run of passages has a folder for its work"
    space = Space(budget, Path(f"{run.space.path.resolve()}-second"), {})
    kept = array("q")
    groups: Groups | None = None

    def choose(read: int) -> Choice:
        nonlocal groups
        if run.groups is not None:
            known, of = np.unique(run.groups.of[np.array(kept, dtype=np.int64)], return_inverse=True)
            groups = Groups([run.groups.names[number] for number in known.tolist()], of.astype(np.int32))
        return run.choice(len(kept), read, groups)

    try:
        run.observer.stage("reading again", None, "B")
        how: dict[str, Any] = {"names": Provenance(), "space": space, "templates": run.templates, "choose": choose}
        with closing(_tasks(run, documents, least_left, kept)) as tasks:
            repeats = run.search(tasks, total_bytes=None, **how)
        return run.summary_of(repeats, repeats.segments(), groups)
    finally:
        space.close(finished=True)


def _tasks(
    run: PassageRun, documents: Iterable[CutDocument], least_left: int, kept: array[int]
) -> Generator[Callable[[], Batch], None, None]:
    """The texts that are kept, whose rows are noted, and those of the other collection."""

    def texts() -> Iterator[str]:
        repeats = run.find()
        for row, (text, _, is_kept) in enumerate(clean_texts(repeats, documents, least_left)):
            if is_kept:
                kept.append(row)
                yield text
        for row in range(repeats.documents, repeats.choice.templates):
            yield bytes_of(repeats, row).decode("utf-8", "replace")

    held: list[str] = []
    size = 0
    for text in texts():
        held.append(text)
        size += len(text)
        if size >= TEXT_BYTES:
            yield partial(_batch, held)
            held, size = [], 0
    yield partial(_batch, held)


def _batch(texts: list[str]) -> Batch:
    documents = Documents.from_texts(texts)
    return Batch(documents, "the clean copies", np.arange(1, len(texts) + 1), consumed=documents.nbytes)
