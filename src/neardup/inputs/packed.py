"""What unpacks the bytes of files, piece by piece; ``stream`` opens them.

Nothing here loads numpy; pyarrow only for zstd, LZ4 and Brotli: children that read documents use it.
"""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from neardup.errors import InputError, MissingDependency

_PACKED = 1 << 18
"""Bytes that are read at a time."""
_UNPACKED = 1 << 20
"""Bytes that are unpacked at a time: Python's libraries make an object of them."""
_WITH_GZIP_HEADER = 31
_XZ_MEMORY = 256 << 20
"""Bytes that xz may ask for its dictionary; ``xz -9`` takes 65 MB."""
ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""How zstd data begin that have their dictionary in front, as the format of ``.warc.zst`` wants it."""
_ZSTD_FRAME = b"\x28\xb5\x2f\xfd"
_MOST_DICTIONARY = 128 << 20


class Borrowed:
    """A file that its owner closes, read from its beginning to its end."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file, self._told = file, 0

    def read(self, size: int = -1) -> bytes:
        piece: bytes = self._file.read(size)
        self._told += len(piece)
        return piece

    def readinto(self, view: memoryview) -> int:
        piece = self.read(min(len(view), _UNPACKED))
        view[: len(piece)] = piece
        return len(piece)

    def tell(self) -> int:
        return self._told

    def flush(self) -> None:
        """Do nothing: the file is only read."""

    def close(self) -> None:
        """Leave the file open for its owner."""


class Rest(Borrowed):
    """The bytes of a file after some that were read from it, with those in front."""

    def __init__(self, head: bytes, file: Any) -> None:
        super().__init__(file)
        self._head = head

    def read(self, size: int = -1) -> bytes:
        if not self._head:
            return super().read(size)
        piece, self._head = self._head[:size], self._head[size:]
        self._told += len(piece)
        return piece


class ByArrow:
    """Zstandard, LZ4 or Brotli data, of any number of frames; pyarrow unpacks it."""

    def __init__(self, file: Any, name: str, codec: str) -> None:
        import pyarrow as pa

        if not isinstance(file, io.FileIO):
            self._raw = pa.PythonFile(file, mode="r")
        else:
            with file:  # which Python has opened, for its own kinds of OSError
                self._raw = pa.OSFile(file.name, mode="r")
        self._name = name
        self._codec = codec
        self._source = pa.CompressedInputStream(self._raw, codec)

    @property
    def stored(self) -> int:
        return int(self._raw.tell())

    def readinto(self, view: memoryview, /) -> int:
        import pyarrow as pa

        try:
            got = int(self._source.readinto(view))
        except pa.ArrowException as exc:
            raise OSError(str(exc)) from exc
        if not got and not self.stored:
            raise _empty(self._name, self._codec)
        return got

    def close(self) -> None:
        self._source.close()


class _ByDecoder:
    """Packed data of any number of streams, each unpacked by a new decompressor of Python's libraries."""

    def __init__(self, file: Any, name: str, codec: str, new: Callable[[], Any], magic: bytes = b"") -> None:
        """``new`` makes the decompressor of a stream, which begins with ``magic``."""
        self._file, self._name, self._codec, self._new, self._magic = file, name, codec, new, magic
        self._rest = b""
        """Bytes that were read and are not yet unpacked."""
        self._decoder: Any = None
        """None between two streams."""
        self._streams = self.stored = 0

    def _more(self) -> bool:
        piece = self._file.read(_PACKED)
        self._rest += piece
        self.stored += len(piece)
        return bool(piece)

    def close(self) -> None:
        self._file.close()

    def readinto(self, view: memoryview, /) -> int:
        while True:
            needs_more = self._decoder is None or getattr(self._decoder, "needs_input", True)
            if needs_more and not self._rest and not self._more():
                if self._decoder is not None:
                    raise OSError(f"the {self._codec} data ends too soon")
                if not self.stored:
                    raise _empty(self._name, self._codec)
                return 0
            if self._decoder is None and not self._begin():
                continue
            piece = self._unpacked(min(len(view), _UNPACKED))
            if piece:
                view[: len(piece)] = piece
                return len(piece)

    def _begin(self) -> bool:
        """Begin a stream; False if only zeros follow the last one: tapes leave them, and xz may pad with them."""
        if self._streams:
            self._rest = self._rest.lstrip(b"\0")
        if not self._rest:
            return False
        if len(self._rest) < len(self._magic):
            self._more()
        if not self._rest.startswith(self._magic):
            if self._streams:
                raise InputError(
                    f"{self._name} has bytes after the end of its {self._codec} data (within the first "
                    f"{self.stored:,} stored bytes), so a part of it may be missing. Fetch the file again."
                )
            raise InputError(
                f"{self._name} is no {self._codec} file: it does not begin as one. Fetch the file again, or name it "
                "without the suffix if it is not compressed."
            )
        self._decoder = self._new()
        self._streams += 1
        return True

    def _unpacked(self, most: int) -> bytes:
        try:
            piece: bytes = self._decoder.decompress(self._rest, most)
        except Exception as exc:  # zlib.error, LZMAError, ZstdError: each library has one of its own
            raise OSError(str(exc).partition("data: ")[2] or str(exc)) from exc
        self._rest = getattr(self._decoder, "unconsumed_tail", b"")  # only that of zlib keeps nothing itself
        if self._decoder.eof:
            self._rest, self._decoder = self._decoder.unused_data, None
        return piece


