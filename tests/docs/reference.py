"""Writes docs/reference from the program itself: ``python -m tests.docs.reference``.

The pages are checked in, and ``test_reference`` fails when they no longer say what the program says.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from pathlib import Path

import click

import neardup
import neardup.spark
from neardup.cli import main

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
NOTE = "<!-- Written by `python -m tests.docs.reference`; edit the help texts and docstrings, not this page. -->"


def cli_page() -> str:
    """The page of commands: usage, text and options of each."""
    context = click.Context(main, info_name="neardup", **main.context_settings)
    parts = ["# Command line", NOTE, inspect.cleandoc(main.help or ""), *_commands(main, context, "##")]
    return "\n\n".join(parts) + "\n"


def _commands(group: click.Group, context: click.Context, heading: str) -> list[str]:
    """The sections of a group's commands, each group followed by its own."""
    parts = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context, **command.context_settings)
        usage = " ".join([inner.command_path, *command.collect_usage_pieces(inner)])
        examples = re.sub(r"^[\b\s]*Examples:\n", "", command.epilog or "")
        parts += [f"{heading} {inner.command_path}", f"```text\n{usage}\n```", inspect.cleandoc(command.help or "")]
        if not isinstance(command, click.Group):
            parts.append(_options(command, inner))
        parts.append("Examples:\n\n```text\n" + inspect.cleandoc(examples) + "\n```")
        if isinstance(command, click.Group):
            parts += _commands(command, inner, heading + "#")
    return parts


def _options(command: click.Command, context: click.Context) -> str:
    rows = ["| option | meaning | default |", "| --- | --- | --- |"]
    for option in command.get_params(context):
        if not isinstance(option, click.Option) or "--help" in option.opts:
            continue
        meaning, _, default = (option.help or "").partition("[default: ")
        if option.show_default:
            default = str(option.default)
        cells = (f"`{_names(option)}`", meaning.strip(), default.rstrip("]").strip())
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _names(option: click.Option) -> str:
    """The names and the value of an option; made here, because versions of click word them differently."""
    names = ", ".join(sorted(option.opts, key=len))
    if option.is_flag:
        return names
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    return f"{names} {option.metavar or '|'.join(choices)}"


def api_page() -> str:
    """The page of public names: signature and docstring of each."""
    parts = ["# Python", NOTE, inspect.cleandoc(neardup.__doc__ or "")]
    for name in neardup.__all__:
        parts += [f"## {name}", *_entry(name, getattr(neardup, name))]
    for name in neardup.spark.__all__:
        parts += [f"## spark.{name}", *_entry(f"spark.{name}", getattr(neardup.spark, name))]
    return "\n\n".join(parts) + "\n"


def _entry(name: str, thing: object) -> list[str]:
    text = inspect.cleandoc(inspect.getdoc(thing) or "")
    if not callable(thing):
        return [f"```text\n{name} = {thing!r}\n```"]
    signature = "" if inspect.isclass(thing) and issubclass(thing, Exception) else _signature(name, thing)
    parts = [f"```text\n{part}\n```" for part in (signature, text) if part]
    if inspect.isclass(thing):
        parts += [_fields(thing)] if dataclasses.is_dataclass(thing) else []
        for method, value in sorted(_members(thing).items()):
            if not method.startswith("_") and callable(getattr(thing, method)) and inspect.getdoc(value):
                call = _signature(f"{name}.{method}", getattr(thing, method))
                parts.append(f"```text\n{call}\n\n{inspect.getdoc(value)}\n```")
    return parts


def _members(thing: type) -> dict[str, object]:
    """What a class has of its own and of the classes of this package that it is made from."""
    ours = [base for base in thing.__mro__ if base.__module__.startswith("neardup")]
    return {name: value for base in reversed(ours) for name, value in vars(base).items()}


def _fields(thing: type) -> str:
    """A table of the fields of a dataclass, with the string that stands below each in the source."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
    assert isinstance(tree, ast.ClassDef)
    rows = ["| field | meaning |", "| --- | --- |"]
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            text = str(after.value.value) if told else ""  # type: ignore[union-attr]
            rows.append(f"| `{node.target.id}` | {' '.join(text.split())} |")
    return "\n".join(rows)


def _signature(name: str, thing: object) -> str:
    signature = inspect.signature(thing)  # type: ignore[arg-type]
    plain = signature.replace(
        parameters=[each.replace(annotation=each.empty) for each in signature.parameters.values()],
        return_annotation=signature.empty,
    )
    return f"{name}{plain}"


PAGES = {"cli.md": cli_page, "api.md": api_page}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file, page in PAGES.items():
        (FOLDER / file).write_text(page(), encoding="utf-8")
