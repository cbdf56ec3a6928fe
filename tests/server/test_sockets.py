"""The service in a process of its own, over real sockets: slow clients, full queues, streams both ways, the end."""

from __future__ import annotations

import json
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from tests.documents.living import until
from tests.server.conftest import ROSES, make_roses
from tests.server.running import Running, read_all, run_service
from tests.warm import LIMIT

import neardup

Start = Callable[..., Running]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with the limits that it has by itself."""
    yield from _shared(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with little patience."""
    limits = ("--head-seconds", "0.5", "--receive-seconds", "0.7", "--max-query-size", "100kB", "--max-streams", "1")
    yield from _shared(tmp_path_factory.mktemp("strict"), *limits)


def _shared(folder: Path, *options: str) -> Iterator[Running]:
    make_roses(folder / "roses.index").close()
    service = run_service(folder / "roses.index", *options)
    try:
        yield service
        service.terminate()
        assert service.wait() == (0, "")
    finally:
        service.kill()


def _post(body: bytes, *, path: str = "/query", headers: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _drip(connection: socket.socket, byte: bytes) -> None:
    """Send a byte again and again until the other side answers or closes."""
    connection.settimeout(0.1)
    for _ in range(10 * LIMIT):
        try:
            connection.sendall(byte)
            connection.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            continue
        except OSError:
            pass
        break
    else:
        raise AssertionError("the service waits for ever")
    connection.settimeout(LIMIT)


def test_head_that_drips_in_is_cut_off(strict: Running) -> None:
    with strict.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: ")
        _drip(connection, b"x")
        assert read_all(connection).startswith(b"HTTP/1.1 408 ")
    with strict.connect() as silent:  # a connection that never says a word
        assert read_all(silent).startswith(b"HTTP/1.1 408 ")
    with strict.connect() as second:  # the clock runs for the next request of a connection as well
        second.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while b'"ok"' not in second.recv(4096):
            pass
        _drip(second, b"\r\n")
    assert httpx2.get(f"{strict.url}/health").status_code == 200


def test_body_that_drips_in_is_408(strict: Running) -> None:
    with strict.connect() as connection:
        connection.sendall(_post(b"")[:-4].replace(b"Content-Length: 0", b"Content-Length: 500") + b"\r\n\r\n")
        _drip(connection, b" ")
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer
    assert "did not arrive" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def test_line_of_a_stream_that_drips_in_ends_the_stream(strict: Running) -> None:
    with strict.connect() as connection:
        connection.sendall(_stream_head() + _chunk(b'{"id": "drip", "text": "a"}\n'))
        received = b""
        while b"added" not in received:
            received += connection.recv(4096)
        _drip(connection, _chunk(b" "))
        received += read_all(connection)
    told = [json.loads(line) for line in _unchunked(received).splitlines()]
    assert [line["status"] for line in told] == ["added", "stopped"]
    assert told[-1]["line"] == 2


def test_client_that_does_not_read_its_answers_is_cut_off(strict: Running) -> None:
    asked = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200
    with strict.connect() as connection, pytest.raises((ConnectionResetError, BrokenPipeError)):
        _send_again_and_again(connection, asked)
    assert httpx2.get(f"{strict.url}/health").status_code == 200


def _send_again_and_again(connection: socket.socket, data: bytes) -> None:
    """As long as it is taken, up to hundreds of megabytes: the service takes 16 MB before it goes."""
    for _ in range(20_000):
        connection.sendall(data)


def test_large_body_is_refused_and_the_client_sees_why(strict: Running) -> None:
    headers = {"content-type": "application/json"}
    announced = httpx2.post(f"{strict.url}/query", content=b" " * 5_000_000, headers=headers)
    assert announced.status_code == 413

    def chunks() -> Iterator[bytes]:
        yield from (b" " * 10_000 for _ in range(500))

    in_chunks = httpx2.post(f"{strict.url}/query", content=chunks(), headers=headers)
    assert in_chunks.status_code == 413
    assert in_chunks.headers["connection"] == "close"
    with strict.connect() as connection:  # one that goes on for ever
        connection.sendall(_post(b"")[:-4].replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + b"\r\n\r\n")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):  # as it happens
            _send_again_and_again(connection, _chunk(b" " * 50_000))


def test_large_head_is_refused(strict: Running) -> None:
    with strict.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 50_000)
        assert read_all(connection).startswith(b"HTTP/1.1 400 ")
    with strict.connect() as connection:
        connection.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
        answer = read_all(connection)
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


