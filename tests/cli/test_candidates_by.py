"""``--candidates-by`` on the command line: what is said of recall, what is refused, and that a killed run goes on."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import neardup
from neardup.cli import main

Run = Callable[..., Result]
OPTIONS = ("--shingle", "char:5", "-t", "0.4", "--candidates-by", "char:12")


def texts() -> dict[str, str]:
    draw = random.Random(2)
    bodies: dict[str, str] = {}
    for number in range(30):
        original = "".join(draw.choices("abcdefghij ", k=200))
        bodies[f"a{number}"] = original
        bodies[f"b{number}"] = original[: 190 - 3 * number] + "".join(draw.choices("klmnop ", k=10 + 3 * number))
    return bodies


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command in a folder that holds docs.jsonl."""
    monkeypatch.chdir(tmp_path)
    lines = (json.dumps({"id": name, "text": body}) for name, body in texts().items())
    (tmp_path / "docs.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def invoke(*args: str) -> Result:
        return CliRunner().invoke(main, list(args), prog_name="neardup")

    return invoke


def test_the_command_finds_what_python_finds_and_promises_nothing(run: Run) -> None:
    result = run("find", "docs.jsonl", *OPTIONS, "-o", "pairs.jsonl")
    assert result.exit_code == 0, result.output
    written = [json.loads(line) for line in Path("pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    found = neardup.find("docs.jsonl", shingle="char:5", threshold=0.4, candidates_by="char:12")
    assert written == found.pairs.to_pylist()
    assert len(written) >= 15
    told = next(line for line in result.stderr.splitlines() if line.startswith("recall"))
    assert "not promised; measure it with neardup audit or --audit (candidates by char:12@0.15" in told
    with Path("docs.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"id": "short", "text": "eight it"}\n')
    again = run("find", "docs.jsonl", *OPTIONS, "-o", "pairs.jsonl")
    assert "1 shorter than a shingle of the candidates" in again.stderr


def test_the_json_summary_has_no_recall(run: Run) -> None:
    result = run("find", "docs.jsonl", *OPTIONS, "-o", "pairs.jsonl", "--json", "-q")
    summary = json.loads(result.stdout)
    assert (summary["recall"], summary["method"]) == (None, "banding")
    assert summary["spec"]["candidates_by"] == "char:12@0.15"


@pytest.mark.parametrize("command", ["find", "dedup", "report"])
def test_each_search_takes_it(run: Run, command: str) -> None:
    result = run(command, "docs.jsonl", *OPTIONS, "-o", {"find": "x.csv", "dedup": "x.jsonl", "report": "x"}[command])
    assert result.exit_code == 0, result.output
    assert "recall        not promised" in result.stderr


def test_a_report_of_its_pairs_promises_nothing_either(run: Run) -> None:
    assert run("find", "docs.jsonl", *OPTIONS, "-o", "pairs.csv", "-q").exit_code == 0
    result = run("report", "docs.jsonl", "--pairs", "pairs.csv", "-o", "pages", "-q")
    assert result.exit_code == 0, result.output
    page = Path("pages/index.html").read_text(encoding="utf-8")
    assert "Recall is not promised: candidates were found by other shingles" in page
    assert "char:12@0.15" in page
    assert "of less than one shingle" not in page  # by those that the pairs were checked by there is none


def test_the_audit_says_what_was_measured_and_that_nothing_is_promised(run: Run) -> None:
    result = run("audit", "docs.jsonl", *OPTIONS)
    assert result.exit_code == 0, result.output
    assert "promise       none: candidates are found by other shingles" in result.stdout
    assert "verdict       measured, nothing promised" in result.stdout
    head = next(line for line in result.stdout.splitlines() if line.startswith("similarity"))
    assert head.split() == ["similarity", "pairs", "found", "recall", "95", "%", "interval"]


def test_a_search_that_misses_much_is_no_broken_promise(run: Run) -> None:
    result = run("find", "docs.jsonl", *OPTIONS, "--bands", "1x8", "--audit", "60", "-o", "p.csv")
    assert result.exit_code == 0, result.output
    assert "measured, nothing promised" in result.stderr


def test_a_plan_shows_the_shingles_whose_recall_it_tells(run: Run) -> None:
    result = run("plan", "docs.jsonl", *OPTIONS)
    assert result.exit_code == 0, result.output
    assert " at 0.15 of char:12 (asked for 0.99)" in result.stdout
    assert "of pairs at 0.4 of char:5 nothing is promised" in result.stdout
    command = result.stdout.strip().splitlines()[-1].split()
    assert command[command.index("--candidates-by") + 1] == "char:12@0.15"
    again = run(*command[1:], "-o", "p.csv")
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("find", "docs.jsonl", *OPTIONS, "--exact"), "--exact finds pairs by a join"),
        (("find", "docs.jsonl", *OPTIONS, "--exact", "auto"), "--exact finds pairs by a join"),
        (("find", "docs.jsonl", *OPTIONS, "--measure", "containment"), "--measure containment finds pairs by a join"),
        (("find", "docs.jsonl", *OPTIONS, "--against", "docs.jsonl"), "--against finds pairs by a join"),
        (("dedup", "docs.jsonl", "--candidates-by", "char:9", "-o", "x"), "the shingle of the check itself"),
        (("audit", "docs.jsonl", *OPTIONS, "--sketch", "universal"), "the sketch hybrid only"),
        (("plan", "docs.jsonl", "--candidates-by", "letters"), "Give char:K, word:K or byte:K"),
        (("plan", "--shingle", "char:5", "--candidates-by", "char:4"), "no longer than the shingle"),
        (
            ("report", "docs.jsonl", "-o", "r", "--pairs", "p.csv", "--candidates-by", "char:12"),
            "Leave --candidates-by",
        ),
        (("index", "build", "i", "docs.jsonl", "--candidates-by", "char:12"), "No such option"),
    ],
)
def test_what_cannot_be_is_a_usage_error(run: Run, words: tuple[str, ...], said: str) -> None:
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
