"""What an index must be to be opened: format, spec, files; and what a full disk leaves of it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.adversarial.command import LIMIT
from tests.adversarial.test_interruptions import tiny_disk
from tests.index.crashing import check_answers, check_files, matches, start
from tests.index.tiny import tiny
from tests.index.workload import OPTIONS, Plan, carry_out, members

from neardup import FormatError, Index, IndexNotFound, InputError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed index with one group, in a segment."""
    path = tmp_path / "index"
    with Index.create(path, **OPTIONS) as index:
        documents = members(0, 0)
        index.add(list(documents), list(documents.values()))
        index.compact()
    return path


def statement(path: Path, *sql: str) -> None:
    """Change the database behind the index's back."""
    with closing(sqlite3.connect(path / "index.sqlite")) as connection:
        for one in sql:
            connection.execute(one)
        connection.commit()


@pytest.mark.parametrize("read_only", [True, False])
def test_a_later_format_is_named_with_its_number(path: Path, read_only: bool) -> None:
    statement(path, "PRAGMA user_version = 77")
    before = (path / "index.sqlite").read_bytes()
    with pytest.raises(FormatError, match=r"index\.sqlite.*77"):
        Index.open(path, read_only=read_only)
    assert (path / "index.sqlite").read_bytes() == before
    assert {"LOCK", "index.sqlite", "segments"} == {
        name for name in os.listdir(path) if name[-4:] not in ("-wal", "-shm")
    }


@pytest.mark.parametrize("read_only", [True, False])
def test_a_database_of_something_else_is_refused_and_left_alone(path: Path, read_only: bool) -> None:
    other = path.with_name("other")
    other.mkdir()
    statement(other, "CREATE TABLE precious (x)", "INSERT INTO precious VALUES (1)")
    before = (other / "index.sqlite").read_bytes()
    with pytest.raises(FormatError, match=r"index\.sqlite"):
        Index.open(other, read_only=read_only)
    assert (other / "index.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        {"threshold": 0.6},
        {"seed": 7},
        {"shingle": "char:6"},
        {"bands": "64x1"},
        {"version": 99},
        {"threshold": "high"},
        {"extra": 1},
    ],
)
def test_a_spec_that_was_changed_is_refused(path: Path, change: dict[str, object]) -> None:
    with closing(sqlite3.connect(path / "index.sqlite")) as connection:
        spec = json.loads(connection.execute("SELECT value FROM meta WHERE name = 'spec'").fetchone()[0])
        connection.execute("UPDATE meta SET value = ? WHERE name = 'spec'", [json.dumps({**spec, **change})])
        connection.commit()
    with pytest.raises(FormatError, match=r"index\.sqlite.*spec"):
        Index.open(path)


def test_a_document_that_was_changed_behind_its_back_is_named(path: Path) -> None:
    statement(path, "UPDATE doc SET text = CAST('something else' AS BLOB) WHERE id = 'g0:3'")
    with Index.open(path) as index:
        with pytest.raises(FormatError, match=r"index\.sqlite.*g0:3"):
            index.get("g0:3")
        told = index.verify()
        assert not told.ok
        assert any("g0:3" in fault for fault in told.faults)
        index.add("g0:3", members(0, 0)["g0:3"], on_duplicate="replace")
        assert index.verify().ok
        assert len(index.query(members(0, 0)["g0:0"], top=None)) == 12


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM doc WHERE id = 'g0:3'",
        "DELETE FROM segment",
        "DELETE FROM state",
        "DELETE FROM meta",
        "UPDATE doc SET id = 'other' WHERE id = 'g0:3'",
        "UPDATE doc SET number = 99 WHERE id = 'g0:3'",
        "UPDATE doc SET kind = kind + 1 WHERE id = 'g0:3'",
        "UPDATE doc SET kind = NULL, sum = 'x' WHERE id = 'g0:3'",
        "UPDATE doc SET text = 5 WHERE id = 'g0:3'",
        "UPDATE state SET documents = documents + 1",
        "UPDATE state SET documents = 'many'",
        "UPDATE state SET next = next - 5",
        "UPDATE segment SET span = span - 1",
        "UPDATE segment SET name = '../../etc/passwd'",
        "UPDATE segment SET name = x'00ff'",
        "DROP TABLE removed",
    ],
)
def test_a_row_that_was_changed_behind_its_back_is_named_or_mended(path: Path, sql: str) -> None:
    try:
        statement(path, sql)
    except sqlite3.IntegrityError:
        return  # the schema does not allow it
    for read_only in (True, False):
        try:
            with Index.open(path, read_only=read_only) as index:
                list(index)
                hits = index.query(members(0, 0)["g0:0"], top=None)
                told = index.verify(repair=False)
                if told.ok:
                    assert len(hits) == 12
                else:
                    assert any("index.sqlite" in fault or "segments/" in fault for fault in told.faults)
        except FormatError as exc:
            assert "index.sqlite" in str(exc)  # noqa: PT017


