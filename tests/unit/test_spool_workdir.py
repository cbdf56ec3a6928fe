"""A run that was killed goes on from its last checkpoint, or is told why it cannot."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests import warm

from neardup.errors import SpoolError
from neardup.spool import FileColumn, Sorter, Workdir, free_bytes, machine
from neardup.spool import files as spool_files
from neardup.types import Documents

IDENTITY = {"spec_id": "abc", "version": "1.2", "inputs": [{"path": "a.jsonl", "size": 10}], "t": 0.8}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work"


def _work(path: Path) -> Workdir:
    """A workdir with a column of 1,000 numbers, three texts and a run of a sorter, as of a checkpoint."""
    workdir = Workdir.create(path, IDENTITY)
    workdir.column("numbers", np.int64).append(np.arange(1000))
    workdir.texts("texts").append(Documents.from_bytes([b"one", b"two", b"three"]))
    sorter = Sorter("keys", payload=np.float64, budget=1, workdir=workdir)
    sorter.add(np.array([3, 1, 2], np.uint64), np.array([0.3, 0.1, 0.2]))
    sorter.flush()
    workdir.checkpoint(stage="read", done=3)
    return workdir


def _spool_names(path: Path) -> set[str]:
    return {each.name for each in path.iterdir() if each.suffix == ".spool"}


# Going on


def test_a_closed_workdir_is_reopened_as_it_was(path):
    _work(path).close()
    workdir = Workdir.reopen(path, IDENTITY)
    assert workdir.state == {"stage": "read", "done": 3}
    assert workdir.names() == ["keys.000.data", "keys.000.keys", "numbers", "texts.bytes", "texts.ends"]
    np.testing.assert_array_equal(workdir.column("numbers", np.int64).slice(0, 2000), np.arange(1000))
    ((documents, local, _),) = workdir.texts("texts").parts(np.array([0, 2]))
    assert [documents.blob(i) for i in local] == [b"one", b"three"]
    ((keys, data),) = Sorter("keys", payload=np.float64, budget=1, workdir=workdir).merged(10, False)
    assert keys.tolist() == [1, 2, 3]
    assert data.tolist() == [0.1, 0.2, 0.3]
    workdir.remove()


KILLED = """
import os, signal, sys
import numpy as np
from neardup.spool import Workdir
workdir = Workdir.create(sys.argv[1], {"spec_id": "s"})
column, texts = workdir.column("c", np.int64), workdir.column("gone", np.uint8)
column.append(np.arange(100_000))
workdir.checkpoint(rows=100_000)
column.append(np.arange(100_000, 300_000))
workdir.column("later", np.int64).append(np.arange(300_000))
workdir.delete("gone")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_wrote_after_its_checkpoint_is_cut_off(path):
    done = warm.run(["-c", KILLED, str(path)])
    assert done.returncode == -signal.SIGKILL
    assert (path / "c.spool").stat().st_size == 4096 + 8 * 300_000
    with pytest.raises(SpoolError, match=r"interrupted run\. Go on with --resume \(resume=True\), or delete it\."):
        Workdir.create(path, {"spec_id": "s"})

    workdir = Workdir.reopen(path, {"spec_id": "s"})
    assert workdir.names() == ["c", "gone"]
    assert _spool_names(path) == {"c.spool", "gone.spool"}
    column = workdir.column("c", np.int64)
    assert len(column) == workdir.state["rows"] == 100_000
    assert (path / "c.spool").stat().st_size == 4096 + 8 * 100_000
    column.append(np.arange(100_000, 100_010))
    workdir.checkpoint(rows=100_010)
    workdir.close()
    column = Workdir.reopen(path, {"spec_id": "s"}).column("c", np.int64)
    np.testing.assert_array_equal(column.slice(0, 200_000), np.arange(100_010))


def test_a_run_killed_before_its_first_checkpoint_leaves_a_folder_that_can_be_used(path):
    path.mkdir()
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True, text=True
    )
    (path / "neardup.lock").write_text(f"{gone.stdout.strip()} 1\n")
    (path / "half.spool").write_bytes(b"NEARDUP\0")
    (path / "neardup.manifest.part").write_bytes(b"neardup workdir")
    with pytest.raises(SpoolError, match="nothing to resume"):
        Workdir.reopen(path, IDENTITY)
    workdir = Workdir.create(path, IDENTITY)
    assert _spool_names(path) == set()
    workdir.remove()
    assert not path.exists()


