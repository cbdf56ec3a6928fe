"""One form for options: parameters of Python, options of the commands and fields of the forms are the same names."""

from __future__ import annotations

from dataclasses import MISSING, fields
from inspect import Parameter, signature
from typing import Any

import click
import pytest

import neardup
from neardup.cli import main
from neardup.cli.forms import Voice, command
from neardup.params import (
    ClusterOptions,
    InputOptions,
    ListOptions,
    Options,
    RunOptions,
    SearchOptions,
)
from neardup.tasks.repeats.selection import Selection
from neardup.tasks.report.wanted import Wanted

FORMS = (SearchOptions, InputOptions, ListOptions, RunOptions)
DEFAULTS = {each.name: each.default for form in FORMS for each in fields(form)}

PASSAGES = {"passages", "min_bytes", "min_words", "min_chars", "min_docs", "snap", "min_cut", "min_left"}
OWN = {
    "find": {"inputs", "against", "candidates"},
    "dedup": {"inputs", "output", "keep", "prefer", "protect", "overlap", "annotate", "alarm", "show", *PASSAGES},
    "audit": {"inputs", "documents", "sample_seed"},
    "plan": {"inputs", "rule", "weights"},
    "report": {"inputs", "output", "pairs", *Wanted.names()},
    "figures": {"inputs", "output", "only", "formats"},
    "compare": {"a", "b"},
    "passages": {
        *("inputs", "unit", "span", "threshold", "shingle", "min_bytes", "min_words", "min_chars", "normalize"),
        *("gaps", "min_match", "min_similarity"),
        *Selection.names(),
    },
    "index create": {"path"},
    "index build": {"path", "inputs", "on_duplicate"},
}
"""Parameters that both doors have and that are of one task: no field of a form."""
OF_THE_COMMAND = {
    "find": {
        "output",
        "clusters",
        "candidates",
        "format",
        "audit",
        "check",
        "dry_run",
        "plot",
        *ClusterOptions.names(),
    },
    "dedup": {"removed", "dry_run", "cuts", *ClusterOptions.names()},
    "audit": {"misses", "plot"},
    "plan": {"plot"},
    "passages": {"output", "cut", "snap", "min_cut", "min_left", "spans", "cuts", "second_pass", "report"}
    | {*ClusterOptions.names()},
    "compare": {"collection", "html", "full", *InputOptions.names()},
}
"""Options that are about files, and not in Python, or, about clusters, in ``neardup.spark``."""
OF_PYTHON = {"index create": {"threads"}}
"""Parameters that only Python has, beside those that no command has."""


def of_python(name: str) -> dict[str, Parameter]:
    thing: Any = neardup
    for word in name.replace("index", "Index").split():
        thing = getattr(thing, word)
    return dict(signature(thing).parameters)


def of_command(name: str) -> dict[str, click.Parameter]:
    found: Any = main
    for word in name.split():
        found = found.get_command(None, word)
    return {"path" if one.name == "index" else str(one.name): one for one in found.params}


@pytest.mark.parametrize("name", OWN)
def test_each_parameter_is_a_field_with_the_same_default_or_of_its_task(name: str) -> None:
    parameters = of_python(name)
    assert set(parameters) - OWN[name] - {"observer", "progress"} <= set(DEFAULTS)
    for field in set(parameters) & set(DEFAULTS) - OWN[name]:
        assert parameters[field].default == DEFAULTS[field], field


@pytest.mark.parametrize("name", OWN)
def test_each_parameter_has_its_option_and_each_option_its_parameter(name: str) -> None:
    here = OF_THE_COMMAND.get(name, set()) | {
        *Voice.names(),
        "config",
        "log_level",
        "log_format",
        "log_file",
    }
    only_python = {"observer", "progress", "block"} | OF_PYTHON.get(name, set())
    assert set(of_command(name)) - here == set(of_python(name)) - only_python - here


@pytest.mark.parametrize("name", OWN)
def test_an_option_has_the_default_of_its_field(name: str) -> None:
    command = of_command(name)
    context = click.Context(main)
    for field in set(command) & set(DEFAULTS) - OWN[name]:
        one = command[field]
        given = one.get_default(context)
        default = one.process_value(context, None if given is None or "UNSET" in repr(given) else given)
        assert default == _parsed(field), field


def _parsed(field: str) -> Any:
    form = next(form for form in FORMS if field in form.names())
    return getattr(form(), field)


def test_every_field_has_a_default_and_one_form() -> None:
    names = [name for form in (*FORMS, Voice) for name in form.names()]
    assert len(set(names)) == len(names)
    assert MISSING not in DEFAULTS.values()


@pytest.mark.parametrize("form", FORMS)
def test_a_form_takes_its_fields_among_other_names(form: type[Options]) -> None:
    given = {"inputs": "x", "observer": None, form.names()[0]: getattr(form(), form.names()[0])}
    assert form.of(given) == form()


@pytest.mark.parametrize(
    ("form", "field", "value"),
    [
        (SearchOptions, "threshold", 0),
        (SearchOptions, "recall", 1),
        (SearchOptions, "shingle", "letter:3"),
        (SearchOptions, "normalize", "nfx"),
        (SearchOptions, "sketch", "minhash"),
        (SearchOptions, "slots", 1),
        (SearchOptions, "bands", "32"),
        (SearchOptions, "candidates_by", "letter:3"),
        (SearchOptions, "seed", -1),
        (SearchOptions, "crowd", 1),
        (SearchOptions, "exact", "often"),
        (SearchOptions, "measure", "cosine"),
        (SearchOptions, "verify", "no"),
        (SearchOptions, "link", "ring"),
        (ListOptions, "with_text", 0),
        (ListOptions, "sort", "id"),
        (ListOptions, "top", 0),
        (InputOptions, "boilerplate", "drop"),
        (InputOptions, "on_bad", "stop"),
        (InputOptions, "input_format", "docx"),
        (InputOptions, "block", 0),
        (RunOptions, "threads", 0),
        (RunOptions, "memory", "much"),
    ],
)
def test_a_wrong_value_is_named_with_its_field_when_the_form_is_made(
    form: type[Options], field: str, value: Any
) -> None:
    with pytest.raises(neardup.InputError, match=rf"{field} (is|has) .*{value}"):
        form.of({field: value})


def test_a_command_gets_the_forms_that_it_asks_for_and_the_rest_by_name() -> None:
    seen: dict[str, Any] = {}

    @command("try")
    @click.option("--threads")
    def asked(*, ctx: click.Context, voice: Voice, search: SearchOptions, threads: int) -> None:
        seen.update(ctx=ctx.command, voice=voice, search=search, threads=threads)

    with click.Context(asked) as context:
        context.invoke(asked, json=True, quiet=False, verbose=False, threshold=0.5, threads=3)
    rest = {"ctx": asked, "threads": 3}
    assert seen == {"voice": Voice(json=True), "search": SearchOptions(threshold=0.5), **rest}
