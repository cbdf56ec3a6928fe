"""Parts of outputs at addresses: complete objects under hidden names, which any process writes, and one puts in place.

A part that is not written to its end is never taken for whole: an object store shows no such thing, and elsewhere its
name, which is another at each try, is told by nobody. Where a store can, a part gets into its place within it, so that
no bytes come here.
"""

from __future__ import annotations

import contextlib
import ctypes
import posixpath
import secrets
from collections.abc import Iterator
from typing import Any

from pyarrow import fs

from neardup.errors import OutputError
from neardup.inputs import remote
from neardup.inputs.addresses import scheme_of
from neardup.inputs.stores import Store, explained, store_of

CANNOT = "cannot be written"
MOST_COPIED = 5_000_000_000
"""Bytes that S3 copies by one request, larger ones are written once more."""
PART = 10 << 20
"""Bytes of a write: what pyarrow's client of S3 makes one part of without a copy."""
FLUSHED = 4 * PART
"""Bytes that are on their way together; the client would take as many as there are into memory."""


def opened(store: Store, path: str) -> Any:
    """A stream into an object, or file, of a store."""
    return store.files.open_output_stream(path, compression=None)  # else by the suffix, and once more


def give_up(stream: Any) -> None:
    """Never complete an object that was begun: the store keeps its parts out of sight until it throws them away.

    pyarrow has no way to say so, and completes the object when its stream is freed. So that never happens, not even at
    the end of the process, when its clients are gone and would be waited for.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(stream))


class Steady:
    """A stream that never has more than FLUSHED bytes on their way."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._written = 0

    def write(self, data: Any) -> int:
        """Write bytes; it is heard here that some before them were refused."""
        size = memoryview(data).nbytes
        self._stream.write(data)
        self._written += size
        if self._written >= FLUSHED:
            self._stream.flush()
            self._written = 0
        return size


@contextlib.contextmanager
def new_object(address: str) -> Iterator[Any]:
    """A stream into an object, which is complete at the end of the block, and not there if that fails."""
    with explained(address, CANNOT, OutputError):
        store = store_of(address)
        if not store.appears_closed:
            store.files.create_dir(posixpath.dirname(store.path(address)), recursive=True)
        stream = opened(store, store.path(address))
    try:
        yield Steady(stream)
        with explained(address, CANNOT, OutputError):
            stream.close()
    except BaseException:
        if store.appears_closed:
            give_up(stream)
        else:
            with contextlib.suppress(Exception):
                stream.close()
                store.files.delete_file(store.path(address))
        raise


def object_pieces(address: str, first: int = 0, size: int | None = None) -> Iterator[bytes]:
    """The bytes of an object from ``first`` on, ``size`` of them (None: all), some at a time."""
    with explained(address, "cannot be read", OutputError):
        store = store_of(address)
        with store.files.open_input_file(store.path(address)) as file:
            file.seek(first)
            yield from pieces(file, file.size() - first if size is None else size, "it was cut short")


def pieces(file: Any, left: int, fault: str) -> Iterator[bytes]:
    """Yield the next ``left`` bytes of a file, some at a time. Raises OSError, with ``fault``, if it has fewer."""
    while left > 0:
        piece = file.read(min(PART, left))
        if not piece:
            raise OSError(fault)
        left -= len(piece)
        yield piece


def size_of_object(address: str) -> int | None:
    """Bytes of an object; None: there is none."""
    with explained(address, "cannot be looked at", OutputError):
        store = store_of(address)
        found = store.files.get_file_info(store.path(address))
        return None if found.type != fs.FileType.File else int(found.size)


def put_in_place(part: str, final: str, *, can_move: bool) -> None:
    """Bring a part to its output, in whose place it comes; ``can_move``: whether the store of that changes names.

    Object stores copy by themselves, others change the name; where that cannot be, the bytes come here and go there.
    """
    there, store = store_of(part), store_of(final)
    path = store.path(final)
    if store.appears_closed:
        if scheme_of(part) == scheme_of(final) and (size_of_object(part) or 0) <= MOST_COPIED:
            with contextlib.suppress(OSError):  # such as for a bucket in another region
                store.files.copy_file(there.path(part), path)
                return
        _send(part, final)
        return
    given = part
    if there is not store or not can_move:
        given = aside(final) if can_move else final
        _send(part, given)
    if given != final:
        move(store, store.path(given), final)


def aside(place: str) -> str:
    """Return a hidden name beside an output, for content that is not complete."""
    folder, name = posixpath.split(place)
    return f"{folder}/.{name[:100]}.{secrets.token_hex(4)}.part"


def move(store: Store, path: str, final: str) -> None:
    """Give a complete file of a store the name of its output, in whose place it comes."""
    if remote.look(final) is not None:  # HDFS puts no file in the place of another
        store.files.delete_file(store.path(final))
    store.files.move(path, store.path(final))


def _send(part: str, to: str) -> None:
    with new_object(to) as out:
        for piece in object_pieces(part):
            out.write(piece)
