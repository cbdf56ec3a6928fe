"""What neardup needs of the system where there is no /proc, no ``resource`` and none of Unix's calls on files.

The tests run on Linux: ``like_windows`` takes away what Windows has not, and psutil, which is asked elsewhere, is asked
here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from tests import warm

from neardup.cli import targets
from neardup.inputs import addresses
from neardup.inputs.documents import child
from neardup.spool import machine, positions

ROOT = Path(__file__).parents[2]
psutil = pytest.importorskip("psutil")


@pytest.mark.skipif(sys.platform != "linux", reason="what is open is looked up in /proc")
def test_the_commands_do_without_what_windows_has_not(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("like_windows.py")), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "default"},
        capture_output=True,
        encoding="utf-8",
        timeout=warm.LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {line: ended for line, ended in found["commands"].items() if ended[0] != 0} == {}
    assert found["decoded"] == [], "a text file without a stated encoding is read as CP-1252 there"
    mapped = {Path(path).parent.name for path in found["refused"]}
    assert mapped <= {"segments"}, "removed while it was open"
    assert len(list((tmp_path / "seen.index" / "segments").iterdir())) == 1, "and not at the next opening either"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith((".part", ".neardup-work"))] == []
    assert not (tmp_path / "spooled").exists()
    for name in ("pairs.jsonl", "clean.csv", "hits.jsonl", "run.toml", "report/index.html"):
        written = (tmp_path / name).read_bytes()
        assert written.count(b"\n") > 1, name
        assert b"\r\n" not in written, name
    same = [(tmp_path / f"{name}.jsonl").read_bytes() for name in ("pairs", "memory", "again")]
    assert len(set(same)) == 1


@pytest.mark.parametrize("gone", [(), ("preadv",), ("preadv", "pread", "pwrite")], ids=["all", "no preadv", "none"])
def test_bytes_are_read_and_written_by_their_place_by_many_threads(
    gone: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in gone:
        monkeypatch.delattr(os, name)
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    blocks = {at: bytes([at % 251]) * 100 for at in range(0, 50_000, 100)}

    def read(at: int) -> bytes:
        into = memoryview(bytearray(100))
        assert positions.read_at(fd, into, at) == 100
        return bytes(into)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda at: positions.write_at(fd, memoryview(blocks[at]), at), blocks))
        assert dict(zip(blocks, pool.map(read, blocks), strict=True)) == blocks
    assert positions.read_at(fd, memoryview(bytearray(100)), 49_950) == 50
    assert positions.read_at(fd, memoryview(bytearray(100)), 50_000) == 0
    os.close(fd)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A system without /proc, where psutil is asked."""
    monkeypatch.setattr(machine, "_told", lambda path: "")
    monkeypatch.setattr(machine, "_psutil", lambda: psutil)
    return monkeypatch


def killed(*_: int) -> None:
    raise AssertionError("os.kill was called")


