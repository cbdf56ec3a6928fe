"""The access log: what it tells of each request, and that nothing a user wrote is in it or in any other log."""

from __future__ import annotations

import io
import json
import logging
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import Serving
from tests.server.running import Running, read_all

import neardup
from neardup import logs
from neardup.server.access import logging_to
from neardup.server.tokens import LOOK_SECONDS, READ, Tokens

TEXT = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [A-Za-z0-9._-]{1,64} ([A-Z]+|other|-) ([/a-z{}.]+|-)"
    r" \d{3} \d+ B \d+\.\d ms (read|write|-)"
)
HOSTILE = [
    "SECRET",
    "SECRET\n2026-01-01T00:00:00.000Z 1 GET /info 200 1 B 0.1 ms write",
    "SECRET\r\n\x1b[2J\x00\x7f",
    "SECRET\u2028\u0085\u202e",
    'SECRET", "role": "write',
    "SECRET %s %d {0} ${jndi:ldap://x}",
    "SECRET\udcff",
]


def quoted(text: str) -> str:
    """Every byte of a text percent-encoded, lone surrogates too."""
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))


def ask_everything(client: TestClient, text: str) -> int:
    """Send a text in each place that a request has; returns the number of requests."""
    plain = text.encode("utf-8", "surrogatepass")
    header = "".join(char for char in text if char.isascii() and char.isprintable()).encode()
    requests = [
        ("GET", f"/documents/{quoted(text)}", {}),
        ("DELETE", f"/documents/{quoted(text)}", {}),
        ("GET", f"/{quoted(text)}", {}),
        ("GET", f"/info?{quoted(text)}={quoted(text)}", {}),
        ("GET", f"/documents?prefix={quoted(text)}", {}),
        ("POST", f"/documents?on_duplicate={quoted(text)}", {"json": {"id": 1, "text": "a"}}),
        ("POST", "/query", {"content": json.dumps({"text": text, "SECRET": 1})}),
        ("POST", "/query", {"content": json.dumps({"text": text, "with_text": True})}),
        ("POST", "/query", {"content": plain}),
        ("POST", "/documents", {"content": json.dumps({"id": text, "text": text})}),
        ("POST", "/documents", {"content": json.dumps({"id": text, "text": text})}),
        ("POST", "/documents", {"content": plain, "kind": b"application/x-ndjson"}),
        ("POST", "/documents", {"content": plain, "kind": header}),
        ("GET", "/info", {"more": [(b"x-request-id", header + b" "), (b"user-agent", header), (header[:6], header)]}),
        ("GET", "/info", {"more": [(b"authorization", b"Bearer " + header), (b"referer", header)]}),
        ("SECRET", "/info", {}),
    ]
    for method, path, more in requests:
        headers = [(b"content-type", more.pop("kind", b"application/json")), *more.pop("more", [])]
        client.request(method, path, headers=headers, **more)
    return len(requests)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_of_users_is_logged_and_no_line_is_forged(
    index: neardup.Index, serving: Serving, caplog: pytest.LogCaptureFixture, form: str, text: str
) -> None:
    caplog.set_level(logging.DEBUG, "neardup")
    client, log = serving(index), io.StringIO()
    with logging_to(log, form):
        count = ask_everything(client, text)
    lines = log.getvalue().splitlines()
    assert len(lines) == count
    for line in lines:
        assert TEXT.fullmatch(line) if form == "text" else set(json.loads(line)) == {
            "time", "request_id", "method", "path", "status", "bytes", "milliseconds", "role"
        }  # fmt: skip
        assert line.isascii()
        assert line.isprintable()
    logged = log.getvalue() + "".join(record.getMessage() for record in caplog.records if record.name[:7] == "neardup")
    assert "SECRET" not in logged
    assert "jndi" not in logged


def test_lines_say_what_was_asked_and_answered(index: neardup.Index, serving: Serving) -> None:
    client, log = serving(index, tokens=Tokens({"word": READ})), io.StringIO()
    with logging_to(log, "json"):
        answer = client.get("/documents/rose", headers={"authorization": "Bearer word", "x-request-id": "proxy-17.a_B"})
        client.head("/health")
        client.get("/info")
        client.get("/nowhere", headers={"authorization": "Bearer word"})
    first, *others = map(json.loads, log.getvalue().splitlines())
    assert answer.headers["x-request-id"] == "proxy-17.a_B"
    assert first.pop("time").endswith("Z")
    assert first.pop("milliseconds") >= 0
    assert first == {
        "request_id": "proxy-17.a_B",
        "method": "GET",
        "path": "/documents/{id}",
        "status": 200,
        "bytes": len(answer.content),
        "role": "read",
    }
    told = [(each["method"], each["path"], each["status"], each["role"]) for each in others]
    assert told == [("HEAD", "/health", 200, None), ("GET", "other", 401, None), ("GET", "other", 404, "read")]
    assert others[0]["bytes"] == 0


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "ä", 'a"b', "a\tb", "{}", None])
def test_request_id_that_is_no_plain_word_is_made_anew(client: TestClient, given: str | None) -> None:
    headers = [] if given is None else [(b"x-request-id", given.encode())]
    made = [client.get("/info", headers=headers).headers["x-request-id"] for _ in range(2)]
    assert made[0] != made[1]
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in made)


