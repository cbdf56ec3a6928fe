"""Ids: made or brought, taken in any order, duplicates counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from neardup.inputs import names as ids_module
from neardup.inputs.names import Ids
from neardup.spool import Workdir
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


@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize("kinds", ["long", "mixed", "made", "one longer than a piece"])
def test_pieces_hold_all_rows_in_order_and_no_more_bytes_of_ids_than_they_may(monkeypatch, tmp_path, spilled, kinds):
    monkeypatch.setattr(ids_module, "_PIECE", 64)
    monkeypatch.setattr(ids_module, "_PIECE_BYTES", 4000)
    rng = np.random.default_rng(3)
    widths = [20_000 if kinds.startswith("one") and i == 7 else int(rng.integers(0, 900)) for i in range(90)]
    brought = batch(90, [f"{i}".ljust(width, "é") for i, width in enumerate(widths)])
    numbered, made = batch(30, list(range(30)), "b"), batch(150, None, "c" * (300 if kinds == "made" else 5))
    ids = collected(*{"mixed": [brought, numbered, made], "made": [made]}.get(kinds, [brought]))
    if spilled:
        workdir = Workdir.create(tmp_path / "work", {"spec_id": "x"})
        ids.spill(workdir)
    left = rng.integers(0, len(ids), 500).astype(np.int32)
    right = np.where(rng.random(500) < 0.5, 7, left)  # one that has very many pairs
    names = ids.take(np.arange(len(ids))).to_pylist()
    pieces = list(ids.pieces(left, right))
    assert [row for part in pieces for row in range(part.start, part.stop)] == list(range(500))
    for part in pieces:
        taken = [len(names[row].encode()) for column in (left, right) for row in column[part]]
        assert part.stop - part.start == 1 or (len(taken) <= 128 and sum(taken) <= 4000)
    assert len(pieces) > 8, "cut by rows alone"


def test_short_ids_and_numbers_are_cut_by_rows_alone(monkeypatch):
    monkeypatch.setattr(ids_module, "_PIECE", 64)
    for given in ([*range(100)], [f"n{i}" for i in range(100)]):
        rows = np.arange(100)
        assert [*collected(batch(100, given)).pieces(rows, rows)] == [slice(0, 64), slice(64, 100)]
    assert [*Ids().pieces(np.zeros(0, dtype=np.int64))] == []
