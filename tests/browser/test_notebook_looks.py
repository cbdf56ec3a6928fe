"""Results as they stand in a notebook: among the styles of JupyterLab, in its themes and those of VS Code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import neardup

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOST = """
.jp-RenderedHTMLCommon table { margin-left: auto; margin-right: auto; font-size: 12px; table-layout: fixed; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr { text-align: right; padding: 0.5em; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #f5f5f5; }
.jp-RenderedHTMLCommon dl dt { float: left; clear: left; width: 20%; font-weight: bold; }
.jp-RenderedHTMLCommon p { text-align: left; margin: 0 0 1em; }
"""
"""What JupyterLab says of tables and lists, in short."""
TEXTS = {
    "first": "a rose is a rose, and so is a rose that is red " * 3,
    "second": "a rose is a rose, and so is a rose " * 3,
}
OVERLAPPING = """() => {
  const boxes = [...document.querySelectorAll('.facts dt, .facts dd')].map(one => one.getBoundingClientRect());
  return boxes.some((a, i) => boxes.slice(i + 1).some(b =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
}"""
GROUND = "getComputedStyle(document.querySelector('.neardup-fragment')).backgroundColor"


@pytest.fixture(scope="module")
def shown() -> str:
    found = neardup.find(TEXTS, threshold=0.3, shingle="word:2")
    assert found.pairs.num_rows == 1
    plan, audit = neardup.plan(TEXTS), neardup.audit(TEXTS, threshold=0.3, shingle="word:2")
    return "".join(each._repr_html_() for each in (found, found.show(), plan, audit, neardup.compare(*TEXTS.values())))


def notebook(shown: str, folder: Path) -> Path:
    page = folder / "notebook.html"
    body = f'<body><div class="jp-RenderedHTMLCommon">{shown}</div>'
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{HOST}</style>{body}", "utf-8")
    return page


@pytest.mark.parametrize("width", [1280, 390])
def test_the_styles_of_a_notebook_do_not_reach_a_result(
    width: int, shown: str, look: Callable[..., Page], tmp_path: Path
) -> None:
    page = look(notebook(shown, tmp_path))
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate(OVERLAPPING) is False
    aligned = "[...document.querySelectorAll('td:not(.no)')].map(one => getComputedStyle(one).textAlign)"
    assert set(page.evaluate(aligned)) == {"left"}
    striped = "[...document.querySelectorAll('tr')].map(one => getComputedStyle(one).backgroundColor)"
    assert set(page.evaluate(striped)) == {"rgba(0, 0, 0, 0)"}
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_result_is_as_large_where_the_page_is_set_small(
    shown: str, look: Callable[..., Page], tmp_path: Path
) -> None:
    page = look(notebook(shown, tmp_path))
    size = "[...document.querySelectorAll('.title, td, .text')].map(one => getComputedStyle(one).fontSize)"
    usual = page.evaluate(size)
    page.evaluate("document.documentElement.style.fontSize = '10px'")  # as the classic notebook has it
    assert page.evaluate(size) == usual


def test_a_result_is_light_or_dark_as_the_notebook_is(shown: str, look: Callable[..., Page], tmp_path: Path) -> None:
    page = look(notebook(shown, tmp_path))
    page.emulate_media(color_scheme="light")
    light = page.evaluate(GROUND)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(GROUND)
    assert light != dark
    for name, expected in (("vscode-light", light), ("vscode-dark", dark), ("notebook_app", light)):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.evaluate("name => { document.body.className = name; }", name)
            assert page.evaluate(GROUND) == expected
