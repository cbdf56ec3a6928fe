"""From keys to verified answers: the documents of an index that are like those asked about.

Candidates come from the postings; each distinct text among them is fetched once, its set is built and held against the
query's. No hash stands for a text or an id: what agrees in one is compared itself. A document that was removed is no
longer fetched, so what postings still say of it does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import distinct
from neardup.index.columns import Where, matching, read_columns
from neardup.index.core import Core
from neardup.index.outcomes import Hit
from neardup.index.prepared import PreparedDocuments, Sketcher, id_keys, original_id
from neardup.index.statements import Reading
from neardup.index.views import View, documents_of, names_of
from neardup.kernels.postings import Found
from neardup.stages.verify import check_pairs
from neardup.types import F64, I32, I64, U32, Documents

CHUNK = 500
"""Texts that are fetched and checked at a time."""
QUERY_BLOCK = 1024
"""Queries that are answered at a time."""
AT_ONCE = 32
"""The number of candidates that a question for the first match checks at a time."""
GROUPS_LATER = 16
"""The number of such groups that are fetched together after the first one had no match."""
QUICK_BYTES = 1 << 16
"""The longest text that ``quick`` answers."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Pairs of a query and a document that share a key."""

    query: I64
    """Rising."""
    number: I64
    bands: I32
    same_text: I64
    """Place of the first of the query's documents whose text has the same hash, itself included."""

    @classmethod
    def of(cls, found: Found, queries: int) -> _Candidates:
        """Return what a lookup of so many queries found."""
        if queries == 1:
            query = np.zeros(found.numbers.size, dtype=np.int64)
        else:
            query = np.repeat(np.arange(queries), np.diff(found.ends, prepend=0))
        return cls(query, found.numbers, found.bands, found.same_text)

    def at(self, places: I64) -> _Candidates:
        """Return the candidates at some ascending places."""
        _, firsts, copies = np.unique(self.same_text[places], return_index=True, return_inverse=True)
        return _Candidates(self.query[places], self.number[places], self.bands[places], firsts[copies])

    def matching(self, reading: Reading, where: Where) -> _Candidates:
        """Return the candidates that match a filter, if there is one. No text is fetched for it."""
        if where is None:
            return self
        wanted = matching(reading, distinct(self.number).tolist(), where)
        return self.at(np.flatnonzero(np.isin(self.number, np.array(sorted(wanted), dtype=np.int64))))


def answers(
    core: Core, queries: Documents, top: int | None, threshold: float | None, where: Where = None
) -> list[list[Hit]]:
    """Find what is like each query; see ``hits``."""
    how: dict[str, Any] = {"sketcher": core.sketcher, "threshold": threshold, "top": top, "where": where}
    found: list[list[Hit]] = []
    for prepared in _blocks(core, queries):
        found += core.ask(partial(hits, prepared=prepared, **how))
    return found


def _blocks(core: Core, queries: Documents) -> Iterator[PreparedDocuments]:
    """Prepare QUERY_BLOCK queries at a time."""
    for start in range(0, len(queries), QUERY_BLOCK):
        is_all = len(queries) <= QUERY_BLOCK
        yield core.sketcher.prepare_query(
            queries if is_all else queries.slice(start, min(start + QUERY_BLOCK, len(queries)))
        )


def seen(core: Core, queries: Documents, threshold: float, where: Where = None) -> list[Hit | None]:
    """Return a verified match of each query, or None if it has none; see ``first_hits``."""
    found: list[Hit | None] = []
    for prepared in _blocks(core, queries):
        work = partial(first_hits, sketcher=core.sketcher, prepared=prepared, threshold=threshold, where=where)
        found += [matches[0] if matches else None for matches in core.ask(work)]
    return found


def quick(core: Core, text: str, *, top: int | None, threshold: float | None, most: int) -> list[Hit] | None:
    """Return what is like one text, as ``answers`` does, or None if that may take long.

    None if the text has more than QUICK_BYTES bytes, or more than ``most`` candidates.
    """
    if len(text) > QUICK_BYTES:
        return None
    documents = core.sketcher.from_values([text])
    prepared = core.sketcher.prepare_query(documents)

    def work(reading: Reading, view: View) -> list[Hit] | None:
        if view.lookup(prepared.keys[:-1], prepared.has_shingles, first_row=0).numbers.size > most:
            return None
        return hits(reading, view, sketcher=core.sketcher, prepared=prepared, threshold=threshold, top=top)[0]

    return core.ask(work)


