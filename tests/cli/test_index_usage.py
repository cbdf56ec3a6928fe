"""Help, wrong usage and missing indexes of ``neardup index``: told before anything is read or written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.cli.indexing import SPEC, good, index, write_jsonl

from neardup.cli import main
from neardup.cli.index import _COMMANDS
from neardup.cli.index import index as group

NAMES = sorted(_COMMANDS)
CONTEXT = click.Context(group)
NEEDS = {name: ["docs.jsonl"] for name in ("add", "dedup-stream", "get", "merge", "query", "remove")} | {
    "backup": ["copy"]
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with one input."""
    monkeypatch.chdir(tmp_path)
    write_jsonl("docs.jsonl", [("a", "a text")])
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_every_help_text_ends_with_two_examples(name: str) -> None:
    result = CliRunner().invoke(main, ["index", name, "--help"], prog_name="neardup")
    assert result.exit_code == 0
    head, _, examples = result.stdout.partition("Examples:\n")
    lines = examples.strip().splitlines()
    assert len(lines) == 2
    assert all(line.split()[:3] == ["neardup", "index", name] for line in lines)
    assert f"Usage: neardup index {name} " in head


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_help_and_a_stated_default(name: str) -> None:
    command = group.get_command(CONTEXT, name)
    assert command is not None
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            if not option.is_flag:
                assert option.show_default or "[default: " in option.help, option.name


@pytest.mark.parametrize("name", NAMES)
def test_the_line_in_the_list_is_what_the_command_says_of_itself(name: str) -> None:
    command = group.get_command(CONTEXT, name)
    assert command is not None
    assert command.name == name
    assert _COMMANDS[name][1].endswith(".")
    assert len(_COMMANDS[name][1]) < 70


def test_help_imports_nothing_heavy() -> None:
    calls = [["index", "--help"], *(["index", name, "--help"] for name in NAMES)]
    script = (
        f"import sys\nfrom neardup.cli import main\nfor args in {calls!r}: main(args, standalone_mode=False)\n"
        "names = 'numpy numba pyarrow rich sqlite3 importlib.metadata concurrent.futures asyncio unittest'.split()\n"
        "sys.exit(', '.join(name for name in names if name in sys.modules) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False)
    assert done.stderr.strip() == ""
    assert done.returncode == 0


def test_the_list_of_commands_imports_none_of_them() -> None:
    script = (
        "import sys\nfrom neardup.cli import main; main(['index', '--help'], standalone_mode=False)\n"
        "sys.exit(', '.join(n for n in sys.modules if n.startswith('neardup.cli.index.')) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False)
    assert done.stderr.strip() == ""
    assert all(f"  {name} " in done.stdout for name in NAMES)


def test_an_unknown_command_is_told_with_the_near_one() -> None:
    result = index("qurey", "x")
    assert result.exit_code == 2
    assert "No such command 'qurey'. Did you mean 'query'?" in result.stderr
    assert "Known are add, backup, build, compact, create" in " ".join(index("frobnicate").stderr.split())


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"create", "build"}))
def test_a_missing_index_is_named_with_the_command_that_makes_one(name: str) -> None:
    result = index(name, "nowhere/papers.index", *NEEDS.get(name, []))
    assert result.exit_code == 1
    message = " ".join(result.stderr.split())
    assert message.startswith("Error: ")
    assert "nowhere/papers.index" in message
    assert "neardup index create" in message
    assert result.stdout == ""
    assert os.listdir() == ["docs.jsonl"]


def test_a_folder_that_is_no_index_is_not_taken_for_one() -> None:
    Path("notes").mkdir()
    result = index("info", "notes")
    assert result.exit_code == 1
    assert "notes" in result.stderr
    assert os.listdir("notes") == []


