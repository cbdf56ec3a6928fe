"""``HyperLogLog`` and ``HyperLogLogPlusPlus``: how many distinct values there were, in some hundred bytes."""

from __future__ import annotations

import math
import struct
import warnings
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from neardup.compat.datasketch.hashfunc import HashFunction, checked_hash, hash_tokens, sha1_hash32, sha1_hash64
from neardup.compat.datasketch.minhash import PENDING
from neardup.errors import InputError, SpecMismatch
from neardup.kernels import datasketch as kernels

Registers = NDArray[np.int8]
Counter = TypeVar("Counter", bound="HyperLogLog")
LEAST_PRECISION, MOST_PRECISION = 4, 16
SMALL_ALPHA = {4: 0.673, 5: 0.697, 6: 0.709}
"""The factor of the estimate for few registers (Flajolet and others, figure 3)."""


class HyperLogLog:
    """Estimates how many distinct values it was given, with a standard error of about 1.04 / sqrt(2**p).

    Registers are those of datasketch for the same arguments. Source: P. Flajolet, E. Fusy, O. Gandouet, F. Meunier,
    "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm", AofA 2007.

    Args:
        p: 2**p registers, 4 to 16; of no meaning beside ``reg``.
        reg: int8[2**p]: begin with these registers of an earlier one.
        hashfunc: from a value to an integer of 32 bits (64 for HyperLogLogPlusPlus); SHA-1 of bytes.
        hashobj: not used, as in datasketch.

    >>> counter = HyperLogLog(p=10)
    >>> for i in range(5000):
    ...     counter.update(str(i).encode())
    >>> abs(counter.count() - 5000) < 800
    True
    """

    _hash_range_bit: ClassVar[int] = 32

    def __init__(
        self,
        p: int = 8,
        reg: Registers | None = None,
        hashfunc: HashFunction | None = None,
        hashobj: object = None,
    ) -> None:
        if reg is not None:
            if not isinstance(reg, np.ndarray):
                raise InputError(f"reg is a {type(reg).__name__}. Give an array of NumPy.")
            p = reg.size.bit_length() - 1
            if reg.size != 1 << p:
                raise InputError(f"reg has {reg.size} registers. Give a power of two.")
        if not LEAST_PRECISION <= p <= MOST_PRECISION:
            raise InputError(f"p is {p}. Give {LEAST_PRECISION} to {MOST_PRECISION}.")
        if hashfunc is None:
            hashfunc = sha1_hash64 if self._hash_range_bit == 64 else sha1_hash32
        if not callable(hashfunc):
            raise InputError(f"hashfunc is {hashfunc!r}, which cannot be called. Give a function.")
        if hashobj is not None:
            warnings.warn("hashobj has no effect; give hashfunc instead", DeprecationWarning, stacklevel=2)
        self.p, self.m, self.hashfunc = p, 1 << p, hashfunc
        self.alpha = SMALL_ALPHA.get(p, 0.7213 / (1 + 1.079 / self.m))
        self.max_rank = self._hash_range_bit - p
        self._registers = np.zeros(self.m, dtype=np.int8) if reg is None else reg.astype(np.int8)
        self._pending: list[Any] = []

    @property
    def reg(self) -> Registers:
        """int8[2**p]: the registers."""
        if self._pending:
            self._raise(hash_tokens(self._pending, self.hashfunc, self._hash_range_bit))
            self._pending = []
        return self._registers

    @reg.setter
    def reg(self, registers: Registers) -> None:
        self._registers, self._pending = registers, []

    def _raise(self, hashes: NDArray[np.uint64]) -> None:
        registers = self._registers.copy()
        kernels.raise_registers(hashes, self.p, self._hash_range_bit, registers)
        self._registers = registers

    def update(self, b: Any) -> None:
        """Count a value: bytes, or what ``hashfunc`` takes.

        Raises:
            TypeError: it is nothing that can be hashed.
            InputError: ``hashfunc`` returned a number that is too large, or below 0.
        """
        if type(b) is bytes and (self.hashfunc is sha1_hash32 or self.hashfunc is sha1_hash64):
            self._pending.append(b)  # as in MinHash, hashed together with others
            if len(self._pending) >= PENDING:
                _ = self.reg
        else:
            self._raise(np.array([checked_hash(self.hashfunc(b), self._hash_range_bit)], dtype=np.uint64))

    def count(self) -> float:
        """The estimate, corrected where it is small or near 2**32."""
        estimate = self.alpha * self.m**2 / float(np.sum(2.0 ** -self.reg.astype(np.float64)))
        if estimate <= 2.5 * self.m:
            empty = self.m - int(np.count_nonzero(self.reg))
            return self.m * math.log(self.m / empty) if empty else estimate
        return estimate if estimate <= 2**32 / 30 else -(2**32) * math.log(1 - estimate / 2**32)

    def merge(self, other: HyperLogLog) -> None:
        """Count the values of another one too; SpecMismatch where p differs."""
        self._check_alike(other)
        self.reg = np.maximum(self.reg, other.reg)

    def _check_alike(self, other: HyperLogLog) -> None:
        if self.p != other.p:
            raise SpecMismatch(f"the HyperLogLogs differ in p ({self.p} and {other.p}). Make both with the same.")

    def digest(self) -> Registers:
        """A copy of the registers."""
        return self.reg.copy()

    def copy(self: Counter) -> Counter:
        """Another one with the same registers."""
        return type(self)(reg=self.digest(), hashfunc=self.hashfunc)

    def is_empty(self) -> bool:
        """Whether there was no value yet."""
        return not self.reg.any()

    def clear(self) -> None:
        """Forget all values."""
        self.reg = np.zeros(self.m, dtype=np.int8)

    def __len__(self) -> int:
        return self.m

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HyperLogLog) and type(self) is type(other) and np.array_equal(self.reg, other.reg)

    __hash__ = None  # type: ignore[assignment]  # it changes

    @classmethod
    def union(cls: type[Counter], *hyperloglogs: Counter) -> Counter:
        """One that counts the values of two or more; SpecMismatch where p differs."""
        if len(hyperloglogs) < 2:
            raise InputError(f"a union of {len(hyperloglogs)} HyperLogLog. Give two or more.")
        first, *others = hyperloglogs
        for other in others:
            first._check_alike(other)
        return cls(reg=np.maximum.reduce([each.reg for each in hyperloglogs]), hashfunc=first.hashfunc)

    def bytesize(self) -> int:
        """Bytes that ``serialize`` writes."""
        return 1 + self.m

    def serialize(self, buf: Any) -> None:
        """Write p and the registers, a byte each, at the beginning of a buffer, as datasketch does.

        Raises:
            InputError: the buffer is too short.
        """
        if len(buf) < self.bytesize():
            raise InputError(f"the buffer has {len(buf)} bytes. Give at least {self.bytesize()}.")
        struct.pack_into(f"B{self.m}s", buf, 0, self.p, self.reg.tobytes())

    @classmethod
    def deserialize(cls: type[Counter], buf: Any) -> Counter:
        """Read what ``serialize`` wrote, here or in datasketch; the hash function is the default one.

        Raises:
            InputError: the bytes are cut short, or no HyperLogLog.
        """
        if not len(buf) or len(buf) < 1 + (1 << min(int(buf[0]), MOST_PRECISION)):
            raise InputError("the bytes of a HyperLogLog are cut short.")
        return cls(reg=np.frombuffer(buf, dtype=np.int8, count=1 << min(int(buf[0]), MOST_PRECISION), offset=1))


