"""A headless Chromium for the pages of a report, and the pages themselves, made once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import filler

from neardup.pages.site.write import write_site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
PATIENCE = 120
"""Seconds that a page waits for what it should show: long for a busy machine, short for a test that has gone wrong."""


@dataclass
class Seen:
    """What a page said and asked for while it was open."""

    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def check(self) -> None:
        assert not self.console, self.console
        outside = [url for url in self.requests if not url.startswith(("file://", "data:", "blob:"))]
        assert not outside, outside


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-software-rasterizer"]
        )
        yield opened
        opened.close()


@pytest.fixture
def look(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a file at an address, in a window of its own; at the end nothing may have been said or fetched."""
    opened: list[tuple[Any, Seen]] = []

    def open_page(path: Path, address: str = "", *, width: int = 1280, height: int = 900, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        page, seen = context.new_page(), Seen()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", lambda message: seen.console.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen.console.append(str(error)))
        page.on("request", lambda request: seen.requests.append(request.url))
        opened.append((context, seen))
        page.goto(path.resolve().as_uri() + address)
        return page

    yield open_page
    for context, _ in opened:
        context.close()
    for _, seen in opened:
        seen.check()


@pytest.fixture(scope="session")
def abstracts(repository: Path) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """Meta and chunks of real abstracts, with a cluster of several members among them."""
    documents = filler.abstracts(repository, most=60)
    first = documents[0][2]
    words = first.split(" ")
    for k in range(1, 9):  # a chain: every text has lost some more words than the one before
        documents.append((f"chain-{k}", k % 2, " ".join(words[: len(words) - 8 * k]) + f" End {k} of the chain."))
    return filler.report(documents, threshold=0.5)


@pytest.fixture(scope="session")
def folder(abstracts: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(tmp_path_factory.mktemp("site") / "report", *abstracts, single_file=False).path


@pytest.fixture(scope="session")
def single(abstracts: tuple[Any, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site(tmp_path_factory.mktemp("site") / "report.html", *abstracts, single_file=True).path
