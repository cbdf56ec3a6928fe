"""The promise of an index at its threshold: documents of J = t exactly are found as surely as promised.

One index of 3,000 documents a cell, in several segments, tail and all, asked with 3,000 others of which each has one
partner. Bound: found share >= promised - 5 sigma; at the default R = 0.998 that is 0.9943, at R = 0.99 it is 0.9809.
False alarm: P(Binomial(3000, 0.0018) > 17) = 1.5e-5 a cell, and seed and items are fixed. Effect detected: a recall
at t below 0.990 (default) fails with probability 0.99; the cut bands below have 0.95.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import pytest
from tests.index.tiny import tiny
from tests.oracles.sets import many_pairs, shape_at
from tests.statistics.bounds import SIGMAS, lowest_share

from neardup import Index

PAIRS = 3000


def found_share(path: Path | None, threshold: str, size: int, **options: object) -> tuple[float, float]:
    """(share of the partners found, recall that the index promises); checks every similarity."""
    exact = Fraction(threshold)
    shape = shape_at(exact, size, balanced=True)
    offsets, items = many_pairs(shape, PAIRS)
    rows = [items[a:b].tolist() for a, b in itertools.pairwise(offsets.tolist())]
    with tiny(), Index.create(path, threshold=float(exact), shingle="item", **options) as index:
        for start in range(0, PAIRS, 500):
            index.add(range(start, start + 500), rows[2 * start : 2 * start + 1000 : 2])
        found = 0
        for start in range(0, PAIRS, 250):
            for number, hits in enumerate(index.query(rows[2 * start + 1 : 2 * start + 500 : 2]), start):
                assert [(hit.id, hit.similarity) for hit in hits] in ([], [(number, shape.shared / shape.union)])
                found += len(hits)
        return found / PAIRS, index.info().recall


def check_promise(share: float, promise: float) -> None:
    """The gate, which bands that were cut must fail too."""
    bound = lowest_share(promise, PAIRS)
    assert share >= bound, (
        f"found {share:.4f} of the partners at t, under {promise:.4f} - {SIGMAS:g} sigma = {bound:.4f}"
    )


@pytest.mark.parametrize(("threshold", "size"), [("4/5", 10), ("4/5", 100), ("1/2", 40), ("9/10", 60)])
def test_documents_at_the_threshold_are_found_as_promised(threshold: str, size: int, tmp_path: Path) -> None:
    share, promise = found_share(tmp_path / "index", threshold, size)
    assert promise >= 0.99
    check_promise(share, promise)


def test_an_index_whose_bands_were_cut_fails_the_gate() -> None:
    _, promise = found_share(None, "4/5", 100)
    share, weaker = found_share(None, "4/5", 100, slots=128, bands="10x6")
    assert weaker < promise
    with pytest.raises(AssertionError, match="found"):
        check_promise(share, promise)
