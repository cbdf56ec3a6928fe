"""Passages of a text with some words around them: what ``show`` of repeated passages gives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from neardup.pages.fragments import framed, seen, seen_line
from neardup.pages.notebook import MOST_BYTES
from neardup.shown import cut_text, shown

_NAME = 200
_SPACE = re.compile(r"\s+")
_FRAME = 30_000
"""Bytes of a fragment beside its passages: the styles."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a passage."""

    id: str
    start: int
    """The character in the document at which the passage begins there."""
    before: str
    passage: str
    behind: str
    is_cut: bool
    """Whether the passage goes on behind what is here of it."""

    def line(self) -> str:
        """The place as one line."""
        parts = self.before, self.passage + "…" * self.is_cut, self.behind
        before, passage, behind = (_SPACE.sub(" ", part) for part in parts)
        return f"{before.lstrip()}[{passage}]{behind.rstrip()}"


@dataclass(frozen=True, slots=True)
class Context:
    """A passage with some of its places."""

    title: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Contexts:
    """Some passages of a result. A notebook shows them in their texts, ``print`` shows a line for each place."""

    passages: tuple[Context, ...]
    left_out: int = 0
    """Passages that there are beside these."""

    def __len__(self) -> int:
        return len(self.passages)

    def __iter__(self) -> Iterator[Context]:
        return iter(self.passages)

    def __repr__(self) -> str:
        if not self.passages:
            return "no passages to show"
        lines: list[str] = []
        for each in self.passages:
            lines.append(each.title)
            lines += [
                f"  {shown(cut_text(place.id, _NAME))} at {place.start:,}  {shown(place.line())}"
                for place in each.places
            ]
        if self.left_out:
            lines.append(f"… and {self.left_out:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        parts, room, left_out = [], MOST_BYTES - _FRAME, self.left_out
        for number, each in enumerate(self.passages):
            part = f'<p class="title">{seen_line(each.title)}</p>{"".join(map(_place, each.places))}'
            room -= len(part.encode("utf-8", "replace"))
            if room < 0:
                left_out += len(self.passages) - number
                break
            parts.append(part)
        told = f"… and {left_out:,} more." if left_out else "" if parts else "no passages to show"
        return framed("".join(parts) + (f'<p class="note">{told}</p>' if told else ""))


def _place(place: Place) -> str:
    gap = '<span class="gap is-left-out">…</span>' if place.is_cut else ""
    mark = f'<mark class="mark k0">{seen(place.passage)}{gap}</mark>'
    name = f'<bdi class="id">{seen_line(cut_text(place.id, _NAME))}</bdi> from character {place.start:,}'
    text = f'<div class="text" dir="auto">{seen(place.before)}{mark}{seen(place.behind)}</div>'
    return f'<p class="soft">{name}</p>{text}'
