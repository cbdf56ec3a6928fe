"""A run of passages that was stopped goes on behind the last stage that it finished, to the very same bytes."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from tests.cli.crashing import contents, finish
from tests.cli.test_killed import calls_of, killed_at

import neardup
from neardup.cli import main
from neardup.engine.repeats import kept
from neardup.engine.space import Space
from neardup.inputs.reader import Reader
from neardup.spool.manifest import MANIFEST
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.rewrite import replace

COMMAND = ("passages", "../in.jsonl", "-o", "clean.jsonl", "--spans", "spans.parquet", "--cuts", "cuts.csv")
HOW = ("--cut", "first", "--min-left", "30", "--threads", "1", "-q")
UNITS = {
    "bytes": ("--min-bytes", "40"),
    "words": ("--min-words", "6", "--normalize", "nfc,casefold"),
    "changes": ("--min-chars", "60", "--gaps", "20", "--min-docs", "2"),
    "lines": ("--unit", "line", "--normalize", "nfc,casefold", "--min-docs", "2"),
}
STAGES = ("read", "grouped", "walked")


class Stopped(Exception):
    """Stands for a kill: nothing that comes behind is done."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with texts that share sentences, short periods, and some that are bad, blank or without an id."""
    draw = random.Random(5)
    words = ["".join(draw.choices("abcdefghiéß日", k=draw.randint(2, 8))) for _ in range(300)]
    passages = [" ".join(draw.choices(words, k=20)) + "." for _ in range(30)]
    with (tmp_path / "in.jsonl").open("w") as out:
        for i in range(300):
            parts = [draw.choice(passages), " ".join(draw.choices(words, k=15)), "ab " * draw.randint(0, 30)]
            draw.shuffle(parts)
            print(json.dumps({"id": f"d{i}", "text": "\n".join(parts)}), file=out)
            print("not JSON" if i % 100 == 3 else "", file=out)
    return tmp_path


def in_folder(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, *more: str) -> tuple[Path, Result]:
    here = folder / name
    here.mkdir(exist_ok=True)
    monkeypatch.chdir(here)
    return here, CliRunner().invoke(main, [*COMMAND, *HOW, "--on-bad", "skip", *more], prog_name="neardup")


