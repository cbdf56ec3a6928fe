"""A backup is a whole index of one moment, whatever happens to the index, the disk and the processes meanwhile.

Backups that are killed at each of their steps are in ``points``, beside other changes.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from tests.adversarial.command import LIMIT, environment, line, neardup
from tests.index.crashing import check_answers, check_files, matches, start
from tests.index.tiny import tiny
from tests.index.workload import OPTIONS, Plan, carry_out
from tests.server.running import run_service

from neardup import FormatError, Index, IndexLocked, InputError, OutputError
from neardup.cli import main
from neardup.index import backup, upkeep


def plan_of(seed: int, batches: int) -> Plan:
    plan = Plan.begin(seed)
    while plan.done < batches:
        plan.step()
    return plan


def made(path: Path | None, seed: int = 1, batches: int = 25) -> tuple[Any, Plan]:
    """An index with segments, a tail and removed documents."""
    plan, index = Plan.begin(seed), Index.create(path, **OPTIONS)
    with tiny():
        while plan.done < batches:
            carry_out(index, plan.step())
    return index, plan


def check_copy(target: Path, plan: Plan) -> None:
    """The copy holds exactly what the plan says, is clean, sound, and can be gone on with."""
    assert set(os.listdir(target)) == {"LOCK", "index.sqlite", "segments"}
    with Index.open(target) as copy:
        assert matches(copy, plan)
        check_answers(copy, plan)
        told = copy.verify()
        assert told.ok, told
        check_files(target, copy)
        copy.add("one more", "goes on")
        copy.compact()
        assert copy.verify().ok


@pytest.mark.parametrize("where", ["writing", "reading", "memory"])
def test_backup_is_an_index_of_its_own(tmp_path: Path, where: str) -> None:
    index, plan = made(None if where == "memory" else tmp_path / "index")
    if where == "reading":
        index.close()
        index = Index.open(tmp_path / "index", read_only=True)
    with index:
        told = index.backup(tmp_path / "copy")
        assert (told.documents, told.path) == (len(plan.documents), str(tmp_path / "copy"))
        assert told.generation <= index.info().generation  # upkeep goes on
        assert matches(index, plan)
    check_copy(tmp_path / "copy", plan)
    shutil.rmtree(tmp_path / "index", ignore_errors=True)
    with Index.open(tmp_path / "copy") as copy:
        check_answers(copy, plan)


@pytest.mark.parametrize("on_disk", [True, False])
def test_empty_index_has_a_backup(tmp_path: Path, on_disk: bool) -> None:
    with Index.create(tmp_path / "index" if on_disk else None, **OPTIONS) as index:
        assert index.backup(tmp_path / "copy").documents == 0
    check_copy(tmp_path / "copy", Plan.begin(1))


def test_backup_of_a_writer_that_was_killed_has_what_its_log_has(tmp_path: Path) -> None:
    path = tmp_path / "index"
    Index.create(path, **OPTIONS).close()
    process = start("writer", path, 3, 0)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(12)]
    process.kill()
    rest = process.stdout.read()
    process.communicate()
    done = [int(word) for word in ("".join(told[1:]) + rest).split("\n")[:-1]][-1]
    assert (path / "index.sqlite-wal").stat().st_size > 0
    with Index.open(path, read_only=True) as index:
        index.backup(tmp_path / "copy")
    assert moment_of(tmp_path / "copy", 3, done, done + 1)


def moment_of(target: Path, seed: int, first: int, last: int) -> int:
    """After which batch a copy was made; it must be one from ``first`` to ``last``."""
    with Index.open(target, read_only=True) as copy:
        told = copy.verify(repair=False)
        assert told.ok, told
        plan, ids = plan_of(seed, first), list(copy)
        while not (list(plan.documents) == ids and matches(copy, plan)):
            plan.step()
            assert plan.done <= last, f"of no batch from {first} to {last}"
    return plan.done


def test_backups_beside_a_thread_that_writes_are_each_of_one_moment(tmp_path: Path) -> None:
    """Segments are written, merged and removed all the time, as in an index a thousand times as large."""
    seed, stop, done = 5, threading.Event(), [0]
    with tiny(admit_at_once=1024), Index.create(tmp_path / "index", **OPTIONS) as index:

        def write() -> None:
            plan = Plan.begin(seed)
            while not stop.is_set():
                carry_out(index, plan.step())
                done[0] = plan.done

        writer = threading.Thread(target=write)
        writer.start()
        try:
            while done[0] < 5:
                time.sleep(0.01)
            for number in range(6):
                before = done[0]
                with (
                    Index.open(tmp_path / "index", read_only=True)
                    if number % 2
                    else contextlib.nullcontext(index) as of
                ):
                    of.backup(tmp_path / "copy", replace=number > 0)
                moment_of(tmp_path / "copy", seed, before, done[0] + 1)
        finally:
            stop.set()
            writer.join()
        assert index.verify().ok
    assert sorted(os.listdir(tmp_path)) == ["copy", "index"]


def test_backups_beside_a_process_that_writes_and_is_killed(tmp_path: Path) -> None:
    path, seed = tmp_path / "index", 6
    Index.create(path, **OPTIONS).close()
    process = start("writer", path, seed, 0)
    assert process.stdout is not None
    told: list[int] = []

    def read() -> None:
        assert process.stdout is not None
        told.extend(int(row) for row in process.stdout if row.endswith("\n") and row != "ready\n")

    reader = threading.Thread(target=read)
    reader.start()
    try:
        while len(told) < 3:
            time.sleep(0.01)
        for number in range(4):
            before = told[-1]
            if number == 3:
                threading.Timer(0.05, process.kill).start()
            run = neardup("index", "backup", path, tmp_path / "copy", "--replace", "--quiet")
            assert run.returncode == 0, run.stderr
            # of one moment since then; how far the writer was is not known here, as its words may come late
            moment_of(tmp_path / "copy", seed, before, before + 1000)
    finally:
        process.kill()
        reader.join()
        process.communicate()


def test_segment_that_is_merged_away_meanwhile_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment between the list of segments and their opening, made long."""
    with monkeypatch.context() as patched:
        patched.setattr(upkeep, "_group", lambda view, removed: ())  # else they may be merged before
        index, plan = made(tmp_path / "index")
    plain, looks = backup._opened, []

    def late(core: Any, reading: Any, stack: Any) -> Any:
        if not looks:
            assert reading.segments()  # the transaction begins with what it reads first
            index.compact()
        looks.append(1)
        return plain(core, reading, stack)

    monkeypatch.setattr(backup, "_opened", late)
    with index:
        assert len(index._core.views.current.segments) > 1
        index.backup(tmp_path / "copy")
    assert len(looks) == 2
    check_copy(tmp_path / "copy", plan)


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped", "empty"])
def test_segment_that_is_damaged_is_made_again_in_the_copy(tmp_path: Path, damage: str) -> None:
    index, plan = made(tmp_path / "index")
    index.compact()
    index.close()
    (segment,) = (tmp_path / "index" / "segments").iterdir()
    data = segment.read_bytes()
    changed = {"cut": data[: len(data) // 2], "flipped": data[:-5] + bytes([data[-5] ^ 1]) + data[-4:], "empty": b""}
    segment.unlink() if damage == "missing" else segment.write_bytes(changed[damage])
    with Index.open(tmp_path / "index", read_only=True) as index:
        index.backup(tmp_path / "copy")
    check_copy(tmp_path / "copy", plan)


def test_damaged_document_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    index, plan = made(tmp_path / "index")
    index.close()
    name = next(iter(plan.documents))
    with closing(sqlite3.connect(tmp_path / "index" / "index.sqlite")) as connection:
        connection.execute("UPDATE doc SET text = ? WHERE id = ?", (b"another text", name))
        connection.commit()
    with Index.open(tmp_path / "index", read_only=True) as index, pytest.raises(FormatError, match=name):
        index.backup(tmp_path / "copy")
    assert os.listdir(tmp_path) == ["index"]


def _names(folder: Path) -> list[str]:
    """All files and folders, but for the segments of the two indexes, which their upkeep may merge at any time."""
    busy = {folder / "index" / "segments", folder / "other" / "segments"}
    return sorted(str(path) for path in folder.rglob("*") if path.parent not in busy)


def test_what_is_there_is_not_replaced_unasked_nor_what_is_no_index(tmp_path: Path) -> None:
    index, plan = made(tmp_path / "index", batches=3)
    other, _ = made(tmp_path / "other", seed=9, batches=3)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "precious.txt").write_text("precious")
    (tmp_path / "file").write_text("precious")
    (tmp_path / "dangling").symlink_to("nowhere")
    mixed = tmp_path / "mixed"
    other.backup(mixed)
    (mixed / "notes.txt").write_text("precious")
    before = _names(tmp_path)
    with index, other:
        for name, replace in [("folder", True), ("file", True), ("dangling", True), ("mixed", True), ("folder", False),
                              ("file", False), ("mixed", False), ("dangling", False)]:  # fmt: skip
            with pytest.raises(OutputError, match=name):
                index.backup(tmp_path / name, replace=replace)
        with pytest.raises(IndexLocked):
            index.backup(tmp_path / "other", replace=True)
        for inside in (tmp_path / "index", tmp_path / "index" / "segments" / "x", tmp_path / "file" / ".." / "index"):
            with pytest.raises(InputError, match="itself, or inside"):
                index.backup(inside, replace=True)
        with pytest.raises(OutputError, match="nowhere"):
            index.backup(tmp_path / "nowhere" / "copy")
        assert _names(tmp_path) == before
        (tmp_path / "link").symlink_to("old")
        index.backup(tmp_path / "old")
        index.backup(tmp_path / "link", replace=True)
    assert (tmp_path / "link").is_symlink()
    check_copy(tmp_path / "old", plan)


def test_reader_of_a_backup_that_is_replaced_reads_on(tmp_path: Path) -> None:
    index, plan = made(tmp_path / "index", batches=10)
    with index, tiny():
        index.backup(tmp_path / "copy")
        with Index.open(tmp_path / "copy", read_only=True) as reader:
            earlier = plan.copy()
            for _ in range(5):
                carry_out(index, plan.step())
            index.backup(tmp_path / "copy", replace=True)
            assert matches(reader, earlier)
    check_copy(tmp_path / "copy", plan)


@pytest.mark.parametrize("pattern", ["index.sqlite", "segments/*"])
@pytest.mark.parametrize("share", [0.5, 0.99])
def test_full_disk_leaves_nothing_and_says_so(tmp_path: Path, pattern: str, share: float) -> None:
    """No file may grow past a limit, which is met by the database or by a segment."""
    index, plan = made(tmp_path / "index")
    index.compact()
    index.close()
    (file,) = (tmp_path / "index").glob(pattern)
    limit = int(share * file.stat().st_size)
    assert limit > 1 << 15  # what SQLite needs to read at all
    run = subprocess.run(
        line("index", "backup", tmp_path / "index", tmp_path / "copy", "--quiet"),
        capture_output=True, timeout=LIMIT, check=False, env={**environment(), "NUMBA_CACHE_DIR": ""},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    told = run.stderr.decode()
    assert run.returncode == 1, told
    assert "Traceback" not in told
    assert "cannot" in told
    assert str(tmp_path / "copy") in told
    assert os.listdir(tmp_path) == ["index"]
    with Index.open(tmp_path / "index") as index:
        assert matches(index, plan)
        index.backup(tmp_path / "copy")
    check_copy(tmp_path / "copy", plan)


@pytest.mark.parametrize("at", ["_copy_segment", "_copy_database", "_check"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
def test_backup_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, error: BaseException
) -> None:
    index, plan = made(tmp_path / "index", batches=10)
    with index:
        index.compact()
        index.backup(tmp_path / "copy")

        def fail(*args: Any) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(backup, at, fail)
            with pytest.raises((OutputError, KeyboardInterrupt, MemoryError)):
                index.backup(tmp_path / "copy", replace=True)
            with pytest.raises((OutputError, KeyboardInterrupt, MemoryError)):
                index.backup(tmp_path / "another")
        assert sorted(os.listdir(tmp_path)) == ["copy", "index"]
    check_copy(tmp_path / "copy", plan)


def test_command_that_is_killed_leaves_nothing_that_opens(tmp_path: Path) -> None:
    """Killed while documents are checked and copied; the next one removes what was left."""
    with Index.create(tmp_path / "index", **OPTIONS) as index:
        index.add([f"d{i}" for i in range(3000)], [f"{i} text " * 200 for i in range(3000)])
    for wait in (0.0, 0.02, 0.05, 0.1, 0.2):
        run = subprocess.Popen(
            line("index", "backup", tmp_path / "index", tmp_path / "copy", "--quiet"), env=environment()
        )
        while run.poll() is None and len(os.listdir(tmp_path)) == 1:
            time.sleep(0.001)
        time.sleep(wait)
        run.send_signal(signal.SIGKILL)
        run.wait()
        for name in os.listdir(tmp_path):
            if name.startswith(".") and (tmp_path / name / "index.sqlite").exists():
                with Index.open(tmp_path / name, read_only=True) as whole:
                    assert len(whole) == 3000
        if (tmp_path / "copy").exists():
            break
    assert neardup("index", "backup", tmp_path / "index", tmp_path / "copy", "--replace", "--quiet").returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["copy", "index"]
    with Index.open(tmp_path / "copy") as copy:
        assert len(copy) == 3000
        assert copy.verify().ok


def test_backup_of_what_a_service_writes(tmp_path: Path) -> None:
    Index.create(tmp_path / "index", **OPTIONS).close()
    service = run_service(tmp_path / "index")
    acknowledged, stop = [0], threading.Event()

    def post() -> None:
        with httpx2.Client(base_url=service.url, timeout=600) as client:
            while not stop.is_set():
                number = acknowledged[0]
                answer = client.post("/documents", json={"id": str(number), "text": f"the text of {number}"})
                assert answer.status_code == 201
                acknowledged[0] += 1

    writer = threading.Thread(target=post)
    writer.start()
    try:
        for _ in range(4):
            before = acknowledged[0]
            with Index.open(tmp_path / "index", read_only=True) as index:
                index.backup(tmp_path / "copy", replace=True)
            after = acknowledged[0] + 1
            with Index.open(tmp_path / "copy", read_only=True) as copy:
                count = len(copy)
                assert before <= count <= after
                assert list(copy) == [str(number) for number in range(count)]
                assert copy.verify(repair=False).ok
    finally:
        stop.set()
        writer.join()
        service.terminate()
        service.wait()
        service.kill()


def test_command_tells_what_it_made(tmp_path: Path) -> None:
    index, plan = made(tmp_path / "index", batches=5)
    index.close()
    run: Callable[..., Any] = CliRunner().invoke
    told = run(main, ["index", "backup", str(tmp_path / "index"), str(tmp_path / "copy"), "--json", "--quiet"])
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    assert (found["documents"], found["path"]) == (len(plan.documents), str(tmp_path / "copy"))
    assert set(found["bytes"]) >= {"LOCK", "index.sqlite"}
    again = run(main, ["index", "backup", str(tmp_path / "index"), str(tmp_path / "copy")])
    assert (again.exit_code, "--replace" in again.stderr) == (1, True)
    again = run(main, ["index", "backup", str(tmp_path / "index"), str(tmp_path / "copy"), "--replace"])
    assert again.exit_code == 0
    assert f"{len(plan.documents):,} documents, as of change" in again.stderr
    assert run(main, ["index", "backup", str(tmp_path / "absent"), str(tmp_path / "x")]).exit_code == 1
