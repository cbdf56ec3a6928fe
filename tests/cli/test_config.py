"""A run in a file: what stands in it counts as typed, is checked as typed, and gives the same run."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup.cli import LazyGroup, main
from neardup.cli.config import GIVEN, alone, as_toml, keys_of

DOCUMENTS = "".join(
    json.dumps({"id": name, "text": text}) + "\n"
    for name, text in (
        ("a", "the quick brown fox jumps over the lazy dog"),
        ("b", "the quick brown fox jumps over the lazy cat"),
        ("c", "something else, of which there is no copy"),
    )
)


def leaves(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, LazyGroup):
        for name in command.list_commands(click.Context(command)):
            inner = command.get_command(click.Context(command), name)
            assert inner is not None
            yield from leaves(inner, (*words, name))
    else:
        yield words, command


COMMANDS = dict(leaves(main))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("docs.jsonl").write_text(DOCUMENTS)
    return tmp_path


def run(*words: str) -> Any:
    return CliRunner().invoke(main, words)


def parsed(words: Sequence[str], args: Sequence[str]) -> click.Context:
    """The context of a command after its words were parsed; nothing is run."""
    parent: click.Context | None = None
    command: click.Command = main
    for word in words:
        assert isinstance(command, LazyGroup)
        parent = click.Context(command, parent=parent, info_name=word, help_option_names=["-h", "--help"])
        inner = command.get_command(parent, word)
        assert inner is not None
        command = inner
    return command.make_context(words[-1], list(args), parent=parent)


def text_of(words: Sequence[str], ctx: click.Context) -> str:
    """The text of a file for --config that gives a command what its context was given."""
    given, lines = ctx.meta[GIVEN], [f"[{'.'.join(words)}]"]
    for key, param in keys_of(ctx.command).items():
        if param.name in given:
            lines.append(f"{key} = {as_toml(written(key, param, given[param.name], ctx.params.get(param.name)))}")
    return "\n".join([*lines, ""])


def written(key: str, param: click.Parameter, raw: Any, value: Any) -> Any:
    """A given value as a file has it: a switch as a boolean, a number as one, everything else as text."""
    if isinstance(raw, bool) or raw == alone(key, param):
        return True
    if isinstance(raw, (list, tuple)):
        return [str(each) for each in raw]
    is_number = isinstance(value, (int, float)) and re.fullmatch(r"(0|[1-9][0-9]*)(\.[0-9]+)?", str(raw))
    return json.loads(str(raw)) if is_number else str(raw)


OF_TYPE = {
    "number": ["7", "0.7", "70"],
    "probability": ["0.93"],
    "unit:k": ["word:3"],
    "steps": ["nfkc,casefold"],
    "bxr": ["4x2"],
    "size": ["50MB"],
    "rule": ["max:date", "gpt3"],
    "share": ["0.25"],
    "two numbers": ["0.75,0.25"],
    "name": ["latin-1", "log"],
    "seconds": ["2.5"],
    "kind": ["essays"],
    "pipeline": ["c4"],
    "age": ["36h"],
    "filter": ['odd="\\ ü"'],
}
"""Values for options whose types are ours, one of which each of them takes."""


def words_for(param: click.Parameter) -> list[str]:
    """Words that give a parameter a value other than its default."""
    if isinstance(param, click.Option) and param.is_flag:
        return [max(param.opts, key=len)]
    if isinstance(param.type, click.Choice):
        value = str(list(param.type.choices)[-1])
    elif param.type.name in OF_TYPE:
        value = next(each for each in OF_TYPE[param.type.name] if takes(param, each))
    else:
        value = f'odd "{param.name}" \\ \x7f ü'
    many = isinstance(param, click.Option) and param.multiple
    return [f"{max(param.opts, key=len)}={value}"] * (2 if many else 1)


def one(param: click.Argument) -> str:
    """A value of an argument, an odd one where any will do."""
    return str(param.type.choices[0]) if isinstance(param.type, click.Choice) else "-in"


def takes(param: click.Parameter, value: str) -> bool:
    try:
        param.type.convert(value, param, None)
    except click.BadParameter:
        return False
    return True


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_and_argument_survives_being_written_and_read(words: tuple[str, ...], tmp_path: Path) -> None:
    command = COMMANDS[words]
    saved = tmp_path / "run.toml"
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    plain = [each for param in arguments for each in ([f"{param.name} 1", "-2"] if param.nargs == -1 else [one(param)])]
    required = [
        word
        for param in command.params
        if isinstance(param, click.Option) and param.required
        for word in words_for(param)
    ]
    options = [param for key, param in keys_of(command).items() if isinstance(param, click.Option) and key != "resume"]
    for each in [*([one] for one in options), options]:
        given_words = [word for param in each if not param.required for word in words_for(param)]
        typed = parsed(words, [*required, *given_words, "--", *plain])
        saved.write_text(text_of(words, typed), "utf-8")
        again = parsed(words, ["--config", str(saved)])
        assert again.params == typed.params
        sources = {name: (typed.get_parameter_source(name), again.get_parameter_source(name)) for name in typed.params}
        assert all(ours == theirs for ours, theirs in sources.values())


@given(st.recursive(st.text() | st.booleans() | st.integers() | st.floats(allow_nan=False), st.lists, max_leaves=5))
def test_values_are_written_as_toml_reads_them(value: Any) -> None:
    try:
        written = as_toml(value).encode().decode()
    except UnicodeEncodeError:
        return  # a lone surrogate, which TOML has not
    assert tomllib.loads(f"a = {written}") == {"a": value}


def test_a_run_from_a_file_gives_the_same_bytes(here: Path) -> None:
    options = ["docs.jsonl", "-t", "0.5", "--shingle", "word:2", "--exact", "-o", "pairs.csv"]
    first = run("find", *options)
    assert first.exit_code == 0, first.output
    pairs = Path("pairs.csv").read_bytes()
    assert b"a,b," in pairs
    Path("pairs.csv").unlink()
    Path("run.toml").write_text(text_of(["find"], parsed(["find"], options)))
    again = run("find", "--config", "run.toml")
    assert again.exit_code == 0, again.output
    assert Path("pairs.csv").read_bytes() == pairs


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["dedup", "docs.jsonl", "-o", "clean.jsonl", "--removed", "gone.csv", "--keep", "longest"], "clean.jsonl"),
        (["index", "build", "a.index", "docs.jsonl"], "a.index"),
        (["report", "docs.jsonl", "-o", "page.html", "--single-file", "--title", 'a "title" \\ ü'], "page.html"),
    ],
    ids=["dedup", "index build", "report"],
)
def test_other_commands_do_from_the_file_what_they_did_when_typed(here: Path, words: list[str], made: str) -> None:
    names = words[: words.index("docs.jsonl" if "index" not in words else "a.index")]
    options = [*words[len(names) :], "-t", "0.5", "--shingle", "word:2", "--quiet"]
    first = run(*names, *options)
    assert first.exit_code == 0, first.output
    Path("run.toml").write_text(text_of(names, parsed(names, options)), "utf-8")
    path = Path(made)
    kept = path.rename("first") if path.is_file() else path.rename("first.index")
    again = run(*names, "--config", "run.toml")
    assert again.exit_code == 0, again.output
    if path.is_file():
        assert path.read_bytes() == kept.read_bytes()
        return
    with neardup.Index.open(path) as index, neardup.Index.open(kept) as other:
        assert (index.spec, list(index)) == (other.spec, list(other))


def test_what_is_typed_wins_over_the_file_and_its_own_table_over_the_top(here: Path) -> None:
    Path("n.toml").write_text(
        'inputs = ["other.jsonl"]\nthreshold = 0.9\nrecall = 0.9\nshingle = "word:2"\n[find]\nrecall = 0.95\n'
    )
    got = parsed(["find"], ["--config", "n.toml", "-t", "0.5", "docs.jsonl"])
    assert got.params["threshold"] == 0.5
    assert got.params["recall"] == 0.95
    assert str(got.params["shingle"]) == "word:2"
    assert got.params["inputs"] == (Path("docs.jsonl"),)


def test_tables_of_a_group_and_of_its_command_add_up(here: Path) -> None:
    Path("n.toml").write_text(
        'quiet = true\n[index]\nindex = "x.index"\n[index.build]\ninputs = "docs.jsonl"\nslots = 64'
    )
    got = parsed(["index", "build"], ["--config", "n.toml"])
    assert (got.params["index"], got.params["inputs"]) == (Path("x.index"), (Path("docs.jsonl"),))
    assert got.params["slots"] == 64
    assert got.params["quiet"] is True


def test_arguments_of_the_file_fill_in_or_are_replaced_all_together(here: Path) -> None:
    Path("n.toml").write_text('[index.merge]\nothers = ["b.index"]\n')
    got = parsed(["index", "merge"], ["a.index", "--config", "n.toml"])
    assert (got.params["index"], got.params["others"]) == (Path("a.index"), (Path("b.index"),))
    Path("n.toml").write_text('[index.merge]\nindex = "a.index"\nothers = ["b.index"]\n')
    with pytest.raises(click.MissingParameter):  # and not: b.index into c.index
        parsed(["index", "merge"], ["c.index", "--config", "n.toml"])


def test_a_pyproject_has_the_options_in_its_own_table(here: Path) -> None:
    text = '[project]\nname = "x"\n[tool.neardup]\nthreshold = 0.6\n[tool.neardup.find]\nlink = "connected"\n'
    Path("pyproject.toml").write_text(text)
    got = parsed(["find"], ["--config", "pyproject.toml", "docs.jsonl"])
    assert (got.params["threshold"], got.params["link"]) == (0.6, "connected")
    Path("pyproject.toml").write_text('[project]\nname = "x"\n')
    assert "no table [tool.neardup]" in run("find", "--config", "pyproject.toml", "docs.jsonl").output


def test_a_file_that_is_not_named_is_not_read(here: Path) -> None:
    Path("neardup.toml").write_text("threshold = 0.99\n")
    Path("pyproject.toml").write_text("[tool.neardup]\nthreshold = 0.99\n")
    assert parsed(["find"], ["docs.jsonl"]).params["threshold"] == 0.8


def test_all_faults_of_a_file_are_told_with_their_lines_in_the_words_of_the_options(here: Path) -> None:
    Path("n.toml").write_text(
        "\n".join(
            (
                "threshold = 2.0",
                'normalize = ["nfc", "casefolded"]',
                "treshold = 0.5",
                "quiet = 1",
                "memory = [1, 2]",
                "config = 'x.toml'",
                "with-nul = 1",
                "serve = 3",
                "[find]",
                "keep = 'first'",
                'against = ["a\\u0000b"]',
                "on-bad = 'skip'",
                "on_bad = 'skip'",
                "seed = 2021-01-01",
                "[fnd]",
                "[index.biuld]",
                "[dedup]",
                "keep = 'the_best'",
                "kep = 1",
            )
        )
    )
    done = run("find", "docs.jsonl", "--config", "n.toml")
    assert done.exit_code == 2
    typed = run("find", "docs.jsonl", "-t", "2.0").output.partition("-t': ")[2].strip()
    told = done.output.partition("Error: ")[2].strip().split("\n")
    assert f"n.toml:1: threshold: {typed}" == told[0]
    begins = (
        "n.toml:2: normalize: ",
        "n.toml:3: treshold: neardup has no option of this name. Did you mean 'threshold'?",
        "n.toml:4: quiet: it is 1, and --quiet has no value. Give true or false.",
        "n.toml:5: memory: it is a list. Give a text or a number.",
        "n.toml:6: config: it is for the command line only. Leave it out.",
        "n.toml:7: with-nul: neardup has no option of this name.",
        "n.toml:8: serve: serve is a command. Give its options in a table [serve].",
        "n.toml:10: keep: neardup find has no option of this name.",
        "n.toml:11: against: ",
        "n.toml:13: on_bad: it is there twice",
        "n.toml:14: seed: it is 2021-01-01. Give a text or a number.",
        "n.toml:15: [fnd]: there is no command 'fnd'. Did you mean 'find'?",
        "n.toml:16: [index.biuld]: there is no command 'biuld'. Did you mean 'build'?",
        "n.toml:19: kep: neardup dedup has no option of this name. Did you mean 'keep'?",
    )
    for begin in begins:
        assert any(line.startswith(begin) for line in told), (begin, told)
    assert len(told) == len(begins) + 1


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"threshold: 0.5\n", "is no TOML"),
        (b"".join(b"key%d = 1\n" % number for number in range(3000)), "and 2,950 more of the like"),
        (b"a = \xff\n", "is no UTF-8 at byte 4"),
        (b"a = " + b"[" * 100_000, "is no TOML"),
        (b"seed = " + b"9" * 5000, "is no TOML"),
        (b"seed = 0x" + b"f" * 5000, "too many digits"),
        (
            b"[dedup]\nkeep = 'first'\n[index.add]\nid = 'x'",
            "has nothing for neardup find, only for others: [dedup], [index.add]. ",
        ),
    ],
    ids=["no toml", "many", "no utf-8", "deep", "long", "long hex", "of others"],
)
def test_what_cannot_be_used_is_an_error_of_usage(here: Path, data: bytes, told: str) -> None:
    Path("n.toml").write_bytes(data)
    done = run("find", "docs.jsonl", "--config", "n.toml")
    assert done.exit_code == 2
    assert told in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("file", ["missing.toml", "."])
def test_a_file_that_cannot_be_read_is_named(here: Path, file: str) -> None:
    done = run("find", "docs.jsonl", "--config", file)
    assert done.exit_code == 2
    assert f"cannot read the config file {file}" in done.output


def test_a_file_of_notepad_is_read(here: Path) -> None:
    Path("n.toml").write_bytes(b"\xef\xbb\xbfthreshold = 0.6\r\n[find]\r\nlink = 'connected'\r\n")
    got = parsed(["find"], ["--config", "n.toml", "docs.jsonl"])
    assert (got.params["threshold"], got.params["link"]) == (0.6, "connected")


def test_options_that_exclude_each_other_do_so_from_a_file_too_and_it_is_named(here: Path) -> None:
    Path("n.toml").write_text("exact = true\nquiet = true\n")
    typed = run("find", "docs.jsonl", "--exact", "--slots", "64").output.partition("Error: ")[2].strip()
    done = run("find", "docs.jsonl", "--config", "n.toml", "--slots", "64")
    assert done.exit_code == 2
    assert done.output.partition("Error: ")[2].strip() == f"{typed} n.toml gives exact."


@pytest.mark.parametrize(
    "join", [("--exact",), ("--measure", "containment"), ("--against", "more.jsonl")], ids=lambda join: join[0]
)
def test_slots_of_a_file_are_passed_over_by_a_join_that_is_typed(here: Path, join: tuple[str, ...]) -> None:
    Path("n.toml").write_text("slots = 256\nquiet = true\n")
    Path("more.jsonl").write_text(DOCUMENTS.replace('"a"', '"d"'))
    done = run("find", "docs.jsonl", *join, "--config", "n.toml", "-o", "pairs.csv")
    assert done.exit_code == 0, done.output
    Path("n.toml").write_text("slots = 256\nexact = true\n")
    assert "has no slots. Leave --slots out." in run("find", "docs.jsonl", "--config", "n.toml").output


def test_a_value_of_the_file_counts_as_given(here: Path) -> None:
    Path("n.toml").write_text("threshold = 0.8\nresume = false\n")
    done = run("report", "docs.jsonl", "-o", "out", "--pairs", "pairs.csv", "--config", "n.toml")
    assert done.exit_code == 2
    assert "Leave --threshold out. n.toml gives threshold." in done.output


def test_every_command_that_works_alone_works_with_a_file(here: Path) -> None:
    Path("n.toml").write_text(
        'inputs = "docs.jsonl"\nquiet = true\nshingle = "word:2"\n[explain]\ntexts = ["ab", "abc"]\n'
    )
    for words in (
        ["plan"],
        ["audit"],
        ["explain"],
        ["compare", "a", "b", "--in", "docs.jsonl"],
        ["demo", "-o", "demo"],
    ):
        name, *more = words
        done = run(name, "--config", "n.toml", *more)
        assert done.exit_code == 0, (words, done.output)


def test_an_option_that_may_stand_alone_is_true_false_or_its_word(here: Path) -> None:
    for value, meant in (("true", True), ("false", False), ('"auto"', "auto")):
        Path("n.toml").write_text(f"exact = {value}\n")
        assert parsed(["find"], ["--config", "n.toml", "docs.jsonl"]).params["exact"] in (meant, meant or None)


def test_relative_names_are_taken_from_the_current_folder(here: Path) -> None:
    Path("runs").mkdir()
    Path("runs/n.toml").write_text(
        'inputs = "docs.jsonl"\n[find]\noutput = "pairs.csv"\nshingle = "word:2"\nthreshold = 0.5\n'
    )
    done = run("find", "--config", "runs/n.toml")
    assert done.exit_code == 0, done.output
    assert Path("pairs.csv").exists()


def test_help_is_shown_whatever_the_file_is(here: Path) -> None:
    assert run("find", "--config", "missing.toml", "--help").exit_code == 0
