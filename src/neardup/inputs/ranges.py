"""The lines of a plain file that begin in a range of its bytes.

Ranges that follow each other have every line of the file once: a line belongs to the range in which its first byte lies
and is read to its end, however far behind the range that is; what is left of a line that began before is passed over.
"""

from __future__ import annotations

from neardup.inputs.stream import ByteStream

_PIECE = 1 << 16
"""Bytes in which the end of a line is looked for."""


class LinesInRange(ByteStream):
    """The bytes of these lines, as if they were the whole file. Nothing is read twice but for some ends of lines."""

    def __init__(self, path: str, part: range) -> None:
        """Find the first of the lines; InputError as for a ``ByteStream``. ``part``: of bytes, counted from 0."""
        self._last = part.stop - 1  # the first line that ends here or behind is the last one
        self.begin = self._at = self._find(path, part.start) if part.start else 0
        """Where in the file the first line begins; at the end of the range, about, where none does."""
        super().__init__(path, first=self.begin)
        self._is_ended = self.begin >= part.stop

    def _find(self, path: str, start: int) -> int:
        """Where the first line begins that does not begin before ``start``, if that is not behind the last byte."""
        at = start - 1
        with ByteStream(path, first=at) as stream:
            while at < self._last and (piece := stream.read(min(_PIECE, self._last - at))):
                found = piece.find(b"\n")
                if found >= 0:
                    return at + found + 1
                at += len(piece)
        return self._last + 1

    def _fill(self, view: memoryview) -> int:
        done = 0
        while done < len(view) and not self._is_ended:
            room = self._last - self._at
            wanted = view[done : done + (room if room > 0 else _PIECE)]
            got = super()._fill(wanted)
            self._is_ended = got < len(wanted)
            if room <= 0 and (found := bytes(wanted[:got]).find(b"\n")) >= 0:
                self._stored -= got - found - 1  # what lies behind the line is told by whom it belongs to
                got, self._is_ended = found + 1, True
            done += got
            self._at += got
        return done
