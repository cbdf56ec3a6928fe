"""Band keys, buckets and candidate pairs.

Buckets are found without sorting, one band at a time: rows are partitioned by the leading nine bits of their keys, then
each part is grouped with a small hash table that stays in cache (ten times faster than np.argsort on 5 million keys).
"""

from __future__ import annotations

import numpy as np

from neardup.kernels._bits import store64, swapped64
from neardup.kernels.stored import M1, M3, S32, mix
from neardup.native.declare import inlined, kernel, part

PARTS = 512
EMPTY = np.uint32(0xFFFFFFFF)


@part
def _key(values, row, first, width):
    """Return the 64-bit key of slots ``first`` to ``first + width - 1`` of a row."""
    x = np.uint64(first + 1) * M1
    for s in range(first, first + width):
        x = mix(x + np.uint64(values[row, s]))
    return x


@kernel("uint32[:, ::1], int64, uint64[:, ::1]")
def all_keys(values, width, keys):
    """Write the 64-bit keys of all rows in all bands, which the files of an index hold, to ``keys[bands, n]``."""
    for i in range(values.shape[0]):
        for band in range(keys.shape[0]):
            keys[band, i] = _key(values, i, band * width, width)


@kernel("uint32[:, ::1], int64, int64, uint8[:, :, ::1]")
def short_keys(values, width, first, keys):
    """Write the 40-bit keys of rows in all bands, highest byte first, to ``keys[bands, n, 5]`` (uint8), from ``first``.

    A key is a multilinear hash (M. Dietzfelbinger, "Universal Hashing and k-Wise Independent Random Variables via
    Integer Arithmetic without Primes", STACS 1996) of the slots, mixed once. Its multiplications do not wait for each
    other, so it takes a third of the time of ``all_keys``. Rows with different slots share a key with a probability of
    about 2**-40, so callers must compare the slots of rows that meet.
    """
    bands = keys.shape[0]
    factors = np.empty(bands * width, np.uint64)
    for s in range(bands * width):
        factors[s] = mix(np.uint64(s + 1) * M1) | np.uint64(1)
    # with unsigned indices Numba skips its test for negative ones: 4.3 ns a key instead of 7.2
    for i in range(values.shape[0]):
        s = np.uint64(0)
        at = np.uint64(first + i) * np.uint64(5)
        for band in range(bands):
            x = np.uint64(band)
            for _ in range(width):
                x += factors[s] * np.uint64(values[i, s])
                s += np.uint64(1)
            x = (x ^ (x >> S32)) * M3
            if i + 1 < values.shape[0]:  # writes three bytes more than the key, which the next row overwrites
                store64(keys, np.int64(at), swapped64(x))
            else:
                for byte in range(5):
                    keys[band, first + i, byte] = x >> np.uint64(56 - 8 * byte)
            at += np.uint64(5 * keys.shape[1])


@inlined
def _part_of(keys, i):
    """Return the leading nine bits of a key."""
    return (np.int64(keys[i, 0]) << 1) | (np.int64(keys[i, 1]) >> 7)


@kernel("read(uint8[:, ::1]), int32[::1], int64, int64[::1]")
def count_parts(keys, weight, first, counts):
    """Count the rows with weight by the leading nine bits of their keys, and add the counts to ``counts[PARTS]``.

    ``keys`` (uint8[m, 5]) belong to consecutive rows that start at ``first``.
    """
    for i in range(keys.shape[0]):
        if weight[first + i] > 0:
            counts[_part_of(keys, i)] += 1


@kernel("read(uint8[:, ::1]), int32[::1], int64, int64, int64, int64[::1], uint64[::1]")
def scatter_parts(keys, weight, first, low, high, place, packed):
    """Write the rows with weight to their parts, if the leading nine bits of their keys are in ``low`` to ``high - 1``.

    The next row of part p goes to ``packed[place[p]]``: the lower 32 bits of its key, then its number in 32 bits.
    """
    for i in range(keys.shape[0]):
        if weight[first + i] > 0:
            p = _part_of(keys, i)
            if low <= p < high:
                low_bits = (
                    (np.uint64(keys[i, 1]) << np.uint64(24))
                    | (np.uint64(keys[i, 2]) << np.uint64(16))
                    | (np.uint64(keys[i, 3]) << np.uint64(8))
                    | np.uint64(keys[i, 4])
                )
                packed[place[p]] = (low_bits << S32) | np.uint64(first + i)
                place[p] += 1


@inlined
def _range_of(keys, i):
    """Return the leading 16 bits of a key."""
    return (np.int64(keys[i, 0]) << 8) | np.int64(keys[i, 1])


@kernel("uint8[:, ::1], uint32[::1], int32[::1], int64[::1], int64[::1]")
def weigh_ranges(keys, rows, weight, counts, load):
    """Count some rows, and sum their weights, by the leading 16 bits of their keys (uint8[n, 5]).

    ``counts`` and ``load`` have 65,536 values each.
    """
    for row in rows:
        r = _range_of(keys, row)
        counts[r] += 1
        load[r] += weight[row]


