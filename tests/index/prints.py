"""Hashes made worse, to show that no answer of an index depends on them; texts that share the hash of the format."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from neardup.index import prepared
from neardup.types import Documents

Prints = NDArray[np.uint64]
honest = prepared._prints
"""Those of the format."""
_ALPHABET = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
M1, M2, M3 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD
_ALL = (1 << 64) - 1


def constant(documents: Documents) -> Prints:
    """All texts and all ids have one print."""
    return np.full(len(documents), 0x0123456789ABCDEF, dtype=np.uint64)


def two_bits(documents: Documents) -> Prints:
    """There are four prints; the leading bits, so that ids have four keys."""
    return honest(documents) & np.uint64(0xC000000000000000)


WORSE: dict[str, Callable[[Documents], Prints]] = {"constant": constant, "two bits": two_bits}


@contextlib.contextmanager
def crippled(prints: Callable[[Documents], Prints]) -> Iterator[None]:
    """Every print of an index is made by another function."""
    with mock.patch.object(prepared, "_prints", prints):
        yield


def weak_pairs(count: int, *, seed: int = 1) -> list[tuple[str, str]]:
    """Pairs of texts of one print whose similarity by char:9 is 1/3: three characters differ, found by trying."""
    draw = random.Random(seed)
    found: list[tuple[str, str]] = []
    while len(found) < count:
        a = bytearray(draw.choice(_ALPHABET) for _ in range(48))
        b = bytearray(a)
        for at in (7, 23):
            a[at] = draw.choice(b"0123456789")
            b[at] = a[at] ^ 0x40
        a[20] = draw.choice(b"0145abdeABDE")
        b[20] = a[20] ^ 0x02
        prints = honest(Documents.from_bytes([bytes(a), bytes(b)]))
        if prints[0] == prints[1]:
            found.append((a.decode(), b.decode()))
    return found


def forged(victim: bytes, words: bytes) -> bytes:
    """Bytes of the victim's length and print that begin with other words: its last two blocks of 16 are solved for.

    ``victim`` must be whole blocks, at least three. The result need not be text.
    """
    length, blocks = len(victim), len(victim) // 16
    head = words[: 16 * (blocks - 1)].ljust(16 * (blocks - 1), b".")
    x, y = _state(head, blocks - 1, length)
    x_wanted, y_wanted = _state(victim, blocks, length)
    b = y ^ (_unshift(y_wanted, 32) * pow(M3, -1, 1 << 64) & _ALL)
    a = x ^ (_unshift((x_wanted - y_wanted) & _ALL, 29) * pow(M1, -1, 1 << 64) & _ALL)
    return head + a.to_bytes(8, "little") + b.to_bytes(8, "little")


def mixed(value: int) -> int:
    """How the lookup spreads prints over its table."""
    value = (value ^ (value >> 32)) * M2 & _ALL
    value = (value ^ (value >> 29)) * M3 & _ALL
    return value ^ (value >> 32)


def _state(data: bytes, blocks: int, length: int) -> tuple[int, int]:
    x, y = M1 ^ (length * M2 & _ALL), M2 ^ (length * M2 & _ALL)
    for i in range(blocks):
        x = (x ^ int.from_bytes(data[16 * i : 16 * i + 8], "little")) * M1 & _ALL
        y = (y ^ int.from_bytes(data[16 * i + 8 : 16 * i + 16], "little")) * M3 & _ALL
        x, y = x ^ (x >> 29), y ^ (y >> 32)
        x = (x + y) & _ALL
    return x, y


def _unshift(value: int, bits: int) -> int:
    found = value
    for _ in range(64 // bits + 1):
        found = value ^ (found >> bits)
    return found
