"""The page of repeated passages in a real Chromium: what it tells is what the run found, for everybody who looks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser.pages import settled, until
from tests.browser.test_axe import check
from tests.unit.test_passage_page import CHINESE, EVIL, HEBREW, NOTICE, hostile_texts

import neardup
from neardup import RepeatedPassages
from neardup.shown import percent

if TYPE_CHECKING:
    from playwright.sync_api import Page

Look = Callable[..., "Page"]
STORY = "The old bridge is closed from Monday on. Two of its piers were found to be cracked."
ADDRESSES = {
    "#/": "Notices",
    "#/passages": "Repeated passages",
    "#/passage/0": "Passage 1",
    "#/documents": "Documents that would lose most",
    "#/document/0": "",
    "#/passage/999999": "no such view",
    "#/histogram": "no such view",
}


@pytest.fixture(scope="module")
def found() -> RepeatedPassages:
    """Some hostile texts, and two sites with a notice of their own on every page."""
    sites = {"north": f"{NOTICE} {CHINESE}", "south": f"{HEBREW} {NOTICE}"}
    pages = [
        (f"{site}/{i:03d}", f"{i} {STORY[i:]} {i}\n{notice}\n{i}") for site, notice in sites.items() for i in range(70)
    ]
    return neardup.passages([*pages, *hostile_texts(), ("/".join(["long"] * 60), f"{STORY}\n{EVIL}")], min_bytes=40)


@pytest.fixture(scope="module")
def single(found: RepeatedPassages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return found.report(tmp_path_factory.mktemp("passages") / "page.html", title="Notices").path


def go(page: Page, address: str, heading: str) -> None:
    page.evaluate("address => { location.hash = address; }", address)
    settled(page, heading)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (768, "light"), (1280, "light")])
def test_every_view_can_be_read_by_everybody_and_is_no_wider_than_its_window(
    look: Look, single: Path, width: int, scheme: str
) -> None:
    page = look(single, width=width, color_scheme=scheme)
    for address, heading in ADDRESSES.items():
        go(page, address, heading)
        check(page, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
        assert page.locator("h1:visible").count() == 1
    if width > 1000:
        for address, heading in ADDRESSES.items():
            go(page, address, heading)
            page.emulate_media(media="print")
            assert page.locator("button:visible:not(th button), #nav:visible, .crumbs:visible").count() == 0
            assert len(page.pdf(format="A4")) > 5_000
            page.emulate_media(media="screen")


def test_the_summary_is_read_without_scripts(look: Look, single: Path, found: RepeatedPassages) -> None:
    page = look(single, java_script_enabled=False)
    said = page.locator("main").inner_text()
    summary = found.summary
    assert f"{percent(summary.repeated_bytes, summary.bytes).replace(' ', '')} of the text stands" in said
    for number in (summary.passages, summary.spans, summary.documents):
        assert f"{number:,}" in said
    rows = page.locator(".lengths tbody tr")
    counts = [int(each.replace(",", "")) for each in rows.locator("td.is-number").all_inner_texts()]
    assert sum(counts) == summary.passages
    assert "need JavaScript" in said


def test_a_passage_is_searched_opened_and_read_in_its_document(
    look: Look, single: Path, found: RepeatedPassages, tmp_path: Path
) -> None:
    page = look(single, accept_downloads=True)
    page.locator(".repeats-top a").first.click()
    settled(page, "Passage 1")
    page.keyboard.press("n")
    settled(page, "Passage 2")
    page.keyboard.press("p")
    settled(page, "Passage 1")
    page.click("#nav >> text=Passages")
    settled(page, "Repeated passages")
    total = found.summary.passages
    page.locator(".status", has_text=f"{total} passages.").wait_for()
    page.fill("#search", "reserved everywhere")
    page.locator(".status", has_text="found; searched").wait_for()
    wanted = sum(1 for row in texts_of_passages(found) if "reserved" in row and "everywhere" in row)
    assert page.locator(".status").inner_text().startswith(f"{wanted} found")
    page.fill("#f-places", "70")
    until(page, "location.hash.includes('places=70')")
    page.locator("#view tbody a").first.click()
    page.locator(".places").wait_for()
    words = page.locator(".side .text").inner_text()
    assert "reserved" in words
    marked = page.locator(".places > li").first.locator(".mark").inner_text()
    assert words.startswith(marked[:30])
    page.locator(".places a").nth(3).click()
    page.locator(".is-shown").first.wait_for()
    assert page.locator(".is-shown").first.inner_text().strip()[:20] in words
    with page.expect_download() as saved:
        go(page, "#/passages", "Repeated passages")
        page.click("[data-download=csv]")
    assert len(saved.value.path().read_text("utf-8").splitlines()) >= total


def texts_of_passages(found: RepeatedPassages) -> list[str]:
    """The beginnings of the passages, as the list has them, with the names that are searched too."""
    shown = found.show(10_000, places=1, characters=300)
    return [" ".join(each.places[0].passage.split())[:90].lower() for each in shown]


def test_before_and_after_of_a_document_are_its_text_and_what_cut_leaves(
    look: Look, single: Path, found: RepeatedPassages
) -> None:
    page = look(single)
    left = {row["id"]: row["text"] for row in found.cut().to_pylist()}
    whole = dict([*hostile_texts()])
    go(page, "#/documents", "Documents")
    for name in ("a", "b", "d"):
        page.fill("#search", name)
        page.locator(".status", has_text="found; searched").wait_for()  # the table is drawn anew, a moment later
        page.locator(f"#view tbody a >> text=/^{name}$/").click()
        page.locator(".loss h1", has_text=name).wait_for()
        script = """hide => {
          const box = document.querySelector('.side .text').cloneNode(true);
          for (const one of box.querySelectorAll(hide)) one.remove();
          for (const one of box.querySelectorAll('[data-code]'))
            one.replaceWith(String.fromCodePoint(parseInt(one.dataset.code, 16)).repeat(one.dataset.times ?? 1));
          return box.textContent;
        }"""
        assert page.evaluate(script, ".joint") == whole[name]
        assert page.evaluate(script, ".is-cut") == left[name]
        page.locator("[value=after]").check()
        assert page.locator(".mark.is-cut >> visible=true").count() <= 1  # the one of the legend
        go(page, "#/documents", "Documents")


def test_a_folder_shows_the_same_as_a_file(look: Look, single: Path, found: RepeatedPassages, tmp_path: Path) -> None:
    pages = [look(single), look(found.report(tmp_path / "site", title="Notices").path)]
    for address, heading in ADDRESSES.items():
        for page in pages:
            go(page, address, heading)
            page.wait_for_timeout(50)
        first, second = (page.locator("main").inner_html() for page in pages)
        assert first == second, address


def test_a_report_has_a_view_of_passages_if_they_were_looked_for(look: Look, tmp_path: Path) -> None:
    texts = {f"d{i}": f"{i} {STORY} {NOTICE}"[: 90 + 10 * i] for i in range(9)}
    how = {"threshold": 0.3, "shingle": "char:5", "title": "Both"}
    made = neardup.report(texts, tmp_path / "both.html", passages=40, **how)
    page = look(made.path, width=390)
    assert "stands at two or more places" in page.locator("#h-repeats + .lede").inner_text()
    page.click("#nav >> text=Passages")
    settled(page, "Repeated passages")
    assert page.locator("#nav [aria-current]").inner_text() == "Passages"
    page.locator("#view tbody a").first.click()
    settled(page, "Passage 1")
    page.locator(".places a").first.click()
    page.locator(".loss .mark").first.wait_for()
    assert page.locator("#nav [aria-current]").inner_text() == "Passages"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    go(page, "#/pairs", "Pairs")
    bare = neardup.report(texts, tmp_path / "bare.html", **how).path.read_text("utf-8")
    assert "#/passages" not in bare.split("<body>")[1]
    assert json.loads(bare.split('id="meta">')[1].split("</script>")[0])["passages"] is None


NAMES = {
    "https://www.willow.example/sport/": "www.willow.example/sport",
    "https://www.willow.example/sport/results/11": "www.willow.example/…/results/11",
    "https://willow.example/a-story-with-a-long-name-indeed": "willow.example/a-story-with-a-long-name-indeed",
    "https://willow.example/2024/05/a-story-with-a-very-long-name": "willow.example/…/a-story-with-a-very-long-name",
    "/home/somebody/newspapers/argus/1851/03/01.txt": "…/newspapers/argus/1851/03/01.txt",
    "C:\\Users\\somebody\\newspapers\\argus-1851-03-01.txt": "…\\newspapers\\argus-1851-03-01.txt",
    "short/name": "short/name",
}


def test_a_long_path_or_address_is_told_by_its_end_and_its_host(look: Look, tmp_path: Path) -> None:
    found = neardup.passages([(name, f"{i}. {STORY}") for i, name in enumerate(NAMES)], min_bytes=40)
    page = look(found.report(tmp_path / "page.html", policy="none").path)
    losers = page.locator("#h-losers ~ table .c-id bdi")
    assert set(losers.all_inner_texts()) == set(NAMES.values())
    share = losers.locator("xpath=ancestor::tr").locator("[data-label=Share]").all_inner_texts()
    go(page, "#/documents", "Documents that would lose most")
    rows = page.locator("#view tbody tr")
    names = rows.locator("td:first-child a > *:first-child")
    assert set(names.all_inner_texts()) == set(NAMES.values())
    assert {name for name in NAMES if name not in NAMES.values()} == set(
        filter(None, names.evaluate_all("all => all.map(one => one.getAttribute('title'))"))
    )
    assert sorted(share) == sorted(rows.locator("[data-label=Share]").all_inner_texts())
