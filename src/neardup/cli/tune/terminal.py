"""A person at a terminal as the judge: both texts side by side, one key an answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

import click

from neardup.cli.compare_rows import Mark, Row, rows_of
from neardup.cli.compare_text import RIGHT_TO_LEFT, Line, print_lines, style_of
from neardup.cli.tune.differing import Span, differing
from neardup.pages.pairs import union, windows
from neardup.shown import counted, shown
from neardup.tasks.tune.asking import Reply
from neardup.tasks.tune.outcome import AskedPair

if TYPE_CHECKING:
    from rich.console import Console

NARROW = 60
"""Columns below which the texts stand one below the other."""
LEAST_ROWS = 8
"""Of each text, however low the terminal is."""
BESIDE_TEXTS = 8
"""Rows that the head, the keys and what is left out take."""
WIDEST, WRAPPED = 75, 4
"""Columns of the longest of these, and the rows that they take more where there are fewer."""
MOSTLY = 0.5
"""Share of either text that differs, from which nothing is marked: it would be nearly all."""
QUESTION = "are these duplicates, in the sense that you mean?"
_BETWEEN = " │ "
_KEYS = {"y": Reply.YES, "n": Reply.NO, "s": Reply.SKIP, "u": Reply.UNDO, "q": Reply.STOP}
_SAID = {
    Reply.YES: "yes, duplicates",
    Reply.NO: "no",
    Reply.SKIP: "not sure",
    Reply.UNDO: "undone",
    Reply.STOP: "stopped",
}
MORE = "m"
_END = ("\x04", "")
"""What comes when there are no more keys."""


def check_terminal() -> None:
    """Raise UsageError where nobody could be shown anything, or press a key."""
    for stream in (sys.stdin, sys.stderr):
        if stream is None or not stream.isatty():
            raise click.UsageError(
                "nobody can be asked here: questions are shown on stderr and answered by keys on stdin, and one of them"
                " is no terminal. Give --ask page, --ask COMMAND, --labels FILE, or --budget 0 to propose settings"
                " without asking."
            )


class Terminal:
    """Asks on stderr."""

    name = "terminal"

    def __init__(self, *, console: Console | None = None, key: Callable[[], str] = click.getchar) -> None:
        from rich.console import Console

        self._console = console or Console(stderr=True, highlight=False)
        self._key = key
        self._answered = 0

    def ask(self, pair: AskedPair) -> Reply:
        """Show a pair, whole or in part, and wait for a key that is one of those named."""
        is_more = self._show(pair, is_whole=False)
        while True:
            try:
                key = self._key()
            except EOFError:
                key = ""
            if key in _END:
                return self._told(Reply.STOP)
            if key.casefold() == MORE and is_more:
                is_more = self._show(pair, is_whole=True)
            elif (reply := _KEYS.get(key.casefold())) is not None and (reply is not Reply.UNDO or self._answered):
                return self._told(reply)

    def _told(self, reply: Reply) -> Reply:
        self._answered += {Reply.UNDO: -1, Reply.STOP: 0}.get(reply, 1)
        self._print(iter([[(_SAID[reply], "bold")]]))
        return reply

    def _show(self, pair: AskedPair, *, is_whole: bool) -> bool:
        """Print a pair and the keys; whether something of it is not shown."""
        texts: tuple[str, str] = (pair.text_a, pair.text_b)
        spans = differing(*texts)
        shares = [
            sum(end - start for start, end in own) / max(1, len(text)) for text, own in zip(texts, spans, strict=True)
        ]
        is_marked = min(shares) <= MOSTLY
        if not is_marked:
            spans = [], []
        is_beside = self._console.width >= NARROW and not any(map(RIGHT_TO_LEFT.search, texts))
        width = (self._console.width - len(_BETWEEN)) // 2 if is_beside else self._console.width
        beside = BESIDE_TEXTS + (WRAPPED if self._console.width < WIDEST else 0)
        rows = max(LEAST_ROWS, self._console.height - beside) // (1 if is_beside else 2)
        most = None if is_whole else rows
        sides = [self._side(text, own, max(width, 24), most) for text, own in zip(texts, spans, strict=True)]
        titles = [(f"{name}  {shown(id)}") for name, id in zip("AB", (pair.id_a, pair.id_b), strict=True)]
        self._print(iter([[], [(f"pair {pair.number} of at most {pair.budget}: {QUESTION}", "bold")]]))
        shown_rows = [rows for rows, _ in sides]
        self._print(_beside(shown_rows, titles, width) if is_beside else _below(shown_rows, titles))
        is_more = any(is_cut for _, is_cut in sides)
        self._print(self._prompt(texts, is_marked=is_marked, is_more=is_more))
        return is_more

    def _side(self, text: str, spans: Sequence[Span], width: int, most: int | None) -> tuple[list[Row], bool]:
        """A text, or what of it fits into ``most`` rows, and whether it was cut: its beginning and what differs."""
        is_plain = self._console.color_system is None or self._console.no_color
        marks, room = [Mark(*span, 0) for span in spans], len(text) if most is None else width * most
        while True:
            parts = _widened(windows(text, spans, most=room), text, room)
            rows = rows_of(text, parts, marks, width=width, is_plain=is_plain)
            if most is None or len(rows) <= most or room <= LEAST_ROWS * LEAST_ROWS:
                return rows, sum(end - start for start, end in parts) < len(text)
            room = min(room - width, room * most // len(rows))  # lines that end early take rows too

    def _prompt(self, texts: tuple[str, str], *, is_marked: bool, is_more: bool) -> Iterator[Line]:
        sizes = " and ".join(counted(len(text), "character") for text in texts)
        keys = ["y duplicates", "n not", "s not sure"]
        keys += ["u undo"] * bool(self._answered) + [f"{MORE} more"] * is_more + ["q stop here"]
        marks = "in braces" if self._console.color_system is None else "marked"
        told = f"what differs is {marks}" if is_marked else "most words differ, none is marked"
        yield [(f"{sizes}; {told}", "dim")]
        yield [("  ".join(keys), "bold")]

    def _print(self, lines: Iterator[Line]) -> None:
        print_lines(self._console, lines)


def _widened(parts: list[Span], text: str, room: int) -> list[Span]:
    """Windows with what is left of ``room`` characters added to the first: of a long passage that differs they hold
    the ends only."""
    spare = room - sum(end - start for start, end in parts)
    if not parts or spare <= 0 or len(text) <= room:
        return parts
    first = parts[0][1]
    return union([(0, max(first, text.rfind(" ", first, first + spare))), *parts])


def _line(row: Row) -> Line:
    return [(piece.shown, style_of(piece)) for piece in row.pieces]


def _below(sides: list[list[Row]], titles: list[str]) -> Iterator[Line]:
    for rows, title in zip(sides, titles, strict=True):
        yield [(title, "bold")]
        yield from map(_line, rows)


def _beside(sides: list[list[Row]], titles: list[str], width: int) -> Iterator[Line]:
    from rich.cells import set_cell_size

    left, right = (set_cell_size(title, width) for title in titles)
    yield [(left, "bold"), (_BETWEEN, "dim"), (right.rstrip(), "bold")]
    for a, b in zip_longest(*sides):
        used = sum(piece.cells for piece in a.pieces) if a is not None else 0
        line = _line(a) if a is not None else []
        yield [*line, (" " * (width - used), ""), (_BETWEEN, "dim"), *(_line(b) if b is not None else [])]
