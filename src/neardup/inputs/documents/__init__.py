"""Documents written for people: .docx, .odt, .epub, .pdf and web pages, read to text.

    readers ── process ┄┄ child ── read_document ─┬─ docx, odt ── paragraphs ─┐
                └─ protocol ─┘                    ├─ epub ── webpage ─────────┼─ package (zip, within limits) ── xml
                                                  └─ webpage, pdf             └─ unreadable

A run reads them by ``readers``, in processes of their own with limits of time and memory (``child``); ``read_document``
is what is done there. The libraries are those of the extra ``documents`` and are imported when the first such file is
read: lxml for what is XML or HTML, pypdfium2 for PDF, jusText where boilerplate is taken out of web pages. What a
document that cannot be read means for a run is ``inputs.folder``'s business; here it is an ``Unreadable`` with reason
and cure. Nothing here loads numpy or pyarrow, but for compressed documents, since each process would.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from neardup.errors import InputError
from neardup.inputs.documents.unreadable import Unreadable
from neardup.inputs.formats import DOCUMENTS, bare_suffix
from neardup.shown import shown

__all__ = ["Unreadable", "document_kind", "read_document"]

Loader: TypeAlias = Callable[..., str]

_FORBIDDEN = re.compile("[\0\ud800-\udfff]")
"""Characters that no text may have: NUL, which is no character to people, and halves of surrogate pairs."""


def document_kind(path: str) -> str | None:
    """The suffix that says which kind of document a file is, under that of a compression; None for other files."""
    suffix = bare_suffix(path)
    return suffix if suffix in DOCUMENTS else None


def read_document(path: str, *, encoding: str = "utf-8", boilerplate: str = "keep") -> str:
    """The text of a document, a paragraph a line; never empty, without NUL and lone surrogates.

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
    options = {"encoding": encoding, "boilerplate": boilerplate} if DOCUMENTS[kind] == "webpage" else {}
    try:
        load: Loader = import_module(f"{__name__}.{DOCUMENTS[kind]}").load
        text = load(path, **options)
    except InputError as exc:
        raise Unreadable(str(exc).removeprefix(f"{shown(path)} ").rstrip("."), "") from exc
    except ImportError as exc:
        library = (exc.name or "a library").partition(".")[0]
        raise Unreadable(f"reading {kind} needs {library}", "pip install 'neardup[documents]'") from exc
    except RecursionError as exc:
        raise Unreadable("it is too deeply nested to be read", "Split it, or leave it out.") from exc
    text = _FORBIDDEN.sub("", text).strip()
    if not text:
        raise Unreadable("it has no text", "Look whether it holds only pictures, or leave it out.")
    return text
