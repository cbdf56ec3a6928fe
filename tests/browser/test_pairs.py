"""The list of all pairs in a real Chromium: its order, search, filters, downloads, and the way from pair to pair."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import filler
from tests.browser.pages import cut, settled, until
from tests.oracles.report import pair_rows

from neardup.pages.site.write import write_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

Look = Callable[..., "Page"]
Report = tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]


@pytest.fixture(scope="session")
def listed(abstracts: Report) -> list[dict[str, Any]]:
    """The rows of the list."""
    return [row for name, chunk in abstracts[1] if name.startswith("pairs-") for row in pair_rows(chunk)]


def row_of(row: dict[str, Any]) -> list[str]:
    """What the page shows of a row beside names and words."""
    return [
        cut(row["similarity"]),
        f"{row['share_a'] / 10:.1f}%",
        f"{row['share_b'] / 10:.1f}%",
        f"{row['longest']:,}",
    ]


def shown(page: Page) -> list[list[str]]:
    """The rows that the page shows."""
    script = """() => [...document.querySelectorAll('#view tbody tr')].map(row =>
      [...row.cells].slice(1, 5).map(cell => cell.textContent))"""
    found: list[list[str]] = page.evaluate(script)
    return found


def told(page: Page, total: int, *, found: int) -> None:
    """Wait until the list says how many rows it has found of all."""
    text = f"{found:,} found; searched {total:,} pair"
    until(page, f"document.querySelector('.status').textContent.startsWith({text!r})")


def test_all_pairs_are_listed_the_most_similar_first(look: Look, folder: Path, listed: list[dict[str, Any]]) -> None:
    page = look(folder, "#/pairs")
    settled(page, "Pairs")
    until(page, f"document.querySelectorAll('#view tbody tr').length === {len(listed)}")
    similarities = [row["similarity"] for row in listed]
    assert similarities == sorted(similarities, reverse=True)
    assert len({(row["cluster"], row["pair"]) for row in listed}) == len(listed)
    assert shown(page) == [row_of(row) for row in listed]
    links = page.locator("#view tbody a").evaluate_all(
        "all => all.map(one => [one.getAttribute('href'), one.textContent])"
    )
    assert links == [[f"#/pair/{row['cluster']}/{row['pair']}", f"{row['a']} and {row['b']}"] for row in listed]
    words = page.locator("#view .opening").all_text_contents()
    assert words == [row["snippet"] for row in listed]


@pytest.mark.parametrize(
    ("asked", "keeps"),
    [
        ({"from": 0.7}, lambda row: row["similarity"] >= 0.7),
        ({"from": 0.6, "below": 0.9}, lambda row: 0.6 <= row["similarity"] < 0.9),
        ({"size": 300}, lambda row: row["longest"] >= 300),
        ({"source": 0}, lambda row: 0 in (row["source_a"], row["source_b"])),
        ({"source": 1, "other": 0}, lambda row: {row["source_a"], row["source_b"]} == {0, 1}),
        ({"source": 1, "other": 1}, lambda row: row["source_a"] == row["source_b"] == 1),
        ({"q": "chain-3"}, lambda row: "chain-3" in (row["a"], row["b"])),
        ({"q": "CHAIN 2", "below": 0.8}, lambda row: row["similarity"] < 0.8 and holds(row, "chain", "2")),
        ({"q": "no such words"}, lambda row: False),
        ({"from": "much", "size": "", "page": 99}, None),
    ],
)
def test_an_address_asks_for_some_of_the_pairs(
    asked: dict[str, Any], keeps: Any, look: Look, folder: Path, listed: list[dict[str, Any]]
) -> None:
    address = "&".join(f"{name}={str(value).replace(' ', '+')}" for name, value in asked.items())
    page = look(folder, f"#/pairs?{address}")
    settled(page, "Pairs")
    expected = listed if keeps is None else [row for row in listed if keeps(row)]
    if keeps is not None:
        told(page, len(listed), found=len(expected))
    until(page, f"document.querySelectorAll('#view tbody tr').length === {len(expected)}")
    assert shown(page) == [row_of(row) for row in expected]


def holds(row: dict[str, Any], *words: str) -> bool:
    return all(any(word in row[name].lower() for name in ("a", "b", "snippet")) for word in words)


def test_what_is_typed_filters_and_stands_in_the_address(
    look: Look, folder: Path, listed: list[dict[str, Any]]
) -> None:
    page = look(folder, "#/pairs")
    settled(page, "Pairs")
    page.fill("#search", "chain")
    page.fill("#f-from", "0.6")
    expected = [row for row in listed if row["similarity"] >= 0.6 and holds(row, "chain")]
    told(page, len(listed), found=len(expected))
    assert page.evaluate("location.hash") == "#/pairs?q=chain&from=0.6"
    page.locator("#view tbody a").first.click()
    settled(page, " and ")
    page.locator(".crumbs a", has_text="Pairs").click()
    settled(page, "Pairs")
    told(page, len(listed), found=len(expected))
    assert page.input_value("#search") == "chain"
    assert page.input_value("#f-from") == "0.6"
    page.click("text=Clear filters")
    told(page, len(listed), found=sum(holds(row, "chain") for row in listed))


def test_the_list_sorts_by_every_column(look: Look, folder: Path, listed: list[dict[str, Any]]) -> None:
    page = look(folder, "#/pairs")
    settled(page, "Pairs")
    until(page, f"document.querySelectorAll('#view tbody tr').length === {len(listed)}")
    for place, name in enumerate(("similarity", "share_a", "share_b", "longest")):
        for _ in range(2):
            page.click(f"#view th.c-{name} button")
            direction = page.get_attribute(f"#view th.c-{name}", "aria-sort")
            falling = direction == "descending"
            order = sorted(range(len(listed)), key=lambda i: (listed[i][name] * (-1 if falling else 1), i))
            assert [row[place] for row in shown(page)] == [row_of(listed[i])[place] for i in order], (name, direction)
    names = "all => all.map(one => one.textContent)"
    page.click("#view th.c-pair button")
    rising = page.locator("#view tbody a").evaluate_all(names)
    page.click("#view th.c-pair button")
    assert page.locator("#view tbody a").evaluate_all(names) != rising
    chained = [name for name in rising if name.startswith("chain-")]
    assert chained == sorted(chained)
    page.click("#view th.c-source button")
    sources = page.locator("#view td.c-source").all_text_contents()
    ends = [(*each.split(" · "), each)[:2] for each in sources]  # one name where both are of one source
    assert ends == sorted(ends)


def test_the_next_pair_is_the_next_of_the_whole_list(look: Look, folder: Path, listed: list[dict[str, Any]]) -> None:
    assert len({row["cluster"] for row in listed[:8]}) > 1, "or the test would not tell it from the next of the cluster"
    page = look(folder, "#/pairs")
    page.locator("#view tbody a").first.click()
    for place, row in enumerate(listed):
        page.locator(".crossing", has_text=f"{place + 1} of {len(listed)} by similarity").wait_for()
        assert page.evaluate("location.hash") == f"#/pair/{row['cluster']}/{row['pair']}"
        assert page.locator(".crossing .is-off").count() == (place in (0, len(listed) - 1))
        page.keyboard.press("n")
    for place in range(len(listed) - 1, len(listed) - 9, -1):  # over the edge of a chunk too
        page.keyboard.press("p")
        page.locator(".crossing", has_text=f"{place} of {len(listed)} by similarity").wait_for()
        row = listed[place - 1]
        assert page.evaluate("location.hash") == f"#/pair/{row['cluster']}/{row['pair']}"


HOSTILE = [
    '=HYPERLINK("http://x")',
    "+1",
    "-2",
    "@sum",
    "plain, with a comma",
    'a "quoted" one',
    "<b>&amp;",
    "émoji 🦉",
    "'x",
]
"""Ids of documents."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    documents = [
        (name, k % 2, f"=the same words in every text, but for a number at the end, which is {k}")
        for k, name in enumerate(HOSTILE)
    ]
    meta, chunks = filler.report(documents, sources=("=one", "two"))
    rows = [row for name, chunk in chunks if name.startswith("pairs-") for row in pair_rows(chunk)]
    return write_site(tmp_path_factory.mktemp("hostile") / "report", meta, chunks, single_file=False).path, rows


