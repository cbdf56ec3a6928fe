"""Requests that two servers could read in two ways, over real sockets: one answer at most, and the connection ends.

Each case is followed on its connection by a second request, which would be answered by a service that takes the end of
the first one to be somewhere else (request smuggling).
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator

import pytest
from httptools import HttpParserError
from tests.server.conftest import make_roses
from tests.server.running import Running, read_all, run_service

from neardup.server.heads import read_head
from neardup.server.protocol import HEAD_BYTES

BODY = b'{"text": "a rose is a rose"}'
SMUGGLED = b"GET /info?smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
TYPE = b"Content-Type: application/json\r\n"
TE = b"Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service without a token."""
    folder = tmp_path_factory.mktemp("framing")
    make_roses(folder / "roses.index").close()
    running = run_service(folder / "roses.index")
    try:
        yield running
        running.terminate()
        assert running.wait() == (0, "")
    finally:
        running.kill()


def _ask(service: Running, *parts: bytes) -> list[tuple[int, bytes]]:
    """Send bytes on one connection; status and head of every answer until the service closes it."""
    with service.connect() as connection:
        try:
            for part in parts:
                connection.sendall(part)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it was refused and closed before all was sent
        received = read_all(connection)
    heads = re.findall(rb"HTTP/1\.1 (\d{3}) [^\r]*\r\n(.*?)\r\n\r\n", received, re.DOTALL)
    return [(int(status), head.lower()) for status, head in heads]


def _post(headers: bytes, body: bytes, *, version: bytes = b"1.1", target: bytes = b"/query") -> bytes:
    return b"POST %s HTTP/%s\r\nHost: localhost\r\n%s%s\r\n%s" % (target, version, TYPE, headers, body)


@pytest.mark.parametrize(
    "headers",
    [
        LENGTH + TE,
        TE + LENGTH,
        b"Content-Length: 0\r\n" + TE,
        b"content-length: 4\r\ntransfer-encoding: CHUNKED\r\n",
        b"Content-Length: 4\r\nTransfer-Encoding: \tchunked \r\n",
        b"Content-Length: 4\r\nTransfer-Encoding:\r\n chunked\r\n",
        b"Connection: keep-alive, Content-Length\r\n" + LENGTH + TE,
    ],
)
def test_length_together_with_transfer_coding_is_refused_and_ends_the_connection(
    service: Running, headers: bytes
) -> None:
    answers = _ask(service, _post(headers, CHUNKED) + SMUGGLED)
    assert [status for status, _ in answers] == [400]
    assert b"connection: close" in answers[0][1]


def test_refusal_says_what_to_send(service: Running) -> None:
    with service.connect() as connection:
        connection.sendall(_post(LENGTH + TE, CHUNKED))
        told = json.loads(read_all(connection).partition(b"\r\n\r\n")[2])
    assert "both Content-Length and Transfer-Encoding" in told["error"]


def test_body_of_both_kinds_is_never_read_as_a_request(service: Running) -> None:
    """The classic: a proxy goes by the length, a server by the chunks, and what is behind them is someone else's."""
    body = b"0\r\n\r\n" + SMUGGLED
    answers = _ask(service, _post(b"Content-Length: %d\r\n" % len(body) + TE, body))
    assert [status for status, _ in answers] == [400]


@pytest.mark.parametrize(
    "value",
    [b"+28", b"-28", b"28 28", b"2 8", b"0x1c", b"1e1", b"28,29", b"28, 29", b",28", b"28,", b"", b"\xb2\xb8",
     b"28, 28", b"28;q=1", b"9" * 30, b"9" * 5000],
)  # fmt: skip
def test_length_that_is_no_number_is_refused_and_ends_the_connection(service: Running, value: bytes) -> None:
    answers = _ask(service, _post(b"Content-Length: " + value + b"\r\n", BODY) + SMUGGLED)
    assert [status for status, _ in answers] == [400]
    assert b"connection: close" in answers[0][1]


