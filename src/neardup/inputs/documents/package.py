"""The stored bytes of a document, and the zip archive that .docx, .odt and .epub are, read within limits.

A small archive can hold gigabytes. So parts are unpacked piece by piece, what was unpacked is counted, and reading ends
where no document of people's goes: beyond ``MOST_BYTES``, or beyond ``MOST_TIMES`` the size of the archive.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from neardup.errors import InputError
from neardup.inputs.documents import MOST_BYTES, MOST_TIMES, Unreadable, damaged, protected, too_large
from neardup.inputs.formats import stored_codec
from neardup.inputs.stream import ByteStream

_UNSUSPICIOUS = 16 << 20
"""Bytes that any package may unpack to."""
_PIECE = 1 << 16
_SMALL_PART = 16 << 20
"""Bytes of a part that is read as a whole: a list of parts, not a text."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_PROTECTED = "EncryptedPackage".encode("utf-16-le")
_IS_ENCRYPTED = 1


def read_stored(path: str) -> bytes:
    """All bytes of a file, decompressed where its name says so (``.gz``, ``.zst`` …)."""
    pieces: list[bytes] = []
    size = 0
    for piece in _stored(path):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise too_large()
    if size == 0:
        raise Unreadable("it is empty (0 bytes)", "Fetch it again, or leave it out.")
    return b"".join(pieces)


def _stored(path: str) -> Iterator[bytes]:
    if stored_codec(path) is None:
        with _plain(path) as file:
            try:
                while piece := file.read(16 * _PIECE):
                    yield piece
            except OSError as exc:
                raise InputError(f"{path} cannot be read: {exc.strerror}. Copy it to another disk.") from exc
        return
    buffer = bytearray(16 * _PIECE)
    with ByteStream(path) as stream:
        while got := stream.fill(memoryview(buffer)):
            yield bytes(memoryview(buffer)[:got])


def _plain(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError:
        ByteStream(path).close()  # says best why it cannot be opened
        raise


class Package:
    """A zip archive; a context manager."""

    def __init__(self, path: str) -> None:
        self._file: BinaryIO = _plain(path) if stored_codec(path) is None else io.BytesIO(read_stored(path))
        self._unpacked = 0
        try:
            head = self._file.read(8)
            if not head:
                raise Unreadable("it is empty (0 bytes)", "Fetch it again, or leave it out.")
            if head == _OLE:
                raise _ole_fault(self._file)
            self._size = self._file.seek(0, io.SEEK_END)
            with _explained():
                self._zip = zipfile.ZipFile(self._file)
                self.names = frozenset(self._zip.namelist())
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield a part, unpacked, piece by piece."""
        if name not in self.names:
            raise damaged(f"its part {name} is missing")
        with _explained():
            if self._zip.getinfo(name).flag_bits & _IS_ENCRYPTED:
                raise protected()
            with self._zip.open(name) as part:
                while piece := part.read(_PIECE):
                    self._unpacked += len(piece)
                    if self._unpacked > min(MOST_BYTES, max(_UNSUSPICIOUS, MOST_TIMES * self._size)):
                        raise too_large()
                    yield piece

    def part(self, name: str) -> bytes:
        """A small part as a whole; as ``pieces``."""
        found = bytearray()
        for piece in self.pieces(name):
            found += piece
            if len(found) > _SMALL_PART:
                raise too_large()
        return bytes(found)


def _ole_fault(file: BinaryIO) -> Unreadable:
    """A container of Office before 2007: what a password makes of a .docx, or an old file under a new name."""
    tail = head = b""
    while piece := file.read(1 << 20):
        if _OLE_PROTECTED in tail + piece:
            return protected()
        tail = piece[-len(_OLE_PROTECTED) :]
        head = head or piece
    return Unreadable("it is in the old format of Office (.doc) under a new name", "Save it in the new format.")


@contextmanager
def _explained() -> Iterator[None]:
    """Turn what the unpacking says into Unreadable; RuntimeError: a way of packing that Python does not know."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, RuntimeError) as exc:
        raise damaged(str(exc) or "the archive ends too early") from exc
