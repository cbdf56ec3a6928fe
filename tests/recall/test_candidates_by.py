"""Candidates by longer shingles on real texts: no recall is promised, so it is held against that of an exact oracle.

A part of each collection is taken by its clusters, so that versions of one text stay together. Precision must be 1, as
everywhere; of the true pairs 95 % must be found, which is what the settings are recommended with
(benchmarks/RESULTS.md has 99 % and more for the whole collections).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.oracles import pairs, shared, text
from tests.oracles.results import pair_map

import neardup

pytestmark = pytest.mark.shared_data

SETTINGS = {"shingle": "char:5", "normalize": "casefold,punct,space", "threshold": 0.4}
LEAST = 0.95


def versions(folder: Path, name: str) -> dict[str, str]:
    """Some documents with all their versions: chapters of two books, or the abstracts of some weeks."""
    ids, texts = shared.documents(folder, name)
    chosen = {
        "bible_nt": lambda id: id.partition(":")[2] in {"James.1", "James.2", "Titus.1", "Jude.1", "Mark.3"},
        "arxiv_revisions": lambda id: id.startswith("1805.1"),
        "clough_stevenson": lambda id: True,
    }[name]
    return {id: body for id, body in zip(ids, texts, strict=True) if chosen(id)}


@pytest.mark.parametrize("by", ["char:12", "word:3"])
@pytest.mark.parametrize("name", ["bible_nt", "arxiv_revisions", "clough_stevenson"])
def test_nearly_all_true_pairs_are_found_and_no_other(shared_data: Path, name: str, by: str) -> None:
    documents = versions(shared_data, name)
    ids = list(documents)
    sets = text.collection(documents.values(), SETTINGS["shingle"], SETTINGS["normalize"])
    counted = pairs.counted_pairs(sets, SETTINGS["threshold"])
    true = {frozenset((ids[i], ids[j])): similarity for (i, j), similarity in counted.items()}
    found = neardup.find(documents, candidates_by=by, recall=0.95, **SETTINGS)
    assert len(true) >= 20
    assert pair_map(found.pairs).items() <= true.items()
    assert len(found.pairs) >= LEAST * len(true)
