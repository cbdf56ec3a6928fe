"""Pairs in the order of a table: held against sorted(), in memory and in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neardup.engine.results.ordered import ordered_pairs
from neardup.engine.space import Budget, Space
from neardup.types import Pairs

N = 2000
Row = tuple[int, int, float]


def rows_of(seed: int, count: int) -> list[Row]:
    """Pairs in the order of the input, of few similarities: most are ties."""
    draw = np.random.default_rng(seed)
    left, right = draw.integers(0, N // 2, count), draw.integers(N // 2, N, count)
    pairs = sorted(set(zip(left.tolist(), right.tolist(), strict=True)))
    likeness = [1.0, 0.5, 1 / 3, np.nextafter(1.0, 0), 0.1 + 0.2, 5e-324]
    return [(a, b, float(likeness[i])) for (a, b), i in zip(pairs, draw.integers(0, 6, len(pairs)), strict=True)]


def listed(rows: list[Row], space: Space, *, by_similarity: bool, top: int | None) -> list[Row]:
    def pieces() -> object:
        for start in range(0, len(rows), 777):
            left, right, likeness = zip(*rows[start : start + 777], strict=True)
            yield Pairs(np.array(left), np.array(right), np.array(likeness))

    found = ordered_pairs(pieces(), N, space, by_similarity=by_similarity, top=top)  # type: ignore[arg-type]
    return [row for p in found for row in zip(p.left.tolist(), p.right.tolist(), p.similarity.tolist(), strict=True)]


@pytest.mark.parametrize("work", [1 << 12, 1 << 20, 1 << 30])
@pytest.mark.parametrize("by_similarity", [True, False])
@pytest.mark.parametrize("top", [None, 1, 50, 3000, 10**9])
def test_pairs_are_listed_as_sorted_lists_them(tmp_path: Path, work: int, by_similarity: bool, top: int | None) -> None:
    rows = rows_of(1, 9000)
    space = Space(Budget(1 << 30, work), tmp_path / "work", {})
    expected = sorted(rows, key=lambda row: -row[2])[:top]  # sorted is stable: ties as in the input
    if not by_similarity:
        expected.sort(key=lambda row: row[:2])
    assert listed(rows, space, by_similarity=by_similarity, top=top) == expected
    space.close(finished=True)


def test_what_outgrows_its_share_is_sorted_in_files_and_they_are_gone_afterwards(tmp_path: Path) -> None:
    rows = rows_of(2, 150_000)
    space = Space(Budget(1 << 30, 1 << 20), tmp_path / "work", {})
    expected = sorted(rows, key=lambda row: -row[2])
    assert listed(rows, space, by_similarity=True, top=None) == expected
    assert space.workdir is not None, "nothing went to files: the test tests nothing"
    assert space.workdir.names("by-") == []
    assert listed(rows, space, by_similarity=False, top=90_000) == sorted(expected[:90_000], key=lambda row: row[:2])
    assert space.workdir.names("by-") == []
    space.close(finished=True)


def test_no_pairs_are_none_in_any_order(tmp_path: Path) -> None:
    space = Space(Budget(1 << 30, 1 << 30), tmp_path / "work", {})
    for top in (None, 5):
        assert listed([], space, by_similarity=True, top=top) == []
