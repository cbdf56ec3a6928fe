"""``neardup explain``: where documents come from, what is shown, and how wrong usage ends."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from neardup.cli import main
from neardup.tasks.explain.public import explain


def run(*args: str, **options: object) -> Result:
    return CliRunner().invoke(main, ["explain", *args], prog_name="neardup", **options)


def test_every_step_has_its_table() -> None:
    result = run("nadal", "nadia")
    assert result.exit_code == 0
    assert result.stderr == ""
    heads = [line.split(":")[0].split(" (")[0] for line in result.stdout.splitlines() if line[:1].strip()]
    assert heads == [
        "Shingles",
        "Characteristic matrix, and the place of each row under each function",
        "Signatures, row by row",
        "Signatures",
        "Bands",
        "Pairs",
        "S-curve",
    ]
    assert result.stdout == f"{explain(['nadal', 'nadia'])}\n"


def test_json_has_every_table_one_a_line() -> None:
    result = run("nadal", "nadia", "--json", "--seed", "7", "--sketch", "hybrid", "--slots", "20")
    tables = json.loads(result.stdout)
    assert tables == json.loads(json.dumps(explain(["nadal", "nadia"], seed=7, sketch="hybrid", slots=20).as_dict()))
    assert len(result.stdout.splitlines()) == len(tables) + 2


def test_files_are_documents_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nadal", encoding="utf-8")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.txt").write_text("nadia", encoding="utf-8")
    result = run("nada", "--file", str(tmp_path / "a.txt"), "--file", "-", "--json", input="é")
    documents = json.loads(result.stdout)["documents"]
    assert [(one["name"], one["text"]) for one in documents] == [("D1", "nada"), ("a.txt", "nadal"), ("stdin", "é")]
    both = run("--file", str(tmp_path / "a.txt"), "--file", str(tmp_path / "b" / "a.txt"), "--json")
    assert [one["name"] for one in json.loads(both.stdout)["documents"]] == [
        str(tmp_path / "a.txt"),
        str(tmp_path / "b" / "a.txt"),
    ]


def test_a_text_with_a_leading_dash_follows_two_dashes() -> None:
    assert json.loads(run("--json", "--", "-ab").stdout)["documents"][0]["shingles"] == ["-a", "ab"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "there is nothing to explain. Give TEXT, --file, --set or --rows."),
        (["abc", "--set", "a"], "exclude each other"),
        (["--set", "a", "--rows", "1"], "exclude each other"),
        (["abc", "--rows", "1"], "exclude each other"),
        (["--set", "a", "--shingle", "char:2"], "shingle is char:2 and the documents are sets"),
        (["abc", "--shingle", "chars:2"], "Did you mean 'char'?"),
        (["abc", "--slots", "many"], "slots is many. Give a whole number of at least 1."),
        (["abc", "--first-row", "-1"], "first-row is -1."),
        (["abc", "--bands", "4"], "Give bands x rows"),
        (["abc", "--hash", "x*x mod 5"], "hash is 'x*x mod 5'"),
        (["abc", "--order", "ab"], "order ab lacks 'bc'"),
        (["--rows", "10,1"], "row 2 of the matrix is '1'"),
        (["--rows", ""], "row 1 of the matrix is ''"),
        (["abc", "--sketch", "fast"], "'fast' is not one of"),
        (["ab"] * 21, "21 documents are too many"),
        (["".join(map(chr, range(200, 500)))], "distinct shingles (char:2), too many"),
    ],
)
def test_wrong_usage_is_told_with_exit_code_2(args: list[str], words: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_a_file_that_cannot_be_used_ends_with_1(tmp_path: Path) -> None:
    missing = run("--file", str(tmp_path / "none.txt"))
    assert missing.exit_code == 1
    assert "cannot read" in missing.stderr
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    latin = run("--file", str(tmp_path / "latin.txt"))
    assert latin.exit_code == 1
    assert "is not UTF-8 at byte 3" in latin.stderr
    (tmp_path / "a").write_text("a b", encoding="utf-8")
    assert run("--file", str(tmp_path / "a"), "--file", str(tmp_path / "a")).exit_code == 2


def test_the_help_ends_with_two_examples_and_every_option_tells_its_default() -> None:
    result = run("--help")
    _, _, examples = result.stdout.partition("Examples:\n")
    assert [line.split()[:2] for line in examples.strip().splitlines()] == [["neardup", "explain"]] * 2
    command = main.get_command(None, "explain")  # type: ignore[arg-type]
    for option in command.params[1:]:
        assert option.help, option.name
        if not option.is_flag:
            assert option.show_default or "[default: " in option.help, option.name


def test_every_parameter_of_the_call_has_its_option() -> None:
    command = main.get_command(None, "explain")  # type: ignore[arg-type]
    names = {option.name for option in command.params}
    everywhere = {"config", "log_level", "log_format", "log_file"}
    assert names - {"files", "sets", "json"} - everywhere == set(signature(explain).parameters)
