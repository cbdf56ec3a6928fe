"""Outputs of one command get their names together: what fails leaves the old ones, a kill is told and mended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests import warm

from neardup.cli import main
from neardup.errors import OutputError
from neardup.outputs import write
from neardup.tasks.dedup.run import SecondReading
from neardup.tasks.rewrite.writer import CleanWriter

TEXT = "one and the same text, word for word, twice over"
OLD = "of last week"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an input, and the outputs of last week."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": i, "text": TEXT if i < 2 else f"text {i} is like no other at all: {i * i}"} for i in range(6)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("clean.jsonl", "gone.csv", "gone.csv.spec.json", "pairs.csv", "clusters.csv", "plot.svg"):
        (tmp_path / name).write_text(OLD)
    return tmp_path


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args, prog_name="neardup")


DEDUP = ("dedup", "in.jsonl", "-o", "clean.jsonl", "--removed", "gone.csv", "-q")
FIND = ("find", "in.jsonl", "-o", "pairs.csv", "--clusters", "clusters.csv", "-q")


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def failing(plain: Callable[..., Any], at: int) -> Callable[..., Any]:
    """A function that fails as on a full disk when it is called for that time, from 0."""
    calls = iter(range(1000))

    def call(*args: Any, **how: Any) -> Any:
        if next(calls) == at:
            raise OSError(28, "No space left on device")
        return plain(*args, **how)

    return call


@pytest.mark.parametrize("at", [0, 1])
def test_pairs_and_clusters_are_both_new_or_both_old(folder: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    before = contents(folder)
    monkeypatch.setattr(write, "_write", failing(write._write, at))
    result = run(*FIND)
    assert result.exit_code == 1
    assert "No space left on device. Free some space" in result.stderr
    assert contents(folder) == before


def test_a_figure_that_cannot_be_drawn_leaves_pairs_and_clusters_as_they_were(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = pytest.importorskip("neardup.tasks.figures.sheets")
    before = contents(folder)

    def refuse(*_: Any) -> None:
        raise OutputError("cannot write plot.svg: no ink. Buy some.")

    monkeypatch.setattr(drawing, "plot_finding", refuse)
    result = run(*FIND, "--plot", "plot.svg")
    assert result.exit_code == 1
    assert "no ink" in result.stderr
    assert contents(folder) == before


def test_a_table_of_removals_that_cannot_be_written_leaves_all_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(folder)
    monkeypatch.setattr(write, "_write", failing(write._write, 0))
    assert run(*DEDUP).exit_code == 1
    assert contents(folder) == before


@pytest.mark.parametrize("output", ["clean.jsonl", "new/", "-"])
def test_a_copy_that_cannot_be_written_leaves_the_table_of_removals_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    before = contents(folder)
    monkeypatch.setattr(CleanWriter, "rewrite", failing(CleanWriter.rewrite, 0))
    result = run("dedup", "in.jsonl", "-o", output, "--removed", "gone.csv", "-q")
    assert result.exit_code == 1
    assert contents(folder) == before


def test_stdout_that_takes_nothing_leaves_the_files_as_they_were(folder: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    before = contents(folder)
    with open("/dev/full", "wb") as full:
        for args in (("find", "in.jsonl", "--clusters", "clusters.csv"), (*DEDUP[:2], "-o", "-", *DEDUP[4:])):
            done = subprocess.run([sys.executable, "-m", "neardup", *args], stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == 1, done.stderr
    assert contents(folder) == before


def killed_at_name(number: int, *args: str) -> None:
    """Run a command that is killed before it gives an output the name of that number, from 0."""
    script = (
        "import os, signal, sys\n"
        "from neardup.outputs import renames\n"
        "plain, left = renames._rename, [int(sys.argv[1])]\n"
        "def rename(one):\n"
        "    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    left[0] -= 1\n"
        "    plain(one)\n"
        "renames._rename = rename\n"
        "from neardup.cli import main\n"
        "main(sys.argv[2:], prog_name='neardup')\n"
    )
    done = warm.run(["-c", script, str(number), *args])
    assert done.returncode == -9, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX has them")
@pytest.mark.parametrize("number", [1, 2])
def test_a_kill_between_names_is_told_and_mended_by_the_next_run(folder: Path, number: int) -> None:
    inputs = (folder / "in.jsonl").read_text()
    killed_at_name(number, *DEDUP)
    mixed = contents(folder)
    assert (mixed["gone.csv"], mixed["clean.jsonl"]) != (OLD, OLD)
    assert mixed["clean.jsonl"] == OLD, "the table comes first"
    (folder / "in.jsonl").write_text("nonsense\n")  # so that the next run fails, and what it mends is seen
    result = run("dedup", "in.jsonl", "-o", "clean.jsonl", "-q")
    assert result.exit_code == 1
    assert "note: an earlier run was stopped while its outputs got their names" in result.stderr
    assert "clean.jsonl" in result.stderr.splitlines()[0]
    after = contents(folder)
    assert [json.loads(line)["id"] for line in after["clean.jsonl"].splitlines()] == [0, 2, 3, 4, 5]
    assert after["gone.csv"].splitlines()[1].startswith("1,in.jsonl,2,0,")
    assert json.loads(after["gone.csv.spec.json"])["threshold"] == 0.8
    assert [name for name in after if name.startswith(".")] == []
    (folder / "in.jsonl").write_text(inputs)
    assert "note" not in run(*DEDUP).stderr


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX has them")
def test_a_resumed_run_that_was_killed_between_names_ends_as_any_other(folder: Path) -> None:
    work = ("--workdir", "work")
    killed_at_name(2, *DEDUP, *work)
    result = run(*DEDUP, *work, "--resume")
    assert result.exit_code == 0, result.stderr
    resumed = contents_of_files(folder)
    assert run(*DEDUP).exit_code == 0
    assert contents_of_files(folder) == resumed
    assert not (folder / "work").exists()


def contents_of_files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_an_input_that_changes_while_it_is_cut_is_told_before_the_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keeper of a document is edited when its file was copied already, with its time set back."""
    path, before = folder / "in.jsonl", contents(folder)
    told = path.stat()
    plain = SecondReading.end

    def check(self: SecondReading) -> None:
        path.write_text(before["in.jsonl"].replace(TEXT, TEXT[::-1], 1))
        os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))
        plain(self)

    monkeypatch.setattr(SecondReading, "end", check)
    result = run(*DEDUP)
    assert result.exit_code == 1
    assert "in.jsonl was changed since it was read: the document at 1 is another." in result.stderr
    del before["in.jsonl"]
    assert {name: text for name, text in contents(folder).items() if name != "in.jsonl"} == before
