"""The small tools of the engine: cutting rows into runs, buffers that are used again, stages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.cutting import cut, distinct, starts_of
from neardup.engine.check import Buffers
from neardup.engine.joins import common
from neardup.engine.observe import Silent, Stages
from neardup.engine.space import Budget, Space


@given(st.lists(st.integers(0, 20)), st.integers(1, 30))
def test_runs_follow_each_other_and_none_could_be_longer(costs: list[int], most: int):
    runs = list(cut(np.array(costs, dtype=np.int64), most))
    assert [i for run in runs for i in range(run.start, run.stop)] == list(range(len(costs)))
    for run in runs:
        cost = sum(costs[run])
        assert cost <= most or run.stop - run.start == 1
        assert run.stop == len(costs) or cost + costs[run.stop] > most


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from([1, 2, 3]))))
def test_slabs_are_runs_of_one_side(documents: list[tuple[int, int]]):
    counts, sides = np.array(documents, dtype=np.int64).reshape(-1, 2).T
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(common, "SLAB", 12)
        found = list(common.slabs(counts, sides.astype(np.uint8)))
    assert [i for run in found for i in range(run.start, run.stop)] == list(range(len(documents)))
    for run in found:
        assert len(set(sides[run].tolist())) == 1
        ends_side = run.stop == len(documents) or sides[run.stop] != sides[run.start]
        assert ends_side or counts[run].sum() + counts[run.stop] > 12


def test_groups_start_where_the_ones_before_end():
    assert starts_of(np.array([2, 0, 3], dtype=np.int64)).tolist() == [0, 2, 2, 5]
    assert starts_of(np.empty(0, dtype=np.int64)).tolist() == [0]


def test_a_buffer_is_used_again_where_it_is_large_enough():
    buffers = Buffers(np.uint64)
    first = buffers.take(3, fresh=8)
    assert (first.size, first.dtype) == (8, np.uint64)
    buffers.give_back(first)
    assert buffers.take(8, fresh=0) is first
    buffers.give_back(first)
    assert buffers.take(9, fresh=0).size == 9
    buffers.give_back(first)
    buffers.clear()
    assert buffers.take(1, fresh=0) is not first


def test_a_stage_is_told_timed_and_gives_back_its_memory(monkeypatch: pytest.MonkeyPatch):
    told: list[object] = []

    class Listening(Silent):
        def stage(self, name: str, total: int | None, unit: str) -> None:
            told.append((name, total, unit))

    space = Space(Budget(1000, 1000), None, {})
    monkeypatch.setattr(space, "release_memory", lambda: told.append("released"))
    ticks = iter([1.0, 3.0, 10.0, 14.0, 20.0, 21.0])
    monkeypatch.setattr("neardup.engine.observe.time.perf_counter", lambda: next(ticks))
    stages = Stages(space, Listening())
    with stages.stage("read", 7, "bytes"):
        told.append("work")
    with stages.stage("read"):
        pass
    with pytest.raises(ZeroDivisionError), stages.stage("check"):
        raise ZeroDivisionError
    assert told == [("read", 7, "bytes"), "work", "released", "released"]
    assert stages.seconds == {"read": 6.0, "check": 1.0}


@given(st.lists(st.integers(-3, 3)))
def test_distinct_values_are_those_of_a_set_rising(values):
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))
