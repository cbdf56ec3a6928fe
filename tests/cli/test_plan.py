"""``neardup plan``: what is printed where, and that its command line can be run as it stands."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from neardup.cli import main
from neardup.tuning import BAND_RULES

EXAMPLES = Path(__file__).parents[2] / "examples"
Run = Callable[..., Result]


@pytest.fixture
def neardup_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``neardup plan`` beside a copy of the example."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "abstracts.jsonl", tmp_path)

    def run(*args: str) -> Result:
        return CliRunner().invoke(main, ["plan", *args], prog_name="neardup")

    return run


def test_without_input_a_threshold_and_slots_become_a_table(neardup_plan: Run) -> None:
    done = neardup_plan("-t", "0.8", "--slots", "128")
    assert done.exit_code == 0, done.output
    assert "128 slots, 21x6 bands: recall 0.9974 at 0.8" in done.stdout
    for rule, bands in (("threshold", "11x11"), ("divisor", "8x16"), ("log", "12x10"), ("area", "9x13")):
        assert any(line.split()[:2] == [rule, bands] for line in done.stdout.splitlines()), rule
    assert "candidates  " not in done.stdout
    assert done.stderr == ""


def test_a_plan_of_a_file_fits_a_terminal_and_says_what_to_run(neardup_plan: Run, tmp_path: Path) -> None:
    done = neardup_plan("abstracts.jsonl", "--threads", "1", "--shingle", "char:7", "--crowd", "500", "--quiet")
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert max(map(len, lines[:-1])) <= 100
    words = shlex.split(lines[-1])
    assert words[:3] == ["neardup", "find", "abstracts.jsonl"]
    assert words[-6:] == ["--shingle", "char:7", "--crowd", "500", "--threads", "1"]
    assert list(tmp_path.iterdir()) == [tmp_path / "abstracts.jsonl"]
    search = CliRunner().invoke(main, [*words[1:], "--json"])
    assert search.exit_code == 0, search.output
    summary = json.loads(search.stdout)
    assert f"{summary['slots']} slots, {summary['bands']} bands" in done.stdout
    assert f"{summary['documents']:,}" in lines[0]


def test_json_is_the_whole_plan(neardup_plan: Run) -> None:
    done = neardup_plan("abstracts.jsonl", "--json", "--threads", "1", "--slots", "64", "-t", "0.7")
    plan = json.loads(done.stdout)
    assert plan["threshold"] == 0.7
    assert plan["collection"]["documents"] == 600
    assert plan["chosen"]["slots"] == 64
    assert plan["chosen"]["recall"] >= 0.99
    assert plan["chosen"]["estimate"]["candidates"]["low"] <= plan["chosen"]["estimate"]["candidates"]["expected"]
    assert plan["exact"]["total_seconds"] > 0
    assert {rule["rule"] for rule in plan["rules"]} == set(BAND_RULES)
    assert plan["spec"]["bands"] == plan["arguments"]["bands"] == plan["chosen"]["bands"]


def test_a_rule_by_name_is_planned_for_and_its_low_recall_is_said(neardup_plan: Run) -> None:
    done = neardup_plan("--rule", "area", "--slots", "128")
    assert "9x13" in done.stdout.splitlines()[0]
    assert "below the recall that was asked for" in done.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--rule", "aera"], "Did you mean 'area'?"),
        (["--rule", "area", "--bands", "9x13"], "--rule and --bands exclude each other"),
        (["--bands", "64x8", "--slots", "128"], "--bands 64x8 needs 512 slots"),
        (["-t", "1.5"], "threshold is 1.5"),
        (["-t", "0.1", "--slots", "16"], "16 slots cannot reach recall 0.99"),
        (["--quiet", "--verbose"], "exclude each other"),
    ],
)
def test_wrong_usage_is_said_in_one_line_with_code_2(neardup_plan: Run, args: list[str], words: str) -> None:
    done = neardup_plan(*args)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stdout == ""


def test_an_input_that_is_not_there_ends_with_1(neardup_plan: Run) -> None:
    done = neardup_plan("missing.jsonl")
    assert done.exit_code == 1
    assert "missing.jsonl" in done.stderr


def test_every_rule_is_named_in_the_help(neardup_plan: Run) -> None:
    text = " ".join(neardup_plan("--help").stdout.split())
    for rule in BAND_RULES:
        assert rule in text


def test_a_plan_reads_a_pipe(command: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    text = (EXAMPLES / "abstracts.jsonl").read_text(encoding="utf-8")
    done = command("plan", "-", "--input-format", "jsonl", "--json", "--quiet", input=text)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["collection"]["documents"] == 600


def test_a_dry_run_of_find_is_for_one_machine(neardup_plan: Run) -> None:
    args = ["find", "abstracts.jsonl", "--dry-run", "--engine", "spark", "--workdir", "work"]
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 2
    assert "--dry-run plans for one machine. Leave --engine spark out." in done.stderr
