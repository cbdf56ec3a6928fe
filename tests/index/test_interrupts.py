"""Ctrl-C, or any exception of a signal, in the middle of a call: the change is whole or never was, and work goes on."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType

import pytest
from tests.index.crashing import check_answers, check_files, matches
from tests.index.tiny import tiny
from tests.index.workload import GROUPS, OPTIONS, Plan, base, carry_out

from neardup import Index

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="timers of POSIX"),
    # what was open in a function that was interrupted is closed by the collector, which warns
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Stop(BaseException):
    """What the signal raises; nobody catches it by accident."""


def is_stopped(work: Callable[[], object], seconds: float) -> bool:
    """Do ``work``, with Stop raised in it after so long; whether it was. Work that is faster is done."""
    armed = True

    def stop(_number: int, _frame: FrameType | None) -> None:
        if armed:
            raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        work()
    except Stop:
        return True
    except SystemError as exc:  # numba finds the exception set when it comes back from a kernel
        first: BaseException = exc
        while first.__cause__ is not None:
            first = first.__cause__
        if not isinstance(first, Stop):
            raise
        return True
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return False


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_an_interrupted_change_is_whole_or_never_was(tmp_path: Path, place: str) -> None:
    path = tmp_path / "index" if place == "disk" else None
    rng = random.Random(1)
    plan = Plan.begin(51)
    stopped = 0
    with tiny(), Index.create(path, **OPTIONS) as index:
        while plan.done < 20:
            carry_out(index, plan.step())
        for _ in range(70):
            before = plan.copy()
            change = plan.step()
            seconds = rng.choice([0.0004, 0.002, 0.01]) * rng.uniform(0.2, 1.5)
            was_stopped = is_stopped(partial(carry_out, index, change), seconds)
            stopped += was_stopped
            if not matches(index, plan):
                assert was_stopped
                assert matches(index, before), f"batch {plan.done}, {change.kind}, is neither whole nor gone"
                # the next one is another batch, of the state that there is
                plan = Plan(before.seed, before.documents, before.versions, plan.done)
            is_stopped(partial(index.query, [base(group) for group in range(GROUPS)]), 0.003 * rng.random())
        check_answers(index, plan)
        assert index.verify().ok
        index.compact()
    assert stopped > 10
    assert threading.active_count() == 1 or "neardup-upkeep" not in {thread.name for thread in threading.enumerate()}
    if path is not None:
        with Index.open(path) as index:
            assert matches(index, plan)
            assert index.verify().ok
            check_files(path, index)


def test_an_interrupted_build_leaves_nothing_or_all_of_it(tmp_path: Path) -> None:
    documents = {f"d{i}": f"a text of some length, number {i * 7919}, " * 4 for i in range(20_000)}
    Index.build(tmp_path / "whole", dict(list(documents.items())[:100])).close()
    folder = tmp_path / "here"
    folder.mkdir()
    made: list[Index] = []
    for seconds in (0.02, 0.1, 0.25):
        is_stopped(lambda: made.append(Index.build(folder / "index", documents)), seconds)
        if made:
            made.pop().close()
        if os.listdir(folder):  # it had taken its name, a moment before the signal or long before
            break
    if os.listdir(folder):
        assert os.listdir(folder) == ["index"]
        with Index.open(folder / "index", read_only=True) as index:
            assert len(index) == len(documents)
            assert index.verify().ok


def test_an_interrupted_open_holds_no_lock(tmp_path: Path) -> None:
    Index.create(tmp_path / "index", **OPTIONS).close()
    rng = random.Random(2)
    for _ in range(40):
        is_stopped(lambda: Index.open(tmp_path / "index").close(), 0.01 * rng.random())
    with Index.open(tmp_path / "index") as index:
        assert len(index) == 0
