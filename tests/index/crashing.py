"""Killing a writer at random moments while readers read, and holding what is left against what was acknowledged."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests import warm
from tests.adversarial.command import LIMIT, PACKAGE
from tests.index.tiny import tiny
from tests.index.workload import GROUPS, Plan, base, version_seen

from neardup import Index

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass
class Kill:
    """What a kill left."""

    number: int
    ran: int
    """Batches that were waited for before the kill."""
    acknowledged: int
    """Batches since the last kill."""
    further: bool
    """The batch that was being written is there, whole, though it was never acknowledged."""
    wal: int
    """Bytes of the log that the writer left."""
    reopened: float
    """Seconds that opening for writing took."""
    documents: int
    segments: int
    healed: int


def start(module: str, *args: object) -> subprocess.Popen[str] | warm.Forked:
    """A process of ours that finds the neardup under test and the tests, with pipes to all ends."""
    places = os.pathsep.join([str(PACKAGE.parent), str(REPOSITORY)])
    return warm.start(
        ["-X", "faulthandler", "-W", "error", "-m", f"tests.index.{module}", *map(str, args)],
        env={**warm.environment(), "PYTHONPATH": places},
        cwd=REPOSITORY,
    )


@contextlib.contextmanager
def readers(path: Path, count: int) -> Iterator[list[int]]:
    """Processes that read until the block ends; the list then holds how many questions each asked."""
    running = [start("looker", path, seed) for seed in range(count)]
    asked: list[int] = []
    try:
        yield asked
        for process in running:
            out, err = process.communicate(timeout=LIMIT)  # closes its input
            assert process.returncode == 0, err
            asked.append(int(out.split()[0]))
    finally:
        for process in running:
            process.kill()
            process.communicate()


def run_and_kill(path: Path, plan: Plan, batches: int, seconds: float = 0.0) -> int:
    """Let a writer go on from ``plan`` for so many batches and then for so long, and kill it.

    Returns:
        The number of the last acknowledged batch.
    """
    process = start("writer", path, plan.seed, plan.done)
    try:
        assert process.stdout is not None
        first = _line_within(process, LIMIT)
        if first != "ready\n":
            _, err = process.communicate(timeout=LIMIT)
            raise AssertionError(f"the writer did not begin: {first!r} {err}")
        begun = "".join(_line_within(process, LIMIT) for _ in range(batches))
        time.sleep(seconds)
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        process.kill()
        assert process.stderr is not None
        out, err = begun + process.stdout.read(), process.stderr.read()  # communicate would lose what was read ahead
    finally:
        process.kill()
        process.communicate()
    assert "Traceback" not in err, err
    # a kill can cut the last line
    told = [int(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]
    return told[-1] if told else plan.done


def _line_within(process: subprocess.Popen[str] | warm.Forked, seconds: float) -> str:
    """The next line; a writer that says nothing for so long is killed, and the line is cut."""
    hung = threading.Timer(seconds, process.kill)
    hung.start()
    try:
        assert process.stdout is not None
        return str(process.stdout.readline())
    finally:
        hung.cancel()


def matches(index: Index, plan: Plan) -> bool:
    """Whether the index holds exactly the documents that the plan says, in their order."""
    if list(index) != list(plan.documents):
        return False
    stored = [index.get(name) for name in plan.documents]
    return [None if one is None else one.text for one in stored] == list(plan.documents.values())


def difference(index: Index, plan: Plan, acknowledged: int) -> str:
    """What an index holds that is in the state of no batch that it may be in."""
    ids = list(index)
    known = Plan.begin(plan.seed)
    alike = []
    while known.done < acknowledged + 5:
        if list(known.documents) == ids:
            alike.append(known.done)
        known.step()
    missing, more = set(plan.documents) - set(ids), set(map(str, ids)) - set(plan.documents)
    return (
        f"{acknowledged} batches were acknowledged; the ids are those after batches {alike}; beside batch {plan.done} "
        f"{sorted(missing)} are missing and {sorted(more)} too many; generation {index.info().generation}"
    )


def check_answers(index: Index, plan: Plan) -> None:
    """Every group is found in the version it has, and every lonely document finds itself."""
    answers = index.query([base(group) for group in range(GROUPS)], top=None)
    assert [version_seen(group, hits) for group, hits in enumerate(answers)] == [
        plan.versions.get(group) for group in range(GROUPS)
    ]
    lonely = [name for name in plan.documents if name.startswith("n")]
    hits = index.query([plan.documents[name] for name in lonely], top=None)
    assert [[(hit.id, hit.similarity) for hit in found] for found in hits] == [[(name, 1.0)] for name in lonely]


def check_files(path: Path, index: Index) -> None:
    """Nothing lies about that belongs to nothing."""
    names = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    known = {"index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "LOCK"}
    segments = {name for name in names if name.startswith("segments/") and name.endswith(".bands")}
    assert names - segments <= known, names
    assert len(segments) == index.info().segments, segments


def kill_again_and_again(path: Path, kills: int, *, seed: int, most: int) -> Iterator[Kill]:
    """Kill a writer, look at what is left, let the next one go on from there; the index is there and empty."""
    rng = random.Random(seed)
    plan = Plan.begin(seed)
    for number in range(kills):
        ran = rng.randrange(most)
        before = plan.done
        acknowledged = run_and_kill(path, plan, ran, rng.uniform(0.0, 0.03))
        while plan.done < acknowledged:
            plan.step()
        wal = path / "index.sqlite-wal"
        left = wal.stat().st_size if wal.exists() else 0
        with tiny():
            began = time.monotonic()
            index = Index.open(path)
            reopened = time.monotonic() - began
            with index:
                further = not matches(index, plan)
                if further:
                    plan.step()
                    assert matches(index, plan), f"kill {number}: {difference(index, plan, acknowledged)}"
                check_answers(index, plan)
                told = index.verify()
                assert told.ok, told
                check_files(path, index)
                info = index.info()
        yield Kill(
            number, ran, acknowledged - before, further, left, reopened, len(plan.documents), info.segments, info.healed
        )
