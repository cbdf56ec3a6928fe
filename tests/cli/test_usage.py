"""Wrong usage is told before anything is read, with exit code 2 and the cure."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import neardup
from neardup.cli import main, options
from neardup.inputs.columns import ID_NAMES, TEXT_NAMES
from neardup.outputs.write import OUTPUT_FORMATS

Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-t", "0"], "threshold is 0. Give a Jaccard similarity above 0 and at most 1."),
        (["-t", "1.1"], "threshold is 1.1."),
        (["-t", "nan"], "threshold is nan."),
        (["--threshold", "high"], "threshold is 'high', not a number."),
        (["--recall", "1"], "Give a recall below 1"),
        (["--shingle", "chars:9"], "Did you mean 'char'?"),
        (["--shingle", "word:0"], "K must be a whole number from 1 to 1000"),
        (["--normalize", "nfc,nfkc"], "give one of none, nfc, nfkc"),
        (["--slots", "1"], "slots is 1. Give a whole number from 2 to 4096."),
        (["--slots", "many"], "slots is 'many'."),
        (["--bands", "32"], "Give bands x rows, such as 32x8."),
        (["--bands", "32x8", "--slots", "128"], "--bands 32x8 needs 256 slots and --slots is 128."),
        (["--seed", "-1"], "seed is -1. Give a whole number from 0 to"),
        (["--sketch", "fast"], "'fast' is not one of"),
        (["--link", "chain"], "'chain' is not one of"),
        (["--crowd", "1"], "crowd is 1. Give a whole number of at least 2, such as 1000, or 0 to list every pair."),
        (["--threads", "0"], "threads is 0. Give a whole number of 1 or more."),
        (["--encoding", "utf-88"], "encoding is 'utf-88'"),
        (["--on-bad", "ignore"], "'ignore' is not one of"),
        (["--format", "xml"], "'xml' is not one of"),
        (["-o", "pairs.ods"], "pairs.ods does not tell a format."),
        (["-o", "pairs.csv", "--format", "table"], "format is 'table'"),
        (["--clusters", "clusters"], "clusters does not tell a format."),
        (["-o", "x.csv", "--clusters", "x.csv"], "x.csv is named for two outputs."),
        (["-o", "x.csv", "--clusters", "./x.csv"], "is named for two outputs."),
        (["-o", "x.csv", "--clusters", "x.csv.spec.json", "--format", "csv"], "the name of the spec of another"),
        (["--clusters", "-"], "stdout can take one thing only."),
        (["--json", "-o", "-"], "stdout can take one thing only."),
        (["-o", "docs.jsonl"], "docs.jsonl is an input too (docs.jsonl)."),
        (["--quiet", "--verbose"], "exclude each other"),
        (["--memory", "lots"], "memory is 'lots'. Give a size such as 2GB"),
        (["--memory", "0"], "memory is '0'."),
        (["--treshold", "0.8"], "No such option"),
    ],
)
def test_wrong_values_are_usage_errors(neardup_find: Run, search: Any, args: list[str], words: str) -> None:
    result = neardup_find(*args)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert search.calls == []


def test_an_input_is_required() -> None:
    result = CliRunner().invoke(main, ["find"])
    assert result.exit_code == 2
    assert "INPUT" in result.stderr


def test_an_unknown_command_is_told_with_the_near_one() -> None:
    result = CliRunner().invoke(main, ["fnid", "x"])
    assert result.exit_code == 2
    assert "No such command 'fnid'. Did you mean 'find'?" in result.stderr


@pytest.mark.parametrize("source", [".", "*.md", "sub/../"])
def test_an_output_that_a_folder_or_pattern_would_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: Any, source: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "notes.md").write_text("a text")
    result = CliRunner().invoke(main, ["find", source, "-o", "notes.md", "--format", "csv"])
    assert result.exit_code == 2
    assert "notes.md is an input too" in result.stderr
    assert search.calls == []


def test_an_output_beside_the_texts_of_a_folder_is_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, search: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("old")
    (tmp_path / "a.txt").write_text("a text")
    assert CliRunner().invoke(main, ["find", ".", "-o", "pairs.csv"]).exit_code == 0
    assert (tmp_path / "pairs.csv").read_text().startswith("id_a,id_b,similarity\n")


@pytest.mark.parametrize("option", ["-o", "--clusters"])
def test_a_missing_folder_fails_before_the_search(neardup_find: Run, search: Any, option: str) -> None:
    result = neardup_find(option, "none/pairs.csv")
    assert result.exit_code == 1
    assert "Error: cannot write none/pairs.csv: No such file or directory. Make the folder" in result.stderr
    assert search.calls == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_fails_before_the_search(
    neardup_find: Run, search: Any, tmp_path: Path
) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    result = neardup_find("-o", "locked/pairs.csv")
    assert result.exit_code == 1
    assert "Permission denied" in result.stderr
    assert search.calls == []


def test_every_help_text_ends_with_examples_and_tells_each_option() -> None:
    for args in ([], *([name] for name in main.list_commands(None))):  # type: ignore[arg-type]
        result = CliRunner().invoke(main, [*args, "--help"])
        assert result.exit_code == 0
        head, _, examples = result.stdout.partition("Examples:\n")
        assert {line.split()[0] for line in examples.strip().splitlines()} == {"neardup"}
        assert len(examples.strip().splitlines()) >= 2
        assert "Usage: " in head


@pytest.mark.parametrize("name", ["find", "dedup"])
def test_every_option_has_help_and_a_stated_default(name: str) -> None:
    command = main.get_command(None, name)  # type: ignore[arg-type]
    for option in command.params[1:]:
        assert option.help, option.name
        if not option.is_flag:
            assert option.show_default or "[default: " in option.help, option.name


def test_version() -> None:
    result = CliRunner().invoke(main, ["--version"], prog_name="neardup")
    assert result.stdout.split() == ["neardup", neardup.__version__]


def test_the_choices_of_the_options_are_those_of_the_library() -> None:
    assert set(options.PAIR_FORMATS) == {"table", *OUTPUT_FORMATS}
    find = main.get_command(None, "find")  # type: ignore[arg-type]
    help_of = {option.name: option.help for option in find.params[1:]}
    assert ", ".join(TEXT_NAMES) in help_of["text"]
    assert ", ".join(ID_NAMES) in help_of["id"]


@pytest.mark.parametrize("command", [[], ["index"]], ids=["neardup", "neardup index"])
def test_without_a_command_the_help_is_shown_line_by_line(command: list[str]) -> None:
    result = CliRunner().invoke(main, command, prog_name="neardup")
    asked = CliRunner().invoke(main, [*command, "--help"], prog_name="neardup")
    assert (result.stdout + result.stderr).splitlines() == asked.stdout.splitlines()
    assert len(asked.stdout.splitlines()) > 10
