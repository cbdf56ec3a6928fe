"""Texts as they were written: kept beside normalised ones, given back by row, cut between characters."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.engine.reading.written import WrittenTexts, changed_texts
from neardup.params import Normalize
from neardup.shown import cut_text
from neardup.spool import MemoryTexts, Workdir
from neardup.stages.text import normalize_documents
from neardup.types import Documents

TEXTS = ["", "plain", "UPPER", "e\u0301\u0301" * 30, "日本語" * 50, "x" * 100_000, "a  b\n", "\ufeff ok"]
STEPS = ("none", "nfc", "casefold", "nfkc,casefold,punct,strip")


def written(texts: list[str], steps: str, workdir: Workdir | None) -> WrittenTexts:
    stores = [MemoryTexts(), MemoryTexts()] if workdir is None else [workdir.texts("plain"), workdir.texts("changed")]
    for start in range(0, len(texts), 3):
        before = Documents.from_texts(texts[start : start + 3])
        after = normalize_documents(before, Normalize.parse(steps))
        stores[0].append(after)
        stores[1].append(changed_texts(before, after))
    return WrittenTexts(stores[0], stores[1], is_items=False)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.parametrize("most", [None, 1, 3, 61, 100_000])
def test_each_row_gives_its_text_as_it_was_written(
    tmp_path: Path, steps: str, in_files: bool, most: int | None
) -> None:
    workdir = Workdir.create(tmp_path / "work", {}) if in_files else None
    held = written(TEXTS, steps, workdir)
    rows = np.array([7, 0, 3, 3, 5, 1, 2, 6, 4, 7])
    whole = [TEXTS[row] for row in rows.tolist()]
    assert held.take(rows, most).to_pylist() == (whole if most is None else [cut_text(text, most) for text in whole])
    assert held.take(rows[:0], most).to_pylist() == []
    if workdir is not None:
        workdir.remove()


def test_of_texts_that_normalisation_leaves_alone_nothing_is_kept() -> None:
    assert written(["one", "two", "three", "four"], "nfc", None).changed.lengths(np.arange(4)).tolist() == [0, 0, 0, 0]
    assert written(["One", "two", "Three", "four"], "casefold", None).changed.lengths(np.arange(4)).tolist() == [
        3,
        0,
        5,
        0,
    ]


def test_long_texts_come_a_few_rows_at_a_time() -> None:
    held = written(["y" * 3_000_000, "z"], "none", None)
    rows = np.array([0, 1, 0, 0, 1])
    whole = [rows[part].tolist() for part in held.pieces(rows, most=None)]
    assert whole == [[0, 1], [0], [0, 1]]
    assert [rows[part].tolist() for part in held.pieces(rows, rows, most=10)] == [rows.tolist()]


def test_sets_are_shown_as_their_items_with_spaces_between() -> None:
    texts = MemoryTexts()
    texts.append(Documents.from_bytes([b"milk\xffrye bread"]))
    nothing = MemoryTexts()
    nothing.append(Documents.from_bytes([b""]))
    assert WrittenTexts(texts, nothing, is_items=True).take(np.array([0]), 6).to_pylist() == ["milk r…"]


@given(st.text(), st.integers(1, 12))
def test_a_cut_text_is_a_beginning_says_so_and_parts_no_letter_from_its_marks(text: str, most: int) -> None:
    shown = cut_text(text, most)
    if len(text) <= most:
        assert shown == text
        return
    kept = shown.removesuffix("…")
    assert shown == kept + "…"
    assert text.startswith(kept)
    assert len(kept) <= most
    assert unicodedata.category(text[len(kept)])[0] != "M" or not kept


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301\u0302",
        "👩\u200d👩\u200d👧",
        "👍🏽",
        "🇫🇷",
        "\r\n",
        "\u1112\u1161\u11ab",
        "❤\ufe0f",
        "นี้",
        "🏴\U000e0067\U000e0062\U000e007f",
    ],
)
def test_what_people_see_as_one_character_is_kept_or_left_out_whole(cluster: str) -> None:
    text = "ab" + cluster + cluster + "cd"
    whole = {"", "a", "ab", "ab" + cluster, "ab" + cluster * 2, "ab" + cluster * 2 + "c"}
    for most in range(1, len(text)):
        kept = cut_text(text, most).removesuffix("…")
        assert kept in whole
        assert kept == max((each for each in whole if len(each) <= most), key=len)


def test_a_text_of_marks_only_is_cut_in_linear_time() -> None:
    assert cut_text("e" + "\u0301" * 200_000, 100_000) == "…"
    assert cut_text("🇫" * 200_001, 100_001) == "🇫" * 100_000 + "…"