def test_a_lock_file_that_is_missing_or_damaged_is_no_obstacle_or_is_named(path: Path) -> None:
    content = (path / "LOCK").read_bytes()
    for change in (b"", b"x", b"\xff" * len(content), b"x" * 100):
        (path / "LOCK").write_bytes(change)
        with Index.open(path, read_only=True) as index:
            assert len(index) == 12
        with Index.open(path) as index:
            assert len(index.query(members(0, 0)["g0:0"], top=None)) == 12
            index.add("new", "a new text")
            index.remove("new")
    (path / "LOCK").unlink()
    with Index.open(path) as index:
        assert len(index) == 12


def test_strange_files_in_the_folder_are_left_alone(path: Path) -> None:
    for name in ("notes.txt", "segments/notes.txt", ".hidden"):
        (path / name).write_text("mine")
    with Index.open(path) as index:
        index.add("new", "a text")
        index.compact()
        assert index.verify().ok
    for name in ("notes.txt", "segments/notes.txt", ".hidden"):
        assert (path / name).read_text() == "mine"


def test_leftovers_of_a_killed_process_go_when_the_index_is_opened_for_writing(path: Path) -> None:
    left = path / "segments" / "000000000099-000000000100-0badcafe.bands"
    left.write_bytes(b"left over")
    (path / "segments" / f"{left.name}.part").write_bytes(b"half")
    with Index.open(path, read_only=True):
        assert left.exists()
    with Index.open(path) as index:
        check_files(path, index)
        assert not left.exists()


def test_a_link_to_an_index_is_the_index(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path, target_is_directory=True)
    with Index.open(link) as index:
        assert len(index) == 12
        with pytest.raises(Exception, match="writ"):
            Index.open(path)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(IndexNotFound):
        Index.open(dangling)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1.5 MB."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root may mount a tiny disk")
    with tiny_disk(tmp_path / "disk") as folder:
        subprocess.run(["mount", "-o", "remount,size=1500k", str(folder)], check=True)
        yield folder


def test_a_full_disk_is_told_and_loses_nothing(disk: Path, tmp_path: Path) -> None:
    path = disk / "index"
    Index.create(path, **OPTIONS).close()
    process = start("filler", path, 41)
    out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    done, kind = out.split()
    assert kind in ("OutputError",), out
    plan = Plan.begin(41)
    while plan.done < int(done):
        plan.step()
    saved = tmp_path / "saved"
    shutil.copytree(path, saved)
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    for place in (path, saved):
        with tiny(), Index.open(place) as index:
            assert matches(index, plan)
            check_answers(index, plan)
            assert index.verify().ok
            check_files(place, index)
            carry_out(index, plan.copy().step())


def test_a_full_disk_stops_a_build_and_leaves_nothing(disk: Path) -> None:
    documents = {f"d{i}": f"a text of some length, number {i * 7919}, " * 4 for i in range(20_000)}
    with pytest.raises(Exception, match=r"cannot (write|make)") as caught:
        Index.build(disk / "index", documents)
    assert isinstance(caught.value, OSError)
    assert os.listdir(disk) == []


def test_reading_only_is_said_before_anything_is_read(path: Path) -> None:
    with Index.open(path, read_only=True) as index, pytest.raises(InputError, match="reading only"):
        index.add(path / "no-such-file.jsonl")