def test_connections_beyond_the_limit_are_told_to_try_later(folder: Path, running: Start) -> None:
    service = running(folder, "--max-connections", "2")
    with service.connect() as first, service.connect() as second:
        for connection in (first, second):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in connection.recv(4096)
        with service.connect() as third:
            answer = read_all(third).lower()
            assert answer.startswith(b"http/1.1 503 ")
            assert b"retry-after: 1" in answer
    until(lambda: httpx2.get(f"{service.url}/health").status_code == 200)


def test_full_queue_is_503_with_retry_after_and_nothing_else_fails(folder: Path, running: Start) -> None:
    service = running(folder, "--threads", "1", "--max-waiting", "2")
    texts = ["x" + ROSES["rose"] * 300 + str(number) for number in range(30)]

    def ask(number: int) -> tuple[int, str | None]:
        answer = httpx2.post(f"{service.url}/query", json={"texts": texts, "top": 1 + number}, timeout=LIMIT)
        return answer.status_code, answer.headers.get("retry-after")

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(48)))
    assert set(answers) == {(200, None), (503, "1")}
    assert httpx2.get(f"{service.url}/health").status_code == 200
    assert 'neardup_refused_total{reason="queue"}' in httpx2.get(f"{service.url}/metrics").text


def test_stream_answers_each_line_before_the_next_is_sent(plain: Running) -> None:
    with plain.connect() as connection:
        connection.sendall(_stream_head())
        replies = connection.makefile("rb")
        for number in range(5):
            connection.sendall(_chunk(b'{"id": "s%d", "text": "text %d"}\n' % (number, number)))
            if number == 0:
                while replies.readline() != b"\r\n":
                    pass  # the head of the answer
            size = int(replies.readline(), 16)
            assert json.loads(replies.read(size)) == {"line": number + 1, "id": f"s{number}", "status": "added"}
            assert replies.readline() == b"\r\n"
            # What was acknowledged is there for others too, though the stream goes on.
            assert httpx2.get(f"{plain.url}/documents/s{number}").status_code == 200
        connection.sendall(b"0\r\n\r\n")
        assert replies.readline() == b"0\r\n"


def test_garbage_in_the_middle_of_a_stream_ends_the_connection(plain: Running) -> None:
    with plain.connect() as connection:
        connection.sendall(_stream_head() + _chunk(b'{"id": "before", "text": "it is whole"}\n'))
        received = connection.recv(4096)
        connection.sendall(b"this is no chunk\r\n")
        received += read_all(connection)
    assert json.loads(_unchunked(received))["status"] == "added"
    assert httpx2.get(f"{plain.url}/documents/before").status_code == 200


