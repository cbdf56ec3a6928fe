"""Repeated passages are cut out of the documents: after near-duplicates are removed, or before they are looked for.

By most policies a passage stays at its first place, so the documents that stay are read once more, and what is found
in them depends on these only. By the policy ``none`` a passage goes everywhere. Documents that have nothing else in
common would then be removed for text that is cut in any case, so the cuts come first and what is left is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from neardup.engine.observe import Observer
from neardup.engine.space import Budget
from neardup.errors import InputError, SpoolError
from neardup.inputs.reader import Reader
from neardup.params import RunOptions, Spec
from neardup.session import limit_records, token_of
from neardup.spool.manifest import MANIFEST
from neardup.tasks.dedup.edited import CutReader, EditedReader
from neardup.tasks.dedup.run import Cleaning
from neardup.tasks.repeats.copies import check_cuttable
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.selection import Selection
from neardup.tasks.repeats.settings import UNCHANGED, Cutting, Length
from neardup.tasks.repeats.summary import PassageSummary
from neardup.types import Batch

NONE = "none"
"""The policy by which a passage stays nowhere."""
SHARE = 0.5
"""Of the memory for data, what the step may have: the search for near-duplicates holds its own."""


InBackground = Callable[[Callable[[], DecidedCuts]], DecidedCuts]


def _at_once(decide: Callable[[], DecidedCuts]) -> DecidedCuts:
    return decide()


@dataclass(frozen=True, slots=True)
class PassageStep:
    """What is cut of the documents, and of which passages."""

    length: Length
    cutting: Cutting
    selection: Selection = field(default_factory=Selection)

    @classmethod
    def of(cls, given: dict[str, Any]) -> PassageStep | None:
        """From options by their names; None where ``passages`` is None.

        InputError where one of them cannot be used, or is given without ``passages``.
        """
        policy = given["passages"]
        names = ("min_bytes", "min_words", "min_chars", "min_docs", "snap", "min_cut", "min_left")
        if policy is None:
            for name in names:
                if given[name] is not None:
                    raise InputError(f"{name} is for passages that are cut. Give passages too, or leave it out.")
            return None
        length = Length.of(given["min_bytes"], given["min_words"], given["min_chars"])
        set_ = {name: given[name] for name in ("snap", "min_cut", "min_left") if given[name] is not None}
        cutting = Cutting(policy, **{"min_cut": length.least_bytes, **set_})
        return cls(length, cutting, Selection(min_docs=given["min_docs"]))

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
        return {f"min_{self.length.kind}s": self.length.units, **self.selection.as_dict(), **asdict(self.cutting)}


@contextmanager
def cut_before(
    reader: Reader,
    step: PassageStep | None,
    protected: frozenset[str],
    options: RunOptions,
    observer: Observer,
    *,
    task: dict[str, Any],
    spill_to: Path | None = None,
    in_background: InBackground = _at_once,
) -> Iterator[tuple[Reader, RunOptions]]:
    """Decide on the cuts before the search, if the policy is ``none``; the search compares what is left.

    Yield the reader of the search, which holds half of the memory inside of the block, and the options of its run.
    ``task`` is as for ``Run``. An interrupted run is gone on with.
    """
    if step is None or step.cutting.policy != NONE:
        yield reader, options
        return
    reader.stamps()  # from before the first reading
    budget = Budget.of(options.memory_limit)
    budget = replace(budget, work=int(SHARE * budget.work))
    limit_records(reader, budget, options.workers)
    folder = _folder(options)
    has_search = options.workdir is not None and (Path(options.workdir) / MANIFEST).exists()
    has_cuts = folder is not None and (folder / MANIFEST).exists()
    here = replace(options, workdir=folder, resume=options.resume and (has_cuts or not has_search))
    whole = EditedReader(reader, [part for part in reader.written_parts if part.name not in protected], lambda _: {})
    how: dict[str, Any] = {"spill_to": spill_to and Path(f"{spill_to}-passages"), "task": task, "budget": budget}
    with _decided(whole, step, here, observer, in_background, how) as (cuts, found):
        yield CutReader(reader, cuts, found, budget), replace(options, resume=options.resume and has_search)


@contextmanager
def cut_passages(cleaning: Cleaning, step: PassageStep, in_background: InBackground = _at_once) -> Iterator[None]:
    """Decide on the cuts of the documents that stay, or take those from before the search; inside of the block
    ``cleaning`` has them.

    ``in_background`` does the work elsewhere than in this thread. An interrupted run is gone on with where its workdir
    holds work of this step.
    """
    run = cleaning.run
    if isinstance(run.reader, CutReader):
        cleaning.cuts, cleaning.repeated = run.reader.cuts, run.reader.found
        yield
        return
    parts = [part for part in run.reader.written_parts if part.name not in cleaning.policy.protected]
    removed = {part.name: cleaning.removed_from(part.name) for part in parts}

    def without_removed(batch: Batch) -> dict[int, None]:
        return dict.fromkeys(np.flatnonzero(np.isin(batch.rows, removed[batch.source], assume_unique=True)).tolist())

    options = replace(run.options, workdir=None, resume=False)
    folder = _folder(run.options)
    if folder is not None:
        options = replace(options, workdir=folder, resume=run.options.resume and (folder / MANIFEST).exists())
    run.space.release_memory()
    budget = replace(run.space.budget, work=int(SHARE * run.space.budget.work))
    how: dict[str, Any] = {"spill_to": Path(f"{run.space.path}-passages"), "budget": budget}
    how["task"] = {"run": token_of(run.space.identity)}
    remaining = EditedReader(run.reader, parts, without_removed)
    with _decided(remaining, step, options, run.observer, in_background, how) as (cleaning.cuts, cleaning.repeated):
        yield


@contextmanager
def _decided(
    reader: Reader, step: PassageStep, options: RunOptions, observer: Observer, in_background: InBackground, how: Any
) -> Iterator[tuple[DecidedCuts, PassageSummary]]:
    """Find passages and decide on their cuts; ``how``: further arguments of ``PassageRun``."""
    with PassageRun(reader, step.length, options, observer, UNCHANGED, **how, selection=step.selection) as work:
        yield in_background(lambda: DecidedCuts(work, step.cutting)), work.summary()


def _folder(options: RunOptions) -> Path | None:
    """The workdir of the step, beside that of the run; None where none is named."""
    return None if options.workdir is None else Path(f"{Path(options.workdir).resolve()}-passages")
