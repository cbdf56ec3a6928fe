"""Kernels as plain Python, under NUMBA_DISABLE_JIT=1: a debugger steps through them, and they say the same."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
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


@pytest.mark.soak  # the one above calls every kernel
def test_tests_of_kernels_pass_where_nothing_is_compiled(repository: Path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", *CHEAP]
    done = subprocess.run(command, cwd=repository, env=PLAIN, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_no_kernel_returns_a_named_tuple(repository: Path):
    """Numba calls Python to make one and does not look whether that failed: Ctrl-C then ends the process."""
    modules = [ast.parse(path.read_text("utf-8")) for path in (repository / "src/neardup/kernels").glob("*.py")]
    classes = {
        node.name
        for module in modules
        for node in module.body
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases)
    }
    kernels = [
        node
        for module in modules
        for node in module.body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(each).startswith("kernel(") for each in node.decorator_list)
    ]
    made = {
        (kernel.name, node.value.func.id)
        for kernel in kernels
        for node in ast.walk(kernel)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name)
    }
    assert len(classes) > 5
    assert len(kernels) > 30
    assert [pair for pair in made if pair[1] in classes] == []
