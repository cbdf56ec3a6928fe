"""Web archives (WARC): the pages that were fetched, and the plain texts of WET files, a document each.

warcio takes the records apart. It is pure Python and small, the library of Webrecorder, and handles what servers send
in pieces or compressed; FastWARC is faster and 16 times as large, but nearly all the time goes into the text of the
pages, which is read as that of other web pages, in processes of their own.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from neardup.arrays import strings
from neardup.errors import InputError, MissingDependency, NeardupError
from neardup.inputs.batches import undecodable
from neardup.inputs.documents import MOST_BYTES, Unreadable
from neardup.inputs.documents.pool import Readers, shared_readers
from neardup.inputs.formats import text_codec
from neardup.inputs.items import split_items
from neardup.inputs.passed import PassedOver
from neardup.inputs.source import BATCH_BYTES, Faults, Source, Task, sized
from neardup.inputs.stream import ByteStream
from neardup.shown import shown, shown_path
from neardup.types import Batch, Documents

_HTML = ("text/html", "application/xhtml+xml")
_KINDS = ("response", "resource", "conversion")
"""Records that hold what was on the web; the others are about them."""
_FETCHED = "200"
_MAGIC = b"WARC/"
_PAGE_BYTES = 64 << 10
"""What a page counts for beside its bytes when batches are cut."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page, or a text."""

    row: int
    """Its record, from 1."""
    address: str
    is_html: bool
    encoding: str | None
    """As the server said."""
    data: bytes


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

            if not stream.peek().lstrip().startswith(_MAGIC):  # warcio would take a line of words for an ARC header
                raise EOFError("it does not begin with a record")
            for row, record in enumerate(ArchiveIterator(stream), start=1):
                if record.rec_type not in _KINDS:
                    continue
                http, address = record.http_headers, record.rec_headers.get_header("WARC-Target-URI") or f"record {row}"
                kind = (http or record.rec_headers).get_header("Content-Type") or ""
                bare, _, rest = kind.partition(";")
                bare = bare.strip().lower()
                is_page = bare in (*_HTML, "text/plain") and (http is None or http.get_statuscode() == _FETCHED)
                if not is_page:
                    count, example = count + 1, example or f"{shown_path(self.name)}: {shown(address)}"
                    continue
                data = record.content_stream().read(MOST_BYTES + 1)
                if len(data) <= MOST_BYTES and getattr(record.raw_stream, "limit", 0) > 0:
                    raise EOFError(f"the record {row} ends too soon")
                yield Page(row, address, bare in _HTML, _charset(rest), data)
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


def _charset(parameters: str) -> str | None:
    """The encoding that a content type names, where Python knows it."""
    name = parameters.lower().partition("charset=")[2].partition(";")[0].strip(" \"'")
    try:
        return text_codec(name) if name else None
    except InputError:
        return None


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn what warcio says about a file into InputError with the cure."""
    if find_spec("warcio") is None:
        raise MissingDependency(f"{name}: reading web archives needs warcio: pip install 'neardup[warc]'")
    from warcio.exceptions import ArchiveLoadFailed

    try:
        yield
    except NeardupError:
        raise
    except (ArchiveLoadFailed, EOFError, ValueError, OSError) as exc:
        what: Any = (str(exc).splitlines() or [""])[0][:100].rstrip(".") or type(exc).__name__
        raise InputError(f"{name} cannot be read as WARC: {what}. Fetch it again.") from exc
