"""``--log-level``, ``--log-format`` and ``--log-file``: the records of ``neardup.logs`` beside, or in place of, what is
said on stderr.

Without ``--log-file`` the records go to stderr, which then has nothing else: no bar, and what would be said to a person
is a record too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click

from neardup.cli import LOGGED, voice
from neardup.cli.options import INPUTS

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
NAMES = ("log_level", "log_format", "log_file")
FOLDERS = ("output", "report", "index", "others", "target")
"""Parameters that may be folders whose files are those of a command."""


def log_options() -> list[click.Option]:
    """The three options, which every command has."""
    option = partial(click.Option, expose_value=False)
    return [
        option(
            ["--log-level"],
            type=click.Choice(LEVELS),
            help="Log what happens, from this level on: stages with counts and seconds, records that are left out,"
            " the summary; no texts.  [default: no log, or info with the next two]",
        ),
        option(
            ["--log-format"],
            type=click.Choice(FORMATS),
            help="Lines of a log: text, or one JSON object each. Without --log-file they take the place of all that is"
            " said on stderr.  [default: text]",
        ),
        option(
            ["--log-file"],
            type=click.Path(),
            metavar="FILE",
            help="File that the log is written behind; what is said on stderr stays as it is.  [default: stderr]",
        ),
    ]


def begin(ctx: click.Context, given: Mapping[str, Any], words: tuple[str, ...]) -> None:
    """Set up the log that the options ask for, until the program ends; UsageError where its file cannot be written.

    ``given`` are the parameters that were given, ``words`` the name of the command.
    """
    if not any(name in given for name in NAMES):
        return
    from neardup._version import __version__
    from neardup.logs import RUN, fields, writing

    file = given.get("log_file")
    stack = ExitStack()
    level, format = given.get("log_level", "info"), given.get("log_format", "text")
    try:
        if file is not None:
            _check_name(ctx, given, file)
            _check_inputs(ctx, file)
        stack.enter_context(writing(level=level, format=format, file=file))
    except OSError as exc:
        raise click.UsageError(
            f"cannot write the log file {file}: {exc.strerror}. Name a file in a folder that is there."
        ) from exc
    command = f"neardup {' '.join(words)}"
    RUN.info("%s begins", command, extra=fields(event="began", command=command, version=__version__, pid=os.getpid()))
    if file is None:
        stack.enter_context(voice.diverted(lambda line: RUN.log(_level(line), line, extra=fields(event="said"))))
    ctx.find_root().call_on_close(stack.close)
    ctx.meta[LOGGED] = Log(is_alone=file is None, command=command)


def _level(line: str) -> int:
    import logging

    return logging.WARNING if line.lower().startswith("warning") else logging.INFO


def _check_name(ctx: click.Context, given: Mapping[str, Any], file: str) -> None:
    """Raise UsageError where the log is no file, or one that the run names for something else, or that it makes."""
    if file == "-":
        raise click.UsageError("--log-file - is no file. Leave it out, and give --log-format: lines go to stderr.")
    from neardup.inputs.walk import SPEC_SUFFIX

    real = os.path.realpath(file)
    for param in ctx.command.params:
        value = ctx.params.get(str(param.name), given.get(str(param.name)))
        if param.name == "log_file":
            continue
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(each, (str, os.PathLike)):
                continue
            what = max(param.opts, key=len) if isinstance(param, click.Option) else f"an argument ({param.name})"
            place = os.path.realpath(each)
            if real in (place, place + SPEC_SUFFIX):
                raise click.UsageError(f"{file} is the file of {what} too. Give --log-file another one.")
            if param.name in FOLDERS and real.startswith(os.path.join(place, "")):
                raise click.UsageError(f"{file} is in the folder of {what}. Give --log-file another place.")


def _check_inputs(ctx: click.Context, file: str) -> None:
    """Raise UsageError where the log would be read as one of the inputs, which are as they were then.

    A log without a line has one for as long: an empty file is no text, and not read.
    """
    inputs = [Path(each) for name in INPUTS for each in ctx.params.get(name) or ()]
    if not inputs:
        return
    from neardup.cli.targets import check_collisions

    real = os.path.realpath(file)
    is_new = not os.path.exists(real)
    is_empty = is_new or (os.path.isfile(real) and not os.path.getsize(real))
    if is_empty:
        Path(real).write_bytes(b"neardup\n")
    try:
        check_collisions(inputs, [file], glob=ctx.params.get("glob"))
    except click.UsageError:
        if is_new:
            os.unlink(real)
            is_empty = False
        raise
    finally:
        if is_empty:
            os.truncate(real, 0)


class Log:
    """What the ends of a command are written to."""

    def __init__(self, *, is_alone: bool, command: str) -> None:
        self.is_alone = is_alone
        """Whether stderr has the log, and nothing else."""
        self._command = command
        self._begin = time.perf_counter()

    def summary(self, closing: str, summary: Mapping[str, Any]) -> None:
        """Log the closing line, with the numbers of the summary."""
        from neardup.logs import RUN, counts, fields

        RUN.info("%s", closing.removeprefix("neardup: "), extra=fields(event="summary", summary=counts(summary)))

    def ended(self, code: int) -> None:
        """Log that the command has come to its end."""
        self._log("info", f"{self._command} ends", "ended", code)

    def failed(self, message: str, code: int) -> None:
        """Log that the command has failed, or was stopped."""
        self._log("error", message, "failed", code)

    def _log(self, level: str, message: str, event: str, code: int) -> None:
        from neardup.logs import RUN, fields

        took = round(time.perf_counter() - self._begin, 4)
        getattr(RUN, level)("%s", message, extra=fields(event=event, exit_code=code, seconds=took))
