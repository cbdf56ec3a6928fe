"""Texts of some documents of a run, brought from its inputs once more when the run is over.

A result holds pairs and ids, not texts; a notebook shows a few of them. The tasks of the reader are made again, and of
these only the ones done that have a document that is asked for: a block of a file, a slice of a frame. What is read is
held against the print that the run took of each text, so that an input that was changed is told and never shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from neardup.errors import InputChanged, InputError
from neardup.inputs.addresses import is_remote
from neardup.inputs.reader import Reader
from neardup.inputs.source import Task
from neardup.params import Spec
from neardup.shown import as_text
from neardup.stages.sketch import fingerprints
from neardup.stages.text import normalize_documents
from neardup.types import I32, I64, U64, Batch, Documents, NeedsRoom

PICKLED = "the result is a copy, or was read from a pickle"
WITH_TEXT = "Search again with with_text=True, which keeps the texts."

QUICK_BYTES = 256_000_000
"""Of files that are read through unasked, to show a result."""


class Lookup:
    """Brings texts by the numbers of their documents in the run. Holds on to values in memory, not to files."""

    def __init__(self, reader: Reader, spec: Spec, sizes: Sequence[int], rows: I64, prints: U64) -> None:
        """Nothing is read yet.

        Args:
            reader: of the run.
            spec: of the run; texts are normalised as it says before they are held against their prints.
            sizes: documents of each batch of the run, in order; empty where they are not known.
            rows: int64[m], rising: the documents that may be asked for.
            prints: uint64[m, 2]: of their normalised texts.
        """
        self.gone: str | None = reader.no_texts_later
        """Why no text can be brought, if none can."""
        self._reader: Reader | None = reader if self.gone is None else None
        self._spec, self._sizes, self._rows, self._prints = spec, sizes, rows, prints

    @property
    def is_quick(self) -> bool:
        """Whether texts can be brought while somebody waits for a result to be drawn."""
        reader = self._reader
        if reader is None:
            return False
        if reader.value is not None:
            from neardup.inputs.columnar.objects import is_streamed  # not needed where inputs are files

            return not is_streamed(reader.value)
        is_far = any(is_remote(path) for source in reader.parts for path in source.paths or [])
        return not is_far and (reader.total_bytes or 0) <= QUICK_BYTES

    def __reduce__(self) -> tuple[Any, ...]:
        return _gone, (PICKLED,)

    def texts(self, rows: I64) -> list[str]:
        """The texts of documents as they were written, in the order asked for; of sets the items with spaces between.

        Reads the inputs up to the last of them, and parses the batches that have one. Memory: these texts and a batch.

        Raises:
            InputChanged: an input is not what the run has read.
            InputError: no text can be brought; ``gone`` says why.
        """
        if self._reader is None:
            raise InputError(f"the texts cannot be read again: {self.gone}. {WITH_TEXT}")
        wanted, back = np.unique(rows.astype(np.int64), return_inverse=True)
        is_items = self._spec.shingle.kind == "item"
        found: list[str] = []
        for documents, mine in self._picked(self._reader, wanted):
            self._check(documents, mine, is_items)
            found += [as_text(documents.blob(i), is_items=is_items) for i in range(len(documents))]
        if len(found) != wanted.size:
            raise _changed("has fewer documents than it had")
        return [found[i] for i in back.tolist()]

    def _picked(self, reader: Reader, wanted: I64) -> Iterator[tuple[Documents, I64]]:
        """The documents wanted of each batch that has any, and their numbers in the run."""
        first, sizes = 0, iter(self._sizes)
        with closing(reader.tasks()) as tasks:
            for task in tasks:
                known = next(sizes, None)
                if known is not None and not _inside(wanted, first, first + known).size:
                    first += known
                    continue
                batch = _done(task)
                size = len(batch.documents)
                if known is not None and size != known:
                    raise _changed(f"has {size} documents where it had {known}")
                mine = _inside(wanted, first, first + size)
                first += size
                if mine.size:
                    places = (mine - (first - size)).tolist()
                    yield Documents.from_bytes(batch.documents.blob(i) for i in places), mine
                if not wanted.size or first > wanted[-1]:
                    return

    def _check(self, documents: Documents, rows: I64, is_items: bool) -> None:
        normal = normalize_documents(documents, self._spec.normalize, items=is_items)
        known = self._prints[np.searchsorted(self._rows, rows)]
        if not np.array_equal(fingerprints(normal), known):
            raise _changed("has another text where a document was")


class PairTexts:
    """The two documents of each row of a table, such as of pairs or of removals, and their texts."""

    def __init__(self, lookup: Lookup, left: I32 | I64, right: I32 | I64) -> None:
        """``left``, ``right``: int[rows], the documents of each row by their numbers in the run."""
        self.lookup, self.left, self.right = lookup, left, right

    def texts(self, places: I64) -> list[tuple[str, str]]:
        """Both texts of some rows of the table; raises as ``Lookup.texts``."""
        found = self.lookup.texts(np.concatenate((self.left[places], self.right[places])).astype(np.int64))
        return list(zip(found[: places.size], found[places.size :], strict=True))


def _done(task: Task) -> Batch:
    try:
        return task()
    except NeedsRoom as exc:  # and here it is alone
        return exc.task()


def _inside(wanted: I64, first: int, end: int) -> I64:
    return wanted[slice(*np.searchsorted(wanted, (first, end)).tolist())]


def _changed(what: str) -> InputChanged:
    return InputChanged(f"the input was changed since it was searched: it {what}. Search it again.")


def _gone(why: str) -> Lookup:
    lookup = Lookup.__new__(Lookup)
    lookup.gone, lookup._reader = why, None
    return lookup
