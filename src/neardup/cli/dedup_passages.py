"""The options of ``neardup dedup`` for passages that repeat inside the documents that stay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import forms, options
from neardup.cli.passages_options import POLICIES, SNAPS
from neardup.cli.voice import usage_errors

if TYPE_CHECKING:
    from pathlib import Path

    from neardup.cli.running import Stoppable
    from neardup.inputs.reader import Reader
    from neardup.params import RunOptions, Spec
    from neardup.tasks.dedup.passage_step import PassageStep
    from neardup.tasks.dedup.run import Cleaning

OWN = ("min_bytes", "min_words", "min_chars", "min_docs", "snap", "min_cut", "min_left", "cuts")
"""Options that are for ``--passages`` only."""

asked = options.together(
    click.option(
        "--passages",
        type=click.Choice(POLICIES),
        help="Also cut the passages that repeat inside documents, as neardup passages --cut does. first: of the"
        " documents that stay; each passage is left whole at its first place. none: cut them everywhere first, and"
        " compare what is left. Documents of --protect take no part.  [default: texts stay as they are]",
    ),
    options.number(
        "--min-bytes",
        (16, 1 << 16),
        help="With --passages: bytes of the shortest passage, in UTF-8.  [default: 100, without the next two]",
    ),
    options.number("--min-words", (4, 1 << 16), help="With --passages: words instead.  [default: bytes]"),
    options.number("--min-chars", (16, 1 << 16), help="With --passages: characters instead.  [default: bytes]"),
    options.number(
        "--min-docs",
        (1, None),
        help="With --passages: cut only what stands in so many documents or more.  [default: 1]",
    ),
    click.option(
        "--snap",
        type=click.Choice(SNAPS),
        help="With --passages: to what a cut is moved inward, so that no word, line or sentence is cut in two. "
        " [default: word]",
    ),
    options.number(
        "--min-cut",
        (0, None),
        help="With --passages: bytes of the shortest cut.  [default: those of the shortest passage]",
    ),
    options.number(
        "--min-left",
        (0, None),
        help="With --passages: the fewest characters that a document that was cut must have left. With fewer it is left"
        " out, and --cuts lists it. With 0 documents may be emptied.  [default: 1; under none a document of which"
        " nothing but white space would be left is not cut]",
    ),
    click.option(
        "--cuts",
        metavar="FILE",
        help="With --passages: file that says of each document that was cut its id, cut_bytes, the characters left, and"
        " whether it was kept.  [default: none is written]",
    ),
)


@dataclass(slots=True)
class AskedPassages:
    """What was asked of passages, checked as far as the options tell."""

    given: dict[str, Any]
    """The options of ``asked``, by name."""
    step: PassageStep | None = field(init=False, default=None)

    def check(self, ctx: click.Context, *, annotate: bool, engine: str, local: str) -> None:
        """Raise UsageError for options that make no sense with others."""
        if self.given["passages"] is None:
            for name in forms.typed(ctx, OWN):
                raise click.UsageError(
                    f"--{name.replace('_', '-')} is for passages that are cut. Give --passages too, or leave it out."
                )
            return
        if annotate:
            raise click.UsageError("--annotate copies everything as it is. Leave --passages out.")
        if engine != local:
            raise click.UsageError(f"--passages is for --engine {local}. Leave --engine out, or --passages.")

    def open(self, reader: Reader, spec: Spec, run: RunOptions) -> PassageStep | None:
        """The step of the run; InputError where texts of the inputs cannot be written back.

        SpoolError where the work of another run is in its place.
        """
        from neardup.tasks.dedup.passage_step import PassageStep

        with usage_errors():
            self.step = PassageStep.of(self.given)
        if self.step is not None:
            self.step.check(reader, spec, run)
        return self.step

    @contextmanager
    def cut_before(
        self, reader: Reader, protected: frozenset[str], run: RunOptions, observer: Stoppable, place: Path, task: Any
    ) -> Iterator[tuple[Reader, RunOptions]]:
        """The reader and the options of the search: if the policy is none, of what cuts leave of the documents."""
        from neardup.tasks.dedup.passage_step import cut_before

        how: dict[str, Any] = {"task": task, "spill_to": place, "in_background": observer.in_background}
        with cut_before(reader, self.step, protected, run, observer, **how) as opened:
            yield opened

    @contextmanager
    def decided(self, cleaning: Cleaning, observer: Stoppable) -> Iterator[None]:
        """Inside of the block the clean-up has its cuts."""
        from neardup.tasks.dedup.passage_step import cut_passages

        if self.step is None:
            yield
            return
        with cut_passages(cleaning, self.step, observer.in_background):
            yield

    @staticmethod
    def rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
        """What the summary for a person says of them."""
        from neardup.cli.passages_text import step_rows

        found = summary["passages"]
        return [] if found is None else step_rows(found, is_spared=summary["dry_run"])
