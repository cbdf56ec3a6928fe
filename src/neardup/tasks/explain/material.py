"""From what the user gives to the rows of the characteristic matrix, and to the functions that order them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neardup.errors import InputError
from neardup.params import Normalize, Shingle
from neardup.tasks.explain.tables import Document, Function, Value

MAX_DOCUMENTS, MAX_SHINGLES, MAX_FUNCTIONS = 20, 200, 200
"""What a table for people can hold."""

_LINEAR = re.compile(
    r"\(?\s*+(?P<a>\d*+)\s*+[*·]?\s*+x\s*+(?:(?P<sign>[+-])\s*+(?P<b>\d++))?\s*+\)?\s*+(?:mod|%)\s*+(?P<m>\d++)"
)


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

    def __post_init__(self) -> None:
        if not self.documents:
            raise InputError("there is nothing to explain. Give a text, a set or a matrix.")
        if len(self.documents) > MAX_DOCUMENTS:
            raise InputError(
                f"{len(self.documents)} documents are too many for tables that can be read. Give at most "
                f"{MAX_DOCUMENTS}."
            )
        if len(self.universe) > MAX_SHINGLES:
            raise InputError(
                f"the documents have {len(self.universe)} distinct shingles ({self.shingle}), too many for tables "
                f"that can be read. Give shorter ones; {MAX_SHINGLES} shingles are the most."
            )


def texts(given: Mapping[str, str], shingle: Shingle, normalize: Normalize) -> Material:
    """Documents by name, cut into shingles; with ``item`` a text is a set of items with white space between."""
    if shingle.kind == "item":
        return sets({name: text.split() for name, text in given.items()}, normalize)
    from neardup.stages.shingle import shingles  # imports the kernels, which sets and matrices do not need

    documents = []
    for name, text in given.items():
        _check_encodable(name, text)
        normal = _normalized(text, normalize)
        documents.append(Document(name, normal, tuple(shingles(normal, shingle))))
    universe = tuple(dict.fromkeys(one for document in documents for one in document.shingles))
    return Material(shingle, normalize, tuple(documents), universe, None)


def sets(given: Mapping[str, Iterable[object]], normalize: Normalize) -> Material:
    """Sets by name. Items are strings or whole numbers; 7 and "7" are one."""
    documents = [Document(name, None, _items(name, members, normalize)) for name, members in given.items()]
    found = {one for document in documents for one in document.shingles}
    universe = tuple(sorted(found, key=_rank))
    numbers = tuple(map(int, universe)) if universe and all(map(_is_number, universe)) else None
    return Material(Shingle("item", 1), normalize, tuple(documents), universe, numbers)


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
    documents = tuple(Document(name, None, members) for name, members in columns.items())
    return Material(Shingle("item", 1), Normalize("none"), documents, names, tuple(map(int, names)))


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


@dataclass(frozen=True, slots=True)
class Column:
    """A function and its value in each row."""

    function: Function
    values: tuple[Value, ...]


def permutation(name: str, given: str | Sequence[int], rows: int) -> Column:
    """The place of each row, as in ``2,3,7,6,1,5,4``: the first row comes second; from 0 or from 1."""
    places = _places(given)
    if len(places) != rows or sorted(places) not in (list(range(rows)), list(range(1, rows + 1))):
        raise InputError(
            f"permutation {_comma(places)} is none of {rows} rows. Give each number from 1 to {rows} (or from 0 to "
            f"{rows - 1}) once: the place of the first row, of the second, and so on."
        )
    return Column(Function(name, f"permutation {_comma(places)}"), tuple(places))


def first_place(given: str | Sequence[int]) -> int:
    """The number that the places of a permutation begin with."""
    return min(_places(given), default=0)


def _places(given: str | Sequence[int]) -> list[int]:
    parts = given.split(",") if isinstance(given, str) else [str(place) for place in given]
    if not all(re.fullmatch(r"\s*\d{1,9}\s*", part) for part in parts):
        raise InputError(f"permutation is {given!r}. Give whole numbers with commas between, such as 2,3,1.")
    return [int(part) for part in parts]


def order(name: str, given: str | Sequence[object], universe: Sequence[str]) -> Column:
    """The shingles from first to last, as in ``b,e,a,d,c``; it may name more than the documents have."""
    known = set(universe)
    parts = given.split(",") if isinstance(given, str) else [str(one) for one in given]
    named = [part if part in known else part.strip() for part in parts]
    missing = [one for one in universe if one not in set(named)]
    if missing:
        raise InputError(
            f"order {','.join(named)} lacks {', '.join(map(repr, missing[:10]))}. Name every shingle once."
        )
    if len(set(named)) < len(named):
        twice = next(one for one in named if named.count(one) > 1)
        raise InputError(f"order {','.join(named)} names {twice!r} twice. Name every shingle once.")
    place = {one: i for i, one in enumerate(named)}
    return Column(Function(name, f"order {', '.join(named)}"), tuple(place[one] for one in universe))


def linear(name: str, given: str, numbers: Sequence[int]) -> Column:
    """A function of the number of the row, as in ``3x+1 mod 5``."""
    match = _LINEAR.fullmatch(given.strip())
    if match is None or int(match["m"]) < 1:
        raise InputError(f"hash is {given!r}. Give a function of the row x, such as '3x+1 mod 5'.")
    a, m = int(match["a"] or 1), int(match["m"])
    b = int(match["b"] or 0) * (-1 if match["sign"] == "-" else 1)
    head = f"{a if a != 1 else ''}x" + (f" {match['sign']} {abs(b)}" if b else "")
    return Column(Function(name, f"{head} mod {m}"), tuple((a * x + b) % m for x in numbers))


def family(
    universe: Sequence[str], shingle: Shingle, *, sketch: str, slots: int, seed: int
) -> tuple[list[Column], list[list[Value]]]:
    """The functions of a sketch family, as ranks of the rows, and the 32-bit values that the library works with.

    The signature of a set is in every family the slot-wise minimum of those of its elements, so what each slot makes of
    a row is the signature of that one shingle: for each row the values of all slots, None for one that stays empty.
    """
    import numpy as np  # and kernels with what follows: explicit functions need neither

    from neardup.stages import sketch as sketch_stage
    from neardup.stages.shingle import Hasher, build_sets
    from neardup.types import Documents

    encoding = "latin-1" if shingle.kind == "byte" else "utf-8"
    documents = Documents.from_bytes(one.encode(encoding) for one in universe)
    hasher = Hasher(shingle, seed)
    values, counts = np.empty((len(universe), slots), dtype=np.uint32), np.zeros(len(universe), dtype=np.int64)
    sketch_stage.count_and_sketch(documents, hasher, values=values, counts=counts)
    if sketch != "hybrid":
        one_each = build_sets(documents, hasher, np.abs(counts))
        values = sketch_stage.sketch_sets(one_each, family=sketch, slots=slots, seed=seed).values
    plain: list[list[Value]] = [[None if v == 0xFFFFFFFF else v for v in row] for row in values.tolist()]
    columns = []
    for s in range(slots):
        there = sorted({v for v in (row[s] for row in plain) if v is not None})
        rank: dict[Value, Value] = {None: None, **{v: i for i, v in enumerate(there)}}
        ranks = tuple(rank[row[s]] for row in plain)
        columns.append(Column(Function(f"h{s + 1}", f"{sketch}, seed {seed}, slot {s + 1}"), ranks))
    return columns, plain


def _comma(places: Sequence[int]) -> str:
    return ",".join(map(str, places))
