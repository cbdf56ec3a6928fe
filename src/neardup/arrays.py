"""NumPy numbers and Python strings as Arrow arrays, without ``pyarrow.array``.

``pyarrow.array`` looks whether its argument is a pandas object and imports pandas to find out, where it is installed:
a tenth of a second of every start. These do not ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["flags", "numbers", "strings", "text"]


def numbers(values: NDArray[Any]) -> Any:
    """Arrow array of an integer or float array of one dimension, without nulls; the memory is shared."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, pa.py_buffer(values)])


def flags(values: NDArray[np.bool_]) -> Any:
    """Arrow boolean array, one bit each."""
    packed = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), values.size, [None, pa.py_buffer(packed)])


def strings(values: Iterable[str]) -> Any:
    """Arrow large_string array of Python strings."""
    blobs = [value.encode("utf-8") for value in values]
    offsets = np.zeros(len(blobs) + 1, dtype=np.int64)
    np.cumsum([len(blob) for blob in blobs], out=offsets[1:])
    return pa.Array.from_buffers(
        pa.large_string(), len(blobs), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(blobs))]
    )


def text(value: str) -> Any:
    """Arrow large_string scalar of a Python string; ``pyarrow.scalar`` asks for pandas too."""
    return strings([value])[0]
