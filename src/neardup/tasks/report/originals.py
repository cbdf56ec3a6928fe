"""The texts as they were written: a run keeps normalised ones only, and passages are marked in those that people wrote.

The inputs are read a second time. Each text is held against what the run knows of it, so that a file that was changed
meanwhile is told and not shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.engine.reading.collection import Collection
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.errors import InputChanged, InputError
from neardup.inputs.reader import Reader
from neardup.session import Run
from neardup.shown import as_text
from neardup.spool import FileTexts, MemoryTexts
from neardup.stages.sketch import fingerprints
from neardup.stages.text import normalize_documents
from neardup.types import I64, Documents

OPENING = 80
"""Characters of a keeper's text that the list of clusters shows."""
_OPENING_BYTES = 2000


class BlobStore:
    """Keeps pieces of bytes in memory or, where they are many, in the workdir, and gives them back by their numbers."""

    def __init__(self, name: str, space: Space, *, part: float) -> None:
        """An empty store, which may hold a share ``part`` of the memory for data."""
        self._name = f"report-{name}"
        self._space = space
        self._most = space.budget.share(part)
        self._texts: MemoryTexts | FileTexts = MemoryTexts()
        if space.workdir is not None:
            self._move()

    def __len__(self) -> int:
        return len(self._texts)

    def add(self, pieces: list[bytes]) -> None:
        """Keep some more pieces."""
        if pieces:
            self._texts.append(Documents.from_bytes(pieces))
            if isinstance(self._texts, MemoryTexts) and self._texts.nbytes > self._most:
                self._move()

    def get(self, numbers: I64) -> list[bytes]:
        """Some pieces, in the order asked for."""
        rising, back = np.unique(numbers, return_inverse=True)
        pieces = [documents.blob(i) for documents, local, _ in self._texts.parts(rising) for i in local.tolist()]
        return [pieces[i] for i in back.tolist()]

    def drop(self) -> None:
        """Forget all pieces."""
        if isinstance(self._texts, FileTexts) and self._space.workdir is not None:
            self._space.workdir.delete(self._name)
        self._texts = MemoryTexts()

    def _move(self) -> None:
        """Move what is kept to files of the workdir, where all that follows goes too."""
        workdir = self._space.scratch()
        if workdir.names(f"{self._name}."):
            workdir.delete(self._name)  # of an interrupted run
        texts = workdir.texts(self._name)
        if isinstance(self._texts, MemoryTexts):
            for block in self._texts.blocks:
                texts.append(block)
        self._texts = texts


@dataclass(slots=True)
class Originals:
    """Texts by row."""

    rows: I64
    """Of the texts that are kept, rising."""
    blobs: BlobStore
    characters: list[int]
    """Of each text that is kept."""
    openings: list[str]
    """The beginnings that were asked for, by row."""
    pages: dict[int, tuple[int, ...]]
    """Where the pages begin of the texts that have pages, by row."""
    is_items: bool

    def lengths(self, rows: I64) -> list[int]:
        """Characters of texts that were kept."""
        return [self.characters[i] for i in np.searchsorted(self.rows, rows).tolist()]

    def texts(self, rows: I64) -> list[str]:
        """Texts that were kept, as they were written; sets as their items with spaces between."""
        found = self.blobs.get(np.searchsorted(self.rows, rows))
        return [as_text(blob, is_items=self.is_items) for blob in found]


def check_inputs(reader: Reader, output: str | os.PathLike[str]) -> None:
    """Raise InputError unless the inputs can be read twice, and the report will not lie among them."""
    if reader.value is None and not reader.is_lasting:
        raise InputError(
            "inputs are read twice, and a pipe or a device can be read once. Save it to a file, and give that."
        )
    place = os.path.realpath(output)
    for part in reader.parts:
        for path in part.paths or []:
            real = os.path.realpath(path)
            if real == place or real.startswith(os.path.join(place, "")):
                raise InputError(
                    f"{path} is an input, and lies where the report is to be written. Give a place outside the inputs, "
                    "or leave an earlier report out with --glob (glob=)."
                )


def read_originals(run: Run, collection: Collection, rows: I64, keepers: I64) -> Originals:
    """Read texts a second time, in one pass over the inputs.

    Those of ``rows`` are kept whole, of those of ``keepers`` the beginnings; both are rising. InputChanged where the
    inputs are not what they were.
    """
    wanted = np.union1d(rows, keepers)
    is_items = collection.spec.shingle.kind == "item"
    found = Originals(rows, BlobStore("texts", run.space, part=0.2), [], [], {}, is_items)
    run.observer.stage("again", run.reader.total_bytes, "bytes")

    def check(picked: _Picked) -> _Picked:
        _check_same(run, collection, picked[0], picked[1])
        return picked

    threads = run.space.budget.threads(run.threads)
    for documents, mine, consumed, pages in in_order(check, _picked(run, wanted, threads), threads=threads):
        run.observer.advance(consumed)
        wholes = [documents.blob(i) for i in np.flatnonzero(np.isin(mine, rows)).tolist()]
        found.blobs.add(wholes)
        found.characters += [len(as_text(blob, is_items=is_items)) for blob in wholes]
        found.pages |= {row: starts for row, starts in pages.items() if not is_items}
        opened = np.flatnonzero(np.isin(mine, keepers)).tolist()
        found.openings += [_opening(documents.blob(i), is_items) for i in opened]
    return found


_Picked = tuple[Documents, I64, int, dict[int, tuple[int, ...]]]


def _picked(run: Run, wanted: I64, threads: int) -> Iterator[_Picked]:
    """The documents wanted of each batch, their rows, the bytes of input that it stands for, and pages by row."""
    first = 0
    for batch in in_order(lambda task: task(), run.reader.tasks(), threads=threads):
        end = first + len(batch.documents)
        mine = wanted[slice(*np.searchsorted(wanted, (first, end)).tolist())]
        at = (mine - first).tolist()
        pages = {first + i: batch.pages[i] for i in at if i in batch.pages}
        yield Documents.from_bytes(batch.documents.blob(i) for i in at), mine, batch.consumed, pages
        first = end
    if first != len(run.provenance.ids):
        raise InputChanged(
            f"the inputs had {len(run.provenance.ids)} documents when they were read first, and {first} the second "
            "time. Leave them as they are until the report is written."
        )


def _check_same(run: Run, collection: Collection, documents: Documents, rows: I64) -> None:
    """Raise unless documents have the texts that the run knows of these rows."""
    spec = collection.spec
    inside = rows < len(collection)
    prints = fingerprints(normalize_documents(documents, spec.normalize, items=spec.shingle.kind == "item"))
    same = inside & np.all(prints == collection.prints.take(np.where(inside, rows, 0)), axis=1)
    if not same.all():
        name = run.provenance.ids.take(rows[~same][:1])[0].as_py()
        raise InputChanged(
            f"the document {name} is not the same as when it was read first. Leave the inputs as they are until the "
            "report is written."
        )


def _opening(blob: bytes, is_items: bool) -> str:
    """The first words of a text, white space made single spaces."""
    head = blob[:_OPENING_BYTES]
    text = as_text(head, is_items=True) if is_items else head.decode("utf-8", "ignore")
    text = " ".join(text.split())
    return text if len(text) <= OPENING and len(head) == len(blob) else text[:OPENING].rstrip() + "…"
