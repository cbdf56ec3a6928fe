"""Fields of signatures as lists of numbers, and the pairs of buckets by comparing them one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def put_bits(values: np.ndarray, fields: int, width: int, first: int, bits: np.ndarray) -> None:
    """Write each row of fields as one long number, the first field lowest, and cut it into words."""
    for i, row in enumerate(values.tolist()):
        number = sum((value % 2**width) << (width * at) for at, value in enumerate(row[:fields]))
        for word in range(bits.shape[1]):
            bits[first + i, word] = number >> (64 * word) & (2**64 - 1)


def fields_of(words: np.ndarray, width: int) -> list[int]:
    """The fields of one document, with the empty ones at the end of the last word."""
    number = sum(word << (64 * at) for at, word in enumerate(words.tolist()))
    return [number >> at & (2**width - 1) for at in range(0, 64 * words.size, width)]


def apart(a: np.ndarray, b: np.ndarray, width: int) -> int:
    """The number of fields in which two documents differ."""
    return sum(x != y for x, y in zip(fields_of(a, width), fields_of(b, width), strict=True))


def count_apart(
    first: np.ndarray, left: np.ndarray, second: np.ndarray, right: np.ndarray, width: int, apart_: np.ndarray
) -> None:
    """Count the fields apart, pair after pair."""
    for p, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        apart_[p] = apart(first[a], second[b], width)


def near_pairs(
    members: np.ndarray,
    starts: np.ndarray,
    largest: int,
    bits: np.ndarray,
    width: int,
    most_apart: int,
    state: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
) -> int:
    """Write the pairs bucket by bucket until the next bucket might not fit."""
    n = 0
    for bucket in range(int(state[0]), starts.size - 1):
        rows = members[starts[bucket] : starts[bucket + 1]].tolist()
        pairs = list(combinations(rows, 2)) if len(rows) <= largest else []
        if n + len(pairs) > left.size:
            state[0] = bucket
            return n
        state[1] += len(pairs)
        for a, b in pairs:
            if bits.shape[0] == 0 or apart(bits[a], bits[b], width) <= most_apart:
                left[n], right[n] = a, b
                n += 1
    state[0] = starts.size - 1
    return n
