"""One process that reads documents, from the side of the run: started, asked, held to the clock, and ended.

It is not forked: this process has threads, whose locks a fork would copy as they are.
It is not one of ``multiprocessing`` either, which would run the user's script again. What it answers is believed only
as far as it can be a text, or a fault.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from neardup.inputs.documents import PagedText, Unreadable
from neardup.inputs.documents import child as protocol

_START = (
    "import json, sys\n"
    "told = json.loads(sys.stdin.buffer.readline())\n"
    "sys.path[:] = told['path']\n"
    "from neardup.inputs.documents.child import main\n"
    "main(told['memory'])\n"
)
_START_SECONDS = 120.0
_END_SECONDS = 5.0
_MOST_FAULT = 1 << 16
_CURE = "Open it in its program and save it again, or leave it out."


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one document may take, so that none can stop a run or take the memory of the machine.

    Processor time and memory are measured in the child that reads; wall time by whoever waits for it, as a last
    resort, since it depends on what else the machine does. None depends on ``--memory`` or ``--threads``.
    """

    seconds: float = 30.0
    """Processor time: a PDF of a thousand pages takes about 3."""
    seconds_per_mb: float = 2.0
    """And for each 10^6 bytes of its file: large ones of few words take about 0.1."""
    memory: int = 1 << 30
    """Resident bytes of the process that reads it, which is alone with this much."""
    shared_memory: int = 256 << 20
    """Resident bytes at the first attempt, which several make at a time. A reader takes 20 to 60 MB as a rule."""
    wall_times: float = 10.0
    """How many times its processor time it may take by the clock, on a machine that has other work."""
    wall_seconds: float = 600.0
    """And seconds beside, for a disk or a network that is slow to answer."""

    def processor(self, size: int) -> float:
        """Seconds of processor time for a file of ``size`` bytes."""
        return self.seconds + self.seconds_per_mb * size / 1e6

    def wall(self, size: int) -> float:
        """Seconds by the clock for a file of ``size`` bytes."""
        return self.wall_seconds + self.wall_times * self.processor(size)


LIMITS = Limits()


class LostError(Unreadable):
    """A child ended inside a document, or answered nonsense."""


class Child:
    """A process that reads documents, one after the other."""

    def __init__(self, limits: Limits, memory: int) -> None:
        """Start it; OSError when it cannot be started."""
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
                _, kind, _ = protocol.receive(self._answers, 0)
            if kind != protocol.READY:
                raise protocol.GarbledError
        except (EOFError, OSError, protocol.GarbledError) as exc:
            self._process.kill()
            said = errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            code = self._process.wait()
            raise OSError(f"{os.fsdecode(_python())} ended with {_ending(code)}: {said}".rstrip(": ")) from exc
        errors.close()
        self.is_well = True

    def read(self, request: dict[str, Any], size: int) -> str:
        """The text of a document of ``size`` bytes; ``request``: arguments of ``read_document``.

        Raises:
            Unreadable: it gives no text, or takes too much time.
            LostError: it takes too much memory, or the child broke on it.
        """
        self.is_well = self._is_late = False
        self._number += 1
        seconds = self._limits.processor(size)
        asked = json.dumps({**request, "seconds": seconds}).encode("ascii")
        try:
            with self._within(self._limits.wall(size)):
                protocol.send(self._requests, self._number, protocol.READ, asked)
                number, kind, content = protocol.receive(self._answers, protocol.MOST_ANSWER)
            if number != self._number:
                raise protocol.GarbledError
            found = _understood(kind, content)
        except (EOFError, OSError) as exc:
            raise self._fault(seconds, size) from exc
        except (protocol.GarbledError, ValueError, TypeError, RecursionError) as exc:
            raise LostError("its reader answered what is no text", _CURE) from exc
        self.is_well = True
        if isinstance(found, str):
            return found
        # in no variable: its traceback would hold this frame, and so the readers, until somebody looks for cycles
        raise Unreadable(*found)

    def _fault(self, seconds: float, size: int) -> Unreadable | LostError:
        """Why the child ended."""
        code = self._code()
        if self._is_late:
            minutes = self._limits.wall(size) / 60
            return Unreadable(f"reading it takes more than {minutes:,.0f} minutes", _CURE)
        if code == protocol.PASSED_PROCESSOR or _ending(code) == "SIGXCPU":
            return Unreadable(f"reading it takes more than {seconds:,.0f} seconds of processor time", _CURE)
        if code == protocol.PASSED_MEMORY:
            most = self._memory >> 20
            return LostError(f"reading it takes more than {most:,} MB of memory", "Split it, or leave it out.")
        return LostError(f"its reader crashed on it ({_ending(code)})", _CURE)

    def _code(self) -> int | None:
        """Its exit code, after its answers have ended; None if it cannot be ended."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout=_END_SECONDS)
        self.end()
        return self._process.returncode

    def end(self) -> None:
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


def _python() -> str:
    """The interpreter that is to be started, as ``multiprocessing`` knows it; OSError when there is none."""
    from multiprocessing.spawn import get_executable

    found = os.fsdecode(get_executable() or b"")
    if not found or (getattr(sys, "frozen", False) and found == sys.executable):
        raise OSError("no interpreter of Python is known; name one with multiprocessing.set_executable")
    return found


def _understood(kind: bytes, content: bytes) -> str | tuple[str, str]:
    """What a child answers: a text, or the reason why there is none, and the cure. Errors mean that it is neither."""
    if kind in (protocol.TEXT, protocol.PAGED):
        starts, _, blob = content.partition(b"\n") if kind == protocol.PAGED else (b"", b"", content)
        text = blob.decode("utf-8")
        if text and "\0" not in text:
            return text if kind == protocol.TEXT else _paged(text, json.loads(starts))
    elif kind == protocol.UNREADABLE:
        reason, cure = json.loads(content[:_MOST_FAULT])
        if isinstance(reason, str) and isinstance(cure, str):
            return _shown(reason), _shown(cure)
    raise protocol.GarbledError


def _paged(text: str, starts: object) -> PagedText:
    """A text with the beginnings of its pages; GarbledError when they cannot be those."""
    if not isinstance(starts, list) or not starts or not all(type(start) is int for start in starts):
        raise protocol.GarbledError
    if [0, *starts, len(text)] != sorted([0, *starts, len(text)]):
        raise protocol.GarbledError
    paged = PagedText(text)
    paged.starts = tuple(starts)
    return paged


def _shown(said: str) -> str:
    """Without what a terminal would obey: names in a document may be made for it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in said)


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is not None and code < 0:
        with suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"
