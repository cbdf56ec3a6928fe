"""Documents that are added one at a time and stored together: what waits, and when it is stored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Self

from neardup.calls import hinted_methods
from neardup.errors import InputError
from neardup.index.outcomes import Added
from neardup.index.prepared import PreparedDocuments, Sketcher, checked_columns, checked_id
from neardup.inputs.source import BATCH_BYTES
from neardup.types import Documents

DOCUMENTS = 4096
"""Documents that are stored together, at most; 4 MB of text are stored sooner."""


@hinted_methods
class IndexBatch:
    """Adds documents one at a time at the price of many: they wait in memory and are stored some thousand together.

    Made by ``Index.batch``. A document is durable when ``flush`` returns or the ``with`` block has ended; before that
    it may be in memory only, where no query finds it, and a kill loses it. Any thread may add.

    >>> import neardup
    >>> index = neardup.Index.create(threshold=0.5, shingle="word:2")
    >>> with index.batch() as batch:
    ...     for number, text in enumerate(["the quick brown fox", "something else entirely"]):
    ...         batch.add(number, text)
    >>> batch.added.added, len(index)
    (2, 2)
    """

    def __init__(self, sketcher: Sketcher, store: Callable[[PreparedDocuments], list[str]]) -> None:
        self._sketcher = sketcher
        self._store = store
        self._lock = threading.Lock()
        self._held: list[tuple[int | str, bytes, str | None]] = []
        """Id, text and columns of those that wait."""
        self._nbytes = 0
        self._is_closed = False
        self.added = Added()
        """What became of the documents that were stored so far."""

    def __len__(self) -> int:
        """Documents that wait."""
        return len(self._held)

    def add(self, id: int | str, text: Any, columns: Mapping[str, Any] | None = None) -> None:
        """Add a document; with it, all that wait are stored when there are 4,096 or 4 MB of them.

        Raises:
            InputError: the id or the text cannot be used, and the document is left out; or the id of one that waited is
                there and that is to be an error, and none of those that waited is added.
            OutputError: the disk is full; none of those that waited is added.
        """
        name, blob = checked_id(id), self._sketcher.blob(text, "text")
        stored = checked_columns(name, columns)
        with self._lock:
            if self._is_closed:
                raise InputError("the batch has ended, and takes no more documents. Begin another one.")
            self._held.append((name, blob, stored))
            self._nbytes += len(blob) + len(stored or "")
            if len(self._held) >= DOCUMENTS or self._nbytes >= BATCH_BYTES:
                self._flush()

    def flush(self) -> None:
        """Store what waits, in one transaction; it is durable when this returns. Raises what ``add`` raises."""
        with self._lock:
            self._flush()

    def _flush(self) -> None:
        held, self._held, self._nbytes = self._held, [], 0
        if held:
            ids, blobs, columns = zip(*held, strict=True)
            prepared = self._sketcher.prepare(Documents.from_bytes(blobs), ids, columns)
            self.added += prepared.counted(self._store(prepared))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Store what waits; after an exception it is dropped."""
        with self._lock:
            self._is_closed = True
            if kind is None:
                self._flush()
