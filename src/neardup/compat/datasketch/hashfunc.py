"""The hash functions of tokens, one by one as a program calls them, and many at once as the sketches do."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.kernels import datasketch as kernels
from neardup.types import I64, U64

HashFunction = Callable[[Any], int]
FEW = 8
"""Tokens that take less time one by one than together."""


def sha1_hash32(data: Any) -> int:
    """The first four bytes of the SHA-1 of some bytes, as a little-endian number."""
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:4], "little")


def sha1_hash64(data: Any) -> int:
    """The first eight bytes of the SHA-1 of some bytes, as a little-endian number."""
    return int.from_bytes(hashlib.sha1(data, usedforsecurity=False).digest()[:8], "little")


def hash_tokens(tokens: Sequence[Any], hashfunc: HashFunction, bits: int) -> U64:
    """uint64[n]: the hash of each token; both SHA-1 functions by a kernel, any other function by a call for each.

    Raises:
        InputError: the function returned a number that does not fit into so many bits.
        TypeError: it returned no integer, or does not take such a token.
    """
    if len(tokens) > FEW and (hashfunc is sha1_hash32 or hashfunc is sha1_hash64):
        joined = _joined(tokens)
        if joined is not None:
            out = np.empty(len(tokens), dtype=np.uint64)
            kernels.sha1(np.frombuffer(joined[0], dtype=np.uint8), joined[1], out)
            return out & kernels.LOW32 if hashfunc is sha1_hash32 else out
    return np.array([checked_hash(hashfunc(token), bits) for token in tokens], dtype=np.uint64)


def checked_hash(value: Any, bits: int) -> int:
    """What a hash function returned, as an integer of so many bits; raises as ``hash_tokens``."""
    number = operator.index(value)
    if not 0 <= number < 1 << bits:
        raise InputError(
            f"hashfunc returned {number}, which is no number of {bits} bits. Give a function that returns one"
            f"{', or scheme=' + repr('affine64') if bits == 32 else ''}."
        )
    return number


def _joined(tokens: Sequence[Any]) -> tuple[bytes, I64] | None:
    """Tokens end to end and where each begins; None where some are not bytes, and SHA-1 has to say what they are."""
    try:
        data = b"".join(tokens)
        offsets = np.fromiter(accumulate(chain((0,), map(len, tokens))), np.int64, len(tokens) + 1)
    except TypeError:
        return None
    return (data, offsets) if offsets[-1] == len(data) else None
