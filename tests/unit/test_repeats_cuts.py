"""Cuts of texts, moved inward to words, lines and sentences: hard texts, against plain definitions."""

from __future__ import annotations

import re
from unicodedata import category

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.stages.repeats.surgery import snap_cuts, without


@pytest.mark.parametrize(
    "word",
    [
        "\u0928\u092e\u0938\u094d\u0924\u0947",
        "\u0e19\u0e49\u0e33\u0e15\u0e49\u0e19",
        "e\u0301tudie\u0301",
        "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "cut\xadting",
    ],
    ids=["Hindi", "Thai", "decomposed", "Hebrew with vowels", "joiner kept out", "joiner", "soft hyphen"],
)
def test_a_word_with_marks_and_joiners_is_not_cut_in_two(word: str) -> None:
    text = f"One {word} two"
    before, behind = len(b"One "), len(f"One {word}".encode())
    for at in range(1, len(word)):
        place = len(f"One {word[:at]}".encode())
        assert snap_cuts(text.encode(), [(0, place)], snap="word", least=0) == [(0, before)]
        assert snap_cuts(text.encode(), [(place, len(text.encode()))], snap="word", least=0) == [
            (behind, len(text.encode()))
        ]


def test_words_with_marks_do_not_run_together() -> None:
    text = "\u0905\u0947, gone \u0915"
    assert without(text.encode(), [(6, len("\u0905\u0947, gone ".encode()))]).decode() == "\u0905\u0947 \u0915"


@given(st.text("aé_\u0301\u0947\u0e33\u200c\u200d\xad\ufe0f .\u65e5\u2764", max_size=40), st.integers(1, 90), st.data())
def test_a_word_is_not_cut_in_two_however_long_it_is(text: str, times: int, data: st.DataObject) -> None:
    """Also where it is longer than what is looked at together."""
    text = data.draw(st.sampled_from(["", "b"])) + text * times
    if not text:
        return
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, len(text)))
    is_word: list[bool] = []
    for char in text:
        is_mark = char in "\u200c\u200d\xad" or category(char).startswith("M")
        is_word.append(is_word[-1] if is_mark and is_word else char.isalnum() or char == "_")
    low, high = begin, end
    if begin and is_word[begin - 1]:
        while low < high and is_word[low]:
            low += 1
    if end < len(text) and is_word[end]:
        while low < high and is_word[high - 1]:
            high -= 1
    places = [len(text[:at].encode()) for at in (begin, end, low, high)]
    found = snap_cuts(text.encode(), [(places[0], places[1])], snap="word", least=0)
    assert found == ([(places[2], places[3])] if low < high else [])


def sentence_ends(text: str) -> list[int]:
    """Where sentences end, place by place."""
    closing = set("\"')]}\u00bb\u201d\u2019\u300d\u300f\uff09\u3011")
    ends = {0, len(text)}
    for end in range(1, len(text) + 1):
        mark = end
        while mark and text[mark - 1] in closing:
            mark -= 1
        before, behind = text[mark - 1 : mark] if mark else "", text[end : end + 1]
        if before and before in ".!?\u2026" and (not behind or behind in " \t\n\r\f\v"):
            ends.add(end)
        goes_on = closing if mark < end else closing | set("\u3002\uff01\uff1f")
        if before and before in "\u3002\uff01\uff1f" and behind not in goes_on:
            ends.add(end)
        line = text[:end].rstrip(" \t\r")
        if behind == "\n" and line.endswith("\n"):
            ends.add(end)
    return sorted(ends)


@given(st.text('a1 \n\t.!?\u2026\u3002\uff1f)"\u201d\u300d', max_size=20), st.data())
@settings(max_examples=500)
def test_a_cut_to_sentences_is_that_of_the_plain_definition(text: str, data: st.DataObject) -> None:
    if not text:
        return
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, len(text)))
    ends = sentence_ends(text)
    low = begin
    if not any(each <= begin and not text[each:begin].strip() for each in ends):
        low = min((each for each in ends if begin <= each <= end), default=end)
    high = max(low, *(each for each in ends if each <= end))
    if not text[low : low + 1].isspace():
        while high < end and text[high].isspace():
            high += 1
    places = [len(text[:at].encode()) for at in (begin, end, low, high)]
    found = snap_cuts(text.encode(), [(places[0], places[1])], snap="sentence", least=0)
    assert found == ([(places[2], places[3])] if low < high else [])


@pytest.mark.parametrize("mark", [".", "\u2026", "?!", ".)"])
def test_megabytes_of_marks_and_many_cuts_in_them_are_done_in_seconds(mark: str) -> None:
    """It took hours where every mark, or every cut, meant a look at all marks behind it."""
    text = f"One. Two{mark * (2_000_000 // len(mark.encode()))}x and no end".encode()
    cuts = [(at, at + 300) for at in range(4, len(text) - 300, 500)]
    assert snap_cuts(text, cuts, snap="sentence", least=1) == []
    assert snap_cuts(text, [(4, len(text))], snap="sentence", least=1) == [(4, len(text))]


def test_a_run_of_marks_is_read_once_however_many_cuts_are_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(character: str) -> str:
        read.append(character)
        return category(character)

    text = "a" + "\u0301" * 20_000
    monkeypatch.setattr("neardup.stages.repeats.surgery.unicodedata.category", counted)
    cuts = [(at, at + 50) for at in range(1, len(text.encode()) - 50, 100)]
    snap_cuts(text.encode(), cuts, snap="word", least=1)
    without(text.encode(), cuts)
    assert len(read) < 10 * len(text)


@given(st.lists(st.sampled_from(["a", "\u00e9", " ", "\n", "\r", "\r\n", "\x85"]), max_size=14).map("".join), st.data())
@settings(max_examples=500)
def test_a_cut_to_lines_begins_and_ends_where_lines_do(text: str, data: st.DataObject) -> None:
    """A line ends behind LF, CR LF or CR, as with ``unit='line'``."""
    if not text:
        return
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, len(text)))
    edges = {0, len(text), *(found.end() for found in re.finditer("\r\n|\r|\n", text))}
    low = min((each for each in edges if begin <= each <= end), default=end)
    high = max((each for each in edges if low <= each <= end), default=low)
    places = [len(text[:at].encode()) for at in (begin, end, low, high)]
    found = snap_cuts(text.encode(), [(places[0], places[1])], snap="line", least=0)
    assert found == ([(places[2], places[3])] if low < high else [])


def test_a_cut_to_lines_knows_the_line_breaks_of_other_systems() -> None:
    for line_break in ("\n", "\r\n", "\r"):
        text = f"one{line_break}two{line_break}three{line_break}four".encode()
        begin, end = text.index(b"two"), text.index(b"four")
        assert snap_cuts(text, [(begin - 1, end + 2)], snap="line", least=0) == [(begin, end)]
        if line_break == "\r\n":
            assert snap_cuts(text, [(0, begin - 1)], snap="line", least=0) == []


@pytest.mark.parametrize("line_break", [b"\n", b"\r\n", b"\r"])
def test_where_a_line_was_cut_a_line_break_stays_between_words(line_break: bytes) -> None:
    assert (
        without(b"one" + line_break + b"gone" + line_break + b"two", [(3, 7 + 2 * len(line_break))])
        == b"one" + line_break + b"two"
    )
