"""Inputs that change between the reading in which cuts are decided on and the one in which copies are written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.cli.test_passages_resumed import Stopped, stop_behind
from tests.unit.test_rewrite_changed import ALONE, FOLDERS, FORMATS, KEEPER, ROWS, TEXTS, place_for, with_old_times

from neardup.cli import main
from neardup.tasks.dedup import run as cleaning_run
from neardup.tasks.repeats.decided import DecidedCuts

PAGES = [f"{text} {TEXTS[6 + i % 6][i : 90 + i]}" for i, text in enumerate(ROWS)]
"""The first place of each text is in an earlier page; the pages themselves differ."""


def edited(place: int) -> list[str]:
    return [TEXTS[9][: len(page)].ljust(len(page), "x") if i == place else page for i, page in enumerate(PAGES)]


CHANGES = {
    "half of it": PAGES[:5],
    "one more": [*PAGES, TEXTS[9]],
    "a first place": edited(KEEPER),
    "a text alone": edited(ALONE),
}


def cut(path: Path, output: Path, *more: str) -> Result:
    options = FORMATS[path.name][2]
    how = ["--input-format", options["input_format"]] if options else []
    words = ["passages", str(path), "--cut", "first", "-o", str(output), "--threads", "1", "-q", *how, *more]
    return CliRunner().invoke(main, words, prog_name="neardup")


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Have something done when the cuts are decided on and nothing is written."""

    def do(change: Callable[[], None]) -> None:
        plain = DecidedCuts.__init__

        def decide(*args: Any) -> None:
            plain(*args)
            change()

        monkeypatch.setattr(DecidedCuts, "__init__", decide)

    return do


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.lines", "in.parquet", "texts"])
@pytest.mark.parametrize("change", CHANGES)
def test_passages_refuses_an_input_that_changed(name: str, change: str, tmp_path: Path, between: Any) -> None:
    write, path = FORMATS[name][0], tmp_path / name
    write(path, PAGES)
    output = place_for(path)
    before = output.read_bytes() if output.is_file() else None
    between(lambda: with_old_times(path, lambda: write(path, CHANGES[change])))
    done = cut(path, output)
    if name in FOLDERS and change == "one more":  # a file that comes later is not of the input
        assert done.exit_code == 0
        return
    assert done.exit_code == 1
    assert name in done.stderr
    assert "start" in done.stderr
    assert (output.read_bytes() if output.is_file() else None) == before


def test_rights_and_a_like_file_in_its_place_change_nothing(tmp_path: Path, between: Any) -> None:
    write, read, _ = FORMATS["in.jsonl"]
    path = tmp_path / "in.jsonl"
    write(path, PAGES)
    assert cut(path, tmp_path / "wanted.jsonl").exit_code == 0

    def touch() -> None:
        path.chmod(0o600)
        with_old_times(path, lambda: path.write_bytes(path.read_bytes()) and None)

    between(touch)
    assert cut(path, tmp_path / "out.jsonl").exit_code == 0
    assert read(tmp_path / "out.jsonl") == read(tmp_path / "wanted.jsonl")
    assert read(tmp_path / "out.jsonl") != PAGES


@pytest.mark.parametrize("command", ["passages", "dedup"])
def test_a_keeper_edited_before_a_run_is_resumed_is_noticed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Size and time of the file are what they were, and so are those that the interrupted run has in its identity."""
    path, work = tmp_path / "in.jsonl", tmp_path / "work"
    texts = PAGES if command == "passages" else ROWS
    FORMATS["in.jsonl"][0](path, texts)
    how = ["--cut", "first"] if command == "passages" else ["--keep", "first"]
    words = [command, str(path), *how, "-o", str(tmp_path / "out.jsonl"), "--workdir", str(work), "-q"]
    with monkeypatch.context() as patched:
        stop_behind("walked", patched)
        patched.setattr(cleaning_run, "choose", lambda *_: (_ for _ in ()).throw(Stopped))
        assert CliRunner().invoke(main, words).exit_code == 1
    new = [TEXTS[10].ljust(len(text), "x")[: len(text)] if i == KEEPER else text for i, text in enumerate(texts)]
    with_old_times(path, lambda: FORMATS["in.jsonl"][0](path, new))
    done = CliRunner().invoke(main, [*words, "--resume"])
    assert done.exit_code == 1
    assert "in.jsonl was changed" in done.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_a_column_that_groups_must_be_of_the_file_whose_texts_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from neardup.tasks.repeats import run

    path, plain = tmp_path / "in.jsonl", run.group_documents
    path.write_text("".join(json.dumps({"text": page, "site": "a"}) + "\n" for page in PAGES))

    def group(*args: Any) -> Any:
        found = plain(*args)
        os.utime(path, (1, 1))
        return found

    monkeypatch.setattr(run, "group_documents", group)
    done = CliRunner().invoke(main, ["passages", str(path), "--group-by", "column:site", "-q"])
    assert done.exit_code == 1
    assert "in.jsonl was written to" in done.stderr
