"""Pages of the manual, in the language of man: what the help says, with the variables of the options.

Not by click-man, which escapes nothing in a text, and knows neither our commands, which are loaded when they are
called, nor examples.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from textwrap import wrap

import click

from neardup._version import __version__
from neardup.cli import LazyGroup, environment
from neardup.cli.completing import PLACES, script

MAN = "share/man/man1"
"""Where the pages are, below the folder of an installation."""
_CODES = (
    ("0", "Done."),
    ("1", "Failed, or a check found what it was to find."),
    ("2", "Wrong usage."),
    ("3", "Near-duplicates were found, by neardup find --check."),
    ("130", "Stopped by Ctrl-C."),
)


def page(main: LazyGroup, words: tuple[str, ...] = ()) -> str:
    """The page of a command, in roff; of the whole without ``words``."""
    ctx = _context(main, words)
    lines = _lines(ctx, words)
    return "\n".join(part for line in lines for part in ([line] if line.startswith(".") else _filled(line))) + "\n"


def _filled(line: str) -> list[str]:
    """A line of text as lines of 78 characters, none of which begins as a command of roff does."""
    parts = wrap(line, 78, break_long_words=False, break_on_hyphens=False)
    return [rf"\&{part}" if part[0] in (".", "'") else part for part in parts]


def write_pages(main: LazyGroup, folder: Path) -> list[Path]:
    """Write the pages of all commands into a folder; returns their names."""
    written = []
    for words in _all(main):
        path = folder / f"{_name(words)}.1"
        path.write_text(page(main, words), "utf-8")
        written.append(path)
    return written


def write_share(main: LazyGroup, root: Path) -> None:
    """Write what belongs into ``share`` of an installation below a folder: pages, and scripts of the shells."""
    (root / MAN).mkdir(parents=True)
    write_pages(main, root / MAN)
    for shell, place in PLACES.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(script(shell, main) + "\n", "utf-8")


def _all(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, LazyGroup):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from _all(inner, (*words, name))


def _context(main: LazyGroup, words: tuple[str, ...]) -> click.Context:
    ctx = click.Context(main, info_name="neardup", help_option_names=["-h", "--help"])
    for word in words:
        group = ctx.command
        assert isinstance(group, LazyGroup)
        inner = group.get_command(ctx, word)
        assert inner is not None
        ctx = click.Context(inner, parent=ctx, info_name=word)
    return ctx


def _name(words: tuple[str, ...]) -> str:
    return "-".join(("neardup", *words))


def _lines(ctx: click.Context, words: tuple[str, ...]) -> Iterator[str]:
    command = ctx.command
    text = cleandoc(command.help or "")
    day = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    name = _name(words)
    yield rf'.TH "{_plain(name.upper())}" "1" "{day}" "neardup {__version__}" "Manual of neardup"'
    first = re.split(r"\n\n", text)[0].replace("\n", " ").rstrip(".")
    yield from (".SH NAME", rf"{_plain(name)} \- {_told(first)}")
    yield from (".SH SYNOPSIS", rf"\fB{_plain(ctx.command_path)}\fP")
    yield _plain(" ".join(command.collect_usage_pieces(ctx)))
    yield ".SH DESCRIPTION"
    yield from _paragraphs(text)
    if isinstance(command, LazyGroup):
        yield ".SH COMMANDS"
        for inner, (_, told) in sorted(command.registry.items()):
            yield from (".TP", rf"\fB{_plain(_name((*words, inner)))}\fP(1)", _told(told))
    yield ".SH OPTIONS"
    for param in command.get_params(ctx):
        if isinstance(param, click.Option) and (record := param.get_help_record(ctx)) is not None:
            yield from (".TP", rf"\fB{_plain(record[0])}\fP", _told(" ".join(record[1].split())))
    variables = [(param, name) for param in command.params for name in environment.variables(words, param)]
    if variables and words:
        yield ".SH ENVIRONMENT"
        yield "What is typed wins over a variable, and a variable over the file of --config."
        for param, variable in variables:
            yield from (".TP", rf"\fB{_plain(variable)}\fP", rf"as \fB{_plain(max(param.opts, key=len))}\fP")
    yield ".SH EXIT STATUS"
    for code, told in _CODES:
        yield from (".TP", rf"\fB{code}\fP", told)
    yield from _examples(command.epilog or "")
    others = [_name(words[:-1])] if words else [_name((each,)) for each in ("dedup", "find", "index", "passages")]
    yield from (".SH SEE ALSO", ", ".join(rf"\fB{_plain(each)}\fP(1)" for each in others))


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; those behind a \b keep their lines, as in click's own help."""
    for number, paragraph in enumerate(re.split(r"\n\n+", text.strip())):
        if number:
            yield ".PP"
        if paragraph.startswith("\b\n"):
            yield from (".nf", *map(_told, paragraph.split("\n")[1:]), ".fi")
        else:
            yield _told(paragraph.replace("\n", " "))


def _examples(epilog: str) -> Iterator[str]:
    lines = [line.strip() for line in epilog.replace("\b", "").split("\n")]
    commands = [line for line in lines if line.startswith("neardup")]
    if commands:
        yield from (".SH EXAMPLES", ".nf", *map(_plain, commands), ".fi")


def _told(text: str) -> str:
    """A text with what stands between backquotes in bold."""
    parts = text.split("`")
    return "".join(
        rf"\fB{_plain(part)}\fP" if at % 2 else _plain(part, is_start=at == 0) for at, part in enumerate(parts)
    )


def _plain(text: str, *, is_start: bool = True) -> str:
    """A text of which nothing is a command to roff, in ASCII."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    safe = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in safe)
    return rf"\&{safe}" if is_start and safe[:1] in (".", "'") else safe
