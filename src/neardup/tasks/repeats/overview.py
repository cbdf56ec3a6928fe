"""What a person wants to know of repeated passages: those that weigh most, and the documents that lose most."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from neardup.engine.repeats.chains import ChainedRepeats
from neardup.shown import cut_text
from neardup.tasks.repeats.heaviest import heaviest
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.spans import in_bytes
from neardup.types import I64

LISTED = 10
"""Passages and documents that are listed."""
_OPENING = 80
"""Characters of a passage that are shown."""


def top_passages(run: PassageRun, most: int = LISTED) -> list[dict[str, Any]]:
    """The passages with the most bytes in all their places together, as JSON values.

    A passage is told where it stands for the first time: ``id``, ``start_byte``, ``bytes``, ``count`` (its places),
    ``documents`` (with one), ``bytes_in_all`` (of its places together), and ``opening``, its first characters as one
    line; with groups ``group`` too. A place is a span, and counts for the passage that its middle is of, of which it
    may have a part only. Where the inputs are held against another collection, the passage is told where it stands in
    this, and ``bytes``, ``count`` and ``documents`` are those of the heaviest span of it; ``bytes_in_all`` is None
    then, but for passages with changes.
    """
    if isinstance(repeats := run.find(), ChainedRepeats):
        return [_told(run, *facts, weight=weight) for *facts, weight in _top_chained(run, repeats, most)]
    if run.selection.is_across:
        return _top_across(run, most)
    return [_told(run, *facts, weight=weight) for weight, *facts in heaviest(run, most)]


def _top_chained(run: PassageRun, repeats: ChainedRepeats, most: int) -> list[tuple[int, ...]]:
    """Of passages with changes document, start, bytes, places, documents and bytes of all places, in this order.

    A passage is told by its first place, or, held against another collection, by what its longest place has there.
    """
    found, is_across = repeats.found, run.selection.is_across
    told = in_bytes(repeats, found.segments)
    sizes = told.end - told.start
    order = np.lexsort((-sizes, found.passage)) if is_across else np.argsort(found.passage, kind="stable")
    _, first, number = np.unique(found.passage[order], return_index=True, return_inverse=True)
    weight = np.zeros(first.size, dtype=np.int64)
    np.add.at(weight, number, sizes[order])
    heavy = np.argsort(-weight, kind="stable")[:most]
    where = (told.source, told.source_start) if is_across else (told.document, told.start)
    columns = [column[order[first[heavy]]] for column in (*where, sizes, told.most, told.documents)]
    return list(zip(*(column.tolist() for column in (*columns, weight[heavy])), strict=True))


def _told(
    run: PassageRun, row: int, start: int, size: int, count: int, documents: int, *, weight: int | None
) -> dict[str, Any]:
    text = run.find().originals.text
    begin = int(text.offsets[row]) + start
    piece = text.piece(begin, begin + min(size, 8 * _OPENING)).tobytes()
    opening = cut_text(" ".join(piece.decode("utf-8", "ignore").split()), _OPENING)
    counts = {"bytes": size, "count": count, "documents": documents, "bytes_in_all": weight}
    facts = {"start_byte": start, **counts, "opening": opening}
    if run.groups is not None:
        facts["group"] = run.groups.names[run.groups.of[row]]
    return {"id": _name(run, row), **facts}


def _top_across(run: PassageRun, most: int) -> list[dict[str, Any]]:
    """The same of spans that stand in another collection, those with one place there told once."""
    repeats = run.find()
    best: dict[tuple[int, int], tuple[int, int, int]] = {}
    for found in map(partial(in_bytes, repeats), run.segments().repeats()):
        size = found.end - found.start
        heaviest = np.lexsort((-size * found.most, found.source_start, found.source))
        keys = np.stack((found.source, found.source_start))[:, heaviest]
        heaviest = heaviest[np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))]
        for i in heaviest[np.argsort(-(size * found.most)[heaviest], kind="stable")][:most].tolist():
            key = int(found.source[i]), int(found.source_start[i])
            entry = int(size[i]), int(found.most[i]), int(found.documents[i])
            known = best.get(key)
            if known is None or entry[0] * entry[1] > known[0] * known[1]:
                best[key] = entry
        kept = heapq.nsmallest(most, best, key=lambda place: (-best[place][0] * best[place][1], place))
        best = {place: best[place] for place in kept}
    return [_told(run, *place, *facts, weight=None) for place, facts in best.items()]


def losers(run: PassageRun, policy: str, most: int = LISTED) -> list[dict[str, Any]]:
    """The documents of which a policy cuts most: ``id``, ``bytes``, ``cut_bytes``, before cuts are moved inward."""
    return most_cut(run, _sizes(run, policy), most)


def most_cut(run: PassageRun, sizes: Iterable[tuple[I64, I64]], most: int = LISTED) -> list[dict[str, Any]]:
    """The same, of pairs of arrays: rows of documents, each at most once, and the bytes that each loses."""
    heap: list[tuple[int, int]] = []
    for rows, lost in sizes:
        best = np.lexsort((rows, -lost))[:most].tolist()
        heap = heapq.nlargest(most, [*heap, *((int(lost[i]), -int(rows[i])) for i in best)])
    offsets = run.find().originals.text.offsets
    return [
        {"id": _name(run, -row), "bytes": int(offsets[1 - row] - offsets[-row]), "cut_bytes": lost}
        for lost, row in heap
    ]


def _sizes(run: PassageRun, policy: str) -> Iterable[tuple[I64, I64]]:
    for part in run.cuts(policy):
        rows, place = np.unique(part.document, return_inverse=True)
        lost = np.zeros(rows.size, dtype=np.int64)
        np.add.at(lost, place, part.end - part.start)
        yield rows, lost


def _name(run: PassageRun, row: int) -> int | str:
    name: int | str = run.provenance.ids.take(np.array([row])).to_pylist()[0]
    return name
