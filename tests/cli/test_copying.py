"""``neardup report --purpose copying``: the command makes the pages that Python makes, and refuses what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.oracles.report import read_report

import neardup
from neardup.cli import main

FOX = "the quick brown fox jumps over the lazy dog and runs far away into the deep green wood"
WORDS = FOX.split()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three people with two files each, of a source and of an earlier year, and a question that all repeat."""
    for i, name in enumerate(["a/1", "a/2", "b/1", "b/2", "c/1", "c/2", "old/1", "src/1"]):
        path = tmp_path / "essays" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(["what did it do today ?", *WORDS[i:], *WORDS[: i // 2]]))
    (tmp_path / "question.txt").write_text("what did it do today ?")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["report", *args], prog_name="neardup")
    return done.exit_code, done.stderr


OPTIONS = ("--for", "essays", "--purpose", "copying")
ROLES = ("--originals", "essays/src", "--against", "essays/old", "--group-by", "folder:1", "--ignore", "question.txt")


def test_the_command_and_python_make_the_same_pages(folder: Path) -> None:
    assert run("essays", *OPTIONS, *ROLES, "--audit", "5", "--threads", "1", "-o", "one", "--quiet") == (0, "")
    neardup.report(
        "essays",
        "two",
        preset="essays",
        purpose="copying",
        originals="essays/src",
        against=[Path("essays/old")],
        group_by="folder:1",
        ignore="question.txt",
        audit=5,
        threads=3,
        block=2,
    )
    one, two = (read_report(folder / name / "index.html") for name in ("one", "two"))
    assert one.pairs
    assert one.chunks == two.chunks
    assert one.meta == two.meta
    assert one.meta["audit"]["recall"] == 1.0


def test_with_pairs_of_a_file_nothing_decides_which_are_found(folder: Path) -> None:
    found = CliRunner().invoke(main, ["find", "essays", "--for", "essays", "-o", "pairs.csv", "--quiet"])
    assert found.exit_code == 0
    assert run("essays", "--pairs", "pairs.csv", "--purpose", "copying", "--pseudonyms", "k.csv", "-o", "out")[0] == 0
    for option, value in zip(ROLES[::2], ROLES[1::2], strict=True):
        code, told = run("essays", "--pairs", "pairs.csv", option, value, "-o", "out")
        assert code == 2
        assert f"Leave {option} " in told


def test_what_is_an_input_is_nothing_else(folder: Path) -> None:
    (folder / "v.json").write_text(json.dumps({"kind": "neardup verdicts", "format": 1, "verdicts": []}))
    code, told = run("essays", "question.txt", *OPTIONS, "--ignore", "question.txt", "-o", "out")
    assert code == 1
    assert "question.txt is an input, and the file of ignore" in told
    assert run("essays", *OPTIONS, "--originals", "nothing", "-o", "out")[0] == 1
    assert run("essays", *OPTIONS, "--group-by", "folder:x", "-o", "out")[0] == 2
    code, told = run("essays", *OPTIONS, "--pseudonyms", "out/keys.csv", "-o", "out")
    assert code == 1
    assert "out/keys.csv lies where the report is to be written" in told
    assert not (folder / "out").exists()
