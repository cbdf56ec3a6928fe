"""Cuts of texts, moved inward to words, lines and sentences: hard texts, against plain definitions."""

from __future__ import annotations

from unicodedata import category

import pytest
from hypothesis import given
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
    ],
    ids=["Hindi", "Thai", "decomposed", "Hebrew with vowels", "joiner kept out", "joiner"],
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


@given(st.text("aé_\u0301\u0947\u0e33\u200c\u200d\ufe0f .\u65e5\u2764", max_size=40), st.integers(1, 90), st.data())
def test_a_word_is_not_cut_in_two_however_long_it_is(text: str, times: int, data: st.DataObject) -> None:
    """Also where it is longer than what is looked at together."""
    text = data.draw(st.sampled_from(["", "b"])) + text * times
    if not text:
        return
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin + 1, len(text)))
    is_word: list[bool] = []
    for char in text:
        is_mark = char in "\u200c\u200d" or category(char).startswith("M")
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
