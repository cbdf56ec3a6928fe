"""Arrays as bytes: what is sent through a shuffle, and what the files of the storage hold.

bytes 0..15   crc32 of the header, length of the header (uint32 each), length of what follows it (uint64)
header        JSON {name: [dtype, shape, first byte, crc32]}; bytes are counted from the end of the header
then          the arrays, each from a multiple of eight

An .npz file says the same, but numpy reads it in small pieces and holds it against two checksums: that took a tenth of
the CPU of a search.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
_HEAD = struct.Struct("<IIQ")
_ALIGN = 8


def packed(arrays: Arrays) -> bytes:
    """Arrays of numbers as bytes."""
    parts: list[Any] = []
    about: dict[str, Any] = {}
    at = 0
    for name, array in arrays.items():
        plain = np.ascontiguousarray(array).reshape(array.shape)
        data = plain.data.cast("B") if plain.size else memoryview(b"")
        about[name] = [plain.dtype.str, plain.shape, at, zlib.crc32(data)]
        parts += [data, bytes(-len(data) % _ALIGN)]
        at += len(data) + -len(data) % _ALIGN
    header = json.dumps(about).encode("ascii")
    header += b" " * (-(len(header) + _HEAD.size) % _ALIGN)
    return b"".join([_HEAD.pack(zlib.crc32(header), len(header), at), header, *parts])


def unpacked(data: Any, *only: str) -> Arrays:
    """The arrays of ``packed``, or ``only`` some, copied; ValueError where the bytes are not what was packed."""
    view = memoryview(data)
    if len(view) < _HEAD.size:
        raise ValueError("damaged: it is cut short")
    check, size, rest = _HEAD.unpack_from(view)
    begin = _HEAD.size + size
    header = bytes(view[_HEAD.size : begin])
    if len(view) != begin + rest:
        raise ValueError(f"damaged: it has {len(view):,} bytes and not {begin + rest:,}")
    if zlib.crc32(header) != check:
        raise ValueError("damaged: the checksum of its header is wrong")
    about = json.loads(header)
    return {name: _array(view[begin:], *about[name]) for name in only or about}


def _array(view: memoryview, dtype: str, shape: list[int], at: int, check: int) -> NDArray[Any]:
    kind = np.dtype(dtype)
    data = view[at : at + math.prod(shape) * kind.itemsize]
    if zlib.crc32(data) != check:
        raise ValueError("damaged: the checksum of its content is wrong")
    found: NDArray[Any] = np.frombuffer(data, kind).reshape(shape).copy()
    return found
