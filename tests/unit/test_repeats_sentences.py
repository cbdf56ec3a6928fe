"""Sentences of long texts, of texts in many scripts, and of texts that the library for sentences fails on.

The oracle divides a text at its blank lines and asks the library about each paragraph by itself, for the sentences and
not for their places.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
import sentencex
from hypothesis import given, settings
from hypothesis import strategies as st

import neardup
from neardup.stages.repeats.splitting import split
from neardup.types import Documents

WORDS = [
    "the",
    "Bridge",
    "was",
    "\u00c4rger",
    "\u65e5\u672c\u8a9e\u3002",
    "\U0001f389",
    "Dr.",
    "12",
    "e.g.",
    "\u0905\u0917\u0932\u093e",
]
ENDS = [". ", "! ", "?\n", ".\r\n", "\u3002", " \u0964 ", ".) "]
WIDE = [char for char in map(chr, range(0x80, 0x110000)) if char.isspace()]
BLANK_LINES = ["\n\n", "\n\n\n\n", "\r\n\r\n", "\n \t\n", "\r\r", "\r\n\u00a0\r\n"]


def sentences_of(texts: list[str]) -> list[list[str]]:
    """The sentences of each text, read from the places that they are given."""
    documents = Documents.from_texts(texts)
    bounds, counts = split(documents, "sentence")
    begins = np.repeat(documents.offsets[:-1], counts)
    ends = np.repeat(documents.offsets[1:], counts)
    assert (begins <= bounds[:, 0]).all()
    assert (bounds[:, 0] < bounds[:, 1]).all()
    assert (bounds[:, 1] <= ends).all()
    found = iter([documents.data[begin:end].tobytes().decode() for begin, end in bounds.tolist()])
    return [[next(found) for _ in range(count)] for count in counts.tolist()]


def by_paragraphs(text: str) -> list[str]:
    """The sentences of each paragraph by itself."""
    pieces = [
        piece
        for part in re.split(r"(?:(?:\r\n|\r(?!\n)|\n)\s*?(?:\r\n|\r(?!\n)|\n))+", text)
        for piece in sentencex.segment("en", part)
    ]
    return [piece.strip() for piece in pieces if piece.strip()]


def long_text(seed: int, size: int) -> str:
    """Paragraphs of sentences, apart by blank lines, of so many characters or more."""
    draw = random.Random(seed)
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        sentences = [draw.choices(WORDS, k=draw.randint(1, 20)) for _ in range(draw.randint(1, 12))]
        parts += [" ".join(words) + draw.choice(ENDS) for words in sentences]
        parts.append(draw.choice(BLANK_LINES))
    return "".join(parts)


@pytest.mark.parametrize("size", [100, 16_000, 60_000])
def test_a_long_text_has_the_sentences_of_its_paragraphs(size: int) -> None:
    texts = [long_text(seed, size) for seed in range(5)]
    assert sentences_of(["", *texts]) == [[], *map(by_paragraphs, texts)]


@given(
    st.lists(st.sampled_from([*WORDS, *ENDS, *BLANK_LINES, " ", "\n", "\r", "\t"]), max_size=30), st.integers(1, 2000)
)
@settings(max_examples=200)
def test_the_library_places_its_sentences_and_leaves_only_white_space_between_them(
    parts: list[str], times: int
) -> None:
    text, at = "".join(parts) * times, 0
    for each in sentencex.get_sentence_boundaries("en", text):
        start, end = each["start_index"], each["end_index"]
        assert at <= start <= end
        assert text[start:end] == each["text"]
        assert not text[at:start].strip()
        at = end
    assert not text[at:].strip()


@pytest.mark.parametrize("how", [{"unit": "sentence", "span": 3}, {"preset": "c4"}])
def test_sentences_that_repeat_in_long_texts_are_cut(how: dict[str, Any]) -> None:
    said = "These three stand in both. They do so! Is it not so?"
    texts = [f"{said}\n\n" + "".join(f"Word {i}{j} \u00e9. \n\n" for j in range(1500)) + said for i in "ab"]
    assert all(len(text) > 16_000 for text in texts)
    assert neardup.passages(texts, **how).cut()["text"].to_pylist() == [
        texts[0].removesuffix(said).rstrip(),
        texts[1].removeprefix(said).removesuffix(said).strip(),
    ]


@pytest.mark.parametrize("white", WIDE, ids=ascii)
def test_white_space_of_several_bytes_behind_an_initial_is_no_failure(white: str) -> None:
    assert sentences_of([f"C{white}. x", f"See A{white}. x{white}Then B. Hello{white}"]) == [
        [f"C{white}. x"],
        [f"See A{white}. x{white}Then B. Hello"],
    ]


@given(st.text(["A", "b", "C", ".", "?", "!", " ", "\n", "1", ")", "\u3002", "\U0001f389", *WIDE], max_size=20))
@settings(max_examples=500)
def test_white_space_of_several_bytes_ends_the_sentences_that_it_ended(text: str) -> None:
    try:
        pieces = [piece.strip() for piece in sentencex.segment("en", text)]
    except BaseException as exc:
        if type(exc).__name__ != "PanicException":
            raise
        pieces = []
    [found] = sentences_of([text])
    assert not pieces or found == [piece for piece in pieces if piece]
    assert "".join("".join(found).split()) == "".join(text.split())


class PanicException(BaseException):
    """Named as the one that the library raises, whose class nobody can import."""


def test_a_paragraph_that_the_library_fails_on_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    real, kind = sentencex.get_sentence_boundaries, PanicException

    def failing(language: str, text: str) -> Any:
        if "hard" in text:
            raise kind
        return real(language, text)

    monkeypatch.setattr(sentencex, "get_sentence_boundaries", failing)
    text = "\u00c9. A.\n\nIt is hard. So \u65e5 it is.\r\n\r\nOne more. Two."
    wanted = ["\u00c9.", "A.", "It is hard. So \u65e5 it is.", "One more.", "Two."]
    assert sentences_of([text, "One. Two."]) == [wanted, ["One.", "Two."]]
    for kind in (KeyboardInterrupt, SystemExit, MemoryError):
        with pytest.raises(kind):
            sentences_of([text])
