"""Cutting rows into runs, so that what is worked on at a time has about one size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup.types import I32, I64

Number = TypeVar("Number", bound=np.generic)

ROWS_AT_A_TIME = 1 << 16
"""Rows of a column, or pairs, that are looked at together where each takes a few bytes."""


def cut(cost: I64 | I32, most: int) -> Iterator[slice]:
    """Runs of items that cost at most ``most`` together, or of one item that costs more."""
    total = np.cumsum(cost, dtype=np.int64)
    begin = 0
    while begin < cost.size:
        spent = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, spent + most, side="right")))
        yield slice(begin, end)
        begin = end


def distinct(values: NDArray[Number]) -> NDArray[Number]:
    """The values that there are, rising. NumPy's ``unique`` hashes them, which takes up to sixty times as long."""
    rising = np.sort(values)
    fresh = np.ones(rising.size, dtype=np.bool_)
    np.not_equal(rising[1:], rising[:-1], out=fresh[1:])
    return rising[fresh]


def starts_of(sizes: I64) -> I64:
    """int64[n + 1]: where each of n groups starts that lie end to end, and where the last one ends."""
    starts = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=starts[1:])
    return starts
