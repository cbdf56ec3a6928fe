"""Reads documents in processes of their own (``child``), several at a time and each within its limits.

    read ── a free child, or a new one ──┬── its text
                                         ├── Unreadable: the document's own fault, or it takes too much time
                                         └── the child is lost: once more, in a new child that is alone with more memory

A document that ends its child costs that child and no other document. It gets a second attempt in a fresh process, so
that the answer depends neither on what was read there before nor on what is read beside it; so the memory of all is
bounded too: by the small limit for each child, and the large one for one child of the process at a time.

Children are started by the command line and not forked: this process has threads, whose locks a fork would copy as they
are. They are not those of ``multiprocessing`` either, which would run the user's script again.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from neardup.errors import InputError
from neardup.formats.documents import Unreadable, document_kind
from neardup.formats.documents.limits import LIMITS, MOST_BYTES, Limits, too_large
from neardup.formats.documents.protocol import (
    PASSED_MEMORY,
    PASSED_PROCESSOR,
    READ,
    READY,
    TEXT,
    UNREADABLE,
    GarbledError,
    receive,
    send,
)
from neardup.formats.streams import ByteStream

__all__ = ["Readers"]

_START = (
    "import json, sys\n"
    "told = json.loads(sys.stdin.buffer.readline())\n"
    "sys.path[:] = told['path']\n"
    "from neardup.formats.documents.child import main\n"
    "main(told['memory'])\n"
)
_START_SECONDS = 120.0
_END_SECONDS = 5.0
_MOST_FAULT = 1 << 16
_ALONE = threading.Lock()
"""Held while a document is read with the large limit of memory."""
_CURE = "Open it in its program and save it anew, or leave it out."


class _LostError(Exception):
    """A child ended inside a document, or answered nonsense."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.cure = cure


