"""Band keys, buckets and candidate pairs.

Buckets are found without sorting: a partition by the leading nine bits of the key, then one small hash table a
partition that stays in cache (ten times faster than np.argsort on five million keys). One band at a time.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._jit import kernel, part
from neardup.kernels.stored import M1, mix

PARTS = 512
PART_SHIFT = np.uint64(55)
EMPTY = np.uint32(0xFFFFFFFF)


@part
def _key(values, row, first, width):
    """64-bit key of slots ``first`` to ``first + width`` of a row."""
    x = np.uint64(first + 1) * M1
    for s in range(first, first + width):
        x = mix(x + np.uint64(values[row, s]))
    return x


@kernel("uint32[:, ::1], int64[::1], int64, int64, uint64[::1]")
def band_keys(values, rows, first, width, keys):
    """64-bit key of slots ``first`` to ``first + width`` for each of ``rows`` into ``keys``."""
    for i in range(rows.size):
        keys[i] = _key(values, rows[i], first, width)


@kernel("uint32[:, ::1], int64, uint64[:, ::1]")
def all_keys(values, width, keys):
    """Keys of all rows in all bands, as ``band_keys`` gives them, into ``keys[bands, n]``."""
    for i in range(values.shape[0]):
        for band in range(keys.shape[0]):
            keys[band, i] = _key(values, i, band * width, width)


@kernel("uint64[::1], int64[::1], uint64")
def buckets(keys, rows, salt):
    """Group ``rows`` by key; return (members, starts) of the groups of two and more.

    Bucket g is ``members[starts[g] : starts[g + 1]]``, in the order of ``rows``. Loop: count, scatter, then a table a
    partition, in which ``salt`` (odd, random) scatters the keys. Memory: 20 bytes a row beside the input.
    """
    n = keys.size
    counts = np.zeros(PARTS + 1, np.int64)
    for i in range(n):
        counts[np.int64(keys[i] >> PART_SHIFT) + 1] += 1
    largest = 0
    for p in range(PARTS):
        largest = max(largest, counts[p + 1])
        counts[p + 1] += counts[p]
    place = counts[:PARTS].copy()
    item = np.empty(n, np.int64)
    for i in range(n):
        p = np.int64(keys[i] >> PART_SHIFT)
        item[place[p]] = i
        place[p] += 1
    size = 4
    while size < 2 * largest:
        size *= 2
    table = np.empty(size, np.int64)
    group = np.empty(largest, np.int64)
    tally = np.empty(largest, np.int64)
    members = np.empty(n, np.int64)
    starts = np.empty(n // 2 + 1, np.int64)
    starts[0] = 0
    found = 0
    used = 0
    for p in range(PARTS):
        begin, end = counts[p], counts[p + 1]
        if end - begin < 2:
            continue
        mask, shift = 3, np.uint64(62)
        while mask + 1 < 2 * (end - begin):
            mask, shift = 2 * mask + 1, shift - np.uint64(1)
        table[: mask + 1] = -1
        groups = 0
        for j in range(begin, end):
            key = keys[item[j]]
            cell = np.int64((key * salt) >> shift)
            while table[cell] >= 0 and keys[item[begin + table[cell]]] != key:
                cell = (cell + 1) & mask
            if table[cell] < 0:
                table[cell] = j - begin
                group[j - begin] = groups
                tally[groups] = 1
                groups += 1
            else:
                g = group[table[cell]]
                group[j - begin] = g
                tally[g] += 1
        for g in range(groups):
            size_g = tally[g]
            if size_g > 1:
                tally[g] = used
                used += size_g
                found += 1
                starts[found] = used
            else:
                tally[g] = -1
        for j in range(begin, end):
            g = group[j - begin]
            if tally[g] >= 0:
                members[tally[g]] = rows[item[j]]
                tally[g] += 1
    return members[:used], starts[: found + 1]


@part
def _agreeing(row_a, row_b):
    """Slots in which two signatures agree; counted in 32 bits, as wide as a slot, which takes a fifth off."""
    same = np.int32(0)
    for s in range(row_a.size):
        same = np.int32(same + np.int32(row_a[s] == row_b[s]))
    return np.int64(same)


@part
def _first_band(values, a, b, bands, width):
    """First band before ``bands`` in which the signatures of two rows agree in all their rows, else ``bands``."""
    for band in range(bands):
        s = band * width
        end = s + width
        while s < end and values[a, s] == values[b, s]:
            s += 1
        if s == end:
            return band
    return bands


@part
def _past_crowd(members, crowd, i, end):
    """First position after ``i`` whose member stands in another crowd; members are in order of their crowds."""
    low, high = i + 1, end
    while low < high:
        middle = (low + high) // 2
        if crowd[members[middle]] > crowd[members[i]]:
            high = middle
        else:
            low = middle + 1
    return low


@kernel(
    "int64[::1], int64[::1], uint32[:, ::1], int64, int64, int64, int32[::1], boolean, int64[::1], "
    "int64[::1], int64[::1]"
)
def bucket_pairs(members, starts, values, band, width, min_matches, crowd, by_crowd, state, left, right):
    """Candidate pairs of buckets from ``state`` on, until done or ``left`` is full; returns how many were written.

    ``state`` is int64[5]: bucket, i, j (the next pair), candidates met, and 1 when done. A pair is met in the first
    band where both agree (``band`` < 0: whenever both agree) and written when its signatures agree in at least
    ``min_matches`` slots. Pairs inside one crowd
    (``crowd[row]`` equal and >= 0) are passed over: its star lists them. With ``by_crowd`` the members of a bucket are
    in rising order of their crowds, and whole crowds are passed over at once.
    """
    n = 0
    bucket, i, j, candidates = state[0], state[1], state[2], state[3]
    while bucket < starts.size - 1:
        end = starts[bucket + 1]
        if i < starts[bucket]:
            i = starts[bucket]
            j = i + 1
        while i < end:
            a = members[i]
            if by_crowd and j == i + 1 and crowd[a] >= 0:
                j = _past_crowd(members, crowd, i, end)
            while j < end:
                if n == left.size:
                    state[0], state[1], state[2], state[3] = bucket, i, j, candidates
                    return n
                b = members[j]
                j += 1
                if crowd[a] >= 0 and crowd[a] == crowd[b]:
                    continue
                if band > 0 and _first_band(values, a, b, band, width) < band:
                    continue
                candidates += 1
                if _agreeing(values[a], values[b]) >= min_matches:
                    left[n] = min(a, b)
                    right[n] = max(a, b)
                    n += 1
            i += 1
            j = i + 1
        bucket += 1
    state[0], state[3], state[4] = bucket, candidates, 1
    return n


@kernel("uint32[:, ::1], int64[::1], int64[::1], int64, int64, int64[::1], int64[::1]")
def first_bands(values, left, right, bands, width, first, same):
    """First band in which the signatures of each pair agree (``bands`` when none), and the slots that agree at all."""
    for p in range(left.size):
        a, b = left[p], right[p]
        same[p] = _agreeing(values[a], values[b])
        first[p] = _first_band(values, a, b, bands, width)


@kernel("int64[::1], uint32[:, ::1], int64[::1], uint32[:, ::1], int64, int64, int64[::1]")
def star_leaders(members, values, leaders, leader_values, held, min_matches, best):
    """For each member of a hot bucket the leader that its signature agrees with most; returns the leaders then held.

    ``members`` come in the order in which they may lead, ``values[i]`` is the signature of member i. ``leaders`` and
    ``leader_values`` have room for as many as there may be; ``held`` of them are known. A member that is itself a
    leader is passed over; another goes to the nearest leader met so far, when they agree in ``min_matches`` slots, else
    it becomes a leader while there is room. ``best[i]`` is the leader's row, or -1. Cost: members x leaders signature
    comparisons, never members squared.
    """
    n = held
    for i in range(members.size):
        best[i] = -1
        row = members[i]
        top = min_matches - 1
        leads = False
        for e in range(n):
            if leaders[e] == row:
                leads = True
                break
            same = _agreeing(values[i], leader_values[e])
            if same > top:
                top = same
                best[i] = leaders[e]
        if leads:
            best[i] = -1
        elif best[i] < 0 and n < leaders.size:
            leaders[n] = row
            leader_values[n] = values[i]
            n += 1
    return n
