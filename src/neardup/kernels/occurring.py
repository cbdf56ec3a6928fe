"""Where shingles occur: the hashes of one document in order, repeats and all, the partners of each in another, and the
runs that shared ones make.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.hashing import CHUNK, HASH_PARAMS, fill, new_cursor, rewind, table_bits
from neardup.native.declare import kernel, part


@kernel(HASH_PARAMS, "read(uint8[::1]), int64, int64, uint64[::1]")
def hashes_in_order(params, data, begin, stop, out):
    """Write the hashes of the document ``data[begin:stop]`` to ``out`` and return how many it has.

    What does not fit is counted and not written. The hash 2**64 - 1 is given as 2**64 - 2, as in the sets.
    """
    most = np.uint64(0xFFFFFFFFFFFFFFFE)
    cursor = new_cursor(params, CHUNK)
    hashes = cursor.hashes
    rewind(cursor, begin)
    n = 0
    while True:
        count = fill(params, data, stop, cursor)
        for j in range(min(count, out.size - n)):
            out[n + j] = min(hashes[j], most)
        n += count
        if count < CHUNK:
            break
    return n


@part
def _number(hashes, table, shift, values, groups, n):
    """Number each hash in order of first appearance: ``groups[i]``; ``n`` are known before. Return how many there are.

    ``table`` holds numbers, -1 where it is vacant; linear probing.
    """
    mask = table.size - 1
    for i in range(hashes.size):
        value = hashes[i]
        at = np.int64(value >> shift)
        while table[at] >= 0 and values[table[at]] != value:
            at = (at + 1) & mask
        if table[at] < 0:
            table[at] = n
            values[n] = value
            n += 1
        groups[i] = table[at]
    return n


@part
def _chain(groups, heads, counts, following):
    """The occurrences of each group as a chain in order: its head, then ``following``, -1 behind the last."""
    for i in range(groups.size - 1, -1, -1):
        group = groups[i]
        following[i] = heads[group]
        heads[group] = i
        counts[group] += 1


@part
def _pair(groups, other_heads, other_following, partners):
    """The j-th occurrence of a group takes the j-th of the other side, or the last there. Uses up the heads."""
    for i in range(groups.size):
        partner = other_heads[groups[i]]
        partners[i] = partner
        if partner >= 0 and other_following[partner] >= 0:
            other_heads[groups[i]] = other_following[partner]


@kernel("uint64[::1], uint64[::1], int32[::1], int32[::1], int32[::1], int32[::1]")
def match(a, b, partners_a, partners_b, counts_a, counts_b):
    """Partners of the shingle occurrences of two documents, by hash, in time and memory linear in both.

    ``partners_a[i]`` is the occurrence in ``b`` that belongs to occurrence i of ``a``, or -1 where there is none;
    ``counts_a[i]`` is how often its hash occurs in both together. The same for ``b``. Linear if the hashes are
    of a private key: with those of a public one texts can be made for which it is not. Returns the distinct hashes of
    a, of b, of both.
    """
    bits = table_bits(a.size + b.size)
    table = np.full(1 << bits, -1, np.int32)
    values = np.empty(a.size + b.size, np.uint64)
    groups_a, groups_b = np.empty(a.size, np.int32), np.empty(b.size, np.int32)
    shift = np.uint64(64 - bits)
    size_a = _number(a, table, shift, values, groups_a, 0)
    total = _number(b, table, shift, values, groups_b, size_a)
    heads_a, heads_b = np.full(total, -1, np.int32), np.full(total, -1, np.int32)
    counts = np.zeros(total, np.int32)
    following_a, following_b = np.empty(a.size, np.int32), np.empty(b.size, np.int32)
    _chain(groups_a, heads_a, counts, following_a)
    _chain(groups_b, heads_b, counts, following_b)
    size_b = np.sum(heads_b >= 0)
    for i in range(a.size):
        counts_a[i] = counts[groups_a[i]]
    for i in range(b.size):
        counts_b[i] = counts[groups_b[i]]
    _pair(groups_a, heads_b, following_b, partners_a)
    _pair(groups_b, heads_a, following_a, partners_b)
    return size_a, size_b, size_a + size_b - total


@kernel("int64[::1], int64[::1], int32[::1], int32[::1], int64[:, ::1], int32[::1], int32[::1]")
def runs(starts, ends, partners, counts, spans, chosen, run_of):
    """Put shared occurrences that touch or overlap together to runs; returns how many there are. Linear, one pass.

    Run i goes from ``spans[i, 0]`` to ``spans[i, 1]``; ``chosen[i]`` is the partner of its rarest occurrence (least
    count, of these the first); ``run_of`` tells the run of each occurrence that is shared.
    """
    n, last, rarest = 0, -1, -1
    for i in range(partners.size):
        if partners[i] < 0:
            continue
        if last < 0 or starts[i] > ends[last]:
            spans[n, 0] = starts[i]
            rarest = i
            n += 1
        elif counts[i] < counts[rarest]:
            rarest = i
        spans[n - 1, 1] = ends[i]
        chosen[n - 1] = partners[rarest]
        run_of[i] = n - 1
        last = i
    return n
