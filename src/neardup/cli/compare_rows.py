"""A text as rows of a terminal: wrapped, its passages marked, nothing in it that a terminal would act upon.

Which rows stand beside each other, colours and printing are in ``compare_text``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len

from neardup.shown import is_hidden, name_of

Span = tuple[int, int]

MOST_MARKS = 8
"""Combining marks that a letter may carry; those behind them are shown by code."""
BARE = "◌"
"""Carries a combining mark that has no letter before it."""

_TOKEN = re.compile(r"[!-~]+| +|\n|([^\n -~])\1*")
_PICTURES = {"\t": "␉", "\r": "␍"}


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of a text that is shown apart: a passage, or words that changed."""

    start: int
    end: int
    number: int
    """Of the passage; 0 of changed words."""
    run: int = -1
    """Which run of its text a passage is."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters of a row that look alike."""

    shown: str
    cells: int
    kind: str
    """``text``, ``hidden`` (stands for a character that is not shown as it is), ``label`` (of a mark) or ``note``."""
    mark: Mark | None = None
    anchor: int = -1
    """Of the label at the beginning of a passage: which run it is."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row as wide as its column, or less."""

    pieces: Sequence[Piece]
    line: int | None
    """Number of the line of the text that begins here, or None in the middle of one."""
    anchors: Sequence[int] = ()
    """Runs whose label stands here."""


def rows_of(text: str, windows: Iterable[Span], marks: Sequence[Mark], *, width: int, is_plain: bool) -> list[Row]:
    """The windows of a text as rows, with a note about what is left out between them. Linear in what is shown.

    Windows and marks rise, and are apart. A row has ``width`` columns, at least 20. Where there are no colours
    (``is_plain``) the ends of marks are shown too.
    """
    filler = _Filler(width - 1, is_plain)  # a column is kept for a space that ends a row
    ends = [mark.end for mark in marks]
    at, line = 0, 1
    for start, end in windows:
        filler.leave_out(start - at)
        line += text.count("\n", at, start)
        filler.begin(line)
        for mark, low, high in _cut(marks[bisect_right(ends, start) :], start, end):
            filler.show(text, low, high, mark)
        line = filler.finish()
        at = end
    filler.leave_out(len(text) - at)
    return filler.rows


def _cut(marks: Sequence[Mark], start: int, end: int) -> Iterator[tuple[Mark | None, int, int]]:
    """The parts of text[start:end] that lie in one mark or in none; ``marks`` begins with the first behind start."""
    for mark in marks:
        if mark.start >= end:
            break
        if start < mark.start:
            yield None, start, mark.start
        low, high = max(start, mark.start), min(end, mark.end)
        yield mark, low, high
        start = high
    if start < end:
        yield None, start, end


def _brackets(mark: Mark, is_plain: bool) -> tuple[str, str]:
    """What stands before and behind a mark: the number of a passage always, its end where no colour shows it."""
    if mark.number:
        return f"[{mark.number}]", f"[/{mark.number}]" if is_plain else ""
    return ("{", "}") if is_plain else ("", "")


