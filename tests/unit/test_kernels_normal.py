"""Tests and maps over bytes at every offset of the words they are read in."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.twins import normal as twin
from tests.twins.blocks import POISONS, packed

from neardup.kernels import normal, utf8
from neardup.kernels.normal import Characters
from neardup.params import Normalize
from neardup.stages.characters import Table, table_of

FORMS = ("nfc", "nfkc")
STEPS = (*FORMS, "none,casefold,space", "casefold,punct,space", "nfkc,casefold,punct,strip", "none,casefold,digits")


def whole(steps: str, blobs: list[bytes]) -> Characters:
    """The table of some steps with the pages of these documents."""
    table = table_of(Normalize.parse(steps))
    points = {ord(char) for blob in blobs for char in blob.decode("utf-8", "ignore")}
    wanted = np.zeros(normal.PAGES, dtype=np.bool_)
    wanted[[point // normal.PAGE for point in points]] = True
    table.grow(wanted)
    return table.now


def looked(characters: Characters, blobs: list[bytes], poison: int, items: bool) -> list[int]:
    block = packed(blobs, poison)
    found = np.full(len(blobs), normal.UNSEEN, dtype=np.uint8)
    wanted = np.zeros(normal.PAGES, dtype=np.bool_)
    missing = normal.look(characters, block.data, block.offsets, items, found, wanted)
    assert bool(missing) == bool(wanted.any()) == (normal.UNSEEN in found)
    return found.tolist() if missing == 0 else []


def written(
    characters: Characters, blobs: list[bytes], poison: int, items: bool, room: int = 0
) -> tuple[list[int], list[bytes]]:
    """State and bytes of each document, from an array that ends where ``write`` may not go further."""
    block = packed(blobs, poison)
    room = room or 12 * block.nbytes
    found = np.full(len(blobs), normal.MAPPED, dtype=np.uint8)
    wanted = np.zeros(normal.PAGES, dtype=np.bool_)
    out, ends = np.full(room + 8 + 16, 0x55, dtype=np.uint8), np.empty_like(block.offsets)
    missing = normal.write(characters, block.data, block.offsets, items, found, wanted, out[: room + 8], ends)
    assert (out[room + 8 :] == 0x55).all(), "write went past its room"
    if missing:
        return [], []
    return found.tolist(), [out[a:b].tobytes() for a, b in pairwise(ends)]


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 130])
def test_one_byte_above_ascii_is_seen_at_every_place_and_none_outside(length):
    blobs = [b"a" * at + b"\x80" + b"a" * (length - at - 1) for at in range(length)]
    block = packed([b"\xff" * 3, b"a" * length, b"\xff"], 0xFF)
    assert utf8.is_ascii(block.data, 4, 4 + length)
    for i, blob in enumerate(blobs):
        block = packed(blobs)
        assert utf8.is_ascii(block.data, int(block.offsets[i]), int(block.offsets[i + 1])) == twin.is_ascii(
            np.frombuffer(blob, dtype=np.uint8), 0, length
        )


@pytest.mark.parametrize("form", FORMS)
def test_quiet_bytes_begin_characters_that_each_form_leaves_as_and_where_they_are(form):
    joining = {
        parts.split()[1]
        for parts in map(unicodedata.decomposition, map(chr, range(0x110000)))
        if " " in parts and not parts.startswith("<")
    }
    quiet = [chr(p) for p in range(0x80, 0x10000) if not 0xD800 <= p < 0xE000 and chr(p).encode()[0] in normal.QUIET]
    assert len(quiet) > 30_000
    for char in quiet:
        assert unicodedata.normalize(form.upper(), char) == char
        assert unicodedata.combining(char) == 0
        assert f"{ord(char):04X}" not in joining


def test_the_kernel_takes_those_bytes_for_quiet_that_the_list_names():
    """What is quiet is not looked up: with an empty table nothing is wanted of it, and one page of any other."""
    empty = Table(Normalize.parse("nfc")).now
    for point in [*range(0x80, 0xD800, 31), *range(0xE000, 0x110000, 9973)]:
        blob = chr(point).encode()
        assert (looked(empty, [blob], 0x61, False) == [normal.SAME]) == (blob[0] in normal.QUIET), hex(point)


LETTERS = ["a", "é", "я", "日", "한", "ก", "か", "क", "\u0958", "\U0001f600"]
OTHERS = ["\u0301", "\u0e48", "\u0323", "\u093c", "\u1161", "\u2126", "\u0344", "\u3099", "\u0345", "ﬁ", "\u2003"]


@pytest.mark.parametrize("steps", STEPS)
def test_one_character_is_judged_at_every_place_as_the_twin_judges_it(steps):
    blobs = [(a * at + b + a * (20 - at)).encode() for a in LETTERS for b in OTHERS for at in (0, 1, 5, 16, 17, 20)]
    blobs += [b"ascii run " * 6 + blob for blob in blobs]
    characters = whole(steps, blobs)
    expected = [twin.what(characters, blob, False) for blob in blobs]
    if steps in FORMS:
        assert looked(characters, blobs, 0xBF, False) == [state for state, _ in expected]
    states, texts = written(characters, blobs, 0xBF, False)
    assert texts == [made for _, made in expected]
    assert [state == normal.ASK for state in states] == [state == normal.ASK for state, _ in expected]


SCRIPTS = st.text(
    st.one_of(
        st.sampled_from("aB. \n\t-Z"),
        st.sampled_from([*LETTERS, *OTHERS, "\u0338", "\u0e38", "\u064e", "\u0651", "\u1100", "\u11a8", "Ⅷ", "İ", "ß"]),
        st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"),
    ),
    max_size=90,
).map(str.encode)
BROKEN = st.tuples(SCRIPTS, st.binary(max_size=4).filter(lambda b: 0 not in b), SCRIPTS).map(b"".join)


@given(
    st.lists(st.one_of(SCRIPTS, BROKEN), min_size=1, max_size=4),
    st.sampled_from(STEPS),
    st.sampled_from(POISONS),
    st.booleans(),
)
@example([b"a\xcc\x81"], "nfc", 0, False)
@example(["яกี่\u0301".encode()], "nfc", 0xBF, False)
def test_documents_are_judged_and_written_as_the_twin_does_it(blobs, steps, poison, items):
    characters = whole(steps, blobs)
    expected = [twin.what(characters, blob, items) for blob in blobs]
    if steps in FORMS:
        assert looked(characters, blobs, poison, items) == [state for state, _ in expected]
    states, texts = written(characters, blobs, poison, items)
    assert texts == [made for _, made in expected]
    assert [state == normal.ASK for state in states] == [state == normal.ASK for state, _ in expected]


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("blob", [b"\xc3", b"\xe6\x97", b"\xf0", b"\x80" * 9, b"\xcc", b"\xff" * 70, b"\xe0\xb8"])
def test_damaged_documents_are_asked_about_and_nothing_behind_them_counts(blob, steps):
    for before in (b"", b"a" * 7, b"a" * 8, b"a" * 63, b"a" * 64, "я".encode() * 31):
        for poison in (0, 0x80, 0xBF, 0x61):
            blobs = [before + blob, b"plain"]
            characters = whole(steps, blobs)
            if steps in FORMS:
                assert looked(characters, blobs, poison, False) == [normal.ASK, normal.SAME]
            states, texts = written(characters, blobs, poison, False)
            assert states[0] == normal.ASK
            assert texts == [b"", b"plain"]


def test_a_page_that_is_not_in_the_table_is_wanted_and_known_once_it_is_there():
    table = Table(Normalize.parse("nfc"))
    block = packed(["plain ก and \U0001f600, ก".encode()])
    found, wanted = np.full(1, normal.UNSEEN, dtype=np.uint8), np.zeros(normal.PAGES, dtype=np.bool_)
    assert normal.look(table.now, block.data, block.offsets, False, found, wanted) == 3  # times
    assert found.tolist() == [normal.UNSEEN]
    assert np.flatnonzero(wanted).tolist() == [0x0E01 // 64, 0x1F600 // 64]
    before = table.now
    table.grow(wanted)
    assert before.entries.size == 0, "a table that a kernel may be reading was changed"
    wanted[:] = False
    assert normal.look(table.now, block.data, block.offsets, False, found, wanted) == 0
    assert found.tolist() == [normal.SAME]


def test_a_document_for_which_there_is_no_room_is_left_to_the_judge_and_the_next_is_not():
    long, short = "\ufdfa".encode() * 20, "ﬁ".encode()
    characters = whole("nfkc", [long, short])
    states, texts = written(characters, [long, short], 0, False, room=80)
    assert states == [normal.ASK, normal.MAPPED]
    assert texts == [b"", b"fi"]
