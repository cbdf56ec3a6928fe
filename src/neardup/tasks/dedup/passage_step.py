"""The step behind near-duplicates: repeated passages of the documents that stay are cut out of them.

The documents that stay are read once more, by the same reader; what is found in them depends on these only.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from neardup.arrays import numbers
from neardup.errors import InputError, SpoolError
from neardup.inputs.batches import documents_from, gather
from neardup.inputs.reader import Reader
from neardup.inputs.source import Task
from neardup.params import Normalize, RunOptions, Spec
from neardup.session import token_of
from neardup.spool.manifest import MANIFEST
from neardup.tasks.dedup.run import Cleaning
from neardup.tasks.repeats.copies import check_cuttable
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import Cutting, Length
from neardup.types import I64, Alone, Batch, NeedsRoom

SHARE = 0.5
"""Of the memory for data, what the step may have: the search for near-duplicates holds its own."""


@dataclass(frozen=True, slots=True)
class PassageStep:
    """What is cut of the documents that stay."""

    length: Length
    cutting: Cutting

    @classmethod
    def of(cls, given: dict[str, Any]) -> PassageStep | None:
        """From options by their names; None where ``passages`` is None.

        InputError where one of them cannot be used, or is given without ``passages``.
        """
        policy = given["passages"]
        names = ("min_bytes", "min_words", "min_chars", "snap", "min_cut", "min_left")
        if policy is None:
            for name in names:
                if given[name] is not None:
                    raise InputError(f"{name} is for passages that are cut. Give passages too, or leave it out.")
            return None
        length = Length.of(given["min_bytes"], given["min_words"], given["min_chars"])
        set_ = {name: given[name] for name in ("snap", "min_cut", "min_left") if given[name] is not None}
        return cls(length, Cutting(policy, **{"min_cut": length.least_bytes, **set_}))

    def check(self, reader: Reader, spec: Spec, options: RunOptions) -> None:
        """Raise InputError where documents are sets, or texts of the inputs cannot be written back, or read twice.

        SpoolError where the work of another run is in the way, which would be found after the search otherwise.
        """
        if spec.shingle.kind == "item":
            raise InputError("passages are stretches of text, and documents are sets here. Leave --passages out.")
        folder = _folder(options)
        if folder is not None and not options.resume and (folder / MANIFEST).exists():
            raise SpoolError(
                f"{folder} holds the work of an interrupted run. Go on with --resume (resume=True), or delete it."
            )
        if not reader.is_rereadable:
            raise InputError(
                "passages are looked for in a second reading, and an input can be read once. Save it first."
            )
        check_cuttable(reader)

    def facts(self) -> dict[str, Any]:
        """The settings as JSON values."""
        return {f"min_{self.length.kind}s": self.length.units, **asdict(self.cutting)}


@contextmanager
def cut_passages(
    cleaning: Cleaning,
    step: PassageStep,
    in_background: Callable[[Callable[[], DecidedCuts]], DecidedCuts] | None = None,
) -> Iterator[None]:
    """Decide on the cuts of the documents that stay; inside of the block ``cleaning`` has them.

    ``in_background`` does the work elsewhere than in this thread. An interrupted run is gone on with where its workdir
    holds work of this step.
    """
    run = cleaning.run
    reader = _Remaining(cleaning)
    options = replace(run.options, workdir=None, resume=False)
    folder = _folder(run.options)
    if folder is not None:
        options = replace(options, workdir=folder, resume=run.options.resume and (folder / MANIFEST).exists())
    run.space.release_memory()
    budget = replace(run.space.budget, work=int(SHARE * run.space.budget.work))
    how: dict[str, Any] = {
        "spill_to": Path(f"{run.space.path}-passages"),
        "task": {"run": token_of(run.space.identity)},
        "budget": budget,
    }
    with PassageRun(reader, step.length, options, run.observer, Normalize("none"), **how) as work:
        decide = partial(DecidedCuts, work, step.cutting)
        cleaning.cuts = decide() if in_background is None else in_background(decide)
        cleaning.repeated = work.summary()
        yield


def _folder(options: RunOptions) -> Path | None:
    """The workdir of the step, beside that of the run; None where none is named."""
    return None if options.workdir is None else Path(f"{Path(options.workdir).resolve()}-passages")


class _Remaining(Reader):
    """A reader of the documents that a clean-up keeps, but for those of protected inputs, which nothing is done to."""

    def __init__(self, cleaning: Cleaning) -> None:
        reader = cleaning.run.reader
        parts = [part for part in reader.written_parts if part.name not in cleaning.policy.protected]
        super().__init__(parts, reader.sources, reader.options, reader.value)
        self._removed = {part.name: cleaning.removed_from(part.name) for part in parts}

    def tasks(self, threads: int = 1) -> Generator[Task, None, None]:
        with closing(super().tasks(threads)) as tasks:
            for task in tasks:
                done = partial(self._batch, task)
                yield Alone(done) if isinstance(task, Alone) else done

    def _batch(self, task: Task) -> Batch:
        try:
            batch = task()
        except NeedsRoom as exc:
            raise NeedsRoom(Alone(partial(self._batch, exc.task))) from exc
        gone = np.isin(batch.rows, self._removed[batch.source], assume_unique=True)
        return _without(batch, np.flatnonzero(~gone)) if gone.any() else batch


def _without(batch: Batch, at: I64) -> Batch:
    """The documents of a batch at some places."""
    documents = batch.documents
    spans = np.stack([documents.offsets[at], documents.offsets[at + 1], np.zeros_like(at)], axis=1)
    kept = replace(
        batch,
        documents=documents_from(gather(documents.data, spans)),
        rows=batch.rows[at],
        ids=None if batch.ids is None else batch.ids.take(numbers(at)),
        places=None,
        pages={},
        give_back=None,
    )
    if batch.give_back is not None:
        batch.give_back()
    return kept