@pytest.mark.parametrize("kind", ["absent", "empty", "file"])
def test_nothing_to_resume_is_said_and_nothing_is_made(path, kind):
    if kind == "empty":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine")
    with pytest.raises(SpoolError, match=r"nothing to resume at .*work: .*Run without --resume \(resume=False\)\."):
        Workdir.reopen(path, IDENTITY)
    assert path.exists() == (kind != "absent")
    assert kind != "empty" or list(path.iterdir()) == []


def test_state_is_the_same_before_and_after(path):
    workdir = Workdir.create(path, IDENTITY)
    workdir.checkpoint(pair=(1, 2), names={"a": None})
    assert workdir.state == {"pair": [1, 2], "names": {"a": None}}
    workdir.state["pair"] = [5]
    workdir.checkpoint(more=1)
    before = workdir.state
    workdir.close()
    assert Workdir.reopen(path, IDENTITY).state == before == {"pair": [5], "names": {"a": None}, "more": 1}


# Whose work it is


def test_each_difference_of_what_the_work_was_made_from_is_named(path):
    _work(path).close()
    other = {"spec_id": "abc", "version": "1.3", "inputs": [{"path": "a.jsonl", "size": 11}, {"path": "b"}], "k": 9}
    with pytest.raises(SpoolError) as caught:
        Workdir.reopen(path, other)
    message = str(caught.value)
    for fact in (
        'version is "1.3" and was "1.2"',
        "inputs[0].size is 11 and was 10",
        'inputs[1] is {"path": "b"} and was absent',
        "t is absent and was 0.8",
        "k is 9 and was absent",
        f"delete {path} and start again",
    ):
        assert fact in message
    assert "spec_id" not in message
    assert "inputs[0].path" not in message
    Workdir.reopen(path, IDENTITY).remove()  # a refusal harms nothing


@pytest.mark.parametrize(("then", "now"), [(1, True), (1, 1.0), (0, False), (1, "1"), (None, 0)])
def test_values_of_another_type_are_another_value(path, then, now):
    Workdir.create(path, {"spec_id": "s", "limit": then}).close()
    with pytest.raises(SpoolError, match="limit is "):
        Workdir.reopen(path, {"spec_id": "s", "limit": now})


def test_many_differences_are_counted(path):
    Workdir.create(path, {"files": list(range(100))}).close()
    with pytest.raises(SpoolError, match=r"files\[9\] is 10 and was 9 and 90 more\."):
        Workdir.reopen(path, {"files": list(range(1, 101))})


def test_a_folder_with_other_files_is_refused_and_left_alone(path):
    path.mkdir()
    (path / "thesis.txt").write_text("years of work")
    with pytest.raises(SpoolError, match=r"holds other files\. Name an empty or a new folder"):
        Workdir.create(path, IDENTITY)
    assert [each.name for each in path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    "name", ["mail.spool", "neardup.lock.txt", "neardup.lock", "neardup.lock.0a1b2c3d", "neardup.manifest.part"]
)
def test_a_file_of_somebody_else_that_is_named_like_ours_is_refused_and_left_alone(path, name):
    path.mkdir()
    (path / name).write_text("years of work")
    with pytest.raises(SpoolError, match=r"holds other files\. Name an empty or a new folder"):
        Workdir.create(path, IDENTITY)
    assert (path / name).read_text() == "years of work"


def test_a_pipe_or_a_folder_named_like_a_spool_file_is_refused(path):
    path.mkdir()
    (path / "a.spool").mkdir()
    with pytest.raises(SpoolError, match="holds other files"):
        Workdir.create(path, IDENTITY)
    (path / "a.spool").rmdir()
    os.mkfifo(path / "a.spool")
    with pytest.raises(SpoolError, match="holds other files"):
        Workdir.create(path, IDENTITY)


