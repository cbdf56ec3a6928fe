"""The containment join has every pair and no other, however the work is cut, and goes on where it was killed."""

from __future__ import annotations

import random
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracles import text
from tests.oracles.containment import Contained, counted_contained, naive_contained, side
from tests.oracles.jaccard import reaches
from tests.properties.strategies import NORMALIZE, SHINGLES, collections

import neardup
from neardup.engine import space as space_module
from neardup.engine.joins import common, containment
from neardup.engine.space import Budget, Space
from neardup.stages import join as join_stage

EXAMPLES = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
ANY_THRESHOLD = st.one_of(
    st.floats(min_value=1e-9, max_value=1.0),
    st.tuples(st.integers(1, 12), st.integers(1, 12)).map(lambda pair: min(pair) / max(pair)),  # attained exactly
)
SETS = st.lists(st.frozensets(st.integers(0, 25), max_size=12), max_size=40)


def told(pairs: Any) -> Contained:
    """A table of pairs of rows as the oracle has them."""
    columns = [pairs[name].to_pylist() for name in ("id_a", "id_b", "similarity", "contained")]
    found = {(a, b): (s, part) for a, b, s, part in zip(*columns, strict=True)}
    assert len(found) == len(pairs), "a pair is listed twice"
    return found


def found_in(rows: Sequence[Any], **options: Any) -> Contained:
    """The pairs of documents, which are named by their places."""
    options = {"measure": "containment", "threads": 1, "crowd": 10**6, **options}
    return told(neardup.find(list(rows), **options).pairs)


def found_in_sets(rows: Sequence[Set[int]], threshold: float, **options: Any) -> Contained:
    return found_in([sorted(row) for row in rows], shingle="item", threshold=threshold, **options)


def test_an_example_by_hand():
    """char:2: "abcd" has ab bc cd; "xxabcdxx" has them and xx xa dx; "abce" has two of the first's three, and ce."""
    found = neardup.find(
        [("part", "abcd"), ("whole", "xxabcdxx"), ("near", "abce"), ("stranger", "qrs")],
        shingle="char:2",
        threshold=0.6,
        measure="containment",
    )
    assert found.pairs.to_pylist() == [
        {"id_a": "part", "id_b": "whole", "similarity": 1.0, "contained": "a"},
        {"id_a": "part", "id_b": "near", "similarity": 2 / 3, "contained": "both"},
        {"id_a": "whole", "id_b": "near", "similarity": 2 / 3, "contained": "b"},
    ]
    assert set(zip(found.clusters["id"].to_pylist(), found.clusters["keeper"].to_pylist(), strict=True)) == {
        (name, "whole") for name in ("part", "whole", "near")
    }
    assert (found.summary.method, found.summary.recall, found.spec.measure) == ("containment join", 1.0, "containment")


def test_short_and_empty_documents():
    """Fewer than k tokens: the whole text is one shingle, so it is part of equals only; an empty text of nothing."""
    rows = ["", "", "abc", "abc", "abcd", "xxabcxx", "ABC"]
    assert found_in(rows, shingle="char:4", threshold=0.1) == {(2, 3): (1.0, "both")}


@EXAMPLES
@given(collections(), SHINGLES, ANY_THRESHOLD, NORMALIZE, st.sampled_from([1, 2, 5]))
def test_containment_of_texts_is_comparing_every_pair(documents, shingle, threshold, normalize, threads):
    rows = [body for _, body in documents]
    options = {"shingle": shingle, "threshold": threshold, "normalize": normalize, "threads": threads}
    assert found_in(rows, **options) == naive_contained(text.collection(rows, shingle, normalize), threshold)


@EXAMPLES
@given(SETS, ANY_THRESHOLD)
def test_containment_of_sets_is_comparing_every_pair(rows, threshold):
    assert found_in_sets(rows, threshold) == naive_contained(rows, threshold)


