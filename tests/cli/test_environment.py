"""Options in variables of the environment: each option has one, counts as typed, and gives way to what is typed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from tests.cli.test_config import COMMANDS, DOCUMENTS, one, parsed, run, takes, text_of, words_for

from neardup.cli.config import EVERYWHERE, GIVEN, keys_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text(DOCUMENTS)
    return tmp_path


def options_of(command: click.Command) -> list[click.Option]:
    return [param for param in command.params if isinstance(param, click.Option)]


def arguments_of(command: click.Command) -> list[str]:
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    required = [word for param in options_of(command) if param.required for word in words_for(param)]
    return [*required, "--", *map(one, arguments)]


def names(words: tuple[str, ...]) -> dict[str, str]:
    return {"_".join(("NEARDUP", *words, max(p.opts, key=len).lstrip("-"))).replace("-", "_").upper(): str(p.name)
            for p in options_of(COMMANDS[words])}  # fmt: skip


def test_no_two_options_share_a_variable() -> None:
    every = [name for words in COMMANDS for name in names(words)]
    assert len(set(every)) == len(every) > 400
    general = {f"NEARDUP_{name.upper()}" for name in EVERYWHERE}
    assert not general & {*every, "NEARDUP_NATIVE", "NEARDUP_SHARED_DATA", "NEARDUP_TESTS_COLD", "NEARDUP_VERSION"}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_does_from_its_variable_what_it_does_typed(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[words]
    rest = arguments_of(command)
    by_name = {name: variable for variable, name in names(words).items()}
    typed_words, given = [], []
    for param in options_of(command):
        if param.name == "config" or param.required:
            continue
        word = words_for(param)[0]
        if param.multiple and not isinstance(param.type, (click.Choice, click.Path)):
            word = f"{word.partition('=')[0]}=a|b"  # white space would separate two
        value = "1" if param.is_flag else word.partition("=")[2]
        if takes(param, value):
            monkeypatch.setenv(by_name[str(param.name)], value)
            typed_words.append(word)
            given.append(str(param.name))
    read = parsed(words, rest)
    for name in given:
        monkeypatch.delenv(by_name[name])
    typed = parsed(words, [*typed_words, *rest])
    assert read.params == typed.params
    assert [read.get_parameter_source(name) for name in given] == [typed.get_parameter_source(name) for name in given]
    saved, as_typed = (text_of(words, each) for each in (read, typed))
    assert saved == as_typed
    assert len(given) > 0


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_wrong_value_is_told_with_its_variable_and_help_is_shown_all_the_same(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[words]
    wrong = {}
    for variable, name in names(words).items():
        param = next(each for each in options_of(command) if each.name == name)
        if not isinstance(param.type, click.Path) and not takes(param, "what\x7f?"):
            wrong[variable] = "what\x7f?"
    for variable, value in wrong.items():
        monkeypatch.setenv(variable, value)
    assert run(*words, "--help").exit_code == 0
    done = run(*words, *arguments_of(command))
    assert done.exit_code == 2
    for variable in wrong:
        assert f"{variable} in the environment: " in done.output, variable
    assert "\x7f" not in done.output


def test_typed_wins_over_the_environment_and_that_over_the_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("n.toml").write_text("threshold = 0.5\nrecall = 0.9\nseed = 5\nexact = true\n")
    monkeypatch.setenv("NEARDUP_FIND_THRESHOLD", "0.6")
    monkeypatch.setenv("NEARDUP_FIND_RECALL", "0.91")
    monkeypatch.setenv("NEARDUP_FIND_CONFIG", "n.toml")
    got = parsed(["find"], ["-t", "0.7", "docs.jsonl"]).params
    assert [got[name] for name in ("threshold", "recall", "seed", "exact")] == [0.7, 0.91, 5, True]


def test_the_name_with_the_command_wins_over_the_one_without(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_THREADS", "3")
    assert parsed(["find"], ["docs.jsonl"]).params["threads"] == 3
    monkeypatch.setenv("NEARDUP_FIND_THREADS", "2")
    assert parsed(["find"], ["docs.jsonl"]).params["threads"] == 2
    assert parsed(["index", "build"], ["a.index", "docs.jsonl"]).params["threads"] == 3


def test_an_option_that_changes_answers_has_no_name_without_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("THRESHOLD", "OUTPUT", "SEED", "VERSION", "HELP", "FIND_HELP", "FIND_INPUTS"):
        monkeypatch.setenv(f"NEARDUP_{name}", "0.1")
    got = parsed(["find"], ["docs.jsonl"]).params
    assert (got["threshold"], got["output"], got["inputs"]) == (0.8, None, (Path("docs.jsonl"),))
    done = run("--version")
    assert (done.exit_code, done.output.split()[0]) == (0, "neardup")


def test_a_preset_that_is_nearer_wins_over_the_options_that_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_FIND_SHINGLE", "word:9")
    assert parsed(["find"], ["docs.jsonl", "--for", "essays"]).meta[GIVEN].keys() == {"inputs", "preset"}
    assert str(parsed(["find"], ["docs.jsonl"]).params["shingle"]) == "word:9"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("a b.jsonl:c.jsonl", ["a b.jsonl", "c.jsonl"]),
        ("s3://bucket/a:s3://bucket/b c", ["s3://bucket/a", "s3://bucket/b c"]),
        (":a::b:", ["a", "b"]),
    ],
)
@pytest.mark.skipif("__import__('os').pathsep != ':'")
def test_paths_may_have_spaces_and_addresses_are_not_cut(
    monkeypatch: pytest.MonkeyPatch, text: str, paths: list[str]
) -> None:
    monkeypatch.setenv("NEARDUP_REPORT_VERDICTS", text)
    assert list(parsed(["report"], ["docs.jsonl", "-o", "x"]).params["verdicts"]) == paths


@pytest.mark.parametrize(
    ("name", "text", "meant"),
    [
        ("QUIET", "true", True),
        ("QUIET", "off", False),
        ("QUIET", "", False),
        ("EXACT", "yes", True),
        ("EXACT", "1", True),
        ("EXACT", "maybe", None),
        ("EXACT", "no", False),
        ("EXACT", "auto", "auto"),
        ("WITH_TEXT", "true", True),
        ("WITH_TEXT", "40", 40),
        ("GLOB", "*.md *.txt", ("*.md", "*.txt")),
    ],
)
def test_what_values_mean(monkeypatch: pytest.MonkeyPatch, name: str, text: str, meant: Any) -> None:
    monkeypatch.setenv(f"NEARDUP_FIND_{name}", text)
    if meant is None:
        with pytest.raises(click.UsageError, match=f"NEARDUP_FIND_{name} in the environment"):
            parsed(["find"], ["docs.jsonl"])
    else:
        assert parsed(["find"], ["docs.jsonl"]).params[name.lower()] == meant


def test_no_in_a_variable_wins_over_a_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("c.toml").write_text("[find]\nexact = true\nwith-text = 40\nquiet = true\n")
    of_file = parsed(["find"], ["docs.jsonl", "--config", "c.toml"]).params
    assert (of_file["exact"], of_file["with_text"], of_file["quiet"]) == (True, 40, True)
    for name in ("EXACT", "WITH_TEXT", "QUIET"):
        monkeypatch.setenv(f"NEARDUP_FIND_{name}", "no")
    wins = parsed(["find"], ["docs.jsonl", "--config", "c.toml"]).params
    assert (wins["exact"], wins["with_text"], wins["quiet"]) == (False, False, False)


def test_options_that_exclude_each_other_name_the_variable(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_QUIET", "1")
    done = run("find", "docs.jsonl", "--verbose")
    assert done.exit_code == 2
    assert "NEARDUP_QUIET is set in the environment." in done.output


def test_a_variable_with_a_slip_is_told_and_changes_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARDUP_FIND_TRESHOLD", "0.1")
    monkeypatch.setenv("NEARDUP_FIND_SERVICE_HOST", "10.0.0.1")
    done = run("find", "docs.jsonl")
    assert done.exit_code == 0
    assert "NEARDUP_FIND_TRESHOLD is set" in done.stderr
    assert "Did you mean NEARDUP_FIND_THRESHOLD?" in done.stderr
    assert "SERVICE" not in done.stderr


def test_every_key_of_a_file_has_its_variable() -> None:
    for words, command in COMMANDS.items():
        keys = {key for key, param in keys_of(command).items() if isinstance(param, click.Option)}
        start = "_".join(("NEARDUP", *words)).replace("-", "_").upper() + "_"
        assert {start + key.replace("-", "_").upper() for key in keys} <= names(words).keys()
