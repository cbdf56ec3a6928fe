"""Every candidate pair of a finished search, and the evidence on each: bands, estimate, exact similarity, verdict.

The bands are run once more, without a filter or a screen, so pairs that the search dropped are listed too. Members of a
crowd, and of a bucket above the crowd limit, were compared with leaders only: there, the checked pairs are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.engine.banding.pending import pair_members
from neardup.engine.results.pairs import PairStore
from neardup.engine.state import SearchState
from neardup.stages import bands as band_stage
from neardup.types import F64, I64, Mask, Pairs

BUCKET_ROWS = 1 << 14
"""Rows of buckets whose signatures are looked at together."""
ROW_BYTES = 56
"""Memory for each row that is being grouped."""
PAIRS_AT_A_TIME = 1 << 12
"""Pairs whose signatures are compared slot by slot at a time: 2 MB for each 128 slots."""
DROPPED, BELOW, PAIR = "dropped by its estimate", "below the threshold", "pair"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence on some candidate pairs."""

    pairs: Pairs
    """Representatives of distinct texts, with their exact similarity, sorted."""
    met: Mask
    """bool[m, bands]: the bands in which both signatures agree. A star of a crowd may share none."""
    estimate: F64
    """float64[m]: the share of slots in which both signatures agree."""
    verdict: list[str]
    """One of DROPPED, BELOW and PAIR for each pair."""


def list_candidates(search: SearchState) -> Iterator[Evidence]:
    """Yield every candidate pair of a search once, sorted by rows, some pairs at a time.

    Memory: 56 bytes for each row of a part of a band, and the candidates, which go to sorted files past their share.
    The bytes do not depend on the memory limit.
    """
    collection, spec, crowd = search.collection, search.collection.spec, search.crowd
    store = PairStore("listed-candidates", len(collection), collection.space, part=0.15)
    hold_signatures(search)
    assert search.rejected is not None, "the search kept what its check rejected"
    for pairs in search.pairs.pieces():
        store.add(pairs.left, pairs.right, pairs.similarity)
    for pairs in search.rejected.pieces():
        store.add(pairs.left, pairs.right, search.check(pairs.left, pairs.right, 0.0))
    for band in range(spec.bands.bands):
        for members, starts, _ in bucket_pieces(search, band):
            for left, right, _ in pair_members(collection, members, starts, None, band=band, min_matches=0):
                apart = (crowd[left] < 0) | (crowd[left] != crowd[right])
                left, right = left[apart], right[apart]
                # the sign is the mark of a pair that was not checked; of equal pairs, the store keeps the first
                store.add(left, right, -search.check(left, right, 0.0))
    for pairs in store.pieces():
        for begin in range(0, len(pairs), PAIRS_AT_A_TIME):
            part = slice(begin, begin + PAIRS_AT_A_TIME)
            yield _evidence(search, Pairs(pairs.left[part], pairs.right[part], pairs.similarity[part]))
    store.drop()


def _evidence(search: SearchState, pairs: Pairs) -> Evidence:
    spec = search.collection.spec
    rows, place = np.unique(np.concatenate((pairs.left, pairs.right)), return_inverse=True)
    values = search.collection.values.take(rows)
    same = values[place[: len(pairs)]] == values[place[len(pairs) :]]
    met = same[:, : spec.bands.slots].reshape(len(pairs), spec.bands.bands, spec.bands.rows).all(axis=2)
    verdict = np.where(pairs.similarity >= spec.threshold, PAIR, BELOW)
    verdict = np.where(np.signbit(pairs.similarity), DROPPED, verdict)
    pairs = Pairs(pairs.left, pairs.right, np.abs(pairs.similarity))
    return Evidence(pairs, met, np.count_nonzero(same, axis=1) / spec.slots, verdict.tolist())


def hold_signatures(search: SearchState) -> None:
    """Make the signatures of all representatives once, in bulk, if the memory holds them."""
    collection = search.collection
    most = collection.space.budget.share(0.3)
    collection.values.hold(np.flatnonzero(search.weight), threads=search.tally.threads, most=most)


def bucket_pieces(search: SearchState, band: int) -> Iterator[tuple[I64, I64, int]]:
    """Yield the buckets of a band in pieces (members, starts), and how many documents of hot buckets were left out."""
    collection = search.collection
    fit = max(1, collection.space.budget.share(0.2) // ROW_BYTES)
    parts = max(1, min(band_stage.PARTS, -(-len(collection) // fit)))
    for part in range(parts):
        buckets = band_stage.grouped(collection.key_blocks(band), search.weight, part, parts)
        found = band_stage.limited(*buckets, search.weight, limit=collection.spec.crowd)
        over = sum(int(search.weight[members].sum()) for members in found.hot)
        for members, starts in found.pieces(BUCKET_ROWS):
            yield members, starts, over
            over = 0
        if over:
            yield np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64), over
