"""Web archives (WARC): the pages that were fetched, and the plain texts of WET files, a document each.

warcio takes the records apart. It is pure Python and small, the library of Webrecorder, and handles what servers send
in pieces or compressed; FastWARC is faster and 16 times as large, but nearly all the time goes into the text of the
pages, which is read as that of other web pages, in processes of their own.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from neardup.arrays import strings
from neardup.errors import InputError, MissingDependency
from neardup.inputs.batches import undecodable
from neardup.inputs.documents import MOST_BYTES, Unreadable, too_large
from neardup.inputs.documents.pool import Readers, shared_readers
from neardup.inputs.formats import text_codec
from neardup.inputs.items import split_items
from neardup.inputs.passed import PassedOver
from neardup.inputs.source import BATCH_BYTES, Faults, Source, Task, sized
from neardup.inputs.stream import ByteStream, explained_as
from neardup.shown import shown, shown_path
from neardup.types import Batch, Documents

_HTML = ("text/html", "application/xhtml+xml")
_KINDS = ("response", "resource", "conversion")
"""Records that hold something from the web."""
_ABOUT = ("warcinfo", "request", "metadata")
"""Records about such records. They are not counted."""
_FETCHED = "200"
_MAGIC = b"WARC/"
_PACKED = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate", "br": "brotli", "zstd": "zstd"}
"""The codec for the body of a response, by the name of its coding in HTTP."""
_MOST_CODINGS = 8
_CHUNK = re.compile(rb"(?:\r?\n)?([0-9a-fA-F]{1,16})[ \t]*(?:;[^\n]*)?\r?\n")
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")
"""Bytes that packed data have soon and that texts do not have."""
_LOOKED_AT = 4096
_PIECE = _PAGE_BYTES = 64 << 10
"""What a page counts for beside its bytes when batches are cut."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page, or a text."""

    row: int
    """Its record, from 1."""
    address: str
    is_html: bool
    encoding: str | None
    """The charset that the server named, if Python knows it."""
    data: bytes
    fault: str = ""
    """Why the page cannot be read, if its record tells that."""