@pytest.mark.parametrize("name", ["create", "build"])
def test_what_is_there_is_not_made_anew(name: str) -> None:
    good("create", "i", *SPEC)
    before = Path("i/index.sqlite").read_bytes()
    result = index(name, "i", *(["docs.jsonl"] if name == "build" else []))
    assert result.exit_code == 1
    assert "Error: " in result.stderr
    assert "i" in result.stderr
    assert Path("i/index.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["create", "i", "-t", "0"], "threshold is 0."),
        (["create", "i", "--shingle", "chars:9"], "Did you mean 'char'?"),
        (["create", "i", "--bands", "32x8", "--slots", "128"], "--bands 32x8 needs 256 slots and --slots is 128."),
        (["create", "i", "--quiet", "--verbose"], "exclude each other"),
        (["create"], "INDEX"),
        (["build", "i"], "INPUT"),
        (["build", "i", "docs.jsonl", "--recall", "1"], "Give a recall below 1"),
        (["build", "i", "docs.jsonl", "--on-duplicate", "last"], "'last' is not one of"),
        (["build", "i", "docs.jsonl", "--threads", "0"], "threads is 0."),
        (["add", "i"], "INPUT"),
        (["add", "i", "docs.jsonl", "-o", "x.csv"], "-o is for the list of --if-new."),
        (["add", "i", "docs.jsonl", "--format", "csv"], "--format is for the list of --if-new."),
        (["add", "i", "docs.jsonl", "-t", "0.9"], "--threshold is for the list of --if-new."),
        (["add", "i", "docs.jsonl", "--if-new", "-o", "x.doc"], "x.doc does not tell a format."),
        (["add", "i", "docs.jsonl", "--if-new", "-o", "docs.jsonl"], "docs.jsonl is an input too"),
        (["add", "i", "docs.jsonl", "--if-new", "-o", "-", "--json"], "stdout can take one thing only."),
        (["add", "i", "docs.jsonl", "--on-bad", "ignore"], "'ignore' is not one of"),
        (["remove", "i"], "no ids are given."),
        (["remove", "i", "--where", "a=1", "--older-than", "1d"], "--older-than is in place of ids"),
        (["remove", "i", "--where", "a"], "a has no =."),
        (["query", "i", "--string", "x", "--where", "a=1", "--where", "a=2"], "a is given twice."),
        (["get", "i"], "ID"),
        (["get", "i", "a", "-o", "i/x.csv"], "i/x.csv is in the folder of the index."),
        (["list", "i", "--top", "0"], "top is 0."),
        (["remove", "i", "a", "--older-than", "1d"], "--older-than is in place of ids"),
        (["remove", "i", "--from", "docs.jsonl", "--older-than", "1d"], "--older-than is in place of ids"),
        (["remove", "i", "--missing", "skip", "--older-than", "1d"], "--older-than is in place of ids"),
        (["remove", "i", "--older-than", "1 month"], "'1 month' is no age."),
        (["remove", "i", "--older-than", "0d"], "Give one above 0."),
        (["remove", "i", "a", "--dry-run"], "--dry-run is for --older-than."),
        (["remove", "i", "a", "--missing", "ignore"], "'ignore' is not one of"),
        (["query", "i"], "give either INPUT or --string."),
        (["query", "i", "docs.jsonl", "--string", "x"], "give either INPUT or --string."),
        (["query", "i", "--string", "x", "--top", "0"], "top is 0. Give a whole number of 1 or more, or all."),
        (["query", "i", "--string", "x", "--top", "many"], "top is many."),
        (["query", "i", "--string", "x", "-t", "1.5"], "threshold is 1.5."),
        (["query", "i", "--string", "x", "-o", "x.csv", "--format", "table"], "format is 'table'"),
        (["query", "i", "--string", "x", "-o", "i/index.sqlite"], "i/index.sqlite does not tell a format."),
        (["query", "i", "--string", "x", "-o", "i/x.csv"], "i/x.csv is in the folder of the index."),
        (["pairs", "i", "-o", "x.csv", "--clusters", "x.csv"], "x.csv is named for two outputs."),
        (["pairs", "i", "--clusters", "-"], "stdout can take one thing only."),
        (["pairs", "i", "--link", "chain"], "'chain' is not one of"),
        (["pairs", "i", "--memory", "lots"], "memory is 'lots'."),
        (["merge", "i"], "OTHER"),
        (["merge", "i", "./i"], "i is named twice."),
        (["merge", "i", "j", "j"], "j is named twice."),
        (["dedup-stream", "i"], "INPUT"),
        (["dedup-stream", "i", "docs.jsonl", "--json"], "stdout can take one thing only."),
        (["dedup-stream", "i", "docs.jsonl", "-o", "docs.jsonl"], "docs.jsonl is an input too"),
        (["dedup-stream", "i", "docs.jsonl", "-o", "x.jsonl.gz"], "not compressed"),
        (["dedup-stream", "i", "docs.jsonl", "-o", "i/x.jsonl"], "is in the folder of the index."),
        (["dedup-stream", "i", "docs.jsonl", "--removed", "x.parquet"], "grows with the stream."),
        (["dedup-stream", "i", "docs.jsonl", "-o", "x.csv", "--removed", "x.csv"], "named for two outputs"),
        (["dedup-stream", "i", "docs.jsonl", "docs.jsonl"], "an input is given twice."),
        (["dedup-stream", "i", "table.csv"], "neardup index add --if-new"),
        (["dedup-stream", "i", "notes.txt"], "--input-format lines"),
        (["dedup-stream", "i", "-", "--input-format", "parquet"], "standard input is of the format parquet"),
    ],
)  # fmt: skip
def test_wrong_usage_is_told_before_anything_is_done(args: list[str], words: str) -> None:
    if args[0] not in ("create", "build"):
        good("create", "i", *SPEC)
        good("create", "j", *SPEC)
    for name in ("table.csv", "notes.txt"):
        Path(name).touch()
    before = sorted(os.listdir())
    result = index(*args)
    assert result.exit_code == 2, result.stderr
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("args", [["query", "i", "--string", "x", "-o", "none/x.csv"],
                                  ["pairs", "i", "--clusters", "none/x.csv"],
                                  ["add", "i", "docs.jsonl", "--if-new", "-o", "none/x.csv"],
                                  ["dedup-stream", "i", "docs.jsonl", "-o", "none/x.jsonl"],
                                  ["dedup-stream", "i", "docs.jsonl", "--removed", "none/x.csv"]])  # fmt: skip
def test_a_missing_folder_fails_before_anything_is_done(args: list[str]) -> None:
    good("create", "i", *SPEC)
    result = index(*args)
    assert result.exit_code == 1
    assert "No such file or directory. Make the folder" in result.stderr
    assert "documents     0, 0 empty" in good("info", "i").stdout
