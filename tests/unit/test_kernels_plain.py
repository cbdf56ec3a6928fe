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


def test_a_part_returns_no_array_that_it_has_not_made(repository: Path):
    """A part counts no references, so an array that it returned would be freed under its caller; a maker counts them.

    An array is what is indexed, what has a size, and what comes out of a slice or a record.
    """
    paths = sorted((repository / "src/neardup/kernels").glob("*.py"))
    parts = [function for path in paths for function in _decorated(path, "part")]
    assert len(parts) > 80
    assert [part.name for part in parts if _returns_array(part)] == []
    source = "@part\ndef f(a, b):\n    x, y = b\n    return {}\n    a[0], y[0]"
    for bad in ("a", "b.words", "y", "(1, a)", "a[1:]", "a if b else 0", "np.empty(3)"):
        (tree,) = ast.parse(source.format(bad)).body
        assert _returns_array(tree), bad
    for good in ("a[0]", "x", "(1, a[0])", "a.size", "f(a)"):
        (tree,) = ast.parse(source.format(good)).body
        assert not _returns_array(tree), good


def _decorated(path: Path, decorator: str) -> list[ast.FunctionDef]:
    functions = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
    return [each for each in functions if decorator in map(ast.unparse, each.decorator_list)]


def _returns_array(function: ast.AST) -> bool:
    nodes = list(ast.walk(function))
    arrays = {node.value.id for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)}
    arrays |= {node.value.id for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and _is_array(node.value, arrays):
            arrays |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return any(_is_array(node.value, arrays) for node in nodes if isinstance(node, ast.Return))


def _is_array(value: ast.AST | None, arrays: set[str]) -> bool:
    if isinstance(value, ast.Tuple):
        return any(_is_array(each, arrays) for each in value.elts)
    if isinstance(value, ast.IfExp):
        return _is_array(value.body, arrays) or _is_array(value.orelse, arrays)
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Slice)
    if isinstance(value, ast.Attribute):
        return value.attr not in ("size", "k", "kind")
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in ("np.empty", "np.zeros", "np.full", "np.ones")
    return isinstance(value, ast.Name) and value.id in arrays
