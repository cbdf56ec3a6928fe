"""The options of a command as the forms that it works with, what excludes each other, and how it says what it did."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any

import click
from click.core import ParameterSource

from neardup.cli import LOGGED
from neardup.cli.config import NOT_TYPED, ConfiguredCommand
from neardup.cli.options import INPUTS
from neardup.cli.voice import print_json, say, stdout_errors, usage_errors
from neardup.inputs.addresses import check_there
from neardup.params import (
    AUTO,
    CONTAINMENT,
    DEFAULT_SKETCH,
    Bands,
    ClusterOptions,
    InputOptions,
    ListOptions,
    Options,
    RunOptions,
    SearchOptions,
    as_options,
    preset_options,
    resolve,
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
        ctx = click.get_current_context(silent=True)
        if ctx is not None and (log := ctx.meta.get(LOGGED)) is not None:
            log.summary(closing, summary)
            if log.is_alone:
                return
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
    "cluster": ClusterOptions,
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

        @click.command(name, cls=ConfiguredCommand, epilog="\n  neardup ".join(("\b\nExamples:", *examples)))
        @click.pass_context
        @wraps(function)
        def call(ctx: click.Context, /, **given: Any) -> None:
            given = _without_slots(ctx, resolve(given, _beside_preset(ctx, given)))
            with usage_errors():
                made: dict[str, Any] = {name: form.of(given) for name, form in forms.items()}
            if "search" in made:
                _check_search(made["search"], given)
            if "ctx" in asked:
                made["ctx"] = ctx
            for path in (path for name in INPUTS for path in given.get(name) or ()):
                check_there(str(path))  # before libraries are loaded, which takes longer than to say so
            function(**{name: value for name, value in given.items() if name not in fields}, **made)

        return call

    return decorate


def _without_slots(ctx: click.Context, given: dict[str, Any]) -> dict[str, Any]:
    """The options, less the slots of a file or the environment where a join is typed, which has none: these two are for
    many runs."""
    of_file = ctx.meta.get(NOT_TYPED, {})
    joins = {"exact": given.get("exact") is True, "against": _is_against(given)}
    joins["measure"] = given.get("measure") == CONTAINMENT
    is_typed = any(is_join and name not in of_file for name, is_join in joins.items())
    return {**given, "slots": None} if "slots" in of_file and is_typed else given


def _is_against(given: Mapping[str, Any]) -> bool:
    """Whether two collections are joined; a report bands earlier documents with all others."""
    return bool(given.get("against")) and "purpose" not in given


def _check_search(search: SearchOptions, given: Mapping[str, Any]) -> None:
    """Raise UsageError for options of a search that exclude each other, or others of its command."""
    against = _is_against(given)
    check_banding(search.slots, search.bands)
    is_containment = search.measure == CONTAINMENT
    if search.candidates_by is not None:
        _check_candidates(search, against=against)
    if is_containment:
        _check_no_signatures(search, "--measure containment", "a separate join")
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


def _beside_preset(ctx: click.Context, names: Iterable[str]) -> set[str]:
    """The options that win over the preset: those given where it was given, or nearer, the command line being nearest.

    So a preset that is typed wins over single options that a file of settings has.
    """
    if ctx.get_parameter_source("preset") is ParameterSource.COMMANDLINE:
        return set(typed(ctx, names))
    return {name for name in names if ctx.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)}


def _check_candidates(search: SearchOptions, *, against: bool) -> None:
    """Raise UsageError when candidates are to be found where a join finds pairs, or cannot be found so."""
    joins = {"--measure containment": search.measure == CONTAINMENT, "--against": against, "--exact": search.exact}
    for asked, is_asked in joins.items():
        if is_asked:
            raise click.UsageError(
                f"{asked} finds pairs by a join, which has no candidates. Leave --candidates-by out."
            )
    from neardup.tuning import make_spec

    with usage_errors():
        make_spec(search)


def typed(ctx: click.Context, names: Iterable[str]) -> Iterator[str]:
    """Those of the parameters that were given, on the command line or in a file; ``false`` in a file gives nothing."""
    typed = (name for name in names if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE)
    return (name for name in typed if ctx.params.get(name, False) is not False)


def retyped(ctx: click.Context, names: Collection[str]) -> list[str]:
    """Some of the parameters that were given, as words of a command line."""
    words = []
    for param in ctx.command.params:
        value: Any = ctx.params.get(str(param.name))
        if param.name not in names or isinstance(param, click.Argument):
            continue
        option = param.opts[0]
        for each in value if param.multiple else [value]:
            text = ",".join(map(str, each)) if isinstance(each, tuple) else str(each)
            words += [option] if each is True else [option, text]
    return words


_BANDING = {"slots", "sketch", "candidates_by", "candidates", "exact", "audit", "recall"}
"""Options that a join by containment refuses."""


def try_instead(ctx: click.Context, hint: Mapping[str, Any]) -> str:
    """Return the command at hand with the options of a hint, as ``Hint.as_dict`` has them. It runs as printed."""
    preset, options = hint["preset"], hint["options"]
    replaced = {"preset", *preset_options(preset)} if preset else set(options)
    if options.get("measure") == CONTAINMENT:
        replaced |= _BANDING
    # bands by hand are those of another threshold
    kept = [name for name in typed(ctx, list(ctx.params)) if name not in {*replaced, "bands", "resume"}]
    inputs = []
    for name in (str(param.name) for param in ctx.command.params if isinstance(param, click.Argument)):
        value = ctx.params[name]
        for each in map(str, value if isinstance(value, tuple) else (value,)):
            each += "-new" if name == "index" else ""  # an index keeps the settings that it was made with
            inputs.append(f"./{each}" if each.startswith("-") and each != "-" else each)
    words = retyped(ctx, kept)
    path: list[str] = []
    while ctx.parent is not None:
        path.insert(0, str(ctx.info_name))
        ctx = ctx.parent
    return f"{shlex.join(['neardup', *path, *inputs, *words])} {options_tried(hint)}"


def options_tried(hint: Mapping[str, Any]) -> str:
    """The options that a hint says to try, as they are typed."""
    return f"--for {hint['preset']}" if hint["preset"] else as_options(hint["options"])


def preset_facts(search: SearchOptions) -> dict[str, Any]:
    """The preset that was asked for, as a summary has it."""
    used = search.used_preset
    return {"preset": None if used is None else used.as_dict()}


def with_commands(ctx: click.Context, summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary whose hints have the command to try."""
    return {**summary, "hints": [{**hint, "command": try_instead(ctx, hint)} for hint in summary["hints"]]}


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
