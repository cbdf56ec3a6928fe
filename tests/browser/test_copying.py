"""The pages of a report about copying: the way to the worst pairs, people, verdicts, and what is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser.pages import settled, until
from tests.oracles.report import read_report

import neardup

if TYPE_CHECKING:
    from playwright.sync_api import Page

Look = Callable[..., "Page"]
FOX = "the quick brown fox jumps over the lazy dog and runs far away into the deep green wood "
HEN = "a slow red hen walks under a tall tree and sits down near the cold blue lake for lunch "
COW = "seven old cows stand on a wide dry hill and look at trains that pass below them each hour "
QUESTION = "say in your own words what an animal does on a day like this one in spring "
ESSAYS = {
    "ann-1": QUESTION + FOX + HEN,
    "ann-2": QUESTION + FOX + HEN + COW,
    "bea-1": QUESTION + FOX + HEN.replace("tree", "wall"),
    "cid-1": QUESTION + COW + "and then they all go home at dusk to sleep in a barn ",
    "dan-1": QUESTION + "nobody knows what happens here because it is made of other words altogether and ends ",
}
OPTIONS: dict[str, Any] = {
    "shingle": "word:3",
    "measure": "containment",
    "threshold": 0.1,
    "link": "connected",
    "purpose": "copying",
    "group_by": "^[a-z]+",
    "title": "Essays",
    "threads": 1,
}


@pytest.fixture(scope="module")
def essays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copying")
    (folder / "question.txt").write_text(QUESTION)
    originals = {"source": HEN}
    made = neardup.report(ESSAYS, folder / "report", originals=originals, ignore=folder / "question.txt", **OPTIONS)
    return made.path


def test_two_clicks_lead_to_each_of_the_three_worst_pairs(essays: Path, look: Look) -> None:
    rows = read_report(essays).pairs[:3]
    for place, row in enumerate(rows):
        page = look(essays)
        page.locator(".top-pairs tbody a").nth(place).click()  # the first and the last
        settled(page, row["a"])
        assert page.locator(".text .mark").count()
        assert row["b"] in page.locator("h1:visible").inner_text()


def test_nothing_is_said_of_removing(essays: Path, look: Look) -> None:
    page = look(essays)
    for address in ("#/", "#/pairs", "#/people", "#/clusters", "#/cluster/0", "#/histogram", "#/print"):
        page.goto(essays.resolve().as_uri() + address)
        until(page, "!document.documentElement.classList.contains('is-elsewhere')")
        told = page.locator("main").inner_text().lower()
        assert "remove" not in told, address
        assert "keeper" not in told, address


def test_a_person_has_all_pairs_the_highest_share_first(essays: Path, look: Look) -> None:
    read = read_report(essays)
    expected = [row for row in read.pairs if "ann" in (row["a"][:3], row["b"][:3])]
    page = look(essays, "#/people")
    settled(page, "People")
    page.locator(".people tbody a", has_text="ann").click()
    settled(page, "ann")
    cells = page.locator(".person tbody tr")
    assert cells.count() == len(expected)
    for i, row in enumerate(expected):
        told = cells.nth(i).inner_text()
        assert row["a"] in told
        assert row["b"] in told
    assert not {"ann-1", "ann-2"} <= set(page.locator(".person tbody tr").first.inner_text().split())


def test_documents_of_one_person_are_not_compared_on_the_page_of_their_cluster(look: Look, tmp_path: Path) -> None:
    made = neardup.report(ESSAYS, tmp_path / "report", **OPTIONS)
    page = look(made.path, "#/cluster/0")
    settled(page, "Cluster 1")
    rows = page.locator(".cluster tbody tr", has_text="not compared")
    assert rows.count() == 1
    assert "ann-1" in rows.inner_text()  # the representative is ann-2, the longest
    assert page.locator(".cluster", has_text="not compared with each other").count()


def test_ignored_text_is_grey_and_not_marked(essays: Path, look: Look) -> None:
    page = look(essays)
    page.locator(".top-pairs tbody a").first.click()
    until(page, "document.querySelectorAll('.text .ignored').length > 0")
    assert QUESTION.strip() in page.locator(".text .ignored").first.inner_text()
    assert QUESTION.split()[0] not in " ".join(page.locator(".text .mark").all_inner_texts()).split()


def test_verdicts_are_kept_exported_and_come_into_the_next_report(essays: Path, look: Look, tmp_path: Path) -> None:
    page = look(essays)
    page.locator(".top-pairs tbody a").first.click()
    page.locator("#verdict-note").fill("ask her")
    page.locator("#verdict-note").blur()
    assert "Choose a verdict" in page.locator(".verdict .status").inner_text()
    page.locator("label", has_text="unclear").locator("input").check()
    page.locator("#grader").fill("Ms Grey")  # last: a verdict without a name becomes hers
    page.locator("#grader").blur()
    page.reload()
    until(page, "document.querySelector('input[value=unclear]')?.checked")
    assert page.locator("#verdict-note").input_value() == "ask her"
    with page.expect_download() as download:
        page.locator("[data-export=verdicts]").first.click()
    file = tmp_path / "verdicts.json"
    download.value.save_as(file)
    (one,) = json.loads(file.read_text())["verdicts"]
    row = read_report(essays).pairs[0]
    assert [one["a"], one["b"]] == sorted((row["a"], row["b"]))
    assert (one["grader"], one["verdict"], one["note"]) == ("Ms Grey", "unclear", "ask her")
    other = {**one, "grader": "Mr Grün", "verdict": "copied", "note": ""}
    (tmp_path / "other.json").write_text(json.dumps({"kind": "neardup verdicts", "format": 1, "verdicts": [other]}))
    texts = {**ESSAYS, row["a"]: ESSAYS.get(row["a"], HEN) + " changed"}
    originals = {"source": texts.pop("source", HEN)}
    both = [file, tmp_path / "other.json"]
    again = neardup.report(texts, tmp_path / "report", originals=originals, verdicts=both, **OPTIONS)
    page = look(again.path, "#/pairs")
    settled(page, "Pairs")
    until(page, "document.querySelectorAll('td.c-verdict').length > 0")
    (told,) = [text for text in page.locator("td.c-verdict").all_inner_texts() if text.strip()]
    assert "graders disagree" in told
    assert "text has changed since" in told


def test_what_is_printed_has_a_page_for_each_person(essays: Path, look: Look) -> None:
    page = look(essays, "#/print")
    settled(page, "To print")
    read = read_report(essays)
    sections = page.locator(".to-print section")
    assert sections.count() == 1 + len(read.chunks["people-0000"]["name"])
    assert sections.first.locator("tbody tr").count() == len(read.pairs)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('.new-page')).breakBefore") == "page"
