"""Sorting beyond memory against NumPy's sorts of everything at once."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.spool import Sorter, Workdir
from neardup.spool import sorter as sorter_module


@pytest.fixture
def workdir(tmp_path):
    work = Workdir.create(tmp_path / "work", {"spec_id": "s"})
    yield work
    work.close()


def _gathered(sorter: Sorter, rows: int, unique: bool) -> tuple[np.ndarray, np.ndarray | None]:
    parts = list(sorter.merged(rows, unique))
    assert all(0 < keys.size <= rows for keys, _ in parts)
    keys = np.concatenate([np.empty(0, np.uint64), *(keys for keys, _ in parts)])
    if all(data is None for _, data in parts):
        return keys, None
    return keys, np.concatenate([data for _, data in parts])


def _expected(keys: np.ndarray, data: np.ndarray, unique: bool) -> tuple[np.ndarray, np.ndarray]:
    if unique:
        found, first = np.unique(keys, return_index=True)
        return found, data[first]
    order = np.argsort(keys, kind="stable")
    return keys[order], data[order]


@pytest.mark.parametrize("place", ["memory", "files"])
@pytest.mark.parametrize("payload", [None, np.uint64, np.float64])
@pytest.mark.parametrize("distinct", [1, 50, 2**64 - 1])
@pytest.mark.parametrize("unique", [False, True])
def test_records_come_in_order_and_equal_keys_as_they_arrived(workdir, place, payload, distinct, unique):
    keys = np.random.default_rng(6).integers(0, distinct, 50_000, dtype=np.uint64, endpoint=distinct > 50)
    arrival = np.arange(50_000).astype(payload or np.uint64)
    sorter = Sorter("s", payload=payload, budget=40_000, workdir=workdir if place == "files" else None)
    for start in range(0, 50_000, 3777):
        part = slice(start, start + 3777)
        sorter.add(keys[part], None if payload is None else arrival[part])
    assert len(sorter) == 50_000
    assert (len(workdir.names("s.")) > 5) == (place == "files")
    wanted, data = _expected(keys, arrival, unique)
    for rows in (1000, 1 << 20):  # asked twice, in different portions
        found, carried = _gathered(sorter, rows, unique)
        np.testing.assert_array_equal(found, wanted)
        if payload is None:
            assert carried is None
        else:
            np.testing.assert_array_equal(carried, data)


def test_more_runs_than_are_merged_at_once_are_merged_in_groups(workdir, monkeypatch):
    monkeypatch.setattr(sorter_module, "FAN_IN", 3)
    keys = np.random.default_rng(7).integers(0, 500, 40_000).astype(np.uint64)
    sorter = Sorter("s", payload=np.uint64, budget=1, workdir=workdir)
    sorter.add(keys[:30_000], np.arange(30_000, dtype=np.uint64))
    assert len(workdir.names("s.")) // 2 > 27
    first = _gathered(sorter, 5000, False)
    assert len(workdir.names("s.")) // 2 <= 3
    for found, wanted in zip(first, _expected(keys[:30_000], np.arange(30_000), False), strict=True):
        np.testing.assert_array_equal(found, wanted)
    sorter.add(keys[30_000:], np.arange(30_000, 40_000, dtype=np.uint64))
    for found, wanted in zip(_gathered(sorter, 5000, True), _expected(keys, np.arange(40_000), True), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_records_can_be_added_after_the_order_was_asked_for():
    sorter = Sorter("s", payload=np.uint64, budget=1, workdir=None)
    sorter.add(np.array([5, 1, 5], np.uint64), np.array([0, 1, 2], np.uint64))
    assert _gathered(sorter, 10, False)[1].tolist() == [1, 0, 2]
    sorter.add(np.array([1, 5], np.uint64), np.array([3, 4], np.uint64))
    keys, data = _gathered(sorter, 10, False)
    assert keys.tolist() == [1, 1, 5, 5, 5]
    assert data.tolist() == [1, 3, 0, 2, 4]


@pytest.mark.parametrize("place", ["memory", "files"])
def test_nothing_added_gives_nothing(workdir, place):
    sorter = Sorter("s", payload=None, budget=1, workdir=workdir if place == "files" else None)
    sorter.add(np.empty(0, np.uint64))
    sorter.flush()
    assert list(sorter.merged(10, True)) == []
    assert len(sorter) == 0
    assert workdir.names() == []


def test_few_records_stay_in_memory_though_there_is_a_workdir(workdir):
    sorter = Sorter("s", payload=None, budget=1 << 20, workdir=workdir)
    sorter.add(np.array([2, 1], np.uint64))
    assert _gathered(sorter, 10, False)[0].tolist() == [1, 2]
    assert workdir.names() == []


def test_dropped_records_are_gone_with_their_files(workdir):
    sorter = Sorter("s", payload=np.float64, budget=1, workdir=workdir)
    sorter.add(np.arange(5000, dtype=np.uint64), np.zeros(5000))
    assert workdir.names("s.")
    sorter.drop()
    assert workdir.names("s.") == []
    assert [path for path in workdir.path.iterdir() if path.suffix == ".spool"] == []
    assert len(sorter) == 0
    assert list(sorter.merged(10, False)) == []
    sorter.add(np.array([9], np.uint64), np.array([0.5]))
    assert _gathered(sorter, 10, False)[1].tolist() == [0.5]


@pytest.mark.parametrize("payload", [None, np.uint64])
@pytest.mark.parametrize("count", [0, 100, 2999, 3001, 40_000])
def test_a_sorter_in_memory_goes_to_files_when_its_records_outgrow_the_budget(workdir, payload, count):
    opened = []

    def spill() -> Workdir:
        opened.append(len(sorter))
        return workdir

    size = 8 if payload is None else 16
    sorter = Sorter("s", payload=payload, budget=2 * size * 3000, workdir=None, spill=spill)
    keys = np.random.default_rng(3).integers(0, 5000, count).astype(np.uint64)
    arrival = np.arange(count, dtype=np.uint64)
    for start in range(0, count, 100):
        part = slice(start, start + 100)
        sorter.add(keys[part], None if payload is None else arrival[part])
    assert len(opened) == (count > 3000)
    assert all(3000 < held <= 3100 for held in opened)
    assert bool(workdir.names("s.")) == (count > 3000)
    assert len(sorter) == count
    for unique in (False, True):
        found, data = _gathered(sorter, 700, unique)
        wanted, first = _expected(keys, arrival, unique)
        np.testing.assert_array_equal(found, wanted)
        if payload is not None:
            np.testing.assert_array_equal(data, first)
    sorter.drop()
    assert workdir.names("s.") == []


def test_a_payload_must_come_with_each_key_and_only_where_there_is_one(workdir):
    with pytest.raises(ValueError, match="each key needs its payload"):
        Sorter("s", payload=np.float64, budget=1, workdir=None).add(np.zeros(2, np.uint64))
    with pytest.raises(ValueError, match="each key needs its payload"):
        Sorter("s", payload=None, budget=1, workdir=None).add(np.zeros(2, np.uint64), np.zeros(2))
    with pytest.raises(ValueError, match="not eight bytes"):
        Sorter("s", payload=np.int32, budget=1, workdir=None)


def test_a_sorter_goes_on_with_the_runs_of_the_last_checkpoint(tmp_path):
    keys = np.random.default_rng(8).integers(0, 900, 9000).astype(np.uint64)
    arrival = np.arange(9000, dtype=np.uint64)
    identity = {"spec_id": "s"}
    work = Workdir.create(tmp_path / "w", identity)
    Sorter("s.longer", payload=None, budget=1, workdir=work).add(keys)  # a name that begins alike is another's
    sorter = Sorter("s", payload=np.uint64, budget=1, workdir=work)
    sorter.add(keys[:4321], arrival[:4321])
    sorter.flush()
    work.checkpoint(added=4321)
    sorter.add(keys[4321:8000], arrival[4321:8000])  # lost
    work.close()

    work = Workdir.reopen(tmp_path / "w", identity)
    sorter = Sorter("s", payload=np.uint64, budget=1, workdir=work)
    assert len(sorter) == work.state["added"] == 4321
    sorter.add(keys[4321:], arrival[4321:])
    for found, wanted in zip(_gathered(sorter, 700, False), _expected(keys, arrival, False), strict=True):
        np.testing.assert_array_equal(found, wanted)
    work.remove()


@pytest.mark.parametrize("payload", [None, np.uint64])
def test_merging_holds_no_more_than_the_budget(workdir, payload):
    import tracemalloc

    budget = 4 << 20
    sorter = Sorter("s", payload=payload, budget=budget, workdir=workdir)
    rng = np.random.default_rng(9)
    tracemalloc.start()
    for _ in range(40):
        keys = rng.integers(0, 2**60, 50_000).astype(np.uint64)
        sorter.add(keys, None if payload is None else keys)
    count = sum(keys.size for keys, _ in sorter.merged(1 << 16, True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count > 1_900_000
    # beside it: the caller's own 50,000 records with what made them, and two write buffers
    assert peak <= budget + 50_000 * 8 * 3 + 2 * (256 << 10)
