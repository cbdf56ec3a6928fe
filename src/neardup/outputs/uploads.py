"""Objects that are written, each whole or not at all: files of this machine that are complete are brought to addresses.

An object store shows an object when the last of it is there, but has no way to make several seen at one moment. So
all that takes long comes first (``begin``), and what is left for ``finish`` are the last megabytes of each, in order. A
file system that shows what is not complete yet (HDFS, SFTP) gets it under another name, which ``finish`` changes.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from neardup.errors import OutputError
from neardup.inputs import remote
from neardup.inputs.addresses import is_remote
from neardup.inputs.stores import Store, explained, store_of
from neardup.outputs.parts import CANNOT, PART, Steady, aside, give_up, move, opened, pieces, put_in_place
from neardup.outputs.renames import Rename, Renames, UnfinishedError

_SENDERS = 8
"""Small objects that are written side by side."""
_without_names: list[Store] = []
"""Stores where no name can be changed: objects are written in place, when all else is done."""
_checked: set[str] = set()
"""Folders at addresses into which this process may write, as it has tried."""


def check_writable(address: str) -> None:
    """Raise OutputError unless an object could be written at an address now: one beside it is begun, and given up."""
    found = remote.look(address)
    if found is not None and found.is_folder:
        raise OutputError(f"cannot write {address}: there are objects below it, as in a folder. Give another name.")
    with explained(address, CANNOT, OutputError):
        store = store_of(address)
        if posixpath.dirname(address) in _checked:
            return
        if store.appears_closed:
            give_up(opened(store, store.path(address)))
        else:
            _try_aside(store, address)
        _checked.add(posixpath.dirname(address))


def _try_aside(store: Store, address: str) -> None:
    """Write an empty file under a hidden name, change that, and delete it; note where a name cannot be changed."""
    path = store.path(address)
    probe = aside(path)
    store.files.create_dir(posixpath.dirname(path), recursive=True)
    opened(store, probe).close()
    moved = aside(path)
    try:
        store.files.move(probe, moved)
    except Exception:  # such as Azure's, in accounts without a hierarchical namespace
        _without_names.append(store)
        moved = probe
    store.files.delete_file(moved)


def new_file() -> str:
    """A file of this machine in which an object is made before it is sent."""
    number, path = tempfile.mkstemp(prefix="neardup-")
    os.close(number)
    return path


class Uploads:
    """What some renames bring to addresses: ``begin``, then ``finish``; or ``abandon``, after which nothing is seen."""

    def __init__(self, renames: Renames) -> None:
        """``renames`` gives those to addresses, from a complete file or object each, every time from the first."""
        self._renames = renames
        self._streams: dict[str, Any] = {}
        """Objects of several parts that are there but for the last."""
        self._waiting: dict[str, str] = {}
        """What files have for a name that wait for their own."""
        self._done: list[str] = []

    def begin(self) -> None:
        """Send what is large, and what must have its place on the other side. OutputError where that cannot be."""
        for rename in self._renames():
            if is_remote(rename.temporary):
                continue  # it is there, under another name
            with explained(rename.final, CANNOT, OutputError):
                store = store_of(rename.final)
                if not store.appears_closed:
                    if all(store is not each for each in _without_names):
                        self._send_aside(store, rename)
                elif os.path.getsize(rename.temporary) > PART:
                    stream = opened(store, store.path(rename.final))
                    self._streams[rename.final] = stream
                    _send(rename, stream, whole=False)

    def finish(self) -> KeyboardInterrupt | None:
        """Make all objects seen, in order, the first before the others are begun; the Ctrl-C that had to wait for it.

        Raises:
            OutputError: none is, and none will be.
            UnfinishedError: some are, and this one could not be.
        """
        errors: list[BaseException] = []

        def work() -> None:
            try:
                renames = self._renames()
                for rename in renames:  # a table, often, that says what became of the others
                    self._finish(rename)
                    break
                with ThreadPoolExecutor(_SENDERS, thread_name_prefix="neardup-send") as pool:
                    for _ in pool.map(self._finish, renames):
                        pass
            except BaseException as exc:
                errors.append(exc)

        thread = threading.Thread(target=work, name="neardup-finish")
        thread.start()
        stopped = _joined(thread)
        if errors:
            error = errors[0]
            if isinstance(error, OutputError) and self._done:
                raise UnfinishedError(
                    f"{error} {len(self._done)} of the outputs are there already, the first {self._done[0]}. Run again."
                ) from error
            raise error
        return stopped

    def abandon(self) -> None:
        """See to it that what is not finished is never seen."""
        for stream in self._streams.values():
            give_up(stream)
        self._streams = {}
        for final, name in self._waiting.items():
            with contextlib.suppress(Exception):
                store_of(final).files.delete_file(name)
        self._waiting = {}

    def _send_aside(self, store: Store, rename: Rename) -> None:
        path = store.path(rename.final)
        store.files.create_dir(posixpath.dirname(path), recursive=True)
        self._waiting[rename.final] = aside(path)
        with opened(store, self._waiting[rename.final]) as stream:
            _send(rename, stream, whole=True)

    def _finish(self, rename: Rename) -> None:
        final = rename.final
        with explained(final, CANNOT, OutputError):
            store = store_of(final)
            if is_remote(rename.temporary):
                can_move = all(store is not each for each in _without_names)
                put_in_place(rename.temporary, final, can_move=can_move)
            elif final in self._waiting:
                move(store, self._waiting[final], final)
                del self._waiting[final]
            else:
                is_begun = final in self._streams
                stream = self._streams.get(final) or opened(store, store.path(final))
                self._streams[final] = stream  # were it let go of now, half of it would be seen
                _send(rename, stream, rest=is_begun)
                stream.close()
                del self._streams[final]
        self._done.append(final)


def _send(rename: Rename, stream: Any, *, whole: bool = True, rest: bool = False) -> None:
    """Write a file into a stream: all of it; without its last part, where not ``whole``; or only that, the ``rest``."""
    size = os.path.getsize(rename.temporary)
    last = max(0, size - 1) // PART * PART
    with open(rename.temporary, "rb", buffering=0) as file:
        file.seek(last if rest else 0)
        stop = size if whole or rest else last
        steady = Steady(stream)
        for piece in pieces(file, stop - file.tell(), f"{Path(file.name).name} was cut short while it was sent"):
            steady.write(piece)
        stream.flush()  # only here it is heard that a part was refused


def _joined(thread: threading.Thread) -> KeyboardInterrupt | None:
    """Wait for a thread to its end; the Ctrl-C that came meanwhile."""
    stopped = None
    while thread.is_alive():
        try:
            thread.join()
        except KeyboardInterrupt as exc:
            stopped = exc
    return stopped
