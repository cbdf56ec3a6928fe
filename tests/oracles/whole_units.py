"""Lines and paragraphs of texts as plainly as can be: each with its place, in characters."""

from __future__ import annotations

import re
from typing import NamedTuple


class Unit(NamedTuple):
    """A unit, trimmed, and where it stands in its text."""

    text: str
    start: int
    end: int


def lines(text: str) -> list[Unit]:
    """What is between line breaks (LF, CR LF, CR), also where it is empty."""
    found, at = [], 0
    for piece in re.split("(\r\n|\r|\n)", text):
        if piece not in ("\r\n", "\r", "\n"):
            trimmed = piece.strip()
            start = at + (len(piece) - len(piece.lstrip()) if trimmed else 0)
            found.append(Unit(trimmed, start, start + len(trimmed)))
        at += len(piece)
    return found


def units_of(text: str, unit: str) -> list[Unit]:
    """Lines that are not empty; or runs of them, each from its first character to its last."""
    if unit == "line":
        return [line for line in lines(text) if line.text]
    runs: list[list[Unit]] = [[]]
    for line in lines(text):
        if line.text:
            runs[-1].append(line)
        else:
            runs.append([])
    return [Unit(text[run[0].start : run[-1].end], run[0].start, run[-1].end) for run in runs if run]
