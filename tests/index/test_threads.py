"""Many threads on one index: each answer is of one moment, and of near-copies exactly one comes in."""

from __future__ import annotations

import collections
import gc
import itertools
import os
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.index.tiny import tiny
from tests.index.workload import GROUPS, OPTIONS, Plan, base, carry_out, version_seen
from tests.warm import LIMIT

from neardup import Index, InputError

THREADS = 8
NEAR = 8
"""Near-copies of a group."""


@pytest.fixture(params=["memory", "disk"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "index" if request.param == "disk" else None


def together(work: Callable[[int], object], count: int = THREADS) -> list[object]:
    """Run ``work(0)`` to ``work(count - 1)`` in threads that begin at the same moment."""
    gate = threading.Barrier(count)

    def run(number: int) -> object:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(run, number) for number in range(count)]]


def near_copies(groups: int, seed: int) -> list[list[str]]:
    """Any two of a group reach 0.5, no two of different groups do."""
    rng = random.Random(seed)
    found = []
    for _ in range(groups):
        original = " ".join(f"{rng.randrange(16**6):06x}" for _ in range(12))
        found.append([f"{original} {rng.randrange(16**4):04x}" for _ in range(NEAR)])
    return found


def test_of_near_copies_offered_by_threads_at_once_exactly_one_comes_in(path: Path | None) -> None:
    groups = near_copies(100, seed=1)
    with tiny(), Index.create(path, **OPTIONS) as index:

        def offer(number: int) -> list[tuple[int, bool, str | None]]:
            order = list(range(len(groups)))
            random.Random(number // 4).shuffle(order)  # two orders, so that threads meet at the same group
            told = []
            for group in order:
                answer = index.add_if_new(f"{group}:{number}", groups[group][number])
                told.append((group, answer.is_new, None if answer.match is None else str(answer.match.id)))
            return told

        answers = [answer for told in together(offer) for answer in told]  # type: ignore[attr-defined]
        admitted = {
            group: name for group in range(len(groups)) for name in map(str, index) if name.startswith(f"{group}:")
        }
        assert len(index) == len(groups) == len(admitted)
        assert sorted(group for group, is_new, _ in answers if is_new) == list(range(len(groups)))
        assert all(match == admitted[group] for group, is_new, match in answers if not is_new)
        assert index.pairs().num_rows == 0


def test_of_near_copies_offered_in_batches_exactly_one_comes_in(path: Path | None) -> None:
    groups = near_copies(60, seed=2)
    with tiny(), Index.create(path, **OPTIONS) as index:

        def offer(number: int) -> int:
            order = list(range(len(groups)))
            random.Random(number).shuffle(order)
            new = 0
            for at in range(0, len(order), 7):
                part = order[at : at + 7]
                told = index.add_if_new([f"{g}:{number}" for g in part], [groups[g][number] for g in part])
                new += sum(answer.is_new for answer in told)
            return new

        assert sum(together(offer)) == len(groups) == len(index)  # type: ignore[arg-type]
        assert index.pairs().num_rows == 0


def test_near_copies_come_in_again_when_the_one_was_removed(path: Path | None) -> None:
    """Four threads offer, four remove what they find: at any moment at most one of a group is there."""
    groups = near_copies(15, seed=3)
    with tiny(), Index.create(path, **OPTIONS) as index:
        admitted, removed = [0] * THREADS, [0] * THREADS
        offering = threading.Semaphore(0)

        def work(number: int) -> None:
            rng = random.Random(number)
            if number % 2:
                for turn in range(60):
                    group = rng.randrange(len(groups))
                    admitted[number] += index.add_if_new(f"{group}:{number}:{turn}", groups[group][number]).is_new
                    offering.release(2)
            for _ in range(0 if number % 2 else 80):
                offering.acquire(timeout=LIMIT)
                hits = index.query(groups[rng.randrange(len(groups))][number], top=None)
                assert len(hits) <= 1, hits
                removed[number] += index.remove([hit.id for hit in hits], missing="skip")

        together(work)
        assert sum(admitted) - sum(removed) == len(index)
        assert sum(removed) > 0
        assert index.pairs().num_rows == 0


def test_each_answer_is_of_one_moment_while_a_writer_writes(path: Path | None) -> None:
    with tiny(), Index.create(path, **OPTIONS) as index:
        plan = Plan.begin(5)
        over = threading.Event()

        def work(number: int) -> int:
            if number == 0:
                try:
                    for change in plan.changes():
                        carry_out(index, change)
                        if plan.done >= 80:
                            return 0
                finally:
                    over.set()
            rng = random.Random(number)
            seen = 0
            while not over.is_set():
                group = rng.randrange(GROUPS)
                first, second = index.query([base(group)] * 2, top=None)
                assert first == second
                seen += version_seen(group, first) is not None
            return seen

        seen = together(work, 4)
        assert min(seen[1:]) > 5  # type: ignore[type-var]
        assert list(index) == list(plan.documents)


def test_two_indexes_that_take_each_other_in_at_once_do_not_wait_for_ever(path: Path | None) -> None:
    other_path = None if path is None else path.with_name("other")
    groups = near_copies(30, seed=6)
    with Index.create(path, **OPTIONS) as one, Index.create(other_path, **OPTIONS) as other:
        one.add(range(30), [texts[0] for texts in groups])
        other.add(range(100, 130), [texts[1] for texts in groups])
        done = together(lambda number: (one, other)[number].merge((other, one)[number], on_duplicate="skip"), 2)
        assert len(one) == len(other) == 60, done
        assert one.pairs().num_rows == other.pairs().num_rows == 30


def test_the_whole_is_found_while_a_writer_writes(path: Path | None) -> None:
    """Pairs are those of one moment: of each group either all are there, or none."""
    with tiny(), Index.create(path, **OPTIONS) as index:
        plan = Plan.begin(6)
        over = threading.Event()

        def work(number: int) -> int:
            if number == 0:
                try:
                    while plan.done < 50:
                        carry_out(index, plan.step())
                finally:
                    over.set()
                return 1
            seen = 0
            while not over.is_set():
                of_groups = collections.Counter(row["id_a"].split(":")[0] for row in index.pairs().to_pylist())
                assert {count for name, count in of_groups.items() if name.startswith("g")} <= {66}  # 12 * 11 / 2
                seen += 1
            return seen

        assert min(together(work, 2)) > 0  # type: ignore[type-var]


def ask_until_closed(index: Any, texts: list[str], started: threading.Semaphore) -> int:
    """How many times all could be asked before the index said that it is closed."""
    started.release()
    for count in itertools.count():
        try:
            answers = index.query(texts, top=None)
        except InputError as exc:
            return count if "closed" in str(exc) else -1
        assert all(len(hits) == NEAR for hits in answers)
    raise AssertionError


def test_closing_while_queries_run_gives_clean_errors(path: Path | None) -> None:
    groups = near_copies(40, seed=4)
    for turn in range(4):
        here = None if path is None else path.with_name(f"index{turn}")
        with tiny():
            index = Index.create(here, **OPTIONS)
            for group, texts in enumerate(groups):
                index.add([f"{group}:{i}" for i in range(NEAR)], texts)
            started = threading.Semaphore(0)
            with ThreadPoolExecutor(4) as pool:
                asking = [
                    pool.submit(ask_until_closed, index, [texts[number] for texts in groups], started)
                    for number in range(4)
                ]
                for _ in asking:
                    started.acquire()
                time.sleep(0.03 * turn)
                index.close()
                assert all(future.result(LIMIT) >= 0 for future in asking)
            index.close()  # twice is once


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_opening_and_closing_leaks_nothing(tmp_path: Path) -> None:
    groups = near_copies(20, seed=5)
    where = tmp_path / "index"
    with tiny():
        with Index.create(where, **OPTIONS) as index:
            for group, texts in enumerate(groups):
                index.add([f"{group}:{i}" for i in range(NEAR)], texts)

        def cycle(read_only: bool) -> None:
            with Index.open(where, read_only=read_only) as index, ThreadPoolExecutor(3) as pool:
                assert all(pool.map(lambda texts: len(index.query(texts[0])) == NEAR, groups[:6]))

        def maps() -> int:
            with open("/proc/self/maps", encoding="utf-8") as lines:
                return sum(str(where) in line for line in lines)

        for turn in range(3):
            cycle(turn % 2 == 0)
        gc.collect()
        before = open_files(), threading.active_count()
        for turn in range(40):
            cycle(turn % 2 == 0)
        gc.collect()
        after = open_files(), threading.active_count()
        assert after[0] <= before[0], "open files"
        assert after[1] <= before[1], "threads"
        assert maps() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_index_taken_through_a_fork_is_refused_or_answers_right(tmp_path: Path) -> None:
    """In a process of its own: threads of this one must not be forked."""
    from tests.index.crashing import start

    process = start("forking", tmp_path / "index")
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    assert out.splitlines() == ["child refused or right", "parent right"], out + err
