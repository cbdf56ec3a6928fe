"""Stdout for data: bytes as they are, in UTF-8 whatever the locale; a terminal gets their controls escaped.

A file or a pipe takes everything verbatim. On a terminal the same bytes would be acted upon: an id with an escape
sequence could repaint the screen or rename the window.
"""

from __future__ import annotations

import codecs
import re
import sys
from typing import Any

from neardup.shown import shown

_LAYOUT = re.compile(r"(\r?\n|\t)")
"""What data on a terminal keep of the controls: they are laid out by them."""


def stdout_bytes() -> Any:
    """Stdout as a binary stream, or None when it is closed. Text that was printed before is let out first."""
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        return None
    sys.stdout.flush()
    is_terminal = getattr(sys.stdout, "isatty", bool)  # what stands in for stdout may be less than a file
    return TerminalBytes(stream) if is_terminal() else stream


class TerminalBytes:
    """Takes UTF-8 in any pieces and passes it on to a terminal; see ``neardup.shown`` for what is escaped."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Any) -> int:
        """Pass on what is whole characters so far."""
        view = memoryview(data).cast("B")
        parts = _LAYOUT.split(self._decoder.decode(view))
        self._stream.write("".join(part if i % 2 else shown(part) for i, part in enumerate(parts)).encode("utf-8"))
        return len(view)

    def flush(self) -> None:
        self._stream.flush()
