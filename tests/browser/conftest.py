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
    from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request

CHROMIUM = shutil.which("chromium")
PATIENCE = 120
"""Seconds that a page waits for what it should show: long for a busy machine, short for a test that has gone wrong."""


@dataclass
class Seen:
    """What a page said and asked for while it was open."""

    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def on_console(self, message: ConsoleMessage) -> None:
        self.console.append(f"{message.type}: {message.text}")

    def on_error(self, error: Error) -> None:
        self.console.append(str(error))

    def on_request(self, request: Request) -> None:
        self.requests.append(request.url)

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


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Iterator[list[Page]]:
    """Windows that tests of the module have left, each with storage of its own: a new one takes five times as long."""
    left: list[Page] = []
    yield left
    for page in left:
        page.context.close()


@pytest.fixture
def look(browser: Browser, windows: list[Page]) -> Iterator[Callable[..., Page]]:
    """Opens a file at an address, in a window of its own; at the end nothing may have been said or fetched.

    Options are those of a window (``browser.new_context``).
    """
    opened: list[tuple[Page, Seen, bool]] = []

    def open_page(
        path: Path,
        address: str = "",
        *,
        width: int = 1280,
        height: int = 900,
        color_scheme: Any = "light",
        reduced_motion: Any = "no-preference",
        **options: Any,
    ) -> Page:
        page = windows.pop() if windows and not options else browser.new_context(**options).new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        seen = Seen()
        opened.append((page, seen, not options))
        page.on("console", seen.on_console)
        page.on("pageerror", seen.on_error)
        page.on("request", seen.on_request)
        page.goto(path.resolve().as_uri() + address)
        return page

    yield open_page
    for page, seen, is_plain in opened:
        if is_plain:
            windows.append(left(page, seen))
        else:
            page.context.close()
    for _, seen, _ in opened:
        seen.check()


def left(page: Page, seen: Seen) -> Page:
    """A window as it was before a test, but for its history."""
    page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.remove_listener("console", seen.on_console)
    page.remove_listener("pageerror", seen.on_error)
    page.remove_listener("request", seen.on_request)
    page.unroute_all()
    page.emulate_media(media="null", forced_colors="null")
    page.mouse.move(0, 0)
    page.goto("about:blank")
    return page


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
