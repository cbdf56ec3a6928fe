"""Tokens by file: roles, hashes, and a file that changes while the service runs."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import hmac
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient
from tests.server.conftest import Serving
from tests.warm import LIMIT

import neardup
from neardup.cli import main
from neardup.errors import InputError
from neardup.server import tokens
from neardup.server.tokens import READ, WRITE, TokenFile, Tokens, read_tokens

READER, WRITER = "word-of-the-reader", "word-of-the-writer"
CHANGES = [
    ("POST", "/documents", {"json": {"id": "new", "text": "a text"}}),
    (
        "POST",
        "/documents",
        {"content": b'{"id": 1, "text": "a"}\n', "headers": {"content-type": "application/x-ndjson"}},
    ),
    ("DELETE", "/documents/rose", {}),
    ("POST", "/compact", {"json": {}}),
]


def sent(client: TestClient, method: str, path: str, word: str, **more: dict) -> tuple[int, dict]:
    """Status and headers of the answer to a request with a token."""
    headers = {"authorization": f"Bearer {word}", **more.pop("headers", {})}
    answer = client.request(method, path, headers=headers, **more)
    if answer.status_code in (401, 403):
        assert set(answer.json()) == {"error"}
        assert word not in answer.text
    return answer.status_code, dict(answer.headers)


def kept(path: Path, content: str) -> Path:
    """A file with this content, for its owner alone."""
    path.write_text(content, encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with a token of each role, one as it is and one hashed."""
    hashed = hashlib.sha256(WRITER.encode()).hexdigest()
    return kept(tmp_path / "tokens.txt", f"# who asks\nread {READER}\n\n  write\tsha256:{hashed.upper()}\r\n")


def test_reader_asks_and_changes_nothing(index: neardup.Index, serving: Serving, file: Path) -> None:
    client = serving(index, tokens=TokenFile(file))
    before = index.info().generation
    for path in ("/info", "/documents", "/documents/rose", "/statistics", "/metrics", "/openapi.json"):
        assert sent(client, "GET", path, READER)[0] == 200, path
    assert sent(client, "POST", "/query", READER, json={"text": "a"})[0] == 200
    for method, path, more in CHANGES:
        status, headers = sent(client, method, path, READER, **more)
        assert status == 403
        assert "insufficient_scope" in headers["www-authenticate"]
    assert index.info().generation == before
    assert (
        'neardup_refused_total{reason="role"} 4'
        in client.get("/metrics", headers={"authorization": f"Bearer {READER}"}).text
    )


def test_writer_may_do_everything(index: neardup.Index, serving: Serving, file: Path) -> None:
    client = serving(index, tokens=TokenFile(file))
    assert sent(client, "GET", "/info", WRITER)[0] == 200
    assert [sent(client, method, path, WRITER, **more)[0] for method, path, more in CHANGES] == [201, 200, 204, 200]


def test_the_hash_in_the_file_lets_nobody_in(index: neardup.Index, serving: Serving, file: Path) -> None:
    client = serving(index, tokens=TokenFile(file))
    digest = hashlib.sha256(WRITER.encode()).hexdigest()
    for word in (digest, f"sha256:{digest}", READ, WRITE, "-", f"read {READER}"):
        assert sent(client, "GET", "/info", word)[0] == 401, word


