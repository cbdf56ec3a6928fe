"""The method on a few small documents, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neardup import params
from neardup.errors import InputError
from neardup.params import SKETCH_FAMILIES, Bands, Normalize, Shingle, check_choice
from neardup.tasks.explain import documents
from neardup.tasks.explain.build import build
from neardup.tasks.explain.explanation import Explanation
from neardup.tasks.explain.functions import first_place

__all__ = ["explain"]


def explain(
    texts: Sequence[str] | Sequence[Iterable[str | int]] | Mapping[str, Any] = (),
    *,
    rows: Sequence[str] = (),
    shingle: str | Shingle | None = None,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    permutations: Sequence[str | Sequence[int]] = (),
    orders: Sequence[str | Sequence[str | int]] = (),
    hashes: Sequence[str] = (),
    first_row: int | None = None,
    sketch: str = "permutation",
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = params.DEFAULT_SEED,
) -> Explanation:
    """Show every step of the method on a few small documents.

    Shingles, the characteristic matrix, the order of its rows under each function, the signatures built row by row,
    bands and buckets, and for each pair the estimate beside the exact similarity. With functions of a sketch family
    the signatures have the ranks of what ``sketch`` gives for the same documents (``values`` has that itself).

    Args:
        texts: texts, or sets of strings or whole numbers; a mapping gives them names. At most 20.
        rows: in place of texts, a characteristic matrix: a string of 0 and 1 for each row, a column for each document.
        shingle: ``char:K``, ``word:K``, ``byte:K`` or ``item``. None: ``char:2`` for texts, ``item`` for sets.
        normalize: as for ``find``.
        permutations: places of the rows, such as ``"2,3,1"``: the first row comes second, and so on.
        orders: shingles from first to last, such as ``"b,e,a,d,c"`` (or a list, where a shingle has a comma in it).
        hashes: functions of the number x of a row, such as ``"3x+1 mod 5"``.
        first_row: number of the first row. None: rows of whole numbers have these numbers; others begin where the
            permutations begin, at 0 or 1, else at 0.
        sketch: family of the functions when none are given: ``permutation`` (random permutations of the shingles
            there are), ``hybrid``, ``independent``, ``universal`` or ``one-permutation``.
        slots: number of functions of the family. None: what the bands need, else 6.
        bands: ``BxR``. None: bands of two rows for an even number of slots, of one for an odd one.
        seed: seed of the functions of the family.

    Raises:
        InputError: something does not fit, or is too large for a table that can be read.

    >>> import neardup
    >>> seen = neardup.explain([{0, 3}, {2}, {1, 3, 4}, {0, 2, 3}], hashes=["x+1 mod 5", "3x+1 mod 5"])
    >>> [slot.values for slot in seen.signature]
    [(1, 3, 0, 1), (0, 2, 0, 0)]
    >>> [(pair.left, pair.right) for pair in seen.candidates]
    [('S1', 'S4')]
    """
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed!r}. Give a whole number from 0 to 2**63 - 1.")
    for name, value, least in (("first_row", first_row, 0), ("slots", slots, 1)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise InputError(f"{name} is {value!r}. Give a whole number of at least {least}.")
    return build(
        _material(texts, rows, shingle, Normalize.parse(normalize), _first_of(first_row, permutations)),
        permutations=permutations,
        orders=orders,
        hashes=hashes,
        first_row=first_row,
        sketch=check_choice(sketch, SKETCH_FAMILIES, "sketch"),
        slots=slots,
        bands=None if bands is None else Bands.parse(bands),
        seed=seed,
    )


def _first_of(first_row: int | None, permutations: Sequence[str | Sequence[int]]) -> int:
    """The number of the first row of a matrix."""
    if first_row is not None:
        return first_row
    return first_place(permutations[0]) if permutations else 0


def _material(
    texts: Any, rows: Sequence[str], shingle: str | Shingle | None, normalize: Normalize, first: int
) -> documents.Material:
    if isinstance(texts, str):
        raise InputError("texts is one text. Give a list of texts.")
    wanted = None if shingle is None else Shingle.parse(shingle)
    if rows:
        if texts:
            raise InputError("texts and a matrix are given. Give one of them.")
        return documents.matrix(rows, first)
    named = texts if isinstance(texts, Mapping) else None
    values = list(texts.values()) if named is not None else list(texts)
    are_texts = [isinstance(value, str) for value in values]
    if any(are_texts) and not all(are_texts):
        raise InputError("texts has both texts and sets. Give one kind.")
    if all(are_texts) and values:
        names = list(named) if named is not None else [f"D{i}" for i in range(1, len(values) + 1)]
        return documents.texts(dict(zip(names, values, strict=True)), wanted or Shingle("char", 2), normalize)
    if wanted is not None and wanted.kind != "item":
        raise InputError(f"shingle is {wanted} and the documents are sets. Leave shingle out.")
    names = list(named) if named is not None else [f"S{i}" for i in range(1, len(values) + 1)]
    return documents.sets(dict(zip(names, values, strict=True)), normalize)
