"""From what the user gives to documents and the rows of the characteristic matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neardup.errors import InputError
from neardup.params import Normalize, Shingle
from neardup.tasks.explain.tables import Document

__all__ = ["MAX_DOCUMENTS", "MAX_SHINGLES", "Material", "matrix", "sets", "texts"]

MAX_DOCUMENTS, MAX_SHINGLES = 20, 200
"""What a table for people can hold."""


@dataclass(frozen=True, slots=True)
class Material:
    """Documents and the universe of their shingles."""

    shingle: Shingle
    normalize: Normalize
    documents: tuple[Document, ...]
    universe: tuple[str, ...]
    """The shingles in the order of the rows: of texts by first appearance, of sets sorted."""
    numbers: tuple[int, ...] | None
    """What numbers the rows by itself: the items, where all are whole numbers."""


def texts(given: Mapping[str, str], shingle: Shingle, normalize: Normalize) -> Material:
    """Documents by name, cut into shingles; with ``item`` a text is a set of items with white space between."""
    if shingle.kind == "item":
        return sets({name: text.split() for name, text in given.items()}, normalize)
    from neardup.stages.shingle import shingles  # brings numba, which sets and matrices can do without

    _check_number(given)
    documents = []
    for name, text in given.items():
        _check_encodable(name, text)
        normal = _normalized(text, normalize)
        documents.append(Document(name, normal, tuple(shingles(normal, shingle))))
    universe = tuple(dict.fromkeys(one for document in documents for one in document.shingles))
    return _checked(Material(shingle, normalize, tuple(documents), universe, None))


def sets(given: Mapping[str, Iterable[object]], normalize: Normalize) -> Material:
    """Sets by name. Items are strings or whole numbers; 7 and "7" are one."""
    _check_number(given)
    documents = [Document(name, None, _items(name, members, normalize)) for name, members in given.items()]
    found = {one for document in documents for one in document.shingles}
    universe = tuple(sorted(found, key=_rank))
    numbers = tuple(map(int, universe)) if universe and all(map(_is_number, universe)) else None
    return _checked(Material(Shingle("item", 1), normalize, tuple(documents), universe, numbers))


def matrix(lines: Sequence[str], first: int) -> Material:
    """A characteristic matrix: one string of 0 and 1 a row, a column for each document; rows are their numbers.

    A row of zeros stays in the universe.
    """
    rows = [line.strip() for line in lines]
    width = len(rows[0]) if rows else 0
    for place, row in enumerate(rows, start=1):
        if set(row) - {"0", "1"} or len(row) != width or not row:
            raise InputError(
                f"row {place} of the matrix is {row!r}. Give rows of 0 and 1, all of one length, such as 1010,1001."
            )
    if not rows:
        raise InputError("the matrix has no rows. Give rows of 0 and 1, such as 1010,1001.")
    names = tuple(str(first + i) for i in range(len(rows)))
    columns = {f"C{c + 1}": tuple(n for n, row in zip(names, rows, strict=True) if row[c] == "1") for c in range(width)}
    _check_number(columns)
    documents = tuple(Document(name, None, members) for name, members in columns.items())
    return _checked(Material(Shingle("item", 1), Normalize("none"), documents, names, tuple(map(int, names))))


def _items(name: str, members: Iterable[object], normalize: Normalize) -> tuple[str, ...]:
    found = set()
    for item in members:
        if isinstance(item, bool) or not isinstance(item, (str, int)):
            raise InputError(f"the item {item!r} of {name} is neither a string nor a whole number.")
        _check_encodable(name, str(item))
        found.add(_normalized(str(item), normalize))
    return tuple(sorted(found - {""}, key=_rank))


def _is_number(item: str) -> bool:
    """Whether an item is a whole number as Python writes it, so that it stands for one item only."""
    return item.removeprefix("-").isdecimal() and str(int(item)) == item


def _rank(item: str) -> tuple[int, int, str]:
    """Numbers first and by size, then strings."""
    return (0, int(item), "") if _is_number(item) else (1, 0, item)


def _normalized(text: str, normalize: Normalize) -> str:
    if normalize.is_form_only and (text.isascii() or normalize.form == "none"):
        return text
    from neardup.stages.text import normalize_text

    return normalize_text(text, normalize)


def _check_encodable(name: str, text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise InputError(f"{name} has a lone surrogate at character {exc.start + 1}. Take it out.") from exc


def _check_number(given: Mapping[str, object]) -> None:
    if not given:
        raise InputError("there is nothing to explain. Give a text, a set or a matrix.")
    if len(given) > MAX_DOCUMENTS:
        raise InputError(
            f"{len(given)} documents are too many for tables that can be read. Give at most {MAX_DOCUMENTS}."
        )


def _checked(material: Material) -> Material:
    if len(material.universe) > MAX_SHINGLES:
        raise InputError(
            f"the documents have {len(material.universe)} distinct shingles ({material.shingle}), too many for tables "
            f"that can be read. Give shorter ones; {MAX_SHINGLES} shingles are the most."
        )
    return material
