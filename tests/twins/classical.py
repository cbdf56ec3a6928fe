"""The classical families with Python's integers, which do not overflow."""

from __future__ import annotations

import numpy as np
from tests.twins.hashing import mix

EMPTY = 0xFFFFFFFF
PRIME = (1 << 61) - 1


def independent(hashes: np.ndarray, offsets: np.ndarray, keys: np.ndarray, values: np.ndarray) -> None:
    """Slot s: least of the leading 32 bits of ``mix(hash ^ keys[s])``; the EMPTY value is kept for empty sets."""
    for d in range(offsets.size - 1):
        row = hashes[offsets[d] : offsets[d + 1]].tolist()
        for s, key in enumerate(keys.tolist()):
            least = min((mix(h ^ key) >> 32 for h in row), default=EMPTY)
            values[d, s] = min(least, EMPTY - 1) if row else EMPTY


def universal(hashes: np.ndarray, offsets: np.ndarray, a: np.ndarray, b: np.ndarray, values: np.ndarray) -> None:
    """Slot s: least of the leading 32 of 61 bits of (a x + b) mod p."""
    for d in range(offsets.size - 1):
        row = hashes[offsets[d] : offsets[d + 1]].tolist()
        for s, (times, plus) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            least = min(((times * h + plus) % PRIME >> 29 for h in row), default=EMPTY)
            values[d, s] = min(least, EMPTY - 1) if row else EMPTY


def one_permutation(hashes: np.ndarray, offsets: np.ndarray, key: np.uint64, values: np.ndarray) -> None:
    """One hash an element: upper half times slots is slot * 2**32 + rest, lower half is the value."""
    slots = values.shape[1]
    for d in range(offsets.size - 1):
        values[d] = EMPTY
        for h in hashes[offsets[d] : offsets[d + 1]].tolist():
            upper, lower = divmod(mix(h ^ int(key)), 2**32)
            slot = upper * slots // 2**32
            values[d, slot] = min(int(values[d, slot]), lower, EMPTY - 1)


def least_rank(ranks: np.ndarray, index: np.ndarray, offsets: np.ndarray, column: np.ndarray) -> None:
    """Least rank of each set's elements; EMPTY for an empty set."""
    for d in range(offsets.size - 1):
        members = index[offsets[d] : offsets[d + 1]]
        column[d] = min(ranks[members].tolist(), default=EMPTY)
