"""Separate the documents of hot buckets by rare shingles, which few documents hold, if they are too many to pair up.

    texts ── tally ──► how often each shingle occurs, never too few
    texts ── rare shingles, which 2 to MOST documents hold ── second count ──► those that are really shared
          ──► index, block after block ── shingles that two documents share ──► pairs

Documents with the same boilerplate may all be just below the threshold to each other. Two of them are similar only if
they share as many rare shingles as their overlap needs beyond common ones. So no pair is missed, unless common shingles
alone could make documents similar: these are returned. The work is linear, because a shingle that more than MOST
documents hold is not used again. The tally has a limited number of cells, so with many documents most shingles that
seem to be shared are not. A second count, of rare shingles only, finds these, and they are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.cutting import cut
from neardup.engine.banding.pending import BUDGET_NS, Pending, check_ns
from neardup.engine.reading.collection import Collection
from neardup.engine.threads import in_order
from neardup.kernels.sharing import Few
from neardup.stages import sharing
from neardup.stages.shingle import Hasher
from neardup.types import I64

BLOCK_BYTES = 2 << 20
"""Bytes of text that a thread reads at a time."""
TOKEN_BYTES = 60
"""Memory for each rare shingle while it is indexed."""
MOST = 128
"""The most documents that may hold a rare shingle, or ``spec.crowd`` if that is less. The work grows with it."""
SAMPLE = 512
"""The number of documents from which the number of pairs is predicted."""


@dataclass(frozen=True, slots=True)
class Found:
    """Facts about a search by rare shingles, besides its pairs."""

    met: int
    """The number of candidate pairs."""
    hidden: I64
    """The rows that common shingles alone could make similar to others. Such pairs were not looked for."""
    is_cut: bool
    """Whether the pairs that share the fewest shingles were dropped, because there were too many pairs."""


def pair_up(collection: Collection, rows: I64, pending: Pending, *, threads: int) -> Found:
    """Add candidate pairs among ``rows`` (sorted) to ``pending``. The result depends on neither threads nor memory.

    Memory: at most 64 MB for the tally, a twentieth of the budget for the second count, a quarter for the index, and
    16 bytes a row.
    """
    spec = collection.spec
    hasher = Hasher(spec.shingle, spec.seed)
    pieces = [rows[part] for part in cut(collection.texts.lengths(rows), BLOCK_BYTES)]
    tally = sharing.Tally(sum(int(collection.counts.take(piece).sum()) for piece in pieces))
    for piece in pieces:  # in one thread, because all of them count in one table
        for documents, local, _ in collection.texts.parts(piece):
            tally.see(documents, local, hasher)

    def few_of(piece: I64) -> Few:
        parts = []
        for documents, local, part in collection.texts.parts(piece):
            some, counts = piece[part], collection.counts.take(piece[part])
            parts.append(sharing.few_of(documents, local, some, counts, hasher, tally, most=min(MOST, spec.crowd)))
        return sharing.joined(parts)

    sample = sharing.Sharing(few_of(_sample(collection, rows)), spec.threshold)
    fit = collection.space.budget.share(0.25) // TOKEN_BYTES
    numbers = np.zeros(sharing.KINDS, dtype=np.int64)
    sizes: list[I64] = []
    common: list[I64] = []
    held: list[Few] = []
    kept = 0
    again = sharing.KeptTally(min(1 << sharing.MOST_BITS, collection.space.budget.share(0.05)))

    def look(piece: I64) -> tuple[Few, I64]:
        some = few_of(piece)
        return some, sample.numbers(some)

    for some, more in in_order(look, pieces, threads=threads):
        numbers += more
        sizes.append(some.sizes)
        common.append(some.common)
        again.see(some)
        kept += some.tokens.size
        if kept <= fit or not held:
            held.append(some)
    pairs = numbers * (rows.size / sample.few.rows.size / 2)
    shingles = np.concatenate(sizes)
    floor = _floor(pairs, BUDGET_NS * rows.size / check_ns(float(shingles.mean())))
    held = [again.shared(some) for some in held]
    if len(held) == len(pieces):
        held = again.again(held)
    met = 0
    first = 0
    while first < len(pieces):
        while first + len(held) < len(pieces) and (not held or sum(some.tokens.size for some in held) < fit):
            held.append(again.shared(few_of(pieces[first + len(held)])))
        index = sharing.Sharing(sharing.joined(held), spec.threshold)
        first += len(held)
        held = []
        met += _add(index.pairs(index.few, floor=floor), pending)

        def against(piece: I64, index: sharing.Sharing = index) -> int:
            return _add(index.pairs(again.shared(few_of(piece)), floor=floor), pending)

        met += sum(in_order(against, pieces[first:], threads=threads))
    hides = sharing.may_hide(shingles, np.concatenate(common), spec.threshold)
    return Found(met, rows[hides], floor > 1)


def _add(pairs: Iterator[tuple[I64, I64]], pending: Pending) -> int:
    return pending.add_all((left, right, left.size) for left, right in pairs)


def _sample(collection: Collection, rows: I64) -> I64:
    """Return at most SAMPLE rows, sorted, chosen by their content."""
    prints = collection.prints.take(rows)
    return np.sort(rows[np.lexsort((rows, prints[:, 1], prints[:, 0]))[:SAMPLE]])


def _floor(pairs: I64, allowed: float) -> int:
    """Return the least power of two for which at most ``allowed`` pairs share that many shingles. ``pairs`` counts the
    pairs by the binary logarithm of the number of shingles that they share."""
    bit = 0
    while bit < pairs.size - 1 and pairs[bit:].sum() > allowed:
        bit += 1
    return 1 << bit
