"""What can be called, as text: the parameters of every command, and the public names of the library.

docs/reference holds the help texts, docstrings and plain signatures, and a test of its own. Here is what it leaves out:
order, kinds and types of parameters, annotations, fields with their types, bases of exceptions, and where a name says
that it comes from.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import click

import neardup
from neardup.cli import main


def commands() -> Iterator[tuple[list[str], click.Command]]:
    """Every command and group, with the words that call it, in the order of the help."""
    yield from _below([], main, click.Context(main, info_name="neardup"))


def _below(words: list[str], command: click.Command, context: click.Context) -> Iterator[tuple[list[str], Any]]:
    yield words, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _below([*words, name], inner, click.Context(inner, info_name=name, parent=context))


def parameters() -> str:
    """A line for each parameter of each command."""
    parts = []
    for words, command in commands():
        lines = [f"{' '.join(['neardup', *words])}  ({command.get_short_help_str(200)})"]
        lines += [f"  {_parameter(each)}" for each in command.params]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _parameter(one: click.Parameter) -> str:
    names = " ".join([*one.opts, *one.secondary_opts])
    facts = [f"as {one.name}", f"type {_type(one.type)}"]
    if isinstance(one, click.Option):
        facts += ["flag"] * one.is_flag + ["hidden"] * one.hidden
        if not one.is_flag:
            facts.append(f"default {one.default!r}" if _is_given(one.default) else "no default")
    facts += ["required"] * one.required + ["multiple"] * bool(getattr(one, "multiple", False))
    facts += [f"takes {one.nargs}"] if one.nargs != 1 else []
    return f"{names}: {', '.join(facts)}"


def _is_given(default: object) -> bool:
    """Whether an option has a default; how click marks that there is none depends on its version."""
    return default is not None and "UNSET" not in repr(default) and not callable(default) and default != ()


def _type(kind: click.ParamType) -> str:
    if isinstance(kind, click.Choice):
        return "|".join(map(str, kind.choices))
    if isinstance(kind, click.Path):
        named = ("exists", "file_okay", "dir_okay", "writable", "readable", "allow_dash")
        return f"path ({', '.join(name for name in named if getattr(kind, name))})"
    return kind.name


def public_names() -> str:
    """Each public name with its signature, annotations and fields."""
    return "\n".join("\n".join(_entry(name, getattr(neardup, name))) for name in neardup.__all__) + "\n"


def _entry(name: str, thing: Any) -> list[str]:
    if not callable(thing):
        return [f"{name}: {type(thing).__name__}"]
    if not inspect.isclass(thing):
        return _call(name, thing)
    if issubclass(thing, BaseException):
        above = " > ".join(_path(base) for base in thing.__mro__[1:-2])
        return [f"{_path(thing)}, below {above}"]
    bases = [base.__name__ for base in thing.__mro__[1:-1] if base.__name__ in neardup.__all__]
    lines = [f"class {name}" + (f"({', '.join(bases)})" if bases else "")]
    if dataclasses.is_dataclass(thing):  # an Index is made by create, build and open
        lines += [f"  {_field(each)}" for each in dataclasses.fields(thing)]
    for member in sorted(dir(thing)):
        value = inspect.getattr_static(thing, member)
        if member.startswith("_") or not _is_ours(thing, member):
            continue
        if isinstance(value, property):
            assert value.fget is not None
            lines.append(f"  .{member} -> {inspect.signature(value.fget).return_annotation}")
        elif isinstance(value, (staticmethod, classmethod)) or callable(value):
            kind = type(value).__name__ + " " if isinstance(value, (staticmethod, classmethod)) else ""
            lines += [f"  {line}" for line in _call(f"{kind}.{member}", getattr(thing, member))]
    special = ("__enter__", "__iter__", "__len__", "__contains__", "__getitem__", "__str__", "__repr__", "_repr_html_")
    lines += [f"  {each}" for each in special if _is_ours(thing, each)]
    return lines


def _call(name: str, thing: Any) -> list[str]:
    """A signature: on one line, or with a line for each parameter where it is long."""
    signature = inspect.signature(thing)
    params = [_argument(each) for each in signature.parameters.values()]
    kinds = [each.kind for each in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        params.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    result = f") -> {_annotation(signature.return_annotation)}"
    line = f"{name}({', '.join(params)}{result}"
    return [line] if len(line) <= 110 else [f"{name}(", *(f"    {each}," for each in params), result]


def _argument(one: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
    told = f"{stars}{one.name}"
    told += f": {_annotation(one.annotation)}" if one.annotation is not one.empty else ""
    return told + (f" = {one.default!r}" if one.default is not one.empty else "")


def _annotation(value: Any) -> str:
    return value if isinstance(value, str) else inspect.formatannotation(value)


def _is_ours(thing: type, member: str) -> bool:
    return any(member in vars(base) for base in thing.__mro__ if base.__module__.startswith("neardup"))


def _field(field: dataclasses.Field[Any]) -> str:
    default = "" if field.default is dataclasses.MISSING else f" = {field.default!r}"
    made = "" if field.default_factory is dataclasses.MISSING else f" = {field.default_factory.__name__}()"
    return f"{field.name}: {field.type}{default}{made}"


def _path(error: type) -> str:
    """The name of an exception as a traceback shows it."""
    return error.__name__ if error.__module__ == "builtins" else f"{error.__module__}.{error.__qualname__}"
