"""Ids: made or brought, taken in any order, duplicates counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from neardup.formats.ids import Ids
from neardup.types import SLACK, Batch, Documents


def batch(n: int, ids: list[int] | list[str] | None = None, source: str = "a", first: int = 1) -> Batch:
    documents = Documents(np.zeros(SLACK, np.uint8), np.zeros(n + 1, np.int64))
    rows = np.arange(first, first + n, dtype=np.int64)
    brought = None
    if ids is not None:
        brought = pa.array(ids, pa.int64() if isinstance(ids[0], int) else pa.large_string())
    return Batch(documents, source, rows, brought)


def collected(*batches: Batch) -> Ids:
    ids = Ids()
    for each in batches:
        ids.append(each)
    return ids


def test_whole_numbers_stay_whole_numbers() -> None:
    ids = collected(batch(2, [7, -5]), batch(0), batch(1, [9]))
    taken = ids.take(np.array([2, 0, 0, 1]))
    assert (taken.type, taken.to_pylist()) == (pa.int64(), [9, 7, 7, -5])
    assert len(ids) == 3


def test_mixed_ids_become_strings() -> None:
    ids = collected(batch(2, [7, 8]), batch(1, ["x"]), batch(2, source="f", first=4))
    taken = ids.take(np.arange(5))
    assert (taken.type, taken.to_pylist()) == (pa.large_string(), ["7", "8", "x", "f:4", "f:5"])


def test_made_ids_follow_rows_with_gaps() -> None:
    documents = Documents(np.zeros(SLACK, np.uint8), np.zeros(4, np.int64))
    ids = collected(Batch(documents, "f.jsonl", np.array([2, 3, 9])), batch(2, source="f.jsonl", first=10))
    assert ids.take(np.array([4, 2, 1])).to_pylist() == ["f.jsonl:11", "f.jsonl:9", "f.jsonl:3"]


def test_nothing_taken_and_rows_out_of_range() -> None:
    ids = collected(batch(2, [7, 8]))
    assert len(ids.take(np.array([], dtype=np.int64))) == 0
    assert len(Ids().take(np.array([], dtype=np.int64))) == 0
    for row in (-1, 2):
        with pytest.raises(IndexError, match="from 0 to 1"):
            ids.take(np.array([row]))


@pytest.mark.parametrize(
    ("batches", "expected"),
    [
        ([batch(3), batch(2, first=4)], (0, None)),
        ([batch(3), batch(2, source="b")], (0, None)),
        ([batch(3), batch(2, first=3)], (1, "a:3")),
        ([batch(3, [1, 2, 3])], (0, None)),
        ([batch(3, [1, 2, 1]), batch(2, [2, 1])], (3, "1")),
        ([batch(2, ["x", "y"]), batch(2, ["y", "x"])], (2, "y")),
        ([batch(1, [7]), batch(1, ["7"])], (1, "7")),
        ([batch(1, [7]), batch(1, ["a:1"]), batch(1)], (0, None)),
        ([], (0, None)),
    ],
)
def test_duplicates_are_counted(batches: list[Batch], expected: tuple[int, str | None]) -> None:
    assert collected(*batches).count_duplicates() == expected


def test_take_and_count_agree_with_plain_python() -> None:
    generator = np.random.default_rng(5)
    values = generator.integers(0, 500, 1000)
    ids = collected(*(batch(50, [f"doc {v}" for v in part]) for part in values.reshape(20, 50)))
    rows = generator.integers(0, 1000, 300)
    assert ids.take(rows).to_pylist() == [f"doc {values[row]}" for row in rows]
    assert ids.count_duplicates()[0] == 1000 - len(set(values.tolist()))
