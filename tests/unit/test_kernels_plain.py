"""Kernels as plain Python, under NUMBA_DISABLE_JIT=1: a debugger steps through them, and they say the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.unit.every_kernel import answers

CHEAP = [f"tests/unit/test_kernels_{name}.py" for name in ("banding", "classical", "containing", "graph")]
PLAIN = {**os.environ, "NUMBA_DISABLE_JIT": "1"}


def test_every_kernel_says_the_same_as_plain_python(repository: Path, tmp_path: Path):
    """In a process of its own: numba asks once. Warnings are errors there, and NumPy warns of sums that wrap around."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "compiled").mkdir()
    command = [sys.executable, "-W", "error", "-m", "tests.unit.every_kernel", str(tmp_path / "plain")]
    done = subprocess.run(command, cwd=repository, env=PLAIN, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout)
    assert said["missing"] == [], "kernels that tests.unit.every_kernel does not call"
    assert said["answers"] == answers(tmp_path / "compiled")


def test_tests_of_kernels_pass_where_nothing_is_compiled(repository: Path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *CHEAP]
    done = subprocess.run(command, cwd=repository, env=PLAIN, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
