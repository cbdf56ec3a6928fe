"""A collection in several files, shards or batches is the same collection."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest
from tests.oracles.results import as_bytes, groups, pair_map

import neardup


def near_copies(number: int, seed: int) -> list[tuple[str, str]]:
    """Documents of which every third is an edit of an earlier one and every seventh a copy."""
    rng = random.Random(seed)
    words = [f"word{i}" for i in range(500)]
    rows: list[str] = []
    for i in range(number):
        row = rng.choices(words, k=30)
        if i % 3 == 2:
            row = rows[rng.randrange(len(rows))].split()
            row[rng.randrange(len(row))] = "edit"
        elif i % 7 == 6:
            row = rows[rng.randrange(len(rows))].split()
        rows.append(" ".join(row))
    return [(f"id{i}", row) for i, row in enumerate(rows)]


def write(path: Path, documents: list[tuple[str, str]]) -> Path:
    lines = (json.dumps({"id": i, "text": body}) + "\n" for i, body in documents)
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("cuts", [[150], [1, 2, 299], [0, 300], list(range(10, 300, 10))])
def test_a_union_of_files_equals_one_file(tmp_path: Path, cuts: list[int]):
    documents = near_copies(300, seed=3)
    one = neardup.find(write(tmp_path / "one.jsonl", documents), threshold=0.7)
    bounds = [0, *cuts, len(documents)]
    parts = [
        write(tmp_path / f"part{n:03}.jsonl", documents[a:b]) for n, (a, b) in enumerate(itertools.pairwise(bounds))
    ]
    many = neardup.find(parts, threshold=0.7)
    assert one.pairs.num_rows > 80
    assert as_bytes(many.pairs) == as_bytes(one.pairs)
    assert as_bytes(many.clusters) == as_bytes(one.clusters)


def test_files_in_another_order_give_the_same_pairs_and_partition(tmp_path: Path):
    documents = near_copies(200, seed=4)
    parts = [write(tmp_path / f"{n}.jsonl", documents[n * 40 : n * 40 + 40]) for n in range(5)]
    one = neardup.find(parts, threshold=0.7)
    two = neardup.find(parts[::-1], threshold=0.7)
    assert pair_map(one.pairs)
    assert pair_map(two.pairs) == pair_map(one.pairs)
    assert groups(two.clusters) == groups(one.clusters)


def test_pairs_are_ordered_by_input_row(tmp_path: Path):
    documents = near_copies(300, seed=5)
    row = {name: i for i, (name, _) in enumerate(documents)}
    result = neardup.find(write(tmp_path / "a.jsonl", documents), threshold=0.6)
    left = [row[name] for name in result.pairs["id_a"].to_pylist()]
    right = [row[name] for name in result.pairs["id_b"].to_pylist()]
    rows = list(zip(left, right, strict=True))
    assert rows == sorted(rows)
    assert all(a < b for a, b in rows)