@pytest.fixture
def windows(elsewhere: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The same without ``resource``, where os.kill with 0 sends Ctrl-C."""
    elsewhere.setattr(machine, "_IS_WINDOWS", True)
    elsewhere.setattr(os, "kill", killed)
    elsewhere.setattr(psutil, "pid_exists", lambda pid: pid in psutil.pids())  # here it uses os.kill
    elsewhere.setitem(sys.modules, "resource", None)
    return elsewhere


@pytest.mark.usefixtures("elsewhere")
def test_memory_is_known_without_proc() -> None:
    plain = psutil.Process().memory_info().rss
    assert 0.5 * plain < machine.resident_memory() < 2 * plain
    assert 0 < machine.available_memory() <= psutil.virtual_memory().total


def test_the_peak_is_known_on_windows(windows: pytest.MonkeyPatch) -> None:
    asked = SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=5, vms=7, peak_wset=9))
    windows.setattr(machine, "_psutil", lambda: SimpleNamespace(Process=lambda: asked))
    assert (machine.resident_memory(), machine.peak_memory()) == (5, 9)


@pytest.mark.parametrize("system", ["elsewhere", "windows"])
def test_a_process_is_known_by_its_number_and_birth(system: str, request: pytest.FixtureRequest) -> None:
    request.getfixturevalue(system)
    pid, born = machine.this_process()
    assert born.isdigit()
    assert machine.is_running(pid, born)
    assert machine.is_running(pid)
    assert not machine.is_running(pid, str(int(born) - 1000)), "another process had this number"


@pytest.mark.usefixtures("windows")
def test_a_process_that_has_ended_is_known_on_windows() -> None:
    ended = subprocess.Popen([sys.executable, "-S", "-c", ""])
    ended.wait()
    assert not machine.is_running(ended.pid)


def test_without_psutil_work_on_windows_is_never_taken_for_left_behind(windows: pytest.MonkeyPatch) -> None:
    windows.setattr(machine, "_psutil", lambda: None)
    assert machine.is_running(2**22 + 1)
    assert machine.peak_memory() == 0


def test_without_psutil_memory_is_half_of_what_the_machine_has(elsewhere: pytest.MonkeyPatch) -> None:
    elsewhere.setattr(machine, "_psutil", lambda: None)
    elsewhere.setattr(machine, "_address_space", list)
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    assert machine.available_memory() == half
    elsewhere.delattr(os, "sysconf")
    assert machine.available_memory() == 4 << 30


def test_psutil_is_not_asked_on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.sys, "platform", "linux")
    assert machine._psutil() is None


def test_a_document_that_takes_too_much_memory_ends_its_process_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    peak = SimpleNamespace(memory_info=lambda: SimpleNamespace(peak_wset=300))
    monkeypatch.setattr(child, "resource", None)
    monkeypatch.setattr(child, "_process", peak)
    monkeypatch.setattr(child.sys, "platform", "win32")
    codes: list[int] = []
    monkeypatch.setattr(child.os, "_exit", codes.append)
    for limit in (300, 299):
        watch = child._Watch(limit)
        watch.begin(1000.0)
        watch.end()
    assert codes == [child.PASSED_MEMORY]
    monkeypatch.setattr(child, "_process", None)
    assert child._peak_memory() == 0


@pytest.mark.parametrize("path", ["C:\\texts\\a.jsonl", "c:/texts/a.jsonl", "C:a.jsonl", "\\\\server\\share\\a"])
def test_a_path_with_a_drive_is_no_address(path: str) -> None:
    assert addresses.address_of(path) is None
    assert addresses.place_of(path) == path


@pytest.mark.parametrize("address", ["file:///C:/my%20texts", "file://localhost/C:/my%20texts"])
def test_an_address_of_a_file_may_have_a_drive(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_HAS_DRIVES", True)
    assert addresses.place_of(address) == "C:/my texts"
    assert addresses.place_of("file:///data/C:/x") == "/data/C:/x"


@pytest.fixture
def no_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a file has its name in any capitals, as on macOS and Windows."""

    def samefile(a: Any, b: Any) -> bool:
        return os.fspath(a).casefold() == os.fspath(b).casefold()

    monkeypatch.setattr(os.path, "samefile", samefile)
    return tmp_path


def test_two_outputs_that_differ_in_capitals_only_are_one_file_there(no_case: Path) -> None:
    with pytest.raises(click.UsageError, match="named for two outputs"):
        targets.check_collisions([], [str(no_case / "out.csv"), str(no_case / "OUT.csv")], glob=None)


def test_two_outputs_that_differ_in_capitals_only_are_two_here(tmp_path: Path) -> None:
    targets.check_collisions([], [str(tmp_path / "out.csv"), str(tmp_path / "OUT.csv")], glob=None)


def test_an_output_is_an_input_in_other_capitals_there(no_case: Path) -> None:
    (no_case / "texts").mkdir()
    for name in ("texts/a.txt", "texts/A.txt"):  # the second stands for the first, which here has another name
        (no_case / name).write_text("a text", encoding="utf-8")
    os.unlink(no_case / "texts" / "a.txt")
    (no_case / "TEXTS").mkdir()
    (no_case / "TEXTS" / "a.txt").write_text("a text", encoding="utf-8")
    with pytest.raises(click.UsageError, match="is an input too"):
        targets.check_collisions([no_case / "texts"], [str(no_case / "TEXTS" / "a.txt")], glob=None)