def test_a_file_that_came_into_the_folder_later_outlives_the_run(path):
    workdir = Workdir.create(path, IDENTITY)
    workdir.column("mine", np.uint8).append(np.arange(3, dtype=np.uint8))
    workdir.checkpoint()
    workdir.close()
    (path / "mail.spool").write_text("years of work")
    (path / "torn.spool").write_bytes(b"")  # as a kill between making a file and writing its header leaves it
    workdir = Workdir.reopen(path, IDENTITY)
    assert not (path / "torn.spool").exists()
    workdir.remove()
    assert [each.name for each in path.iterdir()] == ["mail.spool"]


def test_a_folder_that_somebody_deleted_is_removed_without_an_error(path):
    workdir = Workdir.create(path, IDENTITY)
    shutil.rmtree(path)
    workdir.remove()
    assert not path.exists()


def test_a_file_in_place_of_the_folder_and_a_missing_parent_are_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(SpoolError, match=r"file is a file\. Name a folder"):
        Workdir.create(tmp_path / "file", IDENTITY)
    with pytest.raises(SpoolError, match=r"No such file or directory\. Make the folder first"):
        Workdir.create(tmp_path / "no" / "work", IDENTITY)


def test_two_runs_do_not_share_a_folder(path):
    first = Workdir.create(path, IDENTITY)
    for take in (Workdir.create, Workdir.reopen):
        with pytest.raises(SpoolError, match=rf"in use by another run \(process {os.getpid()}\)"):
            take(path, IDENTITY)
    first.close()
    first.close()
    second = Workdir.reopen(path, IDENTITY)
    first.close()  # gives back nothing that is no longer its own
    with pytest.raises(SpoolError, match="in use"):
        Workdir.reopen(path, IDENTITY)
    second.remove()


def test_the_lock_of_a_living_process_holds_and_of_one_that_is_gone_does_not(path):
    _work(path).close()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        (path / "neardup.lock").write_text(f"{child.pid} \n")
        with pytest.raises(SpoolError, match=rf"process {child.pid}\)"):
            Workdir.reopen(path, IDENTITY)
    finally:
        child.communicate(b"\n")
    workdir = Workdir.reopen(path, IDENTITY)
    assert (path / "neardup.lock").read_text().split()[0] == str(os.getpid())
    workdir.remove()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not tell when a process began")
def test_a_number_of_a_process_that_was_given_out_again_does_not_hold(path):
    _work(path).close()
    (path / "neardup.lock").write_text(f"{os.getppid()} 1\n")
    Workdir.reopen(path, IDENTITY).remove()
    assert not path.exists()


# Damage


@pytest.mark.parametrize("file", ["numbers", "texts.bytes", "texts.ends", "keys.000.keys", "keys.000.data"])
@pytest.mark.parametrize("place", ["magic", "version", "facts", "zeros", "first", "last"])
def test_one_changed_byte_is_found_and_its_file_named(path, file, place):
    _work(path).close()
    target = path / f"{file}.spool"
    blob = bytearray(target.read_bytes())
    at = {"magic": 0, "version": 8, "facts": 40, "zeros": 4000, "first": 4096, "last": len(blob) - 1}[place]
    blob[at] ^= 1
    target.write_bytes(blob)
    with pytest.raises(SpoolError, match=rf"{file}\.spool is damaged: .*Delete .*work and start again"):
        Workdir.reopen(path, IDENTITY)


@pytest.mark.parametrize("at", [3, 20, 30, -5])
def test_a_changed_byte_of_the_manifest_is_found(path, at):
    _work(path).close()
    blob = bytearray((path / "neardup.manifest").read_bytes())
    blob[at] ^= 1
    (path / "neardup.manifest").write_bytes(blob)
    with pytest.raises(SpoolError, match=r"neardup\.manifest is damaged"):
        Workdir.reopen(path, IDENTITY)


@pytest.mark.parametrize("size", [0, 100, 4096, 4096 + 8 * 999 + 7])
def test_a_file_that_was_cut_is_named(path, size):
    _work(path).close()
    os.truncate(path / "numbers.spool", size)
    with pytest.raises(SpoolError, match=r"numbers\.spool is damaged"):
        Workdir.reopen(path, IDENTITY)