@pytest.mark.parametrize("second", [b"28", b"29", b"0", b"028", b"+28"])
def test_two_lengths_are_refused_even_if_they_are_equal(service: Running, second: bytes) -> None:
    for headers in (LENGTH + b"Content-Length: " + second, b"Content-Length: " + second + b"\r\n" + LENGTH[:-2]):
        answers = _ask(service, _post(headers + b"\r\n", BODY) + SMUGGLED)
        assert [status for status, _ in answers] == [400]


@pytest.mark.parametrize(
    "value",
    [b"chunked, identity", b"chunked, gzip", b"gzip, chunked", b"chunked, chunked", b"identity", b"xchunked",
     b"chunked;a", b'"chunked"', b"", b"chun\x00ked", b"\x0bchunked", b"chunked\x0b"],
)  # fmt: skip
def test_other_transfer_codings_are_refused_and_end_the_connection(service: Running, value: bytes) -> None:
    answers = _ask(service, _post(b"Transfer-Encoding: " + value + b"\r\n", CHUNKED) + SMUGGLED)
    assert [status for status, _ in answers] == [400]
    assert b"connection: close" in answers[0][1]


def test_two_transfer_codings_are_refused(service: Running) -> None:
    for other in (TE, b"Transfer-Encoding: identity\r\n"):
        for headers in (TE + other, other + TE):
            assert [status for status, _ in _ask(service, _post(headers, CHUNKED) + SMUGGLED)] == [400]


def test_transfer_coding_in_http_1_0_is_refused(service: Running) -> None:
    for headers in (TE, TE + b"Connection: keep-alive\r\n", TE + LENGTH):
        assert [status for status, _ in _ask(service, _post(headers, CHUNKED, version=b"1.0") + SMUGGLED)] == [400]
    assert [status for status, _ in _ask(service, _post(LENGTH, BODY, version=b"1.0") + SMUGGLED)] == [200]


@pytest.mark.parametrize("version", [b"0.9", b"1.2", b"2.0", b"3.0", b"1", b"1.10", b"11"])
def test_other_versions_are_refused(service: Running, version: bytes) -> None:
    assert [status for status, _ in _ask(service, _post(LENGTH, BODY, version=version) + SMUGGLED)] == [400]


@pytest.mark.parametrize(
    "line",
    [
        b"Transfer-Encoding : chunked",
        b"Content-Length : 28",
        b"Content-Length\t: 28",
        b" Content-Length: 28: 28",
        b": 28",
        b"Content-Length",
        b"X: a\x00b",
        b"X: a\rb",
        b"X: a\rContent-Length: 28",
        b"X\x00: a",
        b"X Y: a",
        b"X\xff: a",
    ],
)
def test_malformed_header_is_refused_and_ends_the_connection(service: Running, line: bytes) -> None:
    head = b"POST /query HTTP/1.1\r\n" + line + b"\r\nHost: localhost\r\n" + TYPE + b"\r\n"
    answers = _ask(service, head + BODY + SMUGGLED)
    assert [status for status, _ in answers] == [400]
    assert b"connection: close" in answers[0][1]


@pytest.mark.parametrize("fold", [b"\r\n ", b"\r\n\t", b"\r\n \r\n "])
def test_folded_line_is_refused(service: Running, fold: bytes) -> None:
    """RFC 9112, section 5.2: a server may refuse a fold, which some take for a space and some for a new line."""
    for name, value in ((b"Content-Length", b"28"), (b"X", b"Transfer-Encoding: chunked"), (b"X", b"a")):
        headers = name + b":" + fold + value + b"\r\n" + (LENGTH if name == b"X" else b"")
        assert [status for status, _ in _ask(service, _post(headers, BODY) + SMUGGLED)] == [400]


