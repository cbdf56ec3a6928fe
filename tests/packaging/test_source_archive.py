"""The source archive: everything that a packager needs to build and test neardup, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from hatchling.build import build_sdist
from tests.packaging.test_licences import tracked

ROOT = Path(__file__).parents[2]
OURS_ALONE = {".gitignore"}
"""Tracked, and of no use outside of a checkout; hatchling takes it along as it reads it."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive of this checkout, unpacked."""
    folder = tmp_path_factory.mktemp("source")
    with chdir(ROOT):
        name = build_sdist(str(folder))
    subprocess.run([sys.executable, "-m", "tarfile", "--extract", str(folder / name), str(folder)], check=True)
    return folder / name.removesuffix(".tar.gz")


def names_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_it_holds_what_git_tracks_and_its_own_facts_and_no_other_file(archive: Path) -> None:
    held, known = names_of(archive), set(tracked())
    assert held - known - OURS_ALONE == {"PKG-INFO"}, "made by a program, or not added to git"
    assert known - held - OURS_ALONE == set(), "not among [tool.hatch.build.targets.sdist]"


def test_no_file_is_large_or_linked_or_of_one_machine(archive: Path) -> None:
    for path in archive.rglob("*"):
        assert not path.is_symlink(), path
        if path.is_file():
            assert path.stat().st_size < 1_000_000, path
    home = os.fsencode(Path.home())
    if len(home) > len("/root"):
        assert [path for path in archive.rglob("*.py") if home in path.read_bytes()] == []
