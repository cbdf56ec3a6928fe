"""The page on which pairs are judged, as a person at a browser has it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tests.browser.pages import until
from tests.warm import LIMIT

from neardup.cli.tune.page import Page as Judge
from neardup.tasks.tune.asking import Reply
from neardup.tasks.tune.outcome import AskedPair

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = "<img src=x onerror=\"document.title='taken'\"> and one text \u202e"


def test_a_person_judges_by_keys_and_buttons_until_it_is_done(browser: Browser) -> None:
    pairs = [AskedPair(f"a{i}", EVIL, f"{EVIL} number {i}", f"{EVIL} some number", i, 5) for i in range(1, 5)]
    replies: list[Reply] = []
    said: list[str] = []
    outside: list[str] = []
    context = browser.new_context(viewport={"width": 1000, "height": 800})
    with Judge() as judge:
        thread = threading.Thread(target=lambda: replies.extend(map(judge.ask, pairs)), daemon=True)
        thread.start()
        page = context.new_page()
        page.set_default_timeout(1000 * LIMIT)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: outside.append(request.url))
        page.goto(judge.address)
        for number, act in enumerate(("y", "x", "u", "q"), start=1):
            until(page, f"document.getElementById('count').textContent === 'pair {number} of at most 5'")
            assert page.locator(".side").count() == 2
            assert page.locator(".mark").count() > 0
            if number == 1:
                assert page.locator("[data-answer=undo]").is_disabled()
            if act == "x":
                page.keyboard.press("x")  # no key of an answer
                page.locator("[data-answer=no]").click()
            else:
                page.keyboard.press(act)
        thread.join(LIMIT)
        assert replies == [Reply.YES, Reply.NO, Reply.UNDO, Reply.STOP]
        closing = threading.Thread(target=judge.close, daemon=True)
        closing.start()
        until(page, "document.getElementById('question').textContent.startsWith('Done')")
        closing.join(LIMIT)
        assert page.title() == "neardup tune"
    context.close()
    assert said == []
    assert all(url.startswith((judge.address, "data:")) for url in outside), outside
