"""Blocks of documents for hostile tests: no byte to spare behind the last, and bytes around it that would show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neardup.kernels.hashing import CHUNK, HASH_PARAMS, SPARE, Cursor, fill, new_cursor, rewind
from neardup.kernels.verify import overlap_needed
from neardup.native.declare import kernel
from neardup.params import Shingle
from neardup.stages.shingle import Hasher
from neardup.types import SLACK, Documents

U32, U64, I64 = NDArray[np.uint32], NDArray[np.uint64], NDArray[np.int64]

POISONS = (0x00, 0x61, 0xBF, 0xFF)
"""A zero, a letter, a continuation byte and the separator of items."""


def packed(blobs: Sequence[bytes], poison: int = 0) -> Documents:
    """A block with a poisoned byte before the first document and exactly SLACK poisoned bytes behind the last."""
    ends = np.cumsum([1, *map(len, blobs)], dtype=np.int64)
    frame = bytes([poison])
    return Documents(np.frombuffer(frame + b"".join(blobs) + frame * SLACK, dtype=np.uint8), ends)


def hasher_of(shingle: str, seed: int = 1) -> Hasher:
    """What the kernels need to know of a shingle such as ``char:9``."""
    return Hasher(Shingle.parse(shingle), seed)


@kernel(HASH_PARAMS, "read(uint8[::1]), int64, int64, uint64[::1]")
def _drain(params, data, begin, stop, out):
    """All hashes that ``fill`` writes for one document.

    -1 when more than ``out`` holds, -2 when out of its arrays, -3 when more after a chunk that was not full.
    """
    guard = np.uint64(0xDEADBEEF)
    hash_room = np.full(CHUNK + 64, guard)
    words = CHUNK + params.k + SPARE
    word_room = np.full(words + 64, guard)
    cursor = Cursor(new_cursor(params, CHUNK).state, word_room[:words], hash_room[:CHUNK])
    rewind(cursor, begin)
    n = 0
    before = CHUNK
    while True:
        count = fill(params, data, stop, cursor)
        if np.any(hash_room[CHUNK:] != guard) or np.any(word_room[words:] != guard):
            return -2
        if count == 0:
            return n
        if before < CHUNK:
            return -3
        before = count
        if count < 0 or count > CHUNK or n + count > out.size:
            return -1
        out[n : n + count] = cursor.hashes[:count]
        n += count


@kernel("int64, int64, float64")
def needed(size_a, size_b, threshold):
    """``overlap_needed`` of the kernels, which Python cannot call by itself."""
    return overlap_needed(size_a, size_b, threshold)


def filled(hasher: Hasher, documents: Documents, i: int) -> list[int]:
    """Hashes of document i in the order in which ``fill`` writes them, with repeats."""
    begin, stop = int(documents.offsets[i]), int(documents.offsets[i + 1])
    out = np.empty(stop - begin + 1, dtype=np.uint64)  # no document has more shingles than bytes
    count = _drain(hasher.params, documents.data, begin, stop, out)
    assert count != -1, f"fill wrote more than {stop - begin} hashes for {stop - begin} bytes"
    assert count != -2, "fill wrote behind the end of its arrays"
    assert count != -3, "fill wrote more after a chunk that was not full"
    return out[:count].tolist()


def sketched(hasher: Hasher, documents: Documents, slots: int, rounds: int, sketch_block) -> tuple[U32, I64]:
    """Signatures and counts of a block by the kernel or its twin."""
    values = np.zeros((len(documents), slots), dtype=np.uint32)
    counts = np.full(len(documents), -7, dtype=np.int64)
    sketch_block(hasher.params, documents.data, documents.offsets, rounds, values, counts)
    return values, counts


def built(hasher: Hasher, documents: Documents, docs: Sequence[int], build_sets) -> list[list[int]]:
    """Sets of some documents by the kernel or its twin, in rooms of one hash a byte with a guard between them."""
    sizes_of = np.diff(documents.offsets)
    rooms = [max(1, int(sizes_of[doc])) for doc in docs]
    starts = np.cumsum([0, *rooms], dtype=np.int64)
    guard = np.uint64(0xDEADBEEF)
    out = np.full(int(starts[-1]) + 1, guard)
    sizes = np.full(len(docs), -7, dtype=np.int64)
    chosen = np.array(docs, dtype=np.int64)
    build_sets(hasher.params, documents.data, documents.offsets, chosen, starts, sizes, out)
    for i in range(len(docs)):
        assert (out[starts[i] + sizes[i] : starts[i + 1]] == guard).all(), "a set was written past its size"
    assert out[-1] == guard
    return [out[starts[i] : starts[i] + sizes[i]].tolist() for i in range(len(docs))]
