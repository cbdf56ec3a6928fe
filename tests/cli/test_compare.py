"""``neardup compare``: files, ids of collections and of indexes, what goes where, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.oracles.compare import SGR, read_coloured
from tests.properties.test_compare import assert_harmless

import neardup
from neardup.cli import Commands
from neardup.tasks.compare.public import compare

A = "The quick brown fox jumps over the lazy dog.\nThen it sleeps.\n"
B = "See: the quick brown fox jumps over a lazy dog.\nThen it wakes up.\n"

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``neardup compare …`` in a folder with a.txt and b.txt, for a terminal of 80 columns without colour."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    Path("a.txt").write_text(A, encoding="utf-8")
    Path("b.txt").write_text(B, encoding="utf-8")
    main = Commands("neardup", registry={"compare": ("neardup.cli.compare", "Compare.")})

    def call(*args: str, **options: object) -> Result:
        return CliRunner().invoke(main, ["compare", *args], prog_name="neardup", **options)

    return call


def collection(name: str = "c.jsonl") -> str:
    records = [{"id": "a", "text": A}, {"id": "b", "text": B}, {"id": 7, "text": A + B}, {"id": "dup", "text": "x"}]
    Path(name).write_text("".join(json.dumps(each) + "\n" for each in [*records, records[-1]]), encoding="utf-8")
    return name


def told(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_two_files_are_shown_with_their_passages(run):
    result = run("a.txt", "b.txt", "--shingle", "word:3", "-t", "0.5")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "A             a.txt: 61 characters, 10 distinct shingles",
        "B             b.txt: 66 characters, 12 distinct shingles",
        "Jaccard       0.2941, 5 of 17 shingles; below the threshold 0.5",
        "contained     50.0 % of A in B, 41.7 % of B in A",
        "estimate      0.3281 ± 0.0403 by 128 slots",
        "bands         42x3: 66.1 % of pairs this similar agree in some band; this one in 2: found",
        "passages      2 in A, 2 in B; the longest has 26 characters, from 4 in A and 9 in B",
        "covered       70.5 % of A, 65.2 % of B",
        "compared by   word:3, normalised by nfc",
        "",
        "A  a.txt",
        "  1 The [1]quick brown fox jumps over[/1] {the} [2]lazy dog.",
        "  2 Then it[/2] sleeps.",
        "  3 ",
        "",
        "B  b.txt",
        "  1 See: the [1]quick brown fox jumps over[/1] {a} [2]lazy dog.",
        "  2 Then it[/2] wakes up.",
        "  3 ",
    ]
    closing = r"neardup: similarity 0\.2941, 2 passages in A, 2 in B, .* s, spec [0-9a-f]{12}\n"
    assert re.fullmatch(closing, result.stderr)
    other = run("a.txt", "b.txt", "--shingle", "word:3", "-t", "0.5", "--seed", "3")
    assert "; this one in 2, too few bits: not found\n" in other.stdout


def test_the_bands_are_said_to_find_the_pair_or_not(run):
    assert "100 % of pairs this similar agree in some band; this one in 21: found\n" in run("a.txt", "a.txt").stdout
    assert "; this one in none: not found\n" in run("a.txt", "b.txt").stdout


def test_json_is_one_object_with_the_measures(run):
    answer = told(run("a.txt", "b.txt", "--json", "--shingle", "char:5", "--seed", "4", "--quiet"))
    assert answer == {"a": "a.txt", "b": "b.txt", **compare(A, B, shingle="char:5", seed=4).as_dict()}
    assert {"jaccard", "containment_a_in_b", "containment_b_in_a", "estimate", "passages"} <= set(answer)
    result = run("a.txt", "b.txt", "--json", "--quiet")
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("option", "value", "name"),
    [
        ("--shingle", "word:2", "shingle"), ("--normalize", "nfkc,casefold", "normalize"), ("-t", "0.4", "threshold"),
        ("--recall", "0.9", "recall"), ("--slots", "64", "slots"), ("--bands", "16x2", "bands"),
        ("--sketch", "independent", "sketch"), ("--seed", "9", "seed"),
    ],
)  # fmt: skip
def test_every_option_reaches_the_comparison(run, option, value, name):
    typed = {"threshold": float, "recall": float, "slots": int, "seed": int}.get(name, str)(value)
    plain, changed = compare(A, B).as_dict(), compare(A, B, **{name: typed}).as_dict()
    assert plain != changed
    answer = told(run("a.txt", "b.txt", "--json", option, value))
    assert answer == {"a": "a.txt", "b": "b.txt", **changed}


def test_colours_are_for_terminals(run, monkeypatch):
    assert "\x1b" not in run("a.txt", "b.txt").stdout
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    output = run("a.txt", "b.txt").stdout
    assert [seen.text for seen in read_coloured(output[output.index("\n\n") :])] == [A, B]
    monkeypatch.setenv("NO_COLOR", "1")
    output = run("a.txt", "b.txt").stdout
    assert not re.search(r"\x1b\[[0-9;]*[34][0-7]m", output)
    assert "[/1]" in output


def test_side_by_side_where_there_is_room(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    rows = [line.split(" │ ") for line in run("a.txt", "b.txt").stdout.splitlines() if "│" in line]
    assert [row[0][:10].rstrip() for row in rows] == ["A  a.txt", "  1 T[1]he", "    dog.", "  2 Then i", "  3"]
    assert rows[0][1] == "B  b.txt"
    assert [row[1][:3].strip() for row in rows[1:]] == ["1", "", "2", "3"]


def test_stdin_is_one_of_the_two(run):
    assert told(run("-", "b.txt", "--json", input=A))["jaccard"] == compare(A, B).jaccard
    assert told(run("a.txt", "-", "--json", input=B))["b"] == "-"
    result = run("-", "-", input=A)
    assert result.exit_code == 2
    assert "stdin is one document" in result.stderr


def test_ids_of_a_collection(run):
    name = collection()
    assert told(run("a", "b", "--in", name, "--json"))["jaccard"] == compare(A, B).jaccard
    assert told(run("7", "b", "--in", name, "--json"))["jaccard"] == compare(A + B, B).jaccard
    assert told(run("./a.txt", "./b.txt", "--in", ".", "--json"))["jaccard"] == compare(A, B).jaccard
    assert told(run("a", "a.txt", "--in", name, "--in", "a.txt", "--json"))["jaccard"] == 1.0
    Path("rows.csv").write_text("key,body\nx,one and the same\ny,one and the other\n", encoding="utf-8")
    answer = told(run("x", "y", "--in", "rows.csv", "--id", "key", "--text", "body", "--json"))
    assert answer["jaccard"] == neardup.jaccard("one and the same", "one and the other")


def test_ids_that_are_not_there_or_not_one(run):
    name = collection()
    result = run("a", "dap", "--in", name)
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: there is no document 'dap' among 5. Did you mean 'dup'?\n",
    )
    result = run("a", "dup", "--in", name)
    assert (result.exit_code, "the id 'dup' belongs to 2 documents" in result.stderr) == (1, True)
    result = run("a", "b")
    assert (result.exit_code, "there is no file 'a'" in result.stderr, "--in" in result.stderr) == (1, True, True)


def test_a_file_of_several_documents_is_no_document(run):
    name = collection()
    result = run("a.txt", name)
    assert result.exit_code == 1
    assert "c.jsonl holds more than one document ('a', 'b' …)" in result.stderr
    Path("none.jsonl").write_text("")
    result = run("a.txt", "none.jsonl")
    assert (result.exit_code, "none.jsonl holds no document" in result.stderr) == (1, True)


def test_an_index_brings_its_settings(run):
    settings = {"shingle": "word:2", "threshold": 0.5, "normalize": "nfc,casefold", "seed": 5}
    with neardup.Index.create("i", **settings) as index:
        index.add(["a", "7", "c"], [A, B, "other"])
    answer = told(run("a", "7", "--in", "i", "--json"))
    assert answer == {"a": "a", "b": "7", **compare(A, B, **settings).as_dict()}
    assert told(run("a", "7", "--in", "i", "--json", "--shingle", "word:2"))["jaccard"] == answer["jaccard"]
    result = run("a", "7", "--in", "i", "--shingle", "char:5")
    assert (result.exit_code, "--shingle is char:5, and i was made with word:2" in result.stderr) == (2, True)
    result = run("a", "7", "--in", "i", "--text", "body")
    assert (result.exit_code, "i is an index, which is not read by --text" in result.stderr) == (2, True)
    result = run("a", "7", "--in", "i", "--in", "a.txt")
    assert (result.exit_code, "can be the only --in" in result.stderr) == (2, True)
    result = run("a", "77", "--in", "i")
    assert (result.exit_code, "no document '77' among 3. Did you mean '7'?" in result.stderr) == (1, True)


def test_sets(run):
    Path("s.txt").write_text("red green\nblue", encoding="utf-8")
    Path("s.jsonl").write_text('{"id": 1, "text": ["red", "light blue"]}\n{"id": 2, "text": ["red", "blue"]}\n')
    found = told(run("s.txt", "s.txt", "--shingle", "item", "--json"))
    assert found["shingles"] == {"a": 3, "b": 3, "common": 3}
    found = told(run("1", "2", "--in", "s.jsonl", "--shingle", "item", "--json"))
    assert found["shingles"] == {"a": 2, "b": 2, "common": 1}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--json", "--full"], "Leave --full out"),
        (["--quiet", "--verbose"], "exclude each other"),
        (["--bands", "40x8", "--slots", "64"], "needs 320 slots"),
        (["--glob", "*.txt"], "--glob is for the folders of a collection"),
        (["-t", "2"], "threshold is 2"),
        (["--html", "a.txt"], "a.txt is an input too"),
    ],
)
def test_wrong_usage(run, args, said):
    result = run("a.txt", "b.txt", *args)
    assert (result.exit_code, said in result.stderr) == (2, True), result.stderr


def test_long_texts_are_shown_in_windows_unless_all_is_asked_for(run):
    filler = "".join(f"{i} " for i in range(5000))
    Path("long.txt").write_text(f"{filler}{A}{filler}", encoding="utf-8")
    result = run("long.txt", "a.txt")
    assert len(result.stdout) < 8000
    assert "quick brown fox" in result.stdout
    notes = re.findall(r"… ([\d,]+) characters …", result.stdout)
    left_out = sum(int(note.replace(",", "")) for note in notes)
    assert f"{left_out:,} characters of A are left out; --full shows all" in result.stdout
    full = run("long.txt", "a.txt", "--full")
    assert "left out" not in full.stdout
    assert "4999" in full.stdout


def test_hostile_texts_do_nothing(run, monkeypatch):
    hostile = "<script>alert(1)</script>\x1b[2J\x1b]0;title\x07\x9b31m\u202edesrever\u2066\r\n\0e" + "\u0301" * 3000
    Path("a.txt").write_bytes((hostile + "x" * 1_000_000).encode())
    Path("b.txt").write_bytes(("y" * 1_000_000 + hostile).encode())
    narrow = ""
    for width in ("140", "40"):
        monkeypatch.setenv("COLUMNS", width)
        result = run("a.txt", "b.txt")
        assert result.exit_code == 0, result.output
        narrow = result.stdout
        assert_harmless(result.stdout)
        assert len(result.stdout) < 40_000
    assert "<ESC>[2J<ESC>]0;title<BEL><U+009B>31m<RLO>" in re.sub(r"\n\s+", "", narrow)
    names = run("a.txt", "b.txt", "--json")
    assert "\x1b" not in names.stdout


def test_a_name_cannot_steer_the_terminal(run):
    Path("\x1b[31mred.txt").write_text(A, encoding="utf-8")
    result = run("\x1b[31mred.txt", "b.txt")
    assert result.exit_code == 0, result.output
    assert SGR.search(result.output) is None
    assert "\\x1b[31mred.txt" in result.stdout


def test_a_page_is_written_and_the_texts_are_shown_too(run):
    result = run("./a.txt", "b.txt", "--html", "pair.html")
    assert result.exit_code == 0, result.output
    assert "A  ./a.txt" in result.stdout
    assert "written       pair.html" in result.stderr
    page = Path("pair.html").read_text(encoding="utf-8")
    assert "<title>a.txt and b.txt" in page
    assert "jumps over the lazy dog." in page
    again = run("./a.txt", "b.txt", "--html", "pair.html", "--json", "--quiet")
    assert (again.exit_code, again.stderr) == (0, "")
    assert Path("pair.html").read_text(encoding="utf-8") == page


def test_a_page_takes_no_other_file_s_place_and_is_refused_before_any_work(run):
    Path("mine.html").write_text("<p>mine</p>")
    result = run("a.txt", "not there", "--html", "mine.html")
    assert (result.exit_code, "is not a page that neardup made" in result.stderr) == (1, True)
    assert Path("mine.html").read_text() == "<p>mine</p>"
    assert run("a.txt", "b.txt", "--html", "no/such/folder.html").exit_code == 1


def test_people_s_documents_are_read(run):
    body = "".join(f"<p>{line}</p>" for line in B.splitlines())
    Path("b.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
    answer = told(run("a.txt", "b.html", "--json", "--normalize", "nfc,space"))
    assert answer["jaccard"] == neardup.jaccard(A, B, normalize="nfc,space")
    answer = told(run("b.txt", "b.html", "--json", "--shingle", "item"))
    assert answer["jaccard"] == 1.0
