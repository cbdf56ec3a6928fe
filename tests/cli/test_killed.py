"""A run that is killed, or finds the disk full, goes on from its last checkpoint to the very same bytes."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests import warm
from tests.cli.crashing import contents, fails, finish, write_collection

from neardup.spool.manifest import MANIFEST

KILLS = (4, pytest.param(10, marks=pytest.mark.soak))
"""Of each command."""
COMMANDS = {
    "dedup": ("dedup", "../a.jsonl", "../b.jsonl", "-o", "clean", "--removed", "removed.csv", "--keep", "max:stars"),
    "find": ("find", "../a.jsonl", "../b.jsonl", "-o", "pairs.parquet", "--clusters", "clusters.csv"),
}
HOW = ("-t", "0.7", "--workdir", "work", "--memory", "700MB", "-q")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 6 MB in two files."""
    folder = tmp_path_factory.mktemp("killed")
    write_collection(folder, 6, seed=7)
    return folder


# The command, which kills itself at its n-th call that touches a file of the folder, or tells how many there were.
DIES = """
import atexit, os, signal, sys
here, met, last = os.getcwd() + os.sep, [0], int(sys.argv[1])
def count(event, args):
    if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.listdir"):
        if isinstance(args[0], (str, os.PathLike)) and os.path.abspath(args[0]).startswith(here):
            met[0] += 1
            if met[0] == last:
                os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
atexit.register(lambda: print(met[0], file=sys.stderr))
from neardup.cli import main
main(sys.argv[2:], prog_name="neardup")
"""


def calls_of(folder: Path, *args: str) -> int:
    """Run the command to its end; how often it touched a file of the folder."""
    done = warm.run(["-c", DIES, "0", *args], cwd=folder, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1])


def killed_at(folder: Path, call: int, *args: str) -> bool:
    """Run the command up to a call that touches a file; False when it came to its end before."""
    done = warm.run(["-c", DIES, str(call), *args], cwd=folder, encoding="utf-8")
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_killed_at_random_moments_ends_in_the_same_bytes(collection: Path, name: str, kills: int) -> None:
    command = COMMANDS[name]
    plain = collection / f"{name}-{kills}-plain"
    plain.mkdir()
    finish(plain, *command, "-t", "0.7", "-q")
    expected = contents(plain)
    once = collection / f"{name}-{kills}-once"
    once.mkdir()
    calls = calls_of(once, *command, *HOW)
    assert contents(once) == expected
    rng = random.Random(20261121)
    resumed = 0
    for number in range(kills):
        folder = collection / f"{name}-{kills}-{number}"
        folder.mkdir()
        assert killed_at(folder, rng.randint(1, calls * 9 // 10), *command, *HOW)
        has_work = (folder / "work" / MANIFEST).exists()
        finish(folder, *command, *HOW, *["--resume"] * has_work)
        resumed += has_work
        assert contents(folder) == expected, f"kill {number} of {name}"
        assert not (folder / "work").exists()
    assert resumed >= kills // 3


def test_a_run_killed_again_and_again_comes_to_its_end(collection: Path) -> None:
    command = COMMANDS["dedup"]
    folder = collection / "often"
    folder.mkdir()
    step = calls_of(folder, *command, *HOW) // 8
    assert step > 2
    shutil.rmtree(folder)
    folder.mkdir()
    rng = random.Random(4)
    kills = 0
    while True:
        has_work = (folder / "work" / MANIFEST).exists()
        call = rng.randint(1, step) + step * kills // 2  # each time a little later, so that it comes to its end
        if not killed_at(folder, call, *command, *HOW, *["--resume"] * has_work):
            break
        kills += 1
    assert kills >= 3
    plain = collection / "often-plain"
    plain.mkdir()
    finish(plain, *command, "-t", "0.7", "-q")
    assert contents(folder) == contents(plain)


def limited(limit: int, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run the command where no file may grow past ``limit`` bytes; writing then fails as on a full disk."""
    script = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))\n"
        "from neardup.cli import main\n"
        "main(sys.argv[2:], prog_name='neardup')\n"
    )
    return warm.run(["-c", script, str(limit), *args], cwd=folder, encoding="utf-8")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with 3 MB in two files, and a folder to work in."""
    write_collection(tmp_path, 3, seed=3)
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


def undisturbed(small: Path, name: str) -> dict[str, bytes]:
    plain = small.parent / "plain"
    plain.mkdir()
    finish(plain, *COMMANDS[name], "-t", "0.7", "-q")
    return contents(plain)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_spool_that_cannot_grow_is_told_and_the_run_goes_on_when_it_can(small: Path, name: str) -> None:
    expected = undisturbed(small, name)
    done = limited(60_000, small, *COMMANDS[name], *HOW)
    assert done.returncode == 1
    assert os.strerror(errno.EFBIG) in done.stderr
    assert "work" in done.stderr
    assert "The work so far is in work: continue with the same command and --resume, or delete it." in done.stderr
    assert "Traceback" not in done.stderr
    assert set(contents(small)) == {key for key in contents(small) if key.startswith("work/")}
    finish(small, *COMMANDS[name], *HOW, "--resume")
    assert contents(small) == expected


def test_an_output_that_cannot_grow_is_told_and_the_run_goes_on_when_it_can(small: Path) -> None:
    expected = undisturbed(small, "dedup")
    limit = len(expected["clean/a.jsonl"]) - 1000
    # in memory nothing is spooled, so the copies are the first files that grow past the limit
    args = (*COMMANDS["dedup"], "-t", "0.7", "-q")
    done = limited(limit, small, *args)
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "a.jsonl" in done.stderr
    assert os.strerror(errno.EFBIG) in done.stderr
    assert set(contents(small)) <= {"removed.csv", "removed.csv.spec.json"}
    finish(small, *args)
    assert contents(small) == expected


needs_mounts = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="making a small disk needs root on Linux"
)


class Disk:
    """A small file system in memory, mounted at a folder."""

    def __init__(self, folder: Path, size: str) -> None:
        self.folder = folder
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
        if done.returncode:
            pytest.skip(f"cannot mount a small disk here: {done.stderr.decode().strip()}")

    def grow(self, size: str) -> None:
        """Make room."""
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.folder)], check=True)

    def unmount(self) -> None:
        """Take it away."""
        subprocess.run(["umount", str(self.folder)], check=True)


