"""Python values: strings, pairs (id, text), a mapping of id to text, and sets of items.

The first element decides the shape and all others must have it. Without ids the id of an element is its
position, from 0, so that it can index the list. An iterator is read once, a few megabytes at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from neardup.arrays import numbers, strings
from neardup.errors import InputError
from neardup.inputs.items import COLLECTIONS, ItemError, join_items, split_items
from neardup.inputs.source import BATCH_BYTES, INT64, BadRecord, Faults, ReadOptions, Source, Task
from neardup.types import Batch, Documents

_ITEM_BYTES = 8
"""What an item counts for when batches are cut."""
_SHOWN = 60


class PythonSource(Source):
    """A mapping or an iterable of documents in memory."""

    paths = None

    def __init__(self, values: Iterable[Any] | Mapping[Any, Any], options: ReadOptions, name: str = "input") -> None:
        for option, asked in (("text", options.text), ("id", options.id), ("column", options.column or None)):
            if asked is not None:
                raise InputError(
                    f"{option} is {asked!r}, and a {type(values).__name__} of documents has no columns. "
                    f"Leave {option} out, or give a frame or a table."
                )
        super().__init__(name, options)
        self._values = values

    @property
    def is_rereadable(self) -> bool:
        return not isinstance(self._values, Iterator)

    def tasks(self) -> Iterator[Task]:
        """Yield a task for about 4 MB of documents, at most ``block`` of them."""
        is_mapping = isinstance(self._values, Mapping)
        values = iter(self._values.items() if isinstance(self._values, Mapping) else self._values)
        for first in values:
            paired = is_mapping or (isinstance(first, tuple) and len(first) == 2)
            if paired and not is_mapping and self._options.item:
                paired = isinstance(first[1], COLLECTIONS)  # two strings are a set of two
            position = 0
            for part in _parts(chain([first], values), self._options.block, paired):
                yield partial(self._read, part, position, paired)
                position += len(part)

    def _read(self, part: list[Any], position: int, paired: bool) -> Batch:
        faults = Faults(self.name, self._options.on_bad)
        blobs: list[bytes] = []
        rows: list[int] = []
        ids: list[int | str] = []
        for i, element in enumerate(part, start=position):
            try:
                identifier, value = _pair(element) if paired else (i, element)
                ids.append(_checked_id(identifier))
                blobs.append(_set(value) if self._options.item else _text(value, paired))
            except BadRecord as exc:
                del ids[len(blobs) :]
                faults.add(i + 1, f"element {i} (counted from 0): {exc}", exc.cure)
            else:
                rows.append(i + 1)
        documents = Documents.from_bytes(blobs)
        named = _id_array(ids) if paired or self._options.positions else None
        return faults.batch(documents, np.array(rows, dtype=np.int64), named, consumed=documents.nbytes)


def _parts(values: Iterable[Any], block: int | None, paired: bool) -> Iterator[list[Any]]:
    part: list[Any] = []
    size = 0
    for element in values:
        part.append(element)
        size += _rough_size(element[-1] if paired and isinstance(element, tuple) and element else element)
        if size >= BATCH_BYTES or len(part) == block:
            yield part
            part, size = [], 0
    if part:
        yield part


def _rough_size(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + _ITEM_BYTES
    return _ITEM_BYTES * (1 + len(value)) if isinstance(value, COLLECTIONS) else _ITEM_BYTES


def _pair(element: Any) -> tuple[Any, Any]:
    if isinstance(element, tuple) and len(element) == 2:
        return element
    raise BadRecord(
        f"{_shown(element)}, where the first element is a pair (id, text)", "Give every element in the same shape."
    )


def _text(value: Any, paired: bool) -> bytes:
    if isinstance(value, str):
        return _utf8(value, "the text")
    if isinstance(value, tuple) and not paired:
        raise BadRecord(f"{_shown(value)}, where the first element is a text", "Give every element in the same shape.")
    cure = "Decode bytes to str first." if isinstance(value, bytes) else "Give strings, or pairs (id, text)."
    if isinstance(value, COLLECTIONS):
        cure = "Give strings or pairs (id, text), or compare sets with shingle='item'."
    raise BadRecord(f"{_shown(value)}, not a text", cure)


def _set(value: Any) -> bytes:
    if isinstance(value, str):
        _utf8(value, "the text")
        return split_items(value)
    if not isinstance(value, COLLECTIONS):
        raise BadRecord(f"{_shown(value)}, not a set", "Give lists or sets of strings or whole numbers.")
    try:
        return join_items(value)
    except ItemError as exc:
        raise BadRecord(str(exc)) from exc


def _checked_id(value: Any) -> int | str:
    if isinstance(value, str):
        _utf8(value, "the id")
        return str(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value) if int(value) in INT64 else str(value)
    raise BadRecord(f"the id is {_shown(value)}", "An id is a string or a whole number.")


def _utf8(text: str, what: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        reason = f"{what} has the lone surrogate U+{ord(text[exc.start]):04X} at character {exc.start + 1}"
        raise BadRecord(reason, "Decode the text with errors='replace' where it is read.") from exc


def _id_array(ids: list[int | str]) -> Any:
    if all(isinstance(value, int) for value in ids):
        return numbers(np.array(ids, dtype=np.int64))
    return strings(str(value) for value in ids)


def _shown(value: Any) -> str:
    plain = repr(value)
    plain = plain if len(plain) <= _SHOWN else plain[: _SHOWN - 1] + "…"
    return f"{plain} of type {type(value).__name__}"
