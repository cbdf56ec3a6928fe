"""Opening a path, an address or standard input as bytes: unpacked, and as UTF-8.

Compression (``formats.COMPRESSIONS``; by magic number on standard input) and other encodings are dealt with here, once,
for every format. Nothing here loads numpy or pyarrow, but for zstd and LZ4: children that read documents use it.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from neardup.errors import InputError, NeardupError
from neardup.inputs.addresses import is_remote, near_files, place_of
from neardup.inputs.formats import stored_codec, text_codec
from neardup.inputs.packed import CODECS, ZSTD_DICTIONARY, Rest
from neardup.shown import first_line

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    ZSTD_DICTIONARY: "zstd",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"\x04\x22\x4d\x18": "lz4",
}
"""How compressed data begins."""
_PEEK = 1 << 16
_DECODED = 1 << 16
"""Bytes decoded at a time; small, since what is pending is sliced, which must not become quadratic."""


class Feed(Protocol):
    """What fills a buffer; with fewer bytes than it has room for only at the end."""

    def fill(self, view: memoryview, /) -> int:
        """Fill ``view`` and return how many bytes it got."""


class ByteStream:
    """Decompressed bytes of a file, or of standard input for ``-``. A context manager; errors come as InputError."""

    def __init__(self, path: str | Path, *, file: Any = None, codec: str | None = None, first: int = 0) -> None:
        """Open it; InputError when it is missing, a folder, or not readable.

        ``file``: its bytes as they are stored, where they are in no file of that path. ``codec``: how they are
        compressed, where the name does not say so in the usual way. ``first``: the place of the stored byte to begin
        with, of a file or an address.
        """
        self.name = str(path)
        self._stored = 0
        self._ahead = b""
        self._source: Any
        self._packed: Any = None
        with self._explained():
            if self.name == "-":
                self._open_stdin()
            elif file is not None:
                self._unpack(file, codec)
            else:
                self._unpack(open_at(self.name, first), codec)

    def __enter__(self) -> ByteStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def stored(self) -> int:
        """Bytes read so far as they are stored, for the progress bar."""
        return self._stored if self._packed is None else self._packed.stored

    def peek(self) -> bytes:
        """Up to 64 kB that the next reads will return again, to look at the kind of data."""
        if not self._ahead:
            buffer = bytearray(_PEEK)
            self._ahead = bytes(buffer[: self._fill(memoryview(buffer))])
        return self._ahead

    @property
    def goes_on(self) -> bool:
        """Whether there is more than ``peek`` has shown."""
        return len(self._ahead) == _PEEK

    def fill(self, view: memoryview, /) -> int:
        """Read until ``view`` is full or the data ends; return the bytes read."""
        ahead = min(len(view), len(self._ahead))
        view[:ahead] = self._ahead[:ahead]
        self._ahead = self._ahead[ahead:]
        return ahead + self._fill(view[ahead:])

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes, fewer only at the end: for libraries that read from files."""
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.fill(memoryview(buffer))])

    def close(self) -> None:
        """Close the file; standard input is left open."""
        if self.name != "-":
            self._source.close()
            self._file.close()

    def _fill(self, view: memoryview) -> int:
        done = 0
        with self._explained():
            while done < len(view):
                got = self._source.readinto(view[done:])
                if not got:
                    break
                done += got
        if self._packed is None:
            self._stored += done
        return done

    def _unpack(self, file: Any, codec: str | None) -> None:
        self._source = self._file = file
        codec = codec or stored_codec(self.name)
        if codec is not None:
            try:
                self._source = self._packed = CODECS[codec](file, self.name, codec)
            except BaseException:
                file.close()
                raise

    def _open_stdin(self) -> None:
        source = self._source = open_stdin()
        head = self.peek()
        for magic, codec in MAGIC.items():
            if head.startswith(magic):
                self._source = self._packed = CODECS[codec](Rest(head, source), "standard input", codec)
                self._ahead = b""

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn what the system and the decompressors say into InputError with the cure."""
        try:
            with explained_as("", self.name, (), ""):
                yield
        except OSError as exc:
            if exc.errno is None:  # the decompressors carry no errno
                message = (
                    f"{self.name} is damaged or cut short: {exc} (after {self.stored} stored bytes). "
                    "Fetch the file again, or unpack by hand what can be saved."
                )
            else:
                message = f"{self.name} cannot be read: {exc.strerror}. Name a regular, readable file."
            raise InputError(message) from exc


def open_stdin() -> Any:
    """Return standard input as a binary stream; InputError if it is closed."""
    source = getattr(sys.stdin, "buffer", None)
    if source is None:
        raise InputError("standard input is not open. Pipe data into the command or name a file instead of '-'.")
    return source


@contextmanager
def explained_as(kind: str, name: str, errors: tuple[type[Exception], ...], cure: str) -> Iterator[None]:
    """Turn the errors of the system and of a library into InputError; ``kind`` is such as "an archive"."""
    try:
        yield
    except (NeardupError, MemoryError):
        raise
    except FileNotFoundError as exc:
        raise InputError(f"{name} does not exist.{near_files(name)}") from exc
    except PermissionError as exc:
        raise InputError(f"{name} may not be read by this user. Change its rights, or copy it.") from exc
    except errors as exc:
        raise InputError(f"{name} cannot be read as {kind}: {first_line(exc)}. {cure}") from exc


def open_at(name: str, first: int = 0) -> Any:
    """The stored bytes of a file or an address from the place ``first`` on, with ``read``, ``readinto`` and ``close``.

    Raises OSError, or InputError, where they cannot be had.
    """
    if is_remote(name):
        from neardup.inputs.remote import RemoteStream

        return RemoteStream(name, first)
    if os.path.isdir(name):  # before the open: pyarrow's message would not say so
        raise InputError(f"{name} is a folder, not a file. Name the folder itself as the input, or a file in it.")
    file = open(name, "rb", buffering=0)  # noqa: SIM115 - closed by the caller
    if first:
        file.seek(first)
    return file


def open_whole(name: str) -> BinaryIO:
    """A file that is searched, not read from its beginning to its end; an address is kept in a temporary one.

    Raises as ``open_at``.
    """
    if is_remote(name):
        from neardup.inputs.remote import kept

        return kept(name)
    return open(name, "rb")


def size_of(name: str) -> int:
    """Bytes of a file or an object as stored. Raises as ``open_at``."""
    if is_remote(name):
        from neardup.inputs.remote import facts_of

        found = facts_of(name)
        if found is None:
            raise InputError(f"{name} does not exist. Check the bucket and the name.")
        return found.size
    return os.path.getsize(name)


def is_regular(name: str) -> bool:
    """Whether a name is that of a file, or an address: something that can be read more than once."""
    return os.path.isfile(name) or is_remote(name)


def is_folder(name: str) -> bool:
    """Return whether a folder is at a path, or objects are below an address."""
    if not is_remote(name):
        return os.path.isdir(name)
    from neardup.inputs import remote

    return remote.is_folder(place_of(name))


def as_utf8(stream: ByteStream, encoding: str) -> Feed:
    """The bytes of a stream as UTF-8, not yet validated.

    A byte that its encoding does not know costs its line, not the file: it is handed on as bytes that are no valid
    UTF-8, so the reader's own check finds it and reports the line.
    """
    codec = text_codec(encoding)
    return stream if codec == "utf-8" else _Transcoder(stream, codec, stream.name)


class _Transcoder:
    """Bytes of another encoding as UTF-8, decoded piece by piece."""

    def __init__(self, stream: ByteStream, codec: str, name: str) -> None:
        self._stream = stream
        self._name = name
        self._decoder = codecs.getincrementaldecoder(codec)(errors="neardup.mark")
        self._pending = b""
        self._ended = False

    def fill(self, view: memoryview, /) -> int:
        done = 0
        while done < len(view):
            if not self._pending and not self._advance():
                break
            size = min(len(view) - done, len(self._pending))
            view[done : done + size] = self._pending[:size]
            self._pending = self._pending[size:]
            done += size
        return done

    def _advance(self) -> bool:
        """Decode the next piece of the stream; False at its end."""
        while not self._pending and not self._ended:
            buffer = bytearray(_DECODED)
            got = self._stream.fill(memoryview(buffer))
            self._ended = got < _DECODED
            try:
                text = self._decoder.decode(bytes(buffer[:got]), self._ended)
            except UnicodeError as exc:  # what no handler sees: utf-16 without its mark
                raise InputError(f"{self._name}: {exc}. Name the byte order, such as utf-16-le or utf-32-be.") from exc
            self._pending = text.encode("utf-8", "surrogatepass")
        return bool(self._pending)


def _mark(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: a lone surrogate in place of the bytes, which strict UTF-8 refuses later."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end


codecs.register_error("neardup.mark", _mark)
