"""Streams that compress what is written into them; they stay open when pyarrow closes them.

Gzip is written without a name and a time, so that the same input gives the same bytes.
"""

from __future__ import annotations

import contextlib
import zlib
from types import TracebackType
from typing import Any, BinaryIO

import pyarrow as pa

_GZIP_LEVEL = 6
_XZ_LEVEL = 2
"""A fifth of the time of xz's own level 6, and a tenth more bytes."""
_GZIP_WINDOW = 31  # zlib's largest window, with a gzip header


class Sink:
    """Writes to a stream of the caller's, which stays open, and compresses. A context manager; whole at its end.

    Example:
        >>> import io
        >>> out = io.BytesIO()
        >>> with Sink(out, "gzip") as sink:
        ...     _ = sink.write(b"some text")
        >>> zlib.decompress(out.getvalue(), wbits=31)
        b'some text'
    """

    closed = False

    def __init__(self, out: BinaryIO | None, codec: str | None = None) -> None:
        """Take the stream (None: nothing is kept) and the compression, one of ``formats.COMPRESSIONS`` or None."""
        self._out = out
        self._given = 0
        self._packer: Any = None
        self._by_arrow: Any = None
        if codec == "gzip":
            self._packer = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_WINDOW)
        elif codec == "xz":
            import lzma

            self._packer = lzma.LZMACompressor(preset=_XZ_LEVEL)
        elif codec is not None:
            self._by_arrow = pa.CompressedOutputStream(Sink(out).file(), codec)

    def __enter__(self) -> Sink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.nullcontext() if error is None else contextlib.suppress(OSError):  # the first error counts
            if self._packer is not None:
                self._put(self._packer.flush())
            if self._by_arrow is not None:
                self._by_arrow.close()

    def write(self, data: Any) -> int:
        """Write bytes, or anything with a buffer of bytes; return how many."""
        size = memoryview(data).nbytes
        if self._packer is not None:
            self._put(self._packer.compress(data))
        elif self._by_arrow is not None:
            self._by_arrow.write(data)
        else:
            self._put(data)
        self._given += size
        return size

    def _put(self, data: Any) -> None:
        if self._out is not None:
            self._out.write(data)

    def file(self) -> Any:
        """The sink as a file for pyarrow's writers, which may be closed without harm."""
        return pa.PythonFile(self, mode="w")

    def tell(self) -> int:
        """Bytes given so far, before compression. Parquet asks where each part begins, which a pipe cannot answer."""
        return self._given

    def flush(self) -> None:
        """Nothing is held back but by the compression."""

    def close(self) -> None:
        """The stream belongs to the caller."""