def test_every_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them whatever is right, and digests of one length."""
    compared = []
    plain = hmac.compare_digest

    def noted(a: bytes, b: bytes) -> bool:
        compared.append((len(a), b))
        return plain(a, b)

    monkeypatch.setattr(tokens.hmac, "compare_digest", noted)
    words = ["one", "two", "three"]
    known = Tokens(dict.fromkeys(words, READ))
    digests = [(32, hashlib.sha256(word.encode()).digest()) for word in words]
    for given in (b"one", b"three", b"wrong", b"", b"x" * 10_000):
        compared.clear()
        known.role(given)
        assert compared == digests, given


def test_a_new_file_counts_without_a_restart(index: neardup.Index, serving: Serving, file: Path) -> None:
    client = serving(index, tokens=TokenFile(file, look_seconds=0))
    assert sent(client, "GET", "/info", READER)[0] == 200
    other = kept(file.with_name("new.txt"), "read another-word\n")
    os.replace(other, file)
    assert sent(client, "GET", "/info", READER)[0] == 401
    assert sent(client, "GET", "/info", "another-word")[0] == 200
    with file.open("a") as appended:  # the same file, written on
        appended.write(f"write {WRITER}\n")
    assert sent(client, "DELETE", "/documents/rose", WRITER)[0] == 204


def test_a_link_that_points_elsewhere_counts_too(tmp_path: Path) -> None:
    """So Kubernetes changes a secret: the link to the folder of its files is replaced."""
    for name, word in (("one", "first-word"), ("two", "other-word")):
        (tmp_path / name).mkdir()
        kept(tmp_path / name / "tokens", f"read {word}\n")
    (tmp_path / "data").symlink_to("one")
    (tmp_path / "tokens").symlink_to("data/tokens")
    known = TokenFile(tmp_path / "tokens", look_seconds=0)
    assert known.role(b"first-word") == READ
    (tmp_path / "next").symlink_to("two")
    os.replace(tmp_path / "next", tmp_path / "data")
    assert (known.role(b"first-word"), known.role(b"other-word")) == (None, READ)


def test_a_broken_new_file_keeps_the_tokens_and_is_logged_once(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    known = TokenFile(file, look_seconds=0)
    kept(file, "read a-new-word\nreed another-secret\n")
    for _ in range(3):
        assert known.role(READER.encode()) == READ
        assert known.role(b"a-new-word") is None
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "tokens.txt, line 2" in caplog.text
    assert "stay in force" in caplog.text
    assert "secret" not in caplog.text
    file.unlink()
    assert known.role(READER.encode()) == READ
    assert len(caplog.records) == 2
    kept(file, "read a-new-word\n")
    assert (known.role(READER.encode()), known.role(b"a-new-word")) == (None, READ)


def test_a_file_that_cannot_be_read_for_a_moment_is_read_again(
    file: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the process has no descriptor left: the token that was taken out must not stay in force for good."""
    known = TokenFile(file, look_seconds=0)
    kept(file, "read a-new-word\n")

    def busy(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", busy)
        for _ in range(3):
            assert known.role(READER.encode()) == READ
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "cannot be read: Too many open files" in caplog.text
    assert (known.role(READER.encode()), known.role(b"a-new-word")) == (None, READ)


@pytest.mark.parametrize("then", ["read another-word", f"read {WRITER}"])
def test_a_token_that_is_taken_out_writes_nothing_more_by_a_stream(
    index: neardup.Index, serving: Serving, file: Path, then: str
) -> None:
    service: Any = serving(index, tokens=TokenFile(file, look_seconds=0)).app
    sent: list[bytes] = []
    line = b'{"id": "line-%d", "text": "some text"}\n'

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))

    def answered() -> int:
        return b"".join(sent).count(b"\n")

    async def receive() -> dict[str, Any]:
        nonlocal asked
        while answered() < asked:  # a line is sent when the one before it was answered
            await asyncio.sleep(0.01)
        asked += 1
        if asked == 2:
            kept(file, f"{then}\n")
        return {"type": "http.request", "body": line % asked, "more_body": asked < 2}

    asked = 0
    told = {"content-type": "application/x-ndjson", "transfer-encoding": "chunked", "authorization": f"Bearer {WRITER}"}
    headers = [(name.encode(), value.encode()) for name, value in told.items()]
    scope = {"type": "http", "method": "POST", "path": "/documents", "raw_path": b"/documents", "query_string": b""}
    asyncio.run(service({**scope, "http_version": "1.1", "headers": headers}, receive, send))
    answers = [json.loads(each) for each in b"".join(sent).splitlines()]
    assert [each["status"] for each in answers] == ["added", "stopped"]
    assert "token" in answers[1]["error"]
    assert "line-1" in index
    assert "line-2" not in index


