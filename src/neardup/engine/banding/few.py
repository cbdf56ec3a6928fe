"""Documents of hot buckets that are too many to pair up, told apart by the shingles that few of them hold.

    texts ── tally ──► how often each shingle was met
    texts ── those that 2 to MOST of them hold ──► those that are not alone after all
          ──► index, block after block ── what two share ──► pairs

Documents of one boilerplate may be just below the threshold, each with each. What tells whether two of them are similar
is what they share beside it: the overlap that they need, less the shingles that many hold. So no pair is missed, but of
documents that could reach the threshold by the latter alone: these are named. The work is linear: a shingle that more
documents hold than MOST is not looked at again. The tally has a limited number of cells, so that of many documents most
shingles that seem to be shared are alone: those that are kept are counted again by themselves, and these are dropped.
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
"""Text that a thread passes over at a time."""
TOKEN_BYTES = 60
"""Memory for each shingle that is kept while it is indexed."""
MOST = 128
"""Documents that hold a shingle, at most, for it to be kept, or as many as make a crowd: the more, the more steps."""
SAMPLE = 512
"""Documents by which the number of pairs is predicted."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found beside the pairs."""

    met: int
    """Candidates."""
    hidden: I64
    """Rows that could be similar to others by shingles alone that many hold, and were not held against these."""
    is_cut: bool
    """Whether the pairs that share least were given up, because there were too many."""


def pair_up(collection: Collection, rows: I64, pending: Pending, *, threads: int) -> Found:
    """Candidate pairs among ``rows`` (rising) into ``pending``. The answer depends on neither threads nor memory.

    Memory: 64 MB at most to count in, a twentieth of the budget to count again in, a quarter for the index, 16 bytes a
    row.
    """
    spec = collection.spec
    hasher = Hasher(spec.shingle, spec.seed)
    pieces = [rows[part] for part in cut(collection.texts.lengths(rows), BLOCK_BYTES)]
    tally = sharing.Tally(sum(int(collection.counts.take(piece).sum()) for piece in pieces))
    for piece in pieces:  # in one thread: all count in one table
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
    """Some rows, rising, by their content."""
    prints = collection.prints.take(rows)
    return np.sort(rows[np.lexsort((rows, prints[:, 1], prints[:, 0]))[:SAMPLE]])


def _floor(pairs: I64, allowed: float) -> int:
    """Fewest shingles that a pair shares, so that at most so many pairs do; ``pairs`` by the logarithm of what they
    share."""
    bit = 0
    while bit < pairs.size - 1 and pairs[bit:].sum() > allowed:
        bit += 1
    return 1 << bit
