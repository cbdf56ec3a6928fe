"""Tries a library that was just built: ``NUMBA_DISABLE_JIT=1 python -m neardup.native.trial FILE``.

One kernel returns arrays, which must equal those of its plain Python function, and one raises an exception. If a new
release of Numba changed its memory layout, this process would crash instead of a user's.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np

from neardup.native.library import open_library


def main(path: Path) -> None:
    """Raise an exception unless the library in this file works."""
    found = vars(open_library(path))
    copies = importlib.import_module("neardup.kernels.copies")
    rows, starts, members = np.array([0, 2]), np.array([0, 3, 4, 6]), np.array([2, 5, 8, 9, 11, 13])
    made, expected = (call(rows, starts, members) for call in (found["copies.pair_copies"], copies.pair_copies))
    if "numba" in sys.modules or expected[0].size != 4 or not np.array_equal(made, expected):
        raise RuntimeError(f"a kernel returns {made} where Python returns {expected}")
    try:
        found["banding.short_keys"](np.zeros((0, 1), np.uint32), -1, 0, np.zeros((1, 1, 5), np.uint8))
    except ValueError as exc:
        if str(exc) == "negative dimensions not allowed":
            return
    raise RuntimeError("a kernel that cannot allocate -1 numbers does not say so")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