@kernel("uint8[:, ::1], uint32[::1], uint16[::1], int64[::1], uint32[::1], uint8[:, ::1]")
def spread_ranges(keys, rows, part_of, place, to_rows, to_keys):
    """Write some rows and their keys (uint8[n, 5]) to the parts of their keys, in order.

    ``part_of`` (uint16[65536]) maps the leading 16 bits to a part; the next row of part p goes to ``place[p]``.
    """
    for row in rows:
        p = part_of[_range_of(keys, row)]
        at = place[p]
        to_rows[at] = row
        for byte in range(5):
            to_keys[at, byte] = keys[row, byte]
        place[p] = at + 1


@kernel("uint64[::1], int64[::1], int64[::1], uint64")
def group_parts(packed, begins, ends, salt):
    """Group the rows of each part by key; return (members, starts) of the groups of at least two rows.

    Bucket g is ``members[starts[g] : starts[g + 1]]``, in the order of the rows.

    Part p is ``packed[begins[p] : ends[p]]`` as ``scatter_parts`` writes it. Each part has one hash table, in which
    ``salt`` (odd, random) scatters the keys. The table finds the first entry with the same key; most entries have none.
    Memory: 12 bytes for each entry of the largest part, and 16 for each member.
    """
    parts = ends.size
    largest = 0
    for p in range(parts):
        largest = max(largest, ends[p] - begins[p])
    size = 4
    while size < 2 * largest:
        size *= 2
    table = np.empty(size, np.uint32)
    group = np.empty(largest, np.uint32)
    tally = np.empty(largest, np.int64)
    members = np.empty(1024, np.int64)
    starts = np.zeros(512, np.int64)
    found, used = 0, 0
    for p in range(parts):
        begin, m = begins[p], ends[p] - begins[p]
        if m < 2:
            continue
        mask, shift = 3, np.uint64(62)
        while mask + 1 < 2 * m:
            mask, shift = 2 * mask + 1, shift - np.uint64(1)
        table[: mask + 1] = 0
        repeated = 0
        for j in range(m):
            key = packed[begin + j] >> S32
            cell = np.int64((key * salt) >> shift)
            held = table[cell]
            while held and packed[begin + held - 1] >> S32 != key:
                cell = (cell + 1) & mask
                held = table[cell]
            if held:
                group[j] = held
                tally[held - 1] += 1
                repeated += 1
            else:
                table[cell] = j + 1
                group[j] = 0
                tally[j] = 1
        if repeated == 0:
            continue
        if used + 2 * repeated > members.size:
            grown = np.empty(2 * members.size + 2 * repeated, np.int64)
            grown[:used] = members[:used]
            members = grown
        if found + 1 + repeated >= starts.size:
            longer = np.empty(2 * starts.size + repeated + 1, np.int64)
            longer[: found + 1] = starts[: found + 1]
            starts = longer
        for j in range(m):
            if group[j] == 0:
                if tally[j] < 2:
                    continue
                size_j = tally[j]
                tally[j] = used  # the index of its next member
                used += size_j
                found += 1
                starts[found] = used
                to = j
            else:
                to = np.int64(group[j]) - 1
            members[tally[to]] = np.int64(packed[begin + j] & np.uint64(0xFFFFFFFF))
            tally[to] += 1
    return members[:used].copy(), starts[: found + 1].copy()


@part
def _agreeing(row_a, row_b):
    """Count the slots in which two signatures agree, in 32 bits as wide as a slot, which saves a fifth of the time."""
    same = np.int32(0)
    for s in range(row_a.size):
        same = np.int32(same + np.int32(row_a[s] == row_b[s]))
    return np.int64(same)


@part
def _first_band(values, a, b, bands, width):
    """Return the first band before ``bands`` in which the signatures of two rows agree, or ``bands`` if none does."""
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
    """Return the first index after ``i`` whose member is in another crowd; members are sorted by crowd."""
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
    """Write candidate pairs of buckets, continuing at ``state``, until done or ``left`` is full; return their number.

    ``state`` is int64[5]: the bucket, i and j of the next pair, the candidates met, and 1 when done. A pair is written
    if its signatures agree in at least ``min_matches`` slots and ``band`` is the first band in which they agree (if
    ``band`` < 0, any band): members of a bucket may have met before, or share a short key by chance. Pairs inside one
    crowd (``crowd[row]`` equal and >= 0) are skipped, because the crowd lists them through its leader. With
    ``by_crowd``, the members of a bucket are sorted by crowd, so that whole crowds are skipped at once.
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
                if band >= 0 and _first_band(values, a, b, band + 1, width) != band:
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
    """Write the first band in which the signatures of each pair agree (``bands`` if none), and the slots that agree."""
    for p in range(left.size):
        a, b = left[p], right[p]
        same[p] = _agreeing(values[a], values[b])
        first[p] = _first_band(values, a, b, bands, width)


@kernel("int64[::1], uint32[:, ::1], int64[::1], uint32[:, ::1], int64, int64, int64[::1]")
def star_leaders(members, values, leaders, leader_values, held, min_matches, best):
    """Find, for each member of a hot bucket, the leader whose signature agrees with it most; return how many lead.

    ``members`` come in the order in which they may lead; ``values[i]`` is the signature of member i. ``leaders`` and
    ``leader_values`` have room for the most leaders allowed; the first ``held`` are known. A member that is itself a
    leader is skipped. Any other goes to the nearest leader so far if they agree in ``min_matches`` slots. If none does,
    the member becomes a leader while there is room. ``best[i]`` is the leader's row, or -1. Cost: members x leaders
    signature comparisons, never members squared.
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
