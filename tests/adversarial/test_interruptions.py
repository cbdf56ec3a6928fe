"""A full disk, a size limit, a closed pipe, Ctrl-C: the stated exit code and nothing half-written."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adversarial.command import LIMIT, check_clean_failure, environment, line, neardup, write_jsonl

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")

STOPPED = 130
"""The exit code of a run that Ctrl-C stopped."""
SLOW = ("--sketch", "permutation", "--slots", "4096", "--threads", "1")
"""The slowest sketch there is."""
SIZE_LIMIT = 4096
"""Bytes a file may have; the output of ``many_pairs`` has more in every format."""


@pytest.fixture
def many_pairs(tmp_path: Path) -> Path:
    """400 copies of one text: 79,800 pairs, megabytes of output.

    The command runs once without a limit, so that all compiled code is stored. Python would store the code of a module
    cut off at the limit, and never read it again.
    """
    folder = tmp_path / "input"
    folder.mkdir()
    path = folder / "in.jsonl"
    write_jsonl(path, ((f"a long identifier of document {i}", "one text of all") for i in range(400)))
    assert neardup("find", path, "-o", folder / "once.csv", "--json").returncode == 0
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_file_size_limit_ends_the_run_and_removes_what_was_begun(tmp_path: Path, many_pairs: Path, suffix: str):
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE_LIMIT, SIZE_LIMIT))

    folder = tmp_path / "output"
    folder.mkdir()
    target = folder / f"out.{suffix}"
    run = neardup("find", many_pairs, "-o", target, "--clusters", folder / "clusters.csv", preexec_fn=limit)
    check_clean_failure(run, 1, target.name, "limited")
    assert os.listdir(folder) == []


@contextlib.contextmanager
def tiny_disk(folder: Path) -> Iterator[Path]:
    """A tmpfs of 16 KB; the test is skipped where it cannot be mounted."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no tiny disk here: {done.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_full_disk_ends_the_run_and_keeps_the_old_file(tmp_path: Path, many_pairs: Path, suffix: str):
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("only root may mount a tiny disk")
    with tiny_disk(tmp_path / "disk") as folder:
        target = folder / f"out.{suffix}"
        target.write_bytes(b"the old result")
        run = neardup("find", many_pairs, "-o", target)
        check_clean_failure(run, 1, target.name, "space")
        assert os.listdir(folder) == [target.name]
        assert target.read_bytes() == b"the old result"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_device_that_is_full_ends_the_run(many_pairs: Path):
    run = neardup("find", many_pairs, "-o", "/dev/full", "--format", "jsonl")
    check_clean_failure(run, 1, "/dev/full")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_standard_output_ends_the_run(many_pairs: Path):
    with open("/dev/full", "wb") as full:
        run = subprocess.run(
            line("find", many_pairs, "--format", "jsonl"),
            stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=LIMIT, check=False,
        )  # fmt: skip
    assert run.returncode == 1
    assert b"Traceback" not in run.stderr
    assert run.stderr.strip()


def test_a_reader_that_goes_away_is_no_error(many_pairs: Path):
    with subprocess.Popen(
        line("find", many_pairs, "--format", "jsonl"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        first = run.stdout.readline()
        run.stdout.close()
        message = run.stderr.read().decode()
        run.wait(LIMIT)
    assert first.startswith(b"{")
    assert "Traceback" not in message, message
    assert "BrokenPipe" not in message, message


def interrupt(run: subprocess.Popen[bytes]) -> str:
    """Send Ctrl-C, wait, and return what was said."""
    run.send_signal(signal.SIGINT)
    try:
        _, message = run.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        run.kill()  # or leaving the block would wait for its end
        raise
    return message.decode("utf-8", "replace")


def test_ctrl_c_while_reading_leaves_nothing(tmp_path: Path):
    with subprocess.Popen(
        line("find", "-", "--input-format", "jsonl", "-o", tmp_path / "out.parquet"),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    ) as run:  # fmt: skip
        assert run.stdin is not None
        # More than any pipe holds: this returns when the run reads.
        run.stdin.write(b'{"id": 1, "text": "the first of many"}\n' * 50_000)
        run.stdin.flush()
        message = interrupt(run)
    assert run.returncode == STOPPED, message
    assert "Traceback" not in message, message
    assert os.listdir(tmp_path) == []


MOMENTS = {"its own modules are loaded": "neardup.cli.running", "libraries": "pyarrow.lib", "the work": "advance"}
"""What is met on the way: an import, or the first sign of progress."""
TELLS = """
import sys
def tell(event, args):
    if event == "import" and args[0] == sys.argv[1]:
        print("here", file=sys.stderr, flush=True)
sys.addaudithook(tell)
from neardup.cli import main
if sys.argv[1] == "advance":
    from neardup.cli import running
    plain = running.Stoppable.advance
    def advance(self, amount):
        print("here", file=sys.stderr, flush=True)
        plain(self, amount)
    running.Stoppable.advance = advance
main(sys.argv[2:], prog_name="neardup")
"""


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_in_the_middle_of_the_work_leaves_nothing(tmp_path: Path, moment: str):
    """The slowest sketch there is, of 8 MB of random words: it would take many seconds."""
    rng = random.Random(1)
    source = tmp_path / "in.jsonl"
    write_jsonl(source, ((i, " ".join(str(rng.random()) for _ in range(40))) for i in range(10_000)))
    folder = tmp_path / "output"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", TELLS, MOMENTS[moment], *line("find", source, "-o", folder / "out.jsonl", *SLOW)[3:]],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    ) as run:  # fmt: skip
        assert run.stderr is not None
        assert run.stderr.readline() == b"here\n"
        message = interrupt(run)
    assert run.returncode == STOPPED, message
    assert "Traceback" not in message, message
    assert os.listdir(folder) == []
