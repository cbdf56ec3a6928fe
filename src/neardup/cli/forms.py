"""The options of a command as the forms that it works with, and ``Voice``: how it says what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from neardup.cli.checks import check_voices, stdout_errors
from neardup.cli.voice import print_json, say
from neardup.params import InputOptions, Options, RunOptions, SearchOptions

__all__ = ["Voice", "with_forms"]


@dataclass(frozen=True, slots=True)
class Voice(Options):
    """How a command says what it did: on stdout as JSON, or on stderr to a person, in few lines or in many."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        check_voices(quiet=self.quiet, verbose=self.verbose)

    def answer(self, answer: Mapping[str, Any] | str, lines: Sequence[str]) -> None:
        """Print on stdout what was asked for: as JSON where that is wanted, else as ``lines``."""
        with stdout_errors():
            if self.json:
                print_json(answer)
            else:
                say(*lines, err=False)

    def tell(self, summary: Mapping[str, Any], lines: Sequence[str], closing: str, *, alarm: str | None = None) -> None:
        """Say what was done.

        Args:
            summary: for stdout, with ``--json``.
            lines: for a person, on stderr.
            closing: the last line on stderr, unless that is to be quiet.
            alarm: how a line begins that is red.
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
    "run": RunOptions,
}
"""The parameters of a command that stand for several options each."""


def with_forms(command: Callable[..., None]) -> Callable[..., None]:
    """Call a command with its options as the forms that it has parameters for: ``voice``, ``search`` and so on.

    A form has those of its fields that are options of the command; the others are as by default.
    """
    asked = {name for name, one in signature(command).parameters.items() if one.kind is Parameter.KEYWORD_ONLY}
    forms = {name: form for name, form in FORMS.items() if name in asked}
    fields = {field for form in forms.values() for field in form.names()}

    @wraps(command)
    def call(*args: Any, **given: Any) -> None:
        made = {name: form.of(given) for name, form in forms.items()}
        command(*args, **{name: value for name, value in given.items() if name not in fields}, **made)

    return call
