"""Which of a few leaders each set is near enough to: the crowds of the joins.

Leaders are indexed by their rarest shingles, as many as a set is probed with, so that partners of any size are found:
two sets of at least ``threshold`` have one of these in common. See ``joining`` for prefixes and postings.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.joining import POSTINGS, PREFIXES, slot
from neardup.kernels.rarest import SET_BLOCK
from neardup.kernels.verify import intersection, overlap_needed
from neardup.native.declare import kernel


@kernel(SET_BLOCK, PREFIXES, SET_BLOCK, POSTINGS, "float64, boolean, boolean[::1], int64[::1]")
def first_leaders(block, prefixes, leaders, postings, threshold, is_own, leads, first):
    """Write for each set the first leader that is at least ``threshold`` similar to it, or -1.

    ``leaders`` are a ``SetBlock`` in the order in which they come first; only those that are marked in ``leads`` count.
    With ``is_own`` the sets are the leaders themselves: each is held against those before it, and does not lead where
    there is one. Loop: sets, their prefixes, postings; a leader that was met is counted at once, in full.
    """
    keys, starts, places = postings
    seen = np.full(leaders.sizes.size, -1, np.int32)
    for x in range(block.sizes.size):
        size, begin = block.sizes[x], prefixes.starts[x]
        best = x if is_own else leaders.sizes.size
        limit = best
        for j in range(begin, begin + prefixes.held[x]):
            at = slot(prefixes.tokens[j], keys)
            for i in range(starts[at], starts[at + 1]):
                y = places[i]
                if y >= best:
                    break
                if seen[y] == x or not leads[y]:
                    continue
                seen[y] = x
                other = leaders.sizes[y]
                needed = overlap_needed(other, size, threshold)
                a, b = block.starts[x], leaders.starts[y]
                if intersection(a, a + size, block.hashes, b, b + other, leaders.hashes, needed) >= needed:
                    best = np.int64(y)
        first[x] = best if best < limit else -1
        if is_own and best < limit:
            leads[x] = False


@kernel(SET_BLOCK, "int64[::1], int64[::1], int64[::1]")
def most_central(block, members, starts, chosen):
    """Write for each group the member that is most similar to the others, added up; of equal ones the first.

    Group g are the sets ``members[starts[g] : starts[g + 1]]`` of the block. Quadratic in a group, so these are small.
    """
    for g in range(chosen.size):
        first, end = starts[g], starts[g + 1]
        total = np.zeros(end - first)
        for i in range(first, end):
            x = members[i]
            a, a_end = block.starts[x], block.starts[x] + block.sizes[x]
            for j in range(i + 1, end):
                y = members[j]
                b, b_end = block.starts[y], block.starts[y] + block.sizes[y]
                common = intersection(a, a_end, block.hashes, b, b_end, block.hashes, 0)
                similarity = common / max(1, a_end - a + b_end - b - common)
                total[i - first] += similarity
                total[j - first] += similarity
        best = 0
        for i in range(1, end - first):
            if total[i] > total[best]:
                best = i
        chosen[g] = members[first + best]
