"""``neardup report`` says where the pages are, refuses early what cannot be, and leaves nothing when it is stopped."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.oracles.report import Read, read_report
from tests.oracles.shared import documents, word_pairs
from tests.warm import LIMIT

from neardup.cli import main

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sixty documents in two files, some of them near-copies of others."""
    draw = random.Random(7)
    lines = [" ".join("".join(draw.choices("abcdef", k=6)) for _ in range(30)) for _ in range(30)]
    records = [{"id": f"a{i}", "text": line} for i, line in enumerate(lines)]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(each) for each in records) + "\n")
    records = [{"id": f"b{i}", "text": f"{line} and more"} for i, line in enumerate(lines)]
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps(each) for each in records) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["report", *args], prog_name="neardup")
    return done.exit_code, done.stdout, done.stderr


def test_it_tells_what_was_found_and_where_the_page_is(folder: Path) -> None:
    code, out, err = run("a.jsonl", "b.jsonl", "-o", "pages", "--title", "Two files", "--audit", "20")
    assert (code, out) == (0, "")
    lines = err.splitlines()
    assert lines[0].startswith("documents     60 (")
    assert lines[-1].startswith("neardup: report in pages/index.html (")
    assert "pairs         30 of similarity 0.8 or more" in lines
    read = read_report(folder / "pages" / "index.html")
    assert read.meta["title"] == "Two files"
    assert read.meta["sources"]["names"] == ["a.jsonl", "b.jsonl"]
    assert read.meta["sources"]["pairs"] == [[0, 30], [30, 0]]
    assert read.meta["audit"]["recall"] == 1.0
    assert run("a.jsonl", "b.jsonl", "-o", "pages", "--quiet") == (0, "", "")
    assert not [path.name for path in folder.iterdir() if path.name not in ("a.jsonl", "b.jsonl", "pages")]


def test_the_pairs_of_find_make_the_same_pages(folder: Path) -> None:
    options = ("--shingle", "char:5", "-t", "0.5", "--link", "connected")
    find = CliRunner().invoke(main, ["find", "a.jsonl", "b.jsonl", *options, "-o", "pairs.csv", "--quiet"])
    assert find.exit_code == 0
    assert run("a.jsonl", "b.jsonl", *options, "-o", "one", "--quiet")[0] == 0
    code, _, err = run("a.jsonl", "b.jsonl", "--pairs", "pairs.csv", "--link", "connected", "-o", "two")
    assert code == 0, err
    one, two = (read_report(folder / name / "index.html") for name in ("one", "two"))
    assert one.chunks == two.chunks
    assert two.facts["pairs"] == "read from pairs.csv"


def test_files_of_one_folder_are_named_from_that_folder_on(folder: Path) -> None:
    (folder / "essays" / "b").mkdir(parents=True)
    for name in ("a.txt", "b/c.txt"):
        (folder / "essays" / name).write_text("one text of some words, and it is here twice")
    assert run(str(folder / "essays") + "/", "-o", "pages", "--quiet")[0] == 0
    read = read_report(folder / "pages" / "index.html")
    assert read.chunks["clusters-0000"]["keeper"] == ["a.txt"]
    members = read.chunks["pages-0000"]["clusters"]["0"]["members"]
    assert [member["id"] for member in members] == ["a.txt", "b/c.txt"]
    assert read.meta["title"] == "Near-duplicates in essays"


def test_a_report_inside_the_folder_is_no_document_of_it(folder: Path) -> None:
    (folder / "essays").mkdir()
    for name in ("a.txt", "b.html"):
        (folder / "essays" / name).write_text("one text of some words, and it is here twice")
    for _ in range(2):
        code, _, err = run("essays", "-o", "essays/report")
        assert code == 0, err
        assert "documents     2 (88 B)\n" in err


def test_what_cannot_be_read_in_a_folder_is_told_and_the_rest_is_shown(folder: Path) -> None:
    essays = folder / "essays"
    essays.mkdir()
    for name in ("a.txt", "b.txt"):
        (essays / name).write_text("one text of some words, and it is here twice")
    (essays / "gone.txt").symlink_to(folder / "nowhere")
    (essays / "empty.docx").write_bytes(b"")
    code, _, err = run("essays", "-o", "pages", "--on-bad", "skip")
    assert code == 0, err
    assert "bad records, left out (2)" in err
    assert len(read_report(folder / "pages" / "index.html").meta["faults"]) == 2