class WarcSource(Source):
    """One web archive, or standard input. The id of a document is its address."""

    format = "warc"

    _others: tuple[int, str] | None = None
    """How many records that are no pages there were, and the first of them."""

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of some pages each."""
        readers = shared_readers()
        held: list[Page] = []
        size = stored = 0
        with self._stream or ByteStream(self.name) as stream:
            for page in self._pages(stream):
                held.append(page)
                size += len(page.data) + _PAGE_BYTES
                if size >= BATCH_BYTES or len(held) == self._options.block:
                    yield sized(partial(self._read, held, readers, stream.stored - stored), size, self._options)
                    held, size, stored = [], 0, stream.stored
            yield sized(partial(self._read, held, readers, stream.stored - stored), size, self._options)

    @property
    def no_copy(self) -> str:
        return (
            f"{self.name} is a web archive, of which no clean copy is made. Find the pages that are alike with neardup "
            "find; for a clean collection, extract the pages to files first."
        )

    @property
    def passed(self) -> Sequence[PassedOver]:
        """Records that are no pages, as they were met by ``tasks``; they are counted anew where it was not called."""
        if self._others is None:
            with ByteStream(self.name) as stream:
                for _ in self._pages(stream):
                    pass
        count, example = self._others or (0, "")
        return [PassedOver("no page", "", count, example)] if count else []

    def _pages(self, stream: ByteStream) -> Iterator[Page]:
        count, example = 0, ""
        with _explained(self.name):
            from warcio.archiveiterator import ArchiveIterator

            if not stream.peek().startswith(_MAGIC):  # warcio would take a line of words for an ARC header
                raise EOFError("it does not begin with a record")
            # warcio would end in silence at a response without a head, so this reads the heads of responses itself.
            records = ArchiveIterator(stream, no_record_parse=True)
            records.INC_RECORD = ""  # else it prints a warning about a record with a wrong length
            for row, record in enumerate(records, start=1):
                if not (record.rec_headers.get_header("Content-Length") or "").strip().isdecimal():
                    raise ValueError(f"the record {row} has no Content-Length, so nothing tells where it ends")
                kind, odd = (record.rec_type or "").lower(), records.err_count
                address = record.rec_headers.get_header("WARC-Target-URI") or f"record {row}"
                page = _page(row, kind, address, record, records.loader)
                records.read_to_end()
                if getattr(record.raw_stream, "limit", 0) > 0:
                    raise EOFError(f"the record {row} ends too soon")
                if page is not None:
                    wrong = "bytes follow the end of its record, so the Content-Length there is wrong"
                    yield page if records.err_count == odd else replace(page, fault=wrong)
                elif kind not in _ABOUT:
                    count, example = count + 1, example or f"{shown_path(self.name)}: {shown(address)}"
        self._others = count, example

    def _read(self, pages: Sequence[Page], readers: Readers, consumed: int) -> Batch:
        faults = Faults(self.name, self._options.on_bad)
        found = [(page, self._text(page, readers, faults)) for page in pages]
        good = [(page, text) for page, text in found if text is not None]
        documents = Documents.from_bytes(text for _, text in good)
        rows = np.array([page.row for page, _ in good], dtype=np.int64)
        ids = strings(page.address.encode("utf-8", "replace").decode() for page, _ in good)
        return faults.batch(documents, rows, ids, consumed=consumed)

    def _text(self, page: Page, readers: Readers, faults: Faults) -> bytes | None:
        """The text of a page, or None when it is a fault; a page that cannot be read ends no run."""
        options = self._options
        try:
            if page.fault:
                raise Unreadable(page.fault, "")
            if page.is_html:
                stream = ByteStream("page.html", file=io.BytesIO(page.data))
                encoding = page.encoding or options.encoding
                text = readers.read("page.html", stream=stream, encoding=encoding, boilerplate=options.boilerplate)
            else:
                text = page.data.decode(page.encoding or options.encoding)
        except Unreadable as exc:
            faults.note(page.row, f"{shown(page.address)}: {exc}")
            return None
        except UnicodeDecodeError as exc:
            encoding = page.encoding or options.encoding
            faults.add(page.row, *undecodable(exc, f"text of {shown(page.address)}", encoding))
            return None
        blob = split_items(text) if options.item else text.encode("utf-8", "replace")
        if len(blob) > options.limit.largest:
            faults.add(page.row, *options.limit.refusal(f"the text of {shown(page.address)}", len(blob)))
            return None
        return blob


def _page(row: int, kind: str, address: str, record: Any, loader: Any) -> Page | None:
    """Read the page or text of a record. Return None if there is none in it."""
    http = None
    if kind == "response":
        with suppress(EOFError):  # the record is cut, which the caller reports
            http = loader.load_http_headers(kind, address.lower(), record.raw_stream, record.length)
    name, _, parameters = ((http or record.rec_headers).get_header("Content-Type") or "").partition(";")
    name = name.strip().lower()
    is_good = kind in _KINDS and (http is None or http.get_statuscode() == _FETCHED)
    if not is_good or name not in (*_HTML, "text/plain"):
        return None
    data, fault = record.raw_stream.read(MOST_BYTES + 1), ""
    try:
        if record.rec_headers.get_header("WARC-Segment-Number") is not None:
            raise Unreadable("it is only the first piece of a page, which continues in other records", "")
        data = _unpacked(data, http.headers if http is not None else ())
    except Unreadable as exc:
        data, fault = b"", str(exc)
    return Page(row, address, name in _HTML, _charset(parameters), data, fault)


def _unpacked(data: bytes, headers: Sequence[tuple[str, str]]) -> bytes:
    """Undo the codings of the body of a response, the last first. Raises Unreadable if one cannot be undone."""
    fields = ("content-encoding", "transfer-encoding")
    values = [value for field in fields for name, value in headers if name.lower() == field]
    codings = ",".join(values).lower().split(",")
    if len(codings) > _MOST_CODINGS:
        raise Unreadable(f"it was sent in {len(codings):,} codings at once", "")
    for coding in reversed(codings):
        data = _undone(coding.strip(), data) if data else data
        if len(data) > MOST_BYTES:
            raise too_large()
    return data


def _undone(coding: str, data: bytes) -> bytes:
    """Undo one coding. A body that is text already was unpacked by the crawler, which left the header."""
    why = "it is not known here"
    try:
        if coding in ("", "chunked"):
            return _joined(data) if coding else data
        if coding in _PACKED:
            with ByteStream("the body", file=io.BytesIO(data), codec=_PACKED[coding]) as stream:
                found = bytearray()
                while len(found) <= MOST_BYTES and (piece := stream.read(_PIECE)):
                    found += piece
                return bytes(found)
    except InputError as exc:
        why = str(exc.__cause__ or exc).partition(". ")[0]
    if _CONTROL.search(data, 0, _LOOKED_AT) is None:
        return data
    raise Unreadable(f"it was sent in the coding {shown(coding)!r}, which cannot be undone: {why}", "Fetch it again.")


def _joined(data: bytes) -> bytes:
    """Join the chunks of a body. One without the size of a chunk in front was joined by the crawler already."""
    found, at = bytearray(), 0
    while (head := _CHUNK.match(data, at)) is not None:
        size = int(head[1], 16)
        if not size:
            return bytes(found)
        at = head.end() + size
        found += data[head.end() : at]
    if not at:
        return data
    raise Unreadable("its body was sent in chunks, and ends in the middle of one", "Fetch it again.")


def _charset(parameters: str) -> str | None:
    """The encoding that a content type names, where Python knows it."""
    name = parameters.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    try:
        return text_codec(name) if name else None
    except InputError:
        return None


def _explained(name: str) -> AbstractContextManager[None]:
    """Turn what warcio says about a file into InputError with the cure."""
    if find_spec("warcio") is None:
        raise MissingDependency(f"{name}: reading web archives needs warcio: pip install 'neardup[warc]'")
    from warcio.exceptions import ArchiveLoadFailed

    return explained_as("WARC", name, (ArchiveLoadFailed, EOFError, ValueError, OSError), "Fetch it or write it again.")
