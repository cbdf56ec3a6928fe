"""Fragments for a notebook: all of a text is there, marked where it is shared, and nothing in it is obeyed."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from neardup.engine.results.passages import shared_passages
from neardup.pages.fragments import framed, pair_part, table_part
from neardup.params import Normalize, Shingle
from neardup.shown import name_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

SHINGLE, NORMALIZE = Shingle("char", 3), Normalize("nfc")
TEXTS = st.text(st.sampled_from([*"ab .<&\"'", "\n", "\u202e", "\x00", "é", "😀"]), max_size=60)


class Read(HTMLParser):
    """What stands in each text of a fragment: [characters, is it marked], a hidden character by its name in braces."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.sides: list[list[tuple[str, bool]]] = []
        self.depth, self.is_marked, self.is_gap = 0, False, False
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        if found.get("class") == "text":
            self.sides.append([])
            self.depth = 1
        elif tag == "mark":
            self.is_marked = True
        elif tag == "span" and self.depth:
            self.depth += 1
            self.is_gap = (found.get("class") or "").startswith("gap")
            if found.get("class") == "hidden":
                self.sides[-1].append((f"{{{found['data-name']}}}", self.is_marked))

    def handle_endtag(self, tag: str) -> None:
        if tag == "mark":
            self.is_marked = False
        elif self.depth and tag in ("span", "div"):
            self.depth -= 1
            self.is_gap = False

    def handle_data(self, data: str) -> None:
        if self.depth and not self.is_gap:
            self.sides[-1].append((data, self.is_marked))


def told(text: str) -> str:
    """A text with runs of what is not seen by their names, as ``shown`` has the names."""
    return re.sub(
        "(\u202e|\x00)\\1*", lambda run: f"{{{name_of(run[1])}{f' ×{len(run[0])}' * (len(run[0]) > 1)}}}", text
    )


@given(TEXTS, TEXTS)
def test_all_of_both_texts_is_there_and_what_is_shared_is_marked(a: str, b: str) -> None:
    passages = shared_passages(a, b, shingle=SHINGLE, normalize=NORMALIZE)
    read = Read()
    read.feed(framed(pair_part((a, b), passages)))
    assert len(read.sides) == 2
    for text, spans, parts in zip((a, b), (passages.a, passages.b), read.sides, strict=True):
        assert "".join(part for part, is_marked in parts if is_marked) == "".join(told(text[i:j]) for i, j in spans)
        cuts = [0, *(place for span in spans for place in span), len(text)]
        whole = "".join(told(text[i:j]) for i, j in pairwise(cuts))
        assert "".join(part for part, _ in parts) == whole


def test_names_and_cells_are_text_and_nothing_else() -> None:
    evil = "<img src=x onerror=alert(1)>\u202e"
    passages = shared_passages(evil, evil, shingle=SHINGLE, normalize=NORMALIZE)
    made = framed(pair_part((evil, evil), passages, names=(evil, evil), facts=[(evil, evil)]))
    made += framed(table_part([evil], [[evil], [None]], caption=evil, left_out=1200))
    read = Read()
    read.feed(made)
    assert not read.tags & {"img", "script"}
    assert "\u202e" not in made
    assert "… and 1,200 more." in made


def test_a_long_text_is_shown_around_its_passages() -> None:
    shared = "this stands in both of the texts"
    a, b = "x" * 9000 + shared + "y" * 9000, shared
    passages = shared_passages(a, b, shingle=Shingle("char", 9), normalize=NORMALIZE)
    made = framed(pair_part((a, b), passages, most=1000))
    read = Read()
    read.feed(made)
    assert "".join(part for part, is_marked in read.sides[0] if is_marked) == shared
    assert sum(len(part) for part, _ in read.sides[0]) <= 1000
    gone = sum(int(number.replace(",", "")) for number in re.findall(r"… ([\d,]+) characters not shown …", made))
    assert gone + sum(len(part) for part, _ in read.sides[0]) == len(a)


def test_a_fragment_changes_nothing_around_it_and_follows_the_theme(look: Callable[..., Page], tmp_path: Path) -> None:
    text = "the same words stand in both of these texts, so that they are marked"
    passages = shared_passages(text, text, shingle=SHINGLE, normalize=NORMALIZE)
    made = framed(pair_part((text, text), passages))
    around = '<p class="text about mark">a notebook of its own</p>'
    (tmp_path / "plain.html").write_text(f"<!doctype html><meta charset=utf-8>{around}", "utf-8")
    (tmp_path / "with.html").write_text(f"<!doctype html><meta charset=utf-8>{around}{made}", "utf-8")
    style = "(one => { const s = getComputedStyle(one); return [s.color, s.backgroundColor, s.font, s.padding]; })"
    plain, page = look(tmp_path / "plain.html"), look(tmp_path / "with.html")
    own = f"{style}(document.querySelector('p'))"
    assert plain.evaluate(own) == page.evaluate(own)
    ground = "getComputedStyle(document.querySelector('.neardup-fragment')).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert light != dark
    for is_light, expected in (("true", light), ("false", dark)):  # whatever the system likes
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.evaluate("value => { document.body.dataset.jpThemeLight = value; }", is_light)
            assert page.evaluate(ground) == expected