def test_bare_line_feed_is_refused_at_once(service: Running) -> None:
    """RFC 9112, section 2.2: a server need not take a lone line feed for the end of a line."""
    plain = _post(LENGTH, b"").replace(b"\r\n", b"\n")
    for head in (plain, plain.replace(b"Host", b"\rHost"), _post(LENGTH, b"").replace(b"localhost\r", b"localhost")):
        assert [status for status, _ in _ask(service, head + BODY + SMUGGLED)] == [400]
    assert [status for status, _ in _ask(service, b"GET /info HTTP/1.1\n")] == [400]  # no end of the head follows
    no_returns = CHUNKED.replace(b"\r\n", b"\n")
    for chunks in (no_returns, CHUNKED.replace(b"\r\n0", b"\n0"), CHUNKED.replace(b"c\r\n", b"c\n")):
        assert [status for status, _ in _ask(service, _post(TE, chunks) + SMUGGLED)] == [400]


@pytest.mark.parametrize(
    "line",
    [
        b"GET /info",
        b"GET /info RTSP/1.1",
        b"SOURCE /info ICE/1.1",
        b"GET  /info HTTP/1.1",
        b"GET /info  HTTP/1.1",
        b"GET\t/info HTTP/1.1",
        b"GET /info HTTP/1.1 ",
        b" GET /info HTTP/1.1",
        b"\r\nGET /info HTTP/1.1",
        b"\rGET /info HTTP/1.1",
        b"GET /info http/1.1",
        b"GET /info HTTP/1.1\r\n",
        b"GET /in\x80fo HTTP/1.1",
        b"GET /info#x HTTP/1.1",
        b"GET /info\x7f HTTP/1.1",
        b"G(T /info HTTP/1.1",
        b"get /info HTTP/1.1",
        b"GETS /info HTTP/1.1",
        b"PRI * HTTP/2.0",
        b"\x16\x03\x01",
    ],
)
def test_request_line_outside_the_grammar_is_refused(service: Running, line: bytes) -> None:
    """llhttp itself takes several of these."""
    assert [status for status, _ in _ask(service, line + b"\r\nHost: localhost\r\n\r\n" + SMUGGLED)] == [400]


def test_white_space_after_a_value_and_empty_values_do_no_harm(service: Running) -> None:
    odd = b"POST /query HTTP/1.1\r\nHos:\r\nX:\r\nhost:\tlocalhost \t\r\n" + TYPE + LENGTH[:-2] + b"\t \r\n\r\n" + BODY
    assert [status for status, _ in _ask(service, odd + SMUGGLED)] == [200, 200]
    split = odd.replace(b"X:\r\nhost", b"t")  # "Hos" and "t" are not Host
    assert [status for status, _ in _ask(service, split + SMUGGLED)] == [400]


@pytest.mark.parametrize("name", [b"Content-Length", b"Transfer-Encoding", b"Host", b"Upgrade"])
def test_white_space_inside_a_value_takes_linear_time(name: bytes) -> None:
    """By a pattern that strips the value, this head takes minutes, and one of 16 kB takes seconds."""
    fields = name + b": x" + b" " * 150_000 + b"y"
    if name != b"Host":
        fields += b"\r\nHost: a"
    with contextlib.suppress(HttpParserError):
        read_head(b"POST /query HTTP/1.1\r\n" + fields + b"\r\n\r\n")


@pytest.mark.parametrize("upgrade", [b"websocket", b"h2c", b"TLS/1.0"])
def test_upgrade_is_ignored_and_the_body_stays_a_body(service: Running, upgrade: bytes) -> None:
    """Java's client asks for h2c with every request. llhttp would take the body for another protocol."""
    asking = b"Connection: Upgrade, HTTP2-Settings\r\nUPGRADE: " + upgrade + b"\r\n"
    for headers, body in ((asking + LENGTH, BODY), (TE + asking, CHUNKED)):
        asked = _post(headers, body)
        assert [status for status, _ in _ask(service, asked + SMUGGLED)] == [200, 200]
        cut = len(asked) - len(body)
        assert [status for status, _ in _ask(service, asked[:cut], asked[cut:], SMUGGLED)] == [200, 200]


