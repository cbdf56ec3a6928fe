"""``neardup audit``: the audit on stdout, the missed pairs in a file, and the exit code."""

from __future__ import annotations

import csv
import json
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import neardup
from neardup import tuning
from neardup.cli import audit as module
from neardup.cli import main
from neardup.engine import run as engine
from neardup.tasks.audit.statistics import Evidence

ABSTRACTS = Path(__file__).parents[2] / "examples" / "abstracts.jsonl"


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["audit", *args], prog_name="neardup")


def test_the_audit_is_a_text_that_ends_with_the_verdict():
    done = run(str(ABSTRACTS), "-t", "0.8", "--documents", "200", "--quiet")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "documents     600 distinct texts, 200 sampled (sample seed 1)"
    assert lines[-1].startswith("verdict       kept: ")
    assert any(line.startswith("similarity") for line in lines)
    assert done.stderr == ""


def test_json_has_every_figure():
    done = run(str(ABSTRACTS), "-t", "0.8", "--json", "--quiet")
    audit = json.loads(done.stdout)
    assert audit["sampled"] == audit["documents"] == 600
    assert audit["pairs"] == audit["found"] == 106
    assert audit["seconds"]["audit"] > 0
    assert audit["seconds"]["read"] > 0


def test_misses_are_written_as_pairs(tmp_path: Path):
    target = tmp_path / "missed.csv"
    done = run(str(ABSTRACTS), "-t", "0.6", "--bands", "4x8", "--misses", str(target), "--json", "--quiet")
    audit = json.loads(done.stdout)
    with target.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == audit["pairs"] - audit["found"] > 0
    assert all(0.6 <= float(row["similarity"]) <= 1 for row in rows)
    assert (tmp_path / "missed.csv.spec.json").exists()


def test_a_broken_promise_ends_with_one_and_says_why(monkeypatch: pytest.MonkeyPatch):
    """The same run with a quarter of its bands, while what was promised stays."""
    options = {"threshold": 0.5, "shingle": "char:5"}
    promise = tuning.make_spec(**options)
    cut = tuning.make_spec(**options, bands=f"{promise.bands.bands // 4}x{promise.bands.rows}", slots=promise.slots)
    monkeypatch.setattr("neardup.tuning.make_spec", lambda search: cut)
    plain = Evidence.of
    monkeypatch.setattr(Evidence, "of", lambda *given: plain(*given[:-1], promise))
    done = run(str(ABSTRACTS), "-t", "0.5", "--shingle", "char:5", "--quiet")
    assert done.exit_code == 1
    assert "verdict       broken: " in done.stdout


def test_the_defaults_are_those_of_the_library():
    of_library = signature(neardup.audit).parameters
    for option in module.audit.params:
        if option.name in ("documents", "sample_seed"):
            assert option.default == of_library[option.name].default


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--documents", "0"], "documents is 0"),
        (["--sample-seed", "-1"], "sample-seed is -1"),
        (["--misses", "-"], "stdout takes the audit"),
        (["--misses", "missed.txt"], "does not tell a format"),
        (["--misses", str(ABSTRACTS)], "is an input too"),
        (["--slots", "16", "--bands", "8x8"], "--bands 8x8 needs 64 slots"),
    ],
)
def test_a_wrong_option_is_a_usage_error(args: list[str], message: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "search", lambda *args, **how: pytest.fail("the search began"))
    done = run(str(ABSTRACTS), *args)
    assert done.exit_code == 2, done.output
    assert message in done.output.replace("\n", " ")