@EXAMPLES
@given(SETS, ANY_THRESHOLD, st.integers(1, 6), st.integers(1, 40), st.sampled_from([1, 3]), st.sampled_from([1, 8]))
def test_pieces_and_a_table_full_of_collisions_lose_nothing(rows, threshold, bits, fit, threads, longer):
    """With few cells hardly a shingle looks as rare as it is, and a piece holds a handful of sets."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(common, "LEAST_BITS", bits)
        patched.setattr(common, "MOST_BITS", bits)
        patched.setattr(common, "SLAB", 7)
        patched.setattr(common, "HELD", 2)
        patched.setattr(join_stage, "ROOM", 3)
        patched.setattr(join_stage, "FURTHER", float(longer))
        patched.setattr(containment.ContainmentJoin, "fit", fit)
        found = found_in_sets(rows, threshold, threads=threads)
    assert found == naive_contained(rows, threshold)


@EXAMPLES
@given(SETS, ANY_THRESHOLD, st.randoms(use_true_random=False))
def test_the_order_of_the_input_decides_only_who_is_named_first(rows, threshold, chosen):
    order = list(range(len(rows)))
    chosen.shuffle(order)
    shuffled = found_in_sets([rows[i] for i in order], threshold)
    back = {(order[i], order[j]): what for (i, j), what in shuffled.items()}
    turned = {"a": "b", "b": "a", "both": "both"}
    back = {(i, j) if i < j else (j, i): (s, p if i < j else turned[p]) for (i, j), (s, p) in back.items()}
    assert back == found_in_sets(rows, threshold)


@EXAMPLES
@given(SETS, SETS, ANY_THRESHOLD, st.sampled_from([1, 30, 10**6]))
def test_between_two_collections_it_is_comparing_each_with_each(ours, theirs, threshold, fit):
    ours = [*ours, *theirs[:3], *ours[:2]]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(containment.ContainmentJoin, "fit", fit)
        found = neardup.find(
            [(f"a{i}", sorted(row)) for i, row in enumerate(ours)],
            against=[(f"b{i}", sorted(row)) for i, row in enumerate(theirs)],
            shingle="item",
            threshold=threshold,
            measure="containment",
        )
    true = {}
    for i, a in enumerate(ours):
        for j, b in enumerate(theirs):
            smaller = min(len(a), len(b))
            if reaches(len(a & b), smaller, threshold):
                true[f"a{i}", f"b{j}"] = len(a & b) / smaller, side(len(a), len(b))
    assert told(found.pairs) == true
    assert found.summary.clusters == 0


@EXAMPLES
@given(SETS, ANY_THRESHOLD)
def test_similarity_to_a_keeper_that_is_no_pair_is_containment(rows, threshold):
    found = neardup.find(
        [sorted(row) for row in rows], shingle="item", threshold=threshold, measure="containment", link="connected"
    )
    for id, keeper, similarity in zip(
        *(found.clusters[c].to_pylist() for c in ("id", "keeper", "similarity")), strict=True
    ):
        a, b = rows[id], rows[keeper]
        assert similarity == len(a & b) / min(len(a), len(b))


def quoting(seed: int, *, strangers: int = 60, quotes: int = 120) -> list[frozenset[int]]:
    """Large sets that share nothing, and small ones out of them with up to half of something else."""
    chosen = random.Random(seed)
    whole = [frozenset(range(1000 * i, 1000 * i + chosen.randint(100, 600))) for i in range(strangers)]
    parts = []
    for i in range(quotes):
        size = chosen.randint(4, 40)
        own = chosen.randint(0, size // 2)
        parts.append(
            frozenset(chosen.sample(sorted(chosen.choice(whole)), size - own))
            | frozenset(range(10**6 + 100 * i, 10**6 + 100 * i + own))
        )
    documents = [*whole, *parts]
    chosen.shuffle(documents)
    return documents


@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.8, 1.0])
def test_small_parts_of_large_sets_are_found(threshold):
    rows = quoting(1)
    true = counted_contained(rows, threshold)
    assert found_in_sets(rows, threshold) == true
    assert len(true) > 10


def test_what_is_needed_one_too_high_is_caught(monkeypatch):
    rows = quoting(2)
    true = counted_contained(rows, 0.7)
    plain = join_stage.rarest.choose

    def greedy(*arguments):
        total = plain(*arguments)
        arguments[-1][:] += 1
        return total

    monkeypatch.setattr(join_stage.rarest, "choose", greedy)
    assert len(found_in_sets(rows, 0.7)) < len(true)


def test_a_second_round_that_counts_survivors_only_is_caught(monkeypatch):
    """A whole that is part of nothing does not survive, and is what makes its parts' shingles shared."""
    rows = quoting(3)
    true = counted_contained(rows, 0.7)
    monkeypatch.setattr(containment.ContainmentJoin, "rounds", 2)
    assert len(found_in_sets(rows, 0.7)) < len(true)


