"""The page in a real Chromium: what it draws is what the answer says, and a text does nothing but be read."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.server import browser as chrome
from tests.server.browser import Browser
from tests.server.running import Running

import neardup
from neardup.engine.results.passages import shared_passages
from neardup.params import Normalize, Shingle
from neardup.server.app import page_file
from neardup.server.security import PAGE, PAGE_HEADERS

pytestmark = pytest.mark.skipif(not (chrome.CHROMIUM and chrome.DRIVER), reason="needs chromium and chromedriver")

INFO = {"documents": 1234, "threshold": 0.6, "shingle": "char:9", "normalize": "nfc", "read_only": True}
OPEN_HITS = 3


@dataclass
class Fake:
    """A service that gives the answer it was told, and remembers what it was asked."""

    url: str = ""
    hits: list[dict[str, Any]] = field(default_factory=list)
    refusal: tuple[int, dict[str, Any]] | None = None
    token: str | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, path: str, body: bytes, authorization: str | None) -> tuple[int, str, bytes]:
        if path in PAGE:
            return 200, PAGE[path].decode(), page_file(path)
        status: int = 200
        value: dict[str, Any] = {"error": "no such path."}
        if self.token is not None and authorization != f"Bearer {self.token}":
            status, value = 401, {"error": "a token is needed."}
        elif path == "/info":
            value = INFO
        elif path == "/query":
            self.asked.append(json.loads(body))
            status, value = self.refusal or (200, {"hits": self.hits})
        else:
            status = 404
        return status, "application/json", json.dumps(value).encode()


@pytest.fixture
def fake() -> Iterator[Fake]:
    service = Fake()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, kind, sent = service.answer(self.path, body, self.headers["Authorization"])
            self.send_response(status)
            for name, value in (("Content-Type", kind), ("Content-Length", str(len(sent)))):
                self.send_header(name, value)
            for name, value in PAGE_HEADERS:
                self.send_header(name.decode(), value.decode())
            self.end_headers()
            self.wfile.write(sent)

        do_POST = do_GET  # noqa: N815 the name that http.server calls

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield service
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    with chrome.chromium() as new:
        yield new()


@pytest.fixture
def page(window: Browser, fake: Fake) -> Iterator[Browser]:
    """The page as it opens; in the end the console must have said nothing."""
    window.open(fake.url)
    window.wait("return document.getElementById('index').textContent")
    yield window
    assert window.console() == []
    window.open("about:blank")  # so that nothing asks a service that has ended


def hit(id: int | str, query: str, text: str, *, shingle: str = "char:9") -> dict[str, Any]:
    """A hit as the service gives it."""
    found = shared_passages(query, text, shingle=Shingle.parse(shingle), normalize=Normalize.parse("nfc"))
    made = {"id": id, "similarity": found.jaccard, "bands": 3, "text": text, "marks": found.b, "query_marks": found.a}
    return made | {"links": found.links, "back_links": found.back}


def search(page: Browser, text: str) -> None:
    """Paste a text and press the button."""
    page.run("document.getElementById('message').textContent = ''")
    page.run("document.getElementById('text').value = arguments[0]", text)
    page.click("#go")
    page.wait("const told = document.getElementById('message').textContent; return told && told !== 'Searching…'")


def choose(page: Browser, kind: str) -> None:
    """Choose what is looked for."""
    script = "const e = document.getElementById('kind'); e.value = arguments[0]; e.dispatchEvent(new Event('change'))"
    page.run(script, kind)


def message(page: Browser) -> str:
    return str(page.run("return document.getElementById('message').textContent"))


def mark(side: int, number: int) -> str:
    """The selector of a passage of the first hit: of the text that was pasted (0), or of the document (1)."""
    return f".side:nth-child({side + 1}) [data-mark='{number}']"


FOCUS = """
    const one = document.activeElement.closest('[data-mark]');
    return one && [[...document.querySelectorAll('.text')].indexOf(one.closest('.text')), Number(one.dataset.mark)];
