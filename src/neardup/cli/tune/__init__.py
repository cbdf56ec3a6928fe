"""``neardup tune``: settings found by asking which pairs are duplicates.

    terminal, page, program  who is asked
    differing                words that only one of two texts has
    text                     what was found, for people and as a file for --config

Which pairs are asked about and what follows is in ``neardup.tasks.tune``.
"""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import WRITTEN, forms, options, running
from neardup.cli.options import STDOUT
from neardup.cli.voice import columns, say, usage_errors
from neardup.inputs.addresses import is_remote
from neardup.params import DEFAULT_SEED, InputOptions, RunOptions, SearchOptions
from neardup.shown import counted, duration

if TYPE_CHECKING:
    from neardup.inputs.reader import Reader
    from neardup.tasks.plan.outcome import Plan
    from neardup.tasks.tune.answers import AnswerFile, Labels
    from neardup.tasks.tune.asking import Asker
    from neardup.tasks.tune.outcome import Tuned
    from neardup.tasks.tune.session import Session

BUDGET = 40
TERMINAL, PAGE = "terminal", "page"


@forms.command(
    "tune",
    "tune docs.jsonl -o tuned.toml",
    "tune docs.jsonl -o tuned.toml --labels judged.csv --ask 'python judge.py'",
)
@options.inputs
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    help="TOML file for the settings, which every command takes with --config.",
)
@options.number(
    "--budget",
    (0, 10_000),
    default=BUDGET,
    help="Questions at most, those of earlier runs among them; fewer when it is sure. 0: propose settings from the"
    " texts alone.",
)
@click.option(
    "--ask",
    metavar="WHOM",
    help="terminal: here, side by side, by keys. page: in a browser on this machine. Else a program with its arguments,"
    " which gets pairs as JSON lines (id_a, id_b, text_a, text_b) on its stdin, one at a time, and answers each with a"
    " line: yes, no or skip.  [default: terminal; nobody with --labels]",
)
@click.option(
    "--labels",
    metavar="FILE",
    help="Labels that exist: a .csv or .jsonl file with id_a, id_b and label (yes or no, 1 or 0). They are no"
    " questions.  [default: none]",
)
@click.option(
    "--answers",
    metavar="FILE",
    help="File that keeps the answers, one JSON line each; a later run goes on from it.  [default: beside the output,"
    " NAME.answers.jsonl]",
)
@options.number(
    "--seed",
    (0, 2**63 - 1),
    default=DEFAULT_SEED,
    help="Seed that decides which texts and pairs are drawn.",
)
@click.option("--json", is_flag=True, help="Print what was found as one JSON object on stdout.")
@options.reading
@options.threads
@options.memory
@options.voices
def tune(
    *,
    ctx: click.Context,
    inputs: tuple[Path, ...],
    output: str,
    budget: int,
    ask: str | None,
    labels: str | None,
    answers: str | None,
    seed: int,
    reading: InputOptions,
    run: RunOptions,
    voice: forms.Voice,
) -> None:
    """Find settings by asking which pairs are duplicates.

    INPUT is what `neardup find` reads; it is read once, and once more to predict what a run will cost. Pairs are shown
    on which the settings disagree, each answer decides what is asked next, and shingle, normalisation and threshold of
    the highest expected F1 are written, with what to expect of them: precision, recall and F1 with intervals of 95 %.

    What was found goes to stdout; questions and everything else to stderr. Answers are kept as they come, so that a
    run that is stopped can be gone on with.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    from neardup.cli.targets import check_targets
    from neardup.cli.tune.text import not_used, settings_text, tune_lines
    from neardup.outputs.atomic import AtomicFiles

    begin = time.perf_counter()
    if STDOUT in (output, answers):
        raise click.UsageError("stdout takes what was found. Give -o and --answers the names of files.")
    kept = answers if answers is not None else default_answers(output)
    if is_remote(kept):
        raise click.UsageError(f"{kept} is an address, and answers are kept in a file here. Give --answers FILE.")
    whom = ask if ask is not None or labels is not None or budget == 0 else TERMINAL
    _check_whom(whom, budget)
    check_targets([*inputs, *([Path(labels)] if labels is not None else [])], [output, kept], glob=reading.glob)
    from neardup.inputs.reader import open_inputs  # imported after the checks, because these load kernels
    from neardup.tasks.tune.answers import AnswerFile, Labels

    with usage_errors():
        known = Labels.of(labels)
    earlier = AnswerFile.of(kept)
    reader = open_inputs(list(inputs), reading)
    session = _open(ctx, reader, seed, budget, known, earlier, run, quiet=voice.quiet)
    if not voice.quiet and session.asked:
        say(f"{counted(session.asked, 'answer')} of earlier runs in {kept}")
    if not voice.quiet and whom is not None:
        for each in not_used(session):
            say(f"not used: {each}")
    try:
        _hold(ctx, session, whom, kept)
    finally:
        earlier.close()
    tuned = session.run.result()
    with AtomicFiles() as files:
        files.open(output).write(settings_text(tuned, session.tally, inputs=list(map(str, inputs))).encode())
    written = [output, *([kept] if Path(kept).exists() else [])]
    ctx.meta[WRITTEN] = written
    plan = _plan(ctx, inputs, reading, run, tuned, reader, quiet=voice.quiet)
    lines = tune_lines(
        tuned,
        session,
        inputs=list(map(str, inputs)),
        output=output,
        plan=plan,
        width=columns(sys.stdout),
    )
    cost = None if plan is None or plan.chosen.estimate is None else plan.chosen.as_dict()
    voice.answer({**tuned.as_dict(), "answers": asdict(session.tally), "cost": cost, "written": written}, lines)
    if not voice.quiet:
        spent = duration(time.perf_counter() - begin)
        say(f"neardup: settings in {output}, {counted(session.asked, 'question')}, {spent}")


def default_answers(output: str) -> str:
    """The file of answers beside an output.

    >>> default_answers("work/tuned.toml")
    'work/tuned.answers.jsonl'
    """
    return f"{output.removesuffix('.toml')}.answers.jsonl"


def _check_whom(whom: str | None, budget: int) -> None:
    """Raise UsageError where nobody can be asked in this way."""
    if budget == 0 or whom is None:
        return
    if whom == TERMINAL:
        from neardup.cli.tune.terminal import check_terminal

        check_terminal()
    elif whom != PAGE:
        from neardup.cli.tune.program import check_program

        with usage_errors():
            check_program(whom)


def _open(
    ctx: click.Context,
    reader: Reader,
    seed: int,
    budget: int,
    labels: Labels,
    answers: AnswerFile,
    run: RunOptions,
    *,
    quiet: bool,
) -> Session:
    """Read everything, find pairs, and take what is known of them."""
    from neardup.tasks.tune.session import Session
    from neardup.tasks.tune.tuning_run import TuningRun

    def work() -> Session:
        told = {*labels.said, *answers.told}
        made = TuningRun.of(reader, run, seed=seed, budget=budget, observer=observer, told=told)
        return Session.of(made, labels=labels, answers=answers, budget=budget)

    with running.stoppable(ctx, quiet=quiet) as observer:
        return observer.in_background(work)


def _hold(ctx: click.Context, session: Session, whom: str | None, kept: str) -> None:
    """Ask, if somebody is to be asked and there is anything to ask."""
    if whom is None or session.next() is None:
        return
    with _asker(whom) as asker:
        if whom == PAGE:
            say(f"open {asker.address} in a browser on this machine")  # type: ignore[attr-defined]
        try:
            session.hold(asker)
        except BaseException:
            if Path(kept).exists():
                ctx.meta[WRITTEN] = [kept]
                say(f"{counted(session.asked, 'answer')} kept in {kept}: the same command goes on from there")
            raise


def _asker(whom: str) -> AbstractContextManager[Asker]:
    if whom == TERMINAL:
        from neardup.cli.tune.terminal import Terminal

        return nullcontext(Terminal())
    if whom == PAGE:
        from neardup.cli.tune.page import Page

        return Page()
    from neardup.cli.tune.program import Program

    return Program(whom)


def _plan(
    ctx: click.Context,
    inputs: tuple[Path, ...],
    reading: InputOptions,
    run: RunOptions,
    tuned: Tuned,
    reader: Reader,
    *,
    quiet: bool,
) -> Plan | None:
    """Predict the cost of a run with the settings; None if the inputs cannot be read again."""
    if not reader.is_lasting or not tuned.documents:
        return None
    from neardup import tuning
    from neardup.inputs.reader import open_inputs
    from neardup.tasks.plan.make import make_plan

    search = SearchOptions.of(dict[str, Any](tuned.options))
    spec = tuning.make_spec(search)
    how: dict[str, Any] = {"target": search.recall, "open_slots": (spec.slots,)}
    with running.stoppable(ctx, quiet=quiet) as observer:
        return observer.in_background(
            lambda: make_plan(open_inputs(list(inputs), reading), spec, run, observer=observer, **how)
        )
