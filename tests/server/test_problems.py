"""What the service refuses, and how it says so."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import Serving
from tests.warm import LIMIT

import neardup
from neardup.errors import OutputError
from neardup.server.limits import ServiceLimits


def _problem(answer: object, status: int, field: str | None = None) -> str:
    assert answer.status_code == status, answer.text  # type: ignore[attr-defined]
    body = answer.json()  # type: ignore[attr-defined]
    assert body.get("field") == field, body
    assert "Traceback" not in body["error"]
    return str(body["error"])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": 1}, "text"),
        ({"text": None}, "text"),
        ({"texts": ["a", 3]}, "texts[1]"),
        ({"text": "a", "top": 0}, "top"),
        ({"text": "a", "top": 1001}, "top"),
        ({"text": "a", "top": 1.5}, "top"),
        ({"text": "a", "top": "7"}, "top"),
        ({"text": "a", "top": True}, "top"),
        ({"text": "a", "threshold": 0.5}, "threshold"),
        ({"text": "a", "threshold": 1.01}, "threshold"),
        ({"text": "a", "threshold": 0}, "threshold"),
        ({"text": "a", "exact": 1}, "exact"),
        ({"text": "a", "exact": False, "threshold": 0.9}, "threshold"),
        ({"text": "a", "exhaustive": True}, "exhaustive"),
        ({"text": "a", "measure": "cosine"}, "measure"),
        ({"text": "a", "measure": "containment", "nearest": True}, "nearest"),
        ({"text": "a", "measure": "containment", "exact": False}, "exact"),
        ({"text": "a", "nearest": True, "exact": False}, "exact"),
        ({"text": "a", "any": True, "top": 10}, "top"),
        ({"texts": ["a"], "any": True, "exact": False}, "exact"),
        ({"text": "a", "any": True, "nearest": True}, "nearest"),
        ({"text": "a", "any": True, "measure": "containment"}, "measure"),
        ({"text": "a", "any": True, "threshold": 0.5}, "threshold"),
        ({"text": "a", "any": 1}, "any"),
        ({"text": "a", "extra": 1}, "extra"),
        ({"texts": ["a"], "passages": True}, "passages"),
        ({"text": "a", "texts": ["a"]}, "text"),
        ({}, "text"),
        ([], None),
        ("a", None),
    ],
)
def test_query_that_cannot_be_used_names_its_field(client: TestClient, body: object, field: str | None) -> None:
    assert _problem(client.post("/query", json=body), 422, field)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"id": "a"}, "text"),
        ({"text": "a"}, "id"),
        ({"id": 1.5, "text": "a"}, "id"),
        ({"id": True, "text": "a"}, "id"),
        ({"id": None, "text": "a"}, "id"),
        ({"id": "", "text": "a"}, "id"),
        ({"id": 2**63, "text": "a"}, "id"),
        ({"id": "x" * 1025, "text": "a"}, "id"),
        ({"id": "a", "text": ["a"]}, "text"),
        ({"id": "a", "text": "a", "meta": {}}, "meta"),
    ],
)
def test_document_that_cannot_be_used_names_its_field(client: TestClient, body: object, field: str | None) -> None:
    assert _problem(client.post("/documents", json=body), 422, field)


@pytest.mark.parametrize(
    "body", [b"", b"{", b'{"text": "a"', b"\xff", b'{"text": "\xff"}', b'{"text": "\\ud800"}', b"{'text': 'a'}"]
)
def test_body_that_is_no_json_is_400(client: TestClient, body: bytes) -> None:
    for path in ("/query", "/documents"):
        assert _problem(client.post(path, content=body, headers={"content-type": "application/json"}), 400)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_other_content_type_is_415(client: TestClient, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    for path in ("/query", "/documents", "/compact"):
        assert _problem(client.post(path, content=b'{"text": "a"}', headers=headers), 415, "Content-Type")
    _problem(client.post("/query", content=b"", headers={"content-type": "application/x-ndjson"}), 415, "Content-Type")


def test_content_type_may_have_parameters(client: TestClient) -> None:
    answer = client.post(
        "/query", content=b'{"text": "a"}', headers={"content-type": "Application/JSON; charset=utf-8"}
    )
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/query", "POST"),
        ("GET", "/compact", "POST"),
        ("PUT", "/documents", "DELETE, GET, HEAD, POST"),
        ("POST", "/documents/a", "DELETE, GET, HEAD"),
        ("DELETE", "/info", "GET, HEAD"),
        ("POST", "/", "GET, HEAD"),
        ("TRACE", "/health", "GET, HEAD"),
    ],
)
def test_other_method_is_405_and_says_which_there_are(client: TestClient, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path)
    _problem(answer, 405)
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
    "path", ["/nowhere", "/query/", "/page.html", "/../etc/passwd", "/documents/absent", "/documents/"]
)
def test_what_is_not_there_is_404(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert _problem(answer, 404, "id" if path.startswith("/documents/") else None)


def test_id_that_is_no_utf8_is_404(client: TestClient, index: neardup.Index) -> None:
    index.add("\ufffd", "the replacement character is an id like any other")
    _problem(client.delete("/documents/%FF"), 404, "id")
    assert "\ufffd" in index


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ("on_duplicate=keep", "on_duplicate"),
        ("on_duplicate=", "on_duplicate"),
        ("if_new=1", "if_new"),
        ("if_new=true&if_new=true", "if_new"),
        ("on_dupliacte=skip", "on_dupliacte"),
    ],
)
def test_parameter_that_cannot_be_used_is_named(client: TestClient, parameters: str, field: str) -> None:
    for kind in ("application/json", "application/x-ndjson"):
        answer = client.post(f"/documents?{parameters}", content=b"{}", headers={"content-type": kind})
        assert _problem(answer, 422, field)


def test_limits_on_texts_and_characters(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, ServiceLimits(characters=5, texts=2))
    assert client.post("/query", json={"texts": ["aaaaa", "🌹🌹🌹🌹🌹"]}).status_code == 200
    _problem(client.post("/query", json={"texts": ["a", "b", "c"]}), 422, "texts")
    _problem(client.post("/query", json={"texts": ["a", "aaaaaa"]}), 422, "texts[1]")
    _problem(client.post("/query", json={"text": "aaaaaa"}), 422, "text")
    _problem(client.post("/documents", json={"id": 1, "text": "aaaaaa"}), 422, "text")


def test_body_that_is_too_large_is_413_also_in_chunks(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, ServiceLimits(query_bytes=1000, document_bytes=2000))

    def chunks(count: int) -> Iterator[bytes]:
        yield from (b" " * 100 for _ in range(count))
        yield b'{"text":"a","id":1}'

    headers = {"content-type": "application/json"}
    for path, most in (("/query", 1000), ("/documents", 2000)):
        _problem(client.post(path, content=b" " * (most + 1), headers=headers), 413)
        _problem(client.post(path, content=chunks(most // 100), headers=headers), 413)
    assert client.post("/documents", content=chunks(9), headers=headers).status_code == 201


def test_bodies_of_all_requests_share_a_limit(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, ServiceLimits(buffered_bytes=1000))
    answer = client.post("/query", json={"text": "a" * 2000})
    _problem(answer, 503)
    assert answer.headers["retry-after"] == "1"
    for _ in range(3):  # what was held is given back, by a request that was refused as well
        assert client.post("/query", json={"text": "a" * 900}).status_code == 200
    assert "neardup_buffered_bytes 0\n" in client.get("/metrics").text


def test_index_that_is_read_only_is_not_changed(folder: Path, serving: Serving) -> None:
    with neardup.Index.open(folder, read_only=True) as index:
        client = serving(index)
        _problem(client.post("/documents", json={"id": "a", "text": "a"}), 403)
        stream = {"content-type": "application/x-ndjson"}
        _problem(client.post("/documents", content=b'{"id":"a","text":"a"}\n', headers=stream), 403)
        _problem(client.delete("/documents/rose"), 403)
        assert client.get("/documents/rose").status_code == 200
        assert client.get("/info").json()["read_only"] is True


def test_unexpected_error_is_logged_under_its_number_without_what_it_quotes(
    client: TestClient, index: neardup.Index, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: object, **options: object) -> None:
        try:
            raise KeyError("secret of the cause")
        except KeyError as exc:
            raise ZeroDivisionError("secret") from exc

    monkeypatch.setattr(type(index), "query", fail)
    answer = client.post("/query", json={"texts": ["a"]})
    assert "secret" not in _problem(answer, 500)
    assert f"incident {answer.json()['incident']}: Traceback" in caplog.text
    assert "KeyError\n" in caplog.text
    assert "ZeroDivisionError\n" in caplog.text
    assert ", in fail\n" in caplog.text
    assert "secret" not in caplog.text.replace("# secret", "").replace('("secret', "")  # lines of this file


def test_what_the_system_says_of_an_unexpected_error_is_logged(
    client: TestClient, index: neardup.Index, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", "/srv/news.index\x1b[2J")

    monkeypatch.setattr(type(index), "query", fail)
    _problem(client.post("/query", json={"texts": ["a"]}), 500)
    assert "PermissionError: [Errno 13] Permission denied" in caplog.text
    assert "\x1b" not in caplog.text


def test_full_disk_is_507_and_ends_a_stream(
    client: TestClient, index: neardup.Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OutputError("no room on the disk")

    monkeypatch.setattr(type(index), "add_each", fail)
    assert "no room" in _problem(client.post("/documents", json={"id": 1, "text": "a"}), 507)
    stream = b'{"id":1,"text":"a"}\n'
    answer = client.post("/documents", content=stream, headers={"content-type": "application/x-ndjson"})
    assert json.loads(answer.text) == {"line": 1, "status": "stopped", "error": "no room on the disk"}


def test_answer_that_takes_too_long_is_504(
    index: neardup.Index, serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()
    monkeypatch.setattr(type(index), "query", lambda *args, **options: told.wait(LIMIT))
    client = serving(index, ServiceLimits(answer_seconds=0.05))
    assert "0.05 s" in _problem(client.post("/query", json={"texts": ["a"]}), 504)
    told.set()
