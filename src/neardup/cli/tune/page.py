"""A person at a browser as the judge: the pair view of a report, one pair after the other, served on this machine only.

By the HTTP server of the standard library: one person asks for one pair at a time, and the base install can do it. What
guards it: it listens on the loopback, every path begins with a token that cannot be guessed, and a request must name
this machine as its host, so that no page of another site can answer in the person's place.
"""

from __future__ import annotations

import json
import queue
import secrets
import threading
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from neardup.engine.results.passages import Marker
from neardup.pages.pairs import LISTED, pair_data, text_data
from neardup.pages.site.render import asking_page, json_bytes
from neardup.params import Normalize, Shingle
from neardup.tasks.tune.asking import Reply
from neardup.tasks.tune.outcome import AskedPair

WAIT = 20.0
"""Seconds that a browser waits for the next pair before it asks again."""
FAREWELL = 3.0
"""Seconds that the browser has to hear that all is done."""
CHARACTERS = 100_000
"""Of each text on the page, at most; of a longer one windows around what both share."""
LONGEST = 10_000
"""Bytes of a reply, at most."""
SHORT = 300
"""Characters up to which texts are marked by single words, beyond by passages of three."""


class Page:
    """A server for one browser, from its start to its end."""

    name = "page"

    def __init__(self) -> None:
        """Listen on a free port."""
        self.token = secrets.token_urlsafe(24)
        self._replies: queue.Queue[Reply] = queue.Queue()
        self._changed = threading.Condition()
        self._turn = 0
        self._state: dict[str, Any] = {}
        self._is_done = self._is_told = False
        self.document = asking_page()
        self._answered = 0
        handler = type("Handler", (_Handler,), {"page": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="neardup-page", daemon=True)
        self._thread.start()

    def __enter__(self) -> Page:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser may call this machine."""
        port = self._server.server_address[1]
        return f"127.0.0.1:{port}", f"localhost:{port}"

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def ask(self, pair: AskedPair) -> Reply:
        """Show a pair, and wait for the reply."""
        shown = {"number": pair.number, "budget": pair.budget, "can_undo": self._answered > 0, "pair": _shown(pair)}
        with self._changed:
            self._turn += 1
            self._state = shown
            self._changed.notify_all()
        while True:
            try:
                reply = self._replies.get(timeout=1.0)  # so that Ctrl-C is heard on every system
            except queue.Empty:
                continue
            self._answered += {Reply.UNDO: -1, Reply.STOP: 0}.get(reply, 1)
            return reply

    def state(self, after: int) -> bytes:
        """What is shown now, as JSON; when that is what was shown at turn ``after``, the next within WAIT seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_done or (self._turn > after and self._state), WAIT)
            if self._is_done:
                self._is_told = True
                self._changed.notify_all()
                return json_bytes({"turn": self._turn + 1, "pair": None})
            is_new = self._turn > after and self._state
            return json_bytes({"turn": self._turn, **self._state} if is_new else {"turn": after})

    def take(self, turn: object, word: object) -> bool:
        """Take a reply on what is shown at a turn; False when it is shown no more: each is answered once."""
        with self._changed:
            if self._is_done or turn != self._turn or not self._state:
                return False
            self._state = {}
            self._replies.put(Reply(word))
            return True

    def close(self) -> None:
        """Tell the browser that all is done, and end."""
        with self._changed:
            self._is_done = True
            self._changed.notify_all()
            if self._turn:
                self._changed.wait_for(lambda: self._is_told, FAREWELL)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(FAREWELL)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no fault."""


class _Handler(BaseHTTPRequestHandler):
    page: ClassVar[Page]
    timeout = 2 * WAIT

    def do_GET(self) -> None:
        """The page, and what it shows."""
        url = urlsplit(self.path)
        if not self._is_allowed(url.path):
            return
        what = url.path.removeprefix(f"/{self.page.token}/")
        if what == "":
            self._answer(HTTPStatus.OK, self.page.document, "text/html; charset=utf-8")
        elif what == "state":
            after = parse_qs(url.query).get("after", ["0"])[0]
            number = int(after) if after.isascii() and after.isdecimal() and len(after) < 10 else 0
            self._answer(HTTPStatus.OK, self.page.state(number), "application/json")
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """A reply."""
        path = urlsplit(self.path).path
        if not self._is_allowed(path):
            return
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.page.hosts}:
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        size = self.headers.get("Content-Length", "")
        if path != f"/{self.page.token}/answer" or self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.NOT_FOUND)
        elif not (size.isascii() and size.isdecimal()) or len(size) > 9 or int(size) > LONGEST:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            self._take(self.rfile.read(int(size)))

    def _take(self, body: bytes) -> None:
        try:
            given = json.loads(body)
        except (ValueError, RecursionError):
            given = None
        words = [reply.value for reply in Reply]  # a list, because what came may be a list or an object
        if not isinstance(given, Mapping) or given.get("answer") not in words or not isinstance(given.get("turn"), int):
            self._refuse(HTTPStatus.BAD_REQUEST)
        elif self.page.take(given["turn"], given["answer"]):
            self._answer(HTTPStatus.OK, b"{}", "application/json")
        else:
            self._refuse(HTTPStatus.CONFLICT)

    def _is_allowed(self, path: str) -> bool:
        """Whether a request knows the token, and means this machine; else it is refused."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0].lower() not in self.page.hosts:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            return False
        token = path.encode("utf-8", "replace")[1:].partition(b"/")[0]
        if not secrets.compare_digest(token, self.page.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return False
        return True

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._answer(status, status.phrase.encode(), "text/plain; charset=utf-8")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response_only(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: paths have the token."""


def _shown(pair: AskedPair) -> dict[str, Any]:
    """What the pair view is given."""
    texts = pair.text_a, pair.text_b
    shingle = "word:1" if max(map(len, texts)) <= SHORT else "word:3"
    marker = Marker(shingle=Shingle.parse(shingle), normalize=Normalize.parse("nfc,casefold,punct"))
    passages = marker.shared(*map(marker.occurrences, texts))
    spans = passages.a[:LISTED], passages.b[:LISTED]
    return {
        "members": [
            {"id": str(id), "characters": len(text)} for id, text in zip((pair.id_a, pair.id_b), texts, strict=True)
        ],
        "texts": [text_data(text, marks, most=CHARACTERS) for text, marks in zip(texts, spans, strict=True)],
        "pair": pair_data(passages, (len(texts[0]), len(texts[1])), measure="jaccard"),
    }
