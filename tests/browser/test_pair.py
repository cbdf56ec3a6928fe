"""The pair view in a real Chromium: what is marked is precisely what the data says, and a text is only ever read."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import filler
from tests.browser.pages import settled, until

from neardup.pages.site.write import write_pair, write_site

if TYPE_CHECKING:
    from playwright.sync_api import Page

Look = Callable[..., "Page"]
Report = tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]
A = (
    "The quick brown fox jumps over the lazy dog near the river bank. Then it was seen again in the old town, where "
    "nobody had expected to find a fox at such an early hour of the day."
)
B = (
    "Yesterday the quick brown fox jumps over the lazy cat near the river bank. Much later it was seen again in the "
    "old town, where nobody had hoped to find a fox at such an early hour of the day."
)
# All of a pane in order: [character code units, number of the mark or -1], what is not seen included.
READ = """(box) => {
  const parts = [];
  const walk = (node, mark) => {
    if (node.nodeType === 3) { parts.push([node.data, mark]); return; }
    if (node.nodeName === 'BUTTON' || node.classList.contains('is-left-out')) { parts.push([null, mark]); return; }
    if (node.dataset.code) {
      parts.push([String.fromCodePoint(parseInt(node.dataset.code, 16)).repeat(Number(node.dataset.times ?? 1)), mark]);
      return;
    }
    if (node.classList.contains('mark')) mark = Number(node.dataset.mark);
    for (const child of node.childNodes) walk(child, mark);
  };
  for (const child of box.childNodes) walk(child, -1);
  return JSON.stringify(parts);
}"""
ALPHABET = [
    *"abc  .",
    *"éß中文अनुस्वार",
    *"\u0301\u0308\u20dd",
    *"שלום مرحبا",
    *"\u202e\u202d\u2066\u2069\u200f\u200b\u200d\ufeff\u00ad",
    *"\x00\x07\x1b\x7f\x85\u2028\u2029",
    *"😀👩🏽💻𝔘🇩🇪",
    "👩\u200d👩\u200d👧",
    "\r\n",
    "\r",
    "\n",
    "\t",
    "\ud800",
    "\U000e0041",
    "<b>",
    "</script>",
    "&amp;",
]


def read(page: Page, place: int) -> list[tuple[str | None, int]]:
    found = json.loads(page.locator(".text").nth(place).evaluate(READ))
    return [(text, mark) for text, mark in found]


def marked(parts: list[tuple[str | None, int]]) -> tuple[str, list[list[int]]]:
    """The text of a pane, and what is marked in it, in code points."""
    text = ""
    spans: dict[int, list[int]] = {}
    for part, mark in parts:
        assert part is not None
        # JSON gives halves of pairs one by one when a part begins or ends inside a character: it never should.
        start, text = len(text), text + part
        if mark >= 0:
            span = spans.setdefault(mark, [start, start])
            assert span[1] == start, "a mark is in one piece"
            span[1] = len(text)
    return text, [spans[mark] for mark in sorted(spans)]


@pytest.fixture
def pair(look: Look, tmp_path: Path) -> Callable[..., Page]:
    def open_pair(a: str, b: str, **options: Any) -> Page:
        meta, page = filler.pair_page(a, b)
        path = write_pair(tmp_path / "pair.html", meta, page).path
        opened = look(path, **options)
        opened.locator("h1").wait_for()
        return opened

    return open_pair


def test_marks_are_the_spans_whatever_the_characters(look: Look, tmp_path: Path) -> None:
    """Texts and spans drawn at random, and drawn by the page as any other pair."""
    rng = random.Random(6)
    page = look(write_pair(tmp_path / "pair.html", *filler.pair_page("one text", "another text")).path)
    template = filler.pair_page(A, B)[1]["pair"]
    for _ in range(40):
        texts, spans = [], []
        for _ in "ab":
            text = "".join(rng.choice(ALPHABET) for _ in range(rng.randrange(1, 160)))
            places = sorted(rng.sample(range(len(text) + 1), min(len(text) + 1, 2 * rng.randrange(1, 6)) // 2 * 2))
            texts.append(text)
            spans.append([places[k : k + 2] for k in range(0, len(places), 2)])
        links = [rng.randrange(len(spans[1])) for _ in spans[0]]
        back = [rng.randrange(len(spans[0])) for _ in spans[1]]
        data = {
            "measure": "jaccard",
            "a": {"id": "a", "characters": len(texts[0])},
            "b": {"id": "b", "characters": len(texts[1])},
            "texts": [filler.whole(text) for text in texts],
            "pair": {
                **template,
                "passages": {"a": spans[0], "b": spans[1], "links": links, "back": back},
                "runs": [len(spans[0]), len(spans[1])],
            },
        }
        page.evaluate(
            "data => document.getElementById('view').replaceChildren(neardup.pairView(JSON.parse(data)))",
            json.dumps(data),
        )
        for place in range(2):
            assert marked(read(page, place)) == (texts[place], spans[place])
        kinds = [
            page.locator(".text").nth(place).evaluate("box => [...box.querySelectorAll('.mark')].map(m => m.className)")
            for place in range(2)
        ]
        assert all(kinds[0][i] == kinds[1][j] for i, j in enumerate(links)), "partners have one colour"
        assert all(kinds[1][j] == kinds[0][i] for j, i in enumerate(back))


def test_marks_of_true_passages(pair: Callable[..., Page]) -> None:
    a, b = (f"👩\u200d👧 e\u0301 {text} \u202eend" for text in (A, B))
    page = pair(a, b)
    found = filler.pair_page(a, b)[1]["pair"]["passages"]
    assert marked(read(page, 0)) == (a, found["a"])
    assert marked(read(page, 1)) == (b, found["b"])


def centred(page: Page, place: int) -> bool:
    """Whether the passage that is shown lies in the middle of its pane, or as near to it as the pane can scroll."""
    answer: bool = (
        page.locator(".text")
        .nth(place)
        .evaluate(
            """box => {
          const [outer, inner] = [box.getBoundingClientRect(), box.querySelector('.is-shown').getBoundingClientRect()];
          const off = inner.top + inner.height / 2 - outer.top - outer.height / 2;
          const atEnd = box.scrollTop <= 1 || box.scrollTop + box.clientHeight >= box.scrollHeight - 1;
          return Math.abs(off) < 20 || (atEnd && inner.top >= outer.top - 1 && inner.bottom <= outer.bottom + 1);
        }"""
        )
    )
    return answer


def long_pair() -> tuple[str, str]:
    """Texts with forty passages far from each other, in another order on the other side."""
    passages = [f"passage number {k} which both of the texts have in common, word for word {k * k}" for k in range(40)]
    fill = "".join(chr(0x4E00 + k * 37 % 5000) for k in range(300))
    other = "".join(chr(0xAC00 + k * 41 % 5000) for k in range(300))
    return "\n".join(p + "\n" + fill for p in passages), "\n".join(p + "\n" + other for p in reversed(passages))


def test_a_click_shows_the_partner_in_the_middle_of_its_pane(pair: Callable[..., Page]) -> None:
    page = pair(*long_pair())
    mark = page.locator(".text").nth(0).locator("[data-mark='20']")
    mark.scroll_into_view_if_needed()
    mark.click()
    partner = page.locator(".text").nth(1).locator(".is-shown")
    words = mark.inner_text().split(" which")[0].strip()
    assert words in partner.inner_text()
    assert page.evaluate("document.activeElement.classList.contains('is-shown')")
    assert centred(page, 1)
    partner.first.press("Enter")
    assert words in page.locator(".text").nth(0).locator(".is-shown").inner_text()
    assert centred(page, 0)


def test_arrow_keys_walk_the_passages_of_both_texts(pair: Callable[..., Page]) -> None:
    page = pair(*long_pair())
    left, right = page.locator(".text").nth(0), page.locator(".text").nth(1)
    left.locator(".mark").first.focus()
    for key, at in (
        ("ArrowRight", 1),
        ("ArrowDown", 2),
        ("ArrowLeft", 1),
        ("End", 39),
        ("ArrowRight", 39),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        assert page.evaluate("Number(document.activeElement.dataset.mark)") == at
        assert left.locator("[tabindex='0']").count() == 1
        assert right.locator(".is-shown").get_attribute("data-mark") == str(39 - at)
        assert centred(page, 0)
        assert centred(page, 1)


def test_buttons_walk_the_passages(pair: Callable[..., Page]) -> None:
    page = pair(*long_pair())
    assert page.locator(".passage-now").inner_text() == "40 passages"
    page.click("[aria-label='Next passage']")
    assert page.locator(".passage-now").inner_text() == "passage 1 of 40"
    page.click("[aria-label='Previous passage']")
    assert page.locator(".passage-now").inner_text() == "passage 40 of 40"
    page.click(".opener >> text=Passages")
    page.click("text=Show the longest")
    assert page.locator(".is-shown").count() == 2


def test_a_click_on_the_strip_goes_to_the_nearest_passage(pair: Callable[..., Page]) -> None:
    page = pair(*long_pair())
    strip = page.locator(".strip").nth(1)
    assert "40 shared passages" in (strip.locator("svg").get_attribute("aria-label") or "")
    box = strip.bounding_box()
    assert box is not None
    strip.click(position={"x": box["width"] * 0.75, "y": 5})
    at = int(page.locator(".text").nth(1).locator(".is-shown").get_attribute("data-mark") or -1)
    assert abs(at - 30) <= 1
    assert page.locator(".text").nth(0).locator(".is-shown").get_attribute("data-mark") == str(39 - at)
    assert centred(page, 0)
    assert centred(page, 1)


def test_changed_words_are_told_in_small_gaps_only(pair: Callable[..., Page]) -> None:
    page = pair(A, B)
    left, right = page.locator(".text").nth(0), page.locator(".text").nth(1)
    assert "dog" in left.locator(".only").all_inner_texts()
    assert "cat" in right.locator(".only").all_inner_texts()
    assert page.locator(".mark .only").count() == 0
    page.uncheck("[name=differences]")
    assert "is-plain" in (page.locator(".texts").get_attribute("class") or "")
    page = pair(*long_pair())
    assert page.locator(".only").count() == 0


def test_words_are_compared_between_passages_that_belong_together_only(look: Look, tmp_path: Path) -> None:
    """Passages that follow each other in both texts, of which one has its partner elsewhere, say nothing of the gap."""
    meta, data = filler.pair_page(A, B)
    spans = [[0, 10], [20, 30], [40, 50]]
    for back, count in (([0, 1, 2], 2), ([0, 1, 1], 1), ([2, 2, 2], 0)):
        data["pair"]["passages"] = {"a": spans, "b": spans, "links": [0, 1, 2], "back": back}
        page = look(write_pair(tmp_path / "pair.html", meta, data).path)
        page.locator(".mark").first.wait_for()
        gaps = (
            page.locator(".text")
            .nth(0)
            .evaluate(
                """box => [...box.querySelectorAll('.mark')].filter((mark) => {
              for (let next = mark.nextSibling; next && !next.matches?.('.mark'); next = next.nextSibling)
                if (next.matches?.('.only')) return true;
              return false;
            }).length"""
            )
        )
        assert gaps == count


def test_differences_are_those_of_a_longest_common_subsequence(pair: Callable[..., Page]) -> None:
    page = pair(A, B)
    rng = random.Random(3)
    for _ in range(80):
        a, b = (" ".join(rng.choice("uvwxyz") for _ in range(rng.randrange(0, 12))) for _ in "ab")
        only = page.evaluate("([a, b]) => neardup.differences(a, b)", [a, b])
        kept = []
        for text, ranges in ((a, only[0]), (b, only[1])):
            gone = {k for start, end in ranges for k in range(start, end)}
            kept.append("".join(char for k, char in enumerate(text) if k not in gone and char != " "))
        assert kept[0] == kept[1]
        assert len(kept[0]) == longest(a.split(), b.split())


def longest(a: list[str], b: list[str]) -> int:
    """Length of a longest common subsequence, by its definition."""
    table = {(i, j): 0 for i in range(len(a) + 1) for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            same = table[i - 1, j - 1] + 1 if a[i - 1] == b[j - 1] else 0
            table[i, j] = max(same, table[i - 1, j], table[i, j - 1])
    return table[len(a), len(b)]


def test_the_measures_are_told_in_words(pair: Callable[..., Page]) -> None:
    page = pair(A, B)
    found = filler.pair_page(A, B)[1]["pair"]
    page.click(".opener >> text=Measures")
    said = page.locator(".panel-measures").inner_text()
    size_a, size_b, common = found["sizes"]
    assert (
        f"of the {size_a + size_b - common} distinct shingles that A and B have together, {common} are in both" in said
    )
    assert "0.500 ± 0.030, 256 slots" in said
    of_a, of_b = (f"{int(share * 1000) / 10:.1f}%" for share in found["covered"])
    assert page.locator(".pair .lede").inner_text() == f"{of_a} of A stands in B, {of_b} of B stands in A."
    page.click(".opener >> text=Passages")
    assert page.locator(".panel-measures").is_hidden()
    assert f"The longest has {found['longest'][0]} characters." in page.locator(".panel-passages").inner_text()
    page.locator(".panel-passages .small").first.focus()
    page.keyboard.press("Escape")
    assert page.locator(".panel:visible").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "Passages"


def test_keys_go_from_pair_to_pair(look: Look, folder: Path) -> None:
    page = look(folder, "#/cluster/0")
    page.locator("[aria-label=Pairs] tbody a").first.click()
    settled(page, " and ")
    hashes = [page.evaluate("location.hash")]
    assert "1 of " in page.locator(".crossing").inner_text()
    page.keyboard.press("p")  # there is none before the first
    for _ in range(2):
        page.keyboard.press("n")
        until(page, f"location.hash !== {json.dumps(hashes[-1])}")
        page.locator(".crossing", has_text=f"{len(hashes) + 1} of ").wait_for()
        hashes.append(page.evaluate("location.hash"))
    page.keyboard.press("p")
    page.locator(".crossing", has_text="2 of ").wait_for()
    assert page.evaluate("location.hash") == hashes[1]
    page.click("text=Next pair")
    page.locator(".crossing", has_text="3 of ").wait_for()
    page.go_back()
    page.locator(".crossing", has_text="2 of ").wait_for()


def test_windows_of_a_text_are_told_and_marked_where_they_are(look: Look, tmp_path: Path) -> None:
    meta, page_data = filler.pair_page(A, B)
    pair = page_data["pair"]
    text = A
    windows = [[0, text[:20]], [50, text[50:90]], [120, text[120:]]]
    page_data = {**page_data, "texts": [{"characters": len(text) + 1000, "pieces": windows}, filler.whole(B)]}
    page = look(write_pair(tmp_path / "pair.html", meta, page_data).path)
    parts = read(page, 0)
    assert [part for part, _ in parts].count(None) == 3
    held = {k for start, piece in windows for k in range(start, start + len(piece))}
    there = {k for start, end in pair["passages"]["a"] for k in range(start, end)} & held
    assert "".join(part or "" for part, mark in parts if mark >= 0) == "".join(text[k] for k in sorted(there))
    said = page.locator(".text").nth(0).inner_text()
    for gone in (30, 30, 1000):
        assert f"… {gone:,} characters left out of this page …" in said


def test_passages_that_are_not_on_the_page_are_passed_over_and_told(look: Look, tmp_path: Path) -> None:
    a, b = long_pair()
    meta, data = filler.pair_page(a, b)
    data["texts"] = [{"characters": len(text), "pieces": [[0, text[:3000]]]} for text in (a, b)]
    data["pair"]["longest"] = [80, *(data["pair"]["passages"][side][39][0] for side in "ab")]
    page = look(write_pair(tmp_path / "pair.html", meta, data).path)
    left = page.locator(".text").nth(0)
    held = left.locator(".mark").count()
    assert 5 < held < 20
    assert f"40 passages, {40 - held} of them not on this page" in page.locator(".side").nth(0).inner_text()
    left.locator(".mark").first.focus()
    page.keyboard.press("End")
    assert page.evaluate("Number(document.activeElement.dataset.mark)") == held - 1
    page.click(".opener >> text=Passages")
    page.click("text=Show the longest")
    assert page.locator(".lost", has_text="not among the parts").count() == 2
    data["pair"]["passages"]["links"][0] = 5000  # the list of the other side was cut before it
    page = look(write_pair(tmp_path / "cut.html", meta, data).path)
    page.locator(".text").nth(0).locator(".mark").first.click()
    assert page.locator(".side").nth(1).locator(".lost", has_text="not among the parts").count() == 1
    assert page.locator(".text").nth(0).locator(".is-shown").count() == 1


def test_a_line_of_ten_megabytes_is_drawn_in_part(look: Look, tmp_path: Path) -> None:
    shared = "this is the passage that both of the texts share, and nothing else"
    a, b = "x" * 5_000_000 + shared + "y" * 5_000_000, "start " + shared
    span = [5_000_000, 5_000_000 + len(shared)]
    meta, page_data = filler.pair_page(shared, b)
    page_data["texts"][0] = filler.whole(a)
    page_data["members"][0]["characters"] = len(a)
    page_data["pair"]["passages"] = {"a": [span], "b": [[6, len(b)]], "links": [0], "back": [0]}
    page = look(write_pair(tmp_path / "pair.html", meta, page_data).path)
    page.locator(".gap").first.wait_for()
    pane = page.locator(".text").nth(0)
    assert pane.locator(".mark").inner_text() == shared
    assert len(pane.inner_text()) < 20_000
    before = len(pane.inner_text())
    pane.locator(".gap").first.click()
    assert before + 15_000 < len(pane.inner_text()) < before + 30_000
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_thousands_of_passages_are_drawn_by_stretches(look: Look, tmp_path: Path) -> None:
    number, length = 2000, 200
    text = "".join(f"{k:05} " + "w" * (length - 7) + " " for k in range(number))
    spans = [[k * length, k * length + 100] for k in range(number)]
    meta, page_data = filler.pair_page(A, B)
    page_data["texts"] = [filler.whole(text)] * 2
    page_data["pair"]["passages"] = {"a": spans, "b": spans, "links": [*range(number)], "back": [*range(number)]}
    page_data["pair"]["runs"] = [3000, 3000]
    page = look(write_pair(tmp_path / "pair.html", meta, page_data).path)
    page.locator(".gap").first.wait_for()
    pane = page.locator(".text").nth(0)
    assert len(pane.inner_text()) < 80_000
    assert "first 2,000 of 3,000 passages" in page.locator("main").inner_text()
    pane.locator(".mark").first.focus()
    page.keyboard.press("End")
    assert page.evaluate("Number(document.activeElement.dataset.mark)") == number - 1
    assert pane.locator(".is-shown").inner_text().startswith("01999")
    assert len(pane.inner_text()) < 80_000
    page.keyboard.press("Home")
    assert pane.locator(".is-shown").inner_text().startswith("00000")


HOSTILE = '"><script>window.broken=1</script><img src=x onerror="window.broken=1">\u202e\u0000</title>{{7*7}}__proto__'


def test_hostile_texts_and_ids_do_nothing(look: Look, tmp_path: Path) -> None:
    text = f"{HOSTILE} {A} \u202egnitirw\u202c \x1b[31m {HOSTILE}"
    documents = [(f"{HOSTILE}{k}", k % 2, text + f" {k}") for k in range(4)]
    report = filler.report(documents, sources=(HOSTILE, "</script>"), title=HOSTILE)
    addresses = ("#/", "#/histogram", "#/clusters", "#/cluster/0", "#/pair/0/0", "#/sources")
    for single in (False, True):
        path = write_site(tmp_path / f"report{single}", *report, single_file=single).path.rename(
            tmp_path / ("one.html" if single else f"report{single}/index.html")
        )
        page = look(path)
        for address in addresses:
            page.evaluate("address => { location.hash = address; }", address)
            until(page, "document.querySelector('h1:not([hidden] h1)') !== null")
            page.wait_for_timeout(40)
            assert page.evaluate("window.broken") is None
            assert page.locator("main img").count() == 0
            assert page.locator("main script").count() == 0
            assert "\u202e" not in page.locator("main").inner_text()
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert "\u202e" not in page.title()


def test_what_is_not_seen_is_told_by_name(pair: Callable[..., Page]) -> None:
    page = pair(f"{A}\u202e\u200b\u200b\u200b\x00", f"{B} 👩\u200d👧 नम\u200dस \u0301lone")
    names = page.locator(".text").nth(0).locator(".hidden").evaluate_all("all => all.map(one => one.dataset.name)")
    assert names == ["RLO", "ZWSP ×3", "NUL"]
    assert page.locator(".text").nth(1).locator(".hidden[data-name='ZWJ']").count() == 1  # the one that shapes nothing


def test_empty_and_equal_texts(pair: Callable[..., Page]) -> None:
    page = pair("", "")
    assert "share no passage" in page.locator("main").inner_text()
    page = pair(A, A)
    assert "100.0% of A stands in B, 100.0% of B stands in A." in page.locator("main").inner_text()
    page = pair(A, "nothing of it")
    assert page.locator("[aria-label='Next passage']").is_disabled()


def test_the_pairs_of_all_clusters_follow_each_other(look: Look, folder: Path, abstracts: Report) -> None:
    page = look(folder, "#/cluster/0/pair/last")
    settled(page, " and ")
    page.keyboard.press("n")
    page.locator(".crossing", has_text="1 of 1 in cluster 2").wait_for()
    page.keyboard.press("p")
    page.locator(".crossing", has_text="in cluster 1").wait_for()
    last = abstracts[0]["clusters"]["listed"]
    page = look(folder, f"#/cluster/{last - 1}/pair/last")
    page.locator(".crossing .is-off", has_text="Next pair").wait_for()
    assert page.locator(".crossing .is-off").count() == 1


def test_long_paths_are_told_by_as_much_of_their_end_as_there_is_room_for(
    pair: Callable[..., Page], look: Look, tmp_path: Path
) -> None:
    ids = ("/home/somebody/collections/answers/first.txt", "/home/somebody/collections/answers/second.txt")
    page = look(write_pair(tmp_path / "paths.html", *filler.pair_page(A, B, ids=ids)).path)
    told = page.locator("h1").inner_text().replace("\n", " ")
    assert told == "…/collections/answers/first.txt and …/collections/answers/second.txt"
    assert page.locator("h1 .id").first.get_attribute("title") == ids[0]
    assert ids[0] in page.locator(".side").nth(0).inner_text()
