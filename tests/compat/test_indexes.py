"""MinHashLSH in memory and in a file, the forest, the ensemble: what is found, in which order, what is refused."""

from __future__ import annotations

import os
import pickle
import sqlite3
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.statistics.bounds import SIGMAS, share_sigma

from neardup import FormatError, InputError, OutputError, SpecMismatch
from neardup.compat.datasketch import (
    LeanMinHash,
    MinHash,
    MinHashLSH,
    MinHashLSHEnsemble,
    MinHashLSHForest,
    WeightedMinHash,
)
from neardup.compat.datasketch._bands import best_containment_bands
from neardup.compat.datasketch.lshensemble import partitions

BANDS, ROWS = 3, 2
VALUES = st.lists(st.integers(0, 2), min_size=BANDS * ROWS + 1, max_size=BANDS * ROWS + 1)
"""So few different values that bands agree often."""
STEPS = st.lists(st.tuples(st.sampled_from(["insert", "insert", "again", "remove", "ask"]), st.integers(0, 5), VALUES))
Opener = Callable[..., MinHashLSH]


def sketch(values: list[int]) -> LeanMinHash:
    return LeanMinHash(seed=1, hashvalues=values)


@pytest.fixture(params=["dict", "neardup"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Makes indexes of three bands of two values, each with a new file where it is one in a file."""
    made: list[MinHashLSH] = []

    def make(**more: Any) -> MinHashLSH:
        config = {"type": request.param, "path": tmp_path / f"{len(made)}.sqlite"}
        how = {"num_perm": BANDS * ROWS + 1, "params": (BANDS, ROWS), "storage_config": config, **more}
        made.append(MinHashLSH(**how))
        return made[-1]

    yield make
    for each in made:
        each.close()


class Slow:
    """What an index has, as a list of keys with the values that they were given."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, list[list[int]]]] = []

    def insert(self, key: Any, values: list[int]) -> None:
        for known, sketches in self.entries:
            if known == key:
                sketches.append(values)
                return
        self.entries.append((key, [values]))

    def remove(self, key: Any) -> None:
        self.entries = [entry for entry in self.entries if entry[0] != key]

    def agreeing(self, values: list[int], bands: int = BANDS) -> set[Any]:
        """Keys one of whose sketches has a whole band of these values."""
        return {
            key
            for key, sketches in self.entries
            for own in sketches
            for at in range(0, bands * ROWS, ROWS)
            if own[at : at + ROWS] == values[at : at + ROWS]
        }


@settings(max_examples=25)
@given(STEPS)
def test_an_index_finds_exactly_the_keys_of_which_a_band_agrees(opened_everywhere, steps):
    for lsh in opened_everywhere():
        slow = Slow()
        for what, key, values in steps:
            known = key in {each for each, _ in slow.entries}
            assert (key in lsh) == known
            if what == "again" or (what == "insert" and not known):
                lsh.insert(key, sketch(values), check_duplication=what != "again")
                slow.insert(key, values)
            elif what == "remove" and known:
                lsh.remove(key)
                slow.remove(key)
            found = lsh.query(sketch(values))
            assert len(found) == len(set(found))
            assert set(found) == slow.agreeing(values)
            assert set(lsh._query_b(sketch(values), 1)) == slow.agreeing(values, bands=1)
        assert set(lsh.keys) == {key for key, _ in slow.entries}
        assert all(bucket for table in lsh.hashtables for bucket in table.values()), "an empty bucket"
        assert lsh.is_empty() == (not slow.entries)
        for i, counts in enumerate(lsh.get_counts()):
            assert counts == {each: len(bucket) for each, bucket in lsh.hashtables[i].items()}
        assert lsh.get_subset_counts(*lsh.keys, "absent") == lsh.get_counts() or any(
            len(each) > 1 for _, each in slow.entries
        )


@pytest.fixture(scope="module")
def opened_everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], list[MinHashLSH]]]:
    """Makes an empty index in memory and one in a file."""
    folder = tmp_path_factory.mktemp("files")
    made: list[MinHashLSH] = []

    def make() -> list[MinHashLSH]:
        for each in made:
            each.close()
        shape: dict[str, Any] = {"num_perm": BANDS * ROWS + 1, "params": (BANDS, ROWS)}
        made[:] = [
            MinHashLSH(**shape),
            MinHashLSH(**shape, storage_config={"type": "neardup", "path": str(folder / "one.sqlite")}),
        ]
        made[1]._storage.ask("PRAGMA synchronous = OFF")
        with made[1].deletion_session() as session:
            for key in list(made[1].keys):
                session.remove(key)
        return made

    yield make
    for each in made:
        each.close()


