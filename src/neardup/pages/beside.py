"""Pairs of texts side by side, with the passages marked that they share: what ``show`` of a result gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neardup.engine.results.passages import Marker
from neardup.pages.fragments import framed, pair_part
from neardup.pages.notebook import MOST_BYTES, opening
from neardup.params import Spec
from neardup.shown import cut_text, shown, similarity_text
from neardup.stages.passages import Passages

MARKED = 400_000
"""Characters of a text in which passages are looked for, as on a page of its own."""
_SMALLER = (1, 4, 16, 64)
"""How many times less of each text is shown where it would be too much."""
_NAME = 200


@dataclass(frozen=True, slots=True)
class TextPair:
    """Two texts, what they are called, and what is told of the pair."""

    names: tuple[str, str]
    texts: tuple[str, str]
    similarity: float | None
    facts: tuple[tuple[str, str], ...] = ()
    """What else is told, by label and value."""


@dataclass(frozen=True, slots=True)
class Beside:
    """Some pairs of a result with their texts. A notebook shows them side by side, ``print`` shows the beginnings."""

    pairs: tuple[TextPair, ...]
    spec: Spec
    """By which passages are shared."""
    characters: int
    """Of each text that are shown, at most; of a longer one the parts around its passages."""
    left_out: int = 0
    """Pairs that there are beside these."""

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[TextPair]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        if not self.pairs:
            return "no pairs to show"
        lines: list[str] = []
        for pair in self.pairs:
            named = [shown(cut_text(name, _NAME)) for name in pair.names]
            lines.append("  ".join([*self._similarity(pair), f"{named[0]} and {named[1]}"]))
            texts = (shown(opening(text) or "") for text in pair.texts)
            lines += [f"  {letter}  {text}" for letter, text in zip("AB", texts, strict=True)]
        if self.left_out:
            lines.append(f"… and {self.left_out:,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        marker = Marker(shingle=self.spec.shingle, normalize=self.spec.normalize)
        parts: list[str] = []
        room = MOST_BYTES - 20_000  # for the styles
        for at, pair in enumerate(self.pairs):
            part = self._part(pair, marker, room // (len(self.pairs) - at))
            room -= len(part.encode("utf-8", "replace"))
            parts.append(part)
        left_out = f"… and {self.left_out:,} more." if self.left_out else ""
        told = left_out or ("" if parts else "no pairs to show")
        return framed("".join(parts) + (f'<p class="note">{told}</p>' if told else ""))

    def _part(self, pair: TextPair, marker: Marker, room: int) -> str:
        a, b = (text[:MARKED] for text in pair.texts)
        passages = marker.shared(marker.occurrences(a), marker.occurrences(b))
        names = (cut_text(pair.names[0], _NAME), cut_text(pair.names[1], _NAME))
        facts = [(label, cut_text(value, _NAME)) for label, value in pair.facts]
        if pair.similarity is not None:
            facts.insert(0, ("similarity", similarity_text(pair.similarity, self.spec.threshold)))
        return pair_within((a, b), passages, names, facts, most=self.characters, room=room)

    def _similarity(self, pair: TextPair) -> list[str]:
        return [] if pair.similarity is None else [similarity_text(pair.similarity, self.spec.threshold)]


def pair_within(
    texts: tuple[str, str],
    passages: Passages,
    names: tuple[str, str],
    facts: list[tuple[str, str]],
    *,
    most: int,
    room: int,
) -> str:
    """A pair as ``fragments.pair_part`` has it, with less of the texts where it would take more than ``room`` bytes."""
    part = ""
    for times in _SMALLER:
        part = pair_part(texts, passages, names=names, facts=facts, most=max(1, most // times))
        if len(part.encode("utf-8", "replace")) <= room:
            break
    return part
