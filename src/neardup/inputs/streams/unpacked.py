"""Compressed bytes as plain ones: gzip and zstd, of files and of standard input.

A file that is empty, ends too soon or has something else behind its end is no file of its kind. gzip allows several
members, and zeros behind the last (as a tape leaves them); zstd allows several frames.

gzip is read through Python's zlib, which is as fast as pyarrow's and tells where a member ends.
"""

from __future__ import annotations

import zlib
from typing import Any, TypeAlias

import pyarrow as pa

from neardup.errors import InputError

__all__ = ["Unpacked", "unpacked"]

_PIECE = 1 << 18
_MOST = 1 << 20
"""Bytes unpacked at a time: Python's zlib makes an object of them."""
_GZIP_MAGIC = b"\x1f\x8b"
_WITH_GZIP_HEADER = 31
_CURE = "Fetch the file again, or name it without the suffix if it is not compressed."


def unpacked(file: Any, codec: str, name: str) -> Unpacked:
    """What a compressed file holds.

    Args:
        file: where the bytes come from: a path, or an object with ``read`` and ``close``.
        codec: "gzip" or "zstd".
        name: what it is called in messages.

    Raises:
        OSError: the file cannot be opened. From ``readinto`` also InputError: it is no file of its kind; and OSError
            without a number: it is damaged or cut short.
    """
    if codec == "gzip":
        return _Gzip(open(file, "rb", buffering=0) if isinstance(file, str) else file, name)
    if isinstance(file, str):
        with open(file, "rb"):  # for Python's own kinds of OSError
            return _Zstd(pa.OSFile(file, mode="r"), name)
    return _Zstd(pa.PythonFile(file, mode="r"), name)


def _empty(name: str, codec: str) -> InputError:
    return InputError(f"{name} is empty (0 bytes): it is no {codec} file. Fetch it again.")


class _Zstd:
    """Zstandard data; pyarrow unpacks it."""

    def __init__(self, raw: Any, name: str) -> None:
        self._raw = raw
        self._name = name
        self._source = pa.CompressedInputStream(raw, "zstd")

    @property
    def stored(self) -> int:
        """Compressed bytes that were read."""
        return int(self._raw.tell())

    def readinto(self, view: memoryview, /) -> int:
        """Fill a part of ``view``; 0 at the end."""
        got = int(self._source.readinto(view))
        if not got and not self.stored:
            raise _empty(self._name, "zstd")
        return got

    def close(self) -> None:
        """Close the file."""
        self._source.close()


class _Gzip:
    """gzip data, member by member."""

    def __init__(self, file: Any, name: str) -> None:
        self._file = file
        self._name = name
        self._rest = b""
        self._inflater: Any = None
        """None between two members."""
        self._members = 0
        self.stored = 0
        """Compressed bytes that were read."""

    def readinto(self, view: memoryview, /) -> int:
        """Fill a part of ``view``; 0 at the end."""
        while True:
            if not self._rest and not self._more():
                if self._inflater is not None:
                    raise OSError("the gzip data ends too soon")
                if not self._members:
                    raise _empty(self._name, "gzip")
                return 0
            if self._inflater is None and not self._begin():
                return 0
            try:
                piece = self._inflater.decompress(self._rest, min(len(view), _MOST))
            except zlib.error as exc:
                raise OSError(str(exc).partition("data: ")[2] or str(exc)) from exc
            self._rest = self._inflater.unconsumed_tail
            if self._inflater.eof:
                self._rest = self._inflater.unused_data
                self._inflater = None
            if piece:
                view[: len(piece)] = piece
                return len(piece)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _more(self) -> bool:
        piece = self._file.read(_PIECE)
        self._rest += piece
        self.stored += len(piece)
        return bool(piece)

    def _begin(self) -> bool:
        """Begin a member; False when there is none and the file has ended as it may."""
        if self._members and self._rest[0] == 0:
            return self._pass_zeros()
        if len(self._rest) == 1:
            self._more()
        if not self._rest.startswith(_GZIP_MAGIC):
            if self._members:
                raise self._trailing()
            raise InputError(f"{self._name} is no gzip file: it does not begin as one. {_CURE}")
        self._inflater = zlib.decompressobj(_WITH_GZIP_HEADER)
        self._members += 1
        return True

    def _pass_zeros(self) -> bool:
        while True:
            if self._rest.strip(b"\0"):
                raise self._trailing()
            self._rest = b""
            if not self._more():
                return False

    def _trailing(self) -> InputError:
        return InputError(
            f"{self._name} has bytes behind the end of its gzip data that are none (within the first {self.stored:,} "
            "stored bytes), so a part of it may be missing. Fetch the file again."
        )


Unpacked: TypeAlias = _Gzip | _Zstd
"""What was compressed, and how far its reading has come."""
