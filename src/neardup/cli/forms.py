"""The options of a command as the forms that it works with, what excludes each other, and how it says what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from neardup.cli.options import Command
from neardup.cli.voice import print_json, say, stdout_errors
from neardup.kernels.announce import told
from neardup.params import (
    AUTO,
    CONTAINMENT,
    DEFAULT_SKETCH,
    Bands,
    InputOptions,
    ListOptions,
    Options,
    RunOptions,
    SearchOptions,
)


@dataclass(frozen=True, slots=True)
class Voice(Options):
    """How a command says what it did: on stdout as JSON, or on stderr to a person, in few lines or in many."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise click.UsageError("--quiet and --verbose exclude each other. Give one of them.")

    def answer(self, answer: Mapping[str, Any] | str, lines: Sequence[str]) -> None:
        """Print on stdout what was asked for: as JSON where that is wanted, else as ``lines``."""
        with stdout_errors():
            if self.json:
                print_json(answer)
            else:
                say(*lines, err=False)

    def tell(self, summary: Mapping[str, Any], lines: Sequence[str], closing: str, *, alarm: str | None = None) -> None:
        """Say what was done: ``summary`` on stdout with ``--json``, else ``lines`` on stderr; ``closing`` unless quiet.

        A line that begins with ``alarm`` is red.
        """
        if self.json:
            with stdout_errors():
                print_json(summary)
        if self.quiet:
            return
        if not self.json:
            for line in lines:
                say(line, fg="red" if alarm is not None and line.startswith(alarm) else None)
        say(closing)


FORMS: dict[str, type[Options]] = {
    "voice": Voice,
    "search": SearchOptions,
    "reading": InputOptions,
    "listing": ListOptions,
    "run": RunOptions,
}
"""The parameters of a command that stand for several options each."""


def command(name: str, *examples: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a function a command, which gets its options as the forms that it has parameters for.

    A form has those of its fields that are options of the command; the others are as by default. The context goes to
    a parameter ``ctx``, where there is one. ``examples`` of its use, without the word neardup, end its help.
    """

    def decorate(function: Callable[..., None]) -> click.Command:
        asked = {name for name, one in signature(function).parameters.items() if one.kind is Parameter.KEYWORD_ONLY}
        forms = {name: form for name, form in FORMS.items() if name in asked}
        fields = {field for form in forms.values() for field in form.names()}

        @click.command(name, cls=Command, epilog="\n  neardup ".join(("\b\nExamples:", *examples)))
        @click.pass_context
        @wraps(function)
        def call(ctx: click.Context, /, **given: Any) -> None:
            made: dict[str, Any] = {name: form.of(given) for name, form in forms.items()}
            if "search" in made:
                _check_search(made["search"], given)
            if "ctx" in asked:
                made["ctx"] = ctx
            with told(_to_nobody) if given.get("quiet") else nullcontext():
                function(**{name: value for name, value in given.items() if name not in fields}, **made)

        return call

    return decorate


def _to_nobody(message: str) -> None: ...


def _check_search(search: SearchOptions, given: Mapping[str, Any]) -> None:
    """Raise UsageError for options of a search that exclude each other, or others of its command."""
    against: Sequence[Path] = given.get("against", ())
    check_banding(search.slots, search.bands)
    is_containment = search.measure == CONTAINMENT
    if is_containment:
        _check_no_signatures(search, "--measure containment", "a join of its own")
    elif search.exact is True or against:
        _check_no_signatures(search, "--against" if against else "--exact", "the exact join")
    if against and search.collapse_exact:
        raise click.UsageError("--collapse-exact is for one collection, --against compares two. Give one of them.")
    if not is_containment:
        return
    if search.exact == AUTO:
        raise click.UsageError("--measure containment is always exact: nothing is to be decided. Leave --exact out.")
    if given.get("audit") is not None:
        raise click.UsageError("--measure containment misses no pair: there is nothing to measure. Leave --audit out.")


def typed(ctx: click.Context, names: Iterable[str]) -> Iterator[str]:
    """Those of the parameters that were given."""
    return (name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE)


def check_banding(slots: int | None, bands: str | Bands | None) -> None:
    """Raise UsageError when the bands need more slots than there are to be."""
    if slots is not None and bands is not None and (needed := Bands.parse(bands).slots) > slots:
        raise click.UsageError(
            f"--bands {bands} needs {needed} slots and --slots is {slots}. Leave --slots out, or raise it."
        )


def _check_no_signatures(search: SearchOptions, asked: str, how: str) -> None:
    """Raise UsageError when options of banding are given for a join, which has none."""
    for name in ("slots", "bands"):
        if getattr(search, name) is not None:
            raise click.UsageError(f"{asked} takes {how}, which has no {name}. Leave --{name} out.")
    if search.sketch != DEFAULT_SKETCH:
        raise click.UsageError(f"{asked} takes {how}, which has no sketch. Leave --sketch out.")
