"""A comparison as plainly as Python can say it, and the reader of what a terminal was shown of one.

The reader knows the picture only: a column of line numbers, passages on a background, slanted names of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.oracles import passages as plain

SGR = re.compile(r"\x1b\[([0-9;]*)m")
_HIDDEN = re.compile(r"<([A-Z0-9+]+)(?: ×(\d+))?>|([␉␍◌])")
_PICTURES = {"␉": "\t", "␍": "\r", "◌": ""}
_OTHER_NAMES = {"LS": "\u2028", "PS": "\u2029"}


@dataclass(frozen=True)
class Measures:
    """What is counted of two texts."""

    sizes: tuple[int, int, int]
    jaccard: float
    a_in_b: float
    b_in_a: float
    marked: tuple[set[int], set[int]]


def measures(a: str, b: str, shingle: str, how: str) -> Measures:
    """Set arithmetic on the shingles, and the characters that those of both cover."""
    first, second = (plain.occurrences(text, shingle, how) for text in (a, b))
    set_a, set_b = ({found.shingle for found in own} for own in (first, second))
    common = set_a & set_b
    union = set_a | set_b
    return Measures(
        (len(set_a), len(set_b), len(common)),
        len(common) / len(union) if union else 1.0,
        len(common) / len(set_a) if set_a else 1.0,
        len(common) / len(set_b) if set_b else 1.0,
        (covered_by(first, common), covered_by(second, common)),
    )


def covered_by(own: Sequence[plain.Occurrence], common: set[tuple[object, ...]]) -> set[int]:
    """Characters of a text that some shingle of ``common`` covers."""
    return {i for found in own if found.shingle in common for i in range(found.start, found.end)}


def inside(spans: Sequence[Sequence[int]]) -> set[int]:
    """Characters of some spans."""
    return {i for start, end in spans for i in range(start, end)}


@dataclass
class Seen:
    """A text as a terminal showed it."""

    text: str = ""
    marked: set[int] = field(default_factory=set)
    changed: set[int] = field(default_factory=set)
    numbers: list[int] = field(default_factory=list)
    """Of the passages, in order."""


def read_coloured(output: str) -> list[Seen]:
    """Both texts, one below the other, as they were printed in colour and in full."""
    texts: list[Seen] = []
    for line in output.split("\n"):
        parts = styled(line)
        if not parts:
            continue
        if parts[0][1] == {"1"}:
            texts.append(Seen())
            continue
        _read_row(texts[-1], parts)
    return texts


def styled(line: str) -> list[tuple[str, set[str]]]:
    """The parts of a line with the numbers of their style."""
    out: list[tuple[str, set[str]]] = []
    style: set[str] = set()
    for i, part in enumerate(SGR.split(line)):
        if i % 2:
            style = set() if part in ("", "0") else set(part.split(";"))
        elif part:
            out.append((part, style))
    return out


def _read_row(seen: Seen, parts: list[tuple[str, set[str]]]) -> None:
    (gutter, _), *rest = parts
    if gutter.strip() not in ("", "1"):
        seen.text += "\n"
    for shown, style in rest:
        is_marked = any(re.fullmatch(r"4[0-7]|10[0-7]", number) for number in style)
        if "1" in style:
            assert is_marked
            seen.numbers += map(int, re.findall(r"\[(\d+)\]", shown))
            continue
        if rest[0][0] == "(empty)" and style == {"2"}:
            continue
        chars = unhidden(shown) if "3" in style else shown
        places = range(len(seen.text), len(seen.text) + len(chars))
        seen.text += chars
        if is_marked:
            seen.marked.update(places)
        if "4" in style:
            seen.changed.update(places)


def unhidden(shown: str) -> str:
    """The characters that names stand for."""
    out, at = "", 0
    while at < len(shown):
        found = _HIDDEN.match(shown, at)
        assert found, f"{shown[at:]!r} is no name"
        at = found.end()
        if found[3]:
            out += _PICTURES[found[3]]
            continue
        name, times = found[1], int(found[2] or 1)
        out += times * (chr(int(name[2:], 16)) if name.startswith("U+") else _named(name))
    return out


def _named(name: str) -> str:
    return _OTHER_NAMES.get(name) or unicodedata.lookup(name)


def read_plain(rows: Sequence[str], gutter: int) -> Seen:
    """One text as it was printed without colour; it has no brackets of its own."""
    seen = Seen()
    is_marked = is_changed = False
    for row in rows:
        if row[:gutter].strip() not in ("", "1"):
            seen.text += "\n"
        for part in re.split(r"(\[\d+\]|\[/\d+\]|[{}]|<[^>]+>|[␉␍◌])", row[gutter + 1 :]):
            if re.fullmatch(r"\[\d+\]", part):
                is_marked = True
                seen.numbers.append(int(part[1:-1]))
            elif re.fullmatch(r"\[/\d+\]", part):
                is_marked = False
            elif part in ("{", "}"):
                is_changed = part == "{"
            else:
                chars = unhidden(part) if re.fullmatch(r"<[^>]+>|[␉␍◌]", part) else part
                places = range(len(seen.text), len(seen.text) + len(chars))
                seen.text += chars
                seen.marked.update(places if is_marked else ())
                seen.changed.update(places if is_changed else ())
    return seen
