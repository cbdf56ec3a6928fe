"""Dying at each step of a change: ``python -m tests.index.points FOLDER CHANGE EVERY FIRST``.

A child is forked for each step: it makes one change to a copy of an index and kills itself just before its n-th call
that touches a file or the database. Another child then holds what is left against the state before and the one after.
Forks, so that a step costs milliseconds; hence nothing may have made a thread in this process.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.index.crashing import check_answers, check_files, matches
from tests.index.tiny import tiny
from tests.index.workload import OPTIONS, Change, Plan, carry_out, members

from neardup import Index, IndexNotFound

CALLS = ("replace", "rename", "unlink", "remove", "fsync", "mkdir", "rmdir", "open", "truncate", "ftruncate", "link")
STATEMENTS = ("execute", "executemany", "executescript", "commit", "close", "backup")
BACKUPS = ("backup", "backup over another")
DONE, KILLED = 0, -signal.SIGKILL


class Counter:
    """Counts calls, and ends the process at one of them."""

    def __init__(self, last: int) -> None:
        self.left = last

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def install(self) -> None:
        """Before every call that changes files, and every statement."""
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))
        counter = self

        class Connection(sqlite3.Connection):
            """Counts its statements."""

        for name in STATEMENTS:
            setattr(Connection, name, counter._counted(getattr(sqlite3.Connection, name)))
        plain = sqlite3.connect
        sqlite3.connect = lambda *args, **options: plain(*args, **{"factory": Connection, **options})  # type: ignore[assignment]

    def _counted(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            self.count()
            return call(*args, **options)

        return counted


def in_child(work: Callable[[], None]) -> int:
    """Run in a fork; its return code, or minus the signal that ended it."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with tiny():
                work()
            code = DONE
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def before() -> Plan:
    """Twenty batches, but no compaction."""
    plan = Plan.begin(31)
    while plan.done < 20:
        plan.step()
    return plan


def prepared(path: Path) -> None:
    """The index that each child copies."""
    plan = Plan.begin(31)
    with Index.create(path, **OPTIONS) as index:
        while plan.done < 20:
            carry_out(index, plan.step())


def change_of(name: str, plan: Plan) -> Change:
    """A change, and its trace in the plan."""
    there = min(plan.versions)
    absent = next(group for group in range(1000) if group not in plan.versions and group < 24)
    if name == "remove":
        gone = {key: plan.documents.pop(key) for key in members(there, 0)}
        del plan.versions[there]
        return Change("remove", gone)
    if name in ("add", "replace"):
        group = absent if name == "add" else there
        new = members(group, (plan.versions.get(group, 0) + 1) % 5)
        for key in new:
            plan.documents.pop(key, None)
        plan.documents.update(new)
        plan.versions[group] = (plan.versions.get(group, 0) + 1) % 5
        return Change(name, new)
    return Change("compact", {})


def act(name: str, path: Path, other: Path) -> None:
    """Open, change, close."""
    if name == "create":
        Index.create(path, **OPTIONS).close()
        return
    if name == "build":
        Index.build(path, before().documents, **OPTIONS, threads=1).close()
        return
    if name in BACKUPS:
        with Index.open(path, read_only=True) as index:
            index.backup(path.parent / "copy", replace=name == "backup over another")
        return
    with Index.open(path) as index:
        if name == "merge":
            index.merge(other)
        elif name != "open":
            carry_out(index, change_of(name, before()))


def check_backup(path: Path, other: Path) -> None:
    """The copy is whole or not there, nothing else opens, and another one cleans up."""
    wanted, target = before(), path.parent / "copy"
    for name in os.listdir(path.parent):
        try:
            with Index.open(path.parent / name, read_only=True) as index:
                known = matches(index, wanted) or (name != "index" and list(index) == list(members(900, 1)))
                assert known, f"{name} opens, and is no copy"
                assert index.verify().ok
        except IndexNotFound:
            assert name.startswith(".")
    act("backup over another", path, other)
    assert sorted(os.listdir(path.parent)) == ["copy", "index"]
    with Index.open(target) as index:
        assert matches(index, wanted)
        check_answers(index, wanted)
        assert index.verify().ok
        check_files(target, index)


def check(name: str, path: Path, other: Path) -> None:
    """What is left is the state before or the one after, and it can be gone on with."""
    if name in BACKUPS:
        check_backup(path, other)
    earlier, later = before(), before()
    if name in ("create", "build"):
        if not path.exists():
            try:
                Index.open(path)
            except IndexNotFound:
                act(name, path, path)  # which removes what the one that died has left
        assert os.listdir(path.parent) == [path.name]
        later = Plan.begin(0) if name == "create" else later
        if name == "create":
            earlier = later
        else:
            later.documents = earlier.documents
    elif name == "merge":
        more = members(900, 1)
        later.documents.update(more)
    elif name not in BACKUPS:
        change_of(name, later)
    with Index.open(path) as index:
        after = matches(index, later)
        assert after or matches(index, earlier), "neither the state before nor the one after"
        check_answers(index, later if after else earlier)
        told = index.verify()
        assert told.ok, told
        check_files(path, index)
        index.add("one more", "goes on")
    with Index.open(path, read_only=True) as index:
        assert "one more" in index


def main(folder: Path, name: str, every: int, first: int) -> None:
    """Print how many steps there were; fail at the first that left something wrong."""
    source, other, path = folder / "source", folder / "other", folder / "work" / "index"
    prepared(source)
    with Index.create(other, **OPTIONS) as index:
        index.add(list(members(900, 1)), list(members(900, 1).values()))
    step = first
    killed = 0
    while True:
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        if name not in ("create", "build"):
            shutil.copytree(source, path)
        if name == "backup over another":
            shutil.copytree(other, path.parent / "copy")

        def dying(last: int = step) -> None:
            Counter(last).install()
            act(name, path, other)

        code = in_child(dying)
        assert code in (DONE, KILLED), f"{name}, step {step}: the change failed ({code})"
        assert in_child(lambda: check(name, path, other)) == DONE, f"{name}, killed at step {step} ({code})"
        if code == DONE:
            break
        killed += 1
        step += every
    print(killed, step)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