def test_keys_come_by_bands_and_then_as_they_were_inserted(opened):
    """So a list of results is the same in each run and each process."""
    lsh = opened()
    for key, values in (("d", [9, 9, 1, 1, 9, 9, 0]), ("c", [0, 0, 8, 8, 8, 8, 0]), ("b", [7, 7, 1, 1, 0, 0, 0])):
        lsh.insert(key, sketch(values))
    lsh.insert("a", sketch([0, 0, 1, 1, 0, 0, 0]))
    assert lsh.query(sketch([0, 0, 1, 1, 0, 0, 0])) == ["c", "a", "d", "b"]


def test_a_buffer_of_queries_gives_what_all_have_found(opened):
    lsh = opened()
    lsh.insert("one", sketch([0, 0, 1, 1, 2, 2, 0]))
    lsh.insert("other", sketch([5, 5, 1, 1, 6, 6, 0]))
    for values in ([0, 0, 3, 3, 3, 3, 0], [4, 4, 1, 1, 4, 4, 0]):
        lsh.add_to_query_buffer(sketch(values))
    assert lsh.collect_query_buffer() == ["one"]
    assert lsh.collect_query_buffer() == []
    lsh.add_to_query_buffer(sketch([5, 5, 3, 3, 3, 3, 0]))
    assert lsh.collect_query_buffer() == ["other"]


def test_merging_adds_the_keys_of_another_index_wherever_both_are(opened):
    one, other, third = opened(), MinHashLSH(num_perm=7, params=(3, 2)), opened()
    one.insert("a", sketch([0] * 7))
    other.insert("b", sketch([1] * 7))
    one.merge(other)
    third.merge(one, check_overlap=True)
    for each in (one, third):
        assert each.query(sketch([0] * 7)) == ["a"]
        assert each.query(sketch([1] * 7)) == ["b"]
    with pytest.raises(InputError, match="the key 'b' is in both indexes"):
        one.merge(other, check_overlap=True)
    other.insert("a", sketch([2] * 7))
    one.merge(other)
    assert one.query(sketch([2] * 7)) == one.query(sketch([0] * 7)) == ["a"]
    one.remove("a")
    assert one.query(sketch([2] * 7)) == one.query(sketch([0] * 7)) == []
    with pytest.raises(SpecMismatch, match=r"\(7, 3, 2\) and \(7, 2, 3\)"):
        one.merge(MinHashLSH(num_perm=7, params=(2, 3)))


def test_what_an_index_does_not_take_is_named(opened):
    lsh = opened()
    lsh.insert("a", sketch([0] * 7))
    with pytest.raises(InputError, match="the key 'a' is there already"):
        lsh.insert("a", sketch([1] * 7))
    with pytest.raises(InputError, match="the key 'b' is not there"):
        lsh.remove("b")
    with pytest.raises(InputError, match="has 8 values, and the index is for 7"):
        lsh.query(sketch([0] * 8))
    with pytest.raises(SpecMismatch, match="of scheme 'legacy', and this one is of 'affine32'"):
        lsh.insert("b", LeanMinHash(seed=1, hashvalues=[0] * 7, scheme="affine32"))
    assert "b" not in lsh
    assert lsh.query(sketch([1] * 7)) == []


def test_pickling_an_index_gives_another_of_the_same_keys(opened):
    lsh = opened()
    lsh.insert("a", sketch([0] * 7))
    again = pickle.loads(pickle.dumps(lsh))
    assert again.query(sketch([0] * 7)) == ["a"]
    assert (again.b, again.r, again.h) == (3, 2, 7)
    again.close()


