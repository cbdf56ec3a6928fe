"""Pairs and texts as plain JSON values, for the pair view of a report and of ``compare``."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from neardup.errors import InputError
from neardup.stages.passages import Passages, Span

LISTED = 2000
"""Passages of a text that a pair lists; the counts, the shares and the longest are of all there are."""
SNAP = 24
"""Characters that a window may grow by at each end to begin and end at white space."""
_LEVELS = (
    # characters of context on each side of a span, characters of a span that are shown
    (400, 1 << 62),
    (200, 8000),
    (120, 2000),
    (80, 600),
    (40, 200),
    (20, 80),
)
"""How windows are made smaller until they fit: less context first, then the middles of long spans."""
_LEAST = (80, 600)
"""And how the longest spans are shown where not all can be."""


def pair_data(passages: Passages, characters: tuple[int, int], *, measure: str) -> dict[str, Any]:
    """What two texts of so many code points share, as JSON values. O(runs).

    The ``similarity`` is the ``measure``: ``jaccard``, or ``containment`` of the smaller set in the larger.

    Returns:
        ``similarity``, ``jaccard``, ``a_in_b``, ``b_in_a``; ``sizes`` [shingles of a, of b, of both]; ``passages`` with
        the spans ``a`` and ``b`` in code points of the original texts, and ``links`` and ``back``: the run of the other
        text that each belongs to. These four lists stop after the first LISTED, and a link to a run behind that is -1;
        ``runs`` says how many there are. ``covered`` [share of a's characters, of b's]; ``longest`` [characters,
        start in a, start in b].

    Raises:
        InputError: another measure.
    """
    a_in_b, b_in_a = passages.containments
    similarities = {"jaccard": passages.jaccard, "containment": max(a_in_b, b_in_a)}
    if measure not in similarities:
        raise InputError(f"measure is {measure!r}; known are {', '.join(similarities)}.")
    return {
        "similarity": similarities[measure],
        "jaccard": passages.jaccard,
        "a_in_b": a_in_b,
        "b_in_a": b_in_a,
        "sizes": [passages.size_a, passages.size_b, passages.common],
        "passages": {
            "a": [list(span) for span in passages.a[:LISTED]],
            "b": [list(span) for span in passages.b[:LISTED]],
            "links": _listed(passages.links, len(passages.b)),
            "back": _listed(passages.back, len(passages.a)),
        },
        "runs": [len(passages.a), len(passages.b)],
        "covered": list(passages.covered(characters)),
        "longest": list(passages.longest),
    }


def _listed(links: Sequence[int], runs: int) -> list[int]:
    """The first LISTED links to as many runs; -1 to one that is not listed."""
    if runs <= LISTED and len(links) <= LISTED:
        return list(links)
    return [link if link < LISTED else -1 for link in links[:LISTED]]


def text_data(text: str, spans: Sequence[Span], *, most: int = 20_000) -> dict[str, Any]:
    """A text for a page, whole or in windows round its passages, which are rising and apart.

    O(characters shown + spans). ``characters`` are the code points there are; ``pieces``, [start, text], are those of
    ``windows``.
    """
    pieces = [[start, text[start:end]] for start, end in windows(text, spans, most=most)]
    return {"characters": len(text), "pieces": pieces}


def windows(text: str, spans: Sequence[Span], *, most: int) -> list[Span]:
    """The parts of a text to show: all of it when it has at most ``most`` characters, else its beginning and the spans.

    Windows hold a span with context on both sides; the more spans there are the less context, and of long spans only
    the beginning and the end. Where they do not fit even so, the longest spans are shown. A window begins and ends at
    white space where some is near, else not between a letter and its combining marks if they are few. Windows are
    rising, apart, not empty, and together hold ``most`` characters or fewer.
    """
    if len(text) <= most:
        return [(0, len(text))] if text else []
    parts: list[Span] = []
    for context, shown in _LEVELS:
        parts = _parts(text, spans[:most], context, shown)  # more spans are more characters than that
        if sum(end - start for start, end in parts) <= most:
            return parts
    context, shown = _LEAST
    parts = _parts(text, _longest(spans, most, context, shown), context, shown)
    return _first(parts, most)


def _parts(text: str, spans: Sequence[Span], context: int, shown: int) -> list[Span]:
    """Windows round spans; a gap smaller than a note about it is shown."""
    parts = union(_wanted(len(text), spans, context, shown), gap=SNAP)
    return union(((_snapped(text, start, -1), _snapped(text, end, 1)) for start, end in parts), gap=SNAP)


def _longest(spans: Sequence[Span], most: int, context: int, shown: int) -> list[Span]:
    """As many of the longest spans as fit with their context, in order; of equally long ones the first."""
    kept = []
    room = most - context - 3 * SNAP  # the beginning of the text
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span)):
        room -= min(end - start, shown) + 2 * context + 5 * SNAP
        if room < 0:
            break
        kept.append((start, end))
    return sorted(kept)


def _wanted(length: int, spans: Sequence[Span], context: int, shown: int) -> list[Span]:
    """Where to look: the beginning, and each span with its context, a long one without its middle."""
    out = [(0, min(length, context))]
    for start, end in spans:
        low, high = max(0, start - context), min(length, end + context)
        if end - start <= shown:
            out.append((low, high))
        else:
            out += [(low, start + shown // 2), (end - shown // 2, high)]
    return out


def union(spans: Iterable[Span], *, gap: int = 0) -> list[Span]:
    """Spans made into ones that rise and are apart by more than ``gap``. O(spans log spans)."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1] + gap:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def _snapped(text: str, at: int, step: int) -> int:
    """The nearest white space outwards, else the nearest edge of a letter with its marks, else ``at``."""
    near = range(at, at + step * SNAP, step)
    for place in near:
        if not 0 < place < len(text):
            return max(0, min(place, len(text)))
        if text[place - 1].isspace() or text[place].isspace():
            return place
    return next((place for place in near if not unicodedata.combining(text[place])), at)


def _first(parts: list[Span], most: int) -> list[Span]:
    """As much of the first parts as fits."""
    out: list[Span] = []
    for start, end in parts:
        room = min(end - start, most)
        if room <= 0:
            break
        out.append((start, start + room))
        most -= room
    return out