def saved(page: Page, kind: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.click(f"[data-download={kind}]")
    assert download.value.suggested_filename == f"pairs.{kind}"
    download.value.save_as(folder / f"pairs.{kind}")
    return folder / f"pairs.{kind}"


def cells_of(row: dict[str, Any]) -> list[str | float]:
    names = ("=one", "two")
    numbers = [row["similarity"], row["share_a"] / 1000, row["share_b"] / 1000, row["longest"]]
    sources = [names[row["source_a"]], names[row["source_b"]]]
    return [row["a"], row["b"], *numbers, *sources, row["cluster"] + 1, row["snippet"]]


COLUMNS = [
    "id_a",
    "id_b",
    "similarity",
    "share_a",
    "share_b",
    "longest_passage",
    "source_a",
    "source_b",
    "cluster",
    "passage",
]


def test_the_list_is_saved_as_csv_without_formulas(
    look: Look, hostile: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    path, rows = hostile
    page = look(path, "#/pairs?q=plain")
    kept = [row for row in rows if holds(row, "plain")]
    told(page, len(rows), found=len(kept))
    text = saved(page, "csv", tmp_path).read_bytes().decode("utf-8")
    found = list(csv.reader(text.split("\r\n")[:-1]))
    assert found[0] == COLUMNS
    for cells, row in zip(found[1:], kept, strict=True):
        for cell, value in zip(cells, cells_of(row), strict=True):
            if isinstance(value, str):
                assert cell == (f"'{value}" if value[0] in "=+-@" else value)
            else:
                assert float(cell) == value


def test_the_list_is_saved_as_a_workbook(
    look: Look, hostile: tuple[Path, list[dict[str, Any]]], tmp_path: Path
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path, rows = hostile
    page = look(path, "#/pairs")
    settled(page, "Pairs")
    file = saved(page, "xlsx", tmp_path)
    with zipfile.ZipFile(file) as package:
        assert package.testzip() is None
        assert {each.compress_type for each in package.infolist()} == {zipfile.ZIP_STORED}
    [sheet] = openpyxl.load_workbook(file).worksheets
    found = [list(cells) for cells in sheet.iter_rows(values_only=True)]
    assert found == [COLUMNS, *map(cells_of, rows)]
    for cells in sheet.iter_rows(min_row=2):
        for cell in cells:
            assert cell.data_type in ("s", "inlineStr", "n"), "no cell is a formula"
            if isinstance(cell.value, str) and cell.value[0] in "=+-@'":
                assert cell.quotePrefix


def test_sixty_thousand_pairs_are_searched_and_few_are_drawn(look: Look, tmp_path: Path) -> None:
    meta, chunks = filler.large(10, pairs=60_000)
    rows = [row for name, chunk in chunks if name.startswith("pairs-") for row in pair_rows(chunk)]
    page = look(write_site(tmp_path / "report", meta, chunks, single_file=False).path, "#/pairs")
    until(page, "document.querySelectorAll('#view tbody tr').length === 50")
    page.fill("#search", "pair 599")
    told(page, 60_000, found=sum(holds(row, "pair", "599") for row in rows))
    page.fill("#f-size", "3000")
    told(page, 60_000, found=sum(holds(row, "pair", "599") and row["longest"] >= 3000 for row in rows))
    page.fill("#search", "")
    page.click("#view th.c-longest button")
    kept = sorted((i for i, row in enumerate(rows) if row["longest"] >= 3000), key=lambda i: (-rows[i]["longest"], i))
    told(page, 60_000, found=len(kept))
    first = f"{rows[kept[0]]['a']} and {rows[kept[0]]['b']}"
    until(page, f"document.querySelector('#view tbody a').textContent === {first!r}")
    assert shown(page) == [row_of(rows[i]) for i in kept[:50]]
    assert page.evaluate("document.querySelectorAll('#view *').length") < 2500


def test_pairs_that_are_not_listed_are_told(look: Look, abstracts: Report, tmp_path: Path) -> None:
    meta, chunks = abstracts
    more = {**meta, "pairs": {**meta["pairs"], "total": meta["pairs"]["listed"] + 7}}
    page = look(write_site(tmp_path / "some", more, chunks, single_file=False).path, "#/pairs")
    told = page.locator(".status", has_text="7 pairs that were found have no page and are not listed")
    told.wait_for()
    assert told.count() == 1
    none = {**meta, "pairs": {"total": 7, "listed": 0, "chunk": 6, "chunks": 0, "starts": [], "first": {"a": []}}}
    page = look(write_site(tmp_path / "none", none, chunks, single_file=False).path, "#/pairs")
    told = page.locator(".note", has_text="none has a page")
    told.wait_for()
    assert (told.count(), page.locator("#view tbody tr").count()) == (1, 0)


def test_bars_are_walked_with_keys_and_say_what_they_are(look: Look, folder: Path, abstracts: Report) -> None:
    page = look(folder, "#/histogram")
    bins = abstracts[0]["bins"]
    links = page.locator("#view .bar-links a")
    links.first.wait_for()
    ranges = [
        f"{cut(low)} to {cut(high)}: {count} pair{'s' * (count != 1)}"
        for low, high, count in zip(bins["edges"], bins["edges"][1:], bins["counts"], strict=False)
        if count
    ]
    assert links.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")[: len(ranges)] == ranges
    assert page.locator("#view .bar-links a[tabindex='0']").count() == 1
    links.first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == ranges[1]
    page.keyboard.press("Enter")
    settled(page, "Pairs")
    told(page, abstracts[0]["pairs"]["listed"], found=int(ranges[1].split(": ")[1].split(" ")[0]))
