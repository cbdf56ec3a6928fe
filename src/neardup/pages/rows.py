"""The rows of a result's tables that are shown, and their texts: from the table itself, or read again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from neardup.arrays import as_numpy
from neardup.errors import InputError, NeardupError
from neardup.inputs.lookup import PairTexts
from neardup.pages.beside import Beside, TextPair
from neardup.params import Spec, check_top
from neardup.types import I64

Texts = list[tuple[str, str]]


def places(table: pa.Table, n: int, at: int | Sequence[int] | None, *, rising: bool = False) -> I64:
    """int64: rows of a table to show: those asked for, else ``n`` with the highest similarity, or the lowest."""
    if at is None:
        check_top(n, "n", "none")
        similarity = as_numpy(table.column("similarity"))
        key = similarity if rising else -similarity
        near = np.arange(key.size)
        if n < key.size:  # most rows need not be put in order
            near = np.flatnonzero(key <= np.partition(key, n - 1)[n - 1])
        chosen: I64 = near[np.argsort(key[near], kind="stable")][:n]
        return chosen
    asked = [at] if isinstance(at, (int, np.integer)) else list(at)
    for place in asked:
        if not isinstance(place, (int, np.integer)) or not -table.num_rows <= place < table.num_rows:
            raise InputError(f"at has {place!r}, and there are {table.num_rows:,} rows. Give numbers of rows, from 0.")
    rows: I64 = np.array(asked, dtype=np.int64) % max(table.num_rows, 1)
    return rows


def largest(clusters: pa.Table, n: int) -> I64:
    """int64[m, 2]: a row of each of the ``n`` largest clusters, and its documents."""
    label: I64 = as_numpy(clusters.column("cluster"))
    sizes = np.bincount(label)
    chosen = np.argsort(-sizes, kind="stable")[:n]
    firsts = np.full(sizes.size, -1, dtype=np.int64)
    firsts[label[::-1]] = np.arange(label.size - 1, -1, -1)
    return np.column_stack((firsts[chosen], sizes[chosen])).astype(np.int64)


def brought(table: pa.Table, names: tuple[str, str], again: PairTexts | None, rows: I64) -> Texts:
    """The texts of some rows: from the table where it has them, else read again."""
    if again is not None and (again.lookup.gone is None or names[0] not in table.column_names):
        return again.texts(rows)
    columns = (table.column(name).take(rows).to_pylist() for name in names)
    return list(zip(*columns, strict=True))


def tried(
    table: pa.Table, names: tuple[str, str], again: PairTexts | None, rows: I64
) -> tuple[list[tuple[str | None, str | None]], list[str]]:
    """The same for what is drawn unasked, which it must not stop nor hold up; and why there are none."""
    nothing: list[tuple[str | None, str | None]] = [(None, None)] * len(rows)
    if not len(rows):
        return nothing, []
    is_read = names[0] not in table.column_names and again is not None and again.lookup.gone is None
    if is_read and again is not None and not again.lookup.is_quick:
        return nothing, ["The texts are not read again unasked from inputs of this size: show() does."]
    try:
        return [*brought(table, names, again, rows)], []
    except (NeardupError, OSError) as exc:
        return nothing, [f"No texts are shown: {exc}"]


def beside(
    table: pa.Table,
    rows: I64,
    texts: Texts,
    ids: tuple[str, str],
    before: tuple[str, str],
    spec: Spec,
    characters: int,
    *,
    all_rows: bool,
) -> Beside:
    """Pairs side by side; ``ids`` are the columns of the names, ``before`` is what stands in front of these."""
    check_top(characters, "characters", "none")
    more = [name for name in ("contained", "rule") if name in table.column_names]
    found = table.select([*ids, "similarity", *more]).take(rows).to_pylist()
    pairs = []
    for each, pair in zip(found, texts, strict=True):
        names = (f"{before[0]}{each[ids[0]]}", f"{before[1]}{each[ids[1]]}")
        facts = tuple((name, str(each[name])) for name in more)
        pairs.append(TextPair(names, pair, each["similarity"], facts))
    return Beside(tuple(pairs), spec, characters, table.num_rows - len(pairs) if all_rows else 0)
