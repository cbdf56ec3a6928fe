"""Web archives: the pages that were fetched, whatever way servers sent them, and what is no page is told."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
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


def brotli(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="brotli", asbytes=True)
    return packed


def deflated(data: bytes) -> bytes:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return raw.compress(data) + raw.flush()


CODINGS = {
    "br": brotli,
    "BR": brotli,
    "zstd": zstd,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": deflated,
    "gzip, br": lambda data: brotli(gzip.compress(data)),
    "identity": bytes,
    "utf-8": bytes,
}
LONG = b"Long page: " + b" ".join(b"%d" % (i * i) for i in range(400))


@pytest.mark.parametrize("coding", CODINGS)
def test_a_packed_page_is_unpacked_or_is_a_bad_page(tmp_path: Path, coding: str) -> None:
    header, packed = f"Content-Encoding: {coding}\r\n", CODINGS[coding](LONG)
    bodies = {"whole": packed, "unpacked": LONG, "cut": packed[:-3], "half": packed[: len(packed) // 2]}
    records = [fetched(f"http://a/{name}", "text/plain", body, more=header) for name, body in bodies.items()]
    chunks = b"5;x=y\r\n" + packed[:5] + b"\r\n%X\r\n" % len(packed[5:]) + packed[5:] + b"\r\n"
    header += "Transfer-Encoding: Chunked\r\n"
    records += [fetched("http://a/chunked", "text/plain", chunks + b"0\r\nTrailer: x\r\n\r\n", more=header)]
    records += [fetched("http://a/cut-chunks", "text/plain", chunks[:-9], more=header)]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    every = read(tmp_path / "a.warc")
    texts = dict(zip(every.ids, every.texts, strict=True))
    whole = {f"http://a/{name}" for name in ("whole", "unpacked", "chunked")}
    assert {name for name, text in texts.items() if text.endswith(" 159201") and "Long page" in text} == whole
    if packed != LONG:
        assert (set(texts), every.bad) == (whole, 3)
        assert sum(f"coding {coding.lower().split(', ')[-1]!r}" in fault for fault in every.faults) == 2
    assert sum("ends in the middle of one" in fault for fault in every.faults) == 1


def test_a_coding_that_is_not_known_makes_a_bad_page_that_names_it(tmp_path: Path) -> None:
    page = fetched("http://a/", "text/plain", gzip.compress(LONG), more="Content-Encoding: dcz\r\n")
    (tmp_path / "a.warc").write_bytes(page + fetched("http://b/", "text/plain", LONG))
    every = read(tmp_path / "a.warc")
    assert (every.ids, every.bad) == (["http://b/"], 1)
    assert "the coding 'dcz'" in every.faults[0]
    page = fetched("http://a/", "text/plain", LONG, more="Content-Encoding: " + "br," * 300 + "\r\n")
    (tmp_path / "a.warc").write_bytes(page)
    assert "301 codings at once" in read(tmp_path / "a.warc").faults[0]


def test_a_charset_that_is_none_is_passed_over(tmp_path: Path) -> None:
    charsets = ["punycode", "undefined", "idna", "unicode_escape", "\0", "x" * 999, "hex"]
    kinds = [f"text/{kind}; charset={charset}" for kind in ("plain", "html") for charset in charsets]
    pages = [fetched(f"http://a/{i}", kind, b"some words") for i, kind in enumerate(kinds)]
    (tmp_path / "a.warc").write_bytes(b"".join(pages))
    every = read(tmp_path / "a.warc")
    assert (every.texts, every.bad) == (["some words"] * len(kinds), 0)


@pytest.mark.parametrize("length", ["", "Content-Length: many\r\n", "Content-Length: -1\r\n"])
def test_a_record_without_a_length_is_refused(tmp_path: Path, length: str) -> None:
    page = fetched("http://a/", "text/plain", LONG)
    head, _, rest = page.partition(b"Content-Length: ")
    (tmp_path / "a.warc").write_bytes(page + head + length.encode() + rest.partition(b"\r\n")[2] + page)
    with pytest.raises(InputError, match="the record 2 has no Content-Length"):
        read(tmp_path / "a.warc", on_bad="skip")


def test_a_length_that_is_too_small_makes_a_bad_page(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    page = fetched("http://a/", "text/plain", b"some words")
    size = len(page.partition(b"\r\n\r\n")[2]) - len(b"\r\n\r\n")
    short = page.replace(b"Content-Length: %d" % size, b"Content-Length: %d" % (size - 3))
    (tmp_path / "a.warc").write_bytes(page + short + page)
    every = read(tmp_path / "a.warc")
    assert (every.texts, every.bad) == (["some words", "some words"], 1)
    assert "Content-Length there is wrong" in every.faults[0]
    assert capfd.readouterr() == ("", "")


def test_a_web_archive_that_is_cut_anywhere_in_a_record_is_refused(tmp_path: Path) -> None:
    pages = [fetched("http://a/1", "text/plain", b"one"), fetched("http://a/2", "image/png", b"picture")]
    data = b"".join(pages)
    for size in range(len(pages[0]) + 1, len(data) - len(b"\r\n\r\n"), 7):
        (tmp_path / "a.warc").write_bytes(data[:size])
        with pytest.raises(InputError, match="cannot be read as WARC"):
            read(tmp_path / "a.warc")


def test_pieces_repeats_and_odd_records_are_counted(tmp_path: Path) -> None:
    page = fetched("http://a/1", "text/plain", LONG)
    records = [
        page.replace(b"WARC-Date", b"WARC-Segment-Number: 1\r\nWARC-Date"),
        record("continuation", "http://a/1", "application/octet-stream", b"<p>more"),
        record("revisit", "http://a/2", "application/http; msgtype=response", b"HTTP/1.1 200 OK\r\n\r\n"),
        record("response", None, "application/http; msgtype=response", b"HTTP/1.1 200 OK\r\n\r\nx"),
        record("response", "http://a/3", "application/http; msgtype=response", b"\r\n\r\nx"),
        page,
    ]
    (tmp_path / "a.warc").write_bytes(b"".join(records))
    reader, every = open_inputs(tmp_path / "a.warc"), read(tmp_path / "a.warc")
    assert (every.rows, every.bad) == ([6], 1)
    assert "first piece of a page" in every.faults[0]
    assert [(each.reason, each.count) for each in reader.passed_over] == [("no page", 4)]


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_dictionary_in_front_of_zstd_data_is_used(tmp_path: Path, is_packed: bool) -> None:
    library = pytest.importorskip("backports.zstd")
    pages = [fetched(f"http://a/{i}", "text/plain", b"%d" % i + LONG) for i in range(300)]
    dictionary = library.train_dict(pages, 4096)
    data = zstd(dictionary.dict_content) if is_packed else dictionary.dict_content
    frames = [library.compress(page, zstd_dict=dictionary) for page in pages]
    whole = b"\x5d\x2a\x4d\x18" + len(data).to_bytes(4, "little") + data + b"".join(frames)
    (tmp_path / "a.warc.zst").write_bytes(whole)
    assert read(tmp_path / "a.warc.zst").ids == [f"http://a/{i}" for i in range(300)]
    for damaged in (whole[:-3], whole[:50], whole[:8] + b"x" * len(data) + b"".join(frames)):
        (tmp_path / "a.warc.zst").write_bytes(damaged)
        with pytest.raises(InputError, match="damaged or cut short"):
            read(tmp_path / "a.warc.zst")


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
