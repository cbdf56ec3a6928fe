"""``find --measure containment`` and ``index query --measure containment``: what is written, said, and refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from neardup.cli import main

Run = Callable[..., Result]
BOOK = " ".join(f"sentence {i} of the book says {i * i}." for i in range(60))
TEXTS = {
    "book": BOOK,
    "page": BOOK[200:600],
    "essay": BOOK[300:500] + " And this is what the pupil has added to it, in words that are in no book at all.",
    "other": "nothing that is like any of them, not in the least",
}


def jsonl(texts: dict[str, str]) -> str:
    return "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command in a folder that holds docs.jsonl and asked.jsonl."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text(jsonl(TEXTS), encoding="utf-8")
    asked = {"quote": BOOK[310:420], "more": "x " + TEXTS["page"], "empty": "", "none": "zzzzzzzzzzzzzzzzzzzz"}
    (tmp_path / "asked.jsonl").write_text(jsonl(asked), encoding="utf-8")

    def invoke(*args: str) -> Result:
        return CliRunner().invoke(main, list(args), prog_name="neardup")

    return invoke


def rows(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_pairs_say_which_one_is_the_part(run: Run) -> None:
    result = run("find", "docs.jsonl", "--measure", "containment", "-t", "0.5", "-o", "p.csv", "--clusters", "c.csv")
    assert result.exit_code == 0, result.output
    found = [(row["id_a"], row["id_b"], row["contained"]) for row in rows("p.csv")]
    assert found == [("book", "page", "b"), ("book", "essay", "b"), ("page", "essay", "b")]
    assert rows("p.csv")[0]["similarity"] == "1.0"
    assert {row["id"]: row["keeper"] for row in rows("c.csv")} == dict.fromkeys(("book", "page", "essay"), "book")
    assert "3 of containment 0.5 or more" in result.stderr
    assert "1: the containment join misses no pair" in result.stderr


def test_the_table_and_the_summary_say_containment(run: Run) -> None:
    result = run("find", "docs.jsonl", "--measure", "containment", "-t", "0.5", "--format", "table", "-q")
    assert result.stdout.splitlines()[0].split() == ["id_a", "id_b", "containment", "contained"]
    plain = run("find", "docs.jsonl", "-t", "0.1", "--format", "table", "-q")
    assert plain.stdout.splitlines()[0].split() == ["id_a", "id_b", "similarity"]
    summary = json.loads(run("find", "docs.jsonl", "--measure", "containment", "--json", "-q").stdout)
    assert (summary["method"], summary["recall"], summary["spec"]["measure"]) == (
        *("containment join", 1.0),
        "containment",
    )


def test_without_it_the_spec_is_what_it_was(run: Run) -> None:
    plain = json.loads(run("find", "docs.jsonl", "--json", "-q").stdout)
    same = json.loads(run("find", "docs.jsonl", "--measure", "jaccard", "--json", "-q").stdout)
    assert plain["spec"] == same["spec"]
    assert "measure" not in plain["spec"]


def test_similarity_to_the_keeper_of_a_chain_is_containment(run: Run) -> None:
    how = ("--measure", "containment", "-t", "0.5", "--link", "connected")
    assert run("find", "docs.jsonl", *how, "--clusters", "c.csv", "-o", "p.csv").exit_code == 0
    pairs = {(row["id_a"], row["id_b"]): row["similarity"] for row in rows("p.csv")}
    clusters = {row["id"]: row["similarity"] for row in rows("c.csv")}
    assert clusters["essay"] == pairs["book", "essay"]


def test_between_two_collections(run: Run) -> None:
    result = run("find", "asked.jsonl", "--against", "docs.jsonl", "--measure", "containment", "-o", "p.csv")
    assert result.exit_code == 0, result.output
    assert [(row["id_a"], row["id_b"], row["contained"]) for row in rows("p.csv")] == [
        *(("quote", "book", "a"), ("quote", "page", "a"), ("quote", "essay", "a")),
        *(("more", "book", "a"), ("more", "page", "b")),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--bands", "3x3"), "has no bands. Leave --bands out"),
        (("--slots", "64"), "has no slots. Leave --slots out"),
        (("--sketch", "universal"), "has no sketch. Leave --sketch out"),
        (("--exact", "auto"), "Leave --exact out"),
        (("--audit", "10"), "Leave --audit out"),
        (("--dry-run",), "Leave --measure containment out"),
        (("--measure", "containmnt"), "'containmnt' is not one of"),
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused(run: Run, words: tuple[str, ...], told: str) -> None:
    result = run("find", "docs.jsonl", "--measure", "containment", *words)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


def test_a_query_tells_which_is_part_of_which(run: Run) -> None:
    assert run("index", "build", "i.index", "docs.jsonl", "-q").exit_code == 0
    how = ("--measure", "containment", "-t", "0.5", "-o", "h.csv")
    result = run("index", "query", "i.index", "asked.jsonl", *how, "--top", "all")
    assert result.exit_code == 0, result.output
    assert [(row["query"], row["id"], row["contained"]) for row in rows("h.csv")] == [
        *(("quote", "book", "query"), ("quote", "page", "query"), ("quote", "essay", "query")),
        *(("more", "page", "document"), ("more", "book", "query"), ("more", "essay", "document")),
    ]
    assert "6 hits of containment 0.5 or more" in result.stderr
    run("index", "query", "i.index", "asked.jsonl", *how, "--top", "1")
    assert [(row["query"], row["id"]) for row in rows("h.csv")] == [("quote", "book"), ("more", "page")]
    said = json.loads(run("index", "query", "i.index", "--string", BOOK[9:99], *how, "--json", "-q").stdout)
    assert (said["measure"], said["hits"]) == ("containment", 1)