def test_keys_of_any_kind_are_kept_as_pickles_where_that_is_asked_for(opened):
    lsh = opened(prepickle=True)
    for key in (("a", 1), 2.5, None):
        lsh.insert(key, sketch([0] * 7))
    assert lsh.query(sketch([0] * 7)) == [("a", 1), 2.5, None]
    assert ("a", 1) in lsh
    lsh.remove(2.5)
    assert lsh.query(sketch([0] * 7)) == [("a", 1), None]


def test_bands_are_hashed_by_a_function_of_ones_own(opened):
    lsh = opened(hashfunc=lambda data: data[-1:])
    lsh.insert("a", sketch([1] * 7))
    assert {len(each) for table in lsh.hashtables for each in table} == {1}
    assert lsh.query(sketch([257, 257, 0, 0, 0, 0, 0])) == ["a"]


def test_weighted_sketches_are_indexed_by_both_of_their_numbers(opened):
    lsh = opened()
    lsh.insert("a", WeightedMinHash(1, np.array([[i, 2 * i] for i in range(7)])))
    assert lsh.query(WeightedMinHash(1, np.array([[0, 0], [1, 2], *[[9, 9]] * 5]))) == ["a"]
    assert lsh.query(WeightedMinHash(1, np.array([[0, 1], [1, 2], *[[9, 9]] * 5]))) == []


# Files


def in_file(path: Path, **more: Any) -> MinHashLSH:
    how = {"num_perm": 7, "params": (3, 2), "storage_config": {"type": "neardup", "path": path}, **more}
    return MinHashLSH(**how)


def test_a_file_is_opened_again_with_its_keys_and_scheme(tmp_path):
    lsh = in_file(tmp_path / "a.sqlite")
    for key in ("text", 7, b"bytes", "7"):
        lsh.insert(key, sketch([0] * 7))
    lsh.close()
    again = in_file(tmp_path / "a.sqlite")
    assert again.query(sketch([0] * 7)) == ["text", 7, b"bytes", "7"]
    with pytest.raises(SpecMismatch, match="affine32"):
        again.query(LeanMinHash(seed=1, hashvalues=[0] * 7, scheme="affine32"))
    again.close()
    with pytest.raises(InputError, match="is closed"):
        again.query(sketch([0] * 7))


def test_sessions_keep_as_many_changes_at_a_time_as_they_are_told(tmp_path):
    """A second connection sees what is kept."""
    lsh = in_file(tmp_path / "a.sqlite")
    beside = in_file(tmp_path / "a.sqlite")
    with lsh.insertion_session(buffer_size=2) as session:
        seen = []
        for key in range(5):
            session.insert(key, sketch([key] * 7))
            seen.append(len(beside.keys))
    assert seen == [0, 2, 2, 4, 4]
    assert len(beside.keys) == 5
    with lsh.deletion_session() as session:
        session.remove(3)
        assert 3 in beside
    assert 3 not in beside
    lsh.close()
    beside.close()


def test_a_key_is_inserted_whole_or_not_at_all(tmp_path, monkeypatch):
    lsh = in_file(tmp_path / "a.sqlite")
    with lsh.insertion_session() as session:
        session.insert("a", sketch([0] * 7))
        with pytest.raises(InputError, match="more than 64 bits"):
            session.insert(1 << 70, sketch([1] * 7))
        with pytest.raises(RuntimeError, match="in the middle"):
            lsh._storage.insert("b", iterator_that_fails(), buffered=True)
    assert list(lsh.keys) == ["a"]
    assert lsh.get_counts() == in_memory_counts()
    lsh.close()


def iterator_that_fails() -> Any:
    yield b"0"
    raise RuntimeError("in the middle")


def in_memory_counts() -> list[dict[bytes, int]]:
    lsh = MinHashLSH(num_perm=7, params=(3, 2))
    lsh.insert("a", sketch([0] * 7))
    return lsh.get_counts()


@pytest.mark.parametrize("key", [2.5, None, ("a",), np.int64(3)])
def test_keys_that_a_file_cannot_have_are_refused(tmp_path, key):
    lsh = in_file(tmp_path / "a.sqlite")
    with pytest.raises(TypeError, match=r"Keys of a file are strings, integers or bytes; or give prepickle=True"):
        lsh.insert(key, sketch([0] * 7))
    lsh.close()


