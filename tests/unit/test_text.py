"""Normalisation: blocks become what each text alone becomes, whoever makes it, the kernels or the judge."""

from __future__ import annotations

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins.blocks import packed

from neardup.params import Normalize
from neardup.stages import text as stage
from neardup.stages.text import SEPARATOR, normalize_documents, normalize_text
from neardup.types import Documents

OPTIONS = [
    ",".join([form, *steps, *space])
    for form in ("none", "nfc", "nfkc")
    for steps in ((), ("casefold",), ("punct",), ("casefold", "punct"), ("digits",), ("casefold", "digits", "punct"))
    for space in ((), ("space",), ("strip",))
]


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
    "0",
    "7",
    "²",
    "２",
    "\u0663",
    "\U0001d7d9",
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


# All of Unicode

ALL = [*map(chr, range(0xD800)), *map(chr, range(0xE000, 0x110000))]
MOST = [
    c
    for c in ALL
    if not c > "\U00017000" and not "\u4e10" < c < "\u9fd0" and unicodedata.category(c) not in ("Cn", "Co")
]
"""What is assigned, without most ideographs."""
USED = ("nfc", "nfkc", "none,casefold,punct,strip", "nfc,casefold,punct,space", "nfkc,casefold,punct,strip")
JOINED = {
    part
    for parts in map(unicodedata.decomposition, ALL)
    if " " in parts and not parts.startswith("<")
    for part in (chr(int(parts.split()[0], 16)), chr(int(parts.split()[1], 16)))
}
NEARBY = [
    *sorted(JOINED),
    *(c for c in MOST if unicodedata.combining(c)),
    "\u1100",
    "\u1161",
    "\u11a8",
    "가",
    "각",
    "ﾊ",
    "ﾟ",
]
"""Both halves of all that is composed, and all marks."""


def is_taken_apart(monkeypatch, texts: list[str], options: str) -> bool:
    """Whether a text of a block needs more than one look at each of its characters."""
    seen = []
    monkeypatch.setattr(stage, "formed", lambda some, *_, items: seen.append(some) or some)
    normalize_documents(Documents.from_texts(texts), Normalize.parse(options))
    return bool(seen)


@pytest.mark.parametrize("options", USED)
def test_every_character_becomes_alone_and_after_a_letter_what_the_definition_says(options):
    chars = ALL if options == "nfc" else MOST
    check(list(chars), options)
    check([f"a{char} b" for char in MOST], options)


@pytest.mark.parametrize("options", USED)
def test_all_marks_and_halves_become_after_each_other_what_the_definition_says(options):
    """Each of them before some, in another order each time: some 60,000 pairs, in texts of three."""
    some = [NEARBY[(i * step) % len(NEARBY)] for step in (1, 7, 61, 211) for i in range(len(NEARBY))]
    check([a + b + c for a, b, c in zip(some, some[1:], some[2:], strict=False)], options)
    for mark in ("\u0301", "\u0308", "\u0323", "\u0345", "\u093c", "\u0e48", "\u3099", "\u1161", "\u0f71"):
        check([f"x{char}{mark}" for char in NEARBY], options)


UNICODE = st.lists(
    st.one_of(st.sampled_from(NEARBY), st.characters(blacklist_categories=("Cs",)), st.sampled_from(PIECES)),
    max_size=40,
).map("".join)


@settings(max_examples=150)
@given(st.lists(UNICODE, min_size=1, max_size=4), st.sampled_from(OPTIONS))
def test_any_text_becomes_what_the_definition_says(texts, options):
    check(texts, options)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(UNICODE.map(str.encode), st.binary(max_size=6), ASCII.map(str.encode)), min_size=1, max_size=3),
    st.sampled_from(OPTIONS),
    st.booleans(),
)
def test_any_bytes_become_what_the_definition_says_of_them_decoded(parts, options, items):
    normalize = Normalize.parse(options)
    blobs = [b"".join(part) for part in parts]
    block = packed(blobs)
    done = normalize_documents(block, normalize, items=items)
    if done is block:  # no form and no step, or ASCII
        return
    for i, blob in enumerate(blobs):
        each = blob.split(SEPARATOR) if items else [blob]
        made = [normalize_text(one.decode("utf-8", "replace"), normalize).encode() for one in each]
        assert done.blob(i) == SEPARATOR.join(made)


def test_a_letter_and_a_mark_that_become_one_over_another_mark_are_taken_apart(monkeypatch):
    assert is_taken_apart(monkeypatch, ["plain", "e\u0302\u0323"], "nfc")
    assert is_taken_apart(monkeypatch, ["a\u0316\u0301\u0316"], "nfc")


ORDINARY = [
    "สวัสดีครับ ที่นี่มีน้ำ",
    "한국어 문장입니다.",
    "Привет, мир! ё й",
    "中文，句子。",
    "日本語のテキストです。",
    "Việt Nam có tiếng nói",
    "हिन्दी में लिखा हुआ, क़लम के बिना ड़",
    "اللُّغَة العَرَبِيَّة",
    "עִבְרִית",
    "ქართული",
    "বাংলা কোথায়",
    "தமிழ் மொழி",
    "తెలుగు",
    "മലയാളം",
    "ខ្មែរ",
    "မြန်မာ",
    "“Quotes” – and… café naïve",
    "😀👍🏽 emoji",
    "１２３、ｈ",
]


@pytest.mark.parametrize("options", ["nfc", "nfc,casefold,punct,space", "nfc,casefold,punct"])
def test_ordinary_text_of_any_script_needs_one_look_at_each_character(monkeypatch, options):
    texts = [unicodedata.normalize("NFC", text) for text in ORDINARY]
    assert [text for text in texts if is_taken_apart(monkeypatch, [text], options)] == []


def test_texts_that_grow_beyond_their_room_become_what_the_definition_says():
    check(["\ufdfa" * 4000, "plain é", "\ufdfa" * 9], "nfkc")
    check(["\ufdfa" * 4000, "plain é", "\u0390" * 9000], "nfkc,casefold,punct,space")
    check(["\U0001d160" * 4000, "e\u0301", "\u0390" * 9000, "\u0345" * 9000], "nfc,casefold")
    check(["\u0390" * 9000, "A"], "none,casefold")


def test_threads_that_meet_new_characters_at_once_get_the_same_texts():
    stage.table_of.cache_clear()
    texts = [[chr(p) * 3 + "É" for p in range(start, 0x3000, 97)] for start in range(0x100, 0x180, 8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda each: check(each, "nfkc,casefold,punct,space"), texts)) == [None] * len(texts)
