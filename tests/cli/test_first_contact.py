"""What people who met neardup for the first time stumbled over, each once."""

from __future__ import annotations

import json
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from click.testing import CliRunner, Result

import neardup
from neardup.cli import main
from neardup.engine import fit
from neardup.errors import InputError

ARTICLE = " ".join(f"sentence number {i} of an article on the keeping of bees" for i in range(60))
QUOTED = "the queen leaves the hive once in her life, and returns to stay among her workers for years"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def lines(*texts: str) -> str:
    return "".join(json.dumps({"id": f"d{i}", "text": text}) + "\n" for i, text in enumerate(texts))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.jsonl").write_text(lines(f"{ARTICLE} {QUOTED} {ARTICLE[:900]}", "a text of bees by itself", "another"))
    Path("test.jsonl").write_text(lines(QUOTED))


@pytest.mark.parametrize("rule", [[], ["--overlap", "gpt3"], ["--measure", "containment"]])
@pytest.mark.parametrize("held", ["", '{"id": "1", "text": ""}\n'])
def test_a_test_set_without_a_text_is_an_error_and_no_clean_bill(rule: list[str], held: str) -> None:
    Path("test.jsonl").write_text(held)
    result = run("dedup", "train.jsonl", "--protect", "test.jsonl", *rule, "-o", "clean.jsonl")
    assert result.exit_code == 1
    assert "there is no text in what is protected (test.jsonl)" in result.stderr
    assert not Path("clean.jsonl").exists()
    assert neardup.dedup(["a", "b"], protect=[""]).summary.removed == 0  # what is in memory is known


def test_a_quoted_test_text_that_similarity_does_not_find_brings_the_hint_that_does() -> None:
    result = run("dedup", "train.jsonl", "--protect", "test.jsonl", "-o", "clean.jsonl", "--json")
    told = json.loads(result.stdout)
    assert told["removed"] == 0
    (hint,) = [each for each in told["hints"] if each["kind"] == "protected"]
    assert hint["command"].endswith(" --measure containment")
    again = run(*hint["command"].split()[1:])
    assert json.loads(again.stdout)["removed"] == 1
    assert [each for each in json.loads(again.stdout)["hints"] if each["kind"] == "protected"] == []


def test_copies_inside_the_folder_that_is_read_are_refused() -> None:
    Path("shards").mkdir()
    Path("shards", "a.jsonl").write_text(lines("one text", "another"))
    result = run("dedup", "shards", "-o", "shards/out")
    assert result.exit_code == 2
    assert "shards/out is inside the folder shards, and the next run would read the copies too" in result.stderr
    assert run("dedup", "shards", "-o", "shards-out").exit_code == 0


def test_a_folder_with_an_archive_is_cleaned_without_it_when_asked_and_that_is_told() -> None:
    Path("shards").mkdir()
    Path("shards", "a.jsonl").write_text(lines("one and the same text", "one and the same text"))
    with zipfile.ZipFile("shards/old.zip", "w") as archive:
        archive.writestr("b.jsonl", lines("a text in an archive"))
    refused = run("dedup", "shards", "-o", "clean")
    assert refused.exit_code != 0
    assert "With --on-bad skip" in refused.stderr
    done = run("dedup", "shards", "-o", "clean", "--on-bad", "skip", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["documents"], told["removed"]) == (2, 1)
    (over,) = told["passed_over"]
    assert (over["reason"], over["suffix"], over["count"]) == ("no clean copy", ".zip", 1)
    assert [path.name for path in Path("clean").iterdir()] == ["a.jsonl"]
    again = run("dedup", "shards", "-o", "clean2", "--on-bad", "skip")
    assert "1 .zip of which no clean copy is made" in " ".join(again.stderr.split())


def test_a_copy_with_other_line_breaks_in_another_kind_of_file_is_found_by_what_the_hint_names() -> None:
    letter = " ".join(f"item{i * 7919 % 1000} of {i}" for i in range(200))
    Path("leak").mkdir()
    Path("leak", "letter.txt").write_text(textwrap.fill(letter, 30))
    Path("leak", "letter.html").write_text(f"<html><body><p>{letter}</p></body></html>")
    told = json.loads(run("find", "leak", "-o", "pairs.csv", "--json").stdout)
    (hint,) = [each for each in told["hints"] if each["kind"] == "layout"]
    assert told["pairs"] == 0
    assert ".html, .txt" in hint["text"]
    again = run(*hint["command"].split()[1:])
    assert json.loads(again.stdout)["pairs"] == 1
    Path("leak", "letter.html").unlink()
    alone = json.loads(run("find", "leak", "-o", "pairs.csv", "--json").stdout)
    assert [each for each in alone["hints"] if each["kind"] == "layout"] == []


def test_several_patterns_are_read_all() -> None:
    Path("mixed").mkdir()
    for name in ("a.jsonl", "b.txt", "c.md"):
        Path("mixed", name).write_text(lines("a text in a line") if name == "a.jsonl" else f"the text of {name}")
    result = run("find", "mixed", "--glob", "*.jsonl", "--glob", "*.txt", "-o", "pairs.csv", "--json")
    assert json.loads(result.stdout)["documents"] == 2


