"""From keys to verified answers: the documents of an index that are like those asked about.

Candidates come from the postings; each distinct text among them is fetched once, its set is built and held against the
query's. No hash stands for a text or an id: what agrees in one is compared itself. A document that was removed is no
longer fetched, so what postings still say of it does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import distinct
from neardup.index.columns import Where, matching, read_columns
from neardup.index.core import Core
from neardup.index.outcomes import Hit
from neardup.index.prepared import PreparedDocuments, Sketcher, id_keys, original_id
from neardup.index.statements import Reading, Row
from neardup.index.views import View, documents_of, names_of
from neardup.kernels.asking import FEW
from neardup.kernels.postings import ALL
from neardup.stages.verify import check_pairs
from neardup.types import F64, I32, I64, U32, Documents, PaddedSets

CHUNK = 500
"""Texts that are fetched and checked at a time."""
QUERY_BLOCK = 1024
"""Queries that are answered at a time."""
AT_ONCE = 32
"""The number of candidates that a question for the first match checks at a time."""
FIRST_POSTINGS = 64
"""The most documents of one key that a question for the first match looks up before it looks up all."""
QUICK_BYTES = 1 << 16
"""The longest text that is answered by itself: inside the transaction, in memory under the lock."""
_NOTHING = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of a query and a document that share a key."""

    query: I64
    """Rising."""
    number: I64
    bands: I32
    same_text: I64
    """Place of the first of the query's documents whose text has the same hash, itself included."""

    def at(self, places: I64) -> Candidates:
        """Return the candidates at some ascending places."""
        _, firsts, copies = np.unique(self.same_text[places], return_index=True, return_inverse=True)
        return Candidates(self.query[places], self.number[places], self.bands[places], firsts[copies])

    def matching(self, reading: Reading, where: Where) -> Candidates:
        """Return the candidates that match a filter, if there is one. No text is fetched for it."""
        if where is None:
            return self
        wanted = matching(reading, distinct(self.number).tolist(), where)
        return self.at(np.flatnonzero(np.isin(self.number, np.array(sorted(wanted), dtype=np.int64))))


def answers(
    core: Core, blobs: list[bytes], top: int | None, threshold: float | None, *, where: Where, is_first: bool = False
) -> list[list[Hit]]:
    """Return the hits of each query, or with ``is_first`` only its first matches; see ``hits``."""
    limit = FIRST_POSTINGS if is_first else None
    if threshold is not None and len(blobs) == 1 and where is None:
        few = quick(core, blobs[0], top=top, threshold=threshold)
        if few is not None:
            return [few]
    found: list[list[Hit]] = []
    for start in range(0, len(blobs), QUERY_BLOCK):
        prepared = core.sketcher.prepare_query(Documents.from_bytes(blobs[start : start + QUERY_BLOCK]))
        how: dict[str, Any] = {"threshold": threshold, "top": top, "limit": limit, "where": where}
        found += core.ask(partial(hits, sketcher=core.sketcher, prepared=prepared, **how))
    return found


def quick(core: Core, text: str | bytes, *, top: int | None, threshold: float, most: int = FEW) -> list[Hit] | None:
    """Return what is like one text, as ``answers`` does, or None if that may take long or something is damaged.

    It takes long if the text has more than QUICK_BYTES bytes, or more candidates than ``most`` or FEW.
    """
    sketcher = core.sketcher
    blob = sketcher.blob(text, "the text") if isinstance(text, str) else text

    def work(reading: Reading, view: View) -> list[Hit] | None:
        normal, bands = sketcher.candidates(blob, view.table)
        if bands is None or len(bands) > most:
            return None
        rows = reading.rows(sorted(bands)) if bands else []
        if len(rows) < len(bands):
            reading.check_absent(sorted(bands.keys() - {row[0] for row in rows}))
        similarity = sketcher.similarities(normal, rows, threshold) if rows else []
        if similarity is None:
            sets = sketcher.sets(Documents.from_bytes([normal]))
            left, right = np.zeros(len(rows), dtype=np.int64), np.arange(len(rows))
            similarity = _compared(sketcher, reading, rows, left, right, sets, threshold).tolist()
        near = [(-value, row) for value, row in zip(similarity, rows, strict=True) if value >= 0]
        near.sort(key=itemgetter(0))  # equals stay in order of addition, as the rows are
        columns = read_columns(reading, [row for _, row in near[:top]])
        return [
            Hit(original_id(row[1], row[2]), -value, bands[row[0]], columns.get(row[0])) for value, row in near[:top]
        ]

    return core.ask(work) if len(blob) <= QUICK_BYTES else None


