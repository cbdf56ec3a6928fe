"""Documents written for people: .docx, .odt, .rtf, .epub, .pdf, web pages and e-mail, read to text.

    readers ── process ┄┄ child ── read_document ─┬─ docx, odt ───────────────┐
                                                  ├─ epub ── webpage ─────────┼─ package (zip, within limits)
                                                  └─ webpage, pdf, rtf, mail  └─ xml

A run reads them by ``readers``, in processes of their own with limits of time and memory (``child``); ``read_document``
is what is done there. The libraries are those of the extra ``documents`` and are imported when the first such file is
read: lxml for what is XML or HTML, pypdfium2 for PDF, jusText where boilerplate is taken out of web pages. What a
document that cannot be read means for a run is ``inputs.folder``'s business; here it is an ``Unreadable`` with reason
and cure. Nothing here loads numpy or pyarrow, but for compressed documents, since each process would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import accumulate

from neardup.errors import InputError
from neardup.inputs.formats import DOCUMENTS, bare_suffix
from neardup.shown import shown

MOST_BYTES = 256 << 20
"""Bytes of a document, unpacked, that are read at most, and bytes of its text."""
MOST_TIMES = 100
"""How many times its own size a package may unpack to; the XML of real ones shrinks 5 to 50 times, pictures hardly."""
INSTALL = "pip install 'neardup[documents]'"
"""The cure for a missing library."""
_FORBIDDEN = re.compile("[\0\ud800-\udfff]")
"""Characters that no text may have: NUL, which is no character to people, and halves of surrogate pairs."""


class PagedText(str):
    """A text that knows at which of its characters each page begins: ``starts``, never falling."""

    starts: tuple[int, ...]

    @classmethod
    def of(cls, pages: Sequence[str]) -> PagedText:
        """Pages put together with a line break between two; the white space around them all is left out."""
        text = cls("\n".join(pages).strip())
        lead = next((place for place, char in enumerate("\n".join(pages)) if not char.isspace()), 0)
        ends = accumulate(len(page) + 1 for page in pages)
        text.starts = tuple(min(max(0, start - lead), len(text)) for start in (0, *list(ends)[:-1]))
        return text


class Unreadable(Exception):
    """A document that gives no text. Not an InputError: one file among many does not end a run."""

    def __init__(self, reason: str, cure: str) -> None:
        super().__init__(f"{reason}. {cure}" if cure else reason)
        self.reason = reason
        """What is wrong, as a sentence without its full stop; the subject is the file."""
        self.cure = cure


def damaged(detail: str) -> Unreadable:
    """The fault of a file that is not what its suffix says, or not whole."""
    said = " ".join(detail.split()).rstrip(".")[:200]
    return Unreadable(f"it is damaged: {said}", "Fetch it again, or open it in its program and save it again.")


def protected() -> Unreadable:
    return Unreadable("it is protected by a password", "Save it without one.")


def too_large() -> Unreadable:
    """The fault of a file that would take all memory, or all day."""
    return Unreadable(
        f"it unpacks to more than {MOST_BYTES >> 20} MB, or to more than {MOST_TIMES} times its size",
        "Split it, or leave it out.",
    )


def document_kind(path: str) -> str | None:
    """The suffix, under that of a compression, of a file that is a document; None for other files."""
    suffix = bare_suffix(path)
    return suffix if suffix in DOCUMENTS else None


def read_document(path: str, *, encoding: str = "utf-8", boilerplate: str = "keep") -> str:
    """The text of a document, a paragraph a line; never empty, without NUL and lone surrogates.

    That of a PDF is a ``PagedText``.

    Without limits of time and memory, and for one thread at a time.

    Args:
        path: a file whose suffix tells its kind.
        encoding: of a web page that does not say its own and is no UTF-8; windows-1252 when it is "utf-8".
        boilerplate: "remove" leaves out what is no running text on a web page: menus, headers, footers.

    Raises:
        Unreadable: protected, empty, damaged, without text, too large, or a library is missing.
        MemoryError: there is not enough memory for it.
    """
    kind = document_kind(path)
    assert kind is not None
    options = {"encoding": encoding, "boilerplate": boilerplate} if DOCUMENTS[kind] in ("webpage", "mail") else {}
    try:
        load: Callable[..., str | list[str]] = import_module(f"{__name__}.{DOCUMENTS[kind]}").load
        found = load(path, **options)
    except InputError as exc:
        raise Unreadable(str(exc).removeprefix(f"{shown(path)} ").rstrip("."), "") from exc
    except ImportError as exc:
        library = (exc.name or "a library").partition(".")[0]
        raise Unreadable(f"reading {kind} needs {library}", INSTALL) from exc
    except RecursionError as exc:
        raise Unreadable("it is too deeply nested to be read", "Split it, or leave it out.") from exc
    if isinstance(found, str):
        text = _FORBIDDEN.sub("", found).strip()
    else:  # its pages
        text = PagedText.of([_FORBIDDEN.sub("", page) for page in found])
    if not text:
        raise Unreadable("it has no text", "Look whether it holds only pictures, or leave it out.")
    return text
