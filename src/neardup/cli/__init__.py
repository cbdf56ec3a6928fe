"""The command line: the group ``neardup``, which loads a command only when it is called.

Here: finding the commands and turning every way to end into an exit code: 0 done, 1 failed, 2 usage, 130 stopped by
Ctrl-C. This module and ``options`` import click, errors and params only, so ``neardup --help`` is instant.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from neardup._version import __version__
from neardup.cli.voice import Context, safe_usage, say, speaking
from neardup.errors import FormatError, InputError, NeardupError, did_you_mean
from neardup.shown import fitted, shown

try:
    import resource  # now: where memory is short, a library can no longer be loaded to say so
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_OBJECTS = 200_000
"""New objects after which circles are looked for. Loading the libraries makes 135,000; Python would look 200 times."""
_COMMANDS = {
    "audit": ("neardup.cli.audit", "Measure the recall and the precision of a search on its own collection."),
    "compare": ("neardup.cli.compare", "Compare two texts: every measure, and what they share."),
    "completion": ("neardup.cli.completion", "Print the script that makes a shell complete neardup."),
    "dedup": ("neardup.cli.dedup", "Copy a collection without its near-duplicates, and say why each was removed."),
    "demo": ("neardup.cli.demo", "Find and report on a small collection that comes with neardup."),
    "explain": ("neardup.cli.explain", "Show every step of the method on a few small documents."),
    "figures": ("neardup.cli.figures", "Draw what the method does on a collection."),
    "find": ("neardup.cli.find", "Find the near-duplicate pairs of a collection, and their clusters."),
    "index": ("neardup.cli.index", "Keep a collection that grows: add, remove, query documents."),
    "passages": ("neardup.cli.passages", "Find passages that stand at several places, and cut the copies."),
    "plan": ("neardup.cli.plan", "Choose bands, and predict candidates, memory and time before a run."),
    "report": ("neardup.cli.report", "Make pages that show what is found in a collection."),
    "serve": ("neardup.cli.serve", "Serve an index over HTTP."),
    "tune": ("neardup.cli.tune", "Find settings by asking which pairs are duplicates."),
}
"""Name of each command, the module that has it under that name, and its line in the help."""

interrupted = threading.Event()
"""Whether Ctrl-C was heard since the command began."""
VERBOSE = "neardup.verbose"
"""Key in the context's ``meta``: whether --verbose was given (unexpected errors then show where)."""
WRITTEN = "neardup.written"
"""Key in the context's ``meta``: the outputs that are complete already, for the message on Ctrl-C."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a file that takes no more."""
TYPED = "neardup.typed"
"""Key in the context's ``meta``, while a shell completes: the words before the one at hand. Click has not parsed them
all, for the option at hand has no value yet."""
LOGGED = "neardup.logged"
"""Key in the context's ``meta``: the log of the run (``logged.Log``), where there is one."""
WORK = "neardup.work"
"""Key in the context's ``meta``: the workdir that a run may leave behind, from which it can be resumed, and what tells
whether it has."""


