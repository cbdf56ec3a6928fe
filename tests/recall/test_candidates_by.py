"""Candidates by longer shingles on real texts: no recall is promised, so an exact oracle measures it.

A part of each collection is chosen by its clusters, so that versions of one text stay together. Precision must be 1, as
everywhere, and 95 % of the true pairs must be found: the settings are recommended with that figure
(benchmarks/RESULTS.md has 99 % and more for the whole collections).
"""

from __future__ import annotations

import pytest
from tests.oracles import pairs, shared, text
from tests.oracles.results import pair_map

import neardup

SETTINGS = {"shingle": "char:5", "normalize": "casefold,punct,space", "threshold": 0.4}
LEAST = 0.95


def versions(name: str) -> dict[str, str]:
    """Return some documents with all their versions: every eighth chapter, or every fourth abstract."""
    ids, texts = shared.documents(name)
    clusters = sorted({cluster(id) for id in ids})
    chosen = set(clusters if name == "clough_stevenson" else clusters[:: 8 if name == "chapters" else 4])
    return {id: body for id, body in zip(ids, texts, strict=True) if cluster(id) in chosen}


def cluster(id: str) -> str:
    """Return the part of an id that all versions share: the chapter in "KJV:Jude.1", the paper in "1805.1@2019"."""
    return id.rpartition(":")[2].partition("@")[0]


@pytest.mark.parametrize("by", ["char:12", "word:3"])
@pytest.mark.parametrize("name", shared.at_hand("chapters", "revisions", "clough_stevenson"))
def test_nearly_all_true_pairs_are_found_and_no_other(name: str, by: str) -> None:
    documents = versions(name)
    ids = list(documents)
    sets = text.collection(documents.values(), SETTINGS["shingle"], SETTINGS["normalize"])
    counted = pairs.counted_pairs(sets, SETTINGS["threshold"])
    true = {frozenset((ids[i], ids[j])): similarity for (i, j), similarity in counted.items()}
    found = neardup.find(documents, candidates_by=by, recall=0.95, **SETTINGS)
    assert len(true) >= 20
    assert pair_map(found.pairs).items() <= true.items()
    assert len(found.pairs) >= LEAST * len(true)
