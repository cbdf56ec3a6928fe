"""The log of a run: what is in it and what is not, where it goes, and that nothing else is on stderr beside it."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_config import run

import neardup
from neardup import logs

SECRET = "zyxwvut"
DOCUMENTS = [
    {"id": "a", "text": f"the quick brown fox {SECRET} jumps over the lazy dog"},
    {"id": "b", "text": f"the quick brown fox {SECRET} jumps over the lazy cat"},
    {"id": "c", "text": f"something else with {SECRET} in it"},
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [*map(json.dumps, DOCUMENTS), f"{SECRET} is no JSON", ""]
    Path("docs.jsonl").write_text("\n".join(lines))
    return tmp_path


def records(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


FIND = ("find", "docs.jsonl", "-t", "0.5", "--on-bad", "skip", "-o", "pairs.csv")


def test_a_log_in_json_is_all_that_stands_on_stderr(here: Path) -> None:
    done = run(*FIND, "--log-format", "json")
    assert done.exit_code == 0
    told = records(done.stderr)
    events = [each["event"] for each in told]
    assert (events[0], events[-2:]) == ("began", ["summary", "ended"])
    for each in told:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", each["time"])
        assert each["level"] in logs.LEVELS
        assert each["message"]
    begun = [each["stage"] for each in told if each["event"] == "stage_began"]
    ended = [each for each in told if each["event"] == "stage_ended"]
    assert [each["stage"] for each in ended] == begun
    assert begun[0] == "read"
    assert all(each["seconds"] >= 0 for each in ended)
    assert ended[0]["done"] == Path("docs.jsonl").stat().st_size
    skipped = [each for each in told if each["event"] == "skipped"]
    assert [(each["source"], each["row"], each["level"]) for each in skipped] == [("docs.jsonl", 4, "warning")]
    summary = told[-2]["summary"]
    assert (summary["documents"], summary["bad"], summary["pairs"]) == (3, 1, 1)
    assert told[-1]["exit_code"] == 0


@pytest.mark.parametrize(
    "words",
    [
        FIND,
        ("dedup", "docs.jsonl", "-t", "0.5", "--on-bad", "skip", "-o", "clean.jsonl", "--show", "1"),
        ("passages", "docs.jsonl", "--min-chars", "5", "--on-bad", "skip", "-o", "spans.csv"),
        ("report", "docs.jsonl", "-t", "0.5", "--on-bad", "skip", "-o", "report"),
        ("index", "build", "a.index", "docs.jsonl", "--on-bad", "skip"),
        ("compare", "a", "b", "--in", "docs.jsonl"),
        ("explain", f"{SECRET} one two three", f"{SECRET} one two four"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("is_failing", [False, True])
def test_no_text_of_a_document_is_in_a_log(here: Path, words: tuple[str, ...], is_failing: bool) -> None:
    if is_failing:
        words = tuple("fail" if word == "skip" else word for word in words)
    done = run(*words, "--log-file", "run.log", "--log-level", "debug", "--log-format", "json")
    log = Path("run.log").read_text()
    assert SECRET not in log
    last = records(log)[-1]
    assert last.get("exit_code") == done.exit_code
    assert (last["event"] == "failed") == (done.exit_code != 0)


def test_a_file_is_written_behind_and_stderr_stays_as_it_is(here: Path) -> None:
    plain = run(*FIND)
    Path("run.log").write_text("before\n")
    done = run(*FIND, "--log-file", "run.log")
    # which stages took time is said when any took long enough to tell
    labels = [[line[:14] for line in each.stderr.splitlines() if line[:5] != "time "] for each in (plain, done)]
    assert labels[0] == labels[1]
    lines = Path("run.log").read_text().splitlines()
    assert lines[0] == "before"
    assert all(re.match(r"\S+Z (INFO|WARNING) neardup\.(run|inputs): \S", line) for line in lines[1:])


def test_an_error_is_the_last_record_and_nothing_else_is_said(here: Path) -> None:
    done = run("find", "docs.jsonl", "--log-format", "json")
    assert done.exit_code == 1
    told = records(done.stderr)
    assert (told[-1]["event"], told[-1]["level"], told[-1]["exit_code"]) == ("failed", "error", 1)
    assert "docs.jsonl:4: no valid JSON" in told[-1]["message"]
    assert "stage_broken" in [each["event"] for each in told]


def test_only_what_is_from_the_level_on_is_logged(here: Path) -> None:
    done = run(*FIND, "--log-level", "warning", "--log-format", "json")
    assert [each["event"] for each in records(done.stderr)] == ["skipped"]
    assert logging.getLogger("neardup").level == logging.NOTSET


def test_a_control_character_of_a_name_does_not_reach_the_log(here: Path) -> None:
    name = "docs\x1b[31m\n.jsonl"
    Path(name).write_text("{}\n")
    done = run("find", name, "--on-bad", "skip", "--log-format", "text")
    assert "\x1b" not in done.stderr
    assert all(re.match(r"\S+Z [A-Z]+ neardup", line) for line in done.stderr.splitlines())


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("docs.jsonl", "is the file of an argument (inputs) too"),
        ("pairs.csv", "is the file of --output too"),
        ("-", "is no file"),
        ("none/run.log", "cannot write the log file none/run.log: No such file or directory"),
        (".", "cannot write the log file .: Is a directory"),
    ],
)
def test_a_log_is_not_written_over_what_the_run_reads_or_writes(here: Path, file: str, told: str) -> None:
    before = Path("docs.jsonl").read_text()
    done = run(*FIND, "--log-file", file)
    assert done.exit_code == 2
    assert told in done.stderr
    assert Path("docs.jsonl").read_text() == before
    assert not Path("pairs.csv").exists()


def test_a_log_that_would_be_read_as_an_input_is_refused_and_leaves_nothing(here: Path) -> None:
    done = run("find", ".", "--log-file", "notes.txt")
    assert (done.exit_code, Path("notes.txt").exists()) == (2, False)
    assert "notes.txt is an input too" in done.stderr


@pytest.mark.parametrize(
    ("words", "file", "told"),
    [
        (("find", "texts", "-o", "pairs.csv"), "texts/a.txt", "texts/a.txt is an input too"),
        (("find", "texts", "-o", "pairs.csv"), "texts/empty.txt", "texts/empty.txt is an input too"),
        (("dedup", "docs.jsonl", "--protect", "texts", "-o", "clean.jsonl"), "texts/a.txt", "is an input too (texts)"),
        (("report", "docs.jsonl", "--originals", "texts", "-o", "page"), "texts/a.txt", "is an input too (texts)"),
        (("find", "docs.jsonl", "--config", "c.toml", "-o", "pairs.csv"), "c.toml", "the file of --config too"),
        (("find", "docs.jsonl", "-o", "pairs.csv"), "pairs.csv.spec.json", "the file of --output too"),
        (("report", "docs.jsonl", "-o", "old"), "old/a.log", "old/a.log is in the folder of --output"),
        (("index", "add", "a.index", "docs.jsonl"), "a.index/LOCK", "is in the folder of an argument (index)"),
    ],
)
def test_a_log_never_writes_a_file_that_the_run_reads_or_makes(
    here: Path, words: tuple[str, ...], file: str, told: str
) -> None:
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("a text of its own")
    Path("texts/empty.txt").touch()
    Path("c.toml").write_text("threshold = 0.5\n")
    Path("old").mkdir()
    assert run("index", "build", "a.index", "docs.jsonl", "--on-bad", "skip").exit_code == 0
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    done = run(*words, "--log-file", file)
    assert done.exit_code == 2
    assert told in done.stderr
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_the_variables_of_all_commands_set_it_up(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_LOG_FILE", "all.log")
    assert run(*FIND).exit_code == 0
    assert run("plan", "-t", "0.7").exit_code == 0
    assert "neardup plan begins" in Path("all.log").read_text()


def test_python_gets_the_same_records_where_it_listens(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="neardup"):
        found = neardup.find("docs.jsonl", threshold=0.5, on_bad="skip")
    facts = [record.fields for record in caplog.records]  # type: ignore[attr-defined]
    done = run(*FIND, "--log-format", "json")
    assert [each["event"] for each in facts] == [each["event"] for each in records(done.stderr)[1:-1]]
    assert facts[-1]["summary"]["pairs"] == found.summary.pairs == 1
    assert SECRET not in caplog.text


def test_python_is_told_nothing_where_nobody_listens(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    neardup.find("docs.jsonl", threshold=0.5, on_bad="skip")
    assert capfd.readouterr() == ("", "")


def test_a_full_disk_under_the_log_ends_no_run(here: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    done = run(*FIND, "--log-file", "/dev/full")
    assert done.exit_code == 0
    assert done.stderr.count("the log cannot be written to /dev/full") == 1


def test_a_log_whose_folder_goes_away_ends_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "logs/a.log"
    log.parent.mkdir()
    with logs.writing(file=str(log)):
        logs.RUN.info("one")
        log.unlink()
        log.parent.rmdir()
        for each in ("two", "three"):
            logs.RUN.info(each)
    assert capsys.readouterr().err.count("the log cannot be written") == 1


def test_a_log_that_is_moved_away_goes_on_in_a_new_file(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    with logs.writing(file=log):
        logs.RUN.info("one")
        log.rename(tmp_path / "a.log.1")
        logs.RUN.info("two")
    assert "two" in log.read_text()
    assert "two" not in (tmp_path / "a.log.1").read_text()
