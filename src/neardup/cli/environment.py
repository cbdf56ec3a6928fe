"""Options of a command that stand in variables of the environment, as though they had been typed.

The names and the values are as click has them with ``auto_envvar_prefix="NEARDUP"``, made of the long names of options:
``NEARDUP_FIND_THRESHOLD``, ``NEARDUP_INDEX_ADD_ON_BAD``. Click's own mechanism is not used, for it would take
``NEARDUP_VERSION``, which images of containers set, as ``--version``, would let a file of ``--config`` win over the
environment, and would name no variable in its errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import click

PREFIX = "NEARDUP"
EVERYWHERE = frozenset({"threads", "memory", "quiet", "verbose", "log_level", "log_format", "log_file"})
"""Parameters that change no answer: these have a name without the command too, such as ``NEARDUP_THREADS``."""
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "off"})


def long_name(param: click.Parameter) -> str:
    """The name of an option as it is typed, without its dashes."""
    return max(param.opts, key=len).lstrip("-")


def variables(words: tuple[str, ...], param: click.Parameter) -> list[str]:
    """The variables that give an option of a command, the one that wins first; none for an argument."""
    if not isinstance(param, click.Option):
        return []
    option = long_name(param)
    names = [_joined(*words, option)]
    return [*names, _joined(option)] if param.name in EVERYWHERE else names


def _joined(*words: str) -> str:
    return "_".join((PREFIX, *words)).replace("-", "_").upper()


def found(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[click.Option, str, str]]:
    """The options of a command that the environment gives, each with its variable and the text of this.

    A variable that is empty is as one that is not there.
    """
    for param in command.params:
        if not isinstance(param, click.Option):
            continue
        for name in variables(words, param):
            if text := os.environ.get(name):
                yield param, name, text
                break


def raw_value(param: click.Option, text: str, alone: str | None) -> Any:
    """The text of a variable as the parser of the command line would have found it; None: as if it were not there.

    ``alone`` is what the option has for its value that stands alone, where it may. What is no value of the option
    raises click's UsageError.
    """
    if param.is_flag:
        return param.type.convert(text, param, None)
    if param.multiple:
        return tuple(_parts(param, text))
    is_number = not isinstance(param.type, click.Choice) and text.strip().isdecimal()
    if alone is not None and not is_number and text.strip().lower() in _TRUE | _FALSE:
        return alone if text.strip().lower() in _TRUE else None
    return text


def _parts(param: click.Option, text: str) -> list[str]:
    """Several values of one variable: at white space, paths at the separator of paths, which no address is cut at."""
    if not isinstance(param.type, click.Path):
        return text.split()
    return [part for part in re.split(rf"{re.escape(os.pathsep)}(?!//)", text) if part]


def unknown(command: click.Command, words: tuple[str, ...]) -> list[str]:
    """What is to be said of variables that look like options of a command, and are none: those with a near name."""
    start = f"{_joined(*words)}_"
    known = [name for param in command.params for name in variables(words, param)]
    options = [name.removeprefix(start) for name in known if name.startswith(start)]
    told = []
    for name in sorted(os.environ):
        if not name.startswith(start) or name in known or not os.environ[name]:
            continue
        # nearer than for what is typed: others set variables too, such as Kubernetes NEARDUP_SERVE_SERVICE_HOST
        near = get_close_matches(name.removeprefix(start), options, n=1, cutoff=0.8)
        if near:
            whose = f"neardup {' '.join(words)}"
            told.append(f"{name} is set, and {whose} has no such option. Did you mean {start}{near[0]}?")
    return told


def gives(read: Mapping[str, str], names: list[str]) -> str:
    """Which variables give some of the parameters, for the end of a message; empty where none does."""
    return " ".join(f"{read[name]} is set in the environment." for name in names if name in read)
