"""Which documents go, said as plainly as Python can: greedy stars over pairs, in an order of preference."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.oracles import pairs, text

Pair = frozenset[Hashable]


@dataclass(frozen=True)
class Doc:
    """A document as the oracle sees it."""

    id: Hashable
    body: str
    source: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Gone:
    """Why a document goes."""

    keeper: Hashable
    similarity: float


def true_pairs(docs: Sequence[Doc], threshold: float, shingle: str, normalize: str = "nfc") -> dict[Pair, float]:
    """All pairs at least t, by comparing every two shingle sets. An empty document has none."""
    sets = text.collection([doc.body for doc in docs], shingle, normalize)
    found = pairs.naive_pairs(sets, threshold)
    return {frozenset((docs[i].id, docs[j].id)): s for (i, j), s in found.items()}


def in_order(
    docs: Sequence[Doc],
    keep: str,
    *,
    prefer: Sequence[str] = (),
    protected: Collection[str] = (),
    normalize: str = "nfc",
) -> list[Doc]:
    """The documents, those first that are rather kept: protected, preferred, by the rule, by place in the input."""

    def tier(doc: Doc) -> int:
        if doc.source in protected:
            return 0
        return 1 + (prefer.index(doc.source) if doc.source in prefer else len(prefer))

    def value(place: int, doc: Doc) -> Any:
        rule, _, column = keep.partition(":")
        if rule in ("first", "last"):
            return place if rule == "first" else -place
        if rule in ("longest", "shortest"):
            size = len(text.normalise(doc.body, normalize).encode())
            return -size if rule == "longest" else size
        content = doc.columns.get(column)
        if content is None or (isinstance(content, float) and math.isnan(content)):
            return (1, 0)  # without a value: after all that have one
        return (0, _Backwards(content) if rule == "max" else content)

    numbered = sorted(enumerate(docs), key=lambda entry: (tier(entry[1]), value(*entry), entry[0]))
    return [doc for _, doc in numbered]


def greedy(order: Sequence[Doc], found: Mapping[Pair, float], protected: Collection[str] = ()) -> dict[Hashable, Gone]:
    """Who goes, and for whom: a document that is still there stays, and takes those near to it that are not protected.

    ``found`` has each pair of ids once, with its similarity. A document that is near and comes earlier in ``order``
    has either gone, or would have taken this one, unless both are protected.
    """
    near: defaultdict[Hashable, dict[Hashable, float]] = defaultdict(dict)
    for pair, similarity in found.items():
        a, b = pair
        near[a][b] = near[b][a] = similarity
    sources = {doc.id: doc.source for doc in order}
    gone: dict[Hashable, Gone] = {}
    for doc in order:
        if doc.id in gone:
            continue
        for other, similarity in near[doc.id].items():
            if other not in gone and sources[other] not in protected:
                gone[other] = Gone(doc.id, similarity)
    return gone


def clusters(gone: Mapping[Hashable, Gone]) -> frozenset[frozenset[Hashable]]:
    """Each kept document with those that go for it."""
    groups: defaultdict[Hashable, set[Hashable]] = defaultdict(set)
    for name, why in gone.items():
        groups[why.keeper] |= {name, why.keeper}
    return frozenset(map(frozenset, groups.values()))


def left_pairs(docs: Iterable[Doc], gone: Mapping[Hashable, Gone], found: Iterable[Pair]) -> set[Pair]:
    """Pairs of which both are still there."""
    there = {doc.id for doc in docs} - gone.keys()
    return {pair for pair in found if pair <= there}


class _Backwards:
    """A value that sorts the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Backwards) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Backwards) and bool(self.value == other.value)