def test_a_file_that_is_another_is_refused_and_stays_as_it_is(tmp_path):
    in_file(tmp_path / "a.sqlite").close()
    with pytest.raises(SpecMismatch, match=r"params=\(3, 2\)"):
        in_file(tmp_path / "a.sqlite", params=(2, 3))
    (tmp_path / "text").write_text("no database at all" * 100)
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with sqlite3.connect(tmp_path / "later") as connection:
        connection.executescript(f"PRAGMA application_id = {0x6E64646B}; PRAGMA user_version = 9; CREATE TABLE t (a)")
    connection.close()
    for name, said in (("text", "no database"), ("other", "no file of neardup"), ("later", "has format 9")):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(FormatError, match=said):
            in_file(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(OutputError, match="unable to open"):
        in_file(tmp_path / "absent" / "a.sqlite")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"type": "redis"}, "asks for the type 'redis'; known are dict, neardup"),
        ({"type": "neardupe"}, "did you mean 'neardup'"),
        ({}, "asks for the type None"),
        ({"type": "neardup"}, "has the path None"),
    ],
)
def test_storage_that_there_is_not_is_refused(config, said):
    with pytest.raises(InputError, match=f"(?i){said}"):
        MinHashLSH(storage_config=config)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"threshold": 1.1}, "threshold is 1.1"),
        ({"num_perm": 1}, "num_perm is 1"),
        ({"weights": (0.5, 0.6)}, "weights are"),
        ({"params": (20, 20)}, "take 400 permutations, and num_perm is 128"),
        ({"threshold": 1.0, "num_perm": 4}, "gives 1 band"),
    ],
)
def test_bands_that_there_cannot_be_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        MinHashLSH(**wrong)


# Forest


def depth(one: list[int], other: list[int], trees: int, length: int) -> int:
    """The longest prefix in which two sketches agree in a tree."""
    return max(
        next((i for i in range(length) if one[at + i] != other[at + i]), length)
        for at in range(0, trees * length, length)
    )


@settings(max_examples=25)
@given(st.lists(VALUES, max_size=8), VALUES, st.integers(1, 9))
def test_a_forest_gives_the_keys_of_the_longest_prefixes(rows, asked, k):
    forest = MinHashLSHForest(num_perm=7, l=2)
    for key, values in enumerate(rows):
        forest.add(key, sketch(values))
    assert forest.query(sketch(asked), k) == []
    forest.index()
    depths = {key: depth(values, asked, 2, 3) for key, values in enumerate(rows)}
    found = forest.query(sketch(asked), k)
    assert len(found) == min(k, sum(each > 0 for each in depths.values()))
    told = [depths[key] for key in found]
    assert told == sorted(told, reverse=True)
    assert len(found) < k or all(each <= told[-1] for key, each in depths.items() if key not in found)
    for key, values in enumerate(rows):
        assert forest.get_minhash_hashvalues(key).tolist() == values[:6]


def test_what_a_forest_does_not_take_is_named():
    forest = MinHashLSHForest(num_perm=7, l=2)
    forest.add("a", sketch([0] * 7))
    with pytest.raises(InputError, match="the key 'a' is there already"):
        forest.add("a", sketch([0] * 7))
    with pytest.raises(InputError, match="has 5 values, and the forest is for 6 or more"):
        forest.add("b", sketch([0] * 5))
    with pytest.raises(InputError, match="k is 0"):
        forest.query(sketch([0] * 7), 0)
    with pytest.raises(InputError, match="l is 8 and num_perm 7"):
        MinHashLSHForest(num_perm=7, l=8)
    with pytest.raises(KeyError):
        forest.get_minhash_hashvalues("b")
    weighted = MinHashLSHForest(num_perm=7, l=2)
    weighted.add("a", WeightedMinHash(1, np.zeros((7, 2), dtype=np.int64)))
    with pytest.raises(InputError, match="they are of no MinHash"):
        weighted.get_minhash_hashvalues("a")


# Ensemble


