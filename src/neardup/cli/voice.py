"""Everything that the command line says to people passes here: text from outside is made safe once, on its way out.

Data go past it: ``outputs.stdout``.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import click

from neardup.errors import InputError
from neardup.shown import FITTED, fitted, is_hidden, shown

_LABEL = re.compile(r" *\S+(?: \S+)* {2,}(?=\S)")
_WORD = re.compile(r"( *)([^ ]*\d (?:s|min|h|[kMGT]?B|%)(?!\w)[^ ]*|[^ ]+)")
"""A word, or a number with its unit, and the spaces before it."""


def say(*lines: str, err: bool = True, fg: str | None = None) -> None:
    """Print lines on stderr, or on stdout; a line break inside one is text from outside, and is escaped too."""
    if lines and err and _elsewhere:
        for line in lines:
            _elsewhere[-1](line)
    elif lines:
        # the stream by name: click would take another one, of UTF-8, in the place of one of ASCII
        stream = sys.stderr if err else sys.stdout
        width = columns(stream)
        safe = map(shown, lines)
        text = "\n".join(safe if width is None else (part for line in safe for part in wrapped(line, width)))
        click.echo(click.style(text, fg=fg) if fg else text, file=stream, err=err)


_elsewhere: list[Callable[[str], None]] = []
"""Who is told what would be said on stderr, in its place; the last one."""


@contextmanager
def diverted(tell: Callable[[str], None]) -> Iterator[None]:
    """While this lasts, tell ``tell`` what would be said on stderr, line by line."""
    _elsewhere.append(tell)
    try:
        yield
    finally:
        _elsewhere.remove(tell)


def columns(stream: Any) -> int | None:
    """How many characters a line of a terminal has; None where a stream is none."""
    if stream is None or not stream.isatty():
        return None
    with suppress(OSError, ValueError, AttributeError):
        known = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(stream.fileno()).columns
        if known > 0:
            return known
    return 80


def wrapped(line: str, width: int) -> list[str]:
    """A line as lines of a terminal of this width, broken between words; a longer word has a line of its own.

    What follows begins below the text of the line: behind a label, which has two spaces or more behind it.

    >>> wrapped("recall        0.99 promised for a pair", 30)
    ['recall        0.99 promised', '              for a pair']
    """
    if _cells(line) <= width:
        return [line]
    label = _LABEL.match(line)
    indent = label.end() if label is not None and label.end() <= width // 2 else len(line) - len(line.lstrip())
    lines, used = [line[:indent]], indent
    is_begun = False
    for gap, word in _WORD.findall(line[indent:]):
        if is_begun and used + len(gap) + _cells(word) > width:
            lines.append(" " * indent)
            used, is_begun, gap = indent, False, ""
        lines[-1] += gap + word
        used += len(gap) + _cells(word)
        is_begun = True
    return lines


def _cells(text: str) -> int:
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def print_json(value: Any) -> None:
    r"""Print an object, or the JSON text of one, on stdout.

    What a terminal would act upon, or the encoding of stdout has not, is written as ``\uXXXX``: the value is the same.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    is_wide = codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name.startswith("utf")
    is_watched = sys.stdout is not None and sys.stdout.isatty()

    def plain(char: str) -> str:
        is_lone = "\ud800" <= char <= "\udfff"
        if char == "\n" or not (is_lone or (not is_wide and char > "~") or (is_watched and is_hidden(char))):
            return char
        return json.dumps(char)[1:-1] if char > "\x7f" else f"\\u{ord(char):04x}"

    if not text.isascii() or "\x7f" in text:
        text = "".join(map(plain, text))
    click.echo(text, file=sys.stdout)


def print_text(text: str) -> None:
    """Print a text of ours on stdout as it is, such as a script of a shell."""
    with stdout_errors():
        click.echo(text, file=sys.stdout)


def table_json(answer: Mapping[str, Any]) -> str:
    """The JSON text of an object, one line a field: a number a line would make its lists endless."""
    lines = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in answer.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def print_names(names: Iterable[str]) -> None:
    """Print names of files on stdout, a line each, byte for byte as the system has them."""
    from neardup.outputs.stdout import stdout_bytes

    stream = stdout_bytes()
    if stream is not None:
        stream.write(b"".join(os.fsencode(name) + b"\n" for name in names))
        stream.flush()


@contextmanager
def stdout_errors() -> Iterator[None]:
    """Turn a system error met while printing into an OutputError; a closed pipe stays what it is."""
    from neardup.outputs.atomic import output_error

    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise output_error("stdout", exc) from exc


@contextmanager
def usage_errors() -> Iterator[None]:
    """Make of an error in what was given one of usage, with the same words and exit code 2."""
    try:
        yield
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc


@contextmanager
def speaking() -> Iterator[None]:
    """While this lasts, stdout and stderr take every character: what their encoding lacks is spelled in ASCII."""
    with ExitStack() as stack:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stack.callback(_set_errors, stream, stream.errors)
                _set_errors(stream, FITTED)
        yield


def _set_errors(stream: io.TextIOWrapper, errors: str | None) -> None:
    if not stream.closed:
        stream.reconfigure(errors=errors)


@contextmanager
def safe_usage() -> Iterator[None]:
    """Make the messages of click safe: they repeat what was typed."""
    try:
        yield
    except click.ClickException as exc:
        if type(exc).__name__ == "NoArgsIsHelpError":  # of click 8.2: its message is the whole help
            raise
        safe = {"message", "ui_filename"} & vars(exc).keys()  # the second is FileError's
        vars(exc).update({name: _fit(shown(getattr(exc, name))) for name in safe})
        raise


def _fit(text: str) -> str:
    return fitted(text, getattr(sys.stderr, "encoding", None))


class Context(click.Context):
    """Help and usage as stdout and stderr can show them; click would write UTF-8 to a terminal of ASCII."""

    def get_help(self) -> str:
        return fitted(super().get_help(), getattr(sys.stdout, "encoding", None))

    def get_usage(self) -> str:
        return _fit(super().get_usage())
