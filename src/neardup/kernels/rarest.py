"""The rarest shingles of a few sets, by which their partners are known, and the table that all documents meet.

A partner of a set, one that contains it or is similar to it, lacks at most ``size - least_held(size, threshold)`` of
its shingles. So of any K shingles of the set it holds all but so many. ``choose`` keeps the rarest ones, just as many
as it takes for strangers to stay below that number, and ``table_of`` makes the table that says which sets keep a
shingle, with a bitmap in front of it, since nearly all shingles of all documents are kept by none.

Two engines hold documents against the table: ``containing`` sorted sets in memory, which it also counts in full, and
``scanning`` the shingles as they are hashed, of a pass over texts that builds no sets. The latter counts what is common
for itself, in a sample only (``scanning.choose``), by the same rule.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from neardup.kernels.verify import PADDED_SETS, UNIQUE, VACANT, least_held
from neardup.native.declare import inlined, kernel, part, record
from neardup.types import I32, I64, U64, SetBlock

ONE, TWO, SIX = np.uint64(1), np.uint64(2), np.uint64(63)
S32, S40, S46 = np.uint64(32), np.uint64(40), np.uint64(46)
LIST = np.uint64(1 << 62)
"""Beside the number of a list, so that it is not taken for that of a set."""
SAMPLED, LEAST_SAMPLED = 6, 1 << 16
"""Leading bits that are 0 in the shingles of a sample, and the shingles from which on there is one."""

_RISING = np.empty(0, np.int64)

SET_BLOCK = record(SetBlock, "int64[::1], uint8[::1], int64[::1], int64[::1], uint64[::1]")


class Table(NamedTuple):
    """Which sets keep a shingle."""

    bitmap: Any
    """uint64, a power of two: by the lowest bits of a shingle the word that two of its bits are set in."""
    slots: Any
    """uint64[cells, 2]: a shingle, and the set that keeps it or, with LIST added, where in ``posts`` those are."""
    posts: Any
    """int32: of each list its length, then the sets, rising in each crowd."""
    salt: np.uint64
    """An odd number that nobody knows; it scatters the shingles over the cells."""


TABLE = record(Table, "uint64[::1], uint64[:, ::1], int32[::1], uint64")


@inlined
def is_enough(take, lacking, strangers, share, spare):
    """Whether ``take`` shingles are enough to know a partner by, which lacks at most ``lacking`` of them.

    It then holds half as many again as a stranger, who holds ``strangers`` on average, and ``share`` of what it may
    lack, and ``spare`` beside: so strangers hardly ever hold that many.
    """
    return take - lacking >= 1.5 * strangers + share * lacking + spare


@kernel(
    PADDED_SETS,
    "uint8[::1], int64, float64[::1], int64, float64, float64, float64, float64, uint64[::1], int64[::1], int32[::1]",
)
def choose(block, classes, bits, often, seen, threshold, share, spare, slack, tokens, held, needed):
    """Rarest shingles of each set of ``PaddedSets``, by which its containers are known; returns how many in all.

    A set with more shingles of its own than it may lack has no container, and gets the size 0. Those of a set follow
    those of the sets before it in ``tokens``, ``held[i]`` of them, of which a container holds
    ``needed[i]`` at least. One more than it may lack is enough for that to be 1. More are taken until it ``is_enough``,
    but only while these hold fewer documents, together, than the first ones and ``slack``: a phrase that all documents
    share is no help and costs a step for each of them. Shingles of a class up to UNIQUE count and are not kept: no
    container has them. ``often`` (float64[256]) is about how many documents hold a shingle of each class, ``seen`` how
    many there are. Of equally rare ones those of small hash are taken. O(shingles).
    """
    shift = np.uint64(64 - bits)
    room = np.empty(256, np.int64)
    most = 1
    for i in range(block.sizes.size):
        most = max(most, block.sizes[i])
    kinds = np.empty(most, np.uint8)  # each lookup misses the cache, so there is one for each shingle
    total = 0
    for i in range(block.sizes.size):
        begin, size = block.starts[i], block.sizes[i]
        sets = block.hashes[begin : begin + size]
        held[i] = needed[i] = 0
        if size == 0:
            continue
        room[:] = 0
        for j in range(size):
            kinds[j] = classes[sets[j] >> shift]
        for j in range(size):
            room[kinds[j]] += 1
        lacking = size - least_held(size, threshold)
        if room[: UNIQUE + 1].sum() > lacking:
            block.sizes[i] = 0
            continue
        take, strangers, first, further = 0, 0.0, 0.0, 0.0
        last, of_last = 0, 0
        is_done = False
        for kind in range(256):
            of_last = 0
            last = kind
            while of_last < room[kind]:
                if take > lacking:
                    more = further + often[kind]
                    if more > first + slack or is_enough(take, lacking, strangers, share, spare):
                        is_done = True
                        break
                    further = more
                elif kind > UNIQUE:
                    first += often[kind]
                strangers += max(0.0, often[kind] - 1.0) / max(1.0, seen - 1.0)
                take += 1
                of_last += 1
            if is_done:
                break
        needed[i] = take - lacking
        before = total
        for j in range(size):
            kind = np.int64(kinds[j])
            if kind > last:
                continue
            if kind == last:
                of_last -= 1
                if of_last < 0:
                    continue
            if kind > UNIQUE:
                tokens[total] = sets[j]
                total += 1
        held[i] = total - before
    return total


@inlined
def _marks(value):
    """Two bits of a word of the bitmap, so that one load tells: at 8 bits a key one stranger in twenty passes."""
    return (ONE << ((value >> S40) & SIX)) | (ONE << ((value >> S46) & SIX))


@inlined
def is_marked(word, value):
    """Whether both bits of ``value`` are set in its word: 1 or 0."""
    return (word >> ((value >> S40) & SIX)) & (word >> ((value >> S46) & SIX)) & ONE


@inlined
def place(value, salt, cells):
    """Where a shingle belongs among so many cells, fewer than 2**32.

    The salt is there because those of small hash are kept, and because the hashes of an audit are of a public key.
    """
    return np.int64((((value * salt) >> S32) * np.uint64(cells)) >> S32)


@part
def find(value, slots, at):
    """The cell of a shingle from ``at`` on, or the vacant one where it would be."""
    while slots[at, 0] != value and slots[at, 0] != VACANT:
        at += 1
        if at == slots.shape[0]:
            at = 0
    return at


@part
def tally(who, posts, last, hits, touched, met):
    """Count in ``hits`` each of the first ``last`` sets that keep a shingle, and write it to ``touched`` if it is new.

    ``who`` is what the cell of the shingle says. Returns how many sets were met then.
    """
    if who < LIST:
        s = np.int64(who)
        if s < last:
            touched[met] = s
            met += hits[s] == 0
            hits[s] += 1
        return met
    at = np.int64(who - LIST)
    for p in range(at + 1, at + 1 + posts[at]):
        s = np.int64(posts[p])
        if s >= last:
            break
        count = hits[s]
        touched[met] = s
        met += count == 0
        hits[s] = count + 1
    return met


@kernel("uint64[::1], uint64, uint64[::1], uint64[:, ::1]")
def _count_tokens(tokens, salt, bitmap, slots):
    """Count in each cell how many sets keep its shingle; returns the room that the lists of several sets take."""
    in_bitmap, cells = np.uint64(bitmap.size - 1), slots.shape[0]
    room = 0
    for i in range(tokens.size):
        value = tokens[i]
        bitmap[np.int64(value & in_bitmap)] |= _marks(value)
        at = find(value, slots, place(value, salt, cells))
        if slots[at, 0] == VACANT:
            slots[at, 0] = value
            slots[at, 1] = 0
        slots[at, 1] += ONE
        room += np.int64(slots[at, 1] > ONE) + 2 * np.int64(slots[at, 1] == TWO)
    return room


@kernel("uint64[::1], int64[::1], int64[::1], int64[::1], uint64, uint64[:, ::1], int32[::1]")
def _list_sets(tokens, starts, held, order, salt, slots, posts):
    """Write the sets that keep each shingle: one to the cell itself, several to ``posts``, in this order of them."""
    cells = slots.shape[0]
    room = 0
    for at in range(cells):
        if slots[at, 0] != VACANT and slots[at, 1] > ONE:
            posts[room] = 0
            count = np.int64(slots[at, 1])
            slots[at, 1] = LIST + np.uint64(room)
            room += count + 1
    for k in range(held.size):
        x = order[k] if order.size > 0 else k
        for i in range(starts[x], starts[x] + held[x]):
            at = find(tokens[i], slots, place(tokens[i], salt, cells))
            if slots[at, 1] < LIST:
                slots[at, 1] = np.uint64(x)
                continue
            begin = np.int64(slots[at, 1] - LIST)
            posts[begin] += 1
            posts[begin + posts[begin]] = x


def _distinct_at_most(tokens: U64, salt: np.uint64) -> int:
    """About how many shingles are distinct, or some more: by those that the salt puts first, which nobody can choose.

    Eight standard deviations are added.
    """
    if tokens.size < LEAST_SAMPLED:
        return tokens.size
    first = np.uint64(64 - SAMPLED)
    pieces = (tokens[i : i + LEAST_SAMPLED] for i in range(0, tokens.size, LEAST_SAMPLED))
    sample = np.sort(np.concatenate([piece[(piece * salt) >> first == 0] for piece in pieces]))
    met = 1 + int(np.count_nonzero(sample[1:] != sample[:-1]))
    return min(tokens.size, int((met + 8 * (met + 16) ** 0.5) * (1 << SAMPLED)))


def table_of(
    tokens: U64, starts: I64, held: I64, salt: np.uint64, bits: int, order: I64 = _RISING
) -> tuple[U64, U64, I32]:
    """The fields of a ``Table``, but for the salt, of the shingles that sets keep.

    ``held[i]`` are of set i, from ``starts[i]`` on in ``tokens``, which has no others. ``order`` is that of the sets of
    a list; rising, if empty. The bitmap has ``bits`` bits, or up to twice as many. 32 bytes a distinct shingle, and 4
    for each set that keeps one with others.
    NumPy makes the arrays: it asks for large pages, which Numba does not, and every access misses the cache.
    """
    bitmap = np.zeros(1 << max(0, (-(-int(bits) // 64) - 1).bit_length()), np.uint64)
    distinct = _distinct_at_most(tokens, salt)
    slots = np.full((2 * distinct + 16, 2), VACANT)
    posts = np.empty(_count_tokens(tokens, salt, bitmap, slots), np.int32)
    _list_sets(tokens, starts, held, order, salt, slots, posts)
    return bitmap, slots, posts
