"""One writer, any number of readers: who may open what, what they see, and what nobody may notice."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.adversarial.command import LIMIT
from tests.index.crashing import start
from tests.index.tiny import tiny
from tests.index.workload import GROUPS, OPTIONS, Plan, base, carry_out, members, version_seen

from neardup import Index, IndexLocked, IndexNotFound, InputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed index with one group."""
    path = tmp_path / "index"
    with Index.create(path, **OPTIONS) as index:
        documents = members(0, 0)
        index.add(list(documents), list(documents.values()))
    return path


def test_a_second_writer_is_refused_and_told_why(path: Path) -> None:
    with Index.open(path), pytest.raises(IndexLocked, match=r"index.*(open|writ)") as caught:
        Index.open(path)
    assert str(path) in str(caught.value)
    with Index.open(path) as index:
        assert len(index) == 12


def test_a_second_writer_in_another_process_is_refused_while_readers_read(path: Path) -> None:
    with Index.open(path) as index, Index.open(path, read_only=True) as reader:
        process = start("writer", path, 1, 0)
        _, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 1
        assert "IndexLocked" in err
        assert str(path) in err.splitlines()[-1]
        index.add("another", "a text of its own")
        assert "another" in reader


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_writer_that_was_killed_holds_no_lock(path: Path) -> None:
    process = start("writer", path.with_name("other"), 1, 0)
    process.communicate(timeout=LIMIT)
    assert process.returncode != 0, "there is no index"
    with Index.create(path.with_name("other"), **OPTIONS):
        pass
    process = start("writer", path.with_name("other"), 1, 0)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(IndexLocked):
        Index.open(path.with_name("other"))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=LIMIT)
    Index.open(path.with_name("other")).close()


def test_a_reader_sees_each_batch_as_soon_as_it_is_acknowledged(path: Path) -> None:
    plan = Plan.begin(3)
    where = path.with_name("second")
    with tiny(), Index.create(where, **OPTIONS) as index, Index.open(where, read_only=True) as reader:
        for change in plan.changes():
            carry_out(index, change)
            assert list(reader) == list(plan.documents)
            answers = reader.query([base(group) for group in range(GROUPS)], top=None)
            assert [version_seen(group, hits) for group, hits in enumerate(answers)] == [
                plan.versions.get(group) for group in range(GROUPS)
            ]
            if plan.done == 70:
                break
        assert len(reader.pairs()) == len(index.pairs()) > 0


def test_a_reader_changes_no_file(path: Path) -> None:
    def contents() -> dict[str, bytes]:
        return {
            str(file.relative_to(path)): file.read_bytes()
            for file in path.rglob("*")
            if file.is_file() and not file.name.endswith(("-wal", "-shm"))
        }

    before = contents()
    with Index.open(path, read_only=True) as index:
        assert index.read_only
        assert index.query(base(0))
        for change in (
            lambda: index.add("x", "text"),
            lambda: index.add_each(["x"], ["text"]),
            lambda: index.add_if_new("x", "text"),
            lambda: index.remove("g0:0"),
            lambda: index.compact(),
            lambda: index.merge(path),
        ):
            with pytest.raises(InputError, match="reading only"):
                change()
        assert index.verify(repair=False).ok
    assert contents() == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="to give up rights one needs them")
def test_an_index_in_a_folder_that_may_not_be_written_can_be_read(path: Path) -> None:
    process = start("powerless", path)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    assert out.splitlines() == ["12", "12", "IndexLocked or OutputError"]


def test_readers_in_threads_and_a_long_read_do_not_stop_the_writer(path: Path) -> None:
    """A reader in the middle of ``iter`` keeps its moment; batches and segments go on."""
    with tiny(), Index.open(path) as index, Index.open(path, read_only=True) as reader:
        slow = iter(reader)
        assert next(slow) == "g0:0"
        plan = Plan.begin(9)
        plan.versions[0], plan.documents = 0, members(0, 0)
        over = threading.Event()

        def look(seed: int) -> int:
            seen = 0
            while not over.is_set():
                seen += version_seen(seed, reader.query(base(seed), top=None)) is not None
            return seen

        with ThreadPoolExecutor(3) as pool:
            looking = [pool.submit(look, seed) for seed in range(3)]
            try:
                while plan.done < 60:
                    carry_out(index, plan.step())
            finally:
                over.set()
            assert all(future.result(LIMIT) >= 0 for future in looking)
        rest = list(slow)
        assert rest == [f"g0:{i}" for i in range(1, 12)] or len(rest) == len(set(rest))
        assert list(reader) == list(plan.documents)


def test_a_database_kept_by_another_program_for_a_while_is_waited_for(path: Path) -> None:
    with Index.open(path) as index:
        other = sqlite3.connect(path / "index.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            adding = pool.submit(index.add, "late", "a text that comes late")
            assert index.query(base(0), top=None)
            threading.Event().wait(0.3)
            assert not adding.done()
            other.execute("ROLLBACK")
            other.close()
            assert adding.result(LIMIT).added == 1
        assert "late" in index


def test_an_index_moves_with_its_folder(path: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere" / "ïndex ?#%20"
    moved.parent.mkdir()
    shutil.move(path, moved)
    with Index.open(moved) as index:
        assert len(index.query(base(0), top=None)) == 12
        index.add("new", "text")
    with Index.open(moved, read_only=True) as index:
        assert "new" in index
    with pytest.raises(IndexNotFound, match="index"):
        Index.open(path)
    assert not path.exists()