def test_answers_of_all_kinds_have_the_request_id(client: TestClient) -> None:
    headers = {"x-request-id": "one"}
    stream = {"content-type": "application/x-ndjson", **headers}
    answers = [
        client.get("/", headers=headers),
        client.get("/nowhere", headers=headers),
        client.delete("/documents/rose", headers=headers),
        client.post("/documents", content=b'{"id": 5, "text": "five"}', headers=stream),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 204, 200]
    assert {answer.headers["x-request-id"] for answer in answers} == {"one"}


def test_log_that_is_off_is_silent_and_set_up_ends(client: TestClient, capsys: pytest.CaptureFixture[str]) -> None:
    log = io.StringIO()
    with logging_to(None, "off"):
        client.get("/info")
    with logging_to(log, "text"):
        pass
    client.get("/info")
    assert log.getvalue() == capsys.readouterr().err == ""


def test_command_logs_also_what_no_route_hears_of(folder: Path, running: Callable[..., Running]) -> None:
    service = running(folder, "--access-log", "json")
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(b"SECRET\x00 is no HTTP\r\n\r\n")
        answer = read_all(connection)
    with socket.create_connection(("127.0.0.1", service.port)) as connection:
        connection.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 200 " in read_all(connection)
    service.terminate()
    code, said = service.wait()
    assert code == 0
    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("-", "-", 400),
        ("GET", "/ready", 200),
    ]
    assert f"x-request-id: {lines[0]['request_id']}\r\n".encode() in answer
    assert "SECRET" not in said


@pytest.mark.parametrize("access", ["json", "text"])
def test_with_a_log_of_the_run_each_request_is_one_record_of_it(
    client: TestClient, capsys: pytest.CaptureFixture[str], access: str
) -> None:
    with logs.writing(level="warning", format="json"), logging_to(None, access):
        client.get("/documents/rose")
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["level"], told["logger"], told["event"]) == ("info", "neardup.access", "request")
    assert (told["path"], told["status"], told["role"]) == ("/documents/{id}", 200, None)
    assert told["request_id"] in told["message"]


def test_requests_are_in_no_log_when_nobody_asks_for_them(
    client: TestClient, capsys: pytest.CaptureFixture[str]
) -> None:
    with logs.writing(level="debug"), logging_to(None, "off"):
        client.get("/info")
    assert capsys.readouterr().err == ""


def test_requests_go_to_the_file_of_the_log(folder: Path, running: Callable[..., Running], tmp_path: Path) -> None:
    file = tmp_path / "run.log"
    service = running(folder, "--access-log", "json", "--log-file", str(file))
    with service.connect() as connection:
        connection.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 200 " in read_all(connection)
    service.terminate()
    assert service.wait() == (0, "")
    (line,) = [line for line in file.read_text().splitlines() if "neardup.access" in line]
    assert re.search(r"INFO neardup\.access: [0-9a-f]{16} GET /ready 200 \d+ B \d+\.\d ms -$", line)


@pytest.mark.parametrize("is_logged", [False, True])
def test_what_goes_wrong_is_told_on_stderr(
    folder: Path, running: Callable[..., Running], tmp_path: Path, is_logged: bool
) -> None:
    tokens, file = tmp_path / "tokens.txt", tmp_path / "run.log"
    tokens.write_text("write a-long-random-word\n")
    tokens.chmod(0o600)
    service = running(folder, "--token-file", str(tokens), *(("--log-file", str(file)) if is_logged else ()))
    tokens.write_text("SECRET is no role\n")
    time.sleep(LOOK_SECONDS)
    with service.connect() as connection:
        connection.sendall(b"GET /info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b" 401 " in read_all(connection)
    service.terminate()
    code, said = service.wait()
    fault = f"the token file {tokens}, line 1, is no role and token."
    assert code == 0
    assert said.startswith(fault)
    assert said.count("\n") == 1
    assert (is_logged and fault in file.read_text()) == is_logged
    assert "SECRET" not in said
