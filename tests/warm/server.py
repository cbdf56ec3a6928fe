"""The process that has loaded everything and forks for each run: ``python -m tests.warm.server FOLDER``.

It loads only the library of kernels, or Numba, by itself. Each run tells at its end which modules and which compiled
kernels it had to load that the server has not; the server loads the same, and the next run of that kind finds them
there. So the server never runs a line of a command itself, and what a run finds is what a start would have given it: no
cache is filled, no pool is made, no seed is drawn. It has one thread, and refuses to fork otherwise.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import importlib
import io
import os
import pickle
import runpy
import selectors
import signal
import socket
import sys
import threading
import types
import warnings
from pathlib import Path
from typing import Any

from tests.warm.compiling import watch_compiling
from tests.warm.shim import receive, send, surroundings

OWN = frozenset(
    {"COLUMNS", "LINES", "OLDPWD", "PATH", "PWD", "PYTEST_CURRENT_TEST", "SHLVL", "TERM", "_", "_RJEM_MALLOC_CONF"}
)
"""Variables that may differ between runs: they are read when they are needed, never kept at the start; the last is set
by polars, for itself, when a test imports it."""
MORE = "PYTHONPATH"
"""The variable that may name more places behind those of the server."""
STRICT = ["-X", "faulthandler", "-W", "error"]
"""The only options of Python that a fork can be given."""
LIBRARIES = frozenset(
    {"neardup", "numpy", "numba", "llvmlite", "pyarrow", "pandas", "click", "rich", "jinja2", "markupsafe"}
    | {"matplotlib", "PIL", "starlette", "uvicorn", "msgspec"}
)
"""What the server loads when a run has loaded it, beside the standard library."""
NOT_LOADED = frozenset({"antigravity", "this", "idlelib", "turtle", "tkinter", "readline", "faulthandler"})


class Server:
    """Listens, forks, tells how each run ended, and learns from it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._plain = dict(os.environ)
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # here alone, so that NumPy starts no thread
        self._running: dict[int, socket.socket] = {}
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / "socket"))
        self._listening.listen(64)
        self._ended, wakeup = socket.socketpair()
        self._wakeup = wakeup
        wakeup.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(wakeup.fileno())
        self._waiting = selectors.DefaultSelector()
        for source in (self._listening, self._ended, 0):  # stdin ends with the process that started this one
            self._waiting.register(source, selectors.EVENT_READ)

    def next_run(self) -> list[str]:
        """Serve until there is a run; returns its arguments, in the process forked for it and nowhere else."""
        while True:
            for key, _ in self._waiting.select():
                if key.fileobj == 0:
                    self._stop()
                elif key.fileobj is self._ended:
                    self._ended.recv(1 << 10)
                    self._reap()
                elif key.fileobj is self._listening:
                    arguments = self._begin(self._listening.accept()[0])
                    if arguments is not None:
                        return arguments
                else:  # a client sends nothing after its request: it has gone
                    self._give_up(key.fileobj)

    def _stop(self) -> None:
        for pid in self._running:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)

    def _give_up(self, connection: Any) -> None:
        for pid, other in self._running.items():
            if other is connection:
                os.kill(pid, signal.SIGKILL)
        self._waiting.unregister(connection)

    def _reap(self) -> None:
        while self._running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            connection = self._running.pop(pid)
            if connection.fileno() in self._waiting.get_map():
                self._waiting.unregister(connection)
            with contextlib.suppress(OSError), connection:  # where nobody waits for it any more
                send(connection, os.waitstatus_to_exitcode(status), [])
            self._learn(pid)

    def _begin(self, connection: socket.socket) -> list[str] | None:
        request, streams = receive(connection, 3)
        if request is None:
            connection.close()
            return None
        arguments, folder, environment, around = request  # type: ignore[misc]
        if not _is_known(arguments) or self._differs(environment) or around != surroundings():
            send(connection, None, [])
            connection.close()
        else:
            gc.freeze()  # what is there is never looked at again, so its memory stays shared
            with warnings.catch_warnings():
                warnings.simplefilter("error", DeprecationWarning)  # which Python gives where a process has threads
                pid = os.fork()
            if pid == 0:
                self._become(folder, environment, streams)
                return arguments
            send(connection, pid, [])
            self._running[pid] = connection
            self._waiting.register(connection, selectors.EVENT_READ)
        for stream in streams:
            os.close(stream)
        return None

    def _differs(self, environment: dict[str, str]) -> bool:
        return any(
            environment.get(name) != self._plain.get(name)
            for name in environment.keys() | self._plain.keys()
            if name not in OWN and name != MORE
        ) or not environment.get(MORE, "").startswith(self._plain[MORE])

    def _become(self, folder: str, environment: dict[str, str], streams: list[int]) -> None:
        """Make the process that was forked just now what a new one would be."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._waiting.close()
        for other in (self._listening, self._ended, self._wakeup, *self._running.values()):
            other.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.path += environment[MORE].removeprefix(self._plain[MORE]).split(os.pathsep)[1:]
        sys.stdin = sys.__stdin__ = _stream(0, "r", sys.stdin)
        sys.stdout = sys.__stdout__ = _stream(1, "w", sys.stdout)
        sys.stderr = sys.__stderr__ = _stream(2, "w", sys.stderr)
        atexit.register(_tell, self._folder / str(os.getpid()), frozenset(sys.modules))

    def _learn(self, pid: int) -> None:
        """Load what a run has had to load."""
        told = self._folder / str(pid)
        if not told.exists():
            return  # it was ended
        modules, kernels = pickle.loads(told.read_bytes())
        told.unlink()
        for name in modules:
            importlib.import_module(name)
        for module, name, signatures in kernels:
            dispatcher = getattr(sys.modules[module], name)
            for signature in signatures:
                if signature not in dispatcher.overloads:
                    dispatcher.compile(signature)


def _is_known(arguments: list[str]) -> bool:
    """Whether they begin as those that ``_run`` understands."""
    rest = arguments[len(STRICT) :] if arguments[: len(STRICT)] == STRICT else arguments
    return rest[:1] in (["-m"], ["-c"])


def _stream(number: int, mode: str, like: Any) -> Any:
    """A standard stream as Python makes it at its start; ``like`` is how it made that of the server."""
    buffering = -1 if isinstance(like.buffer, io.BufferedIOBase) else 0  # none with PYTHONUNBUFFERED
    binary = open(number, f"{mode}b", buffering=buffering, closefd=False)  # noqa: SIM115 for the whole run
    getattr(binary, "raw", binary).name = like.name
    made = io.TextIOWrapper(binary, encoding=like.encoding, errors=like.errors, newline="\n")
    made.mode = mode  # type: ignore[misc]
    made.reconfigure(line_buffering=like.line_buffering, write_through=like.write_through)
    return made


def _tell(target: Path, known: frozenset[str]) -> None:
    """At the end of a run: the modules that it loaded beside those ``known``, and its compiled kernels."""
    modules = [name for name, module in list(sys.modules.items()) if name not in known and _is_loadable(name, module)]
    target.with_suffix(".part").write_bytes(pickle.dumps((modules, _kernels())))
    target.with_suffix(".part").rename(target)


def _is_loadable(name: str, module: Any) -> bool:
    top = name.partition(".")[0]
    wanted = top in LIBRARIES or (top in sys.stdlib_module_names and top not in NOT_LOADED)
    return wanted and getattr(module, "__spec__", None) is not None and name != "neardup.__main__"


def _kernels() -> list[tuple[str, str, list[Any]]]:
    """Module, name and signatures of every kernel that was loaded or compiled, parts of others left out."""
    if "numba" not in sys.modules:
        return []
    from numba.core.dispatcher import Dispatcher

    found = []
    for module in [name for name in sys.modules if name.startswith("neardup.kernels.")]:
        for name, value in vars(sys.modules[module]).items():
            own = isinstance(value, Dispatcher) and value.__module__ == module
            if own and value.signatures and value.stats.cache_path is not None:
                found.append((module, name, list(value.signatures)))
    return found


def _run(arguments: list[str]) -> None:
    """What ``python`` does with these arguments."""
    if arguments[: len(STRICT)] == STRICT:
        faulthandler.enable()
        warnings.simplefilter("error")
        arguments = arguments[len(STRICT) :]
    flag, what, *rest = arguments
    if flag == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = [what, *rest]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = ""
        sys.argv = [flag, *rest]
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        vars(main)["__builtins__"] = __builtins__
        exec(compile(what, "<string>", "exec"), vars(main))


def _run_and_end(arguments: list[str]) -> None:
    """Run, and end as Python ends but for taking its modules apart, which would copy all memory that is shared."""
    code: Any = 0
    try:
        _run(arguments)
    except SystemExit as end:
        code = end.code
        if not (code is None or isinstance(code, int)):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError as exc:  # as Python has it
            print(f"Exception ignored in: {stream!r}\n{type(exc).__name__}: {exc}", file=sys.stderr)
            code = 120
    os._exit((code or 0) & 255)


if __name__ == "__main__":
    server = Server(Path(sys.argv[1]))
    watch_compiling()
    print("ready", flush=True)
    _run_and_end(server.next_run())
