"""``find --exact``, ``--against``, ``--audit``, ``--dry-run``, ``--plot``: what is written, said, and refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from neardup.cli import main

Run = Callable[..., Result]
TEXTS = {
    "a": "the quick brown fox jumps over the lazy dog",
    "b": "the quick brown fox jumped over the lazy dog",
    "c": "something else altogether, that nobody has written before",
    "d": "the quick brown fox jumps over the lazy dog",
}


def jsonl(texts: dict[str, str]) -> str:
    return "".join(json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command in a folder that holds docs.jsonl and more.jsonl."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text(jsonl(TEXTS), encoding="utf-8")
    more = {"x": TEXTS["a"], "y": "nothing that is like any of them, not in the least"}
    (tmp_path / "more.jsonl").write_text(jsonl(more), encoding="utf-8")

    def invoke(*args: str) -> Result:
        return CliRunner().invoke(main, list(args), prog_name="neardup")

    return invoke


def rows(path: str) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "words", [("--exact", "docs.jsonl"), ("docs.jsonl", "--exact"), ("--exact=yes", "docs.jsonl")], ids=str
)
def test_a_bare_exact_takes_no_word_behind_it_for_its_value(run: Run, words: tuple[str, ...]) -> None:
    result = run("find", *words, "-t", "0.5", "-o", "p.csv", "--json", "-q")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["method"], summary["recall"], summary["choice"]) == ("exact join", 1.0, None)
    assert [(row["id_a"], row["id_b"]) for row in rows("p.csv")] == [("a", "b"), ("a", "d"), ("b", "d")]
    assert summary["spec"]["exact"] is True


def test_the_summary_says_that_nothing_is_missed(run: Run) -> None:
    result = run("find", "docs.jsonl", "--exact", "-t", "0.5", "-o", "p.csv")
    assert "recall        1: the exact join misses no pair" in result.stderr
    assert "method" not in result.stderr


def test_auto_takes_one_of_the_two_and_says_why(run: Run) -> None:
    result = run("find", "docs.jsonl", "--exact", "auto", "-t", "0.5", "-o", "p.csv", "--json", "-q")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["method"] in ("exact join", "banding")
    assert summary["spec"].get("exact", False) == (summary["method"] == "exact join")
    assert "predicted" in summary["choice"]
    assert len(rows("p.csv")) == 3


def test_dedup_takes_the_exact_join_too(run: Run) -> None:
    result = run("dedup", "docs.jsonl", "--exact", "-t", "0.5", "-o", "clean.jsonl", "--json", "-q")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["method"] == "exact join"
    kept = [json.loads(line)["id"] for line in Path("clean.jsonl").read_text(encoding="utf-8").splitlines()]
    assert kept == ["b", "c"]


def test_against_gives_pairs_across_only(run: Run) -> None:
    result = run("find", "docs.jsonl", "--against", "more.jsonl", "-t", "0.5", "-o", "p.csv")
    assert result.exit_code == 0, result.output
    assert [(row["id_a"], row["id_b"]) for row in rows("p.csv")] == [("a", "x"), ("b", "x"), ("d", "x")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--exact", "--slots", "64"), "--exact takes the exact join, which has no slots. Leave --slots out."),
        (("--exact", "--bands", "3x4"), "--exact takes the exact join, which has no bands. Leave --bands out."),
        (("--exact", "--sketch", "universal"), "--exact takes the exact join, which has no sketch."),
        (("--against", "more.jsonl", "--slots", "64"), "--against takes the exact join, which has no slots."),
        (("--against", "more.jsonl", "--collapse-exact"), "--collapse-exact is for one collection"),
        (("--against", "more.jsonl", "--clusters", "c.csv"), "between two collections there are pairs and no clusters"),
        (("--against", "more.jsonl", "--dry-run"), "--dry-run plans for one collection"),
        (("--exact=often",), "'often' is not one of"),
        (("--audit", "0"), "audit is 0. Give a whole number of 1 or more."),
        (("--plot", "p.doc"), "figures are png, svg or pdf"),
        (("--plot", "-"), "a figure cannot go to stdout"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_a_usage_error(run: Run, words: tuple[str, ...], message: str) -> None:
    result = run("find", "docs.jsonl", *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_file_on_both_sides_is_named(run: Run) -> None:
    result = run("find", "docs.jsonl", "--against", "docs.jsonl")
    assert result.exit_code == 1
    assert "docs.jsonl is an input, and the inputs are compared with it too" in result.stderr


def test_auto_needs_inputs_that_can_be_read_twice(run: Run) -> None:
    result = CliRunner().invoke(main, ["find", "-", "--input-format", "jsonl", "--exact", "auto"], input=jsonl(TEXTS))
    assert result.exit_code == 2
    assert "reads the inputs twice" in result.stderr


def test_an_audit_comes_with_the_summary(run: Run) -> None:
    result = run("find", "docs.jsonl", "-t", "0.5", "--audit", "10", "-o", "p.csv", "--json", "-q")
    assert result.exit_code == 0, result.output
    audit = json.loads(result.stdout)["audit"]
    assert (audit["pairs"], audit["found"], audit["precision"]) == (1, 1, 1.0)  # of distinct texts
    told = run("find", "docs.jsonl", "-t", "0.5", "--audit", "10", "-o", "p.csv")
    assert "verdict" in told.stderr


def test_a_broken_promise_ends_with_1_after_everything_is_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from neardup.tasks.audit import public as auditing

    plain = auditing.audit_search
    monkeypatch.setattr(auditing, "audit_search", lambda *args, **how: replace(plain(*args, **how), is_broken=True))
    result = run("find", "docs.jsonl", "-t", "0.5", "--audit", "10", "-o", "p.csv")
    assert result.exit_code == 1
    assert len(rows("p.csv")) == 3


def test_a_dry_run_plans_and_writes_nothing(run: Run) -> None:
    result = run("find", "docs.jsonl", "-t", "0.5", "--dry-run", "-o", "p.csv", "-q")
    assert result.exit_code == 0, result.output
    assert "chosen" in result.stdout
    assert not Path("p.csv").exists()
    plan = json.loads(run("find", "docs.jsonl", "-t", "0.5", "--dry-run", "--json", "-q").stdout)
    assert plan["collection"]["documents"] == 4
    assert plan["chosen"]["bands"] == plan["spec"]["bands"]


def test_a_dry_run_of_dedup_has_the_plan_and_the_outcome(run: Run) -> None:
    result = run("dedup", "docs.jsonl", "-t", "0.5", "--dry-run", "--json", "-q")
    summary = json.loads(result.stdout)
    assert summary["plan"]["collection"]["documents"] == 4
    assert summary["removed"] == 2


def test_a_figure_of_what_was_found(run: Run) -> None:
    pytest.importorskip("matplotlib")
    result = run("find", "docs.jsonl", "-t", "0.5", "-o", "p.csv", "--plot", "found.svg")
    assert result.exit_code == 0, result.output
    assert "; p.csv and found.svg written\n" in result.stderr
    assert Path("found.svg").read_text(encoding="utf-8").startswith("<?xml")