def test_who_has_to_mend_an_input_is_not_told_to_resume() -> None:
    Path("many.jsonl").write_text(lines("a", "b") + "{broken\n")
    result = run("find", "many.jsonl", "-o", "pairs.csv", "--workdir", "work")
    assert result.exit_code == 1
    assert "resume" not in result.stderr
    assert not Path("work").exists()  # there is nothing in it yet that a later run could go on with


def test_figures_of_texts_without_a_candidate_are_drawn() -> None:
    Path("two.jsonl").write_text(lines("nothing of this is in the other", "quite something else altogether"))
    result = run("figures", "two.jsonl", "-o", "drawn", "--only", "bands", "--only", "similarities")
    assert result.exit_code == 0, result.stderr
    drawn = {path.name for path in Path("drawn").iterdir()}
    assert drawn == {"bands.png", "bands.csv", "similarities.png", "similarities.csv"}


def test_explain_says_that_the_name_of_a_file_is_taken_as_a_text() -> None:
    Path("a.txt").write_text("Nadal")
    result = run("explain", "a.txt", "Nadia")
    assert result.exit_code == 0
    assert "a.txt is taken as a text. To explain what is in that file, give --file a.txt" in result.stderr
    assert run("explain", "Nadal", "Nadia").stderr == ""


@pytest.mark.parametrize("name", ["report.html", "REPORT.HTM"])
def test_a_report_named_like_a_page_is_one_file(name: str) -> None:
    assert run("report", "train.jsonl", "-o", name, "-q").exit_code == 0
    assert Path(name).is_file()
    assert neardup.report("train.jsonl", name).files == 1


def test_words_of_other_programs_name_the_parameter() -> None:
    with pytest.raises(TypeError, match=r"argument 'num_perm'\. Did you mean 'slots'\?"):
        neardup.find(["a"], num_perm=128)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"argument 'for_'\. Did you mean 'preset'\?"):
        neardup.find(["a"], for_="essays")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Index\.create"):
        neardup.Index(threshold=0.8)  # type: ignore[call-arg]


def test_a_frame_as_a_query_is_refused_and_its_column_is_not() -> None:
    pandas = pytest.importorskip("pandas")
    frame: Any = pandas.DataFrame({"id": ["x"], "text": [QUOTED]})
    index = neardup.Index.create(threshold=0.5)
    index.add(["q"], [QUOTED])
    with pytest.raises(InputError, match=r"a whole DataFrame\. Give one column of it"):
        index.query(frame)
    assert [[hit.id for hit in hits] for hits in index.query(frame["text"])] == [["q"]]


def test_what_is_shown_of_a_result_says_which_column_was_guessed_and_that_marking_removes_nothing() -> None:
    Path("odd.csv").write_text("id,headline\n1,a text\n2,another text\n")
    assert "text from headline" in repr(neardup.find("odd.csv"))
    assert "text from" not in repr(neardup.find("train.jsonl"))
    same = pyarrow.table({"text": ["a text of some length"] * 2})
    marked = neardup.dedup(same, annotate=True)
    assert repr(marked) == "<neardup.Cleaned: 2 documents at 0.8, 1 marked, none removed>"


@pytest.mark.parametrize(
    "args",
    [
        ["plan", "titles.jsonl", "--rule", "area", "--weights", "0.3,0.7"],
        ["find", "-o", "pairs.csv", "--", "-dash.jsonl"],
        ["index", "build", "there.index", "titles.jsonl"],
        ["dedup", "titles.jsonl", "-o", "clean.jsonl", "--seed", "3", "--threads", "1", "--on-bad", "skip"],
    ],
    ids=lambda args: args[0],
)
def test_the_command_of_a_hint_keeps_what_was_typed_and_runs(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fixture ``every_hint_runs`` runs it."""
    monkeypatch.chdir(tmp_path)
    for name in ("titles.jsonl", "-dash.jsonl"):
        lines = (json.dumps({"text": f"number {n}: a title of few words"}) for n in range(300))
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
    done = CliRunner().invoke(main, args, prog_name="neardup")
    assert done.exit_code == 0, done.stderr
    assert "try: neardup " in done.stdout + done.stderr


def test_a_hint_at_containment_leaves_out_the_options_that_containment_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hint = fit.Hint(fit.PASSAGES, "Made for this test.", options={"measure": "containment", "threshold": 0.5})
    monkeypatch.setattr("neardup.session.fit", lambda *_: (hint,))
    (tmp_path / "docs.jsonl").write_text('{"text": "a rose is a rose"}\n', encoding="utf-8")
    options = ["--slots", "64", "--sketch", "universal", "--audit", "10", "-o", "pairs.csv"]
    done = CliRunner().invoke(main, ["find", "docs.jsonl", *options], prog_name="neardup")
    assert "try: neardup find docs.jsonl -o pairs.csv" in done.stderr.replace("--output", "-o")
