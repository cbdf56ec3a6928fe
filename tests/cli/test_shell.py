"""Completion in shells and pages of the manual: as the shells and readers of pages take them, and in the wheel."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from tests.cli.test_config import COMMANDS, run
from tests.cli.test_environment import names

from neardup.cli import main
from neardup.cli.completing import PLACES, SHELLS
from neardup.cli.manual import page, write_share

PAGES = sorted({words[:at] for words in COMMANDS for at in range(len(words) + 1)})


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
        (("man", "--output", ""), ["<dir>"]),
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


@pytest.mark.parametrize("words", PAGES, ids=lambda words: " ".join(("neardup", *words)))
def test_a_page_has_all_that_the_help_has_and_every_variable(words: tuple[str, ...]) -> None:
    done = run("man", *words)
    assert done.exit_code == 0
    assert done.stdout.isascii()
    lines = done.stdout.splitlines()
    known = (".TH ", ".SH ", ".TP", ".PP", ".nf", ".fi")
    assert all(line.startswith(known) for line in lines if line[0] in ".'")
    assert all(len(line) <= 80 for line in lines if line[0] != "." and not line.startswith("\\fB"))
    plain = re.sub(r"\\f[BP]|\\&", "", done.stdout.replace("\\-", "-").replace("\\(dq", '"').replace("\\e", "\\"))
    plain = re.sub(r"\\\[u([0-9A-F]+)\]", lambda code: chr(int(code[1], 16)), plain)
    shown = {word for word in run(*words, "--help").stdout.split() if re.fullmatch(r"--[a-z-]+", word)}
    assert shown <= set(re.findall(r"--[a-z-]+", plain))
    if words in COMMANDS:
        assert set(names(words)) <= set(plain.split())
        command = COMMANDS[words]
        for param in command.params:
            if isinstance(param, click.Option):
                assert " ".join((param.help or "").split()) in " ".join(plain.split()), param.name


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="no mandoc")
def test_mandoc_finds_nothing_wrong_with_any_page(tmp_path: Path) -> None:
    assert run("man", "--output", str(tmp_path)).exit_code == 0
    pages = sorted(tmp_path.glob("*.1"))
    assert len(pages) == len(PAGES)
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *pages], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None, reason="no man")
def test_man_shows_a_page_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.1").write_text(page(main, ("explain",)))
    env = {**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}
    command = ["man", "--warnings=w", "-l", str(tmp_path / "a.1")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    assert "NEARDUP_EXPLAIN_SLOTS" in done.stdout


def test_a_text_cannot_command_roff() -> None:
    @click.command(epilog="\b\nExamples:\n  neardup .so \\n")
    @click.option("--odd", help=".so /etc/passwd")
    def odd(odd: str) -> None:
        """'ne "quoted" \\fB text – `code`

        .de x

        \b
        .ex
        """

    assert isinstance(odd, click.Command)
    from neardup.cli import manual

    text = "\n".join(
        part for line in manual._lines(click.Context(odd, info_name="odd"), ()) for part in line.split("\n")
    )
    assert not re.search(r"^(\.(?!TH|SH|TP|PP|nf|fi)|')", text, re.MULTILINE)
    assert "\\e" in text


def test_a_page_that_is_not_there_is_told() -> None:
    done = run("man", "fnid")
    assert (done.exit_code, "Did you mean 'find'?" in done.stderr) == (2, True)
    assert run("man", "find", "-o", "x").exit_code == 2


def test_share_has_a_page_for_each_command_and_a_script_for_each_shell(tmp_path: Path) -> None:
    write_share(main, tmp_path)
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    pages = {f"share/man/man1/{'-'.join(('neardup', *words))}.1" for words in PAGES}
    assert made == pages | set(PLACES.values())


def test_a_page_has_the_exit_codes_of_the_how_to() -> None:
    how_to = (Path(__file__).parents[2] / "docs" / "howto" / "command-line.md").read_text("utf-8")
    table = re.findall(r"^\| (\d+) \|", how_to.partition("| exit code |")[2].partition("\n\n")[0], re.MULTILINE)
    _, _, told = page(main, ("find",)).partition(".SH EXIT STATUS")
    assert re.findall(r"^\\fB(\d+)\\fP$", told.partition(".SH EXAMPLES")[0], re.MULTILINE) == table
