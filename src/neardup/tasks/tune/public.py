"""Settings by asking which pairs are duplicates."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from neardup import params
from neardup.calls import hinted
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.params import InputOptions, RunOptions
from neardup.tasks.tune.answers import AnswerFile, Labels
from neardup.tasks.tune.asking import Function
from neardup.tasks.tune.outcome import AskedPair, Tuned
from neardup.tasks.tune.session import Session
from neardup.tasks.tune.tuning_run import TuningRun
from neardup.watching import watched

BUDGET = 40


@hinted
@watched
def tune(
    inputs: Any,
    *,
    ask: Callable[[AskedPair], bool | str | None] | None = None,
    budget: int = BUDGET,
    labels: Any = None,
    answers: str | os.PathLike[str] | None = None,
    seed: int = params.DEFAULT_SEED,
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
    observer: Observer | None = None,
    progress: bool = False,
) -> Tuned:
    """Find the settings under which the pairs that you call duplicates are found, and others are not.

    Everything is read once. Pairs are looked for among a sample of the texts, under 24 settings of shingle and
    normalisation; ``ask`` is called with one pair after the other, and each answer changes which is asked next. The
    setting and threshold of the highest expected F1 are chosen. A few wrong answers do not matter. The same inputs,
    seed and answers give the same result, for any ``threads`` and ``memory``.

    Args:
        inputs: as for ``find``.
        ask: called with an ``AskedPair`` (``id_a``, ``id_b``, ``text_a``, ``text_b``, ``number``, ``budget``); returns
            True for duplicates, False for others, None where nobody can tell; or one of the words yes, no, skip, undo
            (take the answer before back) and stop. Without it, and without labels or earlier answers, a preset is
            proposed from the texts alone.
        budget: questions at most, those of earlier runs among them; fewer are asked when it is sure.
        labels: what is known already: a .csv or .jsonl file with id_a, id_b and label (yes or no, 1 or 0), or rows
            of (id_a, id_b, label). They are no questions.
        answers: file that keeps the answers, one JSON line each, as they come; a later run goes on from it.
        seed: which texts are drawn and which questions.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block, memory, observer, progress: as for
            ``find``.

    Returns:
        Tuned with ``options`` for ``find`` and others, ``expected`` (precision, recall and F1 with intervals of 95 %),
        ``default`` (the same of the default), ``is_separating``, ``answers``, and examples ``above`` and ``below``.

    Raises:
        InputError: an option, a file or a record cannot be used, or ``ask`` returns something else.

    >>> import neardup
    >>> shops, places = ("baker", "Baker,", "butcher"), ("high", "low")
    >>> lines = [f"{shop} of the {place} street" for shop in shops for place in places]
    >>> found = neardup.tune(lines, ask=lambda pair: pair.text_a.lower()[:4] == pair.text_b.lower()[:4], budget=10)
    >>> sorted(found.options)[:2]
    ['normalize', 'shingle']
    """
    given = locals()
    if budget < 0:
        raise InputError(f"budget is {budget}. Give a number of questions of 0 or more.")
    if ask is not None and not callable(ask):
        raise InputError(f"ask is {ask!r}; it must be a function that takes a pair and returns True, False or None.")
    known, kept = Labels.of(labels), AnswerFile.of(answers)
    reader = open_inputs(inputs, InputOptions.of(given))
    told = {*known.said, *kept.told}
    run = TuningRun.of(reader, RunOptions.of(given), seed=seed, budget=budget, observer=observer or Silent(), told=told)
    session = Session.of(run, labels=known, answers=kept, budget=budget)
    if ask is not None:
        with closing(kept):
            session.hold(Function(ask))
    return run.result()
