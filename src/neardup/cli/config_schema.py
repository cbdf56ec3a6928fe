"""The JSON Schema of a file for ``--config``: made of the options of the commands, as ``config`` reads them."""

from __future__ import annotations

import re
from typing import Any

import click

from neardup.cli import LazyGroup
from neardup.cli.config import COMMAS, alone, keys_of
from neardup.cli.schemas import DRAFT, Schema, either

_WORD: Schema = {"type": ["string", "number"]}
_FLAG: Schema = {"type": "boolean"}


def config_schema(main: LazyGroup) -> Schema:
    """The schema of a whole file, or of the table ``[tool.neardup]`` of a pyproject.toml."""
    about = "Options of neardup by their long names; a table for each command. See docs/howto/config.md."
    return {"$schema": DRAFT, "title": "neardup --config", "description": about, **_table(main)}


def _table(command: click.Command) -> Schema:
    """A table: the keys of a command, or those of any command of a group, and the tables of these."""
    properties = _keys(command)
    if isinstance(command, LazyGroup):
        for name, inner in _commands(command):
            table = {"description": command.registry[name][1], **_table(inner)}
            # report has an option --passages: a value under the name of a command is for commands with such an option
            properties[name] = either(table, properties[name]) if name in properties else table
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _commands(group: LazyGroup) -> list[tuple[str, click.Command]]:
    ctx = click.Context(group)
    found = [(name, group.get_command(ctx, name)) for name in group.list_commands(ctx)]
    return [(name, inner) for name, inner in found if inner is not None]


def _keys(command: click.Command) -> dict[str, Any]:
    """The schema of each key, under both of its spellings; where commands differ in what it may be, any of these."""
    if not isinstance(command, LazyGroup):
        own = {key: _value(key, param) for key, param in keys_of(command).items()}
    else:
        several: dict[str, list[Schema]] = {}
        for _, inner in _commands(command):
            for key, shape in _keys(inner).items():
                several.setdefault(key, []).append(shape)
        own = {key: _any(shapes) for key, shapes in several.items()}
    return own | {key.replace("-", "_"): shape for key, shape in own.items()}


def _any(shapes: list[Schema]) -> Schema:
    """One of several schemas, each told once; the first has the description."""
    kinds = [{name: value for name, value in shape.items() if name != "description"} for shape in shapes]
    distinct = [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
    about = {name: value for name, value in shapes[0].items() if name == "description"}
    return {**about, **(distinct[0] if len(distinct) == 1 else either(*distinct))}


def _value(key: str, param: click.Parameter) -> Schema:
    """What a key may have."""
    help = getattr(param, "help", None)
    about = {"description": re.sub(r"\s+", " ", help)} if help else {}
    if isinstance(param, click.Option) and param.is_flag:
        return {**about, **_FLAG}
    choices = [str(each) for each in param.type.choices] if isinstance(param.type, click.Choice) else None
    one: Schema = _WORD if choices is None else {"enum": choices}
    shapes = [one]
    if getattr(param, "multiple", False) or param.nargs == -1 or key in COMMAS:
        shapes.append({"type": "array", "items": one})
    if isinstance(param, click.Option) and alone(key, param) is not None:
        shapes.append(_FLAG)
    return {**about, **_any(shapes)}
