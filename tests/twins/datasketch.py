"""The sketches of datasketch with hashlib, Python's integers and NumPy's 32-bit numbers one at a time."""

from __future__ import annotations

import hashlib

import numpy as np

PRIME = (1 << 61) - 1


def sha1(data: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """The first eight bytes of the SHA-1 of each token."""
    for t in range(offsets.size - 1):
        token = bytes(data[offsets[t] : offsets[t + 1]])
        out[t] = int.from_bytes(hashlib.sha1(token).digest()[:8], "little")


def lower_legacy(hashes: np.ndarray, offsets: np.ndarray, a: np.ndarray, b: np.ndarray, values: np.ndarray) -> None:
    """(a h + b) cut to 64 bits, mod p, cut to 32."""
    _lower(hashes, offsets, values, a, b, lambda h, x, y: (x * h + y) % 2**64 % PRIME % 2**32)


def lower_affine32(hashes: np.ndarray, offsets: np.ndarray, a: np.ndarray, b: np.ndarray, values: np.ndarray) -> None:
    """a m(h) + b of 32 bits."""
    mixing = (32, 16, 0x85EBCA6B, 13, 0xC2B2AE35)
    _lower(hashes, offsets, values, a, b, lambda h, x, y: (x * mixed(h % 2**32, *mixing) + y) % 2**32)


def lower_affine64(hashes: np.ndarray, offsets: np.ndarray, a: np.ndarray, b: np.ndarray, values: np.ndarray) -> None:
    """The same of 64 bits."""
    mixing = (64, 33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53)
    _lower(hashes, offsets, values, a, b, lambda h, x, y: (x * mixed(h, *mixing) + y) % 2**64)


def mixed(h: int, bits: int, shift: int, by: int, second: int, then: int) -> int:
    """The last step of MurmurHash3."""
    h = (h ^ h >> shift) * by % 2**bits
    h = (h ^ h >> second) * then % 2**bits
    return h ^ h >> shift


def _lower(hashes, offsets, values, a, b, permuted) -> None:
    for d in range(offsets.size - 1):
        for s, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
            of_elements = [permuted(h, x, y) for h in hashes[offsets[d] : offsets[d + 1]].tolist()]
            values[d, s] = min([int(values[d, s]), *of_elements])


def weigh(
    dimensions: np.ndarray,
    logs: np.ndarray,
    offsets: np.ndarray,
    rs: np.ndarray,
    ln_cs: np.ndarray,
    betas: np.ndarray,
    values: np.ndarray,
) -> None:
    """The first least ``ln a`` of each sample, in scalars of 32 bits."""
    for d in range(offsets.size - 1):
        for s in range(rs.shape[0]):
            found = []
            for i in range(offsets[d], offsets[d + 1]):
                k = dimensions[i]
                t = np.floor(logs[i] / rs[s, k] + betas[s, k])
                found.append((ln_cs[s, k] - (t - betas[s, k]) * rs[s, k] - rs[s, k], i, t))
            if found:
                _, i, t = min(found)
                values[d, s] = dimensions[i], int(t)


def raise_registers(hashes: np.ndarray, precision: int, width: int, registers: np.ndarray) -> None:
    """The rank of the upper bits, in the register of the lower ones."""
    for h in hashes.tolist():
        rest, at = divmod(h, 1 << precision)
        registers[at] = max(int(registers[at]), width - precision + 1 - rest.bit_length())
