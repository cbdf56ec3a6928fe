"""The page of a pair as its reader has it: texts that scroll together, only what is shared, what is to be ignored."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import filler
from tests.browser.pages import settled, until

from neardup.pages.site.write import write_pair

if TYPE_CHECKING:
    from playwright.sync_api import Page

Look = Callable[..., "Page"]
Report = tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]
SIZES = [(width, scheme) for width in (390, 768, 1280) for scheme in ("light", "dark")]
SHARED = [f"Passage {k} stands in both of the texts, and its number squared is {k * k}." for k in range(12)]


def fill(seed: int, number: int) -> str:
    """Lines that no other seed has."""
    return "".join(f"\n{chr(0x4E00 + (seed * 997 + k * 37) % 9000) * 20}" for k in range(number))


def uneven() -> tuple[str, str]:
    """Two texts with the same passages in one order, and far more between them in the second."""
    return (
        "".join(passage + fill(k, 18) + "\n" for k, passage in enumerate(SHARED)),
        "".join(passage + fill(100 + k, 3 * k + 24) + "\n" for k, passage in enumerate(SHARED)),
    )


@pytest.fixture(scope="module")
def pair_html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pair(tmp_path_factory.mktemp("pair") / "pair.html", *filler.pair_page(*uneven())).path


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_the_texts_fill_the_window_at_every_size(look: Look, folder: Path, width: int, scheme: str) -> None:
    page = look(folder, "#/pair/0/1", width=width, height=844 if width < 500 else 800, color_scheme=scheme)
    settled(page, " and ")
    wide, high, window = page.evaluate("(e => [e.scrollWidth, e.scrollHeight, innerHeight])(document.documentElement)")
    assert wide <= width
    boxes = [box.bounding_box() or {} for box in page.locator(".text").all()]
    if width < 500:  # one below the other, and both of them in one window
        assert boxes[1]["y"] + boxes[1]["height"] - boxes[0]["y"] <= window
    else:
        assert high == window, "the page scrolls beside its texts"
        assert all(box["y"] + box["height"] > window - 60 for box in boxes)
        assert min(box["height"] for box in boxes) > window / 2


def tops(page: Page, number: int) -> list[float]:
    """How far below the top of its pane a passage begins, in both texts."""
    script = """number => [...document.querySelectorAll('.text')].map(box =>
        box.querySelector(`[data-mark="${number}"]`).getBoundingClientRect().top - box.getBoundingClientRect().top)"""
    found: list[float] = page.evaluate(script, number)
    return found


@pytest.mark.parametrize("leader", [0, 1])
def test_linked_passages_stay_side_by_side_when_one_text_is_scrolled(look: Look, pair_html: Path, leader: int) -> None:
    page = look(pair_html)
    page.locator(".mark").first.wait_for()
    panes = page.locator(".text")
    for number in (2, 5, 9):
        # the line that is held moves from the top to the bottom of the pane, as its text is scrolled through
        panes.nth(leader).evaluate(
            """(box, number) => {
              const mark = box.querySelector(`[data-mark="${number}"]`).getBoundingClientRect();
              const y = mark.top + 1 - box.getBoundingClientRect().top + box.scrollTop;
              box.scrollTop = y * (box.scrollHeight - box.clientHeight) / box.scrollHeight;
            }""",
            number,
        )
        page.wait_for_timeout(80)
        one, other = tops(page, number)
        assert abs(one - other) < 4
    page.uncheck("[name=together]")
    before = panes.nth(1 - leader).evaluate("box => box.scrollTop")
    panes.nth(leader).evaluate("box => { box.scrollTop = 0; }")
    page.wait_for_timeout(80)
    assert panes.nth(1 - leader).evaluate("box => box.scrollTop") == before


def test_a_jump_is_not_undone_by_scrolling_together(look: Look, pair_html: Path) -> None:
    page = look(pair_html)
    page.locator(".text").nth(0).locator("[data-mark='7']").click()
    page.wait_for_timeout(150)
    one, other = tops(page, 7)
    assert abs(one - other) < 4


def test_only_what_is_shared_is_shown_with_a_little_around_it(look: Look, pair_html: Path) -> None:
    page = look(pair_html)
    whole = page.locator(".text").nth(1).inner_text()
    page.check("[name=shared]")
    for pane in page.locator(".text").all():
        said = pane.inner_text()
        assert all(passage in said for passage in SHARED)
        gaps = [int(one.replace(",", "")) for one in re.findall(r"… ([\d,]+) characters? …", said)]
        assert gaps
    assert len(page.locator(".text").nth(1).inner_text()) < len(whole) / 2
    page.uncheck("[name=shared]")
    assert page.locator(".text").nth(1).inner_text() == whole


def test_the_list_tells_the_length_of_each_passage_and_goes_there(look: Look, pair_html: Path) -> None:
    page = look(pair_html)
    spans = filler.pair_page(*uneven())[1]["pair"]["passages"]["a"]
    page.click(".opener >> text=Passages")
    rows = page.locator(".passage-row")
    assert rows.count() == len(spans)
    for k in (0, 7, 11):
        assert f"{k + 1}. {spans[k][1] - spans[k][0]} characters" in rows.nth(k).inner_text()
    rows.nth(7).focus()
    page.keyboard.press("Enter")
    assert page.evaluate("Number(document.activeElement.dataset.mark)") == 7
    assert page.locator(".is-shown").count() == 2


def test_an_ignored_passage_is_grey_in_every_pair_and_counts_no_more(look: Look, tmp_path: Path) -> None:
    """What is left is computed here from the texts: each other passage as it was found."""
    template = "This sentence belongs to the assignment, and everybody has it."
    own = "Only the first two have copied these words from each other."
    texts = [f"{template} 1 {own} uno", f"DUE {template} {own} due", f"TRE {template} tre"]
    paths = [
        write_pair(tmp_path / f"{k}.html", *filler.pair_page(texts[0], texts[k], ids=("a", "b"))).path for k in (1, 2)
    ]
    page = look(paths[0])
    page.click(".opener >> text=Passages")
    number = next(k for k, row in enumerate(page.locator(".passage-row").all()) if "assignment" in row.inner_text())
    spans = filler.pair_page(texts[0], texts[1])[1]["pair"]["passages"]["a"]
    page.click(f"[aria-label='Ignore passage {number + 1} everywhere']")
    left = sum(end - start for k, (start, end) in enumerate(spans) if k != number)
    of_a = f"{int(1000 * left / len(texts[0]) + 1e-9) / 10:.1f}%"
    assert page.locator(".lede").inner_text().startswith(f"{of_a} of A stands in B")
    assert page.locator(".lede").inner_text().endswith("without what is ignored.")
    assert page.locator(".text").nth(0).locator(".mark.is-ignored").inner_text().strip() == template
    with page.expect_download() as saving:
        page.click("text=Save as a text file")
    start, end = spans[number]
    assert saving.value.path().read_text("utf-8") == texts[0][start:end] + "\n"
    assert saving.value.suggested_filename == "neardup-ignored.txt"
    page.goto(paths[1].resolve().as_uri())  # another pair of the same report, in this browser
    assert page.locator(".lede").inner_text().startswith("0.0% of A stands in B, 0.0% of B")
    assert page.locator(".text").nth(1).locator(".mark.is-ignored").count() == 1
    page.click(".opener >> text=Passages")
    page.click("text=Count it again")
    assert page.locator(".is-ignored").count() == 0
    assert not page.locator(".lede").inner_text().startswith("0.0%")


@pytest.mark.parametrize(
    ("shingle", "template", "text", "rest"),
    [
        ("word:3", ["the cat sat"], "so, The  cat sat!", [(0, 12)]),  # "so the cat" is no template
        ("word:3", ["so the cat sat down"], "So the cat; sat", []),
        ("word:2", ["b c"], "a b c d", [(0, 3), (4, 7)]),
        ("char:4", ["same"], "same", []),
        ("char:4", ["zzzz"], "same", None),
        ("char:4", ["ab 😀 cd"], "AB 😀\tCD x", [(5, 10)]),
        ("item", ["b"], "a b c", [(0, 1), (4, 5)]),
    ],
)
def test_what_is_left_of_a_passage_is_what_another_shingle_covers(
    look: Look, pair_html: Path, shingle: str, template: list[str], text: str, rest: list[tuple[int, int]] | None
) -> None:
    page = look(pair_html)
    found = page.evaluate(
        """([shingle, texts, text]) => {
          const template = new neardup.Template({ shingle, spec_id: 'x', title: 'x' });
          template.change(texts);
          return template.rest(text, 0, text.length);
        }""",
        [shingle, template, text],
    )
    covered = None if rest is None else {place for start, end in rest for place in range(start, end)}
    units = text.encode("utf-16-le")
    assert len(units) // 2 >= max(covered or [0])
    assert (None if found is None else {place for start, end in found for place in range(start, end)}) == covered


def test_pages_are_told_in_the_text_and_in_the_list(look: Look, tmp_path: Path) -> None:
    meta, data = filler.pair_page(*uneven())
    text = uneven()[0]
    at = [data["pair"]["passages"]["a"][k][0] for k in (0, 3, 8)]
    data["members"][0] |= {"pages": at, "file": "some%20file.pdf"}
    page = look(write_pair(tmp_path / "pair.html", meta, data).path)
    left = page.locator(".text").nth(0)
    assert left.locator(".page-start").evaluate_all("all => all.map(one => one.ariaLabel)") == [
        "page 1",
        "page 2",
        "page 3",
    ]
    assert left.text_content() == text, "what is copied has no numbers of pages in it"
    after = left.locator(".page-start").nth(1).evaluate("one => one.closest('.mark')?.dataset.mark ?? one.nextSibling")
    assert after == "3"
    page.click(".opener >> text=Passages")
    told = [row.inner_text() for row in page.locator(".passage-row .passage-length").all()]
    assert [re.search(r"A p\. (\d)", one)[1] for one in told] == list("111222223333")  # type: ignore[index]
    link = page.locator("a.file")
    assert link.count() == 1
    assert link.get_attribute("href") == "some%20file.pdf"
    assert link.get_attribute("rel") == "noopener noreferrer"


def test_a_printed_pair_has_both_texts_and_the_measures_and_no_controls(look: Look, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    texts = [
        "".join(f"{passage} Only in {letter}, number {k}.\n" for k, passage in enumerate(SHARED)) for letter in "AB"
    ]
    page = look(write_pair(tmp_path / "pair.html", *filler.pair_page(*texts)).path)
    page.click(".opener >> text=Passages")
    printed = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4")))
    said = "".join("".join(sheet.extract_text().split()) for sheet in printed.pages)
    for k, passage in enumerate(SHARED):
        assert said.count("".join(passage.split())) == 2
        assert f"OnlyinA,number{k}." in said
        assert f"OnlyinB,number{k}." in said
    assert "distinctshingles" in said
    assert "ofAstandsinB" in said
    for control in ("Scrolltogether", "Onlywhatisshared", "Ignoreeverywhere", "Saveas", "Passages"):
        assert control not in said


def test_a_report_keeps_what_is_ignored_while_one_goes_from_pair_to_pair(
    look: Look, folder: Path, abstracts: Report
) -> None:
    page = look(folder, "#/cluster/0/pair/first")
    settled(page, " and ")
    page.click(".opener >> text=Passages")
    page.locator("[aria-label^='Ignore passage']").first.click()
    until(page, "document.querySelector('.saving') !== null")
    page.keyboard.press("n")
    page.locator(".crossing", has_text="2 of ").wait_for()
    assert page.locator(".pair .lede").inner_text().endswith("without what is ignored.")
    page.reload()
    settled(page, " and ")
    assert page.locator(".pair .lede").inner_text().endswith("without what is ignored.")
