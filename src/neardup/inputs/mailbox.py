"""E-mail as an archive: a message (.eml) holds its text and its attachments, and a mailbox (.mbox) holds messages.

The messages of ``box.mbox`` are named ``box.mbox/1.eml``, ``box.mbox/2.eml`` … in their order, and the attachments of
the second ``box.mbox/2.eml/report.pdf``. They are put into a zip archive that is read like others.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from email.message import Message
from itertools import pairwise
from typing import BinaryIO

from neardup.inputs.documents.mail import MOST_MAIL, content, header_text, is_own, parts_of
from neardup.inputs.formats import bare_suffix, stored_codec, suffix_format
from neardup.inputs.stream import ByteStream

_FROM = re.compile(rb"\nFrom [^\n]{0,300}?\d\d:\d\d[^\n]{0,100}\n(?=[!-9;-~]{1,77}:|>?From )")
"""The line before a message: with a time, and before a header. Other lines that begin so are text."""
_LONGEST, _PIECE = 1024, 1 << 20
_MOST_DEPTH, _MOST_MESSAGES = 10, 1_000_000
_SUFFIXES = {"plain": "txt", "rfc822": "eml", "vnd.oasis.opendocument.text": "odt"}
"""The suffixes of kinds that have another name."""
_SUFFIXES["vnd.openxmlformats-officedocument.wordprocessingml.document"] = "docx"


def as_zip(path: str) -> BinaryIO:
    """Write the messages of a file and their attachments into a zip archive in a temporary file."""
    file = tempfile.TemporaryFile(prefix="neardup-")  # noqa: SIM115 - the archive closes it
    with ExitStack() as failed, zipfile.ZipFile(file, "w") as archive, ByteStream(path) as stream:
        failed.callback(file.close)
        if bare_suffix(path) == ".eml":
            _add(archive, "", stream.read(MOST_MAIL + 1))
        else:
            for number, message in enumerate(_messages(stream), start=1):
                if number > _MOST_MESSAGES:
                    raise ValueError(f"it has more than {_MOST_MESSAGES:,} messages")
                _add(archive, f"{number}.eml", message)
        failed.pop_all()
    return file


def _messages(stream: ByteStream) -> Iterator[bytes]:
    """Yield the messages of a mailbox; of one that is too large no more than shows it."""
    held = b"\n" + stream.read(_PIECE)
    if len(held) > 1 and not held.startswith(b"\nFrom "):
        raise ValueError("it does not begin with 'From '")
    piece, seen = held[1:], 1
    while piece:
        starts = [0, *(found.start() for found in _FROM.finditer(held, seen))]
        yield from (_unquoted(held[one:two]) for one, two in pairwise(starts))
        held = held[starts[-1] :]
        if len(held) > MOST_MAIL + 2 * _PIECE:
            held = held[: MOST_MAIL + _PIECE] + held[-_LONGEST:]
        seen = max(1, len(held) - _LONGEST)
        piece = stream.read(_PIECE)
        held += piece
    if len(held) > 1:
        yield _unquoted(held)


def _unquoted(message: bytes) -> bytes:
    return re.sub(rb"(?<=\n)>(>*From )", rb"\1", message[1:].partition(b"\n")[2])


def _add(archive: zipfile.ZipFile, name: str, message: bytes, depth: int = 0) -> None:
    """Add a message and its attachments; a message that cannot be taken apart is refused when its text is read."""
    archive.writestr(name or ".", message)
    try:
        parts = enumerate(parts_of(message), start=1)
        attached = [_attached(part, number) for number, (part, _) in parts if not is_own(part)]
    except Exception:  # the standard library raises errors of many kinds
        return
    for number, (given, data) in enumerate(attached, start=1):
        inside = f"{name}/{given}".lstrip("/")
        while inside in archive.NameToInfo:
            inside = f"{name}/{number} {inside.removeprefix(name).lstrip('/')}".lstrip("/")
        if inside.lower().endswith(".eml") and depth < _MOST_DEPTH:
            _add(archive, inside, data, depth + 1)
        else:
            archive.writestr(f"{inside}.nested" if inside.lower().endswith(".eml") else inside, data)


def _attached(part: Message, number: int) -> tuple[str, bytes]:
    """Return an attachment by its name, or else its number; a text as a message, which says how it is encoded."""
    kind, data = part.get_content_subtype(), content(part)
    given = header_text(part.get_filename() or "").encode("utf-8", "replace").decode()
    name = re.sub(r"[/\\\x00-\x1f\x7f]+", "_", given)[-255:].strip(" .")
    if not name or (kind == "rfc822" and not name.lower().endswith(".eml")):
        name = f"{name or number}.{_SUFFIXES.get(kind, kind)}".replace("/", "_")
    if suffix_format(name) == "text" and stored_codec(name) is None:
        charset = re.sub(r"[^\w.:-]", "", part.get_content_charset("utf-8"))
        data = f"Content-Type: text/plain; charset={charset}\n\n".encode() + data
    return name, data
