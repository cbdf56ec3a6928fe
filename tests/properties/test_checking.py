"""Candidate pairs are cut, read and checked in any pieces, and nothing of the answer depends on them."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import pairs, text
from tests.twins import graph as twin

import neardup
from neardup.engine import check
from neardup.engine.reading import draw as drawing
from neardup.kernels.verify import check_pairs
from neardup.outputs.write import write_table
from neardup.spool import MemoryColumn
from neardup.stages.verify import SPARSE, chunks
from neardup.types import PaddedSets

EDGES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), min_size=1, max_size=40)


def whole(edges: list[tuple[int, int]], *, stretch: int) -> tuple[np.ndarray, np.ndarray]:
    """Distinct pairs of rows, left < right, in any order; ``stretch`` takes the rows apart."""
    distinct = list(dict.fromkeys((a, a + more) for a, more in edges))
    sides = np.array(distinct, dtype=np.int64) * stretch
    return np.ascontiguousarray(sides[:, 0]), np.ascontiguousarray(sides[:, 1])


@given(EDGES, st.sampled_from([1, 70, 4 * SPARSE * 50]), st.integers(1, 60))
def test_each_pair_is_in_one_chunk_and_each_document_that_need_not_be_cut_in_one_too(edges, stretch, budget):
    left, right = whole(edges, stretch=stretch)

    def cost(rows: np.ndarray) -> np.ndarray:
        assert (np.diff(rows) > 0).all()
        return rows // stretch % 7

    cut = list(chunks(left, right, cost, lambda rows: rows + 5, budget=budget))
    assert sorted(np.concatenate([chunk.pairs for chunk in cut]).tolist()) == list(range(left.size))
    seen: dict[int, int] = {}
    for chunk in cut:
        assert (np.diff(chunk.docs) > 0).all()
        assert chunk.docs[chunk.left].tolist() == left[chunk.pairs].tolist()
        assert chunk.docs[chunk.right].tolist() == right[chunk.pairs].tolist()
        assert set(chunk.docs.tolist()) == {*left[chunk.pairs].tolist(), *right[chunk.pairs].tolist()}
        assert chunk.counts.tolist() == cost(chunk.docs).tolist()
        assert chunk.lengths.tolist() == (chunk.docs + 5).tolist()
        assert int(chunk.counts.sum()) <= budget or chunk.pairs.size == 1
        for row in chunk.docs.tolist():
            seen[row] = seen.get(row, 0) + 1
    n = int(max(right.max(), left.max())) // stretch + 1
    component = twin.components(left // stretch, right // stretch, n)
    for row, times in seen.items():
        together = [i * stretch for i, label in enumerate(component) if label == component[row // stretch]]
        assert times == 1 or sum(int(other // stretch % 7) for other in together) > budget


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 0.97, 1.0])
def test_long_sets_are_counted_as_sets_of_python_are(share: float):
    """Two merges go towards each other and meet anywhere: in the middle, at one end, or where one set has its gap."""
    rng = random.Random(int(100 * share))
    for size in (0, 1, 7, 8, 9, 16, 63, 64, 127, 128, 129, 300, 1000):
        for low, high in ((0, 1 << 64), (0, 1 << 40), ((1 << 64) - (1 << 40), 1 << 64)):
            values = [rng.randrange(low, high) for _ in range(size)]
            a = {value for value in values if rng.random() < share} | {rng.randrange(1 << 64) for _ in range(size // 9)}
            b = set(values)
            starts, sizes = np.array([0, len(a)]), np.array([len(a), len(b)])
            hashes = np.array(sorted(a) + sorted(b), dtype=np.uint64)
            sets = PaddedSets(starts.astype(np.int64), sizes.astype(np.int64), hashes)
            true = len(a & b) / len(a | b) if a | b else 0.0
            for threshold in (1e-9, 0.5, 0.8, max(true, 1e-9)):
                found = np.empty(1)
                check_pairs(np.array([0]), np.array([1]), sets, sets, threshold, False, found)
                assert found[0] == (true if true >= threshold else -1.0)


def texts_of(seed: int) -> list[str]:
    rng = random.Random(seed)
    words = ["pear", "plum", "fig", "lime", "date", "kiwi", "sloe", "nut", "rye", "oat", "bean", "leek"]
    bases = [[rng.choice(words) for _ in range(rng.randrange(5, 60))] for _ in range(9)]
    found = []
    for _ in range(40):
        base = list(rng.choice(bases))
        for _ in range(rng.randrange(4)):
            base[rng.randrange(len(base))] = rng.choice(words)
        found.append(" ".join(base))
    return found


@pytest.mark.parametrize("verify", ["hash", "text"])
def test_pairs_are_the_true_ones_however_few_texts_and_sets_are_held_at_a_time(
    verify: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """From many chunks for each reading to a reading for each chunk, in threads and without, in memory and in files."""
    bodies = texts_of(3)
    true = pairs.naive_pairs(text.collection(bodies, "char:4"), 0.6)
    monkeypatch.setattr(check, "FEW", 1)
    monkeypatch.setattr(check, "FEW_TEXTS", 1)
    for shingles, share in ((100, 0.1), (1_000, 1e-9), (10**6, 0.1)):
        monkeypatch.setattr(check, "CHUNK_SHINGLES", shingles)
        monkeypatch.setattr(check, "TEXTS_PART", share)
        for threads, workdir in ((1, None), (2, tmp_path / f"{shingles}")):
            found = neardup.find(
                bodies, threshold=0.6, shingle="char:4", recall=0.9999, crowd=1000, verify=verify, threads=threads,
                workdir=workdir,
            )  # fmt: skip
            rows = [tuple(int(row[side]) for side in ("id_a", "id_b")) for row in found.pairs.to_pylist()]
            got = dict(zip(rows, found.pairs["similarity"].to_pylist(), strict=True))
            assert got == true


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.booleans()), max_size=60), st.integers(0, 12))
def test_the_sample_is_that_of_the_smallest_hashes(kinds, documents):
    """An oracle over Python's integers; hashes that come in several blocks, that are equal, and that weigh nothing."""
    mask = (1 << 64) - 1

    def mix(x: int) -> int:
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
        return x ^ (x >> 31)

    prints = list(dict.fromkeys((a << 50, b) for a, b, _ in kinds))
    weights = [int(heavy) for *_, heavy in kinds[: len(prints)]]
    start = (7 * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & mask
    ranked = sorted((mix((mix(a ^ start) + b) & mask), a, b, row) for row, (a, b) in enumerate(prints) if weights[row])
    column = MemoryColumn(np.uint64, 2)
    column.append(np.array(prints, dtype=np.uint64).reshape(-1, 2))

    class Read:
        prints = column

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "ROWS_AT_A_TIME", 7)
        drawn = drawing.draw(Read, np.array(weights, dtype=np.int32), documents=documents, seed=7)  # type: ignore[arg-type]
    assert drawn.tolist() == sorted(row for *_, row in ranked[:documents])


def test_numbers_that_come_again_and_again_are_written_as_those_that_do_not(tmp_path: Path):
    import pyarrow as pa

    odd = [0.0, -0.0, 1.0, 0.1, 1 / 3, 1e300, 5e-324, -2.0, 123456789.0]
    rng = random.Random(1)
    for values in (odd, [rng.choice(odd) for _ in range(9000)], [rng.random() for _ in range(9000)]):
        target = tmp_path / "numbers.jsonl"
        write_table(pa.table({"x": pa.array(values)}), target, format=None, spec={})
        lines = target.read_text("utf-8").splitlines()
        read = [json.loads(line)["x"] for line in lines]
        assert [value.hex() for value in read] == [value.hex() for value in values]  # the sign of zero too
        assert all(isinstance(value, float) for value in read)
