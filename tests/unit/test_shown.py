"""Text from outside on its way to people: nothing in it acts upon a terminal, and every encoding carries it."""

from __future__ import annotations

import inspect
import io
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup import errors
from neardup.outputs.stdout import TerminalBytes
from neardup.shown import FITTED, NARROW, fitted, is_hidden, shown
from neardup.types import Fault

HOSTILE = st.text(
    st.one_of(st.characters(), st.sampled_from("\x00\x07\x1b\r\n\t\x7f\x85\x9b\u202e\u2066\u2028\u200b\ufeff"))
)
STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("plain é 文 and a space", "plain é 文 and a space"),
        ("C:\\new", "C:\\new"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("two\nlines\r\t", "two\\nlines\\r\\t"),
        ("del\x7f csi\x9b", "del\\x7f csi\\x9b"),
        ("bidi \u202egnp.exe", "bidi \\u202egnp.exe"),
        ("ls\u2028ps\u2029", "ls\\u2028ps\\u2029"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("filler\u3164 joiner\u034f", "filler\\u3164 joiner\\u034f"),
        ("no utf-8 \udcff", "no utf-8 \\xff"),
        ("half \ud800", "half \\ud800"),
        (7, "7"),
    ],
)
def test_a_hidden_character_is_written_as_its_escape(raw: object, safe: str) -> None:
    assert shown(raw) == safe


@given(HOSTILE)
def test_what_is_shown_has_no_character_that_steers_and_showing_it_again_changes_nothing(text: str) -> None:
    safe = shown(text)
    assert not any(unicodedata.category(char) in STEERING for char in safe)
    assert shown(safe) == safe
    if not any(map(is_hidden, text)):
        assert safe == text


@given(HOSTILE, st.sampled_from(["ascii", "latin-1", "cp1252", "utf-8", "shift_jis"]))
def test_every_encoding_takes_every_text(text: str, encoding: str) -> None:
    fitted(shown(text), encoding).encode(encoding)
    narrow = "".join(char for char in text if char != "\n").encode(encoding, NARROW).decode(encoding)
    assert len(narrow) == len(text.replace("\n", "")) or encoding == "shift_jis"


def test_our_own_signs_are_spelled_as_people_do() -> None:
    assert "≥ 0.8 × 2 …".encode("ascii", FITTED) == b">= 0.8 x 2 ..."
    assert "é…".encode("latin-1", FITTED) == b"\xe9..."


@pytest.mark.parametrize(
    "name",
    sorted(
        name for name, value in vars(errors).items() if inspect.isclass(value) and value.__module__ == errors.__name__
    ),
)
def test_the_text_of_every_error_is_one_safe_line_and_its_argument_as_it_was(name: str) -> None:
    raw = "a\x1b]0;pwned\x07\n.jsonl is missing"
    error = getattr(errors, name)(raw)
    assert str(error) == "a\\x1b]0;pwned\\x07\\n.jsonl is missing"
    assert error.args[0] == raw


def test_a_bad_record_is_told_safely_and_keeps_its_source() -> None:
    fault = Fault("a\x1b.txt", 3, "it says \x9b")
    assert str(fault) == "a\\x1b.txt:3: it says \\x9b"
    assert fault.source == "a\x1b.txt"


@given(HOSTILE, st.integers(1, 5))
def test_data_on_a_terminal_keep_their_lines_and_lose_what_steers(text: str, step: int) -> None:
    text = text.encode("utf-8", "replace").decode("utf-8")
    out = io.BytesIO()
    terminal = TerminalBytes(out)
    data = text.encode("utf-8")
    for at in range(0, len(data), step):
        terminal.write(data[at : at + step])
    seen = out.getvalue().decode("utf-8")
    assert not any(unicodedata.category(char) in STEERING for char in seen if char not in "\n\t\r")
    assert seen.count("\n") == text.count("\n")


def test_data_for_a_terminal_go_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from neardup.outputs.stdout import stdout_bytes

    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(out, encoding="utf-8"))
    stdout_bytes().write("é\x1b\n".encode())
    assert out.getvalue() == "é\\x1b\n".encode()


def test_data_in_a_pipe_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from neardup.outputs.stdout import stdout_bytes

    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii"))
    stdout_bytes().write("é\x1b".encode())
    assert out.getvalue() == b"\xc3\xa9\x1b"
