"""MinHash signatures of a block of documents, in one pass over the bytes.

The default sketch ("hybrid") throws the whole set into the slots by one-permutation hashing (P. Li, A. Owen, C.-H.
Zhang, "One Permutation Hashing", NIPS 2012), then R - 1 more times by fresh hashes for the slots still empty (the first
rounds of S. Dahlgaard, M. Knudsen, M. Thorup, "Fast Similarity Sketching", FOCS 2017), and fills what is left by a
classical minimum for each slot. A value carries its round in its leading one bits, so that an earlier round is always
smaller: the sketch of a union is the slot-wise minimum, order and repeats do not matter, and two sets agree in a slot
with probability equal to their Jaccard similarity. Its variance is never above that of independent permutations.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._jit import inlined, kernel, part
from neardup.kernels.hashing import CHUNK, HASH_PARAMS, fill, is_short, new_cursor, rewind
from neardup.kernels.stored import M1, mix

EMPTY = np.uint32(0xFFFFFFFF)
S32 = np.uint64(32)
ROUND = np.uint64(0xA0761D6478BD642F)
A32 = np.uint32(0x9E3779B1)


@inlined
def _round_base(turn):
    """``turn`` leading one bits. Numba widens uint32 arithmetic to 64 bits, so every result here is cut back."""
    return np.uint32((0xFFFFFFFF << (32 - turn)) & 0xFFFFFFFF)


@part
def _throw(hashes, count, turn, slots, row):
    """Round ``turn`` (from 0): each hash falls into one slot and leaves there the smaller value."""
    base = _round_base(turn)
    keep = np.uint32(0x7FFFFFFF >> turn)
    for i in range(count):
        h = hashes[i]
        if turn > 0:
            h = mix(h + np.uint64(turn) * ROUND)
        slot = ((h >> S32) * np.uint64(slots)) >> S32
        value = np.uint32(base | (np.uint32(h) & keep))
        row[slot] = min(row[slot], value)


@part
def _survivors(hashes, count, limit, out):
    """Copy the hashes whose first-round value may still lower a slot."""
    n = 0
    for i in range(count):
        h = hashes[i]
        out[n] = h
        n += (np.uint32(h) & np.uint32(0x7FFFFFFF)) < limit
    return n


@part
def _fill_empty(hashes, count, rounds, slots, row, empty, n_empty):
    """Classical minimum for each slot that no round has filled: an odd multiple of the hash, shifted by slot."""
    base = _round_base(rounds)
    for e in range(n_empty):
        slot = empty[e]
        a = np.uint32(mix(np.uint64(slot) * M1 + ROUND)) | np.uint32(1)
        b = np.uint32(mix(np.uint64(slot) + M1))
        least = np.uint32(0xFFFFFFFF)
        for i in range(count):
            v = np.uint32((np.uint32(hashes[i]) ^ b) * a)
            v = np.uint32((v ^ (v >> 15)) * A32)
            least = min(least, np.uint32(v ^ (v >> 16)))
        value = min(np.uint32(base | (least >> rounds)), np.uint32(0xFFFFFFFE))
        row[slot] = min(row[slot], value)


@kernel(HASH_PARAMS, "read(uint8[::1]), read(int64[::1]), int64, uint32[:, ::1], int64[::1]")
def sketch_block(params, data, offsets, rounds, values, tokens):
    """Signatures of documents into ``values[n, slots]`` (uint32) and the number of shingles into ``tokens[n]``.

    The number counts repeats, is 0 for an empty document and -1 for one of fewer than k tokens, whose text is its one
    shingle. A document without shingles keeps EMPTY in every slot. Loop: documents, then chunks of CHUNK hashes that
    stay in L1, then slots. Past the first chunk only hashes below the largest slot value are thrown (the others
    cannot change anything), which a long document meets more and more rarely. Slots left empty by a document of
    several chunks cost a second pass over it, which is rare: with n shingles a slot stays empty with exp(-n/slots).
    """
    slots = values.shape[1]
    cursor = new_cursor(params, CHUNK)
    hashes = cursor.hashes
    kept = np.empty(CHUNK + 1, np.uint64)
    empty = np.empty(slots, np.int64)
    for d in range(offsets.size - 1):
        row = values[d]
        row[:] = EMPTY
        begin, stop = offsets[d], offsets[d + 1]
        total = 0
        limit = EMPTY
        rewind(cursor, begin)
        while True:
            count = fill(params, data, stop, cursor)
            if count == 0:
                break
            if total == 0:
                _throw(hashes, count, 0, slots, row)
                first = count
            else:
                _throw(kept, _survivors(hashes, count, limit, kept), 0, slots, row)
            total += count
            if count == CHUNK:
                limit = row.max()
        tokens[d] = -1 if total == 1 and is_short(params, cursor) else total
        if total == 0:
            continue
        for turn in range(1, rounds + 1):
            n_empty = 0
            for s in range(slots):
                empty[n_empty] = s
                n_empty += row[s] == EMPTY
            if n_empty == 0:
                break
            if total == first:
                if turn < rounds:
                    _throw(hashes, first, turn, slots, row)
                else:
                    _fill_empty(hashes, first, rounds, slots, row, empty, n_empty)
                continue
            rewind(cursor, begin)
            while True:
                count = fill(params, data, stop, cursor)
                if count == 0:
                    break
                if turn < rounds:
                    _throw(hashes, count, turn, slots, row)
                else:
                    _fill_empty(hashes, count, rounds, slots, row, empty, n_empty)
