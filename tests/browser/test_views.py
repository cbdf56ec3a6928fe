"""The views of a report in a real Chromium, opened from disk: what they tell is what the data says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import filler
from tests.browser.pages import cut, settled, until
from tests.warm import LIMIT

from neardup.pages.site.write import write_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

Look = Callable[..., "Page"]
Report = tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]
HEADINGS = {
    "#/": "Abstracts",
    "#/histogram": "How similar the pairs are",
    "#/pairs": "Pairs",
    "#/clusters": "Clusters",
    "#/cluster/0": "Cluster 1",
    "#/sources": "Pairs between sources",
}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 clusters, 60,000 pairs, and a summary with more than a megabyte of data."""
    meta, chunks = filler.large(20_000, pairs=60_000)
    meta["facts"] += [[f"fact {k}", "said at length " * 20] for k in range(1500)]
    return write_site(tmp_path_factory.mktemp("large") / "report", meta, chunks, single_file=False).path


@pytest.mark.parametrize("address", HEADINGS)
def test_every_view_opens_with_a_title_a_heading_and_a_way_back(address: str, look: Look, folder: Path) -> None:
    page = look(folder, address)
    settled(page, HEADINGS[address])
    assert page.locator("h1:visible").count() == 1
    assert page.title().endswith("Abstracts")
    assert page.locator("#nav [aria-current]").count() == 1
    if address != "#/":
        assert page.evaluate("document.activeElement.tagName") == "H1"
        assert page.locator("#crumbs a").first.get_attribute("href") == "#/"


def test_a_single_file_shows_the_same_as_a_folder(look: Look, folder: Path, single: Path) -> None:
    pages = [look(folder), look(single)]
    for address, heading in {**HEADINGS, "#/pair/0/1": " and "}.items():
        for page in pages:
            page.evaluate("address => { location.hash = address; }", address)
            settled(page, heading)
        end = time.monotonic() + LIMIT
        while pages[0].locator("main").inner_html() != (other := pages[1].locator("main").inner_html()):
            assert time.monotonic() < end, (address, other)


def test_the_summary_is_read_without_scripts(look: Look, folder: Path, abstracts: Report) -> None:
    page = look(folder, java_script_enabled=False)
    meta = abstracts[0]
    said = page.locator("main").inner_text()
    folded = page.locator("details").text_content() or ""
    for label, value in [*meta["facts"], *meta["spec"].items()]:
        assert label in folded
        assert f"{value}" in folded
        assert label not in said.split("\n")
    for sentence in [*meta["faults"], *meta["limits"], "0.998", "0.991", "0.950", meta["words"]["outcome"]]:
        assert sentence in said
    assert "need JavaScript" in said
    shown = page.locator(".top-pairs .c-similarity").all_inner_texts()[1:]
    assert shown == [cut(s) for s in meta["pairs"]["first"]["similarity"]]


def test_the_summary_leads_to_pairs_bars_and_clusters(look: Look, folder: Path, abstracts: Report) -> None:
    page = look(folder)
    meta = abstracts[0]
    best = meta["clusters"]["best"]
    assert [one["highest"] for one in best] == sorted((one["highest"] for one in best), reverse=True)
    told = page.locator(".first li .soft").all_inner_texts()
    assert told == [f"{one['size']} documents, highest pair {cut(one['highest'])}" for one in best]
    link = page.locator("#first-histogram .bar-links a").first
    link.wait_for()
    name = link.get_attribute("aria-label") or ""
    link.focus()
    page.keyboard.press("Enter")
    settled(page, "Pairs")
    status = page.locator(".status", has_text=f"searched {meta['pairs']['listed']} pairs")
    status.wait_for()  # the list tells how far it is while its rows come in
    assert status.inner_text().startswith(f"{name.split(': ')[1].split(' ')[0]} found")
    page.go_back()
    settled(page, "Abstracts")
    page.locator(".top-pairs a").first.click()
    settled(page, " and ")
    assert page.locator(".crossing").inner_text().count("1 of ") == 1


def test_back_goes_where_one_was(look: Look, folder: Path) -> None:
    page = look(folder)
    page.click("#nav >> text=Clusters")
    settled(page, "Clusters")
    page.click("#view tbody a >> nth=0")
    settled(page, "Cluster 1")
    page.evaluate("window.scrollTo(0, 300)")
    page.click("#view .rows a >> nth=0")
    settled(page, "and")
    assert page.evaluate("scrollY") == 0
    page.go_back()
    settled(page, "Cluster 1")
    until(page, "scrollY === 300")
    page.go_back()
    settled(page, "Clusters")
    page.go_back()
    settled(page, "Abstracts")
    assert page.locator("#view").is_hidden()
    page.go_forward()
    settled(page, "Clusters")


