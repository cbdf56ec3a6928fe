"""Streams of documents: a status line for each line, in order, whatever the line is."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.server.conftest import ROSES, Serving
from tests.warm import LIMIT

import neardup
from neardup.server.limits import ServiceLimits
from neardup.server.stream import _Lines

STREAM = {"content-type": "application/x-ndjson"}


def _post(client: TestClient, body: Any, parameters: str = "") -> list[dict[str, Any]]:
    answer = client.post(f"/documents{parameters}", content=body, headers=STREAM)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def _line(id: int | str, text: str) -> bytes:
    return json.dumps({"id": id, "text": text}).encode() + b"\n"


def test_every_line_has_its_status_in_order(client: TestClient, index: neardup.Index) -> None:
    body = b"".join(
        [
            b"\xef\xbb\xbf" + _line("a", "the first of the lines of this stream"),
            _line("rose", "there is such an id already"),
            b"{]\n",
            b"\n",
            _line(18, "a number is an id as well").replace(b"\n", b"\r\n"),
            b'{"id": "b", "text": 3}\n',
            _line("a", "an id of this very stream"),
            b'{"id": "c", "text": "the last line needs no end"}',
        ]
    )
    told = _post(client, body)
    assert [(status["line"], status.get("id"), status["status"]) for status in told] == [
        (1, "a", "added"),
        (2, "rose", "duplicate"),
        (3, None, "bad"),
        (4, None, "bad"),
        (5, 18, "added"),
        (6, None, "bad"),
        (7, "a", "duplicate"),
        (8, "c", "added"),
    ]
    assert [status["line"] for status in told if "error" in status] == [3, 4, 6]
    assert "text" in told[5]["error"]
    assert sorted(map(str, index)) == sorted([*map(str, ROSES), "a", "18", "c"])


def test_stream_without_a_line_is_empty(client: TestClient) -> None:
    assert _post(client, b"") == []


class Skipping(asyncio.SelectorEventLoop):
    """A loop whose clock can be put forward."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead


