"""The functions that order the rows: permutations, orders of shingles, linear hashes, and those of a sketch family."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from neardup.errors import InputError
from neardup.params import Shingle
from neardup.tasks.explain.tables import Function, Value

__all__ = ["MAX_FUNCTIONS", "Column", "family", "first_place", "linear", "order", "permutation"]

MAX_FUNCTIONS = 200

_LINEAR = re.compile(
    r"\(?\s*+(?P<a>\d*+)\s*+[*·]?\s*+x\s*+(?:(?P<sign>[+-])\s*+(?P<b>\d++))?\s*+\)?\s*+(?:mod|%)\s*+(?P<m>\d++)"
)


@dataclass(frozen=True, slots=True)
class Column:
    """A function and its value in each row."""

    function: Function
    values: tuple[Value, ...]


def permutation(name: str, given: str | Sequence[int], rows: int) -> Column:
    """The place of each row, as in ``2,3,7,6,1,5,4``: the first row comes second, and so on.

    Raises:
        InputError: it is no permutation of 0 … rows - 1 or of 1 … rows.
    """
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
    """The shingles from first to last, as in ``b,e,a,d,c``; it may name more than the documents have.

    Raises:
        InputError: a shingle is missing, or named twice.
    """
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
    """A function of the number of the row, as in ``3x+1 mod 5``.

    Raises:
        InputError: not of the form a x + b mod m.
    """
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
    a row is the signature of that one shingle.

    Returns:
        The columns, and for each row the values of all slots; None for a slot that stays empty.
    """
    import numpy as np  # and numba with what follows: explicit functions can do without

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
