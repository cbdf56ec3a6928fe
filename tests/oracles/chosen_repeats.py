"""Which repeated passages count, as plainly as can be: every window of every document is asked for everything.

For each window a list of all its places is made, in the inputs, in templates and in another collection, and one window
after the other is asked whether it counts. Documents are bytes, strings, or tuples of words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

FIRST, OWN, OTHER = 1, 2, 3
Place = tuple[int, int]


class Counted(NamedTuple):
    """What is true of a window that counts."""

    kind: int
    """FIRST, OWN or OTHER; what stands in another collection is OTHER."""
    places: int
    """Of the inputs, or of the window's group in them."""
    documents: int


class Chosen(NamedTuple):
    """The windows of the inputs by document and place."""

    counted: dict[Place, Counted]
    ignored: set[Place]
    """Those that stand in a template."""


def _all_windows(blobs: Sequence[Any], span: int) -> dict[Any, list[Place]]:
    found: dict[Any, list[Place]] = defaultdict(list)
    for d, blob in enumerate(blobs):
        for i in range(len(blob) - span + 1):
            found[blob[i : i + span]].append((d, i))
    return found


def chosen(
    blobs: Sequence[Any],
    span: int,
    *,
    against: Sequence[Any] | None = None,
    templates: Sequence[Any] = (),
    groups: Sequence[Any] | None = None,
    min_count: int | None = None,
    min_docs: int = 1,
    min_share: str | None = None,
) -> Chosen:
    """The windows that count and those that are ignored; ``groups`` has the name of each document's group."""
    elsewhere = _all_windows(against or (), span)
    in_templates = _all_windows(templates, span)
    names = list(groups) if groups is not None else [None] * len(blobs)
    counted: dict[Place, Counted] = {}
    ignored: set[Place] = set()
    for content, everywhere in _all_windows(blobs, span).items():
        if content in in_templates:
            ignored.update(everywhere)
            continue
        if against is not None and content not in elsewhere:
            continue
        for name in {names[d] for d, _ in everywhere}:
            places = [place for place in everywhere if names[place[0]] == name]
            documents = len({d for d, _ in places})
            least = min_count if min_count is not None else (2 if against is None else 1)
            if len(places) < least or documents < min_docs:
                continue
            if min_share is not None and (
                documents < 2 or Fraction(documents, names.count(name)) < Fraction(min_share)
            ):
                continue
            for place in places:
                if against is not None:
                    kind = OTHER
                else:
                    kind = FIRST if place == places[0] else OWN if place[0] == places[0][0] else OTHER
                counted[place] = Counted(kind, len(places), documents)
    return Chosen(counted, ignored)


def left_by(blobs: Sequence[bytes], span: int, policy: str, found: Chosen) -> list[bytes]:
    """The documents without what a policy cuts of the chosen windows, byte by byte; templates stay whole."""
    goes, stays = {
        "first": ((OWN, OTHER), (FIRST,)),
        "first-greedy": ((OWN, OTHER), ()),
        "none": ((FIRST, OWN, OTHER), ()),
        "other-documents": ((OTHER,), (FIRST, OWN)),
    }[policy]
    gone: set[Place] = set()
    kept = {(d, j) for d, i in found.ignored for j in range(i, i + span)}
    for (d, i), window in found.counted.items():
        for into, kinds in ((gone, goes), (kept, stays)):
            if window.kind in kinds:
                into |= {(d, j) for j in range(i, i + span)}
    gone -= kept
    return [bytes(c for j, c in enumerate(blob) if (d, j) not in gone) for d, blob in enumerate(blobs)]
