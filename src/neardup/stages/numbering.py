"""Pairs of rows as 62-bit numbers, which sort by the blocks of both rows, then by the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.types import I64, U64


@dataclass(frozen=True, slots=True)
class PairNumbers:
    """Convert between pairs of rows below ``n``, which is at most 2**31, and their numbers.

    A block has ``2**low`` rows. The number of a pair has four parts, the highest bits first: the block of the left row,
    the block of the right row, and the index of each row in its block, left before right.

    Example:
        >>> numbers = PairNumbers(n=8, low=2)
        >>> found = numbers.of(np.array([1, 1, 5]), np.array([6, 2, 7]))
        >>> numbers.pairs(np.sort(found))
        (array([1, 1, 5]), array([2, 6, 7]))
    """

    n: int
    low: int

    @property
    def _high(self) -> int:
        return max(0, (max(self.n, 2) - 1).bit_length() - self.low)

    def of(self, left: I64, right: I64) -> U64:
        """Return the numbers of pairs, uint64[m]."""
        a, b, low = left.astype(np.uint64), right.astype(np.uint64), np.uint64(self.low)
        inside = np.uint64((1 << self.low) - 1)
        blocks = (a >> low) << np.uint64(self._high) | (b >> low)
        places = (a & inside) << low | (b & inside)
        numbers: U64 = blocks << np.uint64(2 * self.low) | places
        return numbers

    def pairs(self, numbers: U64) -> tuple[I64, I64]:
        """Return the left and right rows of pairs, int64[m] each."""
        low, inside = np.uint64(self.low), np.uint64((1 << self.low) - 1)
        left_block, right_block = self.blocks(numbers)
        left = left_block << low | (numbers >> low) & inside
        right = right_block << low | numbers & inside
        return left.astype(np.int64), right.astype(np.int64)

    def blocks(self, numbers: U64) -> tuple[U64, U64]:
        """Return the blocks of the left and of the right rows of pairs."""
        blocks = numbers >> np.uint64(2 * self.low)
        return blocks >> np.uint64(self._high), blocks & np.uint64((1 << self._high) - 1)
