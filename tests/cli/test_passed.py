"""What is passed over is said wherever a folder is read: on stderr, in --json, in the report, and in Python."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import neardup
from neardup.cli import main
from neardup.inputs.passed import PassedOver, passed_rows, passed_words
from neardup.inputs.reader import open_inputs

TEXT = "one and the same text, word for word, and long enough to be compared as it is"
WANTED = {
    ("suffix", ".doc"): 3, ("suffix", ".jpg"): 2, ("suffix", ".wps"): 1, ("suffix", ".msg"): 1,
    ("hidden folder", ""): 1, ("hidden file", ""): 1, ("lock file", ""): 1, ("file linked twice", ""): 1,
}  # fmt: skip
LINE = (
    "3 .doc, 2 .jpg, 1 .msg, 1 .wps; 1 hidden file (.DS_Store); 1 hidden folder (.git); 1 lock file (~$a.docx); "
    "1 link to a file read by another name (link.txt)"
)
CURE = "3 .doc, 1 .wps: save them as .docx (LibreOffice: soffice --headless --convert-to docx *.doc *.wps)"

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in a folder where ``c`` holds two texts and much else."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "c"
    (folder / ".git").mkdir(parents=True)
    for i in range(50):
        (folder / ".git" / f"{i}.txt").write_text(TEXT)
    for name in ("a.doc", "b.DOC", "c.doc", "a.jpg", "b.jpg", "a.wps", "a.msg", ".DS_Store", "~$a.docx"):
        (folder / name).write_bytes(b"\xd0\xcf\x11\xe0")
    for i in range(2):
        (folder / f"{i}.txt").write_text(TEXT)
    (folder / "link.txt").symlink_to("0.txt")

    def run(*args: str) -> Result:
        result = CliRunner().invoke(main, list(args), prog_name="neardup")
        assert result.exit_code == 0, result.output
        return result

    return run


def _table(passed: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    return {(each["reason"], each["suffix"]): each["count"] for each in passed}


def test_find_says_what_it_passed_over_and_what_to_do(run: Run) -> None:
    lines = run("find", "c", "-o", "pairs.csv").stderr.splitlines()
    at = lines.index(f"passed over   {LINE}")
    assert lines[at - 1].startswith("documents")
    assert lines[at + 1 : at + 3] == [
        f"{'':14}{CURE}",
        f"{'':14}1 .msg: save the messages as .eml or .mbox with the program for mail",
    ]


@pytest.mark.parametrize(
    "args",
    [
        ["find", "c", "--json"],
        ["dedup", "c", "-o", "clean", "--json"],
        ["dedup", "c", "--dry-run", "--json"],
        ["audit", "c", "--json"],
        ["index", "build", "x.index", "c", "--json"],
    ],
    ids=" ".join,
)
def test_json_has_the_whole_table(run: Run, args: list[str]) -> None:
    assert _table(json.loads(run(*args).stdout)["passed_over"]) == WANTED


def test_the_json_of_a_plan_has_it_with_the_collection(run: Run) -> None:
    assert _table(json.loads(run("plan", "c", "--json").stdout)["collection"]["passed_over"]) == WANTED


@pytest.mark.parametrize("args", [["audit", "c"], ["plan", "c"], ["find", "c", "--dry-run"]], ids=" ".join)
def test_answers_on_stdout_tell_of_it(run: Run, args: list[str]) -> None:
    assert f"passed over   {LINE}" in run(*args).stdout


def test_the_commands_of_an_index_tell_of_it(run: Run) -> None:
    run("index", "create", "x.index")
    assert LINE in run("index", "add", "x.index", "c").stderr
    assert LINE in run("index", "add", "x.index", "c", "--if-new", "--on-duplicate", "skip").stderr
    assert LINE in run("index", "query", "x.index", "c").stderr
    for args in (["query", "x.index", "c"], ["add", "x.index", "c", "--if-new", "--on-duplicate", "skip"]):
        told = json.loads(run("index", *args, "-o", "out.csv", "--json").stdout)
        assert _table(told["passed_over"]) == WANTED


def test_the_figures_tell_of_it(run: Run) -> None:
    pytest.importorskip("matplotlib")
    assert LINE in run("figures", "c", "-o", "f", "--only", "s-curves").stderr


def test_the_page_of_the_report_has_it(run: Run) -> None:
    assert LINE in run("report", "c", "-o", "r").stderr
    page = Path("r", "index.html").read_text(encoding="utf-8")
    assert "passed over" in page
    assert "3 .doc, 2 .jpg" in page


def test_dedup_says_that_a_clean_copy_is_without_it(run: Run) -> None:
    stderr = run("dedup", "c", "-o", "clean").stderr
    assert "not copied    10 files and 1 folder passed over: a clean copy has only what was read" in stderr
    assert os.listdir("clean") == ["0.txt"]


def test_dedup_says_that_what_cannot_be_opened_has_no_copy(run: Run) -> None:
    Path("c", "broken.docx").symlink_to("nowhere")
    stderr = run("dedup", "c", "-o", "clean").stderr
    assert "11 files" not in stderr
    assert "10 files and 1 folder passed over, 1 file that cannot be opened: a clean copy has only" in stderr
    assert "bad records, not compared, what can be opened is kept as it is (1):" in stderr


def test_a_glob_passes_over_on_purpose_and_says_so_in_one_phrase(run: Run) -> None:
    stderr = run("find", "c", "--glob", "?.txt", "-o", "pairs.csv").stderr
    (line,) = re.findall("passed over   (.*)", stderr)
    assert line.startswith("8 files not asked for; ")
    assert "LibreOffice" not in stderr


def test_nothing_is_said_where_nothing_was_passed_over(run: Run) -> None:
    Path("d").mkdir()
    Path("d", "a.txt").write_text(TEXT)
    assert "passed over" not in run("find", "d", "-o", "pairs.csv").stderr


def test_both_sides_of_a_search_across_are_counted(run: Run) -> None:
    Path("d").mkdir()
    for name in ("a.txt", "b.doc"):
        Path("d", name).write_text(TEXT)
    passed = json.loads(run("find", "c", "--against", "d", "--json").stdout)["passed_over"]
    assert _table(passed) == {**WANTED, ("suffix", ".doc"): 4}
    protected = json.loads(run("dedup", "c", "--protect", "d", "-o", "clean", "--json").stdout)["passed_over"]
    assert _table(protected) == _table(passed)


def test_python_has_the_same_table(run: Run) -> None:
    summary = neardup.find("c").summary
    assert {(each.reason, each.suffix): each.count for each in summary.passed_over} == WANTED
    first = summary.passed_over[0]
    assert (first.example, first.suffix, first.is_folder) == ("c/a.doc", ".doc", False)
    assert "--convert-to docx *.doc" in str(first.cure)


def test_a_hidden_folder_is_counted_once_and_not_entered(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = []
    plain = os.scandir

    def scandir(path: str) -> Any:
        entered.append(path)
        return plain(path)

    monkeypatch.setattr(os, "scandir", scandir)
    open_inputs(Path("c"))
    assert "c" in entered
    assert not [path for path in entered if ".git" in path]


def test_a_pattern_that_matches_a_folder_says_that_it_was_not_entered(run: Run) -> None:
    Path("c", "more").mkdir()
    Path("c", "more", "x.txt").write_text(TEXT)
    (row,) = open_inputs("c/[m0]*").passed_over
    assert (row.reason, row.count, row.example, row.cure) == (
        "folder", 1, "c/more", "name it to read what is in it",
    )  # fmt: skip
    assert open_inputs("c/**/x.txt").passed_over == ()


def test_what_lies_beside_a_dataset_is_counted(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    folder = tmp_path / "d"
    datasets.DatasetDict(
        {"a": datasets.Dataset.from_dict({"text": ["x"]}), "b": datasets.Dataset.from_dict({"text": ["y"]})}
    ).save_to_disk(folder)
    assert open_inputs(folder).passed_over == ()
    (folder / "README.md").touch()
    (folder / "a" / "cache-1.arrow").touch()
    assert [(each.reason, each.suffix, each.count) for each in open_inputs(folder).passed_over] == [
        ("beside a dataset", ".arrow", 1),
        ("beside a dataset", ".md", 1),
    ]


def test_a_folder_of_nothing_but_doc_files_names_the_cure(run: Run) -> None:
    Path("d").mkdir()
    Path("d", "a.doc").touch()
    result = CliRunner().invoke(main, ["find", "d"])
    assert result.exit_code == 1
    assert "It holds 1 file *.doc: save them as .docx (LibreOffice" in result.stderr


def test_a_link_round_to_itself_is_passed_over_or_bad_by_its_name(run: Run) -> None:
    Path("c", "round").symlink_to("round")
    assert _table(json.loads(run("find", "c", "--json").stdout)["passed_over"]) == {**WANTED, ("suffix", ""): 1}
    Path("c", "round.txt").symlink_to("round.txt")
    result = CliRunner().invoke(main, ["find", "c"])
    assert result.exit_code == 1
    assert "round.txt cannot be read" in result.stderr


def test_of_many_kinds_the_most_frequent_are_named() -> None:
    passed = [PassedOver("suffix", f".k{i}", 20 - i, f"x.k{i}") for i in range(9)]
    assert passed_words(passed) == "20 .k0, 19 .k1, 18 .k2, 17 .k3, 16 .k4 and 54 more of 4 kinds"
    assert len(passed_rows(passed)) == 1
    assert passed_rows([]) == []
