"""One table of characters that are not seen: pages, scripts and the terminal go by it."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser import filler

from neardup.cli.compare_rows import rows_of
from neardup.pages.site.write import write_pair
from neardup.shown import UNSEEN, is_hidden, is_unseen, name_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

POINTS = sorted({point for first, last in UNSEEN for point in range(max(0, first - 1), last + 2)})
"""Every code point of the table, and those beside its ranges."""
JOINERS = "\u200c\u200d"


def test_scripts_and_python_show_the_same_characters_by_the_same_names(
    look: Callable[..., Page], tmp_path: Path
) -> None:
    page = look(write_pair(tmp_path / "pair.html", *filler.pair_page("one text", "another text")).path)
    told = page.evaluate(
        """points => points.map(point => {
          const box = neardup.appendText(document.createElement('p'), String.fromCodePoint(point));
          return box.querySelector('.hidden')?.dataset.name ?? null;
        })""",
        POINTS,
    )
    assert told == [name_of(chr(point)) if is_unseen(chr(point)) else None for point in POINTS]
    assert None in told


def test_a_label_of_the_page_names_what_the_scripts_name(tmp_path: Path) -> None:
    meta, data = filler.pair_page("one text", "another text")
    whole = "".join(chr(point) for point in POINTS if not 0xD800 <= point <= 0xDFFF)
    meta["facts"] = [["label", whole]]
    page = write_pair(tmp_path / "pair.html", meta, data).path.read_text("utf-8")
    label = re.search(r"<dt>label</dt><dd><bdi>(.*?)</bdi>", page, re.DOTALL)
    assert label is not None
    named = [char for char in whole if is_unseen(char) and char not in JOINERS]
    assert sorted(re.findall(r'data-name="([^"]+)"', label[1])) == sorted(map(name_of, [*named, "\t", "\n"]))
    left = set(re.sub(r"<[^>]*>", "", label[1]))
    assert {char for char in left if is_unseen(char)} == set(JOINERS)


def test_the_terminal_hides_all_that_a_page_names_by_the_same_name() -> None:
    for char in map(chr, POINTS):
        assert is_hidden(char) or not is_unseen(char), name_of(char)
    for char in (chr(point) for point in POINTS if is_unseen(chr(point)) and point != 0x0D):
        [row] = rows_of(f"a{char}b", [(0, 3)], [], width=40, is_plain=True)
        assert [piece.shown for piece in row.pieces if piece.kind == "hidden"] == [f"<{name_of(char)}>"]


def test_the_ranges_of_the_table_do_not_overlap() -> None:
    ends = sorted(UNSEEN)
    assert all(first <= last for first, last in ends)
    assert all(last < first for (_, last), (first, _) in pairwise(ends))
    assert not any(map(is_unseen, "\t\n a\u06dd\u0600"))
