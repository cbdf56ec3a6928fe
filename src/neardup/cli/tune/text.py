"""What a tuning run found, as text for people and as a file for --config. It decides nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from neardup._version import __version__
from neardup.cli.config import as_toml
from neardup.cli.pair_table import one_line
from neardup.cli.summary import LABEL_WIDTH, labelled, left_out
from neardup.params import as_options
from neardup.shown import counted, duration, megabytes, shown, similarity_text
from neardup.tasks.tune.estimate import SEPARATING
from neardup.tasks.tune.sampling import LONGEST

if TYPE_CHECKING:
    from neardup.tasks.plan.outcome import Plan
    from neardup.tasks.tune.estimate import Expectation
    from neardup.tasks.tune.outcome import Example, Tuned
    from neardup.tasks.tune.session import Session, Tally

WIDTH = 100
"""Columns of an example where stdout is no terminal."""


def tune_lines(
    tuned: Tuned, session: Session, *, inputs: Sequence[str], output: str, plan: Plan | None, width: int | None
) -> list[str]:
    """What was found, a line an item, the command to run last."""
    tally, names = session.tally, session.run.names
    looked = counted(tuned.texts, "distinct text")
    rows = [
        ("documents", f"{tuned.documents:,}; questions are about {looked}, {counted(tuned.pairs, 'pair')} of them"),
        *left_out(names.bad, names.blank, ()),
        *_too_long(tuned.too_long),
        *_answers(tally, tuned),
        *(("not used", each) for each in not_used(session)),
        ("settings", as_options(tuned.options) + (f" (--for {tuned.preset})" if tuned.preset else "")),
        *_expected(tuned, tally),
        *_cost(plan),
    ]
    examples = [
        *_examples("just above", tuned.above, tuned, width),
        *_examples("just below", tuned.below, tuned, width),
    ]
    command = shlex.join(["neardup", "find", *inputs, "--config", output])
    return [*labelled(rows), *examples, "", "to run it:", f"  {command}"]


def _too_long(count: int) -> list[tuple[str, str]]:
    if not count:
        return []
    return [("too long", f"{counted(count, 'document')} of more than {megabytes(LONGEST)}: no question is about them")]


def _answers(tally: Tally, tuned: Tuned) -> list[tuple[str, str]]:
    told = tally.yes + tally.no + tally.skipped
    if not told:
        parts = ["none" if tuned.pairs else "none: there are no two texts to ask about"]
    else:
        unsure = f", {tally.skipped:,} not sure" if tally.skipped else ""
        parts = [f"{told:,}: {counted(tally.yes, 'duplicate')}, {tally.no:,} not{unsure}"]
    parts += [f"{tally.labels:,} of them labels"] if tally.labels else []
    parts += [f"{tally.earlier:,} of earlier runs"] if tally.earlier else []
    return [("answers", "; ".join(parts))]


def not_used(session: Session) -> list[str]:
    """What of labels and earlier answers could not be used, and why."""
    tally = session.tally
    such_as = f", such as {shown(session.stranger)}" if session.stranger is not None else ""
    gone = [
        (tally.labels_gone, "label", f"with an id that is not in the inputs{such_as}"),
        (tally.labels_contradicting, "pair", "labelled both ways"),
        (tally.labels_same, "label", "of two documents with the same text, which every setting finds"),
        (tally.labels_repeated, "label", "of copies of a pair that has one"),
        (tally.labels_aside, "label", "of pairs that are unlike under every setting, or whose texts were not kept"),
        (tally.earlier_gone, "earlier answer", f"with an id that is not in the inputs{such_as}"),
        (tally.earlier_aside, "earlier answer", "of pairs that no question is about now"),
    ]
    return [f"{counted(count, what)} {why}" for count, what, why in gone if count]


def _expected(tuned: Tuned, tally: Tally) -> list[tuple[str, str]]:
    proposal = tuned.proposal
    if tuned.expected is None:
        sure = "this is sure" if proposal.is_sure else f"this is not sure: {proposal.doubt}"
        return [("proposed", f"without an answer, because {proposal.reason}"), ("", sure)]
    rows = [("expected", _figures(tuned.expected)), ("", f"about {tuned.expected.found:,.0f} pairs found")]
    if tuned.default is not None and tuned.default.setting != tuned.expected.setting:
        rows.append(("the default", _figures(tuned.default)))
    if not tally.yes or not tally.no:
        rows.append(("beware", f"no answer was {'yes' if not tally.yes else 'no'}, so nothing tells the two apart"))
    elif (doubt := _doubt(tuned)) is not None:
        rows.append(("beware", doubt))
    return rows


def _doubt(tuned: Tuned) -> str | None:
    """Why the settings are not to be relied on, where they are not."""
    if tuned.is_cautious:
        return "a lower threshold may be better, but too few answers are near it; give more of them (--budget)"
    if tuned.expected is None or tuned.is_separating:
        return None
    if tuned.expected.f1.high >= SEPARATING:
        return f"the answers leave open whether any setting reaches F1 {SEPARATING:g}; give more of them (--budget)"
    return (
        f"no setting of wording separates what was answered: none is expected to reach F1 {SEPARATING:g}. What makes a"
        " duplicate here is not how much of its wording two texts share"
    )


def _figures(found: Expectation) -> str:
    named = (("precision", found.precision), ("recall", found.recall), ("F1", found.f1))
    return ", ".join(f"{name} {one.value:.2f} ({one.low:.2f} to {one.high:.2f})" for name, one in named)


def _cost(plan: Plan | None) -> list[tuple[str, str]]:
    if plan is None or plan.chosen.estimate is None:
        return []
    cost = plan.chosen.estimate
    return [("a run", f"about {duration(cost.total_seconds)} and {megabytes(cost.memory)}, as neardup plan predicts")]


def _examples(name: str, examples: Sequence[Example], tuned: Tuned, width: int | None) -> list[str]:
    gap = " " * LABEL_WIDTH
    lines = []
    for label, each in zip([name, *[""] * len(examples)], examples, strict=False):
        similarity = similarity_text(each.similarity, tuned.options["threshold"])
        texts = (one_line(shown(text), (width or WIDTH) - len(gap)) for text in (each.text_a, each.text_b))
        head = f"{similarity}  {shown(each.id_a)} and {shown(each.id_b)}"
        lines += ["", f"{label:<{LABEL_WIDTH}}{head}", *(gap + text for text in texts)]
    return lines


def settings_text(tuned: Tuned, tally: Tally, *, inputs: Sequence[str]) -> str:
    """The settings as a TOML file that every command takes with --config."""
    head = [f"Settings of neardup {__version__} tune for {', '.join(map(shown, inputs))}."]
    if tuned.expected is None:
        sure = "sure" if tuned.proposal.is_sure else f"not sure: {tuned.proposal.doubt}"
        head.append(f"Proposed without an answer, because {tuned.proposal.reason}; {sure}.")
    else:
        head.append(f"From {counted(tally.yes + tally.no, 'answer')}. Expected, with 95 % intervals:")
        head.append(f"{_figures(tuned.expected)}.")
    if (doubt := _doubt(tuned)) is not None:
        head.append(f"Beware: {doubt}.")
    head.append("Use: neardup find INPUT --config THIS, and so with dedup, report, audit, plan and index build.")
    keys = [f"{name.replace('_', '-')} = {as_toml(value)}" for name, value in tuned.options.items()]
    return "\n".join([*(f"# {line}" for line in head), *keys, ""])
