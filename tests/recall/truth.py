"""The true pairs of the collections: the answers of the oracle, kept as numbers and digests.

The oracle (``tests/oracles/join.py``) needs minutes for all collections, and the collections do not change. So
``true_pairs.json`` keeps how many pairs reach the lowest threshold of each case, and a digest of these pairs with their
similarities. ``python -m tests.recall.truth`` asks the oracle again and writes the file; it runs nothing of neardup.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracles import join, shared
from tests.oracles.join import Found

FILE = Path(__file__).with_name("true_pairs.json")
SHINGLES = ["char:5", "char:9", "word:3"]
NORMALISED = ["arxiv_revisions", "messages", "revisions", "thai_messages", "udhr"]
NORMALISATIONS = ["none", "nfkc,casefold,space", "nfc,casefold,punct,strip"]
SETS = {"foodmart": 0.5, "mushroom": 0.8, "retail": 0.5, "revisions": 0.5}
"""Collections of sets, and the lowest threshold of each: 4 million pairs of mushrooms reach 0.5."""


@dataclass(frozen=True)
class Case:
    """A collection, and what makes two of its documents a pair."""

    name: str
    shingle: str
    threshold: float = 0.5
    normalize: str = "nfc"

    @property
    def key(self) -> str:
        """The name of the case in ``true_pairs.json``."""
        return f"{self.name} {self.shingle} {self.normalize} {self.threshold:g}"

    def texts(self) -> tuple[list[str], list[str]]:
        """Return ids and texts; with other normalisations, those of the first documents only."""
        ids, texts = shared.documents(self.name)
        most = len(ids) if self.normalize == "nfc" else 100 if self.name == "udhr" else 1500
        return ids[:most], texts[:most]

    def sets(self) -> list[frozenset[str]]:
        """Return the sets of a collection of sets. A text is the set of its words."""
        if self.name in shared.BASKETS:
            return shared.baskets(self.name)
        return [frozenset(text.split()) for text in self.texts()[1]]

    def oracle(self) -> Found:
        """Return all true pairs, found by the oracle."""
        if self.shingle == "item":
            return join.all_pairs(join.sets_of_items(self.sets()), self.threshold)
        return join.all_pairs(join.sets_of_texts(self.texts()[1], self.shingle, self.normalize), self.threshold)

    @property
    def known(self) -> dict[str, Any]:
        """The answer of the oracle when the file was written."""
        return json.loads(FILE.read_text(encoding="utf-8"))[self.key]


def cases() -> Iterator[Case]:
    """Yield every case of the file."""
    for name in sorted({**shared.TEXTS, **shared.SHIPPED}):
        yield from (Case(name, shingle) for shingle in SHINGLES)
    for name in NORMALISED:
        yield from (Case(name, "char:7", normalize=normalize) for normalize in NORMALISATIONS)
    yield from (Case(name, "item", threshold) for name, threshold in SETS.items())


def summary(found: Found) -> dict[str, Any]:
    """Return the number of pairs, and a digest of rows and similarities in the order of the oracle."""
    columns = found.left.astype("<i8"), found.right.astype("<i8"), found.similarity.astype("<f8")
    return {"pairs": len(found), "sha256": hashlib.sha256(b"".join(c.tobytes() for c in columns)).hexdigest()}


if __name__ == "__main__":
    answers = {}
    for case in cases():
        answers[case.key] = summary(case.oracle())
        print(case.key, answers[case.key]["pairs"], flush=True)
    FILE.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