def hits(
    reading: Reading,
    view: View,
    *,
    sketcher: Sketcher,
    prepared: PreparedDocuments,
    threshold: float | None,
    top: int | None,
    limit: int | None = None,
    failed: I64 = _NOTHING,
    where: Where = None,
) -> list[list[Hit]]:
    """Return the best verified candidates of each query, the most similar first, and equals in order of addition.

    Without a threshold, return unverified candidates: those that share the most bands first, then in order of addition.
    With ``limit``, check candidates in this order, AT_ONCE at a time, until ``top`` of a query are verified. Then hits
    come in the order of these groups, inside a group the most similar first. At first, at most ``limit`` documents of
    one key are looked up. If ``top`` are not verified among these, look up all, and check all except the ``failed``.
    """
    queries, keys = len(prepared), prepared.keys[:-1]
    most = ALL if limit is None or where is not None else limit
    met = view.lookup(keys, prepared.has_shingles, first_row=0, limit=most)
    query = np.repeat(np.arange(queries), np.diff(met.ends, prepend=0))
    candidates = Candidates(query, met.numbers, met.bands, met.same_text).matching(reading, where)
    query, number, bands = candidates.query, candidates.number, candidates.bands
    group = np.zeros_like(query)
    if threshold is None or limit is not None:
        order = np.lexsort((number, -bands, query))
        if threshold is None:
            return as_hits(reading, queries, candidates, order, None, {}, top)
        group[order] = (np.arange(query.size) - np.searchsorted(query, query)) // AT_ONCE
    group[np.isin(pairs_of(query, number), failed)] = -1
    similarity: F64 = np.full(query.size, -1.0)
    names: dict[int, tuple[str, int]] = {}
    is_open, begin, end = np.ones(queries, dtype=np.bool_), 0, 1
    while begin <= group.max(initial=-1) and is_open.any():
        places = np.flatnonzero(is_open[query] & (group >= begin) & (group < end))
        similarity[places], read = _check(reading, sketcher, prepared, candidates.at(places), threshold)
        names |= read
        begin, end = end, 2 * end
        if top is not None:
            is_open = np.bincount(query[similarity >= 0], minlength=queries) < top
    near = np.flatnonzero(similarity >= 0)
    near = near[first_of_each(query[near], top, number[near], -similarity[near], group[near])]
    cut = near[met.is_cut[query[near]]]
    if cut.size:
        bands[cut] = _bands_shared(reading, sketcher, number[cut], keys[:, query[cut]])
    found = as_hits(reading, queries, candidates, near, similarity, names, top)
    again = np.flatnonzero(met.is_cut & is_open)
    if again.size:
        failed = pairs_of(np.searchsorted(again, query), number)[(similarity < 0) & np.isin(query, again)]
        how = partial(hits, reading, view, sketcher=sketcher, threshold=threshold, top=top, limit=ALL)
        for place, told in zip(again.tolist(), how(prepared=prepared.at(again), failed=failed), strict=True):
            found[place] = told
    return found


def first_of_each(query: I64, top: int | None, *keys: NDArray[Any]) -> I64:
    """Return the order of pairs by query and then by keys, the last key first; at most ``top`` pairs of each query."""
    order = np.lexsort((*keys, query))
    ordered = query[order]
    return order if top is None else order[np.arange(order.size) - np.searchsorted(ordered, ordered) < top]


def pairs_of(query: I64, number: I64) -> I64:
    """Return a number for each pair of a query of a block and a document."""
    return query << 40 | number


def _bands_shared(reading: Reading, sketcher: Sketcher, numbers: I64, keys: U32) -> I64:
    """Return the number of bands in which stored documents agree with keys (uint32[bands, n]), from their texts."""
    there = distinct(numbers)
    documents, _, _ = documents_of(reading.rows(there.tolist()), reading.path)
    theirs = sketcher.prepare_query(documents).keys[:-1, np.searchsorted(there, numbers)]
    shared: I64 = np.count_nonzero(theirs == keys, axis=0)
    return shared