class LazyGroup(click.Group):
    """A group whose commands are imported on demand: neither its help nor a mistyped command imports any."""

    context_class = Context

    def __init__(self, *args: Any, registry: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.registry = registry
        """Name of each command, the module that has it, and its line in the help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.registry)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.registry:
            return None
        module = importlib.import_module(self.registry[cmd_name][0])
        found: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.registry[name][1]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Offer the commands without importing them, and the options."""
        from neardup.cli.completing import offered

        names = [(name, self.registry[name][1]) for name in self.list_commands(ctx)]
        return [*offered(names, incomplete), *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names, or say which one is near."""
        if args and not args[0].startswith("-") and args[0] not in self.registry:
            near = did_you_mean(args[0], self.registry) or f" Known are {', '.join(sorted(self.registry))}."
            ctx.fail(f"No such command {args[0]!r}.{near}")
        return super().resolve_command(ctx, args)


class Commands(LazyGroup):
    """The group of all: what its commands raise becomes a message and an exit code."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run with stdout and stderr that take every character; help that stdout does not take is an error too."""
        gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
        with speaking():
            try:
                return super().main(*args, **extra)
            except OSError as exc:
                say(f"Error: {_no_room(exc)}")
                silence_stdout()
                sys.exit(1)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with safe_usage():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and log its failure where there is a log."""
        try:
            return self._invoke(ctx)
        except click.ClickException as exc:
            if (log := ctx.meta.get(LOGGED)) is not None:
                log.failed(exc.logged if isinstance(exc, _Failure) else exc.format_message(), exc.exit_code)
                if log.is_alone:
                    exc.show = lambda file=None: None  # type: ignore[method-assign]
            raise

    def _invoke(self, ctx: click.Context) -> Any:
        """Run the command; every error that is no usage error ends here."""
        try:
            with _listening(), safe_usage():
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            stop_now(ctx)
        except BrokenPipeError:
            silence_stdout()
            ctx.exit(0)
        except NeardupError as exc:
            raise _failed(ctx, str(exc), by_input=isinstance(exc, (InputError, FormatError))) from exc
        except MemoryError as exc:
            cure = _raise_limit() or "Close other programs, or give a limit with --memory."
            raise _failed(ctx, f"out of memory. {cure}") from exc
        except Exception as exc:
            if interrupted.is_set():
                stop_now(ctx)  # it came inside compiled code, which makes another exception of it
            if isinstance(exc, OSError) and exc.errno in _FULL and exc.filename is None:
                raise _failed(ctx, _no_room(exc)) from exc
            if isinstance(exc, (ImportError, OSError, RuntimeError, SystemError)) and (cure := _raise_limit()):
                # Libraries that cannot be mapped and threads that cannot be started end in any of these.
                fault = str(exc).strip().splitlines() or [type(exc).__name__]
                raise _failed(ctx, f"cannot go on: {fault[-1].strip(' .')}. {cure}") from exc
            import traceback

            from neardup.logs import kind_of

            names = " and ".join(sorted(name for name in os.environ if name.startswith("NUMBA_")))
            if names and f"{os.sep}numba{os.sep}" in traceback.extract_tb(exc.__traceback__)[-1].filename:
                cure = f"Remove {names} from the environment, or correct it."
                raise _failed(ctx, f"numba cannot work here: {str(exc).rstrip('.')}. {cure}") from exc

            more = "" if ctx.meta.get(VERBOSE) else " Run again with --verbose for the details."
            ours = f"This is a fault in neardup {__version__}; report it with the command that you ran.{more}"
            message = f"unexpected {type(exc).__name__}: {exc}. {ours}"
            raise _failed(ctx, message, logged=f"unexpected {kind_of(exc)}. {ours}") from exc


def _no_room(exc: OSError) -> str:
    return f"cannot write: {exc.strerror or exc}. Free some space, or write to another disk."


def _raise_limit() -> str:
    """The cure where the address space is limited, of which libraries map far more than they use; else empty."""
    if resource is None or (limit := resource.getrlimit(resource.RLIMIT_AS)[0]) == resource.RLIM_INFINITY:
        return ""
    return f"The address space is limited to {limit / 1e6:.0f} MB here; libraries map much of it. Raise ulimit -v."


@contextmanager
def _listening() -> Iterator[None]:
    """Remember Ctrl-C: code of a library that is being imported may swallow the exception that it raises."""
    plain = signal.getsignal(signal.SIGINT)
    if plain is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return

    def hear(number: int, frame: object) -> NoReturn:
        interrupted.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, plain)
        interrupted.clear()


class _Failure(click.ClickException):
    """What ends a command, with what a log says of it: nothing that foreign errors say, which may quote a document."""

    def __init__(self, message: str, logged: str) -> None:
        super().__init__(message)
        self.logged = logged


def _failed(ctx: click.Context, message: str, *, logged: str | None = None, by_input: bool = False) -> _Failure:
    """What ends the command with a message, behind the traceback of the error at hand if --verbose asks for it.

    ``logged`` is the message for a log, where that is another one.
    """
    if ctx.meta.get(VERBOSE):
        log = ctx.meta.get(LOGGED)
        say(*_traceback(is_for_log=log is not None and log.is_alone).rstrip("\n").split("\n"))
    left = _work_left(ctx, by_input=by_input)
    on_stderr, in_log = (
        "\n".join(shown(line) for line in (each, left) if line) for each in (message, logged or message)
    )
    return _Failure(fitted(on_stderr, getattr(sys.stderr, "encoding", None)), in_log)


def _traceback(*, is_for_log: bool) -> str:
    import traceback

    from neardup.logs import traced

    error = sys.exception()
    return traced(error) if is_for_log and error is not None else traceback.format_exc()


def _work_left(ctx: click.Context, *, by_input: bool = False) -> str:
    """How to go on from the workdir that a run has left behind; empty when there is none.

    Work is for inputs as they were, so who has to mend one cannot go on.
    """
    place, is_there = ctx.meta.get(WORK, (None, bool))
    if not is_there():
        return ""  # none was needed, or a run that was done has begun to remove it
    if by_input:
        return f"The work so far is in {place}: with all inputs as they are --resume goes on from it, else delete it."
    return f"The work so far is in {place}: continue with the same command and --resume, or delete it."


def stop_now(ctx: click.Context) -> NoReturn:
    """End the process at once with 130: threads at work would otherwise hold the exit up until they are done."""
    written = ctx.meta.get(WRITTEN)
    ending = f"complete before that: {', '.join(written)}" if written else "nothing written"
    on_its_line = [""] if sys.stderr is not None and sys.stderr.isatty() else []  # after the ^C of the terminal
    left = _work_left(ctx)
    if (log := ctx.meta.get(LOGGED)) is not None:
        log.failed(". ".join(filter(None, (f"interrupted, {ending}", left))), 130)
    if log is None or not log.is_alone:
        say(*on_its_line, f"interrupted, {ending}", *([left] if left else []))
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue
    os._exit(130)


def silence_stdout() -> None:
    """After a closed pipe: let what is still buffered go nowhere, so that Python does not complain at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError, AttributeError):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 lives as long as the process


@click.group(
    cls=Commands,
    registry=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="\b\nExamples:\n"
    "  neardup find corpus/ -t 0.8\n"
    "  neardup dedup docs.jsonl -o clean.jsonl --removed removed.csv",
)
@click.version_option(__version__, prog_name="neardup", message="%(prog)s %(version)s")
def main() -> None:
    """Find the near-duplicates of a collection of texts, or of any sets.

    Every reported pair has its exact Jaccard similarity, and a pair at the threshold is found with the
    promised probability. `neardup COMMAND --help` shows the options of a command. Each of them can be set
    by a variable of the environment too, such as NEARDUP_FIND_THRESHOLD; what is typed wins.
    """
