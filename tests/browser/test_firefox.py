"""The pages in Firefox: the same layout, keys and printing as in Chromium, where everything else is tested."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser import filler
from tests.browser import firefox as fox
from tests.browser.firefox import Firefox
from tests.browser.test_pair_page import SHARED, uneven

from neardup.pages.site.write import write_pair

pytestmark = pytest.mark.skipif(fox.FIREFOX is None, reason="needs firefox or firefox-esr on the path")

MARK = "const one = document.activeElement; return Number(one.dataset.mark ?? -1)"


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with fox.firefox(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def pair_html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pair(tmp_path_factory.mktemp("pair") / "pair.html", *filler.pair_page(*uneven())).path


def test_every_view_fits_at_every_size(window: Firefox, folder: Path, pair_html: Path) -> None:
    window.open(f"{folder.as_uri()}#/pair/0/1")
    window.wait("return document.querySelectorAll('.mark').length > 1")
    for width, scheme in ((390, "dark"), (768, "light"), (1280, "dark")):
        window.resize(width, 800)
        window.prefer(scheme)
        for address in ("#/", "#/cluster/0", "#/pair/0/1"):
            window.run("location.hash = arguments[0]", address)
            window.wait("return !document.documentElement.classList.contains('is-elsewhere')")
            assert window.run("return document.documentElement.scrollWidth") <= width, (address, width)
        window.wait("return document.querySelectorAll('.mark').length > 1")
        if width > 500:
            high, inner = window.run("return [document.documentElement.scrollHeight, innerHeight]")
            assert high == inner, "the page scrolls beside its texts"
        paper = window.run("return getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(247, 246, 243)", "dark": "rgb(20, 20, 22)"}[scheme]


def test_texts_scroll_together_and_keys_walk_the_passages(window: Firefox, pair_html: Path) -> None:
    window.resize(1280, 800)
    window.open(pair_html.as_uri())
    window.wait("return document.querySelectorAll('.mark').length > 1")
    tops = """
        const tops = [...document.querySelectorAll('.text')].map((box) =>
          box.querySelector("[data-mark='6']").getBoundingClientRect().top - box.getBoundingClientRect().top);
        return Math.abs(tops[0] - tops[1]) < 4;
    """
    window.run(
        """
        const box = document.querySelector('.text');
        const mark = box.querySelector("[data-mark='6']").getBoundingClientRect();
        const y = mark.top + 1 - box.getBoundingClientRect().top + box.scrollTop;
        box.scrollTop = y * (box.scrollHeight - box.clientHeight) / box.scrollHeight;
        """
    )
    window.wait(tops)
    window.run("document.querySelector('[aria-label=\"Previous passage\"]').focus()")
    for _ in range(12):
        window.press(fox.TAB)
        if window.run(MARK) >= 0:
            break
    assert window.run(MARK) == 0
    window.press(fox.RIGHT, fox.RIGHT)
    assert window.run(MARK) == 2
    window.press(fox.ENTER)
    assert (
        window.run("return [...document.querySelectorAll('.text')].indexOf(document.activeElement.closest('.text'))")
        == 1
    )
    window.click(".opener")
    window.click(".passage-row[data-passage='9']")
    assert window.run(MARK) == 9
    window.click("[aria-label='Ignore passage 10 everywhere']")
    window.wait("return document.querySelectorAll('.mark.is-ignored').length === 2")
    window.click("[name=shared]")
    window.wait("return document.querySelectorAll('.text .gap').length > 5")


def test_a_printed_pair_has_both_texts_and_no_controls(window: Firefox, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    texts = [
        "".join(f"{passage} Only in {letter}, number {k}.\n" for k, passage in enumerate(SHARED)) for letter in "AB"
    ]
    window.open(write_pair(tmp_path / "pair.html", *filler.pair_page(*texts)).path.as_uri())
    window.wait("return document.querySelectorAll('.mark').length > 1")
    printed = pypdf.PdfReader(io.BytesIO(base64.b64decode(window.pdf())))
    said = "".join("".join(sheet.extract_text().split()) for sheet in printed.pages)
    for k, passage in enumerate(SHARED):
        assert said.count("".join(passage.split())) == 2
        assert f"OnlyinA,number{k}." in said
    for control in ("Scrolltogether", "Onlywhatisshared", "Ignoreeverywhere"):
        assert control not in said
