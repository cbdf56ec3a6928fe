"""Machine words that Numba does not offer: unaligned little-endian loads and stores, loads by address, bit counts.

Each function is the definition in Python, which ``NUMBA_DISABLE_JIT=1`` runs. In its place kernels are compiled to the
function of the same name in ``_instructions``. Bounds are the caller's business: ``Documents`` carries SLACK bytes
after its last text for these loads. Loads are marked as aligned to one byte; LLVM may not assume more of a view into
an Arrow buffer.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from neardup.native.declare import BY_NUMBA

OWN = np.uint32(0x9E3779B1)
"""The factor of ``lower8`` between its two mixing steps."""


def _instruction(function: Callable[..., Any]) -> Any:
    """Let kernels be compiled with the function of this name in ``_instructions``."""
    if not BY_NUMBA:
        return function
    from neardup.kernels import _instructions

    return getattr(_instructions, function.__name__)


def _at(address: Any, size: int) -> int:
    return int.from_bytes(ctypes.string_at(int(address), size), "little")


@_instruction
def peek64(address: Any) -> Any:
    """Return the uint64 at an address; the caller keeps the memory alive."""
    return np.uint64(_at(address, 8))


@_instruction
def peek32(address: Any) -> Any:
    """Return the uint32 at an address."""
    return np.uint32(_at(address, 4))


@_instruction
def peek8(address: Any) -> Any:
    """Return the uint8 at an address."""
    return np.uint8(_at(address, 1))


@_instruction
def poke8(address: Any, value: Any) -> None:
    """Write a uint8 at an address."""
    ctypes.memset(int(address), int(value), 1)


@_instruction
def load64(array: Any, index: Any) -> Any:
    """Return the uint64 in eight bytes of a uint8 array, little-endian, any alignment."""
    return np.uint64(_at(array.ctypes.data + index, 8))


@_instruction
def load32(array: Any, index: Any) -> Any:
    """Return the uint32 in four bytes of a uint8 array, little-endian, any alignment."""
    return np.uint32(_at(array.ctypes.data + index, 4))


@_instruction
def store64(array: Any, index: Any, value: Any) -> None:
    """Write a uint64 into eight bytes of a uint8 array, little-endian, any alignment."""
    ctypes.memmove(array.ctypes.data + int(index), int(value).to_bytes(8, "little"), 8)


@_instruction
def copy64(array: Any, index: Any, out: Any, to: Any) -> None:
    """Copy 64 bytes from ``index`` of a uint8 array to ``to`` in another one, where they do not overlap."""
    out[to : to + 64] = array[index : index + 64]


@_instruction
def windows64(array: Any, index: Any, out: Any, to: Any) -> None:
    """Write the eight words of eight bytes that begin at ``index`` and the seven bytes after it to ``out[to:to + 8]``.

    One or two shuffles of 16 bytes, the last of which it loads and does not use.
    """
    for j in range(8):
        out[to + j] = np.uint64(_at(array.ctypes.data + index + j, 8))


@_instruction
def cttz64(value: Any) -> Any:
    """Return the number of zero bits below the lowest set bit of a uint64; 64 for zero."""
    bits = int(value)
    return (bits & -bits).bit_length() - 1 if bits else 64


@_instruction
def bits_equal(array: Any, index: Any, value: Any) -> Any:
    """Return 64 bits; bit j says whether ``array[index + j]`` of a uint32 array is ``value``. All 64 must be in it."""
    return np.packbits(array[index : index + 64] == value, bitorder="little").view(np.uint64)[0]


@_instruction
def bits_between(array: Any, index: Any, low: Any, high: Any) -> Any:
    """Return 64 bits; bit j says whether ``low <= array[index + j] <= high`` in a uint8 array.

    Both limits are written as numbers. A vector takes one or two instructions, eight bytes in a word a dozen.
    """
    found = array[index : index + 64]
    return np.packbits((low <= found) & (found <= high), bitorder="little").view(np.uint64)[0]


@_instruction
def ones64(value: Any) -> Any:
    """Return the number of bits that are set in a uint64."""
    return int(value).bit_count()


@_instruction
def swapped64(value: Any) -> Any:
    """Return a uint64 with its bytes in the opposite order."""
    return np.uint64(int.from_bytes(int(value).to_bytes(8, "little"), "big"))


def _lower(low: Any, count: Any, factor: Any, mask: Any, least: Any, lanes: slice) -> None:
    for h in low[:count]:
        v = (h ^ mask[lanes]) * factor[lanes]
        v = (v ^ (v >> 15)) * OWN
        least[lanes] = np.minimum(least[lanes], v ^ (v >> 16))


@_instruction
def lower8(low: Any, count: Any, factor: Any, mask: Any, least: Any, at: Any) -> None:
    """Lower ``least[at : at + 8]`` to the least value of eight hash functions over ``low[:count]``; all are uint32.

    A function is an odd multiple of what it is given, XORed with a number of its own, and mixed. Its numbers and its
    least value stay in registers for all of ``low``, which LLVM does not do with a loop of Numba's over two arrays.
    """
    _lower(low, count, factor, mask, least, slice(at, at + 8))


@_instruction
def lower16(low: Any, count: Any, factor: Any, mask: Any, least: Any, at: Any) -> None:
    """Do the same for sixteen functions: 0.11 ns for each and a hash with vectors of 512 bits, else 0.15."""
    _lower(low, count, factor, mask, least, slice(at, at + 16))


@_instruction
def pread(fd: int, into: int, size: int, at: int) -> int:
    """Read ``size`` bytes from ``at`` of a file to an address, as the C library does; return how many there were."""
    found = os.pread(fd, int(size), int(at))
    ctypes.memmove(int(into), found, len(found))
    return len(found)
