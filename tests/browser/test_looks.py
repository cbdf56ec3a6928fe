"""Whom the pages serve: contrast in light and dark, a phone, a printer, a keyboard, a screen reader."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import filler
from tests.browser.pages import settled, until

from neardup.pages.assets import styles
from neardup.pages.site.write import write_pair

if TYPE_CHECKING:
    from playwright.sync_api import Page

Look = Callable[..., "Page"]
ADDRESSES = {
    "#/": "Abstracts",
    "#/histogram": "How similar",
    "#/pairs": "Pairs",
    "#/clusters": "Clusters",
    "#/cluster/0": "Cluster 1",
    "#/pair/0/1": " and ",
    "#/sources": "Sources",
    "#/nowhere": "no such view",
}
TEXT = 4.5
PICTURE = 3.0
GROUNDS = ("paper", "card")
PASSAGES = [f"c{k}" for k in range(6)]
PAIRS = [
    *[(front, ground, TEXT) for front in ("ink", "soft", "accent") for ground in GROUNDS],
    *[("ink", ground, TEXT) for ground in ("wash", *PASSAGES)],
    ("soft", "line", TEXT),
    ("on-accent", "accent", TEXT),
    ("warning", "warning-card", TEXT),
    ("warning", "card", TEXT),
    ("hidden", "hidden-card", TEXT),
    ("only", "only-card", TEXT),
    *[(f"u{k}", ground, PICTURE) for k in range(6) for ground in (f"c{k}", *GROUNDS)],
]


def colours(scheme: str) -> dict[str, str]:
    """The colours that the style sheets name for light, for dark or for print."""
    named: dict[str, str] = {}
    for sheet in ("common",):
        light, dark, printed = re.findall(r":root \{(.*?)\}", styles((sheet,)), re.DOTALL)
        told = {"light": light, "dark": light + dark, "print": light + dark + printed}[scheme]
        named |= re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6});", told)
    return named


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, 1.4.3."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_known_colours() -> None:
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_every_text_can_be_read_on_its_ground(scheme: str) -> None:
    named = colours(scheme)
    for front, ground, least in PAIRS:
        found = contrast(named[front], named[ground])
        assert found >= least, f"{scheme}: --{front} on --{ground} has {found:.2f}, and {least} is needed"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_on_heat_can_be_read(scheme: str, look: Look, folder: Path) -> None:
    page = look(folder, "#/cluster/0", color_scheme=scheme)
    settled(page, "Cluster 1")
    grounds = page.evaluate(
        """() => [0, 25, 50, 75, 100].map((share) => {
          const cell = document.querySelector('.matrix td a').parentElement;
          cell.style.setProperty('--heat', share + '%');
          const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
          context.fillStyle = getComputedStyle(cell).backgroundColor;
          context.fillRect(0, 0, 1, 1);
          const parts = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
          return '#' + parts.map((part) => part.toString(16).padStart(2, '0')).join('');
        })"""
    )
    assert len(set(grounds)) == 5
    for ground in grounds:
        assert contrast(colours(scheme)["ink"], ground) >= TEXT


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_takes_the_colours_that_the_reader_likes(scheme: str, look: Look, folder: Path) -> None:
    page = look(folder, color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    paper = colours(scheme)["paper"]
    assert ground == f"rgb({', '.join(str(int(paper[k : k + 2], 16)) for k in (1, 3, 5))})"


def test_nothing_is_wider_than_a_phone(look: Look, folder: Path) -> None:
    page = look(folder, width=390, height=844)
    for address, heading in ADDRESSES.items():
        page.evaluate("address => { location.hash = address; }", address)
        settled(page, heading)
        page.wait_for_timeout(60)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
        # what scrolls by itself can be reached with the keyboard
        for box in page.locator(".scroller:visible").all():
            assert box.get_attribute("tabindex") == "0"
            assert box.get_attribute("aria-label")


def test_a_phone_shows_the_other_text_after_a_tap(look: Look, folder: Path) -> None:
    page = look(folder, "#/pair/0/1", width=390, height=844, has_touch=True)
    settled(page, " and ")
    page.locator(".text").nth(0).locator(".mark").first.tap()
    box = page.locator(".text").nth(1).locator(".is-shown").first.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 844


def test_every_view_prints_whole_and_without_controls(look: Look, folder: Path) -> None:
    page = look(folder)
    for address, heading in ADDRESSES.items():
        page.evaluate("address => { location.hash = address; }", address)
        settled(page, heading)
        page.emulate_media(media="print")
        for control in (":not(th) > button", "#nav", ".crumbs", "input[type=range]", "input[type=checkbox]", ".skip"):
            assert page.locator(f"{control}:visible").count() == 0, (address, control)
        assert len(page.pdf(format="A4")) > 5_000
        page.emulate_media(media="screen")


def test_long_texts_print_whole(look: Look, tmp_path: Path) -> None:
    text = "\n".join(f"line {k} of a text that is longer than any page is high" for k in range(200))
    page = look(write_pair(tmp_path / "pair.html", *filler.pair_page(text, text)).path)
    page.locator(".mark").first.wait_for()
    clipped = "[...document.querySelectorAll('.text')].filter(box => box.scrollHeight > box.clientHeight + 1).length"
    assert page.evaluate(clipped) == 2
    page.emulate_media(media="print")
    assert page.evaluate(clipped) == 0


def test_passages_differ_by_more_than_colour_in_print(look: Look, tmp_path: Path) -> None:
    spans = [[20 * k, 20 * k + 12] for k in range(6)]
    text = "words of a text that goes on " * 6
    meta, data = filler.pair_page(text, text)
    data["pair"]["passages"] = {"a": spans, "b": spans, "links": [*range(6)], "back": [*range(6)]}
    page = look(write_pair(tmp_path / "pair.html", meta, data).path)
    page.emulate_media(media="print")
    page.locator(".mark").first.wait_for()
    styles = (
        page.locator(".side")
        .nth(0)
        .locator(".mark")
        .evaluate_all(
            """all => all.map(one => {
              const style = getComputedStyle(one);
              const names = ['textDecorationLine', 'textDecorationStyle', 'textDecorationThickness',
                'printColorAdjust'];
              return names.map(name => style[name]).join(' ');
            })"""
        )
    )
    assert len(set(styles)) == 6
    assert all(style.startswith("underline ") and style.endswith(" exact") for style in styles)


def test_everything_has_a_name_and_a_place(look: Look, folder: Path) -> None:
    """What the usual checkers ask: names of controls, order of headings, landmarks, unique ids, labelled tables."""
    page = look(folder)
    for address, heading in ADDRESSES.items():
        page.evaluate("address => { location.hash = address; }", address)
        settled(page, heading)
        faults = page.evaluate(
            """() => {
              const faults = [];
              const isShown = (one) => one.getClientRects().length > 0;
              const nameOf = (one) => (one.getAttribute('aria-label') ?? '').trim() || one.textContent.trim() ||
                [...(one.labels ?? [])].map(label => label.textContent.trim()).join(' ');
              const named = 'button, a[href], input, [role=button], [role=img], [role=region], nav, svg[role]';
              for (const one of document.querySelectorAll(named)) {
                if (isShown(one) && !nameOf(one)) faults.push('no name: ' + one.outerHTML.slice(0, 120));
              }
              for (const one of document.querySelectorAll('table')) {
                const name = one.caption || one.getAttribute('aria-label') || one.closest('[role=region][aria-label]');
                if (isShown(one) && !name) faults.push('table without a name');
                if (!one.querySelector('th[scope]')) faults.push('table without headers');
              }
              let level = 0;
              for (const one of document.querySelectorAll('h1, h2, h3')) {
                if (!isShown(one)) continue;
                const next = Number(one.tagName[1]);
                if (next > level + 1) faults.push('heading leaps: ' + one.textContent);
                level = next;
              }
              const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
              for (const id of new Set(ids))
                if (ids.filter(one => one === id).length > 1) faults.push('id twice: ' + id);
              for (const one of document.querySelectorAll('[aria-labelledby]'))
                if (!document.getElementById(one.getAttribute('aria-labelledby'))) faults.push('label lost');
              const astray = '[aria-hidden=true] :is(a, button), [tabindex]:not([tabindex="0"], [tabindex="-1"])';
              for (const one of document.querySelectorAll(astray))
                faults.push('focus astray: ' + one.outerHTML.slice(0, 120));
              if (document.querySelectorAll('main').length !== 1) faults.push('not one main');
              if (document.documentElement.lang !== 'en') faults.push('no language');
              return faults;
            }"""
        )
        assert not faults, (address, faults)


def test_tab_reaches_every_part_of_the_pair_view(look: Look, tmp_path: Path) -> None:
    words = "word by word the two texts are the same until a {} comes in between, and then they go on as before"
    page = look(write_pair(tmp_path / "pair.html", *filler.pair_page(words.format("cat"), words.format("dog"))).path)
    settled(page, " and ")
    reached = []
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("(one => [one.className, one.name, one.tagName].join('.'))(document.activeElement)")
        )
    said = " ".join(reached)
    for part in ("step", "mark", "text", "shared", "together", "differences", "opener"):
        assert part in said
    assert len([one for one in reached if one.startswith("mark")]) == 2, "one mark of each text is in the order of tabs"


def test_a_focus_is_always_seen(look: Look, folder: Path) -> None:
    page = look(folder, "#/cluster/0")
    settled(page, "Cluster 1")
    for selector in ("#nav a", "#view .rows a", ".matrix td a"):
        page.locator(selector).first.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid", selector


def test_who_wants_no_motion_gets_none(look: Look, folder: Path) -> None:
    page = look(folder, "#/pair/0/1", reduced_motion="reduce")
    settled(page, " and ")
    page.locator(".mark").first.click()
    until(page, "document.querySelector('.is-shown') !== null")
    assert page.evaluate("getComputedStyle(document.querySelector('.is-shown')).animationName") == "none"
