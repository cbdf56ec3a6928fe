"""A run in a fork is what a process of its own would be, and gets one where it could not be."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests import warm
from tests.warm import client

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every run has a process of its own")

ENDS = {
    "by itself": "print('one'); print('two', file=sys.stderr)",
    "with a code": "sys.exit(3)",
    "with words": "sys.exit('words')",
    "with an error": "print('begun'); raise ValueError('no')",
    "by a signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "with a thread at work": "import threading; threading.Timer(0.1, print, ['late']).start()",
    "with work for its end": "import atexit; atexit.register(print, 'at the end')",
    "with an output that is not taken": "import os; os.close(1); print('lost')",
    "at once": "import os; os._exit(7)",
}
AROUND = """
import os, sys
print(sys.argv, os.getcwd(), sys.path[0], __name__, sys.stdin.read(), os.environ.get("COLUMNS"))
print(sys.stdin.encoding, sys.stdout.encoding, sys.stderr.encoding, sys.stdout.errors, sys.stderr.line_buffering)
print(ascii(os.get_terminal_size) and "é 字 \\udcff".encode("utf-8", "surrogateescape"))
"""


def both(monkeypatch: pytest.MonkeyPatch, *arguments: str, **options: object) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of a fork and of a process."""
    found = [warm.run(arguments, encoding="utf-8", **options)]  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(client, "_server", lambda: None)
        found.append(warm.run(arguments, encoding="utf-8", **options))  # type: ignore[arg-type]
    return [(run.returncode, run.stdout, run.stderr) for run in found]


def was_forked(code: str, **options: object) -> bool:
    """Whether a run with these options is a fork: its parent is then not this process."""
    done = warm.run(["-c", f"import os; {code}; print(os.getppid())"], encoding="utf-8", **options)  # type: ignore[arg-type]
    return int(done.stdout) != os.getpid()


@pytest.mark.parametrize("end", ENDS)
def test_a_fork_ends_as_a_process_does(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    forked, plain = both(monkeypatch, "-c", f"import sys; {ENDS[end]}")
    traceback = "Traceback" in plain[2]
    assert (forked[:2], forked[2].splitlines()[-1:]) == (plain[:2], plain[2].splitlines()[-1:])
    assert traceback or forked[2] == plain[2]


def test_a_fork_has_the_surroundings_of_a_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    forked, plain = both(monkeypatch, "-c", AROUND, "a", "b c", input="ä\n\nz", cwd=tmp_path)
    assert forked[0] == 0, forked[2]
    assert forked == plain
    (tmp_path / "own.py").write_text("import sys; print(sys.argv[1:], __name__)")
    forked, plain = both(monkeypatch, "-m", "own", "x", cwd=tmp_path)
    assert forked == plain == (0, "['x'] __main__\n", "")


def test_the_command_says_the_same_in_a_fork(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one text of two\none text of two\n")
    for arguments in (["--help"], ["find"], ["find", "in.txt", "--input-format", "lines", "--quiet"]):
        forked, plain = both(monkeypatch, "-m", "neardup", *arguments, cwd=tmp_path)
        assert forked == plain


def test_nothing_of_one_run_is_seen_by_the_next() -> None:
    code = "import random, neardup.params as p; print(hasattr(p, 'left'), random.random()); p.left = 1"
    told = [warm.run(["-c", code], encoding="utf-8").stdout.split() for _ in range(3)]
    assert [seen for seen, _ in told] == ["False"] * 3
    assert len({drawn for _, drawn in told}) == 3


def test_what_a_run_has_loaded_the_next_one_finds_there_and_no_thread() -> None:
    loaded = "import sys, os; print('colorsys' in sys.modules, len(os.listdir('/proc/self/task'))); import colorsys"
    warm.run(["-m", "neardup", "find", "-", "--quiet"], input='{"text": "a"}\n')
    told = [warm.run(["-c", loaded], encoding="utf-8").stdout for _ in range(2)]
    assert told[-1] == "True 1\n"


def test_other_surroundings_get_a_process_of_their_own() -> None:
    assert was_forked("pass")
    assert was_forked("pass", env={**warm.environment(), "COLUMNS": "31"})
    assert not was_forked("pass", env={**warm.environment(), "PYTHONHASHSEED": "7"})
    assert not was_forked("pass", preexec_fn=lambda: None)
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0 if soft else hard, hard))
    try:
        alike = soft == resource.getrlimit(resource.RLIMIT_CORE)[0]
        assert was_forked("pass") == alike
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def test_commands_of_a_shell_have_its_streams_its_limits_and_its_exit_codes(tmp_path: Path) -> None:
    warm.shell_commands(tmp_path)
    env = {**warm.environment(), "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def shell(line: str) -> tuple[int, str]:
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8")
        return done.returncode, done.stdout + done.stderr

    assert shell("printf 'a b c\\na b c\\n' | neardup find - --input-format lines -q | grep -c id_a") == (0, "1\n")
    assert shell("neardup nothing 2>&1 >/dev/null | grep -o 'No such command'; echo ${PIPESTATUS[0]}")[1].endswith(
        "2\n"
    )
    code, said = shell("(ulimit -f 0; printf 'a b\\na b\\n' | neardup find - --input-format lines -q -o out.csv)")
    assert code == 1
    assert "limited" in said
