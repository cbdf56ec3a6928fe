"""A sample of documents, drawn by their content, and all their partners, exactly.

The pass over the stored texts only hashes; what it gives is held to the same exact check as the candidates of a run.
What these pairs say about a run is in ``audit``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.cutting import ROWS_AT_A_TIME, cut, starts_of
from neardup.engine.check import Checker, pairs_at_once
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.reading.draw import draw
from neardup.engine.results.pairs import PairStore
from neardup.engine.threads import in_order
from neardup.kernels.scanning import Block, Index, Scratch
from neardup.stages import partners as partner_stage
from neardup.stages import shingle as shingle_stage
from neardup.stages.partners import Commonness
from neardup.stages.shingle import Hasher
from neardup.types import I32, I64, U64, Pairs, ShingleSets

Array = NDArray[Any]

AHEAD = 2
"""Blocks that may wait for the check, beside those in work."""
BLOCK_BYTES = 2 << 20
"""Text that a thread passes over at a time."""
SHINGLE_BYTES = 64
"""Memory for each shingle of the sample while its index is built, and for the scratch of the pass."""
CANDIDATE_BYTES = 16
"""Memory for each candidate of a block, of which every document may be one with every document of the sample."""
WIDER = 3
"""Beside the sample, documents of so many times its shingles tell which shingles are common ..."""
AT_MOST = 32
"""... but no more than one of so many of the collection."""
RARITY_SEED = 1 << 63
"""By which those are drawn; no sample has it, so they are others."""


@dataclass(frozen=True, slots=True)
class ExactPartners:
    """All true pairs of which at least one document was drawn and at most one stands in a crowd."""

    pairs: Pairs
    candidates: int
    """Pairs that the pass over the texts gave; the others of its pairs are below the threshold."""


def find_exact_partners(
    collection: Collection, weight: I32, crowd: I32, drawn: I64, *, threads: int, observer: Observer
) -> ExactPartners:
    """All partners of the documents ``drawn`` (rising, each of weight), with exact similarities.

    The pairs do not depend on threads and memory. Where the index of the sample does not fit the budget, the sample
    is cut and there is a pass for each part; the observer is told the bytes passed over. TooLargeError where two
    documents are too long to be compared within the memory limit.
    """
    spec = collection.spec
    hasher = Hasher(spec.shingle, spec.seed)
    check = Checker(collection, threads=threads)
    # plain documents first: where the documents of crowds begin the index can leave them out
    drawn = drawn[np.argsort(crowd[drawn] >= 0, kind="stable")]
    space = collection.space
    parts = [drawn[part] for part in cut(SHINGLE_BYTES * collection.counts.take(drawn), space.budget.share(0.25))]
    commonness = _commonness_of(drawn, collection, weight, hasher)
    observer.stage("audit", len(parts) * collection.texts.text_bytes, "bytes")
    found = PairStore("truth", len(collection), space, part=0.1)
    candidates = 0
    for part in parts:
        sets = _sets_of(part, collection, hasher, threads)
        plain = int(np.count_nonzero(crowd[part] < 0))
        index = partner_stage.build_index(sets, part, plain, commonness=commonness, threshold=spec.threshold)
        bits = partner_stage.bits_of(sets, index, commonness)
        del sets
        # blocks in work and those that wait share a tenth of the memory
        most = max(64, space.budget.share(0.1) // (CANDIDATE_BYTES * part.size * (threads + AHEAD)))
        blocks = _blocks(collection, weight, most)
        passed = _pass(index, bits, blocks, collection, crowd, hasher, threads, observer)
        for left, right in gathered(passed, pairs_at_once(space)):
            candidates += left.size
            similarity = check(np.minimum(left, right), np.maximum(left, right), spec.threshold)
            near = similarity >= 0
            # a pair whose documents were both drawn comes from both
            found.add(left[near], right[near], similarity[near])
        check.drop_buffers()
    pairs = found.gathered()
    found.drop()
    return ExactPartners(pairs, candidates)


def _commonness_of(drawn: I64, collection: Collection, weight: I32, hasher: Hasher) -> Commonness:
    """How common shingles are: counted in the sample and in some documents beside, drawn alike."""
    inside = int(collection.counts.take(drawn).sum())
    total = sum(int(counts.sum()) for _, counts in collection.counts.scan(ROWS_AT_A_TIME))
    more = min(WIDER * inside, total // AT_MOST)
    documents = more * int(np.count_nonzero(weight)) // max(1, total)
    others = draw(collection, weight, documents=documents, seed=RARITY_SEED)
    commonness = Commonness.of(collection.spec.threshold, inside + more)
    for rows in _cut(np.union1d(drawn, others), collection):
        for block, local, _ in collection.texts.parts(rows):
            commonness.see(block, local, hasher)
    return commonness


def _sets_of(rows: I64, collection: Collection, hasher: Hasher, threads: int) -> ShingleSets:
    """The sets of some documents, in the order of ``rows``."""
    order = np.argsort(rows)
    rising = rows[order]
    counts = collection.counts.take(rising)
    starts = starts_of(counts)
    sizes = np.empty(rows.size, dtype=np.int64)
    room = np.empty(int(starts[-1]), dtype=np.uint64)

    def work(some: I64) -> None:
        first = int(np.searchsorted(rising, some[0]))
        for documents, local, part in collection.texts.parts(some):
            here = slice(first + part.start, first + part.stop)
            rooms = starts[here.start : here.stop + 1]
            shingle_stage.build_rows(documents, local, counts[here], hasher, rooms, sizes[here], room)

    for _ in in_order(work, _cut(rising, collection), threads=threads):
        pass
    place = np.empty(rows.size, dtype=np.int64)
    place[order] = np.arange(rows.size)
    offsets = starts_of(sizes[place])
    hashes = [room[starts[i] : starts[i] + sizes[i]] for i in place.tolist()]
    return ShingleSets(offsets, np.concatenate([np.empty(0, np.uint64), *hashes]))


def _pass(
    index: Index,
    bits: U64 | None,
    blocks: Iterator[I64],
    collection: Collection,
    crowd: I32,
    hasher: Hasher,
    threads: int,
    observer: Observer,
) -> Iterator[tuple[I64, I64]]:
    """Candidates of an index, block after block of all texts."""
    spare: list[Scratch] = []

    def work(rows: I64) -> tuple[I64, I64, int]:
        try:
            scratch = spare.pop()
        except IndexError:
            scratch = partner_stage.new_scratch(index)
        found = []
        for documents, local, part in collection.texts.parts(rows):
            some = rows[part]
            block = Block(local, some, collection.counts.take(some), crowd[some] >= 0)
            found.append(partner_stage.find_candidates(documents, block, index, scratch, hasher, bits))
        spare.append(scratch)
        left, right = (np.concatenate(column) for column in zip(*found, strict=True))
        return left, right, int(collection.texts.lengths(rows).sum())

    for left, right, passed in in_order(work, blocks, threads=threads, ahead=threads + AHEAD):
        observer.advance(passed)
        yield left, right


def _blocks(collection: Collection, weight: I32, most: int) -> Iterator[I64]:
    """Rows of weight, cut where their texts fill a block, ``most`` at most."""
    step = min(ROWS_AT_A_TIME, most)
    for first in range(0, len(collection), step):
        yield from _cut(np.flatnonzero(weight[first : first + step]) + first, collection)


def _cut(rows: I64, collection: Collection) -> Iterator[I64]:
    """Rows, cut where their texts fill a block."""
    return (rows[part] for part in cut(collection.texts.lengths(rows), BLOCK_BYTES))


def gathered(pieces: Iterable[tuple[Array, ...]], most: int) -> Iterator[tuple[Array, ...]]:
    """Columns of pairs that come in small pieces, in pieces of ``most`` pairs or a little more."""
    held: list[tuple[Array, ...]] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += piece[0].size
        if size >= most:
            yield tuple(np.concatenate(column) for column in zip(*held, strict=True))
            held, size = [], 0
    if size:
        yield tuple(np.concatenate(column) for column in zip(*held, strict=True))
