"""The method on a few small documents, step by step, as the textbook has it: matrix, signatures, bands, pairs.

Slow and plain on purpose; what runs over collections is in ``neardup.engine``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, count
from typing import Any

from neardup import params
from neardup.calls import hinted
from neardup.errors import InputError
from neardup.params import SKETCH_FAMILIES, Bands, Normalize, Preset, Shingle, check_choice, check_seed, with_preset
from neardup.params.checks import check_whole
from neardup.tasks.explain import material as materials
from neardup.tasks.explain.explanation import Explanation
from neardup.tasks.explain.material import MAX_FUNCTIONS, Column, Material, first_place
from neardup.tasks.explain.tables import Bucket, Document, Pair, Row, Slot, Step, Value
from neardup.tuning import s_curve

DEFAULT_SLOTS = 6
CURVE = tuple(i / 10 for i in range(1, 10))


@hinted
@with_preset
def explain(
    texts: Sequence[str] | Sequence[Iterable[str | int]] | Mapping[str, Any] = (),
    *,
    rows: Sequence[str] = (),
    preset: str | Preset | None = None,
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
        preset: shingle and normalisation for a kind of text, as of ``find``.
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
    check_seed(seed)
    for name, value, least in (("first_row", first_row, 0), ("slots", slots, 1)):
        if value is not None:
            check_whole(value, name, least)
    first = first_row
    if first is None:
        first = first_place(permutations[0]) if permutations else 0
    material = _material(texts, rows, shingle, Normalize.parse(normalize), first)
    check_choice(sketch, SKETCH_FAMILIES, "sketch")
    wanted = None if bands is None else Bands.parse(bands)
    numbers: Sequence[int] = range(first, first + len(material.universe))
    if first_row is None and material.numbers is not None:
        numbers = material.numbers
    given = _given(material, numbers, permutations, orders, hashes)
    if given and slots is not None and slots != len(given):
        raise InputError(f"slots is {slots} and {len(given)} functions are given, one a slot. Leave slots out.")
    shape = _shape(len(given) or slots, wanted)
    length = len(given) or slots or max(DEFAULT_SLOTS if wanted is None else 0, shape.slots)
    if length > MAX_FUNCTIONS:
        raise InputError(f"{length} slots are too many for tables that can be read. Give at most {MAX_FUNCTIONS}.")
    columns, plain = given, None
    if not given:
        columns, plain = materials.family(material.universe, material.shingle, sketch=sketch, slots=length, seed=seed)
    table = _rows(material, numbers, columns)
    steps, signature = _signatures(material.documents, table, columns)
    buckets = _buckets(material.documents, signature, shape)
    return Explanation(
        shingle=material.shingle,
        normalize=material.normalize,
        sketch="given" if given else sketch,
        seed=None if given else seed,
        bands=shape,
        documents=material.documents,
        functions=tuple(column.function for column in columns),
        rows=table,
        steps=steps,
        signature=signature,
        buckets=buckets,
        pairs=_pairs(material.documents, signature, buckets, shape),
        curve=tuple((s, s_curve(s, shape.bands, shape.rows)) for s in CURVE),
        values=None if plain is None else _least(table, plain, len(material.documents), length),
        notes=tuple(_notes(given, table)),
    )


def _material(
    texts: Any, rows: Sequence[str], shingle: str | Shingle | None, normalize: Normalize, first: int
) -> Material:
    if isinstance(texts, str):
        raise InputError("texts is one text. Give a list of texts.")
    wanted = None if shingle is None else Shingle.parse(shingle)
    if rows:
        if texts:
            raise InputError("texts and a matrix are given. Give one of them.")
        return materials.matrix(rows, first)
    values = list(texts.values() if isinstance(texts, Mapping) else texts)
    are_texts = bool(values) and all(isinstance(value, str) for value in values)
    if not are_texts and any(isinstance(value, str) for value in values):
        raise InputError("texts has both texts and sets. Give one kind.")
    letter = "D" if are_texts else "S"
    named = dict(texts if isinstance(texts, Mapping) else {f"{letter}{i}": v for i, v in enumerate(values, start=1)})
    if are_texts:
        return materials.texts(named, wanted or Shingle("char", 2), normalize)
    if wanted is not None and wanted.kind != "item":
        raise InputError(f"shingle is {wanted} and the documents are sets. Leave shingle out.")
    return materials.sets(named, normalize)


def _given(
    material: Material,
    numbers: Sequence[int],
    permutations: Sequence[str | Sequence[int]],
    orders: Sequence[str | Sequence[object]],
    hashes: Sequence[str],
) -> list[Column]:
    """The explicit functions, in the order of their kinds, named h1, h2 …"""
    names = (f"h{i}" for i in count(1))
    return [
        *(materials.permutation(next(names), one, len(material.universe)) for one in permutations),
        *(materials.order(next(names), one, material.universe) for one in orders),
        *(materials.linear(next(names), one, numbers) for one in hashes),
    ]


def _shape(slots: int | None, bands: Bands | None) -> Bands:
    """The bands: as given, else of two rows where the slots are even in number, of one where they are odd."""
    if bands is None:
        slots = slots or DEFAULT_SLOTS
        rows = 2 if slots % 2 == 0 else 1
        return Bands(slots // rows, rows)
    if slots is not None and bands.slots > slots:
        raise InputError(f"bands {bands} need {bands.slots} slots, and there are {slots}. Give smaller bands.")
    return bands


def _rows(material: Material, numbers: Sequence[int], columns: Sequence[Column]) -> tuple[Row, ...]:
    has = [set(document.shingles) for document in material.documents]
    return tuple(
        Row(number, one, tuple(int(one in members) for members in has), tuple(c.values[i] for c in columns))
        for i, (number, one) in enumerate(zip(numbers, material.universe, strict=True))
    )


def _signatures(
    documents: Sequence[Document], rows: Sequence[Row], columns: Sequence[Column]
) -> tuple[tuple[Step, ...], tuple[Slot, ...]]:
    """One pass over the rows: each lowers the slots of the documents that have it (MMDS, section 3.3.5)."""
    state: list[list[Value]] = [[None] * len(documents) for _ in columns]
    kept: list[list[str | None]] = [[None] * len(documents) for _ in columns]
    steps = []
    for row in rows:
        for slot, value in enumerate(row.values):
            for document, member in enumerate(row.members):
                now = state[slot][document]
                if member and value is not None and (now is None or value < now):
                    state[slot][document] = value
                    kept[slot][document] = row.shingle
        steps.append(Step(row.number, tuple(map(tuple, state))))
    signature = (
        Slot(column.function.name, tuple(values), tuple(shingles))
        for column, values, shingles in zip(columns, state, kept, strict=True)
    )
    return tuple(steps), tuple(signature)


def _buckets(documents: Sequence[Document], signature: Sequence[Slot], bands: Bands) -> tuple[Bucket, ...]:
    found = []
    for band in range(bands.bands):
        part = signature[band * bands.rows : (band + 1) * bands.rows]
        groups: dict[tuple[Value, ...], list[str]] = {}
        for place, document in enumerate(documents):
            if document.shingles:
                groups.setdefault(tuple(slot.values[place] for slot in part), []).append(document.name)
        found += [Bucket(band + 1, key, tuple(names)) for key, names in groups.items()]
    return tuple(found)


def _pairs(
    documents: Sequence[Document], signature: Sequence[Slot], buckets: Sequence[Bucket], bands: Bands
) -> tuple[Pair, ...]:
    found = []
    for i, j in combinations(range(len(documents)), 2):
        a, b = documents[i], documents[j]
        shared, union = len({*a.shingles} & {*b.shingles}), len({*a.shingles, *b.shingles})
        similarity = shared / union if union else 1.0
        told = [(s.values[i], s.values[j]) for s in signature if (s.values[i], s.values[j]) != (None, None)]
        agreeing = sum(x == y for x, y in told)
        found.append(
            Pair(
                left=a.name,
                right=b.name,
                shared=shared,
                union=union,
                similarity=similarity,
                agreeing=agreeing,
                compared=len(told),
                estimate=agreeing / len(told) if told else 0.0,
                bands=tuple(one.band for one in buckets if a.name in one.documents and b.name in one.documents),
                probability=s_curve(similarity, bands.bands, bands.rows),
            )
        )
    return tuple(found)


def _least(
    rows: Sequence[Row], plain: Sequence[Sequence[Value]], documents: int, slots: int
) -> tuple[tuple[Value, ...], ...]:
    """For each document the least 32-bit value of its rows in each slot."""
    found = []
    for document in range(documents):
        own = [values for row, values in zip(rows, plain, strict=True) if row.members[document]]
        per_slot = ([v for v in (row[s] for row in own) if v is not None] for s in range(slots))
        found.append(tuple(min(column, default=None) for column in per_slot))
    return tuple(found)


def _notes(given: Sequence[Column], rows: Sequence[Row]) -> list[str]:
    """What a reader could stumble over."""
    notes = []
    for column in given:
        place: dict[Value, int] = {}
        for row, value in zip(rows, column.values, strict=True):
            if value in place:
                notes.append(
                    f"{column.function.name} = {column.function.rule} gives the rows {place[value]} and {row.number} "
                    f"the same value {value}: it is no permutation of the rows, and its estimates are biased."
                )
                break
            place[value] = row.number
    return notes
