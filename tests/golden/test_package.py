"""What is released: the wheel and the source archive hold every file, and the package out of a wheel reads its own."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tarfile
import zipfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from hatchling.build import build_sdist, build_wheel
from tests.golden import installed, pages, transcripts
from tests.golden.freeze import COMPARED, REPORTED

from neardup.cli.completing import PLACES

FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", "deploy")


def files(folder: Path, root: Path) -> dict[str, bytes]:
    """The files below a folder that a release has, by their names from ``root`` on."""
    named = {path.relative_to(root): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in named.items()
        if not any(part == "__pycache__" or part.startswith(".") for part in name.parts) and name.suffix != ".so"
    }


@pytest.fixture(scope="module")
def wheel(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of the tree under test, without machine code; nothing is fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    with chdir(repository), pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEARDUP_NATIVE", "0")
        return zipfile.ZipFile(folder / build_wheel(str(folder)))


def test_the_wheel_holds_every_file_of_the_package_and_no_other(repository: Path, wheel: zipfile.ZipFile) -> None:
    beside = (".dist-info/", ".data/")
    held = {name: wheel.read(name) for name in wheel.namelist() if not any(part in name for part in beside)}
    source = files(repository / "src" / "neardup", repository / "src")
    assert sorted(held) == sorted(source)
    assert held == source
    assert not all(name.endswith(".py") for name in held)


def test_the_wheel_has_the_scripts_of_the_shells(wheel: zipfile.ZipFile) -> None:
    shared = {name.partition(".data/data/")[2] for name in wheel.namelist() if ".data/" in name}
    assert set(PLACES.values()) <= shared
    (script,) = [name for name in wheel.namelist() if name.endswith(PLACES["bash"])]
    assert b"_NEARDUP_COMPLETE=bash_complete" in wheel.read(script)


def test_a_wheel_has_the_library_and_is_of_its_platform_and_every_python(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = 0

    def built(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        assert command[1:3] == ["-m", "neardup.native.build"]
        made = Path(command[3], "_kernels.abi3.so")
        made.write_bytes(b"code")
        return subprocess.CompletedProcess(command, code, f"{made}\n", "there is no linker\n")

    monkeypatch.delenv("NEARDUP_NATIVE", raising=False)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(subprocess, "run", built)
    with chdir(repository):
        name = build_wheel(str(tmp_path))
        assert name.endswith("-cp311-abi3-linux_x86_64.whl")
        assert zipfile.ZipFile(tmp_path / name).read("neardup/native/_kernels.abi3.so") == b"code"
        code = 1
        with pytest.raises(SystemExit, match="cannot be compiled: there is no linker"):
            build_wheel(str(tmp_path))


def test_the_wheel_makes_the_command(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert wheel.read(name).decode().split() == ["[console_scripts]", "neardup", "=", "neardup.cli:main"]


def test_the_source_archive_holds_the_package_its_tests_and_its_pages(repository: Path, tmp_path: Path) -> None:
    with chdir(repository):
        name = build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as archive:
        held = {path.partition("/")[2] for path in archive.getnames()}
    for folder in FOLDERS:
        assert set(files(repository / folder, repository)) <= held, folder
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "STABILITY.md", "LICENSE", "PKG-INFO"} <= held


def test_the_package_out_of_a_wheel_makes_the_same_pages(
    repository: Path, wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    stage = tmp_path / "stage"
    stage.mkdir()
    transcripts.set_up(stage)
    with chdir(stage):
        for line in (REPORTED, COMPARED):
            assert transcripts.invoke(line).exit_code == 0
        (report,) = pages.data_of(Path("site/index.html").read_text("utf-8"))
        pair = pages.data_of(Path("pair.html").read_text("utf-8"))
    wheel.extractall(tmp_path / "installed")
    (tmp_path / "run.py").write_bytes(Path(installed.__file__).read_bytes())
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py"],
        input=json.dumps({"report": report, "pair": pair}),
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert Path(told.pop("from")).is_relative_to(tmp_path)
    assert told == installed.digests(report, pair)
