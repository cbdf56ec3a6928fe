"""How long the pages of a report take to open by file:// in headless Chromium, and its list of pairs to answer.

    python benchmarks/report_opening.py REPORT/index.html [--cluster 15000]

Seconds from the call to the view that is drawn, in a fresh page each time, each view three times; the promise is a
second. Then, in the list of pairs with all its rows loaded, milliseconds from an input to the drawn table, as the page
itself measures them: searches, filters, columns to sort by, pages to turn, each three times; the promise is 100, which
leaves out the 60 ms that a field waits for the next key. A column is put in order when it is first asked for, so its
first time is told and not promised. The program ends with 1 when one takes longer. REPORT is one that
report_scale.py left in its --work folder, or a page of `neardup passages --report`, whose list of passages is worked
with then. Needs Playwright, Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

LIMIT = 1.0
ANSWER = 100.0
"""Milliseconds."""
RUNS = 3

# One action, and the milliseconds until the rows and the frame after them are drawn. What a field waits for the next
# key is passed over by calling its timer at once.
MEASURE = """action => new Promise(done => {
  const wait = window.setTimeout;
  window.setTimeout = (call, time, ...rest) => time === 60 ? (call(...rest), 0) : wait(call, time, ...rest);
  const find = selector => document.querySelector('#view ' + selector);
  const begin = performance.now();
  if (action.field) {
    find(action.field).value = action.value;
    find(action.field).dispatchEvent(new Event('input'));
  } else find(action.click).click();
  window.setTimeout = wait;
  document.body.offsetHeight;
  requestAnimationFrame(() => wait(() => done(performance.now() - begin), 0));
})"""

ACTIONS: dict[str, list[dict[str, Any]]] = {
    "search a word": [{"field": "#search", "value": word} for word in ("the model", "result", "we show")],
    "search nothing": [{"field": "#search", "value": word} for word in ("qqqq", "zzzz", "")],
    "filter by similarity": [{"field": "#f-from", "value": value} for value in ("0.75", "0.9", "")],
    "filter by passage": [{"field": "#f-size", "value": value} for value in ("100", "500", "")],
    "sort by passage, first": [{"click": "th.c-longest button"}],
    "sort by passage": [{"click": "th.c-longest button"}] * RUNS,
    "sort by name, first": [{"click": "th.c-pair button"}],
    "sort by name": [{"click": "th.c-pair button"}] * RUNS,
    "sort by similarity": [{"click": "th.c-similarity button"}] * RUNS,
    "turn the page": [{"click": "[aria-label='Last page']"}, {"click": "[aria-label='First page']"}] * 2,
}


OF_PASSAGES: dict[str, list[dict[str, Any]]] = {
    **{name: ACTIONS[name] for name in ("search a word", "search nothing", "turn the page")},
    "filter by length": [{"field": "#f-from", "value": value} for value in ("200", "500", "")],
    "filter by places": [{"field": "#f-places", "value": value} for value in ("3", "10", "")],
    "sort by places, first": [{"click": "th.c-spans button"}],
    "sort by places": [{"click": "th.c-spans button"}] * RUNS,
    "sort by words, first": [{"click": "th.c-passage button"}],
    "sort by words": [{"click": "th.c-passage button"}] * RUNS,
}


def opening(browser: Browser, index: Path, view: str, part: str) -> list[float]:
    """Seconds until a part of a view is drawn, in fresh pages."""
    taken = []
    for _ in range(RUNS):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        begin = time.perf_counter()
        page.goto(index.resolve().as_uri() + view)
        page.locator(part).first.wait_for()
        taken.append(time.perf_counter() - begin)
        page.close()
    return taken


def loaded(page: Page) -> float:
    """Seconds until all rows of the list of pairs are there: a search then says what it searched."""
    begin = time.perf_counter()
    page.locator("#view tbody tr").first.wait_for()
    page.fill("#search", "no such words")
    page.locator("#view .status", has_text="found; searched").filter(has_not_text="so far").wait_for()
    return time.perf_counter() - begin


def main() -> None:
    """Open every view, work with the list, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--cluster", type=int, default=0, help="a cluster beside the largest, by its number from 0")
    args = parser.parse_args()
    clusters = sorted({0, args.cluster})
    views = {
        "#/": "#summary:not([hidden])",
        "#/pairs": "#view tbody tr",
        "#/histogram": "#view .chart",
        "#/clusters": "#view tbody tr",
        **{f"#/cluster/{number}": "#view .figures" for number in clusters},
        **{f"#/pair/{number}/0": "#view .texts" for number in clusters},
        "#/sources": "#view h1",
    }
    is_of_passages = 'href="#/pairs"' not in args.index.read_text("utf-8")
    if is_of_passages:
        views = {
            "#/": "#summary:not([hidden])",
            "#/passages": "#view tbody tr",
            "#/passage/0": "#view .places",
            "#/documents": "#view tbody tr",
            "#/document/0": "#view .texts",
        }
    slowest = slowest_answer = 0.0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for view, part in views.items():
            taken = opening(browser, args.index, view, part)
            slowest = max(slowest, *taken)
            print(view, *(f"{seconds:.2f}" for seconds in taken))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(args.index.resolve().as_uri() + ("#/passages" if is_of_passages else "#/pairs"))
        print(f"all rows loaded and searched: {loaded(page):.2f} s;", page.locator("#view .status").inner_text())
        page.evaluate(MEASURE, {"field": "#search", "value": ""})
        for name, actions in (OF_PASSAGES if is_of_passages else ACTIONS).items():
            answers = [page.evaluate(MEASURE, action) for action in actions]
            if not name.endswith(", first"):
                slowest_answer = max(slowest_answer, *answers)
            print(f"{name}:", *(f"{each:.0f}" for each in answers), "ms")
        browser.close()
    sys.exit(0 if slowest <= LIMIT and slowest_answer <= ANSWER else 1)


if __name__ == "__main__":
    main()
