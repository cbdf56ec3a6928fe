"""Unicode forms by the kernel: the same as ``unicodedata`` makes, character by character and in any sequence."""

from __future__ import annotations

import unicodedata
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.twins.blocks import POISONS, packed

from neardup.kernels import forming, normal, utf8
from neardup.params import Normalize
from neardup.stages.characters import Parts, parts_of, with_all_pages
from neardup.stages.unicode_forms import formed
from neardup.types import Documents

FORMS = ("NFC", "NFKC")
ASSIGNED = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in ("Cn", "Co", "Cs")]
LETTERS = [c for c in ASSIGNED if not "\u3400" < c < "\u9fd0" and not "\uac80" < c < "\ud780" and c < "\U00017000"]
"""What is assigned, without most ideographs and most of Hangul."""


def made(texts: list[str], form: str) -> list[str]:
    done = formed(Documents.from_texts(texts), Normalize(form.lower()), items=False)
    data = done.data.tobytes()
    return [data[a:b].decode() for a, b in pairwise(done.offsets.tolist())]


def differing(texts: list[str], form: str) -> list[str]:
    wrong = zip(texts, made(texts, form), strict=True)
    return [ascii(text) for text, found in wrong if found != unicodedata.normalize(form, text)]


@pytest.mark.parametrize("form", FORMS)
def test_every_assigned_character_becomes_what_unicodedata_says(form):
    assert len(ASSIGNED) > 140_000
    assert differing(ASSIGNED, form) == []


AROUND = [("a", ""), ("", "\u0301"), ("e\u0323", "\u1161"), ("\u1100", "\u0308\u0301"), ("\uac00", "\u11a8")]
AROUND += [("\u304b", "\u3099"), ("\u0b47", "\u0b3e"), ("\u0f40", "\u0f71"), ("\u05d0\u05bc", "\u05b8")]


@pytest.mark.parametrize("form", FORMS)
def test_every_letter_and_mark_becomes_among_others_what_unicodedata_says(form):
    for before, after in AROUND:
        assert differing([before + char + after for char in LETTERS], form) == []


# Unicode Standard Annex #15, by hand: text, NFC, NFKC
EXAMPLES = [
    ("\u212b\u2126\u212a", "\u00c5\u03a9K", "\u00c5\u03a9K"),
    ("\u1e0a\u0323", "\u1e0c\u0307", "\u1e0c\u0307"),
    ("D\u0307\u0323", "\u1e0c\u0307", "\u1e0c\u0307"),
    ("\u1e9b\u0323", "\u1e9b\u0323", "\u1e69"),
    ("\ufb012\u2075", "\ufb012\u2075", "fi25"),
    (
        "\u0958\u2adc\U0001d15e",
        "\u0915\u093c\u2add\u0338\U0001d157\U0001d165",
        "\u0915\u093c\u2add\u0338\U0001d157\U0001d165",
    ),
    ("\u1100\u1161\u11a8", "\uac01", "\uac01"),
    ("\uac00\u11a8\u11a8", "\uac01\u11a8", "\uac01\u11a8"),
    ("\uac00\u11a7", "\uac00\u11a7", "\uac00\u11a7"),
    ("\u1100\u0300\u1161", "\u1100\u0300\u1161", "\u1100\u0300\u1161"),
    ("\u0b47\u0300\u0b3e", "\u0b47\u0300\u0b3e", "\u0b47\u0300\u0b3e"),  # Corrigendum 5
    ("a\u0305\u0301", "a\u0305\u0301", "a\u0305\u0301"),
    ("a\u0316\u0301", "\u00e1\u0316", "\u00e1\u0316"),
    ("\u0344\u0f73", "\u0f71\u0f72\u0308\u0301", "\u0f71\u0f72\u0308\u0301"),
    ("\uff76\uff9e\u304b\uff9e", "\uff76\uff9e\u304b\uff9e", "\u30ac\u304c"),
    ("\u1fef\u037e\u0301", "`;\u0301", "`;\u0301"),
]


def test_the_examples_of_the_standard_become_what_it_says():
    texts = [text for text, _, _ in EXAMPLES]
    assert made(texts, "NFC") == [nfc for _, nfc, _ in EXAMPLES]
    assert made(texts, "NFKC") == [nfkc for _, _, nfkc in EXAMPLES]


WEIGHTED = st.one_of(
    st.sampled_from("aeêoKD<\u05d0\u0f40\u03b9\u1ed9\u304b가각日 \n"),
    st.sampled_from("\u0301\u0300\u0302\u0323\u0307\u0338\u0345\u0334\u0f71\u0f72\u0f39\u05b8\u05bc\u05c1\u064b\u0651"),
    st.sampled_from(
        "\u1100\u1112\u1161\u1175\u11a8\u11a7\u11c2\u093c\u09c7\u09be\u3099\u309a\uff9e\uff76\U00011099\U000110ba"
    ),
    st.sampled_from(
        "\u0344\u0f73\u0f81\u212b\u0958\ufb2c\U0001d160\u0390\u01d5\u1f82\ufdfa\ufb03\u1e9b\u3389\u00a8\u2002"
    ),
    st.sampled_from(LETTERS),
)
TEXTS = st.lists(WEIGHTED, max_size=24).map("".join)
BROKEN = st.lists(st.sampled_from(list(b"a\x80\x81\x9f\xa0\xbf\xc0\xc3\xcc\xe0\xe2\xed\xf0\xf4\xf5\xff")), max_size=6)


