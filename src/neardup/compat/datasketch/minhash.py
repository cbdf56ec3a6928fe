"""``MinHash``: a sketch of a set, which estimates its Jaccard similarity to others."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from neardup.compat.datasketch._schemes import (
    SCHEMES,
    Values,
    as_values,
    check_permutations,
    check_scheme,
    lower,
    permutations_of,
)
from neardup.compat.datasketch.hashfunc import HashFunction, checked_hash, hash_tokens, sha1_hash32, sha1_hash64
from neardup.errors import InputError, SpecMismatch

PENDING = 1024
"""Tokens that wait until they are hashed together."""
AHEAD = 256
"""Sets that ``generator`` takes and sketches together."""
MOST_PERMUTATIONS = 1 << 32
GPU_MODES = ("disable", "detect", "always")

Sketch = TypeVar("Sketch", bound="MinHash")


class MinHash:
    """A sketch of a set of tokens: for each of ``num_perm`` permutations of their hashes the least value.

    The share of equal values of two sketches estimates the Jaccard similarity J of their sets, with a standard error of
    sqrt(J (1 - J) / num_perm). Values are those of datasketch for the same arguments. Tokens of ``update`` are kept and
    hashed together when values are asked for, with the same result. Takes 8 bytes a permutation, 4 with ``affine32``.

    Args:
        num_perm: how many permutations; of no meaning beside ``hashvalues``.
        seed: which permutations.
        gpu_mode: ``disable`` or ``detect``; there is no code for graphics processors here, so that ``always`` is
            refused when values are added.
        hashfunc: from a token to an integer of 32 bits, or 64 with ``affine64`` and ``legacy``. None: SHA-1 of bytes.
        hashobj: not used, as in datasketch.
        hashvalues: begin with these values of an earlier sketch.
        permutations: factors and summands of an earlier sketch.
        scheme: ``legacy`` (None too), as in datasketch before 2.0; ``affine32``, the default of datasketch 2.0;
            ``affine64`` for sets of more than some ten million elements.

    >>> one, other = MinHash(scheme="affine32"), MinHash(scheme="affine32")
    >>> one.update_batch([b"a", b"b", b"c"])
    >>> other.update_batch([b"b", b"c", b"d"])
    >>> abs(one.jaccard(other) - 0.5) < 0.15
    True
    """

    _pending: list[Any]
    """Tokens of a SHA-1 function, or hashes of another one, that are not in ``_values`` yet."""

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: str = "disable",
        hashfunc: HashFunction | None = None,
        hashobj: object = None,
        hashvalues: Any = None,
        permutations: Any = None,
        scheme: str | None = None,
    ) -> None:
        self.scheme = check_scheme(scheme)
        self.seed = seed
        if hashfunc is None:
            hashfunc = sha1_hash64 if scheme == "affine64" else sha1_hash32
        if not callable(hashfunc):
            raise InputError(f"hashfunc is {hashfunc!r}, which cannot be called. Give a function, or None for SHA-1.")
        self.hashfunc = hashfunc
        if hashobj is not None:
            warnings.warn("hashobj has no effect; give hashfunc instead", DeprecationWarning, stacklevel=2)
        if gpu_mode not in GPU_MODES:
            raise InputError(f"gpu_mode is {gpu_mode!r}; known are {', '.join(GPU_MODES)}.")
        self._gpu_mode = gpu_mode
        if hashvalues is None:
            if not 0 < num_perm <= MOST_PERMUTATIONS:
                raise InputError(f"num_perm is {num_perm}. Give a number from 1 to {MOST_PERMUTATIONS}.")
            self._values = _empty(num_perm, self.scheme)
        else:
            self._values = as_values(hashvalues, self.scheme)
        self.num_perm = len(self._values)
        if not self.num_perm:
            raise InputError("hashvalues are empty. Give at least one.")
        self._pending = []
        self._own_permutations = (
            None if permutations is None else check_permutations(permutations, self.scheme, self.num_perm)
        )

    @property
    def permutations(self) -> Values:
        """[2, num_perm], read-only: factors and summands."""
        if self._own_permutations is not None:
            return self._own_permutations
        return permutations_of(self.seed, self.num_perm, self.scheme)

    @property
    def hashvalues(self) -> Values:
        """[num_perm]: the least values. uint32 for ``affine32``, else uint64."""
        if pending := self._pending:
            # The old state stays whole until the new one is: whoever reads in another thread sees one of both, and
            # tokens that are counted twice change nothing.
            values = self._values.copy()
            if self._is_sha1:
                hashes = hash_tokens(pending, self.hashfunc, SCHEMES[self.scheme].hash_bits)
            else:
                hashes = np.array(pending, dtype=np.uint64)
            lower(values.reshape(1, -1), hashes, np.array([0, hashes.size]), self.permutations, self.scheme)
            self._values = values
            self._pending = []
        return self._values

    @hashvalues.setter
    def hashvalues(self, values: Any) -> None:
        self._values = as_values(values, self.scheme)
        self._pending = []

    @property
    def _is_sha1(self) -> bool:
        return self.hashfunc is sha1_hash32 or self.hashfunc is sha1_hash64

    def update(self, b: Any) -> None:
        """Add a token: bytes, or what ``hashfunc`` takes.

        Raises:
            TypeError: it is nothing that can be hashed.
            InputError: ``hashfunc`` returned a number that is too large, or below 0.
        """
        if not self._is_sha1:
            self._pending.append(checked_hash(self.hashfunc(b), SCHEMES[self.scheme].hash_bits))
        elif type(b) is bytes:
            self._pending.append(b)
        else:  # what can change meanwhile, or is refused, is hashed at once
            self._add([b])
        if len(self._pending) >= PENDING:
            _ = self.hashvalues

    def update_batch(self, b: Iterable[Any]) -> None:
        """Add many tokens; raises as ``update``, and then adds none of them."""
        tokens = list(b)
        if self._gpu_mode == "always" and tokens:
            raise RuntimeError("gpu_mode is 'always', and there is no code for graphics processors. Give 'detect'.")
        self._add(tokens)

    def _add(self, tokens: list[Any]) -> None:
        if not tokens:
            return
        values = self.hashvalues.copy()
        hashes = hash_tokens(tokens, self.hashfunc, SCHEMES[self.scheme].hash_bits)
        lower(values.reshape(1, -1), hashes, np.array([0, hashes.size]), self.permutations, self.scheme)
        self._values = values

    def jaccard(self, other: MinHash) -> float:
        """Estimate the Jaccard similarity of the two sets; SpecMismatch where seed, scheme or num_perm differ."""
        self._check_alike(other)
        return float(np.count_nonzero(self.hashvalues == other.hashvalues)) / len(self)

    def count(self) -> float:
        """Estimate how many distinct tokens there were.

        Source: E. Cohen, "Size-estimation framework with applications to transitive closure and reachability", 1997.
        """
        shares = self.hashvalues / float(SCHEMES[self.scheme].largest)
        return float(len(self) / np.sum(shares) - 1.0)

    def merge(self, other: MinHash) -> None:
        """Make this the sketch of the union of both sets; SpecMismatch as for ``jaccard``."""
        self._check_alike(other)
        self.hashvalues = np.minimum(other.hashvalues, self.hashvalues)

    def digest(self) -> Values:
        """A copy of the values."""
        return self.hashvalues.copy()

    def is_empty(self) -> bool:
        """Whether there was no token yet."""
        return bool((self.hashvalues == SCHEMES[self.scheme].largest).all())

    def clear(self) -> None:
        """Forget all tokens."""
        self.hashvalues = _empty(len(self), self.scheme)

    def copy(self: Sketch) -> Sketch:
        """Another sketch of the same set."""
        return self._with(self.digest())

    def _with(self: Sketch, values: Values) -> Sketch:
        """A sketch that differs in its values only; they are not copied."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._values, made._pending = values, []
        return made

    def _check_alike(self, other: MinHash) -> None:
        for name, one, two in (
            ("scheme", self.scheme, getattr(other, "scheme", None)),
            ("seed", self.seed, other.seed),
            ("num_perm", len(self), len(other)),
        ):
            if one != two:
                raise SpecMismatch(f"the MinHashes differ in {name} ({one!r} and {two!r}). Make both with the same.")

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MinHash)
            and type(self) is type(other)
            and (self.scheme, self.seed) == (other.scheme, other.seed)
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __getstate__(self) -> Any:
        return {**self.__dict__, "_values": self.hashvalues, "_pending": []}

    @classmethod
    def union(cls: type[Sketch], *mhs: Sketch) -> Sketch:
        """The sketch of the union of two sets or more; SpecMismatch as for ``jaccard``."""
        if len(mhs) < 2:
            raise InputError(f"a union of {len(mhs)} MinHash. Give two or more.")
        for other in mhs[1:]:
            mhs[0]._check_alike(other)
        return mhs[0]._with(np.minimum.reduce([each.hashvalues for each in mhs]))

    @classmethod
    def bulk(cls: type[Sketch], b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[Sketch]:
        """The sketches of many sets of tokens; the arguments behind are those of a MinHash."""
        return list(cls.generator(b, **minhash_kwargs))

    @classmethod
    def generator(cls: type[Sketch], b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Iterator[Sketch]:
        """The same, one after the other; up to AHEAD sets are taken before the first is given.

        Raises:
            TypeError, InputError: as ``update``.
        """
        first = cls(**minhash_kwargs)
        sets = iter(b)
        while block := [list(each) for each in islice(sets, AHEAD)]:
            if first._gpu_mode == "always" and any(block):
                first.update_batch(next(filter(None, block)))
            offsets = np.cumsum([0, *map(len, block)])
            tokens = [token for each in block for token in each]
            hashes = hash_tokens(tokens, first.hashfunc, SCHEMES[first.scheme].hash_bits)
            values = np.tile(first.hashvalues, (len(block), 1))
            lower(values, hashes, offsets, first.permutations, first.scheme)
            for row in values:
                yield first._with(row.copy())


def _empty(num_perm: int, scheme: str) -> Values:
    return np.full(num_perm, SCHEMES[scheme].largest, dtype=SCHEMES[scheme].dtype)