@pytest.mark.parametrize(
    "chunks",
    [b"+1c\r\n", b"-1c\r\n", b"0x1c\r\n", b" 1c\r\n", b"1c 1c\r\n", b"g\r\n", b"\r\n", b"ffffffffffffffffffffff\r\n",
     b"1c \r\n", b"1c\t\r\n", b"1c\r", b"1c\r\r\n", b"1c;\r\n", b"1c; a\r\n", b"1c;a=\x01\r\n", b"1c;a\nb\r\n",
     b"1c;a=\"\r\n",
     b"1c;a\x00\r\n", b"1c;a=\"b\"c\r\n", b"1c;\xff\r\n"],
)  # fmt: skip
def test_malformed_chunk_ends_the_connection_without_a_second_answer(service: Running, chunks: bytes) -> None:
    answers = _ask(service, _post(TE, chunks + BODY + b"\r\n0\r\n\r\n") + SMUGGLED)
    assert len(answers) <= 1
    assert all(status >= 400 for status, _ in answers)


def test_chunk_that_is_longer_than_it_says_ends_the_connection(service: Running) -> None:
    answers = _ask(service, _post(TE, b"1b\r\n" + BODY + b"\r\n0\r\n\r\n") + SMUGGLED)
    assert len(answers) <= 1
    assert all(status >= 400 for status, _ in answers)


@pytest.mark.parametrize("end", [b"XX", b"\r", b"\nX", b"\n\r"])
def test_chunk_that_ends_with_other_bytes_than_a_line_end_is_refused(service: Running, end: bytes) -> None:
    """h11 before 0.16 took any two bytes for the end of a chunk."""
    answers = _ask(service, _post(TE, b"%x\r\n%s%s0\r\n\r\n" % (len(BODY), BODY, end)) + SMUGGLED)
    assert len(answers) <= 1
    assert all(status >= 400 for status, _ in answers)


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"http://localhost/info", b"evil.example", 200),  # the host of the target counts, by section 3.2.2
        (b"HTTP://LOCALHOST:8000/info", b"localhost", 200),
        (b"http://localhost/info?a=/../b", b"localhost", 200),
        (b"http://localhost", b"localhost", 200),
        (b"http://localhost?x", b"localhost", 200),
        (b"http://evil.example/info", b"localhost", 421),
        (b"http://localhost@evil.example/info", b"localhost", 400),
        (b"http://user@localhost/info", b"localhost", 400),
        (b"http:///info", b"localhost", 400),
        (b"http://", b"localhost", 400),
        (b"ftp://localhost/info", b"localhost", 400),
        (b"localhost/info", b"localhost", 400),
        (b"info", b"localhost", 400),
        (b"*", b"localhost", 400),
        (b"//localhost/info", b"localhost", 404),
        (b"/http://localhost/info", b"localhost", 404),
        (b"/info\x00", b"localhost", 400),
        (b"/in\rfo", b"localhost", 400),
    ],
)
def test_target_of_any_form_reaches_the_host_that_it_names(
    service: Running, target: bytes, host: bytes, status: int
) -> None:
    answers = _ask(service, b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (target, host))
    assert [answer for answer, _ in answers] == [status]


def test_methods_with_targets_of_their_own_are_answered(service: Running) -> None:
    close = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert [status for status, _ in _ask(service, b"OPTIONS *" + close)] == [404]
    assert [status for status, _ in _ask(service, b"CONNECT localhost:80" + close + SMUGGLED)] == [400]


@pytest.mark.parametrize(
    "hosts",
    [[], [b"localhost", b"localhost"], [b"localhost", b"evil.example"], [b"user@localhost"], [b"localhost:99999"],
     [b"localhost, localhost"], [b"evil.example\x00localhost"]],
)  # fmt: skip
def test_host_that_is_not_one_host_is_refused(service: Running, hosts: list[bytes]) -> None:
    head = b"".join(b"Host: " + host + b"\r\n" for host in hosts)
    answers = _ask(service, b"GET /info HTTP/1.1\r\n" + head + b"Connection: close\r\n\r\n")
    assert [status for status, _ in answers] == [400]