def hits(
    reading: Reading,
    view: View,
    *,
    sketcher: Sketcher,
    prepared: PreparedDocuments,
    threshold: float | None,
    top: int | None,
    where: Where = None,
) -> list[list[Hit]]:
    """Find the best verified candidates of each query: most similar first, of equals the one added first.

    Without a threshold candidates as they are: those that share most bands first, of equals the one added first.
    """
    found = view.lookup(prepared.keys[:-1], prepared.has_shingles, first_row=0)  # empty queries have no candidates
    if found.numbers.size == 0:
        return [[] for _ in range(len(prepared))]
    candidates = _Candidates.of(found, len(prepared)).matching(reading, where)
    if threshold is None:
        order = np.lexsort((candidates.number, -candidates.bands, candidates.query))
        return _as_hits(reading, len(prepared), candidates, order, None, {}, top)
    similarity, names = _check(reading, sketcher, prepared, candidates, threshold)
    near = np.flatnonzero(similarity >= 0)
    if near.size > 1:
        near = near[np.lexsort((candidates.number[near], -similarity[near], candidates.query[near]))]
    return _as_hits(reading, len(prepared), candidates, near, similarity, names, top)


def first_hits(
    reading: Reading,
    view: View,
    *,
    sketcher: Sketcher,
    prepared: PreparedDocuments,
    threshold: float,
    top: int = 1,
    where: Where = None,
) -> list[list[Hit]]:
    """Return ``top`` verified candidates of each query, or as many as there are, and check no more than that takes.

    Candidates that share the most bands come first, of equals the one added first. They are checked AT_ONCE at a time,
    until ``top`` are verified. Hits are in order of these groups; inside a group the most similar comes first.
    """
    queries = len(prepared)
    found = view.lookup(prepared.keys[:-1], prepared.has_shingles, first_row=0)
    candidates = _Candidates.of(found, queries).matching(reading, where)
    query, size = candidates.query, candidates.number.size
    order = np.lexsort((candidates.number, -candidates.bands, query))
    group = np.empty(size, dtype=np.int64)
    group[order] = (np.arange(size) - np.searchsorted(query, query)) // AT_ONCE
    similarity: F64 = np.full(size, -1.0)
    names: dict[int, tuple[str, int]] = {}
    is_open = np.ones(queries, dtype=np.bool_)
    begin, end, last = 0, 1, int(group.max(initial=-1))
    while begin <= last and is_open.any():
        places = np.flatnonzero(is_open[query] & (group >= begin) & (group < end))
        if places.size:
            similarity[places], met = _check(reading, sketcher, prepared, candidates.at(places), threshold)
            names.update(met)
        is_open = np.bincount(query[similarity >= 0], minlength=queries) < top
        begin, end = end, end + GROUPS_LATER
    near = np.flatnonzero(similarity >= 0)
    near = near[np.lexsort((candidates.number[near], -similarity[near], group[near], query[near]))]
    return _as_hits(reading, queries, candidates, near, similarity, names, top)


