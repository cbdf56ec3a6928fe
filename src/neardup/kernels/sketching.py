"""MinHash signatures of a block of documents, in one pass over the bytes.

The default sketch ("hybrid") throws the whole set into the slots by one-permutation hashing (P. Li, A. Owen, C.-H.
Zhang, "One Permutation Hashing", NIPS 2012), then R - 1 more times by fresh hashes for the slots still empty (the first
rounds of S. Dahlgaard, M. Knudsen, M. Thorup, "Fast Similarity Sketching", FOCS 2017), and fills what is left by a
classical minimum for each slot. A value carries its round in its leading one bits, so that an earlier round is always
smaller: the sketch of a union is the slot-wise minimum, order and repeats do not matter, and two sets agree in a slot
with probability equal to their Jaccard similarity. Its variance is never above that of independent permutations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels._bits import bits_equal, cttz64, lower8, lower16
from neardup.kernels.hashing import CHUNK, HASH_PARAMS, fill, is_short, new_cursor, rewind
from neardup.kernels.stored import M1, mix
from neardup.native.declare import inlined, kernel, maker, part

EMPTY = np.uint32(0xFFFFFFFF)
TOGETHER = 16
"""Hashes that are mixed together."""
S32, ONE = np.uint64(32), np.uint64(1)
ROUND = np.uint64(0xA0761D6478BD642F)
BITS = 64
"""Elements of which ``bits_equal`` tells at a time."""
BLOCK = 1024
"""Hashes after which it is asked again which ones may still lower a slot."""
MANY = np.uint32(3 << 29)
"""Where three quarters of the hashes or more are below the largest slot value, all are thrown."""
SEEN = 256
"""Places for hashes just seen; a power of two."""
ALL_SLOTS = 10
"""The minimum is taken for all slots up to n hashes where rounds * n**2 is this many times the slots."""
REPEATED = 8
"""Hashes a slot after which a slot that is still empty tells of repeats: exp(-8) of them would be empty otherwise."""


class Functions(NamedTuple):
    """The own hash functions of some slots, lined up for vectors, of which the lengths are multiples."""

    factor: Any
    """uint32: odd."""
    mask: Any
    """uint32: what the hash is XORed with first."""
    least: Any
    """uint32: the least value so far."""


@maker
def _new_functions(room):
    return Functions(np.zeros(room, np.uint32), np.zeros(room, np.uint32), np.zeros(room, np.uint32))


@inlined
def _round_base(turn):
    """``turn`` leading one bits. Numba widens uint32 arithmetic to 64 bits, so every result here is cut back."""
    return np.uint32((0xFFFFFFFF << (32 - turn)) & 0xFFFFFFFF)


@part
def _shift_of(slots):
    """How far a hash is shifted to give its slot where the number of slots is a power of two; 0 where it is none."""
    if slots < 2 or slots & (slots - 1):
        return np.uint64(0)
    shift = 64
    while slots > 1:
        slots >>= 1
        shift -= 1
    return np.uint64(shift)


@inlined
def _throw_one(h, base, keep, slots, shift, row):
    slot = h >> shift if shift else ((h >> S32) * np.uint64(slots)) >> S32
    row[slot] = min(row[slot], np.uint32(base | (np.uint32(h) & keep)))


@part
def _throw(hashes, start, stop, turn, slots, shift, row):
    """Round ``turn`` (from 0): each hash falls into one slot and leaves there the smaller value."""
    base, keep = _round_base(turn), np.uint32(0x7FFFFFFF >> turn)
    for i in range(np.uint64(start), np.uint64(stop)):  # unsigned: an index that may be negative costs as much again
        _throw_one(hashes[i], base, keep, slots, shift, row)


@part
def _survivors(hashes, start, stop, limit, out):
    """Copy the hashes whose first-round value may still lower a slot; how many."""
    n = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        h = hashes[i]
        out[n] = h
        n += np.uint64((np.uint32(h) & np.uint32(0x7FFFFFFF)) < limit)
    return n


@part
def _throw_first(hashes, count, limit, slots, shift, kept, row):
    """Round 0 for hashes of which those below ``limit``, the largest slot value so far, can change something.

    They are thrown alone where that costs less than to throw all. Returns the new limit.
    """
    for start in range(0, count, BLOCK):
        stop = min(start + BLOCK, count)
        if limit > MANY:
            _throw(hashes, start, stop, 0, slots, shift, row)
        else:
            _throw(kept, 0, _survivors(hashes, start, stop, limit, kept), 0, slots, shift, row)
        if stop - start == BLOCK:
            limit = _largest(row)
    return limit


@part
def _throw_again(hashes, count, turn, slots, shift, mixed, row):
    """A later round. Its hashes are made first, in a loop that LLVM can make vectors of."""
    by = np.uint64(turn) * ROUND
    whole = (count + TOGETHER - 1) & -TOGETHER  # LLVM would do the last ones singly
    for i in range(np.uint64(whole)):
        mixed[i] = mix(hashes[i] + by)
    _throw(mixed, 0, count, turn, slots, shift, row)


@part
def _largest(row):
    largest = np.uint32(0)
    for s in range(row.size):
        largest = max(largest, row[s])
    return largest


@part
def _unseen(hashes, count, seen, out):
    """Copy the hashes without most of those that occurred before: ``seen`` has the last one of each low byte."""
    n = 0
    for i in range(count):
        h = hashes[i]
        at = h & np.uint64(SEEN - 1)
        out[n] = h
        n += seen[at] != h
        seen[at] = h
    return n


@part
def _choose(row, every, chosen, places):
    """Line up the functions of the empty slots, whose numbers go to ``places``; how many there are."""
    n = np.uint64(0)  # unsigned: an index that may be negative costs as much again
    for start in range(0, row.size, BITS):
        empty = bits_equal(row, start, EMPTY)
        while empty:
            slot = np.uint64(start) + np.uint64(cttz64(empty))
            places[n] = slot
            chosen.factor[n] = every.factor[slot]
            chosen.mask[n] = every.mask[slot]
            n += ONE
            empty &= empty - ONE
    chosen.least[:] = EMPTY
    return np.int64(n)


@part
def _lower(hashes, count, low, functions, n):
    """Least values of the first n functions over the hashes: vectors of functions, which stay in registers."""
    factor, mask, least = functions
    for i in range(count):
        low[i] = np.uint32(hashes[i])
    for s in range(0, n, 16):
        if n - s > 8:
            lower16(low, count, factor, mask, least, s)
        else:
            lower8(low, count, factor, mask, least, s)


@inlined
def _last(least, rounds):
    """What a slot holds that took the classical minimum."""
    return min(np.uint32(_round_base(rounds) | (least >> rounds)), np.uint32(0xFFFFFFFE))


@kernel(HASH_PARAMS, "read(uint8[::1]), read(int64[::1]), int64, uint32[:, ::1], int64[::1]")
def sketch_block(params, data, offsets, rounds, values, tokens):
    """Signatures of documents into ``values[n, slots]`` (uint32) and the number of shingles into ``tokens[n]``.

    The number counts repeats, is 0 for an empty document and -1 for one of fewer than k tokens, whose text is its one
    shingle. A document without shingles keeps EMPTY in every slot. Loop: documents, then chunks of CHUNK hashes that
    stay in L1, then slots. Where most hashes of a long document are above the largest slot value, only the others are
    thrown, since they cannot change anything. Slots left empty by a document of several chunks cost a second pass over
    it, which is rare: with n distinct shingles a slot stays empty with exp(-n/slots). So a document that needs one
    consists of repeats, most of which are dropped there.

    The classical minimum costs slots x hashes and is the larger part for short documents: 0.11 to 0.15 ns each. Of
    fewer than some 25 hashes it is taken for all slots, which is cheaper than picking the empty ones. Values of earlier
    rounds are smaller, so it does not change the filled ones.
    """
    slots = values.shape[1]
    shift = _shift_of(slots)
    room = (slots + BITS - 1) // BITS * BITS
    cursor = new_cursor(params, CHUNK)
    hashes = cursor.hashes
    row = np.zeros(room, np.uint32)
    every, chosen = _new_functions(room), _new_functions(room)
    for s in range(slots):
        every.factor[s] = np.uint32(mix(np.uint64(s) * M1 + ROUND)) | np.uint32(1)
        every.mask[s] = np.uint32(mix(np.uint64(s) + M1))
    places = np.empty(room, np.uint64)
    low = np.empty(CHUNK, np.uint32)
    kept = np.empty(CHUNK + 1, np.uint64)
    mixed = np.empty(CHUNK, np.uint64)
    seen = np.empty(SEEN, np.uint64)
    for d in range(offsets.size - 1):
        begin, stop = offsets[d], offsets[d + 1]
        for s in range(slots):
            row[s] = EMPTY
        total = 0
        limit = EMPTY
        rewind(cursor, begin)
        while True:
            count = fill(params, data, stop, cursor)
            limit = _throw_first(hashes, count, limit, slots, shift, kept, row)
            if total == 0:
                first = count
            total += count
            if count < CHUNK:
                break
        tokens[d] = -1 if total == 1 and is_short(params, cursor) else total
        if total == 0:
            values[d] = EMPTY
            continue
        if total == first and rounds * total * total < ALL_SLOTS * slots:
            for turn in range(1, rounds):
                _throw_again(hashes, total, turn, slots, shift, mixed, row)
            for s in range(room):
                every.least[s] = EMPTY
            _lower(hashes, total, low, every, slots)
            for s in range(slots):
                values[d, s] = min(row[s], _last(every.least[s], rounds))
            continue
        for turn in range(1, rounds + 1):
            if _largest(row) < EMPTY:
                break
            n = _choose(row, every, chosen, places) if turn == rounds else 0
            if total == first and total <= REPEATED * slots:
                if turn < rounds:
                    _throw_again(hashes, total, turn, slots, shift, mixed, row)
                else:
                    _lower(hashes, total, low, chosen, n)
            else:
                for i in range(SEEN):
                    seen[i] = np.uint64(i + 1)
                rewind(cursor, begin)
                while True:
                    count = fill(params, data, stop, cursor)
                    fresh = _unseen(hashes, count, seen, kept)
                    if turn < rounds:
                        _throw_again(kept, fresh, turn, slots, shift, mixed, row)
                    else:
                        _lower(kept, fresh, low, chosen, n)
                    if count < CHUNK:
                        break
            for e in range(np.uint64(n)):
                row[places[e]] = _last(chosen.least[e], rounds)
        for s in range(slots):
            values[d, s] = row[s]