@needs_mounts
def test_a_full_disk_under_the_workdir_is_told_and_the_run_goes_on_after_room_was_made(small: Path) -> None:
    expected = undisturbed(small, "dedup")
    disk = Disk(small.parent / "disk", "500k")
    try:
        args = (*COMMANDS["dedup"], "-t", "0.7", "--workdir", str(disk.folder / "work"), "--memory", "700MB", "-q")
        err = fails(small, *args)
        assert err.startswith("Error: ")
        assert str(disk.folder / "work") in err
        assert "Traceback" not in err
        assert contents(small) == {}
        disk.grow("200m")
        if (disk.folder / "work" / MANIFEST).exists():
            assert f"The work so far is in {disk.folder / 'work'}" in err
            args = (*args, "--resume")
        finish(small, *args)
        assert contents(small) == expected
        assert list(disk.folder.iterdir()) == []
    finally:
        disk.unmount()


@needs_mounts
def test_a_full_disk_under_the_output_is_told_and_the_run_goes_on_after_room_was_made(small: Path) -> None:
    expected = undisturbed(small, "dedup")
    room = len(expected["clean/a.jsonl"]) + len(expected["removed.csv"]) + len(expected["clean/b.jsonl"]) // 2
    disk = Disk(small.parent / "disk", f"{room // 1024}k")
    try:
        target = disk.folder / "out"
        target.mkdir()
        outputs = {"clean": str(target / "clean"), "removed.csv": str(target / "removed.csv")}
        args = [*(outputs.get(arg, arg) for arg in COMMANDS["dedup"]), *HOW]
        err = fails(small, *args)
        assert f"cannot write {target / 'clean' / 'b.jsonl'}: No space left on device. Free some space" in err
        assert "The work so far is in work: continue with the same command and --resume" in err
        assert not (target / "clean" / "a.jsonl").exists()
        disk.grow("200m")
        finish(small, *args, "--resume")
        assert contents(target) == expected
        assert contents(small) == {}
    finally:
        disk.unmount()


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_the_least_memory_gives_the_same_bytes_and_holds(collection: Path, name: str) -> None:
    plain, tight = collection / f"{name}-roomy", collection / f"{name}-tight"
    plain.mkdir()
    tight.mkdir()
    # what is compressed cannot be read again in parts: its texts are kept, and outgrow the memory
    draw = random.Random(7)
    with gzip.open(collection / "c.jsonl.gz", "wt", compresslevel=1) as file:
        for i in range(2000):
            file.write(json.dumps({"id": f"long{i}", "stars": 1, "text": draw.randbytes(10_000).hex()}) + "\n")
    command = (*COMMANDS[name], "../c.jsonl.gz")
    finish(plain, *command, "-t", "0.7", "-q")
    err = fails(tight, *COMMANDS[name], "--memory", "1MB")
    least = re.search(r"Give at least ([0-9]+)MB", err)
    assert least is not None, err
    err = finish(tight, *command, "-t", "0.7", "--memory", f"{least[1]}MB")
    assert contents(tight) == contents(plain)
    told = re.search(r"peak memory +([0-9.]+) MB of ([0-9.]+) MB; ([0-9.]+) MB on disk", err)
    assert told is not None, err
    assert float(told[1]) < float(told[2]) == float(least[1])
    output = COMMANDS[name][COMMANDS[name].index("-o") + 1]
    assert f"going on in {output}.neardup-work" in err
