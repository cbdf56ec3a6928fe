"""E-mail (.eml): the subject and the text of a message; its HTML is read only if it has no plain text.

The standard library understands the headers. The parts are found here, in a pass for each level and within limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesHeaderParser
from itertools import islice, pairwise

from neardup.inputs.documents import Unreadable, damaged
from neardup.inputs.documents.package import read_stored

MOST_MAIL, _MOST_HEAD = 64 << 20, 1 << 20
"""The most bytes of a message, and of the headers of a part."""
_MOST_PARTS, _MOST_DEPTH = 1000, 20
_MOST_VALUE, _MOST_WORDS = 2000, 10_000
"""The most characters of a header about a part, and of one that is decoded: the library takes quadratic time for it."""
_MIME = ("Content-Type", "Content-Disposition", "Content-Transfer-Encoding")
_BLANK = re.compile(rb"\n\r?\n")


def load(path: str, *, encoding: str, boilerplate: str) -> str:
    """Read subject and text of a message; the arguments are as for ``read_document``."""
    data = read_stored(path)
    found = [(part, choice) for part, choice in parts_of(data) if is_own(part)]
    plain = {choice for part, choice in found if part.get_content_subtype() == "plain"} - {0}
    texts = [header_text(_headers(data, 0, len(data))[0].get("Subject", ""))]
    for part, choice in found:
        charset = part.get_content_charset()
        if part.get_content_subtype() == "plain":
            texts.append(_decoded(content(part), charset, encoding))
        elif choice not in plain:
            from neardup.inputs.documents import webpage  # needs lxml, which a plain text does not

            page = content(part)
            html = _decoded(page, charset, encoding) if charset else webpage.decoded(page, encoding)
            texts.append(webpage.text_of(html, boilerplate))
    return "\n\n".join(text.replace("\r\n", "\n").strip() for text in texts)


def parts_of(data: bytes) -> Iterator[tuple[Message, int]]:
    """Yield the parts that hold no other part, each with the number of the alternatives that it is one of, or 0.

    Raises Unreadable if the data are not a message, end too soon or have too many parts.
    """
    if len(data) > MOST_MAIL:
        raise Unreadable(f"it has more than {MOST_MAIL >> 20} MB", "Save its attachments, and leave it out.")
    pending, parts, choices = [(0, len(data), 0, 0)], 0, 0
    while pending:
        begin, end, choice, depth = pending.pop()
        part, body = _headers(data, begin, end)
        boundary = part.get_boundary()
        if part.get_content_maintype() != "multipart" or boundary is None:
            part.set_payload(data[body:end].decode("ascii", "surrogateescape"))
            yield part, choice
            continue
        if part.get_content_subtype() == "alternative":
            choices = choice = choices + 1
        mark = re.escape(boundary.encode("utf-8", "replace"))
        boundaries = re.compile(rb"\n--%b(--)?[ \t\r]*(?![^\n])" % mark).finditer(data, body - 1, end)
        lines = list(islice(boundaries, _MOST_PARTS))
        parts += len(lines)
        if parts >= _MOST_PARTS or depth == _MOST_DEPTH:
            reason = f"it has {_MOST_PARTS:,} parts or more, or {_MOST_DEPTH} inside each other"
            raise Unreadable(reason, "Save its attachments, and leave it out.")
        last = next((at for at, line in enumerate(lines) if line[1]), 0)
        if not last:
            raise damaged("it ends before its last part does")
        inner = pairwise(lines[: last + 1])
        pending += reversed([(min(one.end() + 1, two.start()), two.start(), choice, depth + 1) for one, two in inner])


def _headers(data: bytes, begin: int, end: int) -> tuple[Message, int]:
    """Return the subject and the headers about the kind of a part, with the offset after all its headers."""
    found = _BLANK.search(data, max(0, begin - 1), min(end, begin + _MOST_HEAD))
    if found is None and end - begin > _MOST_HEAD:
        raise damaged(f"its headers have more than {_MOST_HEAD >> 20} MB")
    body = end if found is None else found.end()
    given, head = BytesHeaderParser().parsebytes(data[begin:body]), Message()
    if begin == 0 and not given:
        raise damaged("it does not begin with the headers of a message")
    for name, value in given.raw_items():
        if name.title() in (*_MIME, "Subject") and name not in head:
            known = value.encode("ascii", "surrogateescape").decode("utf-8", "replace")
            head[name] = known if name.title() == "Subject" else known[:_MOST_VALUE]
    return head, body


def is_own(part: Message) -> bool:
    """Return whether a part is text of the message, not an attachment."""
    return part.get_filename() is None and part.get_content_type() in ("text/plain", "text/html")


def content(part: Message) -> bytes:
    """Return the content of a part, decoded from base64 or quoted-printable."""
    found = part.get_payload(decode=True)
    return found if isinstance(found, bytes) else b""


def header_text(value: str) -> str:
    """Decode the words of a header that are in another character set; a value that cannot be decoded stays."""
    try:
        return str(make_header(decode_header(value))) if len(value) <= _MOST_WORDS else value
    except Exception:  # the standard library raises errors of many kinds
        return value


def _decoded(data: bytes, charset: str | None, encoding: str) -> str:
    """Decode a text by its charset, or by the first encoding that its bytes fit if the charset is false."""
    for codec in ("cp1252" if charset == "iso-8859-1" else charset, "utf-8", encoding):
        try:
            return data.decode(codec or "utf-8")
        except (LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")