def test_two_hosts_end_the_connection(service: Running) -> None:
    twice = b"GET /info HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n"
    assert [status for status, _ in _ask(service, twice + SMUGGLED)] == [400]


def test_honest_requests_share_a_connection(service: Running) -> None:
    """The known good: lengths and chunks one after the other, and in pieces of one byte."""
    asked = _post(LENGTH, BODY) + _post(TE, CHUNKED) + SMUGGLED
    assert [status for status, _ in _ask(service, asked)] == [200, 200, 200]
    assert [status for status, _ in _ask(service, *(asked[i : i + 1] for i in range(len(asked))))] == [200, 200, 200]


def test_end_of_a_chunked_body_is_found_wherever_packets_are_cut(service: Running) -> None:
    """What looks like the end of a message may be in a chunk; after the true end comes the next request."""
    body = b"\r\n\r\n0\r\n\r\n" + BODY + b"\r\n\r\n"
    chunked = _post(TE, b'00%X;a=b;c="d;\\""\r\n%s\r\n0\r\nT: x\r\n\r\n' % (len(body), body))
    for follower, status in ((SMUGGLED, b"200"), (SMUGGLED.replace(b" ", b"  ", 1), b"400")):
        asked = chunked + follower  # llhttp would take the two spaces
        for cut in range(chunked.index(b"\r\n0\r\n"), len(chunked) + 4):
            with service.connect() as connection:
                connection.sendall(asked[:cut])
                time.sleep(0.001)  # so that these are two packets: if they are one, the test checks less
                connection.sendall(asked[cut:])
                answers = re.findall(rb"HTTP/1.1 (\d+)", read_all(connection))
                assert answers == [b"422", status]  # the body is a number


def test_trailer_is_not_a_header(service: Running) -> None:
    """RFC 9110, section 6.5.1: what follows the body must not count as what preceded it."""
    for trailer in (b"Host: evil.example", b"Content-Type: text/plain", b"X-Request-Id: trailed"):
        asked = _post(TE, CHUNKED[:-2] + trailer + b"\r\n\r\n")
        answers = _ask(service, asked + SMUGGLED)
        assert [status for status, _ in answers] == [200, 200]
        assert b"trailed" not in answers[0][1]
    for trailer in (b"Content-Length: 5", TE[:-2], b"X: \x00", b"X : a", b"X: a\r\n b"):
        assert [status for status, _ in _ask(service, _post(TE, CHUNKED[:-2] + trailer + b"\r\n\r\n") + SMUGGLED)] == [
            400
        ]


def test_head_extensions_and_trailers_have_a_limit(service: Running) -> None:
    head = b"GET /info HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: %s\r\n\r\n"
    fill = HEAD_BYTES - len(head) + 2
    assert [status for status, _ in _ask(service, head % (b"x" * fill))] == [200]
    assert [status for status, _ in _ask(service, head % (b"x" * (fill + 1)))] == [400]
    assert [status for status, _ in _ask(service, b"GET /" + b"x" * HEAD_BYTES)] == [400]
    for endless in (
        CHUNKED[:2] + b";" + b"x" * 300_000,
        CHUNKED[:-2] + b"X: " + b"x" * 300_000,
        CHUNKED[:-2] + b"X: y\r\n" * 50_000,
    ):
        assert [status for status, _ in _ask(service, _post(TE, endless))] == [400]


def test_refusal_waits_for_the_answer_before_it(service: Running) -> None:
    answers = _ask(service, _post(LENGTH, BODY) * 3 + b"this is not HTTP\r\n\r\n" + SMUGGLED)
    assert [status for status, _ in answers] == [200, 200, 200, 400]
