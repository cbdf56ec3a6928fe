"""What each command of ``neardup index`` does to an index, says, and writes where."""

from __future__ import annotations

import csv
import gzip
import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.cli.indexing import ELSE, FOX, FOXED, MORE, SPEC, answer, good, index, jaccard, rows, write_jsonl
from tests.warm import LIMIT

from neardup import Index
from neardup.cli import main

NEAR = jaccard(FOX, FOXED)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with an index of two documents."""
    monkeypatch.chdir(tmp_path)
    good("create", "i", *SPEC)
    write_jsonl("first.jsonl", [("fox", FOX), ("else", ELSE)])
    good("add", "i", "first.jsonl")
    return tmp_path


@pytest.fixture
def writer() -> Iterator[Index]:
    """The index, open for writing here."""
    with Index.open("i") as held:
        yield held


def ids(path: str = "i") -> list[int | str]:
    with Index.open(path, read_only=True) as held:
        return list(held)


# create, build


def test_create_makes_an_empty_index_and_says_for_what() -> None:
    result = good(
        "create", "papers.index", "-t", "0.6", "--shingle", "word:2", "--normalize", "casefold", "--seed", "5"
    )
    assert result.stdout == ""
    assert "threshold     0.6" in result.stderr
    assert "shingles      word:2, normalised by nfc,casefold" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("neardup: papers.index made, 0 documents, spec ")
    with Index.open("papers.index", read_only=True) as held:
        assert (held.spec.threshold, str(held.spec.shingle), held.spec.seed) == (0.6, "word:2", 5)


def test_create_tells_with_json_what_info_tells() -> None:
    made = answer("create", "x", "--bands", "20x5")
    assert (made["documents"], made["bands"], made["threshold"]) == (0, "20x5", 0.8)
    assert answer("info", "x")["spec_id"] == made["spec_id"]


def test_create_under_a_folder_that_is_not_there_fails() -> None:
    result = index("create", "none/x")
    assert result.exit_code == 1
    assert "none" in result.stderr
    assert not Path("none").exists()


def test_build_is_create_and_add_at_once() -> None:
    result = good("build", "b", "first.jsonl", *SPEC)
    assert result.stdout == ""
    assert "added         2, 0 replaced, 0 skipped" in result.stderr
    assert "neardup: 2 added, 0 replaced, 0 skipped, 2 in the index, " in result.stderr.splitlines()[-1]
    assert ids("b") == ids("i") == ["fox", "else"]
    assert good("query", "b", "--string", FOXED).stdout == good("query", "i", "--string", FOXED).stdout


def test_build_of_bad_input_leaves_nothing() -> None:
    Path("bad.jsonl").write_text('{"id": 1, "text": "a text"}\n{"id": 2}\n')
    result = index("build", "b", "first.jsonl", "bad.jsonl", *SPEC)
    assert result.exit_code == 1
    assert "bad.jsonl:2" in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["bad.jsonl", "first.jsonl", "i"]


def test_build_counts_what_it_leaves_out() -> None:
    Path("bad.jsonl").write_text(
        '{"id": 1, "text": "a text"}\n{"id": 2}\n\n{"id": 3, "text": ""}\n{"id": 4, "text": "x"}\n'
    )
    built = answer("build", "b", "bad.jsonl", *SPEC, "--on-bad", "skip")
    assert {name: built[name] for name in ("added", "bad", "blank", "empty", "short", "documents")} == {
        "added": 3, "bad": 1, "blank": 1, "empty": 1, "short": 1, "documents": 3
    }  # fmt: skip


@pytest.mark.parametrize(("choice", "found"), [("skip", FOX), ("replace", MORE)])
def test_build_settles_ids_that_are_twice_there(choice: str, found: str) -> None:
    write_jsonl("twice.jsonl", [("a", FOX), ("a", MORE)])
    result = index("build", "b", "twice.jsonl", *SPEC)
    assert result.exit_code == 1
    assert "'a'" in result.stderr
    assert not Path("b").exists()
    good("build", "b", "twice.jsonl", *SPEC, "--on-duplicate", choice)
    with Index.open("b", read_only=True) as held:
        stored = held.get("a")
        assert stored is not None
        assert stored.text == found
        assert len(held) == 1


# add


def test_add_tells_what_became_of_the_documents() -> None:
    few = '\n{"id": "e", "text": ""}\n{"id": "s", "text": "x"}\n'
    Path("more.jsonl").write_text(json.dumps({"id": "m", "text": MORE}) + "\n" + few)
    result = good("add", "i", "more.jsonl")
    assert result.stdout == ""
    assert result.stderr.splitlines()[:4] == [
        "added         3, 0 replaced, 0 skipped",
        "of these      1 empty, 1 shorter than one shingle",
        "left out      1 blank line",
        "in the index  5 documents",
    ]
    assert "3 added, 0 replaced, 0 skipped, 5 in the index" in result.stderr.splitlines()[-1]
    assert ids() == ["fox", "else", "m", "e", "s"]


def test_add_with_json_and_quiet() -> None:
    write_jsonl("more.jsonl", [("m", MORE)])
    added = answer("add", "i", "more.jsonl")
    assert added["added"] == 1
    assert added["documents"] == 3
    assert added["spec_id"] == answer("info", "i")["spec_id"]
    write_jsonl("more.jsonl", [("n", "one more")])
    assert good("add", "i", "more.jsonl", "--quiet").stderr == ""


def test_add_reads_stdin_columns_and_other_formats() -> None:
    good("add", "i", "-", "--input-format", "lines", input="a line\nanother line\n")
    with gzip.open("t.csv.gz", "wt", newline="") as stream:
        stream.write("key,body\r\nx,one more text\r\n")
    good("add", "i", "t.csv.gz", "--text", "body", "--id", "key")
    Path("texts").mkdir()
    Path("texts/a.rst").write_bytes("d\xe9j\xe0 vu".encode("latin-1"))
    good("add", "i", "texts", "--glob", "*.rst", "--encoding", "latin-1")
    assert ids() == ["fox", "else", "-:1", "-:2", "x", "texts/a.rst"]
    with Index.open("i", read_only=True) as held:
        stored = held.get("texts/a.rst")
        assert stored is not None
        assert stored.text == "d\xe9j\xe0 vu"


def test_add_counts_bad_records_when_they_are_to_be_left_out() -> None:
    Path("bad.jsonl").write_text('{"id": 1, "text": "a text"}\n{"id": 2}\nnonsense\n')
    result = index("add", "i", "bad.jsonl")
    assert result.exit_code == 1
    assert "bad.jsonl:2: there is no field 'text'" in result.stderr
    assert ids() == ["fox", "else"]
    result = good("add", "i", "bad.jsonl", "--on-bad", "skip")
    assert "left out      2 bad records\n" in result.stderr
    assert ids() == ["fox", "else", 1]


@pytest.mark.parametrize("choice", ["error", "skip", "replace"])
def test_add_settles_an_id_that_is_there(choice: str) -> None:
    write_jsonl("more.jsonl", [("m", MORE), ("fox", "another text by this name")])
    result = index("add", "i", "more.jsonl", "--on-duplicate", choice)
    if choice == "error":
        assert result.exit_code == 1
        assert "'fox'" in result.stderr
        assert "--on-duplicate" in result.stderr
        assert ids() == ["fox", "else"]
        return
    assert result.exit_code == 0
    counts = "1, 1 replaced, 0 skipped" if choice == "replace" else "1, 0 replaced, 1 skipped"
    assert f"added         {counts}" in result.stderr
    assert set(ids()) == {"fox", "else", "m"}
    hits = rows(good("query", "i", "--string", FOX).stdout)
    assert bool(hits) == (choice == "skip")


def test_add_if_new_adds_what_is_near_to_nothing_and_lists_all() -> None:
    write_jsonl("more.jsonl", [("a", FOXED), ("b", MORE), ("c", MORE + "!"), ("else", ELSE), ("e", "")])
    result = good("add", "i", "more.jsonl", "--if-new")
    assert rows(result.stdout) == [
        {"id": "a", "is_new": False, "match": "fox", "similarity": NEAR},
        {"id": "b", "is_new": True, "match": None, "similarity": None},
        {"id": "c", "is_new": False, "match": "b", "similarity": jaccard(MORE, MORE + "!")},
        {"id": "else", "is_new": False, "match": "else", "similarity": 1.0},
        {"id": "e", "is_new": True, "match": None, "similarity": None},
    ]
    assert "added         2 of 5 documents" in result.stderr
    assert "not added     3 near-duplicates, 0 with an id that was there" in result.stderr
    assert ids() == ["fox", "else", "b", "e"]
    again = rows(good("add", "i", "more.jsonl", "--if-new").stdout)
    assert not any(row["is_new"] for row in again)
    assert ids() == ["fox", "else", "b", "e"]


def test_add_if_new_with_a_higher_threshold_and_one_that_is_too_low() -> None:
    write_jsonl("more.jsonl", [("a", FOXED)])
    result = index("add", "i", "more.jsonl", "--if-new", "-t", "0.5")
    assert result.exit_code == 1
    assert "0.7" in result.stderr
    assert rows(good("add", "i", "more.jsonl", "--if-new", "-t", "0.9").stdout)[0]["is_new"]


def test_add_if_new_writes_every_format() -> None:
    write_jsonl("more.jsonl", [(1, FOXED), (2, MORE)])
    result = good("add", "i", "more.jsonl", "--if-new", "-o", "out.csv", "--json")
    assert {name: json.loads(result.stdout)[name] for name in ("read", "added", "near")} == {
        "read": 2, "added": 1, "near": 1
    }  # fmt: skip
    with open("out.csv", newline="") as stream:
        assert list(csv.reader(stream))[1:] == [["1", "false", "fox", repr(NEAR)], ["2", "true", "", ""]]
    write_jsonl("more.jsonl", [(3, FOXED)])
    good("add", "i", "more.jsonl", "--if-new", "-o", "out.parquet")
    assert pq.read_table("out.parquet").to_pylist() == [
        {"id": 3, "is_new": False, "match": "fox", "similarity": NEAR}
    ]  # fmt: skip
    table = good("add", "i", "more.jsonl", "--if-new", "--format", "table").stdout.splitlines()
    assert [line.split() for line in table] == [
        ["id", "is_new", "match", "similarity"], ["3", "false", "fox", f"{NEAR:.4f}"]
    ]  # fmt: skip


def test_add_if_new_settles_an_id_that_is_there() -> None:
    write_jsonl("more.jsonl", [("fox", MORE)])
    result = index("add", "i", "more.jsonl", "--if-new")
    assert result.exit_code == 1
    assert "'fox'" in result.stderr
    skipped = good("add", "i", "more.jsonl", "--if-new", "--on-duplicate", "skip")
    assert rows(skipped.stdout) == [{"id": "fox", "is_new": False, "match": None, "similarity": None}]
    assert "not added     0 near-duplicates, 1 with an id that was there" in skipped.stderr
    assert rows(good("add", "i", "more.jsonl", "--if-new", "--on-duplicate", "replace").stdout)[0]["is_new"]


def test_ids_that_are_numbers_stay_numbers_in_every_table() -> None:
    good("create", "n", *SPEC)
    write_jsonl("numbers.jsonl", [(1, FOX), (2, FOXED), (3, ELSE)])
    good("add", "n", "numbers.jsonl", "--if-new", "-o", "out.parquet")
    assert pq.read_table("out.parquet").to_pydict() == {
        "id": [1, 2, 3], "is_new": [True, False, True], "match": [None, 1, None], "similarity": [None, NEAR, None]
    }  # fmt: skip
    good("query", "n", "numbers.jsonl", "first.jsonl", "-o", "out.parquet", "--top", "1")
    assert pq.read_table("out.parquet").to_pydict() == {
        "query": ["1", "2", "3", "fox", "else"], "id": [1, 1, 3, 1, 3], "similarity": [1.0, NEAR, 1.0, 1.0, 1.0]
    }  # fmt: skip
    Path("empty.jsonl").write_text("")
    assert good("add", "n", "empty.jsonl", "--if-new", "--format", "csv").stdout == "id,is_new,match,similarity\n"
    assert good("query", "n", "empty.jsonl").stdout == ""


# remove


def test_remove_takes_ids_from_the_command_a_file_and_stdin() -> None:
    write_jsonl("more.jsonl", [("-x", MORE), ("two words", "a"), ("d\xe9j\xe0", "b")])
    good("add", "i", "more.jsonl")
    Path("gone.txt").write_bytes("two words\r\n\nd\xe9j\xe0".encode())
    result = good("remove", "i", "else", "else", "--from", "gone.txt")
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == "removed       3; 0 ids not there"
    assert "neardup: 3 removed, 0 not there, 2 in the index" in result.stderr
    good("remove", "i", "--from", "-", input="fox\n")
    good("remove", "i", "--", "-x")
    assert ids() == []
    assert good("query", "i", "--string", FOX).stdout == ""


def test_remove_of_an_unknown_id_removes_nothing_unless_it_may_be_missing() -> None:
    result = index("remove", "i", "fox", "box")
    assert result.exit_code == 1
    assert "'box'" in result.stderr
    assert ids() == ["fox", "else"]
    removed = answer("remove", "i", "fox", "box", "--missing", "skip")
    assert (removed["removed"], removed["missing"], removed["documents"]) == (1, 1, 1)


def test_a_list_of_ids_that_cannot_be_read_is_told() -> None:
    Path("gone.txt").write_bytes(b"fox\n\xff\n")
    result = index("remove", "i", "--from", "gone.txt")
    assert result.exit_code == 1
    assert "gone.txt:2: the line is no valid UTF-8" in result.stderr
    assert "none.txt does not exist" in index("remove", "i", "--from", "none.txt").stderr
    assert ids() == ["fox", "else"]


# query


def test_query_lists_hits_best_first_in_the_order_of_the_input() -> None:
    write_jsonl("more.jsonl", [("foxes", FOXED + "s"), ("copy", FOX)])
    good("add", "i", "more.jsonl")
    write_jsonl("asked.jsonl", [("q1", FOXED), ("none", MORE), ("q2", FOX)])
    result = good("query", "i", "asked.jsonl")
    assert rows(result.stdout) == [
        {"query": "q1", "id": "foxes", "similarity": jaccard(FOXED, FOXED + "s")},
        {"query": "q1", "id": "fox", "similarity": NEAR},
        {"query": "q1", "id": "copy", "similarity": NEAR},
        {"query": "q2", "id": "fox", "similarity": 1.0},
        {"query": "q2", "id": "copy", "similarity": 1.0},
        {"query": "q2", "id": "foxes", "similarity": jaccard(FOX, FOXED + "s")},
    ]
    assert "found         6 hits of similarity 0.7 or more" in result.stderr
    assert "queries       3, 2 of them with a hit" in result.stderr
    assert "neardup: 6 hits, 2 of 3 queries with one, 4 documents" in result.stderr


def test_query_top_threshold_and_ids_that_are_numbers() -> None:
    write_jsonl("more.jsonl", [(n, f"{FOX} {n}") for n in range(20)])
    good("add", "i", "more.jsonl")
    assert len(rows(good("query", "i", "--string", FOX).stdout)) == 10
    assert len(rows(good("query", "i", "--string", FOX, "--top", "all").stdout)) == 21
    best = rows(good("query", "i", "--string", FOX, "--top", "1").stdout)
    assert best == [{"query": "string", "id": "fox", "similarity": 1.0}]
    assert rows(good("query", "i", "--string", FOX, "-t", "0.99").stdout) == best
    good("remove", "i", "fox", "17")
    numbers = rows(good("query", "i", "--string", FOX, "--top", "3").stdout)
    assert [row["id"] for row in numbers] == [0, 1, 2]
    assert rows(good("query", "i", "--string", ELSE, "--top", "1").stdout) == [
        {"query": "string", "id": "else", "similarity": 1.0}
    ]  # fmt: skip
    result = index("query", "i", "--string", FOX, "-t", "0.6")
    assert result.exit_code == 1
    assert "0.7" in result.stderr


def test_query_that_finds_nothing_ends_well() -> None:
    result = good("query", "i", "--string", MORE)
    assert result.stdout == ""
    assert "0 hits, 0 of 1 query with one" in result.stderr
    assert good("query", "i", "--string", MORE, "--format", "csv").stdout_bytes == b"query,id,similarity\r\n"
    assert good("query", "i", "--string", "").stdout == ""


def test_query_writes_files_and_tells_with_json() -> None:
    good("query", "i", "--string", FOXED, "-o", "near.parquet")
    assert pq.read_table("near.parquet").to_pylist() == [{"query": "string", "id": "fox", "similarity": NEAR}]
    summary = answer("query", "i", "-", "-o", "near.csv", input=json.dumps({"id": 1, "text": FOX}) + "\n")
    assert (summary["queries"], summary["answered"], summary["hits"]) == (1, 1, 1)
    assert Path("near.csv").read_bytes() == b"query,id,similarity\r\n1,fox,1.0\r\n"
    assert "spec_id" in answer("query", "i", "--string", FOX)
    table = good("query", "i", "--string", FOX, "--format", "table").stdout.splitlines()
    assert [line.split() for line in table] == [["query", "id", "similarity"], ["string", "fox", "1.0000"]]


def test_query_counts_and_lists_bad_records() -> None:
    Path("bad.jsonl").write_text('{"id": 1, "text": "a text"}\n{"id": 2}\n')
    assert index("query", "i", "bad.jsonl").exit_code == 1
    result = good("query", "i", "bad.jsonl", "--on-bad", "skip")
    assert "left out      1 bad record\n" in result.stderr
    assert "  bad.jsonl:2: there is no field 'text'" in result.stderr


# pairs


def test_pairs_are_those_of_find() -> None:
    write_jsonl("more.jsonl", [("foxed", FOXED), ("copy", FOX)])
    good("add", "i", "more.jsonl")
    result = good("pairs", "i", "--clusters", "clusters.csv")
    expected = [("fox", "foxed", NEAR), ("fox", "copy", 1.0), ("foxed", "copy", NEAR)]
    assert [tuple(row.values()) for row in rows(result.stdout)] == expected
    assert Path("clusters.csv").read_text().splitlines()[0] == "id,cluster,keeper,similarity"
    assert len(Path("clusters.csv").read_text().splitlines()) == 4
    assert "pairs         3 of similarity 0.7 or more" in result.stderr
    assert re.fullmatch(r"neardup: 3 pairs in .* s; clusters\.csv written", result.stderr.splitlines()[-1])
    summary = answer("pairs", "i", "-o", "pairs.parquet", "--link", "connected", "--threads", "1")
    assert (summary["pairs"], summary["clusters"], summary["link"]) == (3, 1, "connected")
    assert pq.read_table("pairs.parquet").num_rows == 3


def test_pairs_of_texts_that_do_not_fit_the_index_say_how_to_build_another() -> None:
    titles = [f"number {n}: a title of few words" for n in range(300)]
    write_jsonl("titles.jsonl", list(enumerate(titles)))
    good("build", "short", "titles.jsonl", "--shingle", "char:9")
    assert "For that, build a new index with --for " in good("pairs", "short").stderr
    assert [each["kind"] for each in answer("pairs", "short", "-o", "short.csv")["hints"]] == ["short"]


def test_pairs_of_an_empty_index() -> None:
    good("create", "empty", *SPEC)
    assert good("pairs", "empty").stdout == ""


# info, verify, compact


def test_info_goes_to_stdout() -> None:
    result = good("info", "i")
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "index         i"
    assert "documents     2, 0 empty" in lines
    assert "shingles      char:3, normalised by nfc" in lines
    assert "index.sqlite" in good("info", "i", "--verbose").stdout
    told = answer("info", "i")
    assert told["documents"] == 2
    assert told["total_bytes"] == sum(told["bytes"].values())


def test_verify_of_a_sound_index() -> None:
    result = good("verify", "i")
    assert result.stdout == "i: 2 documents, no fault\n"
    assert answer("verify", "i", "--no-repair") == {"ok": True, "faults": [], "healed": []}


def test_verify_names_mends_and_fails() -> None:
    good("compact", "i")
    (segment,) = Path("i/segments").glob("*.bands")
    whole = segment.read_bytes()
    segment.write_bytes(whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1 :])
    looked = index("verify", "i", "--no-repair")
    assert looked.exit_code == 1
    assert segment.name in looked.stdout
    assert "To repair what can be repaired: neardup index verify i" in looked.stdout
    mended = index("verify", "i")
    assert mended.exit_code == 1
    assert "made again: " in mended.stdout
    good("verify", "i")
    assert rows(good("query", "i", "--string", FOX).stdout)[0]["id"] == "fox"


def test_verify_with_json_exits_as_without() -> None:
    good("compact", "i")
    (segment,) = Path("i/segments").glob("*.bands")
    segment.unlink()
    result = index("verify", "i", "--no-repair", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["ok"] is False
    assert any(segment.name in fault for fault in found["faults"])


def test_compact_gives_back_room() -> None:
    write_jsonl("many.jsonl", [(n, f"{MORE} {n} " * 20) for n in range(300)])
    good("add", "i", "many.jsonl")
    good("remove", "i", "--from", "-", input="\n".join(map(str, range(300))))
    assert answer("info", "i")["removed"] == 300
    compacted = answer("compact", "i")
    assert compacted["removed"] == 0
    assert compacted["total_bytes"] < compacted["before"]["total_bytes"]
    result = good("compact", "i")
    assert result.stdout == ""
    assert "neardup: 2 documents, " in result.stderr
    assert ids() == ["fox", "else"]


# merge


def test_merge_adds_all_of_the_others() -> None:
    for name, text in (("j", MORE), ("k", "yet another text of its own")):
        good("create", name, *SPEC)
        write_jsonl(f"{name}.jsonl", [(name, text)])
        good("add", name, f"{name}.jsonl")
    result = good("merge", "i", "j", "k")
    assert result.stdout == ""
    assert "2 added, 0 replaced, 0 skipped, 4 in the index" in result.stderr
    assert ids() == ["fox", "else", "j", "k"]
    assert ids("j") == ["j"]
    again = index("merge", "i", "j")
    assert again.exit_code == 1
    assert "'j'" in again.stderr
    assert answer("merge", "i", "j", "--on-duplicate", "skip")["skipped"] == 1


def test_merge_of_another_spec_says_what_differs() -> None:
    good("create", "j", "-t", "0.8", "--shingle", "char:3")
    result = index("merge", "i", "j")
    assert result.exit_code == 1
    assert "threshold (0.7 here and 0.8 there)" in result.stderr
    assert "j" in result.stderr


# beside each other


@pytest.mark.parametrize(
    "args",
    [
        ["add", "i", "first.jsonl"],
        ["remove", "i", "fox"],
        ["compact", "i"],
        ["verify", "i"],
        ["dedup-stream", "i", "first.jsonl"],
        ["merge", "i", "j"],
    ],
)
def test_a_second_writer_is_refused(writer: Index, args: list[str]) -> None:
    good("create", "j", *SPEC)
    result = index(*args)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    assert "i" in result.stderr
    assert "writ" in result.stderr
    assert len(writer) == 2


def test_commands_that_read_work_beside_a_writer(writer: Index) -> None:
    writer.add("foxed", FOXED)
    assert [row["id"] for row in rows(good("query", "i", "--string", FOX).stdout)] == ["fox", "foxed"]
    assert answer("info", "i")["documents"] == 3
    assert len(rows(good("pairs", "i").stdout)) == 1
    good("verify", "i", "--no-repair")
    good("create", "j", *SPEC)
    good("merge", "j", "i")
    assert ids("j") == ["fox", "else", "foxed"]


# sets


def test_an_index_of_sets() -> None:
    good("create", "sets", "--shingle", "item", "-t", "0.5")
    Path("sets.jsonl").write_text('{"id": 1, "text": ["a b", "c", 7]}\n{"id": 2, "text": "x y z"}\n')
    good("add", "sets", "sets.jsonl")
    Path("asked.jsonl").write_text('{"id": "q", "text": ["a b", 7]}\n')
    assert rows(good("query", "sets", "asked.jsonl").stdout) == [{"query": "q", "id": 1, "similarity": 2 / 3}]
    assert rows(good("query", "sets", "--string", "z y").stdout)[0]["id"] == 2
    assert rows(good("add", "sets", "asked.jsonl", "--if-new").stdout)[0]["match"] == 1
    assert not any(row["is_new"] for row in rows(good("add", "sets", "sets.jsonl", "--if-new").stdout))


# stopped by Ctrl-C

# The commands, which stop to wait for Ctrl-C where they tell that a first batch is done.
WAITING = """
import sys, time
from neardup import progress
from neardup.cli.running import Stoppable
progress.EVERY_SECONDS = float("inf")
plain = Stoppable.advance
def advance(self, amount):
    print("stored", file=sys.stderr, flush=True)
    while True:
        plain(self, 0)
        time.sleep(0.01)