def test_requests_of_one_packet_are_answered_in_order(plain: Running) -> None:
    last = b"GET /documents/absent HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with plain.connect() as connection:
        head = b"HEAD /info HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.sendall(_post(b'{"text": ""}') + head + _post(b"{}") + last)
        answers = read_all(connection).split(b"HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [b"200", b"200", b"422", b"404"]
    assert answers[0].endswith(b'{"hits":[]}')
    assert answers[1].endswith(b"\r\n\r\n")


def test_streams_beyond_the_limit_are_told_to_try_later(strict: Running) -> None:
    with strict.connect() as connection:
        connection.sendall(_stream_head() + _chunk(b'{"id": "s", "text": "t"}\n'))
        assert b"200 OK" in connection.recv(4096)
        answer = httpx2.post(f"{strict.url}/documents", content=b"", headers={"content-type": "application/x-ndjson"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        connection.sendall(b"0\r\n\r\n")
        until(lambda: "neardup_streams 0\n" in httpx2.get(f"{strict.url}/metrics").text)
    assert httpx2.post(f"{strict.url}/documents", json={"id": 5, "text": "x"}).status_code == 201


def test_signal_while_documents_come_loses_nothing_acknowledged(folder: Path, running: Start) -> None:
    service = running(folder)
    acknowledged: list[str] = []
    stopped = threading.Event()

    def post(worker: int) -> None:
        with httpx2.Client(base_url=service.url, timeout=LIMIT) as client:
            for count in range(100_000):
                id = f"{worker}-{count}"
                try:
                    answer = client.post("/documents", json={"id": id, "text": f"document {id}"})
                except httpx2.TransportError:
                    return
                if answer.status_code == 201:
                    acknowledged.append(id)
                else:
                    assert answer.status_code == 503
                    return

    def stream() -> None:
        with service.connect() as connection:
            connection.settimeout(LIMIT)
            connection.sendall(_stream_head())
            reader = threading.Thread(target=lambda: received.append(read_all(connection)))
            reader.start()
            count = 0
            while not stopped.is_set():
                try:
                    connection.sendall(_chunk(b'{"id": "stream-%d", "text": "line %d"}\n' % (count, count)))
                except OSError:
                    break
                count += 1
                time.sleep(0.001)
            reader.join(LIMIT)

    received: list[bytes] = []
    threads = [threading.Thread(target=post, args=(worker,)) for worker in range(6)]
    threads.append(threading.Thread(target=stream))
    for thread in threads:
        thread.start()
    until(lambda: len(acknowledged) > 5)
    until(lambda: httpx2.get(f"{service.url}/documents/stream-30").status_code == 200)
    service.terminate()
    assert service.wait() == (0, "")
    stopped.set()
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()
    lines = [json.loads(line) for line in _unchunked(received[0]).splitlines()]
    assert lines[-1]["status"] == "stopped"
    assert "stopping" in lines[-1]["error"]
    streamed = [line["id"] for line in lines[:-1]]
    assert [line["line"] for line in lines] == list(range(1, len(lines) + 1))
    assert len(acknowledged) > 5
    assert len(streamed) > 20
    with neardup.Index.open(folder) as index:
        lost = [id for id in acknowledged + streamed if id not in index]
        assert lost == []
        assert f"stream-{len(streamed)}" not in index


def test_single_documents_that_arrive_together_share_commits(plain: Running) -> None:

    def post(worker: int) -> None:
        with httpx2.Client(base_url=plain.url, timeout=LIMIT) as client:
            for count in range(25):
                answer = client.post("/documents", json={"id": f"{worker}-{count}", "text": f"{worker} {count}"})
                assert answer.status_code == 201

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(post, range(12)))
    text = httpx2.get(f"{plain.url}/metrics").text
    commits = int(re.search(r"^neardup_write_groups_total (\d+)", text, re.MULTILINE)[1])  # type: ignore[index]
    assert commits < 300
    assert 'neardup_requests_total{route="/documents",method="POST",status="201"} 300\n' in text


def test_clients_at_once_admit_exactly_one_of_each_group_of_near_copies(plain: Running) -> None:
    draw = random.Random(5)
    texts = [" ".join(f"{draw.getrandbits(40):x}" for _ in range(40)) for _ in range(6)]

    def post(worker: int) -> list[str]:
        statuses = []
        with httpx2.Client(base_url=plain.url, timeout=LIMIT) as client:
            for group, text in enumerate(texts):
                body = {"id": f"copy-{group}-{worker}", "text": text + "!" * (worker % 3)}
                answer = client.post("/documents?if_new=true", json=body)
                assert answer.status_code in (200, 201)
                statuses.append(answer.json()["status"])
        return statuses

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(post, range(8)))
    for group, told in enumerate(zip(*statuses, strict=True)):
        assert sorted(told) == ["added", *["near-duplicate"] * 7]
        found = httpx2.post(f"{plain.url}/query", json={"text": texts[group]}).json()["hits"]
        assert [hit["id"] for hit in found] == [f"copy-{group}-{told.index('added')}"]


def test_token_is_needed_and_not_told(folder: Path, running: Start, tmp_path: Path) -> None:
    token = tmp_path / "token.txt"
    token.write_text("secret-word\n")
    token.chmod(0o644)
    service = running(folder, "--token-file", str(token), "--read-only")
    assert httpx2.get(f"{service.url}/info").status_code == 401
    assert httpx2.get(f"{service.url}/info", headers={"authorization": "Bearer secret-word"}).status_code == 200
    with neardup.Index.open(folder) as writer:  # who only reads leaves the index to another writer, and sees its work
        writer.add("late", "a document that came late")
        answer = httpx2.get(f"{service.url}/documents/late", headers={"authorization": "Bearer secret-word"})
        assert answer.status_code == 200
    service.terminate(signal.SIGINT)
    assert service.wait()[0] == 0


def test_port_that_is_taken_is_exit_code_1(folder: Path, plain: Running) -> None:
    with pytest.raises(AssertionError, match=rf"ended with 1:\n(?s:.*){plain.port} cannot be listened on"):
        run_service(folder, "--port", str(plain.port))


def _stream_head() -> bytes:
    head = b"POST /documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    return head + b"Transfer-Encoding: chunked\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _unchunked(answer: bytes) -> bytes:
    """The body of a chunked answer, as far as it came."""
    rest = answer.partition(b"\r\n\r\n")[2]
    body = b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size, 16)]
        rest = rest[int(size, 16) + 2 :]
    return body
