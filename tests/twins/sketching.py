"""The default sketch, slot by slot from the set of shingle hashes."""

from __future__ import annotations

import numpy as np
from tests.twins.hashing import ALL, M1, Params, is_short, mix, shingle_hashes

EMPTY = 0xFFFFFFFF
LOW = 0xFFFFFFFF
ROUND = 0xA0761D6478BD642F
A32 = 0x9E3779B1


def _ones(count: int) -> int:
    """32 bits of which the leading ``count`` are set."""
    return LOW >> (32 - count) << (32 - count) if count else 0


def _thrown(hashes: set[int], turn: int, slots: int) -> dict[int, int]:
    """Smallest value in each slot that round ``turn`` fills: the high half of a hash is the slot, the low the value."""
    least: dict[int, int] = {}
    for h in hashes:
        fresh = mix((h + turn * ROUND) & ALL) if turn else h
        slot = (fresh >> 32) * slots >> 32
        value = _ones(turn) | (fresh & (0x7FFFFFFF >> turn))
        least[slot] = min(least.get(slot, EMPTY), value)
    return least


def _classical(hashes: set[int], rounds: int, slot: int) -> int:
    """Smallest of a slot's own hash function over the whole set, behind ``rounds`` leading ones."""
    a = mix((slot * M1 + ROUND) & ALL) & LOW | 1
    b = mix((slot + M1) & ALL) & LOW

    def own(h: int) -> int:
        v = (h & LOW ^ b) * a & LOW
        v = (v ^ v >> 15) * A32 & LOW
        return v ^ v >> 16

    return min(_ones(rounds) | min(map(own, hashes)) >> rounds, EMPTY - 1)


def signature(hashes: set[int], slots: int, rounds: int) -> list[int]:
    """Signature of a set: each slot takes the first round that fills it, the classical minimum after the last."""
    if not hashes:
        return [EMPTY] * slots
    row: dict[int, int] = {}
    for turn in range(rounds):
        row = {**_thrown(hashes, turn, slots), **row}  # an earlier round stays
        if len(row) == slots:
            break
    return [row[s] if s in row else _classical(hashes, rounds, s) for s in range(slots)]


def sketch_block(
    params: Params,
    data: np.ndarray,
    offsets: np.ndarray,
    rounds: int,
    values: np.ndarray,
    tokens: np.ndarray,
) -> None:
    """Signatures into ``values``, numbers of shingles into ``tokens``: with repeats, -1 for a short document."""
    for d in range(offsets.size - 1):
        blob = data[offsets[d] : offsets[d + 1]].tobytes()
        hashes = shingle_hashes(params, blob)
        values[d] = signature(set(hashes), values.shape[1], rounds)
        tokens[d] = -1 if is_short(params, blob) else len(hashes)
