"""Small helpers for tests that look at pages."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from tests.warm import LIMIT

if TYPE_CHECKING:
    from playwright.sync_api import Page


def until(page: Page, script: str, *, seconds: float = LIMIT) -> Any:
    """The first true value of an expression. (Playwright's own waiting makes functions from strings, which our policy
    forbids.)"""
    end = time.monotonic() + seconds
    while not (value := page.evaluate(script)):
        assert time.monotonic() < end, f"never true in {seconds:g} s: {script}"
        page.wait_for_timeout(20)
    return value


def settled(page: Page, heading: str) -> None:
    """Wait for the view with this heading."""
    page.locator("h1:visible", has_text=heading).wait_for()


def cut(value: float, digits: int = 3) -> str:
    """A similarity as the pages tell it: cut, never rounded up."""
    return f"{math.floor(value * 10**digits + 1e-9) / 10**digits:.{digits}f}"