def test_a_single_file(folder: Path) -> None:
    code, _, err = run("a.jsonl", "-o", "page.html", "--single-file", "--sources", "[0-9]$")
    assert code == 0, err
    assert " report in page.html (" in err
    assert len(read_report(folder / "page.html").meta["sources"]["names"]) == 10


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("a.jsonl",), "Missing option '--output'"),
        (("-", "-o", "out"), "inputs are read twice, and stdin can be read once"),
        (("a.jsonl", "-o", "-"), "a report cannot go to stdout"),
        (("a.jsonl", "-o", "out", "--single-file"), "Give a name that ends in .html"),
        (("a.jsonl", "-o", "out", "--size", "1MB"), "size is 1000000. Give 2MB or more"),
        (("a.jsonl", "-o", "out", "--size", "big"), "size is 'big'. Give a size"),
        (("a.jsonl", "-o", "out", "--sources", "["), "which is no regular expression"),
        (("a.jsonl", "-o", "out", "--audit", "0"), "Give a whole number of 1 or more"),
        (("a.jsonl", "-o", "out", "--pairs", "p.csv", "-t", "0.5"), "Leave --threshold out"),
        (("a.jsonl", "-o", "out", "--pairs", "p.csv", "--audit", "9"), "Leave --audit out"),
        (("a.jsonl", "-o", "out", "--pairs", "p.csv", "--collapse-exact"), "Leave --collapse-exact out"),
        (("a.jsonl", "-o", "out", "--measure", "containment", "--audit", "9"), "Leave --audit out"),
        (("a.jsonl", "-o", "out", "--quiet", "--verbose"), "exclude each other"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_read(folder: Path, args: tuple[str, ...], words: str) -> None:
    (folder / "a.jsonl").write_text("not JSON, and never read\n")
    code, _, err = run(*args)
    assert code == 2
    assert words in " ".join(err.split())
    assert not (folder / "out").exists()


def test_another_folder_is_refused_before_the_search(folder: Path) -> None:
    (folder / "a.jsonl").write_text("not JSON, and never read\n")
    (folder / "mine").mkdir()
    (folder / "mine" / "letter.txt").write_text("dear")
    code, _, err = run("a.jsonl", "-o", "mine")
    assert code == 1
    assert "the folder holds 'letter.txt'" in err
    code, _, err = run("a.jsonl", "-o", "no/such/folder")
    assert code == 1
    assert "no/such/folder" in err
    assert [path.name for path in (folder / "mine").iterdir()] == ["letter.txt"]


def test_a_text_that_was_changed_since_the_pairs_were_found_is_told(folder: Path) -> None:
    find = CliRunner().invoke(main, ["find", "a.jsonl", "b.jsonl", "-o", "pairs.parquet", "--quiet"])
    assert find.exit_code == 0
    path = folder / "a.jsonl"
    path.write_text(path.read_text().replace('"text": "', '"text": "So, ', 1))
    code, _, err = run("a.jsonl", "b.jsonl", "--pairs", "pairs.parquet", "-o", "out")
    assert code == 1
    assert "have a similarity of" in err
    assert "pairs.parquet says" in err
    assert not (folder / "out").exists()


def test_ctrl_c_leaves_nothing(folder: Path) -> None:
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdefghij", k=6)) for _ in range(3000)]
    with (folder / "many.jsonl").open("w") as sink:
        for i in range(2000):
            text = " ".join(draw.choices(words, k=300))
            for copy in range(4):
                sink.write(json.dumps({"id": f"{i}-{copy}", "text": f"{text} {copy}"}) + "\n")
    before = set(folder.iterdir())
    process = subprocess.Popen(
        [sys.executable, "-m", "neardup", "report", "many.jsonl", "-o", "out", "--threads", "1"],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not any(".part" in path.name for path in folder.iterdir()):
            assert process.poll() is None, process.stderr.read() if process.stderr else ""
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "interrupted, nothing written" in err
    assert set(folder.iterdir()) == before


@pytest.fixture(scope="module")
def plagiarism(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """The report of the collection of plagiarised answers."""
    out = tmp_path_factory.mktemp("plagiarism") / "report"
    texts = shared_data / "clough_stevenson" / "texts"
    search = ("--shingle", "word:3", "-t", "0.5", "--normalize", "nfc,casefold", "--link", "connected")
    code, _, err = run(str(texts), *search, "-o", str(out), "--quiet")
    assert code == 0, err
    return read_report(out / "index.html")


@pytest.mark.shared_data
def test_plagiarised_answers_stand_beside_what_they_were_copied_from(shared_data: Path, plagiarism: Read) -> None:
    names, texts = documents("clough_stevenson")
    true = {pair: j for pair, j in word_pairs("clough_stevenson").items() if j >= 0.5}
    assert plagiarism.meta["counts"] == {**plagiarism.meta["counts"], "documents": 100, "pairs": len(true)}
    of = dict(zip(names, texts, strict=True))
    shown = set()
    for number in range(len(plagiarism.rows)):
        cluster, pieces = plagiarism.page(number)
        ids = [Path(member["id"]).stem for member in cluster["members"]]
        assert [text.strip() for text in pieces] == [of[name].strip() for name in ids]
        for pair in cluster["pairs"]:
            a, b = sorted((ids[pair["a"]], ids[pair["b"]]))
            shown.add((a, b))
            if (a, b) in true:
                assert pair["similarity"] == pytest.approx(true[a, b], abs=1e-4)
            else:
                assert pair["similarity"] < 0.5
    assert set(true) <= shown
    assert not any("not in one cluster" in limit for limit in plagiarism.meta["limits"])