class HyperLogLogPlusPlus(HyperLogLog):
    """HyperLogLog with hashes of 64 bits, and an estimate without a bias for any number of values.

    Registers are those of datasketch for the same arguments. The estimate is the improved raw estimator of O. Ertl,
    "New cardinality estimation algorithms for HyperLogLog sketches", 2017, algorithm 6, which needs no tables.
    """

    _hash_range_bit = 64

    def count(self) -> float:
        """The estimate."""
        counts = np.bincount(self.reg, minlength=self.max_rank + 2)
        z = self.m * _tau(1 - counts[self.max_rank + 1] / self.m)
        for rank in range(self.max_rank, 0, -1):
            z = 0.5 * (z + counts[rank])
        z += self.m * _sigma(counts[0] / self.m)
        return float(self.m**2 / (2 * math.log(2) * z))


def _sigma(x: float) -> float:
    """x + the sum of x**(2**k) 2**(k - 1) over k >= 1."""
    if x == 1:
        return math.inf
    y, total, before = 1.0, x, -1.0
    while total != before:
        x, before = x * x, total
        total += x * y
        y *= 2
    return total


def _tau(x: float) -> float:
    """A third of 1 - x - the sum of (1 - x**(2**-k))**2 2**-k over k >= 1."""
    if x in (0, 1):
        return 0.0
    y, total, before = 1.0, 1 - x, -1.0
    while total != before:
        x, before = math.sqrt(x), total
        y *= 0.5
        total -= (1 - x) ** 2 * y
    return total / 3
