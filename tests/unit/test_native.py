"""The machine code of kernels: what the library takes, gives and refuses, what stands in for it, how it is built."""

from __future__ import annotations

import ast
import gc
import json
import os
import platform
import pty
import re
import subprocess
import sys
import threading
import weakref
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.unit import small_library as small

from neardup.native import declare, library

ON_LINUX = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
needs_linux = pytest.mark.skipif(not ON_LINUX, reason="a library is built on Linux only, for x86-64 and 64-bit ARM")
TRUTH, WORD, PAIR = True, np.uint64(2**63), (4, (1.0, 2.0))


def python(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, without what this one says of kernels."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NEARDUP_NATIVE", "NUMBA_CACHE_DIR")}
    command = [sys.executable, *map(str, words)]
    return subprocess.run(command, env={**kept, **environment}, capture_output=True, text=True, check=False)


# ---- the library


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> ModuleType:
    """A library of a few kernels, built as the one of the package is."""
    target = tmp_path_factory.mktemp("small") / library.FILE
    done = python("-m", "tests.unit.small_library", target, NEARDUP_NATIVE="build", PYTHONPATH=str(repository))
    assert done.returncode == 0, done.stderr
    return library.open_library(target)


def function(made: ModuleType, name: str) -> Any:
    return getattr(made, f"small_library.{name}")


def taken(**other: Any) -> list[Any]:
    """Return arguments of ``takes``, some of them exchanged."""
    data, table = np.array([9, 1, 1], np.uint8), np.zeros((2, 2), np.int32)
    return list(
        {"data": data, "table": table, "real": 1.5, "is_so": TRUTH, "word": WORD, "pair": PAIR, **other}.values()
    )


@needs_linux
def test_every_type_comes_in_and_goes_out_as_in_python(made: ModuleType) -> None:
    given, expected = taken(), taken()
    assert function(made, "takes")(*given) == small.takes(*expected) == (3.5, True, 2**63, -9)
    assert given[1].tolist() == expected[1].tolist() == [[7, 0], [0, 0]]
    words = np.zeros((5, 1), np.uint64)
    words.flags.writeable = False
    table, front, (rising, again) = function(made, "gives")(small.Row(words, 3), 1)
    expected_table, expected_front, (expected_rising, _) = small.gives(small.Row(words, 3), 1)
    for array, like in ((table, expected_table), (front, expected_front), (rising, expected_rising)):
        assert array.dtype == like.dtype
        assert array.tolist() == like.tolist()
        assert array.flags.carray  # contiguous, aligned, writeable
    again[0] = 99
    assert (rising[0], front[0]) == (99, 99), "they are views of one memory, as they are in the kernel"
    none = function(made, "gives")(small.Row(words[:0], 0), 0)
    assert [each.shape for each in none[:2]] == [(0, 2), (0,)]


@needs_linux
def test_numbers_of_numpy_are_numbers(made: ModuleType) -> None:
    given = taken(real=np.float64(1.5), is_so=np.True_, word=2**63, pair=(np.int64(4), (np.float32(1), 2)))
    assert function(made, "takes")(*given) == (3.5, True, 2**63, -9)
    longs = taken(data=np.array([9, 1, 1], np.uint8))
    assert function(made, "takes")(*longs)[3] == -9
    doubled = np.array([1, 2], np.ulonglong)  # another number for the same type
    function(made, "doubles")(doubled)
    assert doubled.tolist() == [2, 4]


