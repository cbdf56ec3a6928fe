"""Products of matrices that start no threads.

Each of those here takes a fraction of a millisecond. OpenBLAS shares out all but the smallest, and its threads wait for
each other with their cores at work: a dialogue took five times as long as its work does, and more where other programs
run. In blocks a product is made by the thread that asks for it, and does not depend on the number of cores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread."""
_ROWS = 4
"""Least rows of a block: a single one would be a product of another kind, which is shared out sooner."""


def product(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """``left @ right``, of a matrix or a vector and a matrix, both of one type.

    >>> product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0], [10.0]])).tolist()
    [[21.0], [43.0]]
    """
    if left.ndim == 1:
        whole: NDArray[Any] = np.einsum("i,ij->j", left, right)
        return whole
    (m, k), n = left.shape, right.shape[1]
    columns = min(n, max(1, MOST // max(1, _ROWS * k)))
    rows = max(_ROWS, MOST // max(1, k * columns))
    made = np.empty((m, n), dtype=left.dtype)
    for row in range(0, m, rows):
        for column in range(0, n, columns):
            here = slice(row, row + rows), slice(column, column + columns)
            made[here] = left[here[0]] @ right[:, here[1]]
    return made
