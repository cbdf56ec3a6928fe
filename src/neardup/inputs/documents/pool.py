"""Reads documents in processes of their own (``child``), several at a time and each within its limits.

    read ── a free child, or a new one ──┬── its text
                                         ├── Unreadable: the document's own fault, or it takes too much time
                                         └── the child is lost: once more, in a new child that is alone with more memory

A document that ends its child costs that child and no other document. It gets a second attempt in a fresh process, so
that the answer depends neither on what was read there before nor on what is read beside it; so the memory of all is
bounded too: by the small limit for each child, and the large one for one child of the process at a time.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from neardup.errors import InputError
from neardup.inputs.addresses import is_remote
from neardup.inputs.documents import MOST_BYTES, Unreadable, document_kind, too_large
from neardup.inputs.documents.process import LIMITS, Child, Limits, LostError
from neardup.inputs.stream import ByteStream

_ALONE = threading.Lock()
"""Held while a document is read with the large limit of memory."""


class Readers:
    """Children that read documents, for the threads of one run; started when they are needed.

    They end when nobody holds this object any more, or with this process however it ends.
    """

    def __init__(self, *, limits: Limits | None = None, most: int | None = None) -> None:
        """Nothing is started. ``limits``: None: LIMITS. ``most``: children at a time; None: one for each processor."""
        self._limits = limits or LIMITS
        self._most = most if most is not None else os.cpu_count() or 1
        self._free: list[Child] = []
        self._started = 0
        self._changed = threading.Condition()
        weakref.finalize(self, _end_all, self._free)

    def read(
        self, path: str, *, stream: ByteStream | None = None, encoding: str = "utf-8", boilerplate: str = "keep"
    ) -> str:
        """The text of a document, as ``read_document`` gives it; may be called in several threads.

        ``stream`` is the file where it is open already; it is read to a temporary file first.

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
            child = self._take()
            try:
                return child.read(request, size)
            except LostError:
                pass  # once more, by itself
            finally:
                self._give_back(child)
            return self._read_alone(request, size)

    def _read_alone(self, request: dict[str, Any], size: int) -> str:
        with _ALONE:
            while True:
                try:
                    child = Child(self._limits, self._limits.memory)
                    break
                except OSError as exc:
                    with self._changed:
                        other = self._free.pop() if self._free else None
                    if other is None:
                        raise _no_child(exc) from exc
                    self._give_up(other)
            try:
                return child.read(request, size)
            finally:
                child.end()

    def _take(self) -> Child:
        """A free child, or a new one; waits where there are as many as may be."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._free or self._started < self._most)
                if self._free:
                    return self._free.pop()
                self._started += 1
            try:
                return Child(self._limits, self._limits.shared_memory)
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

    def _give_back(self, child: Child) -> None:
        with self._changed:
            if child.is_well:
                self._free.append(child)
                self._changed.notify()
                return
        self._give_up(child)

    def _give_up(self, child: Child) -> None:
        child.end()
        with self._changed:
            self._started -= 1
            self._changed.notify()


_last: weakref.ref[Readers] | None = None


def shared_readers() -> Readers:
    """Those that some source of a run holds, or new ones: starting a child takes as long as reading some documents."""
    global _last
    found = _last() if _last is not None else None
    if found is None:
        found = Readers()
        _last = weakref.ref(found)
    return found


def _end_all(children: list[Child]) -> None:
    for child in children:
        child.end()


def _no_child(exc: OSError) -> InputError:
    return InputError(
        f"documents are read in processes of their own, and none can be started: {exc}. Free memory, or raise the "
        "limits of open files and of processes (ulimit -n, ulimit -u)."
    )


@contextmanager
def _on_disk(path: str, stream: ByteStream | None) -> Iterator[str]:
    """The absolute path of a file that a child can open; of what is no file, a copy of its bytes."""
    if stream is None and not is_remote(path):
        yield os.path.abspath(path)
        return
    with tempfile.TemporaryDirectory(prefix="neardup-", ignore_cleanup_errors=True) as folder:
        place = os.path.join(folder, f"document{document_kind(path)}")
        _copy(path, stream, place)
        yield place


def _copy(path: str, stream: ByteStream | None, place: str) -> None:
    buffer = memoryview(bytearray(1 << 20))
    size = 0
    try:
        with stream or ByteStream(path) as source, open(place, "wb") as file:
            while got := source.fill(buffer):
                size += got
                if size > MOST_BYTES:
                    raise too_large()
                file.write(buffer[:got])
    except InputError as exc:
        raise Unreadable(str(exc).removeprefix(f"{path} ").rstrip("."), "") from exc
    except OSError as exc:
        why = f"is no file, and its bytes cannot be kept in {os.path.dirname(place)}: {exc.strerror}"
        raise InputError(f"{path} {why}. Make room, or name another folder by the variable TMPDIR.") from exc
