"""``--save-config``: a run written as a file for ``--config``.

What was given stands there as keys, from whichever side it came; the rest in comments, so that what another option
would decide (a preset, the spec of an index) is still decided by it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import click

from neardup._version import __version__
from neardup.cli import WRITTEN
from neardup.cli.config import GIVEN, alone, command_words, keys_of
from neardup.cli.toml import as_toml

_NOT_SAVED = frozenset({"resume"})
"""How a run was gone on with is no part of it: from the file it begins anew."""


def save(ctx: click.Context, values: Mapping[str, Any]) -> None:
    """Write the run to the file of --save-config, where one is named.

    ``values`` are those that the command works with: of what was not given they are told in comments.
    """
    given: dict[str, Any] = ctx.meta.get(GIVEN, {})
    file = given.get("save_config")
    if file is None:
        return
    from neardup.outputs.atomic import AtomicFiles

    _check_name(ctx.command, given, file)
    try:
        text = text_of(ctx, given, values).encode()
    except UnicodeEncodeError as exc:
        raise click.UsageError(
            f"{exc.object[exc.start :].split(chr(34))[0]} is in a name that is no UTF-8, as a TOML file has to be."
            " Leave --save-config out."
        ) from exc
    with AtomicFiles() as files:
        files.open(file).write(text)
    ctx.meta[WRITTEN] = [file]


def _check_name(command: click.Command, given: Mapping[str, Any], file: str) -> None:
    """Raise UsageError where the file is one that the run reads or writes."""
    if file == "-":
        raise click.UsageError("a run cannot be saved on stdout. Give --save-config the name of a file.")
    if os.path.basename(file) == "pyproject.toml":
        raise click.UsageError(f"{file} holds more than options. Give --save-config a file of its own.")
    real = os.path.realpath(file)
    if "config" in given and os.path.realpath(given["config"]) == real:
        raise click.UsageError(
            f"{file} is the file of --config, whose comments and other tables would be lost. Give another one."
        )
    for key, param in keys_of(command).items():
        value = given.get(str(param.name))
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, str) and each and os.path.realpath(each) == real:
                what = f"--{key}" if isinstance(param, click.Option) else f"an argument ({key})"
                raise click.UsageError(f"{file} is the file of {what} too. Give --save-config another one.")


def text_of(ctx: click.Context, given: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """A run as the text of a file: what was given as keys, the rest as comments."""
    words = command_words(ctx)
    keys, unsaid = [], []
    for key, param in keys_of(ctx.command).items():
        name = str(param.name)
        if name in given and name not in _NOT_SAVED:
            keys.append(f"{key} = {as_toml(_as_written(key, param, given[name], ctx.params.get(name)))}")
        elif isinstance(param, click.Option) and name not in _NOT_SAVED:
            unsaid.append(f"# {key}: {_as_default(param, values.get(name))}")
    head = [
        f"# A run of neardup {__version__}: neardup {' '.join(words)} --config FILE",
        "# Relative names of files are taken from the folder in which it is run.",
        f"[{'.'.join(words)}]",
    ]
    return "\n".join([*head, *keys, "", "# Not given, and so as by default:", *unsaid, ""])


def _as_written(key: str, param: click.Parameter, raw: Any, parsed: Any) -> Any:
    """A given value as TOML has it: a switch as a boolean, a number as one, all else as text."""
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, (list, tuple)):
        return [str(each) for each in raw]
    if raw == alone(key, param):
        return True
    if isinstance(parsed, (int, float)) and re.fullmatch(r"(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?", str(raw)):
        number = float(raw) if "." in str(raw) else int(raw)
        if number == parsed:
            return number
    return str(raw)


def _as_default(param: click.Option, value: Any) -> str:
    """What an option is that was not given, in words: its value, or what its help says."""
    if param.is_flag:
        return str(bool(value)).lower()
    if value is None or value is False or value == ():
        told = re.search(r"\[default: (.*)\]\s*$", param.help or "", re.DOTALL)
        return told[1] if told is not None else "none"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
