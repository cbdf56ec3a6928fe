"""NumPy numbers and Python strings as Arrow arrays and back, without ``pyarrow.array`` and ``to_numpy``.

Those look whether a pandas object is at hand and import pandas to find out, where it is installed: a quarter of a
second of every start. So do ``pyarrow.scalar`` and ``fill_null``. These do not ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers(values: NDArray[Any]) -> Any:
    """Arrow array of an integer or float array of one dimension, without nulls; the memory is shared."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, pa.py_buffer(values)])


def flags(values: NDArray[np.bool_]) -> Any:
    """Arrow boolean array, one bit each."""
    packed = np.packbits(values, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), values.size, [None, pa.py_buffer(packed)])


def blobs(values: Iterable[bytes]) -> Any:
    """Arrow large_binary array of byte strings."""
    return _end_to_end(list(values), pa.large_binary())


def strings(values: Iterable[str]) -> Any:
    """Arrow large_string array of Python strings."""
    return _end_to_end([value.encode("utf-8") for value in values], pa.large_string())


def _end_to_end(values: list[bytes], type_: Any) -> Any:
    offsets = np.zeros(len(values) + 1, dtype=np.int64)
    np.cumsum([len(value) for value in values], out=offsets[1:])
    return pa.Array.from_buffers(type_, len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))])


def values_of(values: Sequence[Any], kind: pa.DataType) -> Any:
    """Arrow array of Python values, of which some may be None: numbers or booleans, or anything as a string."""
    known = np.array([each is not None for each in values], dtype=np.bool_)
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return nullable(strings("" if each is None else str(each) for each in values), known).cast(kind)
    plain = np.array([each or 0 for each in values], dtype=kind.to_pandas_dtype())
    return nullable(flags(plain) if pa.types.is_boolean(kind) else numbers(plain), known)


def nullable(array: Any, known: NDArray[np.bool_]) -> Any:
    """An Arrow array of numbers or strings with nulls where ``known`` is False; the memory is shared."""
    bits = flags(np.concatenate((np.zeros(array.offset, dtype=np.bool_), known))).buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [bits, *array.buffers()[1:]], offset=array.offset)


def text(value: str) -> Any:
    """Arrow large_string scalar of a Python string; ``pyarrow.scalar`` asks for pandas too."""
    return strings([value])[0]


def as_numpy(array: Any) -> NDArray[Any]:
    """NumPy array of an Arrow array of numbers or booleans; numbers share their memory.

    Raises ValueError where there are nulls.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count:
        raise ValueError("the array has nulls, which NumPy has not")
    is_flags = pa.types.is_boolean(array.type)
    dtype = np.dtype(np.uint8 if is_flags else array.type.to_pandas_dtype())
    if len(array) == 0:
        return np.empty(0, dtype=np.bool_ if is_flags else dtype)
    data = array.buffers()[1]
    if is_flags:
        bits = np.unpackbits(np.frombuffer(data, dtype), count=array.offset + len(array), bitorder="little")
        return bits.view(np.bool_)[array.offset :]
    return np.frombuffer(data, dtype, len(array), dtype.itemsize * array.offset)