Stoppable.advance = advance
from neardup.cli import main
main(["index", *sys.argv[1:]], prog_name="neardup")
"""


def interrupted(*args: str) -> str:
    """What the command says that is stopped by Ctrl-C when it says that it has stored something."""
    with subprocess.Popen([sys.executable, "-c", WAITING, *args], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "stored\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    return err


def test_ctrl_c_says_how_many_documents_were_added() -> None:
    write_jsonl("many.jsonl", [(n, f"{n}") for n in range(40_000)])
    err = interrupted("add", "i", "many.jsonl")
    added = len(ids()) - 2
    assert 0 < added < 40_000
    assert err == f"interrupted, complete before that: {added:,} documents added\n"
    good("verify", "i")


def test_ctrl_c_leaves_nothing_of_an_index_that_is_built() -> None:
    assert interrupted("build", "b", "first.jsonl") == "interrupted, nothing written\n"
    assert sorted(path.name for path in Path().iterdir()) == ["first.jsonl", "i"]


def test_verify_names_the_damage_that_opening_repairs() -> None:
    write_jsonl("few.jsonl", [(i, f"some words of the text number {i}") for i in range(50)])
    good("create", "x.index")
    good("add", "x.index", "few.jsonl")
    with closing(sqlite3.connect("x.index/index.sqlite")) as database, database:
        database.execute("UPDATE tail SET count = count - 1")
    done = CliRunner().invoke(main, ["index", "verify", "x.index"])
    assert done.exit_code == 1
    assert "the keys of the documents from 0 on are damaged" in done.stdout
    assert "made again: the keys of documents" in done.stdout
    good("verify", "x.index")


TENANTS = [
    {"id": 1, "text": FOX, "tenant": "a", "n": 1},
    {"id": 2, "text": FOXED, "tenant": "b", "n": "1"},
    {"id": 3, "text": ELSE, "n": None},
]


@pytest.fixture
def tenants() -> None:
    """An index ``ti`` of three documents, two of them with a tenant."""
    Path("t.jsonl").write_text("".join(json.dumps(each) + "\n" for each in TENANTS))
    good("build", "ti", "t.jsonl", "--column", "tenant,n", *SPEC)


@pytest.mark.usefixtures("tenants")
def test_columns_are_listed_with_hits_and_filter_them() -> None:
    found = rows(good("query", "ti", "--string", FOX).stdout)
    stored = {1: {"n": 1, "tenant": "a"}, 2: {"n": "1", "tenant": "b"}}
    assert {each["id"]: each["columns"] for each in found} == stored
    for where, ids in [("tenant=a", [1]), ("n=1", [1]), ("n=1.0", [1]), ('n="1"', [2]), ("n=true", []), ("x=null", [])]:
        assert [each["id"] for each in rows(good("query", "ti", "--string", FOX, "--where", where).stdout)] == ids
    assert rows(good("query", "ti", "--string", FOX, "--where", "tenant=b", "--where", "n=1").stdout) == []
    assert list(rows(good("query", "ti", "--string", MORE, "-t", "0.7").stdout)) == []
    good("add", "ti", "-", input=json.dumps({"id": 4, "text": MORE}))
    assert list(rows(good("query", "ti", "--string", MORE).stdout)[0]) == ["query", "id", "similarity"]


@pytest.mark.usefixtures("tenants")
def test_remove_by_columns_leaves_what_differs() -> None:
    assert index("remove", "ti", "2", "--where", "tenant=a").exit_code == 1
    Path("none.txt").touch()
    assert answer("remove", "ti", "--from", "none.txt", "--where", "tenant=a")["removed"] == 0  # no ids are not all ids
    told = answer("remove", "ti", "--where", "n=null")
    assert (told["removed"], told["missing"]) == (1, 0)
    assert answer("remove", "ti", "--where", "tenant=a")["removed"] == 1
    assert [each["id"] for each in rows(good("list", "ti").stdout)] == [2]


@pytest.mark.usefixtures("tenants")
def test_add_if_new_and_dedup_stream_store_columns() -> None:
    good("add", "ti", "-", "--if-new", "--column", "n", input=json.dumps({"id": 4, "text": MORE, "n": 7}))
    lines = json.dumps({"id": 5, "text": MORE[::-1], "n": 8})
    good("dedup-stream", "ti", "-", "--column", "n", "-o", "new.jsonl", input=lines)
    assert [each["columns"] for each in rows(good("get", "ti", "4", "5").stdout)] == [{"n": 7}, {"n": 8}]


@pytest.mark.usefixtures("tenants")
def test_get_and_list_give_documents_in_every_format() -> None:
    found = rows(good("get", "ti", "3", "1").stdout)
    assert [(each["id"], each["text"]) for each in found] == [(3, ELSE), (1, FOX)]
    refused = index("get", "ti", "1", "nobody")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "there is no document 'nobody' in ti." in refused.stderr
    listed = rows(good("list", "ti", "--opening", "9").stdout)
    assert [(each["id"], each["opening"], each["characters"]) for each in listed] == [
        (each["id"], str(each["text"])[:9], len(str(each["text"]))) for each in TENANTS
    ]
    assert [each["columns"] for each in listed] == [
        {name: each[name] for name in ("tenant", "n") if name in each} for each in TENANTS
    ]
    assert [each["id"] for each in rows(good("list", "ti", "--newest", "--top", "2", "--opening", "0").stdout)] == [
        3,
        2,
    ]
    assert good("list", "ti", "--prefix", "2", "--format", "csv").stdout.startswith(
        "id,added,characters,opening,columns"
    )
    good("list", "ti", "--where", "tenant=a", "--top", "all", "-o", "all.parquet")
    assert pq.read_table("all.parquet")["id"].to_pylist() == [1]


@pytest.mark.usefixtures("tenants")
def test_list_goes_through_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.cli.index.look._PAGE", 2)
    for top, ids in (("all", [1, 2, 3]), ("3", [1, 2, 3]), ("1", [1])):
        assert [each["id"] for each in rows(good("list", "ti", "--top", top).stdout)] == ids


@pytest.mark.usefixtures("tenants")
def test_statistics_go_to_stdout() -> None:
    with Index.open("ti", read_only=True) as held:
        told = json.loads(json.dumps(held.statistics().as_dict()))
    assert answer("statistics", "ti") == told
    assert "3 texts" in good("statistics", "ti").stdout
