"""How a run ends from outside: Ctrl-C, a closed pipe, a full stdout; and how it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests import warm
from tests.warm import LIMIT, PACKAGE, environment

# The command with a search that keeps eight threads busy for ever and does not hear Ctrl-C.
BUSY = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor
from neardup.session import Run
def find(run, link):
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(threading.Event().wait) for _ in range(50)]
        print("searching", file=sys.stderr, flush=True)
        return [task.result() for task in waiting]
Run.find = find
from neardup.cli import main
main(["find", "docs.jsonl", *sys.argv[1:]], prog_name="neardup")
"""
# The command with a search that tells of its progress, and so can be stopped in order.
TALKING = """
import sys, time
from neardup.session import Run
def find(run, link):
    print("searching", file=sys.stderr, flush=True)
    while True:
        run.observer.advance(1)
        time.sleep(0.01)
Run.find = find
from neardup.cli import main
main(["find", "docs.jsonl", *sys.argv[1:]], prog_name="neardup")
"""
# The command with a search that finds enough pairs to fill every pipe buffer.
MANY = """
import sys, types
import pyarrow as pa
from neardup.session import Run
from tests.cli.conftest import SUMMARY, CLUSTERS, CROWDS
n = 300_000
pairs = pa.table({"id_a": list(range(n)), "id_b": list(range(1, n + 1)), "similarity": [0.9] * n})
def find(run, link):
    return types.SimpleNamespace(pairs=lambda *_, **__: pairs.to_reader(), clusters=lambda _: CLUSTERS,
                                 crowds=lambda: CROWDS, faults=[],
                                 summary=lambda: types.SimpleNamespace(as_dict=lambda: SUMMARY))
Run.find = find
from neardup.cli import main
main(["find", "docs.jsonl", *sys.argv[1:]], prog_name="neardup")
"""


MODULES, CALLS = 170, 55_000
"""Loaded and called for help at most; a quarter to a third above what they were (139 and 38,865, Python 3.11)."""


def _start(script: str, *args: str, folder: Path, repository: Path, **options: object) -> subprocess.Popen[str]:
    (folder / "docs.jsonl").write_text('{"text": "never read"}\n')
    path = os.pathsep.join([str(repository), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-c", script, *args],
        cwd=folder,
        text=True,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": ""},  # a pipe is met when a buffer is full
        **options,
    )


def test_ctrl_c_ends_at_once_and_leaves_nothing(tmp_path: Path, repository: Path) -> None:
    process = _start(BUSY, "-o", "pairs.csv", folder=tmp_path, repository=repository, stdout=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.readline() == "searching\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)  # the search would never end
    assert process.returncode == 130
    assert err == "interrupted, nothing written\n"
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["docs.jsonl"]


@pytest.mark.parametrize("script", [BUSY, TALKING])
def test_ctrl_c_leaves_the_workdir_and_says_how_to_go_on(tmp_path: Path, repository: Path, script: str) -> None:
    process = _start(
        script, "-o", "pairs.csv", "--workdir", "work", folder=tmp_path, repository=repository, stdout=subprocess.PIPE
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "searching\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert err == (
        "interrupted, nothing written\n"
        "The work so far is in work: continue with the same command and --resume, or delete it.\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "work"]


def test_ctrl_c_takes_the_workdir_of_a_run_that_cannot_be_resumed_along(tmp_path: Path, repository: Path) -> None:
    script = TALKING.replace('"docs.jsonl"', '"-", "--input-format", "jsonl"')
    (tmp_path / "typed.jsonl").write_text('{"text": "never read"}\n')
    with open(tmp_path / "typed.jsonl") as typed:
        process = _start(
            script, "--workdir", "work", folder=tmp_path, repository=repository, stdin=typed, stdout=subprocess.PIPE
        )
    assert process.stderr is not None
    assert process.stderr.readline() == "searching\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert err == "interrupted, nothing written\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.jsonl", "typed.jsonl"]


@pytest.mark.parametrize(("format", "first"), [("jsonl", '{"id_a": 0'), ("csv", "id_a"), ("table", None)])
def test_a_closed_pipe_is_a_quiet_end_with_the_files_complete(
    tmp_path: Path, repository: Path, format: str, first: str | None
) -> None:
    args = ("--format", format, "--clusters", "c.csv")
    process = _start(MANY, *args, folder=tmp_path, repository=repository, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    if first is not None:  # a table is shorter than what a pipe holds: it must find the pipe closed
        assert process.stdout.readline().startswith(first)
    process.stdout.close()
    with process.stderr as stream:
        err = stream.read()
    assert process.wait(timeout=LIMIT) == 0
    assert "Broken pipe" not in err
    assert "Traceback" not in err
    assert err.splitlines()[-1].startswith("neardup: ")
    assert (tmp_path / "c.csv").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("args", [(), ("--format", "csv"), ("--format", "parquet"), ("--format", "table"), ("--json",)])
def test_a_full_stdout_is_an_error(tmp_path: Path, repository: Path, args: tuple[str, ...]) -> None:
    (tmp_path / "docs.jsonl").write_text('{"text": "never read"}\n')
    full = "import os\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\n"
    env = {**environment(), "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(repository)])}
    done = warm.run(["-c", full + MANY, *args], cwd=tmp_path, env=env, encoding="utf-8")
    assert done.returncode == 1
    assert "Error: cannot write stdout: No space left on device. Free some space" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_stdout_that_is_closed_from_the_start_is_an_error(tmp_path: Path, repository: Path) -> None:
    process = _start(MANY, folder=tmp_path, repository=repository, stdout=None, preexec_fn=lambda: os.close(1))
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert "Error: stdout is closed. Give a file for the output." in err


@pytest.mark.parametrize(
    "start",
    [
        "import neardup",
        "from neardup.cli import main; main(['--help'], standalone_mode=False)",
        "from neardup.cli import main; main(['find', '--help'], standalone_mode=False)",
        "from neardup.cli import main; main(['dedup', '--help'], standalone_mode=False)",
        "from neardup.cli import main; main(['--version'], standalone_mode=False)",
    ],
)
def test_a_quick_command_imports_nothing_heavy(start: str) -> None:
    script = (
        f"import sys\n{start}\n"
        "names = 'numpy numba pyarrow rich importlib.metadata concurrent.futures asyncio unittest'.split()\n"
        "sys.exit(', '.join(name for name in names if name in sys.modules) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT)
    assert done.stderr.strip() == ""
    assert done.returncode == 0


@pytest.mark.parametrize("args", [["--help"], ["find", "--help"], ["dedup", "--help"]])
def test_help_does_little_work(args: list[str]) -> None:
    """Modules and calls are counted, so no clock; what they were took 0.1 seconds of one core."""
    script = (
        "import sys\n"
        "calls = [0]\n"
        "def count(frame, event, argument): calls[0] += event == 'call'\n"
        "sys.setprofile(count)\n"
        "from neardup.cli import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "sys.setprofile(None)\n"
        "print(len(sys.modules), calls[0], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *args], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules, calls = map(int, done.stderr.split())
    assert modules <= MODULES, f"{modules} modules are loaded"
    assert calls <= CALLS, f"{calls} functions are called"
