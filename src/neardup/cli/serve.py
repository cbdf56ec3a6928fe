"""``neardup serve``: an index over HTTP; the service itself is in ``neardup.server``."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import forms, options
from neardup.cli.voice import say, usage_errors
from neardup.errors import InputError
from neardup.params import parse_memory
from neardup.server.limits import ServiceLimits

if TYPE_CHECKING:
    from neardup.server.tokens import TokenFile


def _seconds(value: Any) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise InputError(f"{value} is no number of seconds. Give a number above 0.")
    return seconds


_LIMITS = {
    "--max-query-size": ("query_bytes", "Largest body of a query."),
    "--max-document-size": ("document_bytes", "Largest body of a document, or line of a stream."),
    "--max-characters": ("characters", "Most characters of a text."),
    "--max-texts": ("texts", "Most texts of one query."),
    "--max-batch": ("batch", "Most documents that are written together."),
    "--max-buffered": ("buffered_bytes", "Largest size of the bodies of all requests together, in memory."),
    "--max-connections": ("connections", "Most connections at one time."),
    "--max-streams": ("streams", "Most streams of documents at one time."),
    "--max-waiting": (
        "waiting",
        "Requests that may wait for a thread, and as many for the writer; further ones are asked to try again later.",
    ),
    "--answer-seconds": ("answer_seconds", "Seconds for the answer to a request, after which it is given up."),
    "--receive-seconds": ("receive_seconds", "Seconds for a body, or a line of a stream, to arrive."),
    "--head-seconds": ("head_seconds", "Seconds for the head of a request to arrive."),
    "--stop-seconds": ("stop_seconds", "Seconds for running requests to finish when the service is stopped."),
}
"""Options, the fields of ``ServiceLimits`` that they set, and their help."""


def _limit(name: str, field: str, about: str) -> Callable[[Any], Any]:
    default = getattr(ServiceLimits(), field)
    if field.endswith("_bytes"):
        kind, metavar, shown = options.Checked("size", parse_memory), "SIZE", f"{default >> 20}MiB"
    elif field.endswith("_seconds"):
        kind, metavar, shown = options.Checked("seconds", _seconds), "S", f"{default:g}"
    else:
        kind, metavar, shown = options.whole(name.removeprefix("--"), 1), "N", default
    return click.option(name, field, type=kind, metavar=metavar, default=shown, show_default=True, help=about)


@forms.command(
    "serve", "serve news.index", "serve news.index --host 0.0.0.0 --port 80 --token-file token.txt --read-only"
)
@click.argument("index", metavar="INDEX", type=click.Path(path_type=Path))
@options.defaulted("--host", metavar="NAME", default="127.0.0.1", help="Address to listen on.")
@options.number("--port", (0, 65535), default=8000, help="Port to listen on; 0 takes a free one.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of tokens, of which every request must send one in the header Authorization: Bearer TOKEN. A line is a"
    " role, read or write, and a token or sha256: and its hash; a single word is a token for everything. The file is"
    " read again when it changes.  [default: none]",
)
@click.option("--no-token", is_flag=True, help="Let anyone in, on an address that other machines reach too.")
@click.option("--read-only", is_flag=True, help="Change nothing; another process may write the index at the same time.")
@options.number(
    "--threads",
    (1, None),
    help="Threads that read the index; one more writes it.  [default: one for each core, 4 at most]",
)
@options.together(*(_limit(name, *told) for name, told in _LIMITS.items()))
@click.option(
    "--access-log",
    type=click.Choice(("text", "json", "off")),
    default="off",
    show_default=True,
    help="Lines on stderr for each request: time, request id, method, route, status, bytes, milliseconds and role, as"
    " text or as JSON; no text of users. With a log of --log-format or --log-file they are records of that.",
)
@click.option("--quiet", "-q", is_flag=True, help="Say nothing on stderr but warnings and errors.")
@options.verbose
def serve(
    *,
    index: Path,
    host: str,
    port: int,
    token_file: Path | None,
    no_token: bool,
    read_only: bool,
    threads: int | None,
    access_log: str,
    voice: forms.Voice,
    **limits: Any,
) -> None:
    """Serve an index over HTTP, with a page for people at /.

    INDEX is the folder that `neardup index create` or `neardup index build` made. /openapi.json describes the
    requests. A line on stderr says when the service is ready and where; SIGTERM or Ctrl-C end it, after
    the requests at work are finished. What was acknowledged is on the disk.

    Without a token the service listens on this machine only, unless --no-token says that anyone may come in.

    Exit codes: 0 stopped by a signal, 1 failed, 2 wrong usage.
    """
    from neardup.server import check_installed

    check_installed()
    from neardup.server.run import serve
    from neardup.server.security import is_loopback

    if token_file is not None and no_token:
        raise click.UsageError("--token-file and --no-token exclude each other. Give one of them.")
    if token_file is None and not no_token and not is_loopback(host):
        raise click.UsageError(
            f"--host {host} is reached from other machines: give --token-file, or --no-token to let anyone in."
        )
    tokens = None if token_file is None else _tokens(token_file)
    if threads is not None:
        limits["threads"] = threads

    def ready(address: str) -> None:
        if not voice.quiet:
            kind = " for reading only" if read_only else ""
            say(f"serving {index} ({len(opened)} documents){kind} on {address}")

    from neardup.index.store import Index
    from neardup.logs import telling_faults
    from neardup.server.access import logging_to

    requests, faults = logging_to(None, access_log), telling_faults("neardup.server")
    with Index.open(index, read_only=read_only) as opened, requests, faults:
        serve(opened, host=host, port=port, tokens=tokens, limits=ServiceLimits(**limits), ready=ready)


def _tokens(file: Path) -> TokenFile:
    from neardup.server.tokens import TokenFile

    with usage_errors():
        tokens = TokenFile(file)
        warning = tokens.warning
    if warning is not None:
        say(f"warning: {warning}")
    return tokens