def stop_behind(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run end right behind the checkpoint of a stage."""
    checkpoint = Space.checkpoint

    def stopping(self: Space, **changes: Any) -> None:
        checkpoint(self, **changes)
        if changes.get("repeats") == stage:
            raise Stopped

    monkeypatch.setattr(Space, "checkpoint", stopping)


def unread(*_: object) -> Iterator[object]:
    """In place of the tasks of a reader, which may be made and not begun."""
    raise AssertionError("inputs are read again")
    yield


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("units", UNITS)
def test_a_run_goes_on_behind_each_stage_and_reads_nothing_twice(
    folder: Path, units: str, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, done = in_folder(folder, "plain", monkeypatch, *UNITS[units])
    assert done.exit_code == 0, done.output
    assert len(contents(plain)) >= 3
    with monkeypatch.context() as patched:
        stop_behind(stage, patched)
        stopped, done = in_folder(folder, "stopped", patched, *UNITS[units], "--workdir", "work")
        assert done.exit_code == 1
    assert (stopped / "work" / MANIFEST).exists()
    monkeypatch.setattr(Reader, "tasks", unread)
    _, done = in_folder(folder, "stopped", monkeypatch, *UNITS[units], "--workdir", "work", "--resume")
    assert done.exit_code == 0, done.output
    assert contents(stopped) == contents(plain)
    assert not (stopped / "work").exists()


def test_a_run_that_fails_while_copies_are_written_goes_on_with_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, _ = in_folder(folder, "plain", monkeypatch)

    def fail(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(replace, "_edited", fail)
        stopped, done = in_folder(folder, "stopped", patched, "--workdir", "work")
        assert done.exit_code == 1
    _, done = in_folder(folder, "stopped", monkeypatch, "--workdir", "work", "--resume")
    assert done.exit_code == 0, done.output
    assert contents(stopped) == contents(plain)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--min-bytes", "41"], "min_bytes is 41 and was 100"),
        (["--normalize", "nfc"], 'normalize is "nfc" and was "none"'),
        (["--on-bad", "fail"], 'reading.on_bad is "fail" and was "skip"'),
        (["-o", "other.jsonl"], 'output is "other.jsonl" and was "clean.jsonl"'),
    ],
)
def test_another_run_is_refused_and_says_what_differs(
    folder: Path, more: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        stop_behind("read", patched)
        in_folder(folder, "stopped", patched, "--workdir", "work")
    stopped, done = in_folder(folder, "stopped", monkeypatch, "--workdir", "work", "--resume", *more)
    assert done.exit_code == 1
    assert message in " ".join(done.stderr.split())
    assert "Run with what it was made from, or delete work" in " ".join(done.stderr.split())
    assert not list(stopped.glob("*.jsonl"))
    _, done = in_folder(folder, "stopped", monkeypatch, "--workdir", "work")
    assert "holds the work of an interrupted run. Go on with --resume" in " ".join(done.stderr.split())


@pytest.mark.parametrize("units", UNITS)
def test_a_run_with_other_groups_or_numbers_is_another_one(
    folder: Path, units: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        stop_behind("read", patched)
        in_folder(folder, "stopped", patched, *UNITS[units], "--group-by", "^d.", "--workdir", "work")
    for more, message in (
        (("--group-by", "^d.."), 'group_by is "^d.." and was "^d."'),
        (("--group-by", "^d.", "--min-count", "4"), "min_count"),
    ):
        how = (*UNITS[units], *more, "--workdir", "work", "--resume")
        stopped, done = in_folder(folder, "stopped", monkeypatch, *how)
        assert done.exit_code == 1
        assert message in " ".join(done.stderr.split())
        assert not list(stopped.glob("*.jsonl"))


def test_an_input_that_was_changed_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        stop_behind("walked", patched)
        in_folder(folder, "stopped", patched, "--workdir", "work")
    with (folder / "in.jsonl").open("a") as out:
        out.write('{"id": "new", "text": "more"}\n')
    _, done = in_folder(folder, "stopped", monkeypatch, "--workdir", "work", "--resume")
    assert done.exit_code == 1
    assert "the work in work was made from something else: inputs.../in.jsonl is" in " ".join(done.stderr.split())


def test_python_goes_on_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = neardup.passages(folder / "in.jsonl", on_bad="skip")
    how: dict[str, Any] = {"on_bad": "skip", "workdir": folder / "work"}
    with monkeypatch.context() as patched:
        stop_behind("grouped", patched)
        with pytest.raises(Stopped):
            neardup.passages(folder / "in.jsonl", **how)
    with pytest.raises(neardup.SpoolError, match="holds the work of an interrupted run"):
        neardup.passages(folder / "in.jsonl", **how)
    found = neardup.passages(folder / "in.jsonl", **how, resume=True)
    assert found.spans.equals(wanted.spans)
    assert found.cut().equals(wanted.cut())
    known = {name: value for name, value in wanted.summary.as_dict().items() if name != "seconds"}
    assert {name: value for name, value in found.summary.as_dict().items() if name != "seconds"} == known
    found.close()
    assert not (folder / "work").exists()
    with pytest.raises(neardup.InputError, match="values in memory cannot be resumed"):
        neardup.passages(["a", "b"], workdir=folder / "work", resume=True)
    with pytest.raises(neardup.InputError, match="resume needs the workdir"):
        neardup.passages(folder / "in.jsonl", resume=True)


def test_a_run_killed_at_random_moments_ends_in_the_same_bytes(folder: Path) -> None:
    command = (*COMMAND, *HOW, "--on-bad", "skip")
    once = folder / "once"
    once.mkdir()
    calls = calls_of(once, *command, "--workdir", "work")
    expected = contents(once)
    draw, resumed = random.Random(13), 0
    for number in range(3):
        here = folder / f"killed-{number}"
        here.mkdir()
        killed_at(here, draw.randint(calls // 5, calls * 9 // 10), *command, "--workdir", "work")
        has_work = (here / "work" / MANIFEST).exists()
        finish(here, *command, "--workdir", "work", *["--resume"] * has_work)
        resumed += has_work
        assert contents(here) == expected, f"kill {number}"
        assert not (here / "work").exists()
        shutil.rmtree(here)
    assert resumed


def test_without_a_workdir_work_goes_beside_the_output_and_is_gone_in_the_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    table = DecidedCuts.table

    def look(self: DecidedCuts) -> pa.Table:
        seen.append(sorted(path.name for path in Path().iterdir()))
        return table(self)

    monkeypatch.setattr(DecidedCuts, "table", look)
    monkeypatch.setattr(kept, "MEMORY_SHARE", 0.0)
    here, done = in_folder(folder, "plain", monkeypatch)
    assert done.exit_code == 0, done.output
    assert any("clean.jsonl.neardup-work" in names for names in seen)
    assert not (here / "clean.jsonl.neardup-work").exists()
