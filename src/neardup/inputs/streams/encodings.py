"""Text in other encodings, turned into UTF-8 piece by piece.

A byte that its encoding does not know costs its line, not the file: it is handed on as bytes that are no
valid UTF-8, so the reader's own check finds it and reports the line.
"""

from __future__ import annotations

import codecs
from typing import Protocol

from neardup.errors import InputError, did_you_mean

__all__ = ["Feed", "Transcoder", "text_codec"]

_PIECE = 1 << 16
"""Bytes decoded at a time; small, since what is pending is sliced."""
_COMMON = ("utf-8", "latin-1", "cp1252", "ascii", "utf-16", "shift_jis", "gb18030", "big5", "koi8-r")


class Feed(Protocol):
    """What fills a buffer; with fewer bytes than it has room for only at the end."""

    def fill(self, view: memoryview, /) -> int:
        """Fill ``view`` and return how many bytes it got."""


class Transcoder:
    """Bytes of another encoding as UTF-8; what cannot be decoded becomes bytes that are no UTF-8."""

    def __init__(self, stream: Feed, codec: str, name: str) -> None:
        self._stream = stream
        self._name = name
        self._decoder = codecs.getincrementaldecoder(codec)(errors="neardup.mark")
        self._pending = b""
        self._ended = False

    def fill(self, view: memoryview, /) -> int:
        """Fill ``view`` with UTF-8 until it is full or the text ends; return the bytes written."""
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
            buffer = bytearray(_PIECE)  # small: slicing what is pending must not become quadratic
            got = self._stream.fill(memoryview(buffer))
            self._ended = got < _PIECE
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


def text_codec(encoding: str) -> str:
    """Return Python's name of a text encoding; "utf-8" for all spellings of UTF-8.

    Raises:
        InputError: there is no such text encoding.
    """
    try:
        info = codecs.lookup(encoding)
    except LookupError as exc:
        cure = did_you_mean(encoding, _COMMON) or " Try utf-8 or latin-1."
        raise InputError(f"{encoding!r} is no encoding that Python knows.{cure}") from exc
    if not getattr(info, "_is_text_encoding", True) or info.incrementaldecoder is None:
        raise InputError(f"{encoding!r} is not an encoding of text files. Try utf-8 or latin-1.")
    return "utf-8" if info.name in ("utf-8", "utf-8-sig") else info.name
