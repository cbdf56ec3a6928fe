"""Repeated passages as plainly as can be: every window of every document, in a dictionary; or all of them, ranked.

Two oracles, which share nothing: ``windows`` puts the bytes of each window into a dictionary. ``ranks`` sorts all
suffixes of the collection by prefix doubling (Karp, Miller and Rosenberg 1972), up to the length of a window, with
NumPy, for collections of megabytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FIRST, OWN, OTHER = 1, 2, 3
I64 = NDArray[np.int64]


class Window(NamedTuple):
    """What is true of a window that stands at two or more places."""

    kind: int
    places: int
    documents: int


def windows(blobs: Sequence[Any], span: int) -> dict[tuple[int, int], Window]:
    """Each repeated window by document and place. A document is bytes, a string, or a tuple of words."""
    found: dict[Any, list[tuple[int, int]]] = defaultdict(list)
    for d, blob in enumerate(blobs):
        for i in range(len(blob) - span + 1):
            found[blob[i : i + span]].append((d, i))
    known: dict[tuple[int, int], Window] = {}
    for places in found.values():
        if len(places) > 1:
            documents = len({d for d, _ in places})
            for place in places:
                kind = FIRST if place == places[0] else OWN if place[0] == places[0][0] else OTHER
                known[place] = Window(kind, len(places), documents)
    return known


def ranks(blobs: Sequence[bytes], span: int) -> tuple[I64, I64]:
    """Of each place of the texts, end to end: the kind of its window, and its places; 0 where none is repeated."""
    data = np.frombuffer(b"".join(blobs), dtype=np.uint8).astype(np.int64)
    sizes = np.array([len(blob) for blob in blobs])
    document = np.repeat(np.arange(len(blobs)), sizes)
    begins = np.concatenate(([0], np.cumsum(sizes)))
    rank, length = data, 1
    while length < span:
        step = min(length, span - length)
        both = rank[: rank.size - step] * (int(rank.max()) + 1) + rank[step:]
        rank, length = np.unique(both, return_inverse=True)[1], length + step
    kind, count = np.zeros(data.size, np.int64), np.zeros(data.size, np.int64)
    places = np.flatnonzero(begins[document + 1][: rank.size] - np.arange(rank.size) >= span)
    _, first, back, times = np.unique(rank[places], return_index=True, return_inverse=True, return_counts=True)
    is_first = np.zeros(places.size, dtype=np.bool_)
    is_first[first] = True
    same = document[places] == document[places[first[back]]]
    repeated = times[back] > 1
    kind[places] = np.where(repeated, np.where(is_first, FIRST, np.where(same, OWN, OTHER)), 0)
    count[places] = np.where(repeated, times[back], 0)
    return kind, count


def left_by(blobs: Sequence[bytes], span: int, policy: str) -> list[bytes]:
    """The documents without what a policy cuts, byte by byte."""
    goes, stays = {
        "first": ((OWN, OTHER), (FIRST,)),
        "first-greedy": ((OWN, OTHER), ()),
        "none": ((FIRST, OWN, OTHER), ()),
        "other-documents": ((OTHER,), (FIRST, OWN)),
    }[policy]
    gone: set[tuple[int, int]] = set()
    kept: set[tuple[int, int]] = set()
    for (d, i), window in windows(blobs, span).items():
        for into, kinds in ((gone, goes), (kept, stays)):
            if window.kind in kinds:
                into |= {(d, j) for j in range(i, i + span)}
    gone -= kept
    return [bytes(c for j, c in enumerate(blob) if (d, j) not in gone) for d, blob in enumerate(blobs)]
