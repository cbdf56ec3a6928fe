"""datasketch's own tests pass against ours, but for those of which it is known why not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.compat.own_tests import WHY

LEAST_SHARE = 0.9


@pytest.mark.shared_data
def test_nine_in_ten_of_the_tests_of_datasketch_pass(shared_data: Path, repository: Path):
    """In a process of its own, where ``datasketch`` is ours."""
    folder = shared_data.parent / "datasketch_tests"
    if not (folder / "test").is_dir():
        pytest.skip(f"no tests of datasketch at {folder}")
    pytest.importorskip("scipy", reason="datasketch's tests of weighted sketches need it")
    command = [sys.executable, "-m", "tests.compat.own_tests", str(folder)]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert set(found["failed"]) == set(WHY)
    assert len(found["passed"]) >= LEAST_SHARE * (len(found["passed"]) + len(found["failed"]))
    assert len(found["passed"]) >= 99  # so many are there
    assert all("GPU" in name for name in found["skipped"])


def test_without_the_folder_it_says_that_it_is_skipped(tmp_path: Path, repository: Path):
    command = [sys.executable, "-m", "tests.compat.own_tests", str(tmp_path)]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (
        0,
        f"skipped: {tmp_path} has no folder test with datasketch's own tests\n",
    )