@settings(max_examples=200)
@given(
    st.lists(st.lists(st.one_of(TEXTS.map(str.encode), BROKEN.map(bytes)), max_size=4).map(b"".join), max_size=4),
    st.sampled_from(FORMS),
    st.sampled_from(POISONS),
    st.booleans(),
    st.integers(0, 300),
)
@example([b"e\xff\xcc\x81", b"\xc3"], "NFC", 0xBF, True, 0)
@example([b"\xe2\x82", b"\xac"], "NFC", 0xAC, False, 0)
def test_any_bytes_become_what_unicodedata_says_and_nothing_is_written_outside(blobs, form, poison, items, room):
    block = packed(blobs, poison)
    out, ends = np.full(12 * block.nbytes + 400, 0x55, dtype=np.uint8), np.empty_like(block.offsets)
    marks = np.zeros(1 << 12, dtype=np.uint32)
    state = []

    def write(size, now, wanted):
        state[:] = [forming.form(now, block.data, block.offsets, items, wanted, marks, out[:size], ends)]
        return state[0]

    table = parts_of(Normalize(form.lower()))
    with_all_pages(table, lambda *given: max(0, write(room, *given)))
    assert (out[room:] == 0x55).all(), "form went past its room"
    if state == [forming.FULL]:
        with_all_pages(table, lambda *given: write(out.size, *given))
    split = [blob.split(b"\xff") if items else [blob] for blob in blobs]
    right = [[unicodedata.normalize(form, part.decode("utf-8", "replace")).encode() for part in each] for each in split]
    assert [out[a:b].tobytes() for a, b in pairwise(ends)] == [b"\xff".join(each) for each in right]


@pytest.mark.parametrize("form", FORMS)
def test_texts_that_outgrow_every_room_and_runs_that_outgrow_theirs_become_what_unicodedata_says(form):
    run = "".join(map("".join, product("\u0301\u0323\u0345", "\u0f73\u05b8\u0344"))) * 900
    texts = ["\ufdfa" * 9000, "\U0001d160" * 4000, "plain", "e" + run[:100], run + "e\u0301", run]
    right = "".join(sorted("".join(unicodedata.normalize("NFD", char) for char in run), key=unicodedata.combining))
    assert made(texts, form)[:4] == [unicodedata.normalize(form, text) for text in texts[:4]]
    assert made(texts, form)[4:] == [right + "\u00e9", right]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "text", ["x" + "\u0344" * 10, "\U0001d165" * 20, "\ufdfa\U0001d160", "\U0001d160\u1ed9" + "x" * 20]
)
def test_no_room_is_overstepped_whatever_its_size(form, text):
    block, right = packed([text.encode()]), unicodedata.normalize(form, text).encode()
    table, wanted, ends = parts_of(Normalize(form.lower())), np.zeros(normal.PAGES, np.bool_), np.zeros(2, np.int64)
    made([text], form)  # the pages
    states = set()
    for room, half in product(range(120), (1, 9, 18, 19, 20, 30)):
        out, marks = np.full(300, 0x55, dtype=np.uint8), np.full(100, 7, dtype=np.uint32)
        given = block.data, block.offsets, False, wanted, marks[: 2 * half], out[:room], ends
        states.add(state := forming.form(table.now, *given))
        assert (out[room:] == 0x55).all()
        assert (marks[2 * half :] == 7).all()
        assert state != 0 or out[: ends[1]].tobytes() == right
    assert states == {0, forming.FULL, forming.LONG}


def test_each_mark_of_a_run_is_looked_at_a_bounded_number_of_times(monkeypatch):
    """An insertion sort would look at each of 2,000 marks 1,000 times."""
    settle, encode, composite = (
        getattr(part, "py_func", part) for part in (forming._settle, utf8.encode, normal.composite)
    )
    monkeypatch.setattr(forming, "encode", encode)
    monkeypatch.setattr(forming, "composite", composite)

    class Counted(np.ndarray):
        looks = 0

        def __getitem__(self, index):
            Counted.looks += 1
            return super().__getitem__(index)

    marks = np.zeros(4_000, dtype=np.uint32).view(Counted)
    classes = sorted({unicodedata.combining(char) for char in LETTERS} - {0})
    out = np.zeros(9_000, dtype=np.uint8)
    for kinds in (classes, [220, 230]):
        Counted.looks = 0
        marks[:2_000] = [0x300 + i % 64 | kinds[-1 - i % len(kinds)] << forming.CLASS for i in range(2_000)]
        n, letter = settle(0x65, 0, 1, marks, 2_000, np.zeros(0, dtype=np.int64), out)
        assert (n, letter) == (4_001, -1)
        assert Counted.looks < (len(kinds) + 3) * 2_000
    assert len(classes) < 56


def test_a_page_that_is_missing_is_wanted_and_a_table_in_use_is_never_changed():
    table = Parts(Normalize("nfc"))
    block = packed(["plain ก and \U0001f600, ก".encode()])
    wanted = np.zeros(normal.PAGES, dtype=np.bool_)
    rest = (np.zeros(64, dtype=np.uint32), np.zeros(99, dtype=np.uint8), np.empty_like(block.offsets))
    before = table.now
    assert forming.form(table.now, block.data, block.offsets, False, wanted, *rest) == 3  # times
    assert np.flatnonzero(wanted).tolist() == [0x0E01 // 64, 0x1F600 // 64]
    table.grow(wanted)
    assert before.entries.size == 0
    assert forming.form(table.now, block.data, block.offsets, False, wanted, *rest) == 0