def _check(
    reading: Reading, sketcher: Sketcher, prepared: PreparedDocuments, candidates: _Candidates, threshold: float
) -> tuple[F64, dict[int, tuple[str, int]]]:
    """Exact similarity of each candidate to its query, -1 below the threshold, and id and kind of those that were read.

    Copies of one text are checked once. Equal hashes only say where there may be copies: the texts are compared.
    A copy may have been removed all the same: that shows when it is to be named.
    """
    query, number, same_text = candidates.query, candidates.number, candidates.same_text
    is_one = len(prepared) == 1
    asked = np.zeros(1, dtype=np.int64) if is_one else distinct(query)
    sets = sketcher.sets(prepared.at(asked).normal)
    similarity: F64 = np.full(query.size, -1.0)
    names: dict[int, tuple[str, int]] = {}

    def verify(places: I64) -> I64:
        """Check the candidates at these places; those that are no more."""
        gone = [np.empty(0, dtype=np.int64)]
        places = places[np.argsort(number[places], kind="stable")]
        for part in _parts(number[places]):
            some = places[part]
            rows = reading.rows(number[some].tolist() if is_one else distinct(number[some]).tolist())
            there = np.array([row[0] for row in rows], dtype=np.int64)
            if there.size < some.size:
                is_there = np.isin(number[some], there)
                if not is_there.all():
                    reading.check_absent(distinct(number[some[~is_there]]).tolist())
                gone.append(some[~is_there])
                some = some[is_there]
            if rows:
                documents, _, _ = documents_of(rows, reading.path)
                names.update((row[0], (row[1], row[2])) for row in rows)
                left, right = np.searchsorted(asked, query[some]), np.searchsorted(there, number[some])
                others = sketcher.sets(sketcher.normalized(documents))
                similarity[some] = check_pairs(left, right, sets, others, threshold=threshold)
        return np.concatenate(gone)

    places = np.flatnonzero(same_text == np.arange(same_text.size))
    while places.size:  # once, but for texts whose first copy is no more
        same_text, places = _next_copies(same_text, verify(places))
    places = np.flatnonzero(same_text != np.arange(same_text.size))
    if places.size:
        others = places[~_are_copies(reading, number[places], number[same_text[places]], len(prepared))]
        verify(others)
        same_text = same_text.copy()
        same_text[others] = others
    return similarity[same_text], names


def _are_copies(reading: Reading, numbers: I64, originals: I64, queries: int) -> NDArray[np.bool_]:
    """As of ``reading``; pairs that several queries have are compared once."""
    if queries == 1:
        return reading.are_copies(numbers, originals)
    order = np.lexsort((originals, numbers))
    ordered, beside = numbers[order], originals[order]
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]) | (beside[1:] != beside[:-1])
    told = np.empty(order.size, dtype=np.bool_)
    told[order] = reading.are_copies(ordered[is_new], beside[is_new])[np.cumsum(is_new) - 1]
    return told


def _parts(numbers: I64) -> Iterator[slice]:
    """Cut rising numbers into parts of about CHUNK; equal ones stay together."""
    start = 0
    while start < numbers.size:
        stop = start + CHUNK
        if stop < numbers.size:
            stop = int(np.searchsorted(numbers, numbers[stop - 1], side="right"))
        yield slice(start, stop)
        start = stop


def _next_copies(same_text: I64, gone: I64) -> tuple[I64, I64]:
    """Twins in which the next copy stands for the texts whose first is ``gone``, and the places of those copies."""
    if gone.size == 0:
        return same_text, gone
    after = same_text.copy()
    places = []
    for place in gone.tolist():
        copies = np.flatnonzero(same_text == place)
        rest = copies[copies > place]
        if rest.size:
            after[rest] = rest[0]
            places.append(rest[0])
    return after, np.array(places, dtype=np.int64)


def _as_hits(
    reading: Reading,
    queries: int,
    candidates: _Candidates,
    order: I64,
    similarity: F64 | None,
    names: dict[int, tuple[str, int]],
    top: int | None,
) -> list[list[Hit]]:
    """Hits of each query in ``order``, as many as are wanted and still there."""
    found: list[list[Hit]] = [[] for _ in range(queries)]
    bounds = [0, order.size]
    if queries != 1:
        bounds = np.searchsorted(candidates.query[order], np.arange(queries + 1)).tolist()
    numbers, bands = candidates.number[order].tolist(), candidates.bands[order].tolist()
    values = [None] * len(numbers) if similarity is None else similarity[order].tolist()
    for query in range(queries):
        hits = found[query]
        begin, end = bounds[query], bounds[query + 1]
        while begin < end and (top is None or len(hits) < top):
            stop = end if top is None else min(end, begin + top - len(hits))
            unknown = [number for number in numbers[begin:stop] if number not in names]
            if unknown:
                met = names_of(reading.names(unknown), reading.path)
                names.update((number, (id, kind)) for number, id, kind in met)
                if len(met) < len(set(unknown)):
                    reading.check_absent([number for number in set(unknown) if number not in names])
            columns = read_columns(reading, [(at, *names[at]) for at in numbers[begin:stop] if at in names])
            for place in range(begin, stop):
                name = names.get(numbers[place])
                if name is not None:
                    hits.append(Hit(original_id(*name), values[place], bands[place], columns.get(numbers[place])))
            begin = stop
    return found


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
