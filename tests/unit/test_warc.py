"""Web archives: the pages that were fetched, whatever way servers sent them, and what is no page is told."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.reading import read, zstd

from neardup.cli import main
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs

pytest.importorskip("warcio")
pytest.importorskip("lxml")
PAGE = "<title>t</title><p>{} page with a few words on it, and a last one: déjà"


def record(kind: str, address: str | None, content_type: str, body: bytes) -> bytes:
    """A record, written by hand: the reader's library has no part in it."""
    target = f"WARC-Target-URI: {address}\r\n" if address else ""
    head = f"WARC/1.0\r\nWARC-Type: {kind}\r\n{target}WARC-Date: 2026-01-01T00:00:00Z\r\n"
    return f"{head}Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body + b"\r\n\r\n"


def fetched(address: str, kind: str, body: bytes, status: str = "200 OK", more: str = "") -> bytes:
    http = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}\r\n".encode()
    return record("response", address, "application/http; msgtype=response", http + body)


def archive(path: Path, *, pack: Any = bytes) -> Path:
    """Three pages and two texts, with a picture, a page that was not found, and records about the others."""
    packed = gzip.compress(PAGE.format("Three").encode())
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(packed), packed)
    how = "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"
    records = [
        record("warcinfo", None, "application/warc-fields", b"software: test"),
        fetched("http://a/1", "text/html; charset=utf-8", PAGE.format("One").encode()),
        fetched("http://a/2", "text/html; charset=iso-8859-1", PAGE.format("Two").encode("latin-1")),
        fetched("http://a/3", "TEXT/HTML", chunked, more=how),
        fetched("http://a/4", "text/plain", b"plain words"),
        fetched("http://a/p.png", "image/png", b"\x89PNG"),
        fetched("http://a/5", "text/html", PAGE.format("Gone").encode(), "404 Not Found"),
        record("metadata", "http://a/1", "application/warc-fields", b"about: it"),
        record("conversion", "http://a/6", "text/plain", b"words of a WET file"),
    ]
    path.write_bytes(b"".join(map(pack, records)))  # each by itself, as crawlers pack them
    return path


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".zst", zstd)])
def test_the_pages_of_a_web_archive_are_documents(tmp_path: Path, suffix: str, pack: Any) -> None:
    path = archive(tmp_path / f"a.warc{suffix}", pack=pack)
    reader = open_inputs(path)
    every = read(path)
    words = "page with a few words on it, and a last one: déjà"
    assert every.texts == [f"One {words}", f"Two {words}", f"Three {words}", "plain words", "words of a WET file"]
    assert every.ids == [f"http://a/{i}" for i in (1, 2, 3, 4, 6)]
    assert every.rows == [2, 3, 4, 5, 9]
    assert [(each.reason, each.count) for each in reader.passed_over] == [("no page", 2)]


def test_a_page_that_cannot_be_read_ends_no_run(tmp_path: Path) -> None:
    records = [fetched("http://a/", "text/html", body) for body in (b"", PAGE.format("One").encode())]
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(b"".join(records)))
    every = read(tmp_path / "a.warc.gz")
    assert (len(every.texts), every.bad) == (1, 1)
    assert "http://a/" in every.faults[0]


def test_damage_is_told_and_the_command_says_what_was_no_page(tmp_path: Path) -> None:
    (tmp_path / "b.warc").write_bytes(b"this is no web archive\r\n\r\n")
    with pytest.raises(InputError, match=r"cannot be read as WARC"):
        read(tmp_path / "b.warc")
    path = archive(tmp_path / "a.warc")
    for size in (4, path.stat().st_size - 20):
        (tmp_path / "b.warc").write_bytes(path.read_bytes()[:size])
        with pytest.raises(InputError, match=r"cannot be read as WARC"):
            read(tmp_path / "b.warc")
    result = CliRunner().invoke(main, ["find", str(path), "--shingle", "word:2"])
    assert result.exit_code == 0, result.output
    assert "2 records of web archives that are no pages" in result.stderr
    refused = CliRunner().invoke(main, ["dedup", str(path), "-o", str(tmp_path / "out.warc")])
    assert refused.exit_code == 1
    assert "is a web archive, of which no clean copy is made" in refused.stderr
