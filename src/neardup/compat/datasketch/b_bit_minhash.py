"""``bBitMinHash``: the trailing bits of the values of a MinHash."""

from __future__ import annotations

import struct

import numpy as np

from neardup.compat.datasketch.minhash import MinHash
from neardup.errors import InputError, SpecMismatch

MOST_BITS = 32


class bBitMinHash:  # noqa: N801  # datasketch's name
    """The trailing ``b`` bits of each value, of which equal ones by chance are taken off the estimate.

    Source: P. Li, A. C. König, "b-Bit Minwise Hashing", WWW 2010, theorem 1.

    Args:
        minhash: of which they are.
        b: bits, 0 to 32.
        r: size of the set by that of the universe, up to 1; 0: it is small.

    >>> one = MinHash(num_perm=256)
    >>> one.update_batch([b"a", b"b"])
    >>> bBitMinHash(one, 2).jaccard(bBitMinHash(one, 2))
    1.0
    """

    def __init__(self, minhash: MinHash, b: int = 1, r: float = 0.0) -> None:
        self.b, self.r = int(b), float(r)
        if not 0 <= self.b <= MOST_BITS:
            raise InputError(f"b is {b}. Give 0 to {MOST_BITS} bits.")
        if not 0 <= self.r <= 1:
            raise InputError(f"r is {r}. Give a number from 0 to 1.")
        self.seed, self.scheme = minhash.seed, minhash.scheme
        self.hashvalues = (minhash.hashvalues & minhash.hashvalues.dtype.type((1 << self.b) - 1)).astype(np.uint32)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, bBitMinHash)
            and (self.scheme, self.seed, self.b, self.r) == (other.scheme, other.seed, other.b, other.r)
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]  # values may be written to

    def jaccard(self, other: bBitMinHash) -> float:
        """Estimate the Jaccard similarity; SpecMismatch where b, seed, scheme or num_perm differ."""
        for name, one, two in (
            ("b", self.b, other.b),
            ("seed", self.seed, other.seed),
            ("scheme", self.scheme, other.scheme),
            ("num_perm", self.hashvalues.size, other.hashvalues.size),
        ):
            if one != two:
                raise SpecMismatch(f"the b-bit MinHashes differ in {name} ({one!r} and {two!r}).")
        equal = np.count_nonzero(self.hashvalues == other.hashvalues) / self.hashvalues.size
        chance, other_chance = _chance(self.r, self.b), _chance(other.r, other.b)
        share = other.r / (self.r + other.r) if self.r + other.r else 0.5
        by_chance = chance * share + other_chance * (1 - share)
        lost = chance * (1 - share) + other_chance * share
        return float((equal - by_chance) / (1 - lost))

    def bytesize(self) -> int:
        """Bytes of datasketch's form: a head, and words of 8 bytes with as many whole values as there is room for."""
        slot = next(bits for bits in (1, 2, 4, 8, 16, 32) if self.b <= bits)
        words = -(-self.hashvalues.size // (64 // slot))
        return struct.calcsize("<qBdi" + ("" if self.scheme == "legacy" else "B")) + 8 * words


def _chance(r: float, b: int) -> float:
    """Probability that the trailing bits of two values of different elements are equal; A of the theorem."""
    if r == 0:
        return float(2.0**-b)
    return float(r * (1 - r) ** (2**b - 1) / (1 - (1 - r) ** (2**b)))
