"""The three families of permutations of datasketch: their values' types, parameters and kernels.

``legacy`` is the only one before datasketch 2.0 and the default here; 2.0 takes ``affine32``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neardup.errors import InputError, SpecMismatch, did_you_mean
from neardup.kernels import datasketch as kernels
from neardup.types import I64, U64

LEGACY = "legacy"
PRIME = (1 << 61) - 1

Values = NDArray[np.unsignedinteger[Any]]


class Scheme(NamedTuple):
    """One family of permutations."""

    dtype: type[np.unsignedinteger[Any]]
    """Of values and parameters."""
    largest: int
    """Value of a slot that no element has reached."""
    hash_bits: int
    """Bits that the hash of a token may have."""
    width: int
    """Bits modulo which a permutation counts; 0 for legacy."""
    code: int
    """In serialized bytes; 0 for legacy, which has none."""
    kernel: Any
    """Lowers the values of sets by the hashes of their elements."""


SCHEMES = {
    "affine32": Scheme(np.uint32, (1 << 32) - 1, 32, 32, 1, kernels.lower_affine32),
    "affine64": Scheme(np.uint64, (1 << 64) - 1, 64, 64, 2, kernels.lower_affine64),
    LEGACY: Scheme(np.uint64, (1 << 32) - 1, 64, 0, 0, kernels.lower_legacy),
}
BY_CODE = {scheme.code: name for name, scheme in SCHEMES.items() if scheme.code}


def check_scheme(name: str | None) -> str:
    """The name of a scheme; None is ``legacy``."""
    if name is None:
        return LEGACY
    if name not in SCHEMES:
        known = ", ".join(SCHEMES)
        raise InputError(f"scheme is {name!r}; known are {known}.{did_you_mean(str(name), SCHEMES)}")
    return name


def code_to_scheme(code: int) -> str:
    """The scheme that serialized bytes name."""
    if code not in BY_CODE:
        raise InputError(f"the bytes name permutation scheme {code}; known are {', '.join(map(str, BY_CODE))}.")
    return BY_CODE[code]


def as_values(values: Any, scheme: str, what: str = "hashvalues") -> Values:
    """A copy of numbers as the scheme's type; InputError where one does not fit."""
    try:
        given = np.asarray(values)
        fits = given.dtype.kind in "iu" and (not given.size or int(given.min()) >= 0)
        if fits and int(given.max(initial=0)) <= int(np.iinfo(SCHEMES[scheme].dtype).max):
            return given.astype(SCHEMES[scheme].dtype)
        return np.array([int(value) for value in values], dtype=SCHEMES[scheme].dtype)
    except (OverflowError, ValueError, TypeError) as exc:
        raise InputError(f"{what} do not fit scheme {scheme!r}: {exc}. Give the scheme that they are of.") from exc


@lru_cache(maxsize=32)
def permutations_of(seed: int, num_perm: int, scheme: str) -> Values:
    """[2, num_perm], read-only: factors and summands. Kept, since making them takes longer than a sketch."""
    generator = np.random.RandomState(seed)  # datasketch's values come from this one
    dtype, width = SCHEMES[scheme].dtype, SCHEMES[scheme].width
    if scheme == LEGACY:
        drawn = generator.randint(np.tile([1, 0], num_perm), PRIME, dtype=np.uint64)
        return frozen(drawn.reshape(num_perm, 2).T)
    a = generator.randint(0, 1 << (width - 1), num_perm, dtype=dtype) * dtype(2) + dtype(1)
    b = generator.randint(0, 1 << width, num_perm, dtype=dtype)
    return frozen(np.array([a, b]))


def frozen(parameters: Values) -> Values:
    """Parameters as the kernels take them: each row in one piece, and read-only."""
    parameters = np.ascontiguousarray(parameters)
    parameters.flags.writeable = False
    return parameters


def check_permutations(parameters: Any, scheme: str, num_perm: int) -> Values:
    """Parameters that a program gave, as ``permutations_of`` returns them."""
    a, b = (as_values(side, scheme, "permutations") for side in parameters)
    if len(a) != num_perm or len(b) != num_perm:
        raise InputError(f"permutations are {len(a)} factors and {len(b)} summands. Give {num_perm} of each.")
    if scheme != LEGACY and not (a & a.dtype.type(1)).all():
        raise InputError(f"permutations of scheme {scheme!r} have an even factor. Give odd factors only.")
    return frozen(np.array([a, b]))


def lower(values: Values, hashes: U64, offsets: I64, permutations: Values, scheme: str) -> None:
    """Lower the values [sets, num_perm] by the hashes of each set's elements, in place."""
    SCHEMES[scheme].kernel(hashes, offsets, permutations[0], permutations[1], values)


def check_alike(of: str, known: str | None, sketch: Any) -> str | None:
    """The scheme that an index remembers after it was given a sketch; weighted sketches have none.

    Raises:
        SpecMismatch: it was given sketches of another scheme before.
    """
    scheme: str | None = getattr(sketch, "scheme", None)
    if scheme is None or known is None:
        return known or scheme
    if scheme != known:
        raise SpecMismatch(
            f"the {of} has MinHashes of scheme {known!r}, and this one is of {scheme!r}. Make it with scheme={known!r}."
        )
    return known
