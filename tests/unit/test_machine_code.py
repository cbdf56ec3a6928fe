"""Machine code of kernels: made ahead, found again, never run where it does not fit, and said when it is made."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from neardup.cli import main
from neardup.kernels import _jit, _kept, announce, graph

EDGES = np.array([0, 1], dtype=np.int64), np.array([1, 2], dtype=np.int64), 4
CALL = """
import sys
import numpy as np
from pathlib import Path
from neardup.kernels import _jit, _kept, announce
_kept.keep_in(Path(sys.argv[1]))
from neardup.kernels import graph
with announce.told(print):
    found = graph.components(np.array([0, 1]), np.array([1, 2]), 4)
print(found.tolist(), len(_jit._compiled))
"""


def call(folder: Path, **variables: str) -> list[str]:
    """What a process says that keeps machine code in ``folder``, and nowhere else, and calls a kernel."""
    run = subprocess.run(
        [sys.executable, "-c", CALL, str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a kernel, with the two that it calls, is kept; it was announced, once."""
    folder = tmp_path_factory.mktemp("kept")
    announced, answer = call(folder)
    said = r"compiling for this processor, \d+ to \d+ seconds in all, once; `neardup warm` does it ahead"
    assert re.fullmatch(said, announced)
    assert answer == "[0, 0, 0, 3] 3"
    return folder


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Machine code that comes with the package is left out; asks again where code is kept, now and at the end."""
    monkeypatch.setattr(_kept, "SHIPPED", Path("no such folder"))

    def ask_again() -> None:
        for each in (_kept._sources, _kept.own_name, _kept._portable_name, _kept.places):
            each.cache_clear()
        _kept.folder_to_write.cache_clear()
        _kept.folders.cache_clear()

    ask_again()
    yield ask_again
    _kept.keep_in(None)
    ask_again()


def shipped_is_absent() -> bool:
    return not _kept.SHIPPED.is_dir()


needs_no_shipped = pytest.mark.skipif(not shipped_is_absent(), reason="this package brings its machine code along")


@needs_no_shipped
def test_what_was_compiled_once_is_loaded_by_the_next_process(kept: Path):
    assert call(kept) == ["[0, 0, 0, 3] 0"]


@needs_no_shipped
def test_damaged_machine_code_is_not_run_but_made_again(kept: Path):
    (file,) = kept.rglob("graph.components-*.bin")
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:40], b"", whole[:5000] + b"\x00" + whole[5001:]):
        assert damaged != whole
        file.write_bytes(damaged)
        assert call(kept)[-1] == "[0, 0, 0, 3] 1"
        assert call(kept) == ["[0, 0, 0, 3] 0"]


@needs_no_shipped
def test_machine_code_for_another_processor_is_left_alone(kept: Path):
    before = sorted(kept.iterdir())
    assert call(kept, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")[-1] == "[0, 0, 0, 3] 3"
    assert sorted(kept.iterdir()) != before


def test_any_change_of_what_it_depends_on_makes_another_folder(alone: Any, monkeypatch: pytest.MonkeyPatch):
    names = {_kept._name("one", "+x"), _kept._name("two", "+x"), _kept._name("one", "+x,+y")}
    for where, what, value in (
        (_kept, "_sources", lambda: "changed"),
        (_kept.numba, "__version__", "0.0"),
        (_kept.llvmlite, "__version__", "0.0"),
        (_kept.llvm, "get_process_triple", lambda: "other-triple"),
        (sys, "abiflags", "t"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(where, what, value)
            names.add(_kept._name("one", "+x"))
    assert len(names) == 8


def test_portable_code_is_for_processors_that_have_all_it_needs(alone: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kept.platform, "machine", lambda: "x86_64")
    needed = _kept.PORTABLE["x86_64"][1]
    monkeypatch.setattr(_kept.llvm, "get_host_cpu_features", lambda: dict.fromkeys(needed, True))
    assert _kept._portable_name() == _kept._name("x86-64-v3", "")
    alone()
    monkeypatch.setattr(_kept.llvm, "get_host_cpu_features", lambda: {**dict.fromkeys(needed, True), "avx2": False})
    assert _kept._portable_name() is None
    alone()
    monkeypatch.setattr(_kept.platform, "machine", lambda: "sparc")
    assert _kept._portable_name() is None


def test_who_names_a_processor_gets_no_portable_code(alone: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kept.config, "CPU_NAME", "generic")
    if _kept.PORTABLE.get(_kept.platform.machine().lower(), ("", []))[0] == "generic":
        pytest.skip("here portable code is what was asked for")
    assert _kept._portable_name() is None


def test_where_no_folder_can_be_written_that_is_said(alone: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_kept, "_can_write", lambda folder: False)
    assert _kept.folder_to_write() is None
    monkeypatch.setattr(_jit, "_compiled", [])
    said: list[str] = []
    with announce.told(said.append):
        _jit._before_compiling("graph.components")
        _jit._before_compiling("graph.join")
    assert len(said) == 1
    assert "in each run: no folder to keep it in can be written. NUMBA_CACHE_DIR names one" in said[0]


def test_a_kernel_is_declared_with_as_many_types_as_it_has_parameters():
    from neardup.kernels.warm import load_all

    names = load_all()
    assert len(names) > 50
    for name in names:
        for types in _jit.types_of(name):
            assert len(types) == _jit.KERNELS[name].py_func.__code__.co_argcount, name
    assert set(_jit.SECONDS) <= set(names)


def test_a_kernel_may_be_called_with_other_types_too():
    assert graph.components(*(np.asarray(each, dtype=np.int32) for each in EDGES[:2]), 4).tolist() == [0, 0, 0, 3]


def test_warm_compiles_what_is_missing_and_then_nothing(tmp_path: Path):
    """Of one kernel only: of all it takes a minute, and the build of the package does it."""
    from neardup.kernels.warm import compile_all

    first = list(compile_all(["graph.settle"], jobs=1, portable=True, folder=tmp_path))
    again = list(compile_all(["graph.settle"], jobs=1, portable=True, folder=tmp_path))
    assert [each.name for each in [*first, *again]] == ["graph.settle"] * 2
    assert again[0].folder is None
    if shipped_is_absent():
        assert first[0].folder is not None
        assert Path(first[0].folder).parent == tmp_path
        assert first[0].seconds > 0


def test_the_command_warm_says_how_many_there_are(monkeypatch: pytest.MonkeyPatch):
    from neardup.kernels import warm

    made = [warm.Made("a.b", "somewhere", 1.5), warm.Made("c.d", None, 0.0)]
    monkeypatch.setattr(warm, "load_all", lambda: [each.name for each in made])
    monkeypatch.setattr(warm, "compile_all", lambda names, **how: iter(made))
    run = CliRunner().invoke(main, ["warm", "--json", "--quiet"])
    assert run.exit_code == 0, run.stderr
    assert {**json.loads(run.stdout), "total_seconds": 0} == {
        "kernels": 2,
        "compiled": 1,
        "folder": "somewhere",
        "cpu_seconds": 1.5,
        "total_seconds": 0,
    }
