"""Every command with hostile names, ids and texts, on terminals of several encodings: it works, and nothing steers."""

from __future__ import annotations

import ast
import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import neardup.cli
from neardup.cli import main
from neardup.cli.voice import print_json
from neardup.progress import Lines

HOSTILE = "é\x1b]0;pwned\x07\u202e文\x9b"
NAME = f"{HOSTILE}.jsonl"
TEXT = "one and the same text, word for word, and long enough to be compared as it is"
RECORDS = [
    {"id": f"{HOSTILE}1", "text": TEXT},
    {"id": f"b\n{HOSTILE}", "text": TEXT},
    {"id": "c≥×…", "text": f"something else altogether {HOSTILE} that is like no other of these"},
]
ENCODINGS = ["ascii", "latin-1", "cp1252", "utf-8"]
INDEX = f"{HOSTILE}.index"

Run = Callable[..., Result]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a hostile file, a folder of hostile files with a bad one, and an index."""
    monkeypatch.chdir(tmp_path)
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in RECORDS)
    Path(NAME).write_text(lines, encoding="utf-8")
    Path("bad.jsonl").write_text(lines + '{"id": "\x9b", "tex\n', encoding="utf-8")
    folder = Path(f"folder{HOSTILE}")
    folder.mkdir()
    for i, record in enumerate(RECORDS):
        (folder / f"{i}{HOSTILE}.txt").write_text(record["text"], encoding="utf-8")
    (folder / f"bad{HOSTILE}.txt").write_bytes(b"\xff\xfe\xfa bad")
    (folder / f"passed{HOSTILE}.doc").write_bytes(b"\xd0\xcf")
    return tmp_path


@pytest.fixture(params=ENCODINGS)
def run(request: pytest.FixtureRequest) -> Run:
    """Runs the command in this process with stdout and stderr of one encoding, strict on stdout as Python has it."""

    def run(*args: str, data: bool = False) -> Result:
        result = CliRunner(charset=request.param).invoke(main, list(args), prog_name="neardup")
        told = result.stderr_bytes.decode(request.param)
        is_data = data or "--json" in args
        told += "" if is_data else result.stdout_bytes.decode(request.param)
        assert "fault in neardup" not in told
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        steering = [char for char in told if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in "\n"]
        assert not steering, (steering, told)
        return result

    return run


@pytest.mark.parametrize(
    "args",
    [
        ["find", NAME, "--format", "table"],
        ["find", NAME, "--json"],
        ["find", NAME, "-o", f"{HOSTILE}.csv", "--verbose"],
        ["find", "bad.jsonl", "--on-bad", "skip", "--json"],
        ["find", f"folder{HOSTILE}", "--on-bad", "skip", "--format", "table"],
        ["find", NAME, "--dry-run"],
        ["find", NAME, "--dry-run", "--json"],
        ["dedup", NAME, "-o", f"clean{HOSTILE}.jsonl"],
        ["dedup", f"folder{HOSTILE}", "-o", f"clean{HOSTILE}", "--on-bad", "skip", "--alarm", "0.1"],
        ["dedup", NAME, "-o", "clean.jsonl", "--json"],
        ["dedup", NAME, "--dry-run"],
        ["report", NAME, "-o", f"report{HOSTILE}"],
        ["compare", f"folder{HOSTILE}/0{HOSTILE}.txt", f"folder{HOSTILE}/2{HOSTILE}.txt"],
        ["compare", f"folder{HOSTILE}/0{HOSTILE}.txt", f"folder{HOSTILE}/2{HOSTILE}.txt", "--json"],
        ["compare", "--in", NAME, f"{HOSTILE}1", "c≥×…"],
        ["plan", NAME],
        ["plan", NAME, "--json"],
        ["audit", NAME],
        ["audit", NAME, "--json"],
        ["explain", HOSTILE, "Nadal ≥ Nadia", "--shingle", "char:2"],
        ["explain", HOSTILE, "Nadal", "--shingle", "char:2", "--json"],
        ["explain", "--file", f"folder{HOSTILE}/0{HOSTILE}.txt", "Nadal", "--shingle", "word:1"],
    ],
    ids=lambda args: " ".join(arg for arg in args if arg.isascii()),
)
def test_a_command_prints_on_any_encoding(run: Run, place: Path, args: list[str]) -> None:
    result = run(*args)
    assert result.exit_code == 0, result.output
    if "--json" in args:
        json.loads(result.stdout_bytes)


def test_the_figures_are_named_byte_for_byte(run: Run, place: Path) -> None:
    pytest.importorskip("matplotlib")
    result = run("figures", NAME, "-o", "f", "--only", "s-curves")
    assert result.exit_code == 0, result.output


def test_the_commands_of_an_index_print_on_any_encoding(run: Run, place: Path) -> None:
    folder = f"folder{HOSTILE}"
    for args in (
        ["index", "build", INDEX, NAME],
        ["index", "build", "json.index", NAME, "--json"],
        ["index", "create", "new.index"],
        ["index", "add", "new.index", folder, "--on-bad", "skip"],
        ["index", "add", "new.index", folder, "--on-bad", "skip", "--on-duplicate", "skip", "--json"],
        ["index", "info", INDEX, "--verbose"],
        ["index", "info", INDEX, "--json"],
        ["index", "verify", INDEX],
        ["index", "query", INDEX, NAME, "--format", "table"],
        ["index", "query", INDEX, folder, "--on-bad", "skip", "--json"],
        ["index", "pairs", INDEX, "--format", "table"],
        ["index", "merge", "new.index", INDEX],
        ["index", "compact", INDEX],
        ["index", "remove", INDEX, f"{HOSTILE}1"],
    ):
        assert run(*args).exit_code == 0, args


@pytest.mark.parametrize(
    "args",
    [
        ["find", f"no{NAME}"],
        ["find", f"no{HOSTILE}*.jsonl"],
        ["find", "bad.jsonl"],
        ["find", f"folder{HOSTILE}"],
        ["find", NAME, "--text", HOSTILE],
        ["find", NAME, f"--{HOSTILE}"],
        ["find", NAME, "--glob"],
        ["find", NAME, "--link", HOSTILE],
        ["find", NAME, "-t", HOSTILE],
        ["find", NAME, "-o", NAME],
        ["find", NAME, "-o", f"no{HOSTILE}/pairs.csv"],
        ["dedup", NAME, "-o", NAME],
        ["dedup", NAME, "-o", "x", "--keep", f"max:{HOSTILE}"],
        ["compare", "--in", NAME, HOSTILE, "c≥×…"],
        ["index", "info", f"no{INDEX}"],
        ["index", HOSTILE],
        ["serve", f"no{INDEX}"],
        [HOSTILE],
        [f"--{HOSTILE}"],
        ["--verbose", "find", "[red]x[/red]\x1b"],
    ],
    ids=lambda args: " ".join(arg for arg in args if arg.isascii()),
)
def test_an_error_names_what_was_given_without_letting_it_act(run: Run, place: Path, args: list[str]) -> None:
    result = run(*args)
    assert result.exit_code in (1, 2)
    assert result.stderr_bytes


@pytest.mark.parametrize("command", ["", *neardup.cli._COMMANDS])
def test_the_help_prints_on_any_encoding(run: Run, command: str) -> None:
    assert run(*command.split(), "--help").exit_code == 0


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_data_in_a_pipe_are_the_same_bytes_whatever_the_encoding(run: Run, place: Path, format: str) -> None:
    result = run("find", NAME, "--format", format, data=True)
    wanted = CliRunner().invoke(main, ["find", NAME, "--format", format]).stdout_bytes
    assert result.stdout_bytes == wanted
    assert "é" in wanted.decode("utf-8") or "\\u00e9" in wanted.decode("utf-8")


def test_an_id_in_the_json_answer_is_the_one_in_the_file(run: Run, place: Path) -> None:
    answer = json.loads(run("dedup", NAME, "-o", "clean.jsonl", "--json").stdout_bytes)
    assert answer["largest_keeper"] == RECORDS[0]["id"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_json_on_a_terminal_is_the_same_value_without_what_steers(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    stdout = Terminal(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", stdout)
    value = {"name": f"{HOSTILE}\n\x7f\ud800\U000e0041"}
    print_json(value)
    stdout.flush()
    written = stdout.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert json.loads(written) == value
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in written if char != "\n")


def test_markup_of_rich_in_a_name_is_no_markup(run: Run, place: Path) -> None:
    Path("m.jsonl").write_text("".join(json.dumps({"id": f"[red]{i}[/red]", "text": TEXT}) + "\n" for i in range(2)))
    assert b"[red]0[/red]" in run("find", "m.jsonl", "--format", "table").stdout_bytes


def test_a_note_during_the_run_is_one_safe_line() -> None:
    stream = io.StringIO()
    Lines(stream).note(f"reading {HOSTILE}\nneardup: all is well")
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()


def test_only_the_voice_prints() -> None:
    """A command that prints past it would bring back what it is there to prevent."""
    folder = Path(neardup.cli.__file__).parent
    allowed = {
        ("voice.py", "echo"),
        ("compare_text.py", "echo"),
    }  # the last fits its own columns
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in ("echo", "secho", "echo_via_pager") or (name == "print" and isinstance(node.func, ast.Name)):
                    found.add((path.name, name))
    assert found <= allowed
