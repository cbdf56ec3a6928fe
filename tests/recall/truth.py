"""The pairs that are true in the collections: what the oracle found, kept as numbers and digests.

The oracle (``tests/oracles/join.py``) needs minutes for all collections, which do not change. So its answers stand in
``true_pairs.json``: how many pairs reach the least threshold, and a digest of all of them with their similarities.
``python -m tests.recall.truth`` asks the oracle again and writes the file; nothing of neardup is run for it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import shared_data_folder
from tests.oracles import join, shared
from tests.oracles.join import Found

FILE = Path(__file__).with_name("true_pairs.json")
SHINGLES = ["char:5", "char:9", "word:3"]
NORMALISED = ["arxiv_revisions", "thai_messages", "udhr"]
NORMALISATIONS = ["none", "nfkc,casefold,space", "nfc,casefold,punct,strip"]
BASKETS = {"foodmart": 0.5, "mushroom": 0.8, "retail": 0.5}
"""The least threshold of each: among the mushrooms 4 million pairs reach 0.5."""


@dataclass(frozen=True)
class Case:
    """A collection, and what makes two of its documents a pair."""

    name: str
    shingle: str
    threshold: float = 0.5
    normalize: str = "nfc"

    @property
    def key(self) -> str:
        return f"{self.name} {self.shingle} {self.normalize} {self.threshold:g}"

    def texts(self, folder: Path) -> tuple[list[str], list[str]]:
        """Ids and texts; the first ones only where other normalisations are tried."""
        ids, texts = shared.documents(folder, self.name)
        most = len(ids) if self.normalize == "nfc" else 100 if self.name == "udhr" else 1500
        return ids[:most], texts[:most]

    def oracle(self, folder: Path) -> Found:
        """All true pairs, by the oracle."""
        if self.shingle == "item":
            return join.all_pairs(join.sets_of_items(shared.baskets(folder, self.name)), self.threshold)
        return join.all_pairs(join.sets_of_texts(self.texts(folder)[1], self.shingle, self.normalize), self.threshold)

    @property
    def known(self) -> dict[str, Any]:
        """What the oracle said when the file was written."""
        return json.loads(FILE.read_text(encoding="utf-8"))[self.key]


def cases() -> Iterator[Case]:
    """Every case of the file."""
    for name in sorted(shared.TEXTS):
        yield from (Case(name, shingle) for shingle in SHINGLES)
    for name in NORMALISED:
        yield from (Case(name, "char:7", normalize=normalize) for normalize in NORMALISATIONS)
    yield from (Case(name, "item", threshold) for name, threshold in BASKETS.items())


def summary(found: Found) -> dict[str, Any]:
    """The number of pairs, and a digest of rows and similarities in the order of the oracle."""
    columns = found.left.astype("<i8"), found.right.astype("<i8"), found.similarity.astype("<f8")
    return {"pairs": len(found), "sha256": hashlib.sha256(b"".join(c.tobytes() for c in columns)).hexdigest()}


if __name__ == "__main__":
    folder = shared_data_folder()
    answers = {}
    for case in cases():
        answers[case.key] = summary(case.oracle(folder))
        print(case.key, answers[case.key]["pairs"], flush=True)
    FILE.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
