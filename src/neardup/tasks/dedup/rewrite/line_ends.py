"""Where the lines of a text file end, in the bytes as they are stored.

Readers number lines in decoded text; a clean copy is cut from the bytes themselves, so that nothing that is kept
changes. This works in encodings where the newline has one code unit that never is a part of anything else: UTF-8, -16
and -32, every encoding of one byte a character, and the multibyte encodings listed in ``_MULTIBYTE`` (Python's decoders
were tried on random bytes: they find a newline at each 0x0A and nowhere else, in broken text too).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

import numpy as np

from neardup.errors import InputError
from neardup.inputs.formats import text_codec

__all__ = ["LineEnds", "line_ends_of"]

_MULTIBYTE = frozenset(
    {
        *("big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jisx0213", "euc_jp", "euc_kr"),
        *("gb18030", "gb2312", "gbk", "johab", "shift_jis", "shift_jis_2004", "shift_jisx0213", "utf_8"),
    }
)
_WIDE = {"utf_16": 2, "utf_32": 4}
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class LineEnds:
    """How newlines and white space look in the bytes of a file."""

    codec: str
    """Python's name of the encoding, with its byte order."""
    mark: bytes
    """The byte order mark at the beginning of the file, or nothing."""
    unit: str
    """NumPy dtype of a code unit."""
    newline: int
    space: int
    tab: int
    carriage_return: int

    @property
    def width(self) -> int:
        """Bytes of a code unit."""
        return np.dtype(self.unit).itemsize

    def encode(self, text: str) -> bytes:
        """The bytes of ``text``.

        Raises:
            UnicodeEncodeError: a character is not in the encoding.
        """
        return text.encode(self.codec)


def line_ends_of(encoding: str, head: bytes, name: str) -> LineEnds:
    """Return how the lines of a file end.

    Args:
        encoding: as the user named it.
        head: the first bytes of the file, four at least where it has so many.
        name: the file, for messages.

    Raises:
        InputError: lines cannot be found in the stored bytes of this encoding.
    """
    codec = text_codec(encoding).replace("-", "_")
    if codec in _WIDE:  # the byte order is what the mark says
        codec += "_be" if head[:2] in (b"\xfe\xff", b"\0\0") else "_le"
    if codec[:6] in _WIDE:
        width = _WIDE[codec[:6]]
        units = [10, 32, 9, 13]
        order = ">" if codec.endswith("be") else "<"
        return LineEnds(codec, _mark(codec, head), f"{order}u{width}", *units)
    found = _single_bytes(codec)
    if found is None:
        raise InputError(
            f"{name}: a clean copy cannot be cut from text in {encoding}, where a newline has no bytes of its own. "
            "Write the file again as UTF-8."
        )
    return LineEnds(codec, _mark(codec, head), "u1", *found)


def _mark(codec: str, head: bytes) -> bytes:
    try:
        mark = _MARK.encode(codec)
    except UnicodeEncodeError:
        return b""
    return mark if head.startswith(mark) else b""


def _single_bytes(codec: str) -> tuple[int, int, int, int] | None:
    """The bytes of newline, space, tab and carriage return; None where they are not single bytes."""
    if codec in _MULTIBYTE or codec in ("ascii", "iso8859_1"):
        return 10, 32, 9, 13
    try:
        table = importlib.import_module(f"encodings.{codec}").decoding_table
    except (ImportError, AttributeError):
        return None
    if any(table.count(character) != 1 for character in "\n \t\r"):
        return None
    newline, space, tab, carriage_return = (table.index(character) for character in "\n \t\r")
    return newline, space, tab, carriage_return
