"""``LeanMinHash``: a MinHash that no longer changes, as a key of a dict and as datasketch's bytes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from neardup.compat.datasketch._schemes import LEGACY, SCHEMES, as_values, check_scheme, code_to_scheme
from neardup.compat.datasketch.minhash import MinHash
from neardup.errors import InputError

BYTE_ORDERS = "@=<>!"


class LeanMinHash(MinHash):
    """The values of a MinHash, frozen: it can be compared, merged, hashed and written as bytes, not updated.

    Args:
        minhash: what it is made of; or else
        seed, hashvalues: those of an earlier sketch, with its ``scheme``; None: ``legacy``.
    """

    def __init__(
        self,
        minhash: MinHash | None = None,
        seed: int | None = None,
        hashvalues: Any = None,
        scheme: str | None = None,
    ) -> None:
        if minhash is not None:
            if scheme not in (None, minhash.scheme):
                raise InputError(f"scheme is {scheme!r}, and that of the MinHash {minhash.scheme!r}. Leave it out.")
            self._set(minhash.seed, minhash.hashvalues, minhash.scheme)
        elif seed is not None and hashvalues is not None:
            self._set(seed, hashvalues, check_scheme(scheme))
        else:
            raise InputError("a LeanMinHash is made of a MinHash, or of a seed and hashvalues. Give the one or both.")

    def _set(self, seed: int, hashvalues: Any, scheme: str) -> None:
        self.seed, self.scheme = seed, scheme
        self._values, self._pending = as_values(hashvalues, scheme), []
        self.num_perm = len(self._values)
        if not self.num_perm:
            raise InputError("hashvalues are empty. Give at least one.")

    def update(self, b: Any) -> None:
        """Refused: raises TypeError."""
        raise TypeError("a LeanMinHash cannot be updated; update a MinHash, and make a LeanMinHash of it.")

    def update_batch(self, b: Any) -> None:
        """Refused: raises TypeError."""
        self.update(b)

    def bytesize(self, byteorder: str = "@") -> int:
        """Bytes that ``serialize`` writes, in one of the byte orders of ``struct``."""
        return struct.calcsize(_format(byteorder, len(self), self.scheme))

    def serialize(self, buf: Any, byteorder: str = "@") -> None:
        """Write it at the beginning of a buffer, as datasketch does.

        The seed, in 8 bytes; the number of values, in 4, and the values. The number is negative where a byte follows it
        that names the scheme; ``legacy`` has none.

        Raises:
            InputError: the buffer is too short.
        """
        if len(buf) < self.bytesize(byteorder):
            raise InputError(f"the buffer has {len(buf)} bytes. Give at least {self.bytesize(byteorder)}.")
        code = SCHEMES[self.scheme].code
        head = (self.seed, -len(self), code) if code else (self.seed, len(self))
        struct.pack_into(_format(byteorder, len(self), self.scheme), buf, 0, *head, *self.hashvalues.tolist())

    @classmethod
    def deserialize(cls, buf: Any, byteorder: str = "@") -> LeanMinHash:
        """Read what ``serialize`` wrote, here or in datasketch.

        Raises:
            InputError: the bytes are cut short or of an unknown scheme.
        """
        made = object.__new__(cls)
        made._read(buf, byteorder)
        return made

    def _read(self, buf: Any, byteorder: str) -> None:
        _format(byteorder, 0, LEGACY)  # is it a byte order?
        try:
            seed, count = struct.unpack_from(f"{byteorder}qi", buf)
            scheme = LEGACY
            if count < 0:
                count = -count
                scheme = code_to_scheme(struct.unpack_from(f"{byteorder}qiB", buf)[2])
            found = struct.unpack_from(_format(byteorder, count, scheme), buf)
        except struct.error as exc:
            raise InputError(f"the bytes of a LeanMinHash are cut short: {exc}.") from exc
        self._set(seed, np.array(found[len(found) - count :], dtype=SCHEMES[scheme].dtype), scheme)

    def __getstate__(self) -> bytearray:
        buf = bytearray(self.bytesize())
        self.serialize(buf)
        return buf

    def __setstate__(self, buf: Any) -> None:
        self._read(buf, "@")

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self.scheme, self.seed, self.hashvalues.tobytes()))


def _format(byteorder: str, count: int, scheme: str) -> str:
    """The format of ``struct``: seed, number, scheme, values."""
    if len(byteorder) != 1 or byteorder not in BYTE_ORDERS:
        raise InputError(f"byteorder is {byteorder!r}; known are {' '.join(BYTE_ORDERS)}.")
    value = "Q" if scheme == "affine64" else "I"
    return f"{byteorder}qi{'B' if SCHEMES[scheme].code else ''}{count}{value}"
