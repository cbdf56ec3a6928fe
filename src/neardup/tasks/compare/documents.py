"""The two documents of a comparison: each a file of its own, or both by their ids out of a collection."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from neardup.errors import InputError, did_you_mean
from neardup.inputs.formats import DOCUMENT, suffix_format
from neardup.inputs.items import ITEM_SEPARATOR
from neardup.inputs.names import ids_of
from neardup.inputs.reader import open_inputs
from neardup.params import InputOptions
from neardup.types import Documents

_NEAR_IDS = 10_000
"""Ids of a collection among which a like one is looked for when one is not there."""


@dataclass(frozen=True, slots=True)
class Document:
    """A document to compare."""

    name: str
    """The path or the id that it was asked for by."""
    content: str | list[str]
    """The text, or the items of a set."""
    pages: tuple[int, ...] = ()
    """Where each page of the text begins, in code points, if it has pages."""
    file: str | None = None
    """The file that it is the only document of."""


def read_document(path: str | Path, options: InputOptions | None = None, *, item: bool) -> Document:
    """The one document of a file.

    A file is what ``find`` takes it for; one whose name does not tell, and standard input ("-"), is a text. A text file
    is one document, of sets too: its words are the items.
    """
    options, given = options or InputOptions(), os.fspath(path)
    by_name = suffix_format(given) if given != "-" else None
    is_file = given == "-" or not os.path.isdir(given)
    kind = options.input_format or by_name or ("text" if is_file else None)
    as_set = item and kind not in ("text", DOCUMENT)
    options = replace(options, input_format="text") if kind == "text" else options
    reader = open_inputs(Path(given), options, item=as_set)
    found: list[tuple[int | str, str | list[str], tuple[int, ...]]] = []
    for task in reader.tasks():
        batch = task()
        ids = ids_of(batch)
        found += [
            (ids[i], _content(batch.documents, i, as_set), batch.pages.get(i, ())) for i in range(min(2, len(ids)))
        ]
        if len(found) > 1:
            name = "standard input" if given == "-" else given
            shown = ", ".join(repr(str(id)) for id, *_ in found[:2])
            raise InputError(
                f"{name} holds more than one document ({shown} …). Give two files of one document each, or "
                "the collection with --in and two ids."
            )
    if not found:
        raise InputError(f"{given} holds no document. Give a file with a text.")
    pages = found[0][2] if not item else ()  # a set is shown as its items
    return Document(given, found[0][1], pages, None if given == "-" else given)


def pick_documents(
    inputs: Sequence[Path], names: tuple[str, str], options: InputOptions | None = None, *, item: bool
) -> list[Document]:
    """Two documents of a collection, by their ids. All of it is read, since an id may come back.

    Ids that are whole numbers are named by their digits. The same twice is the one document, held against itself. A bad
    record is passed over, and told of when an id is not found.
    """
    wanted = set(names)
    reader = open_inputs(list(inputs), replace(options or InputOptions(), on_bad="skip"), item=item)
    found: dict[str, str | list[str]] = {}
    times: Counter[str] = Counter()
    near: list[str] = []
    documents = bad = 0
    for task in reader.tasks():
        batch = task()
        ids = [str(id) for id in ids_of(batch)]
        documents, bad = documents + len(ids), bad + batch.bad
        near += ids[: _NEAR_IDS - len(near)]
        if wanted.isdisjoint(ids):
            continue
        for at, id in enumerate(ids):
            if id in wanted:
                times[id] += 1
                found.setdefault(id, _content(batch.documents, at, item))
    for name in names:
        if name not in found:
            raise no_document(name, near, documents=documents, bad=bad)
        if times[name] > 1:
            raise InputError(
                f"the id {name!r} belongs to {times[name]:,} documents. Name the column of another id with --id, or "
                "give the documents as files."
            )
    return [Document(name, found[name]) for name in names]


def no_document(name: str, known: Sequence[str], *, documents: int, bad: int = 0) -> InputError:
    """The error of an id that is not there, with one like it or the first ones."""
    near = did_you_mean(name, known)
    shown = ", ".join(repr(id) for id in itertools.islice(known, 3))
    records = "1 bad record was" if bad == 1 else f"{bad:,} bad records were"
    passed = f" {records} passed over." if bad else ""
    cure = near or (f" The first ids are {shown}." if shown else "")
    return InputError(f"there is no document {name!r} among {documents:,}.{passed}{cure}")


def _content(documents: Documents, at: int, as_set: bool) -> str | list[str]:
    blob = documents.blob(at)
    if as_set:
        return [part.decode("utf-8", "replace") for part in blob.split(ITEM_SEPARATOR)]
    return blob.decode("utf-8", "replace")