def _check(
    reading: Reading, sketcher: Sketcher, prepared: PreparedDocuments, candidates: Candidates, threshold: float
) -> tuple[F64, dict[int, tuple[str, int]]]:
    """Exact similarity of each candidate to its query, -1 below the threshold, and id and kind of those that were read.

    Copies of one text are checked once. Equal hashes only say where there may be copies: the texts are compared.
    A copy may have been removed all the same: that shows when it is to be named.
    """
    query, number, same_text = candidates.query, candidates.number, candidates.same_text
    asked = distinct(query)
    sets = sketcher.sets(prepared.at(asked).normal)
    similarity: F64 = np.full(query.size, -1.0)
    names: dict[int, tuple[str, int]] = {}

    def verify(places: I64) -> I64:
        """Check the candidates at these places; return those that are no more."""
        nonlocal names
        gone = [np.empty(0, dtype=np.int64)]
        places = places[np.argsort(number[places], kind="stable")]
        rising, wanted = number[places], distinct(number[places])
        for start in range(0, wanted.size, CHUNK):
            few = wanted[start : start + CHUNK]
            some = places[np.searchsorted(rising, few[0]) : np.searchsorted(rising, few[-1], side="right")]
            rows = reading.rows(few.tolist())
            there = np.array([row[0] for row in rows], dtype=np.int64)
            if there.size < few.size:
                is_there = np.isin(number[some], there)
                reading.check_absent(distinct(number[some[~is_there]]).tolist())
                gone.append(some[~is_there])
                some = some[is_there]
            if rows:
                left, right = np.searchsorted(asked, query[some]), np.searchsorted(there, number[some])
                similarity[some] = _compared(sketcher, reading, rows, left, right, sets, threshold)
                names |= {row[0]: (row[1], row[2]) for row in rows}
        return np.concatenate(gone)

    places = np.flatnonzero(same_text == np.arange(same_text.size))
    while places.size:  # once, but for texts whose first copy is no more: then the next one stands for them
        gone = verify(places)
        left = np.isin(same_text, gone)
        left[gone] = False
        rest = np.flatnonzero(left)
        _, first, which = np.unique(same_text[rest], return_index=True, return_inverse=True)
        places = rest[first]
        same_text[rest] = places[which]
    places = np.flatnonzero(same_text != np.arange(same_text.size))
    if places.size:
        others = places[~_are_copies(reading, number[places], number[same_text[places]])]
        verify(others)
        same_text[others] = others
    return similarity[same_text], names


def _compared(
    sketcher: Sketcher, reading: Reading, rows: list[Row], left: I64, right: I64, sets: PaddedSets, threshold: float
) -> F64:
    """Return the exact similarity of ``sets`` at ``left`` and stored documents at ``right``, -1 below the threshold."""
    documents, _, _ = documents_of(rows, reading.path)
    return check_pairs(left, right, sets, sketcher.sets(sketcher.normalized(documents)), threshold=threshold)


def _are_copies(reading: Reading, numbers: I64, originals: I64) -> NDArray[np.bool_]:
    """Return ``reading.are_copies``, comparing each pair once even if several queries have it."""
    pair = np.unique(originals, return_inverse=True)[1] * (numbers.max() + 1) + numbers
    _, first, back = np.unique(pair, return_index=True, return_inverse=True)
    return reading.are_copies(numbers[first], originals[first])[back]


def as_hits(
    reading: Reading,
    queries: int,
    candidates: Candidates,
    order: I64,
    similarity: F64 | None,
    names: dict[int, tuple[str, int]],
    top: int | None,
) -> list[list[Hit]]:
    """Return the hits of each query in ``order``, at most ``top`` of those whose documents are still there."""
    chosen: list[list[tuple[int, float | None, int]]] = [[] for _ in range(queries)]
    bounds = np.searchsorted(candidates.query[order], np.arange(queries + 1)).tolist()
    numbers, bands = candidates.number[order].tolist(), candidates.bands[order].tolist()
    values = [None] * len(numbers) if similarity is None else similarity[order].tolist()
    for met, (begin, end) in zip(chosen, pairwise(bounds), strict=True):
        while begin < end and (top is None or len(met) < top):
            stop = end if top is None else min(end, begin + top - len(met))
            unknown = [number for number in numbers[begin:stop] if number not in names]
            if unknown:
                names |= {number: (id, kind) for number, id, kind in names_of(reading.names(unknown), reading.path)}
                if absent := set(unknown) - names.keys():
                    reading.check_absent(list(absent))
            met += [(numbers[at], values[at], bands[at]) for at in range(begin, stop) if numbers[at] in names]
            begin = stop
    columns = read_columns(reading, {number: (number, *names[number]) for met in chosen for number, *_ in met}.values())
    return [
        [Hit(original_id(*names[number]), value, bands, columns.get(number)) for number, value, bands in met]
        for met in chosen
    ]


def find_ids(
    reading: Reading, view: View, row: int, ids: Sequence[str], keys: U32 | None = None
) -> dict[str, tuple[int, int]]:
    """Number and kind of the documents of these ids that are there; ``row`` is the row of the ids.

    ``keys`` (uint32[1, n]) are those under which they are looked up, where they are at hand.
    """
    if not ids:
        return {}
    if keys is None:
        keys = id_keys(ids)
    if len(ids) > 1:  # ids can be chosen so that all have one key: what that finds is listed once
        keys = distinct(keys.reshape(-1)).reshape(1, -1)
    found = view.lookup(keys, np.ones(keys.size, dtype=np.bool_), first_row=row)
    if found.numbers.size == 0:
        return {}
    wanted = set(ids)
    numbers = distinct(found.numbers).tolist()
    named_so = names_of(reading.names(numbers), reading.path)
    if len(named_so) < len(numbers):
        reading.check_absent(sorted(set(numbers) - {number for number, _, _ in named_so}))
    return {id: (number, kind) for number, id, kind in named_so if id in wanted}