def test_a_wrong_address_says_so(look: Look, folder: Path) -> None:
    page = look(folder, "#/nowhere")
    for address in ("#/cluster/999999", "#/cluster/x", "#/pair/0/99999", "#/pair/99999/0", '#/"><script>'):
        settled(page, "There is no such view")
        assert page.title().startswith("No such view")
        page.click("text=Go to the summary")
        settled(page, "Abstracts")
        page.evaluate("address => { location.hash = address; }", address)
    settled(page, "There is no such view")


def test_the_skip_link_comes_first_and_keeps_the_view(look: Look, folder: Path) -> None:
    page = look(folder, "#/clusters")
    settled(page, "Clusters")
    page.evaluate("document.activeElement.blur()")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    settled(page, "Clusters")


def test_lost_data_is_told(look: Look, abstracts: Report, tmp_path: Path) -> None:
    path = write_site(tmp_path / "report", *abstracts, single_file=False).path
    (tmp_path / "report" / "data" / "pages-0000.js").write_text("// nothing")
    page = look(path, "#/cluster/0")
    settled(page, "cannot be shown")
    assert "pages-0000.js is damaged" in page.locator("main").inner_text()


def test_the_slider_tells_what_the_curve_says(look: Look, folder: Path, abstracts: Report) -> None:
    page = look(folder, "#/histogram")
    curve = abstracts[0]["curve"]
    slider = page.locator("#t")
    slider.focus()
    for key, at in (("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("End", len(curve["t"]) - 1)):
        page.keyboard.press(key)
        told = [page.locator(".effect output").nth(k).inner_text() for k in range(3)]
        assert told == [f"{curve[kind][at]:,}" for kind in ("pairs", "clusters", "removed")]
        assert page.locator(".t-now").inner_text() == cut(curve["t"][at])
        spoken = slider.get_attribute("aria-valuetext") or ""
        assert spoken.startswith(cut(curve["t"][at]))
        assert f"pairs {curve['pairs'][at]}," in spoken
    # what lies below t fades: the window of the full bars begins at t
    assert float(page.locator(".chart clipPath rect").get_attribute("x") or 0) > page.locator(
        ".bars:not(.is-below) rect"
    ).first.evaluate("bar => Number(bar.getAttribute('x'))")


def test_bars_are_the_counts_and_the_logarithm_only_changes_their_height(
    look: Look, folder: Path, abstracts: Report
) -> None:
    page = look(folder, "#/histogram")
    bins = abstracts[0]["bins"]
    heights = "bars => bars.map(bar => Number(bar.getAttribute('height')))"
    shown = page.locator(".bars:not(.is-below) rect")
    shown.first.wait_for()
    counts = [count for count in [*bins["counts"], bins["identical"]] if count]
    linear = shown.evaluate_all(heights)
    assert len(linear) == len(counts)
    if not page.locator("#log").is_checked():
        assert linear == pytest.approx([max(linear) * count / max(counts) for count in counts], abs=0.01)
    page.click("#log")
    other = shown.evaluate_all(heights)
    assert len(other) == len(counts)
    assert other != linear


def test_a_point_on_the_chart_sets_the_threshold(look: Look, folder: Path) -> None:
    page = look(folder, "#/histogram")
    box = page.locator(".chart").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 4)  # above the bars, which lead to their pairs
    assert 0.6 < float(page.locator(".t-now").inner_text()) < 0.9
    bar = page.locator(".bar-links a").first.bounding_box()
    assert bar is not None
    page.mouse.move(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    page.mouse.move(bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2, steps=4)
    page.mouse.up()
    assert page.locator("h1:visible").inner_text() == "How similar the pairs are", "a press that is drawn is no click"


def test_the_numbers_can_be_read_as_a_table(look: Look, folder: Path, abstracts: Report) -> None:
    page = look(folder, "#/histogram")
    page.click("#view summary")
    rows = page.locator(".numbers tbody tr")
    curve = abstracts[0]["curve"]
    rows.first.wait_for()  # the table is made when it is opened
    assert rows.count() == len(curve["t"])
    cells = rows.nth(3).locator("th, td").all_inner_texts()
    assert cells == [cut(curve["t"][3]), *(f"{curve[kind][3]}" for kind in ("pairs", "clusters", "removed"))]


def column(page: Page, name: str) -> list[str]:
    return page.locator(f"#view td.c-{name}").all_inner_texts()


def test_the_table_sorts_by_every_column(look: Look, folder: Path, abstracts: Report) -> None:
    page = look(folder, "#/clusters")
    page.locator("#view tbody tr").first.wait_for()
    total = abstracts[0]["clusters"]["listed"]
    numbers: dict[str, Callable[[str], Any]] = {
        "size": lambda text: int(text.replace(",", "")),
        "highest": float,
        "least": float,
        "mean": float,
    }
    for name in ("keeper", "highest", "least", "mean", "source", "opening", "size"):
        button = page.locator(f"#view th.c-{name} button")
        for _ in range(2):
            button.click()
            until(page, f"document.querySelectorAll('#view tbody tr').length === Math.min(50, {total})")
            page.wait_for_timeout(30)
            direction = page.locator(f"#view th.c-{name}").get_attribute("aria-sort")
            assert direction in ("ascending", "descending")
            assert page.locator("th[aria-sort]:not([aria-sort=none])").count() == 1
            if name in numbers:
                values = [numbers[name](text) for text in column(page, name)]
                assert values == sorted(values, reverse=direction == "descending")
            elif name == "keeper":
                values = column(page, name)
                assert values != sorted(values, reverse=direction == "ascending")


def test_the_table_is_searched_in_all_chunks(look: Look, large: Path) -> None:
    page = look(large, "#/clusters")
    page.locator("#view tbody tr").first.wait_for()
    assert page.locator("#view tbody tr").count() == 50
    page.fill("#search", "cluster 19999,")
    until(page, "document.querySelector('.status').textContent.includes('searched 20,000 clusters')")
    assert page.locator("#view tbody tr").count() == 1
    assert page.locator(".status").inner_text().startswith("1 found")
    page.fill("#search", "no such words")
    until(page, "document.querySelector('.status').textContent.startsWith('0 found')")
    page.fill("#search", "")
    until(page, "document.querySelectorAll('#view tbody tr').length === 50")


def test_pages_of_the_table_turn(look: Look, large: Path) -> None:
    page = look(large, "#/clusters")
    page.locator("#view tbody tr").first.wait_for()
    assert page.locator(".told").inner_text() == "1–50 of 20,000"
    page.click("[aria-label='Next page']")
    assert page.locator(".told").inner_text() == "51–100 of 20,000"
    assert "cluster 50," in column(page, "opening")[0]
    page.click("[aria-label='Last page']")
    until(page, "document.querySelector('td.c-opening')?.textContent.includes('cluster 19950,')")
    assert page.locator(".told").inner_text() == "19,951–20,000 of 20,000"
    assert page.locator("[aria-label='Next page']").is_disabled()
    page.click("#view tbody a >> nth=0")
    settled(page, "Cluster 19,951")
    assert "not in the report" in page.locator("main").inner_text()
    page.go_back()
    until(page, "document.querySelector('.told')?.textContent === '19,951–20,000 of 20,000'")


def test_twenty_thousand_clusters_draw_few_elements(look: Look, large: Path) -> None:
    """What makes the views open at once; their seconds are measured in benchmarks/report_opening.py."""
    page = look(large, "#/")
    assert len(large.read_bytes()) > 1_000_000
    parts = {
        "#/pairs": ".pairs tbody tr",
        "#/clusters": ".clusters tbody tr",
        "#/histogram": ".histogram .chart",
        "#/cluster/19999": ".cluster .figures",
        "#/": "#summary:not([hidden])",
    }
    for address, part in parts.items():
        page.evaluate("address => { location.hash = address; }", address)
        page.locator(part).first.wait_for()
        assert page.evaluate("document.querySelectorAll('#view *').length") < 3500


def test_a_cluster_shows_its_members_graph_matrix_and_pairs(look: Look, folder: Path, abstracts: Report) -> None:
    page = look(folder, "#/cluster/0")
    settled(page, "Cluster 1")
    cluster = dict(abstracts[1])["pages-0000"]["clusters"]["0"]
    size = len(cluster["members"])
    assert size >= 5
    assert page.locator("[aria-label=Members] tbody tr").count() == size
    assert page.locator(".node").count() == size
    tied = [s for _, _, s in cluster["similarities"] if s >= 0.5]
    assert page.locator(".edge:not(.is-faint)").count() == len(tied)
    assert page.locator(".edge.is-faint").count() == len(cluster["similarities"]) - len(tied)
    for i, j, s in cluster["similarities"]:
        cell = page.locator(".matrix tbody tr").nth(i).locator("td").nth(j)
        assert cell.inner_text() == cut(s)
    assert page.locator("[aria-label=Pairs] tbody tr").count() == min(50, len(cluster["pairs"]))
    shown = [float(text) for text in page.locator("[aria-label=Pairs] .c-similarity").all_inner_texts()[1:]]
    assert shown == sorted(shown, reverse=True)
    page.locator(".matrix tbody tr").nth(0).locator("td a").first.click()
    settled(page, "and")


def test_the_graph_is_walked_with_keys_and_tells_what_it_shows(look: Look, folder: Path) -> None:
    page = look(folder, "#/cluster/0")
    page.locator(".node[tabindex='0']").focus()
    assert "Member 1, the representative" in page.locator(".graph-told").inner_text()
    page.keyboard.press("ArrowRight")
    assert "Member 2" in page.locator(".graph-told").inner_text()
    assert page.locator(".node[tabindex='0']").count() == 1
    assert page.locator(".node.is-on").count() == 1
    assert page.locator(".edge.is-on").count() >= 1
    for node in page.locator(".node").all():
        assert re.match(r"Member \d+", node.get_attribute("aria-label") or "")


def test_members_that_were_left_out_are_told(look: Look, abstracts: Report, tmp_path: Path) -> None:
    meta, chunks = abstracts
    pages = dict(chunks)["pages-0000"]
    cluster = pages["clusters"]["0"]
    kinds = ["keeper", *["near", "far", "random"] * 3]
    members = [{**member, "kind": kind} for member, kind in zip(cluster["members"], kinds, strict=False)]
    sampled = {
        **pages,
        "clusters": {"0": {**cluster, "members": members, "size": 50_000, "left_out": 50_000 - len(members)}},
    }
    changed = [(name, sampled if name == "pages-0000" else value) for name, value in chunks]
    page = look(write_site(tmp_path / "report", meta, changed, single_file=False).path, "#/cluster/0")
    settled(page, "Cluster 1")
    said = page.locator("main").inner_text()
    assert f"{50_000 - len(members):,} are left out" in said
    assert "those least similar (far)" in said


def test_sources_are_held_against_each_other(look: Look, folder: Path, abstracts: Report, large: Path) -> None:
    page = look(folder, "#/sources")
    settled(page, "Sources")
    table, sharing, documents = (abstracts[0]["sources"][name] for name in ("pairs", "sharing", "documents"))
    for i in range(2):
        cells = page.locator(".between tbody tr").nth(i).locator("td:not(.of)").all_inner_texts()
        shares = [f"{sharing[i][j]} of {documents[i]}" for j in range(2)]
        assert cells == [f"{table[i][j]}\n{shares[j]}" if table[i][j] else "–" for j in range(2)]
    page.locator(".between td a").first.click()
    settled(page, "Pairs")
    until(page, f"document.querySelector('.status').innerText.startsWith('{table[0][0]} found')")
    alone = look(large, "#/sources")
    settled(alone, "Sources")
    assert "All documents are of one source" in alone.locator("main").inner_text()


def test_identical_pairs_only(look: Look, tmp_path: Path) -> None:
    documents = [(f"copy {k}", 0, "the same text again and again") for k in range(3)]
    meta, chunks = filler.report(documents, sources=("all",), threshold=0.5)
    meta["threshold"] = 1.0
    meta["curve"] = {name: values[-1:] for name, values in meta["curve"].items()}
    meta["bins"] = {"edges": [1.0, 1.0], "counts": [0], "identical": 3}
    page = look(write_site(tmp_path / "report", meta, chunks, single_file=False).path, "#/histogram")
    settled(page, "How similar")
    assert "3 verified pairs of similarity 1, by Jaccard" in page.locator("main").inner_text()
    assert page.locator("#t").is_hidden()
    assert page.locator(".bars:not(.is-below) rect").count() == 1


def test_a_report_without_pairs_is_calm(look: Look, tmp_path: Path) -> None:
    meta, chunks = filler.report([("a", 0, "one text of its own"), ("b", 0, "quite another thing")], sources=("all",))
    path = write_site(tmp_path / "report", meta, chunks, single_file=False).path
    page = look(path)
    for address, said in (
        ("#/", "No two of 2 documents"),
        ("#/histogram", "No pair was found"),
        ("#/clusters", "No cluster was found"),
        ("#/sources", "of one source"),
    ):
        page.evaluate("address => { location.hash = address; }", address)
        page.locator("main", has_text=said).wait_for()
        assert page.locator(".is-warning").count() == 0, address
