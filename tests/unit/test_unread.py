"""An input of which nothing can be read is refused, by every task; an empty one is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import neardup
from neardup.cli import main
from neardup.errors import InputError

TEXT = "one and the same text, long enough to be compared with others"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bad").mkdir()
    for name in ("a", "b", "c", "d"):
        Path(f"bad/{name}.rtf").write_bytes(b"{\\rtf1 cut short")
    Path("good.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


REASON = "bad/a.rtf: it is damaged: it ends too soon"
COMMANDS = [
    "find bad",
    "find bad --threads 3",
    "find good.txt --against bad",
    "dedup bad -o out",
    "dedup good.txt --protect bad -o out",
    "report bad -o out",
    "report good.txt --ignore bad/a.rtf -o out",
    "passages bad -o out.jsonl",
    "passages good.txt --against bad -o out.jsonl",
    "audit bad",
    "plan bad",
    "tune bad -o out --budget 0",
    "index build out bad",
    "compare bad/a.rtf good.txt",
]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_task_refuses_an_input_of_which_nothing_can_be_read(command: str) -> None:
    done = CliRunner().invoke(main, command.split())
    assert done.exit_code == 1, done.output
    (error,) = [line for line in done.output.splitlines() if line.startswith("Error: ")]
    assert "could be read. " in error
    assert REASON in error
    assert not list(Path().glob("out*"))


@pytest.mark.usefixtures("here")
def test_an_index_adds_nothing_from_an_input_that_cannot_be_read() -> None:
    with neardup.Index.build("x.index", "good.txt") as index:
        with pytest.raises(InputError, match=r"^nothing could be read\. 4 bad records, the first: bad/a\.rtf: "):
            index.add("bad")
        assert len(index) == 1


@pytest.mark.usefixtures("here")
def test_files_that_cannot_be_read_for_one_reason_share_a_line() -> None:
    Path("bad/e.txt").write_text(TEXT, encoding="utf-8")
    lines = CliRunner().invoke(main, ["find", "bad"]).output.splitlines()
    at = lines.index("bad records, left out (4):")
    assert lines[at + 1].startswith("  bad/a.rtf, bad/b.rtf, bad/c.rtf and 1 more: it is damaged: it ends too soon. ")
    assert lines[at + 2].startswith("neardup: ")


@pytest.mark.usefixtures("here")
def test_records_that_are_all_bad_are_refused_and_empty_inputs_are_not() -> None:
    Path("bad.jsonl").write_text('{"text": 5}\n{"text": 6}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"^nothing could be read\. 2 bad records, the first: bad\.jsonl:1: "):
        neardup.find("bad.jsonl", on_bad="skip")
    for name in ("empty.jsonl", "empty.txt", "empty.mbox"):
        Path(name).touch()
        assert neardup.find(name).summary.bad == 0


@pytest.mark.usefixtures("here")
def test_a_folder_of_spreadsheets_without_their_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.inputs.peek.find_spec", lambda name: None)
    Path("sheets").mkdir()
    Path("sheets/a.xlsx").write_bytes(b"x")
    with pytest.raises(InputError, match=r"only 1 \.xlsx, which openpyxl reads \(a\.xlsx\)\. .*neardup\[xlsx\]'$"):
        neardup.find("sheets")
