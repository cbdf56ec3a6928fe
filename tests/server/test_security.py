"""Who is let in, and what is told to whom."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient
from tests.server.conftest import Serving

import neardup
from neardup.cli import main
from neardup.errors import MissingDependency
from neardup.server import check_installed
from neardup.server.security import is_loopback
from neardup.server.tokens import WRITE, Tokens

TOKEN = "a-long-random-word"


@pytest.fixture
def guarded(index: neardup.Index, serving: Serving) -> TestClient:
    """A client of a service with a token."""
    return serving(index, tokens=Tokens({TOKEN: WRITE}))


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer x{TOKEN}"],
)
def test_wrong_token_is_401_before_anything_else(guarded: TestClient, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header}
    for method, path in [
        ("POST", "/query"), ("POST", "/documents"), ("GET", "/documents/rose"), ("DELETE", "/documents/rose"),
        ("GET", "/info"), ("GET", "/metrics"), ("GET", "/openapi.json"), ("GET", "/nowhere"), ("PUT", "/query"),
    ]:  # fmt: skip
        answer = guarded.request(method, path, headers=headers)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert TOKEN not in answer.text


def test_right_token_lets_in(guarded: TestClient) -> None:
    for scheme in ("Bearer", "bearer"):
        headers = {"authorization": f"{scheme} {TOKEN}"}
        assert guarded.get("/info", headers=headers).status_code == 200
        assert guarded.post("/query", json={"text": "a"}, headers=headers).status_code == 200


def test_pages_and_health_need_no_token(guarded: TestClient) -> None:
    for path in ("/", "/page.js", "/page.css", "/health", "/ready"):
        assert guarded.get(path).status_code == 200


def test_another_name_is_refused_where_there_is_no_token(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, hosts=frozenset({"localhost", "127.0.0.1", "[::1]"}))
    for host in ("localhost", "LOCALHOST:8000", "localhost:", "127.0.0.1:8000", "[::1]", "[::1]:65535", "[0:0::0:1]:1"):
        assert client.get("/info", headers={"host": host}).status_code == 200, host
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "localhost.", "[::2]:8000", "127.1",
                 "[::ffff:127.0.0.1]", "localhost,evil.example", "%6cocalhost", ":8000", ""):  # fmt: skip
        answer = client.get("/info", headers={"host": host})
        assert (answer.status_code, answer.json()["field"]) == (421, "Host"), host


@pytest.mark.parametrize(
    "host",
    [b"user@localhost", b"user:word@localhost:8000", b"@localhost", b"localhost@evil.example", b"localhost:80:80",
     b"localhost:65536", b"localhost:123456", b"localhost:" + b"9" * 5000, b"localhost:+80", b"localhost:-1",
     b"localhost:0x50", b"localhost: 80", b"localhost:80 ", b" localhost", b"local host", b"localhost/x",
     b"localhost?x", b"localhost#x", b"http://localhost", b"localhost, evil.example", b"localhost\\x", b'"localhost"',
     b"localhost\t", b"::1", b"[::1", b"::1]", b"[]", b"[::1]x", b"[::1]@evil.example", b"x[::1]", b"[[::1]]",
     b"[127.0.0.1]", b"[::g]", b"[localhost]", b"loc\xc3\xa4lhost", b"\xb2localhost", b"localhost:\xb2"],
)  # fmt: skip
@pytest.mark.parametrize("is_private", [True, False])
def test_malformed_host_is_400_also_where_a_token_is_needed(
    index: neardup.Index, serving: Serving, host: bytes, is_private: bool
) -> None:
    client = serving(
        index, **({"hosts": frozenset({"localhost", "[::1]"})} if is_private else {"tokens": Tokens({TOKEN: WRITE})})
    )
    answer = client.get("/info", headers=[(b"host", host), (b"authorization", f"Bearer {TOKEN}".encode())])
    assert (answer.status_code, answer.json()["field"]) == (400, "Host")


def test_second_host_is_400(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, hosts=frozenset({"localhost"}))
    for second in (b"localhost", b"evil.example", b""):
        answer = client.get("/info", headers=[(b"host", b"localhost"), (b"host", second)])
        assert (answer.status_code, answer.json()["field"]) == (400, "Host")


def test_loopback_is_this_machine_only() -> None:
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.9.9.9", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--host", "0.0.0.0"], "--token-file"),
        (["--host", "example.org"], "--no-token"),
        (["--no-token", "--token-file", "t"], "exclude"),
        (["--port", "65536"], "from 0 to 65535"),
        (["--threads", "0"], "1 or more"),
        (["--max-query-size", "big"], "big"),
        (["--answer-seconds", "0"], "above 0"),
        (["--answer-seconds", "nan"], "above 0"),
        (["--quiet", "--verbose"], "--quiet"),
        (["--access-log", "xml"], "json"),
    ],
)
def test_wrong_usage_is_exit_code_2(tmp_path: Path, options: list[str], says: str) -> None:
    told = CliRunner().invoke(main, ["serve", str(tmp_path / "x"), *options])
    assert told.exit_code == 2, told.output
    assert says in told.stderr


def test_index_that_is_not_there_is_exit_code_1(tmp_path: Path) -> None:
    told = CliRunner().invoke(main, ["serve", str(tmp_path / "absent.index"), "--port", "0"])
    assert told.exit_code == 1
    assert "absent.index" in told.stderr


def test_missing_library_is_named_with_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "uvicorn" else object())
    with pytest.raises(MissingDependency, match=r"needs uvicorn: pip install 'neardup\[server\]'"):
        check_installed()
