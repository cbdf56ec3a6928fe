"""The documents that are most like a text, also below the threshold, among all documents of an index.

Bands are chosen for the threshold. Below it they find ever fewer documents (``tuning.s_curve`` says how many), so here
the texts asked about are compared with every document.
"""

from __future__ import annotations

import numpy as np

from neardup.engine.observe import Observer
from neardup.engine.threads import in_order
from neardup.index.answers import Candidates, as_hits, first_of_each, pairs_of
from neardup.index.columns import Where, matching_rows
from neardup.index.core import Core
from neardup.index.outcomes import Hit
from neardup.index.statements import Reading, Row
from neardup.index.views import View, documents_of
from neardup.stages.verify import check_pairs
from neardup.types import F64, I64, Documents

ANY = 5e-324
"""The least float above 0: a threshold that every document reaches which shares a shingle."""
PAIRS_AT_A_TIME = 1 << 20
"""Pairs of a text that is asked about and a document that are held at a time."""


def scan(
    core: Core, queries: list[bytes], *, top: int | None, threshold: float, where: Where, observer: Observer
) -> list[list[Hit]]:
    """Find the documents most like each query by comparing it with all. O(queries * bytes of text)."""
    sketcher, count = core.sketcher, len(queries)
    prepared = sketcher.prepare_query(Documents.from_bytes(queries))
    asked = sketcher.sets(prepared.normal)
    step = max(1, PAIRS_AT_A_TIME // max(1, count))

    def work(reading: Reading, view: View) -> list[list[Hit]]:
        """Compare every document of a transaction that matches a filter with each query."""

        def check(rows: list[Row]) -> tuple[int, I64, I64, F64]:
            """Return the size of a block, and query, number and similarity of its pairs that reach the threshold."""
            documents, numbers, _ = documents_of(rows, reading.path)
            held = sketcher.sets(sketcher.normalized(documents))
            query = np.repeat(np.arange(count), numbers.size)
            place = np.tile(np.arange(numbers.size), count)
            similarity = check_pairs(query, place, asked, held, threshold=threshold)
            near = similarity >= threshold
            return len(rows), query[near], numbers[place[near]], similarity[near]

        observer.stage("scan", reading.state().documents, "documents")
        chosen = (matching_rows(reading, rows, where) for rows in reading.blocks())
        blocks = (rows[first : first + step] for rows in chosen for first in range(0, len(rows), step))
        best = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        for size, *found in in_order(check, blocks, threads=core.threads):
            query, number, similarity = (np.concatenate(pair) for pair in zip(best, found, strict=True))
            order = first_of_each(query, top, number, -similarity)
            best = query[order], number[order], similarity[order]
            observer.advance(size)
        query, number, similarity = best
        met = view.lookup(prepared.keys[:-1], prepared.has_shingles, first_row=0)
        pairs = pairs_of(np.repeat(np.arange(count), np.diff(met.ends, prepend=0)), met.numbers)
        shared = dict(zip(pairs.tolist(), met.bands.tolist(), strict=True))  # without those that no band finds
        bands = np.array([shared.get(pair, 0) for pair in pairs_of(query, number).tolist()], dtype=np.int32)
        candidates = Candidates(query, number, bands, number)
        return as_hits(reading, count, candidates, np.arange(number.size), similarity, {}, None)

    return core.ask(work)
