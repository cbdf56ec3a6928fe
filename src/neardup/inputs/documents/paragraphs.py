"""Paragraphs in reading order, where some begin inside others: text boxes and notes.

What begins inside a paragraph does not cut it in two: a text box follows the paragraph that it is anchored in, and
notes follow the whole text.
"""

from __future__ import annotations

__all__ = ["Paragraphs"]


class Paragraphs:
    """Takes the text of a document as it comes and gives it back a paragraph a line."""

    __slots__ = ("_boxes", "_done", "_notes", "_open", "note_depth")

    def __init__(self) -> None:
        self._done: list[str] = []
        self._boxes: list[str] = []
        self._notes: list[str] = []
        self._open: list[list[str]] = []
        self.note_depth = 0
        """How many notes the next paragraph lies in."""

    @property
    def is_open(self) -> bool:
        """Whether text belongs to a paragraph here."""
        return bool(self._open)

    def begin(self) -> None:
        """A paragraph begins."""
        self._open.append([])

    def add(self, text: str) -> None:
        """Text of the innermost paragraph; what lies in none is no text."""
        if self._open:
            self._open[-1].append(text)

    def ends_blank(self) -> bool:
        """Whether the innermost paragraph is empty so far, or ends in white space."""
        return not self._open or not self._open[-1] or self._open[-1][-1][-1:].isspace()

    def end(self) -> None:
        """The innermost paragraph ends."""
        if not self._open:
            return
        text = "".join(self._open.pop())
        if text.isspace():
            text = ""
        if self.note_depth:
            self._notes.append(text)
        elif self._open:
            self._boxes.append(text)
        else:
            self._done.append(text)
            self._done += self._boxes
            self._boxes.clear()

    def resume(self) -> None:
        """Go on with the paragraph that ended last, as if it had not."""
        kept = self._notes if self.note_depth else self._boxes if self._open else self._done
        self._open.append([kept.pop()] if kept else [])

    def text(self) -> str:
        """All of it."""
        while self._open:
            self.end()
        return "\n".join(line for line in (*self._done, *self._notes) if line and not line.isspace())
