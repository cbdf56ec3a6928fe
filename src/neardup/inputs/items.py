"""Sets that are not texts: how their items become the bytes that ``Documents`` holds.

The items are written as UTF-8 (whole numbers as decimal text) and joined by the byte 0xFF, which no UTF-8
has. The shingle stage takes an empty string for no item. The number 7 and the string "7" are one item.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from neardup.types import Documents

ITEM_SEPARATOR = b"\xff"


COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
"""Types of a set in memory."""


class ItemError(ValueError):
    """A member that is no item; the message is the reason, for a fault or an error."""


def join_items(items: Iterable[object]) -> bytes:
    """The set as bytes; ItemError for a member that is neither a string, in valid Unicode, nor a whole number."""
    return ITEM_SEPARATOR.join(_item(item) for item in items)


def _item(item: object) -> bytes:
    if isinstance(item, str):
        try:
            return item.encode("utf-8")
        except UnicodeEncodeError as exc:
            raise ItemError(f"the item {item!r} has a lone surrogate at character {exc.start + 1}") from exc
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return b"%d" % int(item)
    raise ItemError(f"the item {item!r} is of type {type(item).__name__}, not a string or a whole number")


def split_items(text: str) -> bytes:
    """Return the words of ``text`` between white space (as Unicode has it) as the bytes of a set."""
    return ITEM_SEPARATOR.join(part.encode("utf-8") for part in text.split())


def split_documents(documents: Documents) -> Documents:
    """Turn each text, which must be valid UTF-8, into the set of its words."""
    return Documents.from_bytes(split_items(documents.blob(i).decode("utf-8")) for i in range(len(documents)))