@given(st.dictionaries(st.integers(1, 300), st.integers(1, 9), min_size=1, max_size=8), st.integers(1, 9))
def test_partitions_have_the_fewest_false_positives_of_all(counts, most):
    sizes = sorted(counts)
    found = partitions(sizes, [counts[size] for size in sizes], most)
    assert [size for size in sizes if any(low <= size <= high for low, high in found)] == sizes
    assert len(found) == min(most, len(sizes))

    def wrong(bounds: list[tuple[int, int]]) -> float:
        return sum((high - s) / high * counts[s] for low, high in bounds for s in sizes if low <= s <= high)

    def all_bounds() -> Iterator[list[tuple[int, int]]]:
        for cuts in combinations(range(1, len(sizes)), len(found) - 1):
            edges = [0, *cuts, len(sizes)]
            yield [(sizes[a], sizes[b - 1]) for a, b in pairwise(edges)]

    assert wrong(found) <= min(map(wrong, all_bounds())) + 1e-9


@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("ratio", [0.02, 0.6, 1.0, 5.0])
def test_containment_bands_have_the_least_error_of_all(threshold, ratio):
    """By sums over 4,000 strips of each side, for which every setting is tried."""

    def error(bands: int, rows: int) -> float:
        total = 0.0
        for low, high, missed in ((0.0, min(ratio, threshold), False), (threshold, min(ratio, 1.0), True)):
            at = low + (np.arange(4000) + 0.5) / 4000 * max(high - low, 0.0)
            curve = 1 - (1 - (at / (1 + ratio - at)) ** rows) ** bands
            total += (
                (0.3 if not missed else 0.7) * float(np.mean(1 - curve if missed else curve)) * max(high - low, 0.0)
            )
        return total

    every = [error(b, r) for b in range(1, 17) for r in range(1, 5) if b * r <= 16]
    assert error(*best_containment_bands(threshold, 16, 4, ratio, (0.3, 0.7))) <= min(every) + 1e-6


def test_an_ensemble_finds_contained_sets_and_few_others():
    """50 queries, each inside one of 50 sets: by the curve of its bands at least 9 in 10 of these are found."""
    sets = [[f"{i}-{j}".encode() for j in range(20 + 10 * i)] for i in range(50)]
    ensemble = MinHashLSHEnsemble(threshold=0.8, num_perm=128, num_part=8)
    assert ensemble.is_empty()
    ensemble.index(
        (i, each, len(tokens)) for i, (tokens, each) in enumerate(zip(sets, MinHash.bulk(sets), strict=True))
    )
    assert not ensemble.is_empty()
    assert 7 in ensemble
    assert 70 not in ensemble
    answers = [list(ensemble.query(each, len(tokens))) for tokens, each in zip(sets, MinHash.bulk(sets), strict=True)]
    hits = sum(i in answer for i, answer in enumerate(answers))
    assert hits >= (0.9 - SIGMAS * share_sigma(0.9, 50)) * 50
    assert sum(map(len, answers)) - hits <= 5
    again = pickle.loads(pickle.dumps(ensemble))
    assert [list(again.query(each, len(t))) for t, each in zip(sets, MinHash.bulk(sets), strict=True)] == answers


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"num_part": 0}, "num_part is 0"),
        ({"m": 1}, "m is 1"),
        ({"storage_config": {"type": "neardup", "path": os.devnull}}, "pickle it to keep it"),
    ],
)
def test_ensembles_that_there_cannot_be_are_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        MinHashLSHEnsemble(**wrong)


def test_what_an_ensemble_does_not_take_is_named():
    ensemble = MinHashLSHEnsemble(num_perm=16)
    with pytest.raises(InputError, match="there are no entries"):
        ensemble.index([])
    with pytest.raises(InputError, match="the set of key 'a' has the size 0"):
        ensemble.index([("a", MinHash(16), 0)])
    assert ensemble.is_empty()
    ensemble.index([("a", MinHash(16), 1)])
    with pytest.raises(InputError, match="has keys already"):
        ensemble.index([("b", MinHash(16), 1)])
    with pytest.raises(InputError, match="size is 0"):
        list(ensemble.query(MinHash(16), 0))
