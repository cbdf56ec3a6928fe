"""What the commands of an index share: their options, and telling what was done."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import neardup
from neardup import params
from neardup.cli import WRITTEN, options
from neardup.cli.forms import Voice
from neardup.cli.running import Outcome, Stoppable
from neardup.cli.summary import labelled, left_out, listed_faults, whole_spec
from neardup.errors import InputError
from neardup.shown import counted, duration, similarity_text

index_path = click.argument("index", metavar="INDEX", type=click.Path(path_type=Path))

making = options.together(
    options.preset,
    options.threshold,
    options.recall,
    options.shingle,
    options.normalize,
    options.slots,
    options.bands,
    options.seed,
)
"""What an index is made for; fixed for its life."""

on_duplicate = options.defaulted(
    "--on-duplicate",
    type=click.Choice(params.ON_DUPLICATE),
    default="error",
    help="What is done with a document whose id is in the index already: end the command with a message, leave it"
    " out, or replace the one that is there.",
)

missing = options.defaulted(
    "--missing",
    type=click.Choice(params.ON_MISSING),
    default="error",
    help="What is done with an id that is not there: end the command with a message before anything is removed, or"
    " leave it out and count it.",
)

near = click.option(
    "--threshold",
    "-t",
    type=options.Checked("number", params.check_threshold),
    metavar="T",
    help="Similarity from which two documents are near-duplicates; not below that of the index."
    "  [default: that of the index]",
)

column = click.option(
    "--column",
    metavar="COLUMN",
    shell_complete=options.complete_columns,
    help="Column or field that is stored beside each text and comes back with hits; several with commas between."
    "  [default: none]",
)


def _check_equation(value: Any) -> str:
    if "=" not in (text := str(value)):
        raise InputError(f"{text} has no =. Give NAME=VALUE.")
    return text


def _parse_where(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the columns of ``--where``; a value that is not JSON is a text."""
    found: dict[str, Any] = {}
    for each in dict.fromkeys(given):
        name, _, value = each.partition("=")
        if name in found:
            raise click.BadParameter(f"{name} is given twice. Give NAME=VALUE once for each column.")
        try:
            found[name] = json.loads(value, parse_constant=str)
        except (ValueError, RecursionError):
            found[name] = value
    return found or None


where = click.option(
    "--where",
    type=options.Checked("filter", _check_equation),
    multiple=True,
    callback=_parse_where,
    metavar="NAME=VALUE",
    help="Only documents that have this column with this value; can be given again, and all must hold. VALUE is read as"
    " JSON if it is JSON (1, true, null, '\"1\"'), else as a text.  [default: none]",
)

json_answer = click.option("--json", is_flag=True, help="Print the answer on stdout as one JSON object.")


top = options.defaulted(
    "--top",
    type=options.Checked("number", options.parse_top),
    metavar="N",
    default="10",
    help="Documents that are listed for each query, the most similar first; all lists every one from the threshold on.",
)


def note_done(ctx: click.Context, number: int, what: str) -> None:
    """Note how many documents are added or removed for good, for the message on Ctrl-C."""
    ctx.meta[WRITTEN] = [f"{counted(number, 'document')} {what}"]


def watched(
    ctx: click.Context,
    work: Callable[[Stoppable], Outcome],
    *,
    quiet: bool = True,
    adding_to: neardup.Index | None = None,
) -> Outcome:
    """Do ``work`` in the background, so that Ctrl-C is heard at once, and show its progress unless ``quiet``.

    The new documents of the index ``adding_to`` are counted, for the message on Ctrl-C.
    """
    from neardup.progress import observer

    with observer(quiet=quiet) as watching:
        if adding_to is None:
            stoppable = Stoppable(ctx, watching)
        else:
            before = len(adding_to)
            stoppable = Stoppable(ctx, watching, lambda: note_done(ctx, len(adding_to) - before, "added"))
        return stoppable.in_background(lambda: work(stoppable))


def tell(voice: Voice, summary: Mapping[str, Any], rows: Sequence[tuple[str, str]], closing: Iterable[str]) -> None:
    """Say what was done: as JSON on stdout when asked for, else as ``rows`` on stderr; the closing line always."""
    voice.tell(summary, labelled(rows), f"neardup: {', '.join(closing)}")


@dataclass(frozen=True, slots=True)
class Done:
    """How large an index is when a command is done with it, and when that began."""

    documents: int
    spec: params.Spec
    begin: float
    """As of ``time.perf_counter``."""

    def tell(
        self,
        voice: Voice,
        summary: Mapping[str, Any],
        rows: Sequence[tuple[str, str]],
        closing: Sequence[str],
        *,
        size: str | None = None,
        files: Sequence[str] = (),
        details: Sequence[tuple[str, str]] | None = None,
        last: Mapping[str, Any] | None = None,
        faults: Sequence[object] = (),
    ) -> None:
        """Say what was done, and behind each part how large the index is (``size``), the time taken, and the spec.

        ``details`` are the last rows, in place of the whole spec with ``--verbose``; ``last`` ends the summary.
        """
        took, spec, documents = time.perf_counter() - self.begin, self.spec, self.documents
        if details is None:
            details = [("spec", spec.id), *whole_spec(spec.as_dict(), verbose=True)] if voice.verbose else []
        facts = {"documents": documents, "seconds": round(took, 4), "spec_id": spec.id}
        in_the_index = [("in the index", counted(documents, "document")), ("time", duration(took))]
        written = [("written", ", ".join(files))] if files else []
        bad = max(summary.get("bad", 0), len(faults)) if faults else 0
        lines = labelled([*rows, *in_the_index, *written, *details]) + listed_faults(bad, faults)
        words = [*closing, size or f"{documents:,} in the index", duration(took), f"spec {spec.id}"]
        voice.tell({**summary, **facts, **(last or {})}, lines, f"neardup: {', '.join(words)}")

    def tell_added(
        self,
        voice: Voice,
        added: neardup.Added,
        summary: Mapping[str, Any] | None = None,
        details: Sequence[tuple[str, str]] | None = None,
    ) -> None:
        """Tell what became of documents that were to be added."""
        words = [f"{added.added:,} added", f"{added.replaced:,} replaced", f"{added.skipped:,} skipped"]
        rows = [
            ("added", f"{added.added:,}, {added.replaced:,} replaced, {added.skipped:,} skipped"),
            ("of these", f"{added.empty:,} empty, {added.short:,} shorter than one shingle"),
            *left_out(added.bad, added.blank, added.passed_over, added.columns),
        ]
        self.tell(voice, summary or added.as_dict(), rows, words, details=details, faults=added.faults)


def spec_rows(info: neardup.IndexInfo, *, verbose: bool) -> list[tuple[str, str]]:
    """What an index was made for; with ``verbose`` the whole spec."""
    return [
        ("threshold", f"{info.threshold:g}"),
        ("recall", f"{similarity_text(info.recall, 0.0)} promised at the threshold ({info.bands} bands)"),
        ("shingles", f"{info.shingle}, normalised by {info.normalize}"),
        ("spec", info.spec_id),
        *whole_spec(info.spec, verbose=verbose),
    ]
