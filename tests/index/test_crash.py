"""kill -9 at any moment loses nothing that was acknowledged and shows nothing by halves."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.adversarial.command import LIMIT
from tests.index.crashing import kill_again_and_again, readers, run_and_kill, start
from tests.index.workload import OPTIONS, Plan

from neardup import Index

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def check_kills(path: Path, kills: int, *, seed: int, most: int) -> None:
    Index.create(path, **OPTIONS).close()
    with readers(path, 2) as asked:
        done = list(kill_again_and_again(path, kills, seed=seed, most=most))
    assert len(done) == kills
    assert sum(kill.acknowledged for kill in done) > kills
    assert min(asked) > kills


def test_killed_writers_lose_nothing_and_readers_never_notice(tmp_path: Path) -> None:
    check_kills(tmp_path / "index", 7, seed=1, most=20)


@pytest.mark.soak
def test_many_killed_writers_lose_nothing_and_readers_never_notice(tmp_path: Path) -> None:
    check_kills(tmp_path / "index", 40, seed=2, most=60)


@pytest.mark.soak
def test_what_a_reopened_index_shows_is_settled(tmp_path: Path) -> None:
    """A batch that was not there when the next writer looked does not come back when all have closed the index.

    SQLite reads its log again when nobody has it open, and may find a batch whose writer died while committing it.
    """
    path = tmp_path / "index"
    Index.create(path, **OPTIONS).close()
    rng = random.Random(3)
    plan = Plan.begin(7)
    for number in range(20):
        with Index.open(path, read_only=True) as reader:  # keeps SQLite from reading the log again
            assert list(reader) == list(plan.documents)
            acknowledged = run_and_kill(path, plan, rng.randrange(8), rng.uniform(0.0, 0.03))
            with Index.open(path) as index:
                first = list(index)
        with Index.open(path) as index:
            assert list(index) == first, f"kill {number} after batch {acknowledged}"
        while plan.done < acknowledged or list(plan.documents) != first:
            plan.step()
            assert plan.done <= acknowledged + 1


def check_points(folder: Path, change: str, *, every: int, first: int) -> None:
    process = start("points", folder, change, every, first)
    out, err = process.communicate(timeout=10 * LIMIT)
    assert process.returncode == 0, err
    assert int(out.split()[0]) > 0, "no step was met"


CHANGES = ["add", "replace", "remove", "compact", "merge", "open", "create", "build", "backup", "backup over another"]


@pytest.mark.parametrize("change", ["replace", "compact", "build", "backup", "backup over another"])
def test_a_change_that_dies_at_one_of_its_steps_is_whole_or_was_never(tmp_path: Path, change: str) -> None:
    check_points(tmp_path, change, every=15, first=4)


@pytest.mark.soak
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_dies_at_any_of_its_steps_is_whole_or_was_never(tmp_path: Path, change: str) -> None:
    check_points(tmp_path, change, every=1, first=1)
