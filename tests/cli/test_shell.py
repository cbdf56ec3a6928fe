"""Completion in shells, as the shells take it, and in the wheel."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from tests.cli.test_config import run

from neardup.cli import main
from neardup.cli.completing import PLACES, SHELLS, write_scripts


def offered(*words: str) -> list[str]:
    """What is offered for the last word behind the others."""
    *before, begun = words
    found = BashComplete(main, {}, "neardup", "_NEARDUP_COMPLETE").get_completions(before, begun)
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in found]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("fi",), ["figures", "find"]),
        (("index", "b"), ["backup", "build"]),
        (("find", "--link", ""), ["star", "connected"]),
        (("find", "--for", "e"), ["essays"]),
        (("find", "--shingle", "w"), ["word:"]),
        (("find", "--normalize", "nfc,ca"), ["nfc,casefold"]),
        (("find", "--max"), []),
        (("find", "--thre"), ["--threads", "--threshold"]),
        (("find", ""), ["<file>"]),
        (("find", "-o", ""), ["<file>"]),
        (("find", "--log-format", ""), ["text", "json"]),
        (("completion", ""), list(SHELLS)),
        (("demo", "--output", ""), ["<dir>"]),
        (("nothing", ""), []),
    ],
    ids=" ".join,
)
def test_what_is_offered(words: tuple[str, ...], expected: list[str]) -> None:
    try:
        assert sorted(offered(*words)) == sorted(expected)
    except click.UsageError:
        assert expected == []  # as click ends where there is no such command


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", b'{"body": "x", "url": "y", "bytes": 1}\nnot read'),
        ("a.jsonl.gz", gzip.compress(b'{"body": "x", "url": "y", "bytes": 1}\n')),
        ("a.csv", b'\xef\xbb\xbfbody,"url",bytes\n1,2,3\n'),
        ("a.tsv", b"body\turl\tbytes\n"),
    ],
    ids=["jsonl", "gz", "csv", "tsv"],  # and not the data: of gzip they have the time in them
)
def test_columns_of_the_input_are_offered(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert offered("find", str(tmp_path / name), "--text", "b") == ["body", "bytes"]
    assert offered("find", str(tmp_path / name), "--text", "body,u") == ["body,url"]


@pytest.mark.parametrize("data", [b"", b"nonsense", b"[1]", b"\xff\xfe"])
def test_an_input_that_cannot_be_read_offers_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    assert offered("find", str(tmp_path / "a.jsonl"), "--id", "") == []
    assert offered("find", str(tmp_path / "none.jsonl"), "--id", "") == []


def test_nothing_is_read_or_told_of_the_environment_while_a_word_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARDUP_FIND_THRESHOLD", "wrong")
    assert offered("find", "--config", str(tmp_path / "none.toml"), "--link", "s") == ["star"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_completes_by_the_script(tmp_path: Path) -> None:
    shim = tmp_path / "neardup"
    shim.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c \"from neardup.cli import main; main(prog_name='neardup')\"\n"
    )
    shim.chmod(0o755)
    (tmp_path / "script").write_text(run("completion", "bash").stdout)
    (tmp_path / "x.jsonl").write_text(json.dumps(dict.fromkeys(["text", "*", "two words", "$(cue)", "größe"], "")))
    steps = """
    . ./script
    complete -p neardup >&2
    COMP_WORDS=(neardup find x.jsonl --link con); COMP_CWORD=4
    _neardup_completion neardup; echo "${COMPREPLY[@]}"
    COMPREPLY=(); COMP_WORDS=(neardup find x.jsonl --text ""); COMP_CWORD=4
    _neardup_completion neardup
    for offered in "${COMPREPLY[@]}"; do eval "set -- $offered"; echo "$#: $*"; done
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", steps],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    offered = ["1: text", "1: *", "1: two words", "1: $(cue)", "1: größe"]
    assert (done.stdout.splitlines(), done.returncode) == (["connected", *offered], 0), done.stderr
    assert "-F _neardup_completion neardup" in done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_can_read_its_script(shell: str, tmp_path: Path) -> None:
    done = run("completion", shell)
    assert (done.exit_code, "_NEARDUP_COMPLETE" in done.stdout) == (0, True)
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    (tmp_path / "script").write_text(done.stdout)
    subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


def test_share_has_a_script_for_each_shell(tmp_path: Path) -> None:
    write_scripts(main, tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(PLACES.values())
