"""Presets: the options that they stand for, under every door, and what is given by hand wins over them."""

from __future__ import annotations

import json
import re
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import main
from neardup.params import PRESETS, InputOptions, Preset, SearchOptions, preset_options, resolve

TEXTS = [
    f"{word} is a rose by any other name and smells as sweet" for word in ("A rose", "a rose,", "Indeed it", "what")
]
FIELDS = {*SearchOptions.names(), *InputOptions.names()}


def run(*args: str, code: int = 0) -> Any:
    done = CliRunner().invoke(main, list(args))
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def documents(tmp_path: Path) -> str:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(TEXTS)))
    return str(path)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_stands_for_options_that_there_are_with_values_that_they_take(name: str) -> None:
    own = preset_options(name)
    assert set(own) <= FIELDS
    assert {"shingle", "normalize", "threshold"} <= set(own)
    SearchOptions.of(own)
    InputOptions.of(own)


def test_the_page_of_settings_has_what_each_preset_stands_for(repository: Path) -> None:
    page = (repository / "docs" / "howto" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `--for ([a-z]+)` \|.*?\| `(--[^`]+)` \|", page, re.MULTILINE)
    listed = {}
    for name, options in rows:
        words = options.split()
        listed[name] = dict(zip(words[::2], words[1::2], strict=True))
    assert list(listed) == list(PRESETS)
    for name, options in listed.items():
        own = {"-t" if key == "threshold" else f"--{key}": value for key, value in preset_options(name).items()}
        assert {key: str(value) for key, value in own.items()} == options


def test_copies_are_the_defaults() -> None:
    assert SearchOptions.of(preset_options("copies")) == SearchOptions()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_gives_the_spec_pairs_and_clusters_of_its_options_by_hand(name: str) -> None:
    by_name, by_hand = neardup.find(TEXTS, preset=name), neardup.find(TEXTS, **preset_options(name))
    assert by_name.spec == by_hand.spec
    assert by_name.spec.id == by_hand.spec.id
    assert by_name.pairs == by_hand.pairs
    assert by_name.clusters == by_hand.clusters
    assert by_name.summary.link == by_hand.summary.link
    assert by_name.summary.preset == Preset(name, preset_options(name), {})
    assert by_hand.summary.preset is None


@pytest.mark.parametrize("name", PRESETS)
def test_the_command_and_python_make_the_same_of_a_preset(name: str, documents: str) -> None:
    told = json.loads(run("find", documents, "--for", name, "--json").stdout)
    found = neardup.find(documents, preset=name)
    assert told["spec_id"] == found.spec.id
    assert told["link"] == found.summary.link
    assert told["preset"] == {"name": name, "options": preset_options(name), "given": {}}


@pytest.mark.parametrize("args", [["-t", "0.8", "--for", "records"], ["--for", "records", "-t", "0.8"]])
def test_an_option_beside_a_preset_wins_before_and_behind_it_even_with_its_default(
    args: list[str], documents: str
) -> None:
    told = json.loads(run("find", documents, *args, "--json").stdout)
    assert (told["threshold"], told["spec"]["shingle"]) == (0.8, "word:1")
    assert told["preset"]["given"] == {"threshold": 0.8}
    assert "threshold" not in told["preset"]["options"]


def test_an_argument_beside_a_preset_wins_even_with_its_default() -> None:
    found = neardup.find(TEXTS, threshold=0.8, preset="records", shingle="char:9")
    assert found.spec.threshold == 0.8
    assert str(found.spec.shingle) == "char:9"
    assert found.spec.normalize.casefold
    assert str(found.summary.preset) == (
        "--for records = --normalize casefold,space; given with it: --shingle char:9 -t 0.8"
    )


def test_the_summary_says_what_a_preset_stands_for(documents: str) -> None:
    lines = run("find", documents, "--for", "essays").stderr.splitlines()
    stood_for = "--for essays = --shingle word:3 --normalize nfc,casefold,punct -t 0.2 --slots 256 --link connected"
    assert f"settings      {stood_for}" in [line.replace("       --", "      --") for line in lines]


@pytest.mark.parametrize("command", ["audit", "compare", "plan"])
def test_the_other_commands_say_what_a_preset_stands_for_too(command: str, documents: str) -> None:
    args = ["0", "1", "--in", documents] if command == "compare" else [documents]
    stood_for = "--for records = --shingle word:1 --normalize casefold,space; given with it: -t 0.7"
    assert stood_for in run(command, *args, "--for", "records", "-t", "0.7").output
    told = json.loads(run(command, *args, "--for", "records", "-t", "0.7", "--json").stdout)
    assert (told["spec"]["shingle"], told["spec"]["threshold"]) == ("word:1", 0.7)


def test_what_is_nearer_wins_where_a_file_has_defaults_for_a_command(documents: str) -> None:
    """A command line is nearer than a file; in one place single options win over the preset."""

    def spec(default: dict[str, Any], *args: str) -> tuple[str, float]:
        done = CliRunner().invoke(main, ["find", documents, "--json", *args], default_map={"find": default})
        told = json.loads(done.stdout)["spec"]
        return told["shingle"], told["threshold"]

    assert spec({"preset": "records"}) == ("word:1", 0.5)
    assert spec({"preset": "records", "threshold": 0.7}) == ("word:1", 0.7)
    assert spec({"preset": "records"}, "-t", "0.8") == ("word:1", 0.8)
    assert spec({"threshold": 0.7}, "--for", "records") == ("word:1", 0.5)
    assert spec({"preset": "code", "threshold": 0.7}, "--for", "records", "--shingle", "char:5") == ("char:5", 0.5)


def test_without_a_preset_nothing_is_said_of_one(documents: str) -> None:
    assert "settings" not in run("find", documents).stderr


@pytest.mark.parametrize("command", ["find", "dedup", "report", "audit", "plan", "compare", "explain", "figures"])
def test_every_command_of_a_search_has_presets_and_shows_them_in_its_help(command: str) -> None:
    text = " ".join(run(command, "--help").output.split())
    assert "--for KIND" in text
    for name in PRESETS:
        own = preset_options(name)
        assert f"{name} ({own['shingle']} {own['normalize']} {own['threshold']:g}" in text


@pytest.mark.parametrize("name", ["find", "dedup", "report", "audit", "plan", "figures", "compare"])
def test_a_signature_shows_the_defaults_of_the_options_and_none_for_the_preset(name: str) -> None:
    parameters = signature(getattr(neardup, name)).parameters
    assert parameters["preset"].default is None
    assert parameters["threshold"].default == 0.8


def test_an_unknown_preset_is_refused_with_the_near_one(documents: str) -> None:
    with pytest.raises(neardup.InputError, match=r"preset is 'esays'; known are copies, .*Did you mean 'essays'"):
        neardup.find(TEXTS, preset="esays")
    assert "Did you mean 'essays'" in run("find", documents, "--for", "esays", code=2).stderr


def test_an_unknown_argument_beside_a_preset_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="treshold"):
        neardup.find(TEXTS, preset="essays", treshold=0.3)  # type: ignore[call-arg]


def test_functions_take_of_a_preset_what_they_have(tmp_path: Path) -> None:
    assert neardup.dedup(TEXTS, preset="essays").summary.preset == Preset(
        "essays", {key: value for key, value in preset_options("essays").items() if key != "link"}, {}
    )
    assert str(neardup.compare(TEXTS[0], TEXTS[1], preset="records").spec.shingle) == "word:1"
    assert str(neardup.explain(TEXTS[:2], preset="records").shingle) == "word:1"
    assert neardup.plan(preset="web").spec.threshold == 0.8
    assert neardup.plan(TEXTS, preset="code").preset == Preset("code", preset_options("code"), {})
    assert str(neardup.Index.create(preset="scans").spec.normalize) == "nfkc,casefold,strip,punct"
    with neardup.Index.build(tmp_path / "index", TEXTS, preset="records", threshold=0.7) as made:
        assert (str(made.spec.shingle), made.spec.threshold) == ("word:1", 0.7)
    made = neardup.report(TEXTS, tmp_path / "report", preset="essays")
    assert made.summary.link == "connected"


def test_an_index_says_what_its_preset_stood_for(documents: str, tmp_path: Path) -> None:
    built = run("index", "build", str(tmp_path / "built"), documents, "--for", "records", "-t", "0.6")
    created = run("index", "create", str(tmp_path / "created"), "--for", "records", "-t", "0.6")
    for done in (built, created):
        assert "--for records = --shingle word:1 --normalize casefold,space; given with it: -t 0.6" in done.stderr


def test_an_index_is_compared_in_with_its_own_settings(documents: str, tmp_path: Path) -> None:
    index = str(tmp_path / "index")
    run("index", "build", index, documents, "--for", "records")
    run("compare", "0", "1", "--in", index, "--for", "records")
    refused = run("compare", "0", "1", "--in", index, "--for", "essays", code=2)
    assert "--shingle is word:3 by --for essays" in refused.stderr


def test_pairs_of_an_earlier_run_take_no_preset(documents: str, tmp_path: Path) -> None:
    pairs, pages = str(tmp_path / "pairs.csv"), str(tmp_path / "report")
    run("find", documents, "--for", "records", "-o", pairs)
    assert (
        "Leave --for out" in run("report", documents, "--pairs", pairs, "--for", "records", "-o", pages, code=2).stderr
    )
    with pytest.raises(neardup.InputError, match="preset is about a search"):
        neardup.report(documents, pages, pairs=pairs, preset="records")


def test_the_command_that_a_plan_ends_with_has_the_preset_and_runs(documents: str) -> None:
    lines = run("plan", documents, "--for", "records", "--normalize", "nfc").stdout.splitlines()
    command = lines[lines.index("to run it:") + 1].split()
    assert command[-4:] == ["--for", "records", "--normalize", "nfc"]
    told = json.loads(run(*command[1:], "--json").stdout)
    assert (told["spec"]["shingle"], told["spec"]["normalize"]) == ("word:1", "nfc")


def test_a_preset_that_was_put_to_use_is_not_put_to_use_again() -> None:
    once = resolve({"preset": "records", "shingle": "char:9", "threshold": 0.8}, {"threshold"})
    assert resolve(once, ()) == once
    assert once["threshold"] == 0.8
