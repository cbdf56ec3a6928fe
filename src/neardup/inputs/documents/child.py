"""The process that reads documents for a run: asked over stdin, it answers over stdout, within its limits.

A message is a mark, the number of the request, its kind and its length, then so many bytes. The child ends when its
stdin does. It loads neither NumPy nor PyArrow nor kernels (but for compressed documents), so that it starts in about
0.1 s and takes about 20 MB.

A document that passes a limit ends the process, by the exit code that says which. Failing an allocation instead would
not do: PDFium goes on without what it could not hold, and gives a part of the text for the whole. So the limits of the
system lie beyond ours, for what Python cannot see.
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import sys
import threading
import time
from contextlib import suppress
from typing import IO, Any, BinaryIO, NoReturn

try:
    import resource

    _process = None
except ImportError:  # Windows, where psutil tells the peak
    resource = None  # type: ignore[assignment]
    try:
        import psutil

        _process = psutil.Process()
    except ImportError:
        _process = None

from neardup.inputs.documents import MOST_BYTES, PagedText, Unreadable, read_document, too_large

READY = b"+"
"""The child has started."""
READ = b"?"
"""Read a document: JSON of its path and how."""
TEXT = b"t"
"""Its text, in UTF-8."""
PAGED = b"p"
"""The same of a document with pages: where each begins, as JSON, a line break, the text."""
UNREADABLE = b"u"
"""Why there is none: JSON of reason and cure."""

PASSED_PROCESSOR = 81
"""Exit code of a child whose document takes too much processor time."""
PASSED_MEMORY = 82
"""Exit code of a child whose document takes too much memory."""

_HEAD = struct.Struct(">4sIcQ")
_MARK = b"nd\xf6\1"

MOST_PAGES = 1 << 20
"""Pages of which it is told where they begin."""
MOST_ANSWER = MOST_BYTES + 12 * MOST_PAGES
"""Bytes of an answer."""
_MOST_REQUEST = 1 << 20
"""Bytes of a request: a path and a few words."""
_TICK = 0.02
"""Seconds between two looks at the limits; memory fills at 1 to 2 GB/s, so that it is passed by 40 MB at most."""
_BEYOND_SECONDS = 2
_BEYOND_MEMORY = 1 << 30
_ORPHANED = 83
_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB", re.M)


class GarbledError(Exception):
    """What came is no message."""


def send(pipe: IO[bytes], number: int, kind: bytes, content: bytes) -> None:
    pipe.write(_HEAD.pack(_MARK, number, kind, len(content)))
    pipe.write(content)
    pipe.flush()


def receive(pipe: IO[bytes], most: int) -> tuple[int, bytes, bytes]:
    """The next message: number, kind and content, of ``most`` bytes.

    Raises:
        EOFError: the other side has ended, between messages or inside one.
        GarbledError: what came is no message, or a larger one.
    """
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    mark, number, kind, size = _HEAD.unpack(head)
    if mark != _MARK or size > most:
        raise GarbledError
    content = pipe.read(size)
    if len(content) < size:
        raise EOFError
    return number, kind, content


def main(memory: int) -> NoReturn:
    """Answer until stdin ends; ``memory``: resident bytes that this process may take."""
    # What a library prints must not come between the answers
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is said to the run, which ends this process
    watch = _Watch(memory)
    send(answers, 0, READY, b"")
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    try:
        _serve(sys.stdin.buffer, answers, watch)
    except (EOFError, OSError):  # the run is over
        os._exit(0)


def _serve(requests: BinaryIO, answers: BinaryIO, watch: _Watch) -> NoReturn:
    while True:
        number, _, content = receive(requests, _MOST_REQUEST)
        request = json.loads(content)
        watch.begin(request.pop("seconds"))
        kind, answer = _answer(request)
        watch.end()
        send(answers, number, kind, answer)


def _answer(request: dict[str, Any]) -> tuple[bytes, bytes]:
    try:
        found = read_document(**request)
        text = found.encode("utf-8")
        if len(text) > MOST_BYTES:
            raise too_large()
        if isinstance(found, PagedText):
            return PAGED, json.dumps(found.starts[:MOST_PAGES]).encode("ascii") + b"\n" + text
        return TEXT, text
    except MemoryError:  # the limit of the system
        os._exit(PASSED_MEMORY)
    except Unreadable as exc:
        fault = exc
    except Exception as exc:
        said = f"reading it failed with {type(exc).__name__}: {exc}"[:300]
        fault = Unreadable(said, "Open it in its program and save it again, or leave it out.")
    return UNREADABLE, json.dumps([fault.reason, fault.cure]).encode("ascii")


class _Watch:
    """Ends this process when a document takes too much, or when the run that wants it is gone."""

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._parent = os.getppid()
        self._last = 0.0
        """Processor time of this process at which the document has had its share."""
        self._is_reading = threading.Event()
        if resource is not None:
            _limit(resource.RLIMIT_AS, memory + _BEYOND_MEMORY)
            _limit(resource.RLIMIT_CORE, 0)  # one for each crash would fill the folder of the run
        threading.Thread(target=self._look, name="watch", daemon=True).start()

    def begin(self, seconds: float) -> None:
        """A document is to be read in so much processor time."""
        self._last = time.process_time() + seconds
        if resource is not None:
            _limit(resource.RLIMIT_CPU, int(self._last) + _BEYOND_SECONDS, again=True)
        self._is_reading.set()

    def end(self) -> None:
        """It was read: a limit that was passed between two looks is passed all the same."""
        self._is_reading.clear()
        self._check()

    def _look(self) -> None:
        while True:
            self._is_reading.wait()
            time.sleep(_TICK)
            if self._is_reading.is_set():
                self._check()

    def _check(self) -> None:
        if os.getppid() != self._parent:
            os._exit(_ORPHANED)
        if time.process_time() > self._last:
            os._exit(PASSED_PROCESSOR)
        if _peak_memory() > self._memory:
            os._exit(PASSED_MEMORY)


def _limit(kind: int, value: int, *, again: bool = False) -> None:
    """Set a limit of the system; one that is lower already stays, unless it is our own, set ``again``."""
    now, most = resource.getrlimit(kind)
    others = [each for each in ((most,) if again else (now, most)) if each != resource.RLIM_INFINITY]
    with suppress(ValueError, OSError):  # macOS knows some of them by name only
        resource.setrlimit(kind, (min([value, *others]), most))


def _peak_memory() -> int:
    """The most resident bytes that this process had; 0 where the system does not tell (Windows without psutil)."""
    if sys.platform == "linux":  # not getrusage: there, the peak of the process that started this one counts too
        try:
            with open("/proc/self/status", "rb") as status:
                found = _PEAK.search(status.read())
        except OSError:
            found = None
        return int(found[1]) << 10 if found else 0
    if resource is not None:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return 0 if _process is None else int(_process.memory_info().peak_wset)