class Readers:
    """Children that read documents, for the threads of one run; started when they are needed.

    They end with ``close``, or when nobody holds this object any more, or with this process however it ends.
    """

    def __init__(self, *, limits: Limits | None = None, most: int | None = None) -> None:
        """Make ready; nothing is started.

        Args:
            limits: of each document; None: those of ``limits``.
            most: children at a time; None: as many as the machine has processors.
        """
        self._limits = limits or LIMITS
        self._most = most if most is not None else os.cpu_count() or 1
        self._free: list[_Child] = []
        self._started = 0
        self._is_closed = False
        self._changed = threading.Condition()
        weakref.finalize(self, _end_all, self._free)

    def read(
        self, path: str, *, stream: ByteStream | None = None, encoding: str = "utf-8", boilerplate: str = "keep"
    ) -> str:
        """The text of a document, as ``read_document`` gives it; may be called in several threads.

        Args:
            path: a file whose suffix tells its kind.
            stream: the file, where it is open already; it is read to a temporary file first.
            encoding, boilerplate: as of ``read_document``.

        Raises:
            Unreadable: as ``read_document``; or it takes too much time or memory, or the reader crashes on it.
            InputError: no child can be started, or there is no room for the temporary file.
        """
        with _on_disk(path, stream) as place:
            request = {"path": place, "encoding": encoding, "boilerplate": boilerplate}
            try:
                size = os.stat(place).st_size
            except OSError:
                size = 0  # the child says best why it cannot be opened
            try:
                return self._read_beside(request, size)
            except _LostError:
                return self._read_alone(request, size)

    def close(self) -> None:
        """End the children that are free, and the others when they are. Documents can still be read."""
        with self._changed:
            self._is_closed = True
            free = self._free[:]
            self._free.clear()
            self._started -= len(free)
        _end_all(free)

    def _read_beside(self, request: dict[str, Any], size: int) -> str:
        """Read in one of the children, beside others."""
        child = self._take()
        try:
            return child.read(request, size)
        finally:
            self._give_back(child)

    def _read_alone(self, request: dict[str, Any], size: int) -> str:
        """Read in a new child with the large limit of memory."""
        with _ALONE:
            while True:
                try:
                    child = _Child(self._limits, self._limits.memory)
                    break
                except OSError as exc:
                    with self._changed:
                        other = self._free.pop() if self._free else None
                    if other is None:
                        raise _no_child(exc) from exc
                    self._give_up(other)
            try:
                return child.read(request, size)
            except _LostError as exc:
                raise Unreadable(exc.reason, exc.cure) from exc
            finally:
                child.end()

    def _take(self) -> _Child:
        """A free child, or a new one; waits where there are as many as may be."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._free or self._started < self._most)
                if self._free:
                    return self._free.pop()
                self._started += 1
            try:
                return _Child(self._limits, self._limits.shared_memory)
            except BaseException as exc:
                with self._changed:
                    self._started -= 1
                    others = self._started
                    if isinstance(exc, OSError) and others:  # no more files or processes: those that there are must do
                        self._most = others
                        continue
                    self._changed.notify()
                if isinstance(exc, OSError):
                    raise _no_child(exc) from exc
                raise

    def _give_back(self, child: _Child) -> None:
        with self._changed:
            if child.is_well and not self._is_closed:
                self._free.append(child)
                self._changed.notify()
                return
        self._give_up(child)

    def _give_up(self, child: _Child) -> None:
        child.end()
        with self._changed:
            self._started -= 1
            self._changed.notify()


class _Child:
    """A process that reads documents, one after the other."""

    def __init__(self, limits: Limits, memory: int) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self._limits = limits
        self._memory = memory
        self._number = 0
        self._is_late = False
        self.is_well = False
        """It is between two documents, and has answered all that it was asked."""
        flags = ["-P", "-W", "ignore", "-X", f"utf8={sys.flags.utf8_mode}"]  # -P: nothing of the current folder
        if sys.dont_write_bytecode:
            flags.append("-B")
        try:
            self._process = subprocess.Popen(
                [_python(), *flags, "-c", _START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except subprocess.SubprocessError as exc:
            raise OSError(str(exc)) from exc
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        try:
            self._greet()
        except BaseException:
            self.end()
            raise

    def _greet(self) -> None:
        """Tell the child where libraries are, and wait until it is there."""
        told = {"path": [each for each in sys.path if isinstance(each, str)], "memory": self._memory}
        errors = self._process.stderr
        assert errors is not None
        try:
            with self._within(_START_SECONDS):
                self._requests.write(json.dumps(told).encode("ascii") + b"\n")
                self._requests.flush()
                _, kind, _ = receive(self._answers, 0)
            if kind != READY:
                raise GarbledError
        except (EOFError, OSError, GarbledError) as exc:
            self._process.kill()
            said = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            code = self._process.wait()
            raise OSError(f"{os.fsdecode(_python())} ended with {_ending(code)}: {said}".rstrip(": ")) from exc
        errors.close()
        self.is_well = True

    def read(self, request: dict[str, Any], size: int) -> str:
        """The text of a document.

        Args:
            request: arguments of ``read_document``.
            size: bytes of the file.

        Raises:
            Unreadable: it gives no text, or takes too much time.
            _LostError: it takes too much memory, or the child broke on it.
        """
        self.is_well = self._is_late = False
        self._number += 1
        seconds = self._limits.processor(size)
        asked = json.dumps({**request, "seconds": seconds}).encode("ascii")
        try:
            with self._within(self._limits.wall(size)):
                send(self._requests, self._number, READ, asked)
                number, kind, content = receive(self._answers, MOST_BYTES)
        except (EOFError, OSError) as exc:
            raise self._fault(seconds, size) from exc
        except GarbledError as exc:
            raise _nonsense() from exc
        if number != self._number:
            raise _nonsense()
        if kind == TEXT:
            text = _text(content)
            self.is_well = True
            return text
        if kind != UNREADABLE:
            raise _nonsense()
        reason, cure = _reason(content)
        self.is_well = True
        # in no variable: its traceback would hold this frame, and so the readers, until somebody looks for cycles
        raise Unreadable(reason, cure)

    def _fault(self, seconds: float, size: int) -> Unreadable | _LostError:
        """Why the child ended."""
        code = self._code()
        if self._is_late:
            minutes = self._limits.wall(size) / 60
            return Unreadable(f"reading it takes more than {minutes:,.0f} minutes", _CURE)
        if code == PASSED_PROCESSOR or _ending(code) == "SIGXCPU":
            return Unreadable(f"reading it takes more than {seconds:,.0f} seconds of processor time", _CURE)
        if code == PASSED_MEMORY:
            most = self._memory >> 20
            return _LostError(f"reading it takes more than {most:,} MB of memory", "Split it, or leave it out.")
        return _LostError(f"its reader crashed on it ({_ending(code)})", _CURE)

    def _code(self) -> int | None:
        """Its exit code, after its answers have ended; None if it cannot be ended."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=_END_SECONDS)
        self.end()
        return self._process.returncode

    def end(self) -> None:
        """End it, whatever it does."""
        self.is_well = False
        process = self._process
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):  # what was not sent cannot be
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):  # a disk that does not answer may hold it
            process.wait(timeout=_END_SECONDS)

    @contextmanager
    def _within(self, seconds: float) -> Iterator[None]:
        """End the child if what is done here takes longer by the clock; waiting for pipes has no other way to end."""
        timer = threading.Timer(seconds, self._end_late)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _end_late(self) -> None:
        self._is_late = True
        self._process.kill()


