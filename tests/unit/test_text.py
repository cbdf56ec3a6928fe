"""Normalisation: the ranges that are never asked about are inert, and blocks become what each text alone becomes."""

from __future__ import annotations

import itertools
import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins.blocks import packed

from neardup.params import Normalize
from neardup.stages.text import INERT_RANGES, SEPARATOR, normalize_documents, normalize_text
from neardup.types import Documents

INERT = [point for low, high in INERT_RANGES for point in range(low, high + 1)]
OPTIONS = [
    ",".join([form, *steps, *space])
    for form in ("none", "nfc", "nfkc")
    for steps in ((), ("casefold",), ("punct",), ("casefold", "punct"))
    for space in ((), ("space",), ("strip",))
]


# The ranges


def test_ranges_rise_and_do_not_touch_each_other():
    edges = [edge for pair in INERT_RANGES for edge in pair]
    assert edges == sorted(edges)
    assert all(high + 1 < low for (_, high), (low, _) in itertools.pairwise(INERT_RANGES))


def test_every_inert_character_is_its_own_nfc_and_stays_where_it_is():
    for char in map(chr, INERT):
        assert unicodedata.normalize("NFC", char) == char
        assert unicodedata.is_normalized("NFC", char)
        assert unicodedata.combining(char) == 0, f"U+{ord(char):04X} may be moved past its neighbours"


def canonical_pairs() -> set[tuple[int, int]]:
    """All pairs of code points that NFC joins: canonical decompositions in two that it composes again, and Hangul."""
    pairs = set()
    for point in range(0x110000):
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            first, second = (int(part, 16) for part in parts)
            if len(unicodedata.normalize("NFC", chr(first) + chr(second))) == 1:
                pairs.add((first, second))
    leads, vowels = range(0x1100, 0x1113), range(0x1161, 0x1176)
    pairs |= set(itertools.product(leads, vowels))
    pairs |= {(syllable, tail) for syllable in range(0xAC00, 0xD7A4, 28) for tail in range(0x11A8, 0x11C3)}
    return pairs


def test_no_two_inert_characters_compose():
    inert = set(INERT)
    pairs = canonical_pairs()
    assert len(pairs) > 900 + 19 * 21 + 399 * 27
    assert [pair for pair in pairs if inert.issuperset(pair)] == []
    assert not inert & {second for _, second in pairs}, "an inert character joins to one before it"


def test_two_inert_characters_in_a_row_are_unchanged():
    """All edges of the ranges and their neighbours, and 300 more, each before each."""
    random = np.random.default_rng(1)
    edges = {p for low, high in INERT_RANGES for p in (low, low + 1, (low + high) // 2, high - 1, high)}
    some = [chr(p) for p in sorted(edges | set(random.choice(INERT, 300).tolist()))]
    text = "".join(a + b for a, b in itertools.product(some, some))
    assert unicodedata.normalize("NFC", text) == text
    assert all(unicodedata.normalize("NFC", a + b) == a + b for a, b in itertools.product(some, some))


# Blocks and texts

PIECES = [
    "a",
    "B",
    " ",
    "\n",
    "\t",
    "\x1c",
    ".",
    ",",
    "-",
    "_",
    "'",
    "ß",
    "İ",
    "é",
    "e\u0301",
    "\u0301",
    "Å",
    "\u212b",
    "ﬁ",
    "Ａ",
]
PIECES += [
    "，",
    "\u00a0",
    "\u2003",
    "\u200b",
    "日",
    "が",
    "か\u3099",
    "각",
    "\u1100\u1161",
    "😀",
    "क्ष",
    "Σς",
    "\0",
    "\u0345",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
ASCII = st.text(st.characters(max_codepoint=127), max_size=40)


def check(texts: list[str], options: str, poison: int = 0x61) -> None:
    normalize = Normalize.parse(options)
    done = normalize_documents(packed([text.encode() for text in texts], poison), normalize)
    assert [done.blob(i).decode() for i in range(len(texts))] == [normalize_text(text, normalize) for text in texts]


@settings(max_examples=60)
@given(st.lists(ASCII, max_size=4), st.lists(TEXTS, max_size=4), st.sampled_from(OPTIONS))
def test_blocks_become_what_each_text_alone_becomes(plain, mixed, options):
    check(plain, options)
    check(plain + mixed, options)


@pytest.mark.parametrize("options", OPTIONS)
def test_every_combination_of_options_on_texts_that_try_it(options):
    check(["", " ", "\n\n a\t b ", "A.B, c-d'E_f!", "\x1c\x1d\x1e\x1f", "a\0b", "  "], options)
    check(
        [
            "",
            "Straße ﬁ",
            "I\u0307İ ı",
            "e\u0301\u0323 \u0344",
            "Å\u212b",
            "か\u3099、 。",
            "\u00a0a\u2003 b\u3000",
            "ΑΣ Σ",
        ],
        options,
    )
    check(["all inert: é я 日 한", "ascii", "not: e\u0301", "", "日本語", "\u2126"], options, poison=0xCC)


@settings(max_examples=60)
@given(st.lists(st.lists(st.one_of(ASCII, TEXTS), max_size=5), max_size=4), st.sampled_from(OPTIONS))
def test_items_are_normalised_each_by_itself_and_never_joined(sets, options):
    normalize = Normalize.parse(options)
    blobs = [SEPARATOR.join(item.encode() for item in one) for one in sets]
    done = normalize_documents(packed(blobs), normalize, items=True)
    for i, one in enumerate(sets):
        items = [normalize_text(item, normalize).encode() for item in one]
        assert done.blob(i) == SEPARATOR.join(items)


def test_an_item_keeps_its_mark_from_the_item_before_it():
    done = normalize_documents(packed([b"e\xff\xcc\x81"]), Normalize.parse("nfc"), items=True)
    assert done.blob(0) == b"e\xff\xcc\x81"


@pytest.mark.parametrize(
    ("texts", "options"),
    [(["plain", ""], "nfc"), (["plain"], "nfkc"), (["é 日 한"], "nfc"), (["e\u0301"], "none")],
)
def test_a_block_in_which_nothing_changes_is_the_same_block(texts, options):
    block = packed([text.encode() for text in texts])
    assert normalize_documents(block, Normalize.parse(options)) is block


def test_bytes_that_are_no_utf8_are_replaced_where_a_text_is_normalised():
    block = packed([b"e\xcc\x81 \xff", b"\xc3", b"plain"])
    done = normalize_documents(block, Normalize.parse("nfc,casefold"))
    assert [done.blob(i).decode() for i in range(3)] == ["é \ufffd", "\ufffd", "plain"]


def test_an_empty_block_stays_empty():
    for options in OPTIONS:
        assert len(normalize_documents(Documents.from_texts([]), Normalize.parse(options))) == 0
