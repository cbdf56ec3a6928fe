"""The method, step by step, as the textbook has it: matrix, signatures row by row, bands, buckets, pairs.

Slow and plain on purpose; what runs over collections is in ``neardup.engine``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from neardup.errors import InputError
from neardup.params import Bands
from neardup.tasks.explain import functions as rules
from neardup.tasks.explain.documents import Material
from neardup.tasks.explain.explanation import Explanation
from neardup.tasks.explain.functions import MAX_FUNCTIONS, Column
from neardup.tasks.explain.tables import Bucket, Document, Pair, Row, Slot, Step, Value
from neardup.tuning import s_curve

__all__ = ["build"]

DEFAULT_SLOTS = 6
CURVE = tuple(i / 10 for i in range(1, 10))


def build(
    material: Material,
    *,
    permutations: Sequence[str | Sequence[int]],
    orders: Sequence[str | Sequence[object]],
    hashes: Sequence[str],
    first_row: int | None,
    sketch: str,
    slots: int | None,
    bands: Bands | None,
    seed: int,
) -> Explanation:
    """Explain documents, by the functions given, or by ``slots`` functions of a sketch family when there are none.

    Raises:
        InputError: a function, or the number of slots, does not fit.
    """
    numbers = _numbers(material, first_row, permutations)
    given = _given(material, numbers, permutations, orders, hashes)
    if given and slots is not None and slots != len(given):
        raise InputError(f"slots is {slots} and {len(given)} functions are given, one a slot. Leave slots out.")
    shape = _shape(len(given) or slots, bands)
    count = len(given) or slots or max(DEFAULT_SLOTS if bands is None else 0, shape.slots)
    if count > MAX_FUNCTIONS:
        raise InputError(f"{count} slots are too many for tables that can be read. Give at most {MAX_FUNCTIONS}.")
    columns, plain = given, None
    if not given:
        columns, plain = rules.family(material.universe, material.shingle, sketch=sketch, slots=count, seed=seed)
    rows = _rows(material, numbers, columns)
    steps, signature = _signatures(material.documents, rows, columns)
    buckets = _buckets(material.documents, signature, shape)
    return Explanation(
        shingle=material.shingle,
        normalize=material.normalize,
        sketch="given" if given else sketch,
        seed=None if given else seed,
        bands=shape,
        documents=material.documents,
        functions=tuple(column.function for column in columns),
        rows=rows,
        steps=steps,
        signature=signature,
        buckets=buckets,
        pairs=_pairs(material.documents, signature, buckets, shape),
        curve=tuple((s, s_curve(s, shape.bands, shape.rows)) for s in CURVE),
        values=None if plain is None else _least(rows, plain, len(material.documents), count),
        notes=tuple(_notes(given, rows)),
    )


def _numbers(material: Material, first: int | None, permutations: Sequence[str | Sequence[int]]) -> Sequence[int]:
    """Numbers of the rows: from ``first``; else the items where they are numbers; else as the permutations count."""
    if first is None and material.numbers is not None:
        return material.numbers
    if first is None:
        first = rules.first_place(permutations[0]) if permutations else 0
    return range(first, first + len(material.universe))


def _given(
    material: Material,
    numbers: Sequence[int],
    permutations: Sequence[str | Sequence[int]],
    orders: Sequence[str | Sequence[object]],
    hashes: Sequence[str],
) -> list[Column]:
    """The explicit functions, in the order of their kinds, named h1, h2 …"""
    names = iter(f"h{i}" for i in range(1, 1 + len(permutations) + len(orders) + len(hashes)))
    return [
        *(rules.permutation(next(names), one, len(material.universe)) for one in permutations),
        *(rules.order(next(names), one, material.universe) for one in orders),
        *(rules.linear(next(names), one, numbers) for one in hashes),
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
        per_slot = ([row[s] for row in own if row[s] is not None] for s in range(slots))
        found.append(tuple(min((v for v in column if v is not None), default=None) for column in per_slot))
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
