"""A machine that gives little, no address space, no folder, a stdout that takes nothing: words, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.adversarial.command import LIMIT, environment, line, write_jsonl

from neardup.engine import space

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and devices of POSIX")
needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no /proc here")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["find", "--help"]])
def test_help_that_stdout_does_not_take_is_an_error_in_words(arguments):
    with open("/dev/full", "wb") as full:
        run = subprocess.run(
            line(*arguments), stdout=full, stderr=subprocess.PIPE, timeout=LIMIT, check=False, env=environment()
        )
    assert run.returncode == 1
    words = b"Error: cannot write: No space left on device. Free some space, or write to another disk."
    assert run.stderr.strip() == words


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds processes to their address space")
@pytest.mark.parametrize("megabytes", [300, 400, 500])
def test_too_little_address_space_is_named_with_its_cure(tmp_path: Path, megabytes: int):
    """LLVM cannot be loaded, a thread not started, memory not had. With less, libraries end the process themselves."""
    import resource

    path = write_jsonl(tmp_path / "in.jsonl", [("a", "one text of two"), ("b", "one text of two")])

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))

    run = subprocess.run(
        line("find", path, "--quiet"),
        capture_output=True,
        timeout=LIMIT,
        check=False,
        env={**environment(), "OPENBLAS_NUM_THREADS": "1"},  # else it takes megabytes for each processor
        preexec_fn=limit,
    )
    message = run.stderr.decode()
    if run.returncode == 0:
        pytest.skip(f"{megabytes} MB are enough here")
    assert run.returncode == 1
    assert f"The address space is limited to {megabytes} MB here" in message
    assert "Raise ulimit -v" in message
    assert "Traceback" not in message
    assert "fault in neardup" not in message


@needs_proc
def test_the_memory_that_a_run_may_take_is_within_the_address_space(monkeypatch):
    import resource

    taken = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    plain = space.available_memory()
    monkeypatch.setattr(resource, "getrlimit", lambda which: (taken + 10**6, resource.RLIM_INFINITY))
    assert space.available_memory() <= 10**6 < plain
    monkeypatch.setattr(resource, "getrlimit", lambda which: (taken // 2, resource.RLIM_INFINITY))
    assert space.available_memory() == 0
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert space.available_memory() > 10**6
