"""A random odd number of this process, by which keys are multiplied before they are given a place in a hash table.

Where things lie in a table decides how long a search takes, never what it finds. Keys of texts can be chosen by who
writes them, so that all want one place, and each insertion then passes all those before it. Who does not know the
number cannot (M. Dietzfelbinger and others, "A Reliable Randomized Algorithm for the Closest-Pair Problem", 1997,
section 2: two different keys share the leading b bits of the product with probability at most 2 / 2**b).
"""

from __future__ import annotations

import os

import numpy as np

__all__ = ["SALT"]

SALT = np.uint64(int.from_bytes(os.urandom(8)) | 1)
"""Not kept anywhere; another one in each process."""