def _end_all(children: list[_Child]) -> None:
    for child in children:
        child.end()


def _python() -> str:
    """The interpreter that is to be started, as ``multiprocessing`` knows it.

    Raises:
        OSError: there is none.
    """
    from multiprocessing.spawn import get_executable

    found = os.fsdecode(get_executable() or b"")
    if not found or (getattr(sys, "frozen", False) and found == sys.executable):
        raise OSError("no interpreter of Python is known; name one with multiprocessing.set_executable")
    return found


def _no_child(exc: OSError) -> InputError:
    return InputError(
        f"documents are read in processes of their own, and none can be started: {exc}. Free memory, or raise the "
        "limits of open files and of processes (ulimit -n, ulimit -u)."
    )


@contextmanager
def _on_disk(path: str, stream: ByteStream | None) -> Iterator[str]:
    """The absolute path of a file that a child can open; of what is no file, a copy of its bytes."""
    if stream is None:
        yield os.path.abspath(path)
        return
    folder = tempfile.mkdtemp(prefix="neardup-")
    try:
        place = os.path.join(folder, f"document{document_kind(path)}")
        _copy(path, stream, place)
        yield place
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(path: str, stream: ByteStream, place: str) -> None:
    """Write what comes through a pipe to a file."""
    buffer = memoryview(bytearray(1 << 20))
    size = 0
    try:
        with stream, open(place, "wb") as file:
            while got := stream.fill(buffer):
                size += got
                if size > MOST_BYTES:
                    raise too_large()
                file.write(buffer[:got])
    except InputError as exc:
        raise Unreadable(str(exc).removeprefix(f"{path} ").rstrip("."), "") from exc
    except OSError as exc:
        raise InputError(
            f"{path} is no file, and its bytes cannot be kept in {os.path.dirname(place)}: {exc.strerror}. Make room, "
            "or name another folder by the variable TMPDIR."
        ) from exc


def _text(content: bytes) -> str:
    """What a child gives as a text.

    Raises:
        _LostError: it is none.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise _nonsense() from exc
    if not text or "\0" in text:
        raise _nonsense()
    return text


def _reason(content: bytes) -> tuple[str, str]:
    """Reason and cure, as a child gives them.

    Raises:
        _LostError: it gives something else.
    """
    try:
        reason, cure = json.loads(content[:_MOST_FAULT])
    except (ValueError, TypeError, RecursionError) as exc:
        raise _nonsense() from exc
    if not isinstance(reason, str) or not isinstance(cure, str):
        raise _nonsense()
    return _shown(reason), _shown(cure)


def _shown(said: str) -> str:
    """Without what a terminal would obey: names in a document may be made for it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said)


def _nonsense() -> _LostError:
    return _LostError("its reader answered what is no text", _CURE)


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