def test_a_file_that_is_missing_or_another_one_is_named(path):
    _work(path).close()
    shutil.copy(path / "keys.000.keys.spool", path / "keys.000.data.spool")
    with pytest.raises(SpoolError, match=r"keys\.000\.data\.spool is damaged: its name is 'keys\.000\.keys'"):
        Workdir.reopen(path, IDENTITY)
    (path / "keys.000.data.spool").unlink()
    with pytest.raises(SpoolError, match=r"keys\.000\.data\.spool is damaged: it is missing"):
        Workdir.reopen(path, IDENTITY)


# Disk full


class _Disk:
    """Takes so many bytes more, the last write in part, then says that it is full."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.real = os.pwrite

    def pwrite(self, fd: int, data: memoryview, at: int) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = self.real(fd, memoryview(data)[: self.room], at)
        self.room -= done
        return done


def _append_thousands(column: FileColumn) -> None:
    for start in range(1000, 10**6, 1000):
        column.append(np.arange(start, start + 1000))


@pytest.mark.parametrize("room", [0, 1, 5000, 300_000])
def test_a_full_disk_is_told_and_the_last_checkpoint_stays(path, monkeypatch, room):
    workdir = _work(path)
    column = workdir.column("numbers", np.int64)
    with monkeypatch.context() as patched:
        patched.setattr(spool_files.os, "pwrite", _Disk(room).pwrite)
        with pytest.raises(SpoolError, match=r"numbers\.spool: No space left on device\. Free space, .*--resume"):
            _append_thousands(column)
    workdir.close()
    workdir = Workdir.reopen(path, IDENTITY)
    assert workdir.state["done"] == 3
    np.testing.assert_array_equal(workdir.column("numbers", np.int64).slice(0, 10**6), np.arange(1000))
    workdir.remove()


def test_after_room_was_made_the_same_column_goes_on(path, monkeypatch):
    workdir = _work(path)
    column = workdir.column("numbers", np.int64)
    with monkeypatch.context() as patched:
        patched.setattr(spool_files.os, "pwrite", _Disk(100_003).pwrite)
        with pytest.raises(SpoolError):
            column.append(np.zeros(50_000, np.int64))
    assert len(column) == 1000
    column.append(np.arange(1000, 90_000))
    workdir.checkpoint()
    workdir.close()
    column = Workdir.reopen(path, IDENTITY).column("numbers", np.int64)
    np.testing.assert_array_equal(column.slice(0, 10**6), np.arange(90_000))


@pytest.mark.parametrize("call", ["fsync", "pwrite"])
def test_a_checkpoint_that_fails_changes_nothing(path, monkeypatch, call):
    workdir = _work(path)
    workdir.column("numbers", np.int64).append(np.arange(5))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(spool_files.os, call, full)
        with pytest.raises(SpoolError, match="Free space"):
            workdir.checkpoint(done=4)
    assert workdir.state["done"] == 3
    workdir.close()
    workdir = Workdir.reopen(path, IDENTITY)
    assert workdir.state["done"] == 3
    assert len(workdir.column("numbers", np.int64)) == 1000
    workdir.remove()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not tell which file a number is")
def test_a_checkpoint_syncs_what_changed_then_the_manifest_then_the_folder(path, monkeypatch):
    workdir = _work(path)
    workdir.column("numbers", np.int64).append(np.arange(5))
    synced: list[str] = []
    real = os.fsync

    def told(fd: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{fd}")).name)
        real(fd)

    with monkeypatch.context() as patched:
        patched.setattr(spool_files.os, "fsync", told)
        workdir.checkpoint()
    assert synced == ["numbers.spool", "neardup.manifest.part", "work"]
    workdir.remove()


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_syncs_no_folder_is_passed_over_and_a_disk_that_fails_is_told(path, monkeypatch, number):
    def failing(code):
        def fsync(fd):
            raise OSError(code, "made up")

        return fsync

    path.mkdir()
    monkeypatch.setattr(machine.os, "fsync", failing(number))
    machine.sync_folder(path)
    monkeypatch.setattr(machine.os, "fsync", failing(errno.EIO))
    with pytest.raises(OSError, match="made up"):
        machine.sync_folder(path)


def test_a_process_of_another_birth_is_not_the_one_that_was_told():
    pid, born = machine.this_process()
    assert machine.is_running(pid, born)
    assert machine.is_running(int(pid))
    assert not machine.is_running(pid, "1") or not born  # where the system does not tell, any will do
    assert not machine.is_running(2**22 + 1, "")


# Files of a workdir


def test_a_deleted_column_that_a_checkpoint_lists_is_kept_until_the_next(path):
    workdir = _work(path)
    workdir.column("young", np.int64)
    workdir.delete("young")
    assert "young.spool" not in _spool_names(path)
    workdir.delete("numbers")
    assert "numbers.spool" in _spool_names(path)
    assert "numbers" not in workdir.names()
    again = workdir.column("numbers", np.uint8)
    again.append(np.array([7], np.uint8))
    shutil.copytree(path, path.with_name("copy"), ignore=shutil.ignore_patterns("neardup.lock"))
    workdir.checkpoint()
    assert "numbers.spool" not in _spool_names(path)
    assert again.slice(0, 9).tolist() == [7]
    workdir.close()
    assert Workdir.reopen(path, IDENTITY).column("numbers", np.uint8).slice(0, 9).tolist() == [7]
    # the copy is what a kill before that checkpoint would have left
    killed = Workdir.reopen(path.with_name("copy"), IDENTITY)
    assert killed.column("numbers", np.int64).slice(0, 3).tolist() == [0, 1, 2]


def test_texts_are_deleted_by_their_name(path):
    workdir = _work(path)
    workdir.delete("texts")
    assert workdir.names("texts") == []
    with pytest.raises(KeyError):
        workdir.delete("nothing")
    workdir.remove()


def test_a_column_asked_for_again_is_the_same_one(path):
    workdir = _work(path)
    column = workdir.column("numbers", np.int64)
    assert workdir.column("numbers", np.int64) is column
    with pytest.raises(ValueError, match="column numbers is 1 of <i8, not 2 of <i8"):
        workdir.column("numbers", np.int64, 2)
    with pytest.raises(ValueError, match="cannot be the name"):
        workdir.column("../up", np.int64)
    workdir.remove()


def test_bytes_on_disk_are_counted(path):
    workdir = _work(path)

    def there() -> int:
        return sum(each.stat().st_size for each in path.iterdir() if each.suffix == ".spool")

    assert workdir.used_bytes == there() == workdir.peak_bytes
    workdir.column("big", np.uint8).append(np.zeros(10**6, np.uint8))
    assert workdir.used_bytes == there() > 10**6
    peak = workdir.used_bytes
    workdir.delete("big")
    assert workdir.used_bytes == there() < 10**6
    assert workdir.peak_bytes == peak
    workdir.checkpoint()
    workdir.close()
    workdir = Workdir.reopen(path, IDENTITY)
    assert workdir.used_bytes == there()
    assert workdir.peak_bytes == peak
    workdir.remove()
    assert not path.exists()


def test_removing_leaves_what_others_put_there(path):
    workdir = _work(path)
    (path / "note.txt").write_text("mine")
    workdir.remove()
    assert [each.name for each in path.iterdir()] == ["note.txt"]


def test_every_file_says_what_it_is(path):
    workdir = _work(path)
    for file in path.glob("*.spool"):
        head = file.read_bytes()[:4096]
        assert head[:8] == b"NEARDUP\0"
        assert b'"spec_id": "abc"' in head
        assert f'"name": "{file.stem}"'.encode() in head
    workdir.remove()


def test_free_bytes_are_those_of_the_nearest_folder_that_is_there(tmp_path):
    there = shutil.disk_usage(tmp_path).free
    assert abs(free_bytes(tmp_path / "not" / "yet") - there) < 1 << 30


@pytest.mark.parametrize("format", [0, 1, 17])
def test_a_workdir_of_another_format_says_so_and_is_left_as_it_is(path: Path, format: int):
    _work(path).close()
    manifest = path / "neardup.manifest"
    older = manifest.read_bytes().replace(b"neardup workdir 2 ", b"neardup workdir %d " % format, 1)
    manifest.write_bytes(older)
    with pytest.raises(SpoolError, match=f"has format {format}; .* Resume with the version that began the run"):
        Workdir.reopen(path, IDENTITY)
    manifest.write_bytes(older.replace(b"1.2", b"1.3"))
    with pytest.raises(SpoolError, match="damaged: its checksum is wrong"):
        Workdir.reopen(path, IDENTITY)
