"""Shared passages as plainly as Python can say them: every character with its place, every shingle with its span.

Where a Unicode form may be cut is found by trial: a character stands apart when no probe before it changes the outcome.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from tests.oracles import text as plain

Placed = tuple[str, int, int]
"""A character of the normalised text, and from where to where it came from in the original."""


@lru_cache(maxsize=1)
def probes() -> tuple[str, ...]:
    """Characters that compose with one behind them or may change places with it, and some that do neither."""
    found = {"a", " ", "日", "\u1100", "\uac00", "\uac01"}
    for point in range(0x20000):
        char = chr(point)
        mapping = unicodedata.decomposition(char).split()
        if unicodedata.combining(char):
            found.add(char)
        if len(mapping) == 2 and not mapping[0].startswith("<"):
            found.add(chr(int(mapping[0], 16)))
    return tuple(sorted(found))


@cache
def stands_apart(char: str, form: str) -> bool:
    """Whether the form of any probe and ``char`` is the form of the one and the form of the other."""
    own = unicodedata.normalize(form, char)
    return all(unicodedata.normalize(form, x + char) == unicodedata.normalize(form, x) + own for x in probes())


def in_form(placed: list[Placed], form: str) -> list[Placed]:
    """The form of each piece; a piece that changes belongs to all of its characters."""
    pieces: list[list[Placed]] = []
    for item in placed:
        if not pieces or stands_apart(item[0], form):
            pieces.append([])
        pieces[-1].append(item)
    out: list[Placed] = []
    for piece in pieces:
        old = "".join(char for char, _, _ in piece)
        new = unicodedata.normalize(form, old)
        out += piece if new == old else [(char, piece[0][1], piece[-1][2]) for char in new]
    return out


def placed(text: str, how: str) -> list[Placed]:
    """The normalised text with the place of each of its characters."""
    names = how.split(",")
    form = next((name.upper() for name in names if name in ("none", "nfc", "nfkc")), "NFC")
    out = [(char, i, i + 1) for i, char in enumerate(text)]
    out = out if form == "NONE" else in_form(out, form)
    if "casefold" in names:
        out = [(new, start, end) for char, start, end in out for new in char.casefold()]
        out = out if form == "NONE" else in_form(out, form)
    if "punct" in names:
        out = [item for item in out if not unicodedata.category(item[0]).startswith("P")]
    if "strip" in names:
        out = [item for item in out if not item[0].isspace()]
    if "space" in names:
        spaced: list[Placed] = []
        for char, start, end in out:
            if not char.isspace():
                spaced.append((char, start, end))
            elif spaced and spaced[-1][0] == " ":
                spaced[-1] = (" ", spaced[-1][1], end)
            elif spaced:
                spaced.append((" ", start, end))
        out = spaced[:-1] if spaced and spaced[-1][0] == " " else spaced
    return out


@dataclass(frozen=True)
class Occurrence:
    """A shingle at a place."""

    shingle: tuple[object, ...]
    start: int
    end: int


def tokens(normalised: list[Placed], kind: str) -> list[tuple[object, int, int]]:
    """Tokens with their places."""
    if kind == "char":
        return list(normalised)
    if kind == "byte":
        return [(byte, start, end) for char, start, end in normalised for byte in char.encode()]
    out: list[tuple[object, int, int]] = []
    is_open = False
    for char, start, end in normalised:
        inside = not char.isspace() if kind == "item" else unicodedata.category(char)[0] in "LMN"
        if inside and is_open:
            out[-1] = (str(out[-1][0]) + char, out[-1][1], end)
        elif inside:
            out.append((char, start, end))
        is_open = inside
    return out


def occurrences(text: str, shingle: str, how: str) -> list[Occurrence]:
    """Every shingle of a text in order, with repeats."""
    kind, _, size = shingle.partition(":")
    k = int(size or 1)
    normalised = placed(text, how)
    row = tokens(normalised, kind)
    if not row and normalised and kind != "item":
        whole = "".join(char for char, _, _ in normalised)
        return [Occurrence((whole,), normalised[0][1], normalised[-1][2])]
    runs: Iterable[Sequence[tuple[object, int, int]]] = (
        [row[i : i + k] for i in range(len(row) - k + 1)] if len(row) >= k else ([row] if row else [])
    )
    return [Occurrence(tuple(token for token, _, _ in run), run[0][1], run[-1][2]) for run in runs]


def runs_of(covered: set[int]) -> list[tuple[int, int]]:
    """Maximal runs of whole numbers."""
    out: list[tuple[int, int]] = []
    for i in sorted(covered):
        if out and out[-1][1] == i:
            out[-1] = (out[-1][0], i + 1)
        else:
            out.append((i, i + 1))
    return out


def shared_spans(own: list[Occurrence], other: list[Occurrence]) -> list[tuple[int, int]]:
    """What is marked in a text: the characters that a shingle of both covers, as runs."""
    common = {found.shingle for found in own} & {found.shingle for found in other}
    return runs_of({i for found in own if found.shingle in common for i in range(found.start, found.end)})


def normalised(text: str, how: str) -> str:
    """The text of ``placed``, which must be that of ``tests.oracles.text``."""
    got = "".join(char for char, _, _ in placed(text, how))
    assert got == plain.normalise(text, how)
    return got