def _bz2() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


def _xz() -> Any:
    import lzma

    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


def _deflate(file: Any, name: str, codec: str) -> _ByDecoder:
    """Open what HTTP calls deflate, which servers send with the two bytes of zlib in front and without."""
    head = _taken(file, 2)
    wbits = zlib.MAX_WBITS if head[:1] and head[0] % 16 == zlib.DEFLATED else -zlib.MAX_WBITS
    return _ByDecoder(Rest(head, file), name, codec, partial(zlib.decompressobj, wbits))


def _zstd(file: Any, name: str, codec: str) -> _ByDecoder | ByArrow:
    """Open zstd data: with pyarrow, which is faster but takes no dictionary, unless the data begin with one."""
    head = _taken(file, len(ZSTD_DICTIONARY))
    if head == ZSTD_DICTIONARY:
        try:
            zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
        except ImportError as exc:
            need = "begins with a zstd dictionary, which needs backports.zstd: pip install 'neardup[warc]'"
            raise MissingDependency(f"{name} {need}") from exc
        return _ByDecoder(file, name, codec, partial(zstd.ZstdDecompressor, _dictionary(file, zstd)))
    if isinstance(file, io.FileIO) and file.seekable():
        file.seek(-len(head), io.SEEK_CUR)
        return ByArrow(file, name, codec)
    return ByArrow(Rest(head, file), name, codec)


def _dictionary(file: Any, zstd: Any) -> Any:
    """Read the dictionary that is in front of zstd data. Raises OSError if it is damaged."""
    size = int.from_bytes(_taken(file, 4), "little")
    data = _taken(file, min(size, _MOST_DICTIONARY))
    if len(data) < size:
        raise OSError("its dictionary is cut short")
    try:
        if data.startswith(_ZSTD_FRAME):
            data = zstd.ZstdDecompressor().decompress(data, _MOST_DICTIONARY)
        return zstd.ZstdDict(data)
    except (ValueError, zstd.ZstdError) as exc:
        raise OSError(f"its dictionary cannot be used ({exc})") from exc


def _taken(file: Any, size: int) -> bytes:
    """Read ``size`` bytes of a file that may give fewer at a time; fewer at its end only."""
    data = b""
    while len(data) < size and (piece := file.read(size - len(data))):
        data += piece
    return data


def _empty(name: str, codec: str) -> InputError:
    return InputError(f"{name} is empty (0 bytes): it is no {codec} file. Fetch it again.")


CODECS: dict[str, Callable[[Any, str, str], _ByDecoder | ByArrow]] = {
    # Python's zlib is as fast as pyarrow's, and tells where a member ends
    "gzip": partial(_ByDecoder, new=partial(zlib.decompressobj, _WITH_GZIP_HEADER), magic=b"\x1f\x8b"),
    "xz": partial(_ByDecoder, new=_xz, magic=b"\xfd7zXZ\0"),
    "bz2": partial(_ByDecoder, new=_bz2, magic=b"BZh"),  # pyarrow would fail at an empty stream between two others
    "zstd": _zstd,
    "lz4": ByArrow,
    "brotli": ByArrow,
    "deflate": _deflate,
}
"""What a compressed file holds; ``stored`` are the compressed bytes that were read. ``readinto`` raises InputError for
one that is empty or goes on behind its end, and OSError without a number where it is damaged or cut short."""