def texts_with_quotes(path: Path, *, count: int = 150) -> Path:
    """Pages of made-up words, quotes out of them, copies, and a shared header; one a line."""
    chosen = random.Random(5)
    words = ["".join(chosen.choices("abcdefgh", k=5)) for _ in range(3000)]
    pages = [chosen.choices(words, k=chosen.randint(20, 400)) for _ in range(count)]
    documents = list(pages)
    for page in pages:
        begin = chosen.randrange(len(page) - 10)
        documents.append(page[begin : begin + chosen.randint(8, 40)] + chosen.choices(words, k=chosen.randint(0, 10)))
    header = chosen.choices(words, k=12)
    documents += [header + chosen.choices(words, k=chosen.randint(4, 20)) for _ in range(count // 3)] + pages[:9]
    chosen.shuffle(documents)
    path.write_text("\n".join(" ".join(page) for page in documents), encoding="utf-8")
    return path


OPTIONS: dict[str, Any] = {"measure": "containment", "threshold": 0.7, "input_format": "lines", "block": 20}


def test_little_memory_changes_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = texts_with_quotes(tmp_path / "texts.txt")
    whole = neardup.find(source, **OPTIONS)
    rows = source.read_text(encoding="utf-8").split("\n")
    names = {f"{source}:{i}": i - 1 for i in range(1, len(rows) + 1)}
    named = {(names[a], names[b]): what for (a, b), what in told(whole.pairs).items()}
    assert named == counted_contained(text.collection(rows, "char:9"), 0.7)
    assert len(whole.pairs) > 100
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(900_000, 700_000)))
    small = neardup.find(source, workdir=tmp_path / "work", threads=3, **OPTIONS)
    assert small.summary.spooled > 0
    assert (small.pairs, small.clusters) == (whole.pairs, whole.clusters)


@pytest.mark.parametrize("how", [{"measure": "containment"}, {"measure": "jaccard", "exact": True}], ids=str)
def test_memory_that_runs_short_on_the_way_changes_nothing(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collection begins in memory and moves to a temporary folder."""
    source = texts_with_quotes(tmp_path / "texts.txt", count=80)
    whole = neardup.find(source, **{**OPTIONS, **how})
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(400_000, 300_000)))
    small = neardup.find(source, **{**OPTIONS, **how})
    assert small.summary.spooled > 0
    assert (small.pairs, small.clusters) == (whole.pairs, whole.clusters)


class Killed(BaseException):
    """As if the process had ended: nothing handles it."""


@pytest.mark.parametrize("later", [700_000, 1 << 40], ids=["as little memory", "more memory"])
def test_a_run_killed_behind_any_checkpoint_goes_on_to_the_same_answer(
    later: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = texts_with_quotes(tmp_path / "texts.txt", count=40)
    whole = neardup.find(source, **OPTIONS)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(900_000, 700_000)))
    monkeypatch.setattr("neardup.engine.space.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    monkeypatch.setattr(common, "SLAB", 5000)
    monkeypatch.setattr(containment, "SLAB", 5000)
    monkeypatch.setattr(containment.ContainmentJoin, "fit", 12_000)
    plain = Space.checkpoint
    died = passed = 0
    for wanted in range(2, 400, 3):
        left = wanted

        def checkpoint(self: Space, **changes: Any) -> None:
            nonlocal left, passed
            plain(self, **changes)
            left -= 1
            if left == 0:
                passed += changes.get("passed") is not None
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(space_module.Space, "checkpoint", checkpoint)
            try:
                neardup.find(source, workdir=tmp_path / "work", threads=1, **OPTIONS)
            except Killed:
                died += 1
            else:
                assert died > 4
                assert passed > 1  # inside a pass over the texts
                return
        with monkeypatch.context() as patched:
            patched.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(later + 200_000, later)))
            patched.setattr(containment.ContainmentJoin, "fit", 12_000 if later < 1 << 40 else 9_000)
            found = neardup.find(source, workdir=tmp_path / "work", resume=True, threads=2, **OPTIONS)
        assert (found.pairs, found.clusters) == (whole.pairs, whole.clusters)
        assert not (tmp_path / "work").exists()