"""
"""Which text and passage of it has the focus."""


def shown(page: Browser, name: str) -> list[list[Any]]:
    """The text of a pane as it is drawn: (mark or -1, text), what is not seen by itself as its name in braces."""
    script = """
        const told = (node) => node.nodeType === 3 ? node.data
          : node.className === 'hidden' ? `{${node.dataset.name}}`
          : node.matches('.gap') ? '{gap}' : [...node.childNodes].map(told).join('');
        const pane = document.querySelectorAll('.text')[arguments[0] === 'q0-' ? 0 : 1];
        return [...pane.childNodes].map((node) => [Number(node.dataset?.mark ?? -1), told(node)]);
    """
    drawn: list[list[Any]] = page.run(script, name)
    return joined(drawn)


def joined(parts: list[list[Any]]) -> list[list[Any]]:
    """Neighbours that are of one mark, as one; nothing empty."""
    out: list[list[Any]] = []
    for mark, text in parts:
        if out and out[-1][0] == mark:
            out[-1][1] += text
        elif text:
            out.append([mark, text])
    return out


def expected(text: str, spans: list[tuple[int, int]]) -> list[list[Any]]:
    """What is to be drawn of a text without hidden characters."""
    out: list[list[Any]] = []
    place = 0
    for i, (start, end) in enumerate(spans):
        out += [[-1, text[place:start]], [i, text[start:end]]]
        place = end
    return joined([*out, [-1, text[place:]]])


QUERY = "😀😀 This passage is shared by both. 👩🏽 Not this one. And a second passage is shared too, 🇩🇪 as it were."
OTHER = "And a second passage is shared too, 🇩🇪 as it is 𝔘𝔫𝔦𝔠𝔬𝔡𝔢; e\u0301\u0323. Then: This passage is shared by both!"


def test_marks_are_drawn_where_the_answer_says_behind_emoji_too(page, fake):
    fake.hits = [hit("x", QUERY, OTHER)]
    found = fake.hits[0]
    assert len(found["marks"]) == 2
    assert found["marks"][0][0] == 0
    search(page, QUERY)
    assert fake.asked == [{"text": QUERY, "top": 10, "threshold": 0.6, "with_text": True, "passages": True}]
    assert shown(page, "q0-") == expected(QUERY, found["query_marks"])
    assert shown(page, "d0-") == expected(OTHER, found["marks"])
    colours = "return [...document.querySelectorAll(arguments[0])].map((e) => e.className)"
    own, theirs = (page.run(colours, f".side:nth-child({side}) .mark") for side in (1, 2))
    assert own == theirs[::-1]
    assert len(set(own)) == 2
    assert message(page).startswith("1 similar document.")


def test_a_click_on_a_mark_goes_to_its_partner_and_back(page, fake):
    fake.hits = [hit("x", QUERY, OTHER)]
    search(page, QUERY)
    assert fake.hits[0]["links"] == [1, 0]
    for own, partner in (((0, 0), (1, 1)), ((1, 1), (0, 0)), ((0, 1), (1, 0))):
        page.click(mark(*own))
        assert page.run(FOCUS) == list(partner)
        told = "return [...document.querySelectorAll('.is-shown')].map((e) => Number(e.dataset.mark))"
        assert page.run(told) == [mark for _, mark in sorted((own, partner))]
    assert page.run("return location.hash") == ""


def test_the_keyboard_searches_and_goes_from_passage_to_passage(page, fake):
    fake.hits = [hit("x", QUERY, OTHER)]
    page.run("document.getElementById('text').value = arguments[0]", QUERY)
    page.run("document.getElementById('text').focus()")
    page.press(chrome.CONTROL, chrome.ENTER)
    page.wait("return document.querySelector('.mark')")
    for _ in range(30):
        page.press(chrome.TAB)
        if page.run(FOCUS) == [0, 0]:
            break
    assert page.run(FOCUS) == [0, 0]
    page.press(chrome.RIGHT)
    assert page.run(FOCUS) == [0, 1]
    page.press(chrome.RIGHT)
    assert page.run(FOCUS) == [0, 1]
    page.press(chrome.ENTER)
    assert page.run(FOCUS) == [1, 0]
    page.press(chrome.RIGHT)
    page.press(chrome.ENTER)
    assert page.run(FOCUS) == [0, 0]
    assert (
        page.run("return document.querySelectorAll('.text')[0].querySelectorAll('.mark[tabindex=\"0\"]').length") == 1
    )


HOSTILE = (
    "<script>window.harm = 1</script><img src=x onerror='window.harm = 2'>\u202eover\u202c \x00\x1b[31m\x7f"
    "</div><style>*{display:none}</style>&amp; pass\u200bword \u2066in\u2069 "
    "\ufeff\r\nnext\rlast \U000e0041 javascript:alert(1) "
    "👩\u200d👧 می\u200cخواهم क्\u200dष a\u200db\t."
)


def test_a_hostile_text_is_shown_and_does_nothing(page, fake):
    fake.hits = [hit("\u202e<b>evil</b>", "Look: " + HOSTILE, HOSTILE), hit("javascript:x", HOSTILE, HOSTILE)]
    search(page, "Look: " + HOSTILE)
    assert page.run("return window.harm ?? null") is None
    drawn = "".join(text for _, text in shown(page, "d0-"))
    assert drawn == (
        "<script>window.harm = 1</script><img src=x onerror='window.harm = 2'>{RLO}over{PDF} {NUL}{ESC}[31m{DEL}"
        "</div><style>*{display:none}</style>&amp; pass{ZWSP}word {LRI}in{PDI} {BOM}\nnext{CR}last {U+E0041}"
        " javascript:alert(1) 👩\u200d👧 می\u200cخواهم क्\u200dष a{ZWJ}b\t."
    )
    assert page.run("return document.querySelectorAll('main script, main img, main style').length") == 0
    assert page.run("return document.querySelector('.id').textContent") == "<b>evil</b>"
    assert page.run("return getComputedStyle(document.querySelector('.id')).unicodeBidi") == "isolate"
    assert page.run("return getComputedStyle(document.querySelector('.text')).unicodeBidi") == "plaintext"


def test_a_run_of_hidden_characters_is_one_label_with_their_number(page, fake):
    text = "before " + "\x00" * 50_000 + " behind"
    fake.hits = [hit(1, text[:2000], text[:2000])]
    search(page, text[:2000])
    assert "".join(text for _, text in shown(page, "d0-")) == "before {NUL ×1,993}"


def test_a_long_text_is_shown_around_its_passages_until_all_is_asked_for(page, fake):
    filler = ["".join(f"{word} {i} " for i in range(1500)) for word in ("one", "two", "three")]
    shared = "here lies a passage that both of the texts have, 😀 and it is short"
    long_one = "".join(f"shared {i * 7} " for i in range(600))
    query, text = f"{shared} {long_one}", f"{filler[0]} {shared} {filler[1]} {long_one} {filler[2]}"
    found = hit("long", query, text, shingle="word:8")
    assert (len(found["marks"]), len(found["query_marks"])) == (2, 2)
    fake.hits = [found]
    search(page, query)
    parts = shown(page, "d0-")
    assert "".join(part for _, part in parts).count("{gap}") == 3
    assert [mark for mark, _ in parts] == [-1, 0, -1, 1, -1]
    assert len("".join(part for _, part in parts)) < 9000
    only_shared = ".tools [name=shared]"
    assert page.run("return document.querySelector(arguments[0]).checked", only_shared)
    page.click(only_shared)
    assert shown(page, "d0-") == expected(text, found["marks"])
    assert shown(page, "q0-") == expected(query, found["query_marks"])
    page.click(only_shared)
    assert shown(page, "d0-") == parts
    page.click(mark(0, 1))
    assert page.run(FOCUS) == [1, 1]
    page.click(".side:nth-child(2) .gap")
    assert "".join(part for _, part in shown(page, "d0-")).count("{gap}") == 2


def test_of_a_very_long_text_a_part_is_drawn_until_more_is_asked_for(page, fake):
    text = "".join(f"{i} in a row, " for i in range(20_000))
    fake.hits = [hit("large", text, text)]
    search(page, text)
    assert len("".join(text for _, text in shown(page, "d0-"))) < 6000
    page.click(".side:nth-child(2) .gap")
    assert 20_000 < len("".join(text for _, text in shown(page, "d0-"))) < 40_000


def test_hits_below_the_first_few_are_drawn_when_they_are_opened(page, fake):
    fake.hits = [hit(i, QUERY, OTHER) for i in range(OPEN_HITS + 2)]
    search(page, QUERY)
    assert page.run("return document.querySelectorAll('.texts').length") == OPEN_HITS
    page.run("[...document.querySelectorAll('.hit details')].at(-1).open = true")
    page.wait("return document.querySelectorAll('.texts').length === arguments[0]", OPEN_HITS + 1)
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    page.wait("return document.querySelectorAll('.texts').length === arguments[0]", OPEN_HITS + 2)


def test_nothing_found_is_said_in_words(page, fake):
    page.run("least = document.getElementById('least'); least.value = 75; least.dispatchEvent(new Event('input'))")
    page.run("document.getElementById('top').value = 3")
    search(page, "nothing like it")
    assert message(page) == "No document of the index is at least 75% similar to this text."
    assert (fake.asked[0]["threshold"], fake.asked[0]["top"]) == (0.75, 3)
    assert page.run("return document.getElementById('results').hidden")
    page.click("#to-nearest")
    page.wait("return document.getElementById('message').textContent.includes('at all similar')")
    assert fake.asked[1]["nearest"]
    assert page.run("return document.getElementById('offer').hidden")


def test_the_slider_begins_at_the_threshold_of_the_index(page, fake):
    state = "const e = document.getElementById('least'); return [e.min, e.max, e.value, e.ariaValueText]"
    assert page.run(state) == ["60", "100", "60", "60%"]
    assert "1,234 documents" in page.run("return document.getElementById('index').textContent")


def test_the_nearest_below_the_threshold_stand_under_a_line(page, fake):
    near = hit("near", QUERY, QUERY) | {"recall": 1.0}
    fake.hits = [near, hit("far", QUERY, OTHER) | {"similarity": 0.31, "recall": 0.0704}]
    choose(page, "nearest")
    search(page, QUERY)
    assert fake.asked == [{"text": QUERY, "top": 10, "nearest": True, "with_text": True, "passages": True}]
    items = page.run("return [...document.querySelectorAll('#hits > li')].map((e) => e.className)")
    assert items == ["hit", "divide", "hit"]
    assert "Below the threshold of the index, 60%" in page.run("return document.querySelector('.divide').textContent")
    told = page.run("return [...document.querySelectorAll('.hit summary .about')].map((e) => e.textContent)")
    assert "found with" not in told[0]
    assert "One this similar is found with 7%." in told[1]
    assert message(page) == "1 similar document, and 1 below the threshold. The first is 100% similar."


def test_kinds_ask_for_what_they_say(page, fake):
    for kind, wanted in (
        ("exhaustive", {"nearest": True, "exhaustive": True}),
        ("containment", {"measure": "containment", "threshold": 0.6}),
    ):
        choose(page, kind)
        search(page, QUERY)
        assert fake.asked[-1] == {"text": QUERY, "top": 10, "with_text": True, "passages": True} | wanted
    fake.hits = [hit("x", QUERY, OTHER) | {"contained": "document"}]
    search(page, QUERY)
    assert page.run("return document.querySelector('.hit .about').textContent").startswith("The document is the part.")
    choose(page, "near")
    assert page.run("return document.getElementById('least').min") == "60"


def test_a_text_can_be_added_only_where_the_index_may_be_written(page, fake):
    assert page.run("return document.getElementById('add-box').hidden")
    assert page.run("return document.getElementById('token-box').hidden")


def test_an_empty_text_is_not_sent(page, fake):
    search(page, "")
    assert message(page) == "Paste a text first."
    assert fake.asked == []


def test_a_similarity_just_below_one_is_not_called_100_per_cent(page, fake):
    fake.hits = [hit("x", QUERY, QUERY) | {"similarity": similarity} for similarity in (1.0, 0.99999, 0.29, 0.57)]
    search(page, QUERY)
    told = page.run("return [...document.querySelectorAll('.share')].map((e) => e.textContent)")
    assert told == ["100%", "99.9%", "29%", "57%"]


REFUSALS = [
    (422, {"error": "text has 2000000 characters; 1000000 are allowed.", "field": "text"}, "1000000 are allowed"),
    (413, {"error": "1 MiB are allowed."}, "too long for the service"),
    (503, {"error": "busy."}, "busy"),
    (500, {"error": "the service failed; its log tells more under incident 12ab."}, "incident 12ab"),
    (502, {}, "status 502"),
]


@pytest.mark.parametrize(("status", "body", "words"), REFUSALS)
def test_what_the_service_refuses_is_said_in_words(window, fake, status, body, words):
    window.open(fake.url)
    window.wait("return document.getElementById('index').textContent")
    fake.refusal = (status, body)
    search(window, QUERY)
    assert words in message(window)
    assert window.run("return document.getElementById('message').classList.contains('is-error')")
    fake.refusal = None
    fake.hits = [hit("x", QUERY, OTHER)]
    search(window, QUERY)
    assert not window.run("return document.getElementById('message').classList.contains('is-error')")
    assert all(f"{status}" in entry for entry in window.console())  # Chromium itself tells of the answer


def test_a_token_is_asked_for_and_kept_in_memory_only(window, fake):
    fake.token = "open sesame".replace(" ", "-")
    fake.hits = [hit("x", QUERY, OTHER)]
    window.open(fake.url)
    window.wait("return document.activeElement.id === 'token'")
    assert "asks for a token" in message(window)
    window.type("#token", "wrong")
    search(window, QUERY)
    window.wait("return document.getElementById('message').textContent.includes('does not take')")
    window.run("document.getElementById('token').value = ''")
    window.type("#token", fake.token)
    search(window, QUERY)
    window.wait("return document.querySelector('.mark')")
    assert window.run("return [localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    assert all("401" in entry for entry in window.console())


def test_a_file_is_read_into_the_text(page, fake, tmp_path):
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_bytes("Läuse \r\n😀".encode())
    bad.write_bytes(b"\xff\xfe\x00")
    page.type("#file", str(good))
    page.wait("return document.getElementById('text').value === 'Läuse \\n😀'")
    assert message(page) == "Read good.txt. Press Search."
    page.type("#file", str(bad))
    page.wait("return document.getElementById('message').textContent.includes('not text in UTF-8')")


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_window(page, fake, width):
    fake.hits = [hit("i" * 300, QUERY + "w" * 500, OTHER + "w" * 500)]
    page.devtools(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
    )
    try:
        search(page, QUERY + "w" * 500)
        sizes = "const e = document.documentElement; return [e.scrollWidth, e.clientWidth]"
        wide, room = page.run(sizes)
        assert wide <= room
    finally:
        page.devtools("Emulation.clearDeviceMetricsOverride")


def test_everything_that_is_operated_has_a_name(page, fake):
    fake.hits = [hit("x", QUERY, OTHER)]
    search(page, QUERY)
    nodes = page.devtools("Accessibility.getFullAXTree")["nodes"]
    operated = ("button", "link", "textbox", "slider", "spinbutton", "DisclosureTriangle")
    names = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if node.get("role", {}).get("value") in operated
    ]
    assert len(names) >= 9
    assert [role for role, name in names if not name.strip()] == []


def test_the_page_of_the_real_service(window: Browser, running: Callable[..., Running], tmp_path: Path):
    path = tmp_path / "real.index"
    with neardup.Index.create(path, threshold=0.3, shingle="char:5") as index:
        index.add(["a <b>", "c"], [OTHER, "Nothing of the kind is in here, nor was it ever meant to be."])
    service = running(path)
    window.open(service.url)
    window.wait("return document.getElementById('index').textContent.startsWith('2 documents')")
    search(window, QUERY)
    found = shared_passages(QUERY, OTHER, shingle=Shingle("char", 5), normalize=Normalize("nfc"))
    assert shown(window, "q0-") == expected(QUERY, found.a)
    assert shown(window, "d0-") == expected(OTHER, found.b)
    assert window.run("return document.querySelector('.id').textContent") == "a <b>"
    assert window.console() == []


@pytest.fixture
def real(window: Browser, running: Callable[..., Running], tmp_path: Path) -> Iterator[Browser]:
    """The page over an index of sixty documents that may be written; in the end the console must have said nothing."""
    path = tmp_path / "real.index"
    with neardup.Index.create(path, threshold=0.6, shingle="char:5") as index:
        index.add(["a/b <i>.", *(f"n{i}" for i in range(59))], [OTHER, *(f"text number {i}" for i in range(59))])
    window.open(running(path).url)
    window.wait("return document.getElementById('index').textContent.startsWith('60 documents')")
    yield window
    assert window.console() == []
    window.open("about:blank")  # so that nothing asks a service that has ended


IDS = "return [...document.querySelectorAll('#rows .id')].map((e) => e.textContent)"


def test_the_documents_are_browsed_and_one_is_looked_for(real: Browser):
    real.click("nav a[href='#/browse']")
    real.wait("return document.querySelectorAll('#rows tr').length === 50")
    assert real.run("return document.querySelector('nav [aria-current]').textContent") == "Browse"
    real.click("#next")
    real.wait("return document.querySelectorAll('#rows tr').length === 10")
    assert real.run(IDS) == [f"n{i}" for i in range(49, 59)]
    real.click("#back")
    real.wait("return document.querySelectorAll('#rows tr').length === 50")
    real.type("#prefix", "n5")
    real.wait("return document.querySelectorAll('#rows tr').length === 10")
    assert real.run(IDS) == ["n5", *(f"n{i}" for i in range(50, 59))]
    real.run("const e = document.getElementById('prefix'); e.value = 'a/'; e.dispatchEvent(new Event('input'))")
    real.wait("return document.querySelectorAll('#rows tr').length === 1")
    real.click("#rows a")
    real.wait("return document.querySelector('.whole')")
    assert real.run("return document.querySelector('#document-view h1').textContent") == "a/b <i>."
    assert real.run("return document.querySelector('.whole').textContent").endswith(OTHER[-30:])
    real.click("#document-view button")
    real.wait("return document.querySelector('.hit')")
    assert real.run("return document.querySelector('.share').textContent") == "100%"


def test_a_text_is_added_once_and_what_became_of_it_is_said(real: Browser):
    def add(id: str) -> str:
        real.run("document.getElementById('added').textContent = ''; document.getElementById('add-box').open = true")
        real.run("document.getElementById('add-id').value = arguments[0]", id)
        real.click("#add button")
        told = "const told = document.getElementById('added').textContent; return told !== 'Adding…' && told"
        return str(real.wait(told))

    real.run("document.getElementById('text').value = 'a text that is quite another one'")
    assert add("") == "Give the document an id."
    assert add("new") == "Added as new."
    real.wait("return document.getElementById('index').textContent.startsWith('61 documents')")
    assert add("newer") == "Not added: it is 100% similar to new."


def test_statistics_are_tables_and_a_chart_with_a_name(real: Browser):
    real.click("nav a[href='#/statistics']")
    real.wait("return document.querySelector('.curve')")
    figures = real.run("return [...document.querySelectorAll('.figures dd')].map((e) => e.textContent)")
    assert figures[:3] == ["60", "60", "0"]
    assert real.run("return document.querySelector('.line-chart').ariaLabel").startswith(
        "Probability that a query finds"
    )
    assert real.run("return document.querySelectorAll('#statistics-view details tbody tr').length") == 21


def test_the_description_is_shown_and_an_operation_tried(real: Browser):
    real.click("nav a[href='docs']")
    real.wait("return document.querySelector('.operation')")
    described = real.run("return fetch('openapi.json').then((answer) => answer.json())")
    operations = real.run("return [...document.querySelectorAll('#operations .operation')].map((e) => e.id)")
    assert sorted(operations) == sorted(
        item[method]["operationId"]
        for item in described["paths"].values()
        for method in ("get", "post", "delete")
        if method in item
    )
    schemas = real.run("return [...document.querySelectorAll('#schemas .operation')].map((e) => e.id)")
    assert sorted(schemas) == sorted(f"schema-{name}" for name in described["components"]["schemas"])
    assert real.run(
        "return [...document.querySelectorAll('a[href^=\"#schema-\"]')].every((e) => document.querySelector(e.hash))"
    )
    real.run("document.getElementById('getDocument').open = true")
    real.wait("return document.querySelector('#getDocument form')")
    real.type("#getDocument input", "a/b <i>.")
    real.click("#getDocument form button")
    answer = real.wait(
        "const e = document.querySelector('#getDocument .answer'); return e.textContent.length > 9 && e.textContent"
    )
    status, body = answer.split("\n", 1)
    assert (status, json.loads(body)) == ("200", {"id": "a/b <i>.", "text": OTHER})
    real.run("document.getElementById('query').open = true; window.scrollTo(0, 0)")
    real.wait("return document.querySelector('#query form')")
    real.click("#query form button")
    real.wait("return document.querySelector('#query .answer').textContent.startsWith('200')")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_view_is_wider_than_the_window(real: Browser, width: int):
    real.devtools(
        "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
    )
    sizes = "const e = document.documentElement; return e.scrollWidth - e.clientWidth"
    try:
        for view, there in (("browse", "#rows tr"), ("statistics", ".curve"), ("document/n1", ".whole")):
            real.run("location.hash = arguments[0]", f"#/{view}")
            real.wait("return document.querySelector(arguments[0])", there)
            assert real.run(sizes) <= 0
        real.click("nav a[href='docs']")
        real.wait("return document.querySelector('.operation')")
        real.run("for (const one of document.querySelectorAll('details.operation')) one.open = true")
        shut = "return !document.querySelector('#operations .operation:not(:has(form))')"
        real.wait(shut)
        assert real.run(sizes) <= 0
    finally:
        real.devtools("Emulation.clearDeviceMetricsOverride")
