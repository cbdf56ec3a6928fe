"""What axe-core finds on every page, in light and dark, on a phone and on a screen: nothing serious."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient
from tests.browser import filler
from tests.browser.pages import settled
from tests.browser.test_looks import ADDRESSES
from tests.warm import LIMIT

import neardup
from neardup.cli.tune.page import Page as Judge
from neardup.engine.results.passages import shared_passages
from neardup.pages.site.write import write_pair
from neardup.params import Normalize, Shingle
from neardup.server.app import Service, page_file
from neardup.server.security import PAGE, PAGE_HEADERS
from neardup.tasks.tune.outcome import AskedPair

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("axe_playwright_python") is None, reason="needs axe-playwright-python"
)
Look = Callable[..., "Page"]
LOOKS = [(390, "dark"), (1280, "light")]
TEXT = "The words of this sentence stand in both of the texts, whatever else may stand in one of them."
A, B = f"{TEXT} Here it ends.\u202e", f"{TEXT} It goes on: {'more and more ' * 30}"
SERVICE = "http://127.0.0.1:9/"


@cache
def axe() -> str:
    """axe-core as its package has it; nothing else of that is used."""
    found = importlib.util.find_spec("axe_playwright_python")
    assert found is not None
    assert found.origin is not None
    return (Path(found.origin).parent / "axe.min.js").read_text("utf-8")


def check(page: Page, where: str) -> None:
    """No finding that axe calls serious or critical."""
    page.wait_for_timeout(60)
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe())
    faults = page.evaluate(
        """async () => (await axe.run({ resultTypes: ['violations'] })).violations
          .filter((one) => ['serious', 'critical'].includes(one.impact))
          .map((one) => [one.id, one.help, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])"""
    )
    assert not faults, (where, json.dumps(faults, indent=1))


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_views_of_a_report(look: Look, folder: Path, width: int, scheme: str) -> None:
    page = look(folder, width=width, color_scheme=scheme)
    for address, heading in ADDRESSES.items():
        page.evaluate("address => { location.hash = address; }", address)
        settled(page, heading)
        check(page, address)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_views_of_a_report_about_copying(look: Look, tmp_path: Path, width: int, scheme: str) -> None:
    texts = {"ann-1": A, "bea-1": B, "cid-1": f"{TEXT} And so on."}
    made = neardup.report(
        texts,
        tmp_path / "report",
        purpose="copying",
        shingle="word:3",
        threshold=0.1,
        group_by="^[a-z]+",
        title="Essays",
    )
    page = look(made.path, width=width, color_scheme=scheme)
    for address, heading in {
        "#/": "Essays",
        "#/pairs": "Pairs",
        "#/pair/0/0": " and ",
        "#/people": "People",
        "#/person/0": "ann",
        "#/print": "To print",
    }.items():
        page.evaluate("address => { location.hash = address; }", address)
        settled(page, heading)
        check(page, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


@pytest.mark.parametrize(("width", "scheme"), [*LOOKS, (768, "light"), (1280, "dark")])
def test_the_page_of_a_pair_with_each_of_its_panels(look: Look, tmp_path: Path, width: int, scheme: str) -> None:
    meta, data = filler.pair_page(A, B)
    data["members"][0] |= {"pages": [0, 20], "file": "left.txt"}
    page = look(write_pair(tmp_path / "pair.html", meta, data).path, width=width, color_scheme=scheme)
    check(page, "pair")
    page.click(".opener >> text=Measures")
    check(page, "measures")
    page.click(".opener >> text=Passages")
    page.locator("[aria-label^='Ignore passage']").first.click()
    page.check("[name=shared]")
    check(page, "passages, one of them ignored")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_page_of_tune(browser: Browser, width: int, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    with Judge() as judge:
        threading.Thread(target=judge.ask, args=(AskedPair("a", "b", A, B, 1, 5),), daemon=True).start()
        page = context.new_page()
        page.set_default_timeout(1000 * LIMIT)
        page.goto(judge.address)
        page.locator(".mark").first.wait_for()
        check(page, "tune")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("q")
    context.close()


def answer(route: Route) -> None:
    """The service: the files of its page as they are, and one answer to all questions."""
    path = "/" + route.request.url.removeprefix(SERVICE)
    if path in PAGE:
        headers = {name.decode(): value.decode() for name, value in PAGE_HEADERS}
        route.fulfill(body=page_file(path), content_type=PAGE[path].decode(), headers=headers)
    elif path == "/info":
        route.fulfill(json={"documents": 12, "threshold": 0.6, "shingle": "char:9", "normalize": "nfc"})
    else:
        found = shared_passages(A, B, shingle=Shingle("char", 9), normalize=Normalize("nfc"))
        marks = {"marks": found.b, "query_marks": found.a, "links": found.links, "back_links": found.back}
        route.fulfill(json={"hits": [{"id": "b", "similarity": 0.7, "bands": 3, "text": B, **marks}]})


@pytest.mark.parametrize(("width", "scheme"), [*LOOKS, (768, "dark")])
def test_the_page_of_the_service(browser: Browser, width: int, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(1000 * LIMIT)
    page.route("**/*", answer)
    page.goto(SERVICE)
    page.locator("#index", has_text="12 documents").wait_for()
    check(page, "service")
    page.fill("#text", A)
    page.click("#go")
    page.locator(".mark").first.wait_for()
    check(page, "service with a hit")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_other_views_of_the_service(browser: Browser, width: int, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(1000 * LIMIT)
    with neardup.Index.create(threshold=0.6, shingle="char:9") as index:
        index.add(["a", *range(60)], [A, *(f"text {number}" for number in range(60))])
        service = Service(index)
        client = TestClient(service)

        def serve(route: Route) -> None:
            asked = route.request
            got = client.request(asked.method, "/" + asked.url.removeprefix(SERVICE), content=asked.post_data_buffer)
            route.fulfill(status=got.status_code, body=got.content, headers=dict(got.headers))

        page.route("**/*", serve)
        for address, there in (
            ("#/query", "#add-box:not([hidden])"),
            ("#/browse", "#rows tr"),
            ("#/document/a", ".whole"),
            ("#/statistics", ".curve"),
            ("docs", ".operation"),
        ):
            page.goto("about:blank")
            page.goto(SERVICE + address)
            page.locator(there).first.wait_for()
            page.evaluate("() => { for (const one of document.querySelectorAll('main details')) one.open = true; }")
            check(page, address)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        service.close()
    context.close()
