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

EDGES = [0, 1], [1, 2]
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
    """A folder in which two kernels are kept; that they were compiled was announced, once."""
    folder = tmp_path_factory.mktemp("kept")
    announced, answer = call(folder)
    said = r"compiling for this processor, \d+ to \d+ seconds in all, once; `neardup warm` does it ahead"
    assert re.fullmatch(said, announced)
    assert answer == "[0, 0, 0, 3] 2"
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
    (file,) = kept.rglob("graph.join-*.bin")
    whole = file.read_bytes()
    middle = len(whole) // 2
    for damaged in (whole[:-1], whole[:40], b"", whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]):
        assert damaged != whole
        file.write_bytes(damaged)
        assert call(kept)[-1] == "[0, 0, 0, 3] 1"
        assert call(kept) == ["[0, 0, 0, 3] 0"]


@needs_no_shipped
def test_machine_code_for_another_processor_is_left_alone(kept: Path):
    before = sorted(kept.iterdir())
    assert call(kept, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")[-1] == "[0, 0, 0, 3] 2"
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
        _jit._before_compiling("graph.join")
        _jit._before_compiling("graph.settle")
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


def test_no_kernel_calls_another_for_what_is_kept_of_one_is_its_machine_code_only():
    from neardup.kernels.warm import load_all

    functions = {name: _jit.KERNELS[name].py_func for name in load_all()}
    dispatchers = {id(each) for each in _jit.KERNELS.values()}
    for name, function in functions.items():
        called = [each for each in function.__code__.co_names if id(function.__globals__.get(each)) in dispatchers]
        assert not called, name


WITHOUT_PREAD = """
import os, sys
del os.pread
import numpy as np
import neardup
from neardup.kernels import _jit, reading, warm
assert "reading.copy_pieces" in warm.load_all() and "reading.read_pieces" not in _jit.KERNELS
at = np.zeros(1, dtype=np.int64)
assert reading.read_pieces(0, at, at + 1, np.zeros(8, dtype=np.uint8), at) == 0
print(neardup.find(sys.argv[1], threshold=0.5).pairs.select(["id_a", "id_b"]).to_pylist())
"""


def test_where_the_platform_has_no_pread_its_kernel_is_left_out_and_texts_are_kept(tmp_path: Path):
    """Windows has none: `neardup warm` would fail to link it."""
    path = tmp_path / "texts.jsonl"
    texts = ["a text that is there in two forms", "a text that is there in two forms!", "something else"]
    path.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
    run = subprocess.run([sys.executable, "-c", WITHOUT_PREAD, str(path)], capture_output=True, text=True, check=False)
    assert run.stdout == "[{'id_a': '0', 'id_b': '1'}]\n", run.stderr


def test_each_kernel_is_compiled_by_one_process_and_kernels_that_share_parts_by_the_same():
    from neardup.kernels.warm import load_all, shares

    names = load_all()
    for jobs in (1, 2, 3, 200):
        groups = shares(names, jobs)
        assert len(groups) == jobs
        assert sorted(name for group in groups for name in group) == sorted(names)
    hashing = {name for name in names if _jit.records_of(name) == ["HashParams"]}
    assert len(hashing) > 5
    of_each = shares(names, 2)
    assert sum(bool(hashing & set(group)) for group in of_each) == 1
    cost = [sum(map(_jit.seconds, group)) for group in of_each]
    assert max(cost) < 0.6 * sum(cost)
    assert shares([], 2) == [[], []]


def test_a_kernel_may_be_called_with_other_types_too():
    parent = np.arange(4, dtype=np.int32)
    graph.join(parent, *(np.array(each, dtype=np.int32) for each in EDGES))
    assert parent[[0, 1, 3]].tolist() == [0, 0, 3]


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