@dataclass(slots=True)
class _Filler:
    """Fills rows from left to right."""

    width: int
    """Columns of a row; one space more may end it."""
    is_plain: bool
    rows: list[Row] = field(default_factory=list)
    _pieces: list[Piece] = field(default_factory=list)
    _used: int = 0
    _break: int = 0
    """Pieces behind which the row may end; 0: nowhere."""
    _line: int = 1
    _begins: bool = False
    """Whether the row is the first of its line, or of a window."""
    _base: str = ""
    """The letter that a combining mark would stand on, with the marks it has."""

    def leave_out(self, characters: int) -> None:
        """A row that says that so many characters are not shown."""
        if characters > 0:
            note = f"… {characters:,} character{'' if characters == 1 else 's'} …"
            self.rows.append(Row([Piece(note, len(note), "note")], None))

    def begin(self, line: int) -> None:
        self._line, self._begins = line, True

    def finish(self) -> int:
        """End the last row of a window; returns the number of its line."""
        if self._pieces or self._begins:
            self._end_row(len(self._pieces))
        return self._line

    def show(self, text: str, start: int, end: int, mark: Mark | None) -> None:
        """Add text[start:end], which lies in one mark or in none."""
        opening, closing = _brackets(mark, self.is_plain) if mark else ("", "")
        self._label(opening, mark, mark.run if mark else -1)
        for found in _TOKEN.finditer(text, start, end):
            self._token(found[0], mark)
        self._label(closing, mark, -1)

    def _label(self, shown: str, mark: Mark | None, anchor: int) -> None:
        if shown:
            self._add(Piece(shown, len(shown), "label", mark, anchor))
            self._base = ""

    def _token(self, token: str, mark: Mark | None) -> None:
        first = token[0]
        if first == "\n":
            self._end_row(len(self._pieces))
            self._line, self._begins = self._line + 1, True
        elif first == " ":
            self._spaces(len(token), mark)
        elif "!" <= first <= "~":
            self._word(token, mark)
        elif first in _PICTURES:
            for _ in token:
                self._add(Piece(_PICTURES[first], 1, "hidden", mark))
            self._base = ""
        elif is_hidden(first):
            self._name(first, len(token), mark)
        elif cell_len(first) == 0:
            self._combine(first, len(token), mark)
        else:
            cells = cell_len(first)
            for char in token:
                self._add(Piece(char, cells, "text", mark))
                if cells > 1:
                    self._break = len(self._pieces)  # ideographs have no spaces between them to wait for
            self._base = first

    def _spaces(self, count: int, mark: Mark | None) -> None:
        while count:
            room = self.width + 1 - self._used
            if room <= 0:
                self._end_row(len(self._pieces))
                continue
            now = min(count, room)
            self._append(Piece(" " * now, now, "text", mark))
            self._break = len(self._pieces)
            count -= now
        self._base = " "

    def _word(self, word: str, mark: Mark | None) -> None:
        for at in range(0, len(word), self.width):
            part = word[at : at + self.width]
            self._add(Piece(part, len(part), "text", mark))
        self._base = word[-1]

    def _name(self, char: str, times: int, mark: Mark | None) -> None:
        """A character that is not seen, or that a terminal acts upon, by its name or code."""
        name = f"<{name_of(char)}>" if times == 1 else f"<{name_of(char)} ×{times}>"
        self._add(Piece(name, len(name), "hidden", mark))
        self._base = ""

    def _combine(self, char: str, times: int, mark: Mark | None) -> None:
        """Marks onto the letter before them; a few, then by name, since a terminal would pile them up."""
        if not self._base:
            self._add(Piece(BARE, 1, "hidden", mark))
            self._base = BARE
        now = min(times, max(0, MOST_MARKS + 1 - len(self._base)))
        for _ in range(now):
            cells = cell_len(self._base + char) - cell_len(self._base)  # a variation selector makes some wide
            is_end = self._break == len(self._pieces)
            self._append(Piece(char, cells, "text", mark))
            self._break += is_end
            self._base += char
        if times > now:
            base = self._base
            self._name(char, times - now, mark)
            self._base = base[: MOST_MARKS + 1]

    def _add(self, piece: Piece) -> None:
        """Append a piece, in a new row when this one is full: the row ends behind the last space if it can."""
        if self._pieces and self._used + piece.cells > self.width:
            self._end_row(self._break or len(self._pieces))
        if self._pieces and self._used + piece.cells > self.width:
            self._end_row(len(self._pieces))
        self._append(piece)

    def _append(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self._used += piece.cells

    def _end_row(self, pieces: int) -> None:
        """The row ends behind so many pieces; the others begin the next one."""
        done, rest = self._pieces[:pieces], self._pieces[pieces:]
        anchors = [piece.anchor for piece in done if piece.anchor >= 0]
        self.rows.append(Row(done, self._line if self._begins else None, anchors))
        self._pieces, self._used, self._break = rest, sum(piece.cells for piece in rest), 0
        self._begins = False
        if not rest:
            self._base = ""