@needs_linux
@pytest.mark.parametrize(
    "other",
    [
        {"data": b"abc"}, {"data": [1, 2]}, {"data": None}, {"data": np.zeros(3, np.int8)},
        {"data": np.zeros((3, 1), np.uint8)}, {"data": np.zeros(6, np.uint8)[::2]},
        {"data": np.zeros(3, np.uint8).view(np.recarray)}, {"table": np.zeros((2, 2), np.int32).T[:1]},
        {"table": np.zeros((2, 2), ">i4")}, {"table": np.zeros((2, 2), np.int64)}, {"real": "1.5"}, {"real": None},
        {"is_so": 1}, {"is_so": []}, {"word": 1.0}, {"word": "1"}, {"pair": [4, (1.0, 2.0)]}, {"pair": (4, (1.0,))},
        {"pair": (4.5, (1.0, 2.0))}, {"pair": (4, 1.0)}, {"pair": ()},
    ],
    ids=str,
)  # fmt: skip
def test_other_types_are_refused(made: ModuleType, other: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        function(made, "takes")(*taken(**other))


@needs_linux
def test_what_may_not_be_written_or_is_not_aligned_or_too_large_is_refused(made: ModuleType) -> None:
    table = np.zeros((2, 2), np.int32)
    table.flags.writeable = False
    odd = np.zeros(17, np.uint8)[1:].view(np.uint64)
    with pytest.raises(TypeError, match=r"small_library\.takes: argument 2 must be array\(int32, 2d, C\)"):
        function(made, "takes")(*taken(table=table))
    with pytest.raises(TypeError, match="argument 1"):
        function(made, "doubles")(odd)
    for word in (-1, 2**64):
        with pytest.raises(OverflowError):
            function(made, "takes")(*taken(word=word))
    for count in (0, 5, 7):
        with pytest.raises(TypeError, match="takes 6 arguments"):
            function(made, "takes")(*[*taken(), 1][:count])
    with pytest.raises(TypeError, match="no keyword"):
        function(made, "divides")(a=1, b=2)


@needs_linux
def test_of_two_kernels_of_one_name_the_first_is_called_whose_types_fit(made: ModuleType) -> None:
    for kind in (np.uint64, np.uint8):
        values = np.array([1, 2], kind)
        function(made, "doubles")(values)
        assert values.tolist() == [2, 4]


@needs_linux
def test_what_a_kernel_raises_is_raised(made: ModuleType) -> None:
    with pytest.raises(ZeroDivisionError):
        function(made, "divides")(1, 0)
    with pytest.raises(ValueError, match="cannot assign slice"):
        function(made, "assigns")(np.zeros(3, np.int64), np.zeros(2, np.int64))
    assert function(made, "divides")(-7, 2) == -4


@needs_linux
@pytest.mark.parametrize("calls", [20_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_memory_of_arrays_is_given_back(made: ModuleType, calls: int) -> None:
    """Each call makes two arrays of 40,000 bytes, so 20,000 calls would leave 1.6 GB behind."""
    row, gives = small.Row(np.zeros((5_000, 1), np.uint64), 5_000), function(made, "gives")
    kept = gives(row, 0)
    assert weakref.ref(kept[0])() is kept[0]
    before = _resident()
    for _ in range(calls):
        gives(row, 0)
    gc.collect()
    assert _resident() - before < 20 << 20
    assert kept[2][0].tolist() == list(range(5_000)), "what is held stays"


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@needs_linux
def test_other_threads_go_on_while_a_kernel_runs(made: ModuleType) -> None:
    """With the lock of Python this thread would wait from the start of the kernel to its end."""
    state = np.zeros(1, np.uint64)
    thread = threading.Thread(target=function(made, "mixes"), args=(300_000_000, state))
    thread.start()
    rounds = 0
    while thread.is_alive():
        rounds += 1
    assert rounds > 1000
    assert state[0] != 0


@pytest.mark.skipif(declare.LIBRARY is None, reason="Numba compiles the kernels in these tests")
def test_the_library_has_every_kernel_and_refuses_every_wrong_argument(repository: Path) -> None:
    """Those before the wrong one are of the right types. Nothing is called."""
    from neardup.native import jit

    found = {name: value for name, value in vars(declare.LIBRARY).items() if "." in name}
    for path in (repository / "src/neardup/kernels").glob("[!_]*.py"):
        __import__(f"neardup.kernels.{path.stem}")
    declared = {name: ways for name, (made, ways) in declare.DECLARED.items() if name in found}
    assert set(declared) == set(found) == {f"{path}.{name}" for path, name in _kernels(repository)}
    refused = 0
    for name, ways in declared.items():
        types = jit.parsed(ways[0])
        right = [_value(kind) for kind in types]
        for i, kind in enumerate(types):
            for wrong in _wrong(kind, is_alone=len(ways) == 1):
                with pytest.raises(TypeError):
                    found[name](*right[:i], wrong, *right[i + 1 :])
                refused += 1
    assert refused > 1000


def _kernels(repository: Path) -> set[tuple[str, str]]:
    """Return module and name of each function that stands under ``kernel`` in the sources, or under ``_with_pread``."""
    return {
        (path.stem, node.name)
        for path in (repository / "src/neardup/kernels").glob("[!_]*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(each).startswith(("kernel(", "_with_pread")) for each in node.decorator_list)
    }


def _value(kind: Any) -> Any:
    """Return a value of one of Numba's types."""
    from numba import types

    if isinstance(kind, types.Array):
        return np.zeros((2,) * kind.ndim, str(kind.dtype))
    if isinstance(kind, types.BaseTuple):
        return tuple(map(_value, kind))
    return {types.float64: 0.0, types.boolean: False}.get(kind, 0)


def _wrong(kind: Any, *, is_alone: bool) -> list[Any]:
    """Return values of other types; ``is_alone``: no kernel of the same name takes another type of array."""
    from numba import types

    if isinstance(kind, types.Array):
        right = _value(kind)
        frozen, swapped = right.copy(), right.astype(right.dtype.newbyteorder(">"))
        frozen.flags.writeable = False
        others = [None, right.tolist(), right.astype(np.complex128), np.zeros((4,) * kind.ndim, right.dtype)[::2]]
        others += [right[None], *([frozen] if kind.mutable else []), *([swapped] if right.itemsize > 1 else [])]
        return others if is_alone else others[:3]
    if isinstance(kind, types.BaseTuple):
        return [None, list(_value(kind)), _value(kind)[:-1]]
    return [None, "0", [], np.zeros(2)]


# ---- in its place


CALL = """
import sys
import numpy as np
from neardup.kernels import graph
print(graph.components(np.array([0, 1]), np.array([1, 2]), 4).tolist())
hits = sum(sum(each.stats.cache_hits.values()) for each in (graph.join, graph.settle))
print(hits, *sorted(name for name in ("numba", "llvmlite") if name in sys.modules))
"""


def test_numba_compiles_once_what_is_called(tmp_path: Path) -> None:
    first, second = (python("-c", CALL, NEARDUP_NATIVE="0", NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout.splitlines() == ["[0, 0, 0, 3]", "0 llvmlite numba"], first.stderr
    assert second.stdout.splitlines() == ["[0, 0, 0, 3]", "2 llvmlite numba"], second.stderr
    assert (first.stderr, second.stderr) == ("", ""), "nobody sits at a terminal"
    (folder,) = tmp_path.iterdir()
    assert folder.name == f"kernels-{library.sources()[:20]}"


def test_any_change_of_a_source_makes_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = library.sources()
    for name in ("kernels", "native"):
        (tmp_path / name).mkdir()
        for path in (*library.folder(name).glob("*.py"), *library.folder(name).glob("*.c")):
            (tmp_path / name / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(library, "folder", lambda name: tmp_path / name)
    assert library.sources() == before
    for changed in ("kernels/_bits.py", "native/runtime.c"):
        with open(tmp_path / changed, "a") as file:
            file.write(" ")
        assert library.sources() != before
        before = library.sources()


def test_who_waits_for_the_compiler_at_a_terminal_is_told(tmp_path: Path) -> None:
    terminal, screen = pty.openpty()
    environment = {**os.environ, "NEARDUP_NATIVE": "0", "NUMBA_CACHE_DIR": str(tmp_path / "file" / "below")}
    (tmp_path / "file").write_text("no folder")
    with subprocess.Popen([sys.executable, "-c", CALL], env=environment, stdout=subprocess.PIPE, stderr=screen) as run:
        os.close(screen)
        said = b""
        while chunk := _read(terminal):
            said += chunk
    os.close(terminal)
    assert run.returncode == 0
    lines = said.decode().splitlines()
    assert len(lines) == 1, lines
    assert "compiling for this processor, up to a minute in all, in each run: no folder can be written" in lines[0]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other side is closed
        return b""


WITHOUT = "import sys; sys.modules['numba'] = None; from neardup.cli import main; main(sys.argv[1:])"


def test_who_has_neither_library_nor_numba_is_told_the_cure(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    done = python("-c", WITHOUT, "find", tmp_path / "in.txt", "--input-format", "lines", NEARDUP_NATIVE="0")
    assert done.returncode == 1
    assert done.stdout == ""
    (said,) = done.stderr.splitlines()
    assert "neardup has no machine code for" in said
    assert said.endswith("Run: pip install 'neardup[compile]'")


@pytest.mark.skipif(declare.LIBRARY is None, reason="Numba compiles the kernels in these tests")
def test_with_the_library_a_search_loads_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("one text of two\none text of two\n")
    code = f"{WITHOUT.replace('main(sys.argv[1:])', '')}main(sys.argv[1:], standalone_mode=False)"
    code += "; print(sorted(name for name in sys.modules if name.partition('.')[0] in ('numba', 'llvmlite')))"
    done = python("-c", code, "find", tmp_path / "in.txt", "--input-format", "lines", "-q", "-o", tmp_path / "out.csv")
    assert done.stdout == "['numba']\n", done.stderr  # which is None
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 2


@pytest.mark.skipif(declare.LIBRARY is None, reason="Numba compiles the kernels in these tests")
def test_out_of_an_archive_the_library_is_loaded_too(tmp_path: Path) -> None:
    """As Spark sends the package to workers."""
    package = library.folder("")
    with zipfile.ZipFile(tmp_path / "neardup.zip", "w") as archive:
        for path in package.rglob("*"):
            if path.suffix != ".pyc" and path.is_file():
                archive.write(path, path.relative_to(package.parent))
    code = "import sys; sys.path.insert(0, sys.argv[1]); sys.modules['numba'] = None; import neardup"
    code += "; print(neardup.__file__, len(neardup.find(['one text of two'] * 2).pairs))"
    (tmp_path / "temporary").mkdir()
    done = python("-c", code, tmp_path / "neardup.zip", TMPDIR=str(tmp_path / "temporary"))
    assert done.stdout.split() == [str(tmp_path / "neardup.zip" / "neardup" / "__init__.py"), "1"], done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_library_of_other_sources_or_of_none_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "folder", lambda name: tmp_path)
    assert library.load() is None
    (tmp_path / library.FILE).write_bytes(b"no library")
    assert library.load() is None
    assert str(tmp_path) in library.why_not
    fake = ModuleType("fake")
    monkeypatch.setattr(library, "open_library", lambda path: fake)
    for built, now, is_loaded in (("old", "new", False), ("old", "old", True), ("old", "", True)):
        fake.SOURCES = built  # type: ignore[attr-defined]
        monkeypatch.setattr(library, "sources", lambda now=now: now)
        assert (library.load() is fake) == is_loaded
    assert "other sources" in library.why_not


WITHOUT_PREAD = """
import os, sys
del os.pread
import numpy as np
import neardup
from neardup.kernels import reading
at = np.zeros(1, dtype=np.int64)
assert reading.read_pieces(0, at, at + 1, np.zeros(8, dtype=np.uint8), at) == 0
print(neardup.find(sys.argv[1], threshold=0.5).pairs.select(["id_a", "id_b"]).to_pylist())
"""


def test_where_the_platform_has_no_pread_texts_are_kept(tmp_path: Path) -> None:
    """Windows has none."""
    path = tmp_path / "texts.jsonl"
    texts = ["a text that is there in two forms", "a text that is there in two forms!", "something else"]
    path.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts)))
    done = python("-c", WITHOUT_PREAD, path)
    assert done.stdout == "[{'id_a': '0', 'id_b': '1'}]\n", done.stderr


# ---- the build

HALVES = """
import importlib, json
from neardup.native import build, library
from neardup.native.declare import DECLARED
for path in library.folder("kernels").glob("[!_]*.py"):
    importlib.import_module(f"neardup.kernels.{path.stem}")
parts = {name: [code.co_name for code in build._with_parts(made.py_func)] for name, (made, _) in DECLARED.items()}
print(json.dumps([build.halves(), parts]))
"""


def test_each_kernel_is_compiled_by_one_of_two_processes_and_few_parts_by_both() -> None:
    done = python("-c", HALVES, NEARDUP_NATIVE="build")
    assert done.returncode == 0, done.stderr
    halves, parts = json.loads(done.stdout)
    assert sorted(halves[0] + halves[1]) == sorted(parts)
    assert {"lookup", "_find", "sketch_block"} <= set(parts["asking.candidates"])
    one, other = ({part for name in half for part in parts[name]} for half in halves)
    assert len(one & other) < 0.2 * len(one | other)


@needs_linux
def test_types_that_no_wrapper_knows_end_the_build() -> None:
    from numba import types

    from neardup.native.wrappers import Compiled, module

    def source(argument: Any, result: Any, passed: list[str]) -> str:
        return module([Compiled("a.b", "a_b", (argument,), result, ["ptr", "ptr", *passed])], "m", "")

    assert re.search(r"int a_b\(void \*, Raised \*\*, word\);", source(types.int64, types.none, ["i64"]))
    array = types.int64[::1]
    for argument, result, passed in (
        (types.int32, types.none, ["i32"]),
        (types.int64[:], types.none, ["ptr"] * 7),
        (types.unicode_type, types.none, ["ptr"]),
        (types.int64, types.int8, ["i64"]),
        (types.int64, types.int64[:], ["i64"]),
        (array, types.none, ["ptr", "ptr", "i64", "i64", "ptr", "i64"]),  # as if Numba passed no strides
    ):
        with pytest.raises(NotImplementedError):
            source(argument, result, passed)