def test_the_file_is_looked_at_only_now_and_then(file: Path) -> None:
    now = [0.0]
    known = TokenFile(file, look_seconds=5, clock=lambda: now[0])
    kept(file, "read a-new-word\n")
    now[0] = 4.9
    assert known.role(b"a-new-word") is None
    now[0] = 5.0
    assert known.role(b"a-new-word") == READ


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"only-word\n")
    os.close(writing)
    known = TokenFile(f"/dev/fd/{reading}", look_seconds=0)
    os.close(reading)
    assert known.role(b"only-word") == WRITE


def test_one_word_is_a_token_for_everything(tmp_path: Path) -> None:
    assert read_tokens(kept(tmp_path / "t", "\ufeff# ours\n only-word \n")) == {"only-word": WRITE}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        (" \n# read nothing\n", "is empty"),
        ("two secret", "line 1, is no role and token"),
        ("secret\nsecret-2", "line 1, is no role"),
        ("read secret\nsecret", "line 2, is no role"),
        ("read secret more", "line 1, is no role"),
        ("READ secret", "line 1, is no role"),
        ("write schlüssel-secret", "line 1, has a token that is not plain ASCII"),
        ("write \x00secret", "line 1, has a token that is not plain ASCII"),
        ("write sha256:secret", "line 1, has a hash"),
        ("sha256:" + "a" * 63, "line 1, has a hash"),
        ("write SHA256:" + "a" * 64, "line 1, has a hash"),
        ("read secret\n\nwrite secret", "line 3, is the token of line 1 again"),
        (f"read secret\nwrite sha256:{hashlib.sha256(b'secret').hexdigest()}", "line 2, is the token of line 1"),
        ("# " + "x" * (1 << 20), "larger than 1 MiB"),
    ],
)
def test_file_that_cannot_be_used_is_refused_and_not_quoted(tmp_path: Path, content: str, says: str) -> None:
    file = kept(tmp_path / "tokens.txt", content)
    with pytest.raises(InputError) as told:
        TokenFile(file)
    assert f"{file}" in str(told.value)
    assert says in str(told.value)
    assert "secret" not in str(told.value)


def test_command_refuses_a_file_that_cannot_be_used(tmp_path: Path) -> None:
    for file in (kept(tmp_path / "bad.txt", "reed secret"), tmp_path / "absent.txt"):
        told = CliRunner().invoke(main, ["serve", str(tmp_path / "x"), "--token-file", str(file)])
        assert told.exit_code == 2
        assert file.name in told.stderr
        assert "secret" not in told.stderr


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tokens.txt"
    file.write_bytes(b"read \xff\xfe")
    with pytest.raises(InputError, match="no text"):
        read_tokens(file)


def test_file_that_others_can_read_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = kept(tmp_path / "tokens.txt", "word\n")
    assert TokenFile(file).warning is None
    file.chmod(0o640)
    warning = TokenFile(file).warning
    assert warning is not None
    assert "640" in warning
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)  # another user's, and ours by the group
    assert TokenFile(file).warning is None
    file.chmod(0o644)
    assert "644" in str(TokenFile(file).warning)


@pytest.mark.parametrize("word", ["write", "read"])
def test_a_role_alone_is_no_token(file: Path, word: str) -> None:
    """It is a file that is being written: its token comes a moment later."""
    known = TokenFile(file, look_seconds=0)
    kept(file, f"{word} ")
    assert known.role(word.encode()) is None
    assert known.role(READER.encode()) == READ


def test_a_pipe_in_the_place_of_the_file_holds_nobody_up(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    known = TokenFile(file, look_seconds=0)
    file.unlink()
    os.mkfifo(file)
    asked = threading.Thread(target=known.role, args=(b"any",), daemon=True)
    asked.start()
    asked.join(LIMIT / 10)
    assert not asked.is_alive()
    assert known.role(READER.encode()) == READ
    assert ["is a file no more" in record.getMessage() for record in caplog.records] == [True]
