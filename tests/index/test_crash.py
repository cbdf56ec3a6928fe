"""kill -9 at any moment loses nothing that was acknowledged and shows nothing by halves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.adversarial.command import LIMIT
from tests.index.crashing import kill_again_and_again, readers, start
from tests.index.workload import OPTIONS

from neardup import Index

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def check_kills(path: Path, kills: int, *, seed: int, longest: float) -> None:
    Index.create(path, **OPTIONS).close()
    with readers(path, 2) as asked:
        done = list(kill_again_and_again(path, kills, seed=seed, longest=longest))
    assert len(done) == kills
    assert sum(kill.acknowledged for kill in done) > kills
    assert min(asked) > kills


def test_killed_writers_lose_nothing_and_readers_never_notice(tmp_path: Path) -> None:
    check_kills(tmp_path / "index", 7, seed=1, longest=0.7)


@pytest.mark.slow
def test_many_killed_writers_lose_nothing_and_readers_never_notice(tmp_path: Path) -> None:
    check_kills(tmp_path / "index", 40, seed=2, longest=1.5)


def check_points(folder: Path, change: str, *, every: int, first: int) -> None:
    process = start("points", folder, change, every, first)
    out, err = process.communicate(timeout=10 * LIMIT)
    assert process.returncode == 0, err
    assert int(out.split()[0]) > 0, "no step was met"


CHANGES = ["add", "replace", "remove", "compact", "merge", "open", "create", "build"]


@pytest.mark.parametrize("change", ["replace", "compact", "build"])
def test_a_change_that_dies_at_one_of_its_steps_is_whole_or_was_never(tmp_path: Path, change: str) -> None:
    check_points(tmp_path, change, every=15, first=4)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_dies_at_any_of_its_steps_is_whole_or_was_never(tmp_path: Path, change: str) -> None:
    check_points(tmp_path, change, every=1, first=1)
