"""How long the pages of a report take to open by file:// in headless Chromium: seconds, each view three times.

    python benchmarks/report_opening.py REPORT/index.html [--cluster 15000]

From the call to the view that is drawn, in a fresh page each time. The promise is a second a view; the program ends
with 1 when one takes longer. REPORT is one that report_scale.py left in its --work folder. Needs Playwright, Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

LIMIT = 1.0
RUNS = 3


def main() -> None:
    """Open every view and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("--cluster", type=int, default=0, help="a cluster beside the largest, by its number from 0")
    args = parser.parse_args()
    clusters = sorted({0, args.cluster})
    views = {
        "#/": "#summary:not([hidden])",
        "#/histogram": "#view .chart",
        "#/clusters": "#view tbody tr",
        **{f"#/cluster/{number}": "#view .figures" for number in clusters},
        **{f"#/pair/{number}/0": "#view .texts" for number in clusters},
        "#/sources": "#view h1",
    }
    slowest = 0.0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for view, part in views.items():
            taken = []
            for _ in range(RUNS):
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                begin = time.perf_counter()
                page.goto(args.index.resolve().as_uri() + view)
                page.locator(part).first.wait_for()
                taken.append(time.perf_counter() - begin)
                page.close()
            slowest = max(slowest, *taken)
            print(view, *(f"{seconds:.2f}" for seconds in taken))
        browser.close()
    sys.exit(0 if slowest <= LIMIT else 1)


if __name__ == "__main__":
    main()