@pytest.mark.parametrize(("end", "statuses"), [(b"\n", ["added"] * 5), (b" ", ["stopped"])])
def test_each_line_of_a_stream_may_take_the_whole_time(
    index: neardup.Index, serving: Serving, end: bytes, statuses: list[str]
) -> None:
    """Thirty seconds: five lines that take twenty each are in time, five parts of one line are not."""
    service: Any = serving(index, ServiceLimits(receive_seconds=30)).app
    loop, lines, sent = Skipping(), [_line(f"slow-{n}", "a").replace(b"\n", end) for n in range(5)], []

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.01)  # a stream stores what it has when nothing comes for a moment
        loop.ahead += 20
        return {"type": "http.request", "body": lines.pop(0), "more_body": bool(lines)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))

    headers = [(b"content-type", STREAM["content-type"].encode()), (b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "method": "POST", "path": "/documents", "raw_path": b"/documents", "query_string": b""}
    loop.run_until_complete(service({**scope, "http_version": "1.1", "headers": headers}, receive, send))
    loop.close()
    assert [json.loads(line)["status"] for line in b"".join(sent).splitlines()] == statuses


def test_the_last_line_may_come_while_the_one_before_it_is_stored(
    index: neardup.Index, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_each, is_storing, may_store = index.add_each, threading.Event(), threading.Event()

    def held(*given: Any, **options: Any) -> list[str]:
        is_storing.set()
        assert may_store.wait(LIMIT)
        return add_each(*given, **options)

    monkeypatch.setattr(index, "add_each", held)
    service: Any = serving(index).app
    lines, sent = [_line("one", "a"), _line("two", "b")], []

    async def receive() -> dict[str, Any]:
        if len(lines) == 1:
            await asyncio.to_thread(is_storing.wait, LIMIT)
            asyncio.get_running_loop().call_soon(may_store.set)  # when this has arrived
        return {"type": "http.request", "body": lines.pop(0), "more_body": bool(lines)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))

    headers = [(b"content-type", STREAM["content-type"].encode()), (b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "method": "POST", "path": "/documents", "raw_path": b"/documents", "query_string": b""}
    asyncio.run(service({**scope, "http_version": "1.1", "headers": headers}, receive, send))
    assert [json.loads(line)["id"] for line in b"".join(sent).splitlines()] == ["one", "two"]


@pytest.mark.parametrize(("option", "status"), [("skip", "skipped"), ("replace", "replaced")])
def test_id_that_is_there_is_what_on_duplicate_says(client: TestClient, option: str, status: str) -> None:
    told = _post(client, _line("rose", "another") + _line("x", "x"), f"?on_duplicate={option}")
    assert [line["status"] for line in told] == [status, "added"]


def test_near_duplicates_of_the_index_and_of_the_stream_are_left_out(client: TestClient, index: neardup.Index) -> None:
    fresh = "a sentence of some length that was not in the index before today"
    body = _line("r", ROSES["rose"]) + _line("f", fresh) + _line("g", fresh + ".") + _line("f", "another")
    told = _post(client, body, "?if_new=true")
    assert [line["status"] for line in told][:3] == ["near-duplicate", "added", "near-duplicate"]
    assert told[0]["match"] == {"id": "rose", "similarity": 1.0}
    assert told[2]["match"]["id"] == "f"
    assert told[3]["status"] == "duplicate"
    assert "r" not in index
    assert "g" not in index


def test_batches_are_cut_by_count(index: neardup.Index, serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    plain = type(index).add_each

    def noted(self: neardup.Index, ids: list[str], texts: list[str], **options: str) -> list[str]:
        calls.append(len(ids))
        return plain(self, ids, texts, **options)

    monkeypatch.setattr(type(index), "add_each", noted)
    client = serving(index, ServiceLimits(batch=10))
    told = _post(client, b"".join(_line(f"d{n}", f"text number {n}") for n in range(25)))
    assert [line["line"] for line in told] == list(range(1, 26))
    assert {line["status"] for line in told} == {"added"}
    assert calls == [10, 10, 5]


def test_blank_lines_do_not_pile_up(index: neardup.Index, serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    held = []
    plain = _Lines.take

    def noted(self: _Lines, most: int) -> list[bytes | None]:
        held.append(len(self.whole))
        return plain(self, most)

    monkeypatch.setattr(_Lines, "take", noted)
    client = serving(index, ServiceLimits(batch=100))
    told = _post(client, b"\n" * 1000 + _line("a", "the last of them"))
    assert [line["line"] for line in told] == list(range(1, 1002))
    assert [line["status"] for line in told] == ["bad"] * 1000 + ["added"]
    assert held == [*range(1001, 0, -100)]


def test_line_that_is_too_long_is_passed_over(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, ServiceLimits(document_bytes=100))

    def body() -> Iterator[bytes]:
        yield _line("a", "short")
        yield from [b"x" * 60] * 50
        yield b"\n" + _line("b", "short as well")
        yield b"y" * 101 + b"\n"
        yield b"z" * 200

    told = _post(client, body())
    assert [(line["line"], line["status"]) for line in told] == [
        (1, "added"), (2, "bad"), (3, "added"), (4, "bad"), (5, "bad"),
    ]  # fmt: skip
    assert "100 bytes" in told[1]["error"]


def test_lines_of_a_stream_are_held_within_the_limit(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, ServiceLimits(buffered_bytes=1000))
    answer = client.post("/documents", content=_line("a", "a" * 2000), headers=STREAM)
    assert answer.status_code == 503
    assert "neardup_buffered_bytes 0\n" in client.get("/metrics").text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=60).map(lambda data: data.replace(b"x", b"\n")), st.lists(st.integers(0, 60)), st.integers(1, 9)
)
def test_lines_do_not_depend_on_how_the_bytes_come(data: bytes, cuts: list[int], most: int) -> None:
    lines = _Lines(most)
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    for start, end in itertools.pairwise(edges):
        lines.feed(data[start:end])
    lines.finish()
    expected = data.removesuffix(b"\n").split(b"\n") if data else []
    assert lines.whole == [line if len(line) <= most else None for line in expected]
