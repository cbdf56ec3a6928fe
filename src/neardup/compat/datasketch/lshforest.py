"""``MinHashLSHForest``: the keys whose MinHashes agree with that of a query in the longest prefixes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from neardup.compat.datasketch._bands import hashes_of
from neardup.compat.datasketch._schemes import Values, check_alike
from neardup.errors import InputError

WIDTHS = {4: ">u4", 8: ">u8"}


class MinHashLSHForest:
    """An index of keys that gives about the ``k`` most similar ones, without a threshold.

    Source: M. Bawa, T. Condie, P. Ganesan, "LSH Forest: Self-Tuning Indexes for Similarity Search", WWW 2005; with
    sorted lists in place of trees. Keys come deepest agreement first.

    Args:
        num_perm: permutations, or samples, of the sketches.
        l: how many trees; each has num_perm // l values of a sketch.

    >>> from neardup.compat.datasketch import MinHash
    >>> forest = MinHashLSHForest()
    >>> for key, sketch in zip("ab", MinHash.bulk([[b"a", b"b", b"c"], [b"b", b"c", b"d"]])):
    ...     forest.add(key, sketch)
    >>> forest.index()
    >>> forest.query(MinHash.bulk([[b"a", b"b", b"c"]])[0], 2)
    ['a', 'b']
    """

    def __init__(self, num_perm: int = 128, l: int = 8) -> None:  # noqa: E741  # datasketch's name
        if not 0 < l <= num_perm:
            raise InputError(f"l is {l} and num_perm {num_perm}. Give at least 1 tree, and a permutation for each.")
        self.l = l
        self.k = num_perm // l
        self.hashranges = [(i * self.k, (i + 1) * self.k) for i in range(l)]
        self.hashtables: list[dict[bytes, list[Hashable]]] = [{} for _ in range(l)]
        self.keys: dict[Hashable, list[bytes]] = {}
        self.sorted_hashtables: list[list[bytes]] = [[] for _ in range(l)]
        self._scheme: str | None = None

    def add(self, key: Hashable, minhash: Any) -> None:
        """Add a key and its sketch, to be found after the next ``index``.

        Raises:
            InputError: the key is there already, or the sketch has too few values.
            SpecMismatch: it is of another scheme than those before.
        """
        hashes = self._hashes(minhash)
        if key in self.keys:
            raise InputError(f"the key {key!r} is there already. Give another key.")
        self._scheme = check_alike("MinHashLSHForest", self._scheme, minhash)
        self.keys[key] = hashes
        for table, each in zip(self.hashtables, hashes, strict=True):
            table.setdefault(each, []).append(key)

    def index(self) -> None:
        """Let all keys be found that were added so far."""
        self.sorted_hashtables = [sorted(table) for table in self.hashtables]

    def query(self, minhash: Any, k: int) -> list[Hashable]:
        """At most ``k`` keys, those first that agree with a sketch in the longest prefix in any tree.

        Raises:
            InputError: ``k`` is below 1, or the sketch has too few values.
            SpecMismatch: it is of another scheme than the keys.
        """
        if k < 1:
            raise InputError(f"k is {k}. Give at least 1.")
        check_alike("MinHashLSHForest", self._scheme, minhash)
        found: dict[Hashable, None] = {}
        hashes = self._hashes(minhash)
        for depth in range(self.k, 0, -1):
            for key in self._agreeing(hashes, depth):
                found[key] = None
                if len(found) == k:
                    return list(found)
        return list(found)

    def _agreeing(self, hashes: list[bytes], depth: int) -> Iterator[Hashable]:
        """The keys whose sketches begin in a tree with the same ``depth`` values."""
        for each, table, ordered in zip(hashes, self.hashtables, self.sorted_hashtables, strict=True):
            prefix = each[: len(each) // self.k * depth]
            for entry in islice(ordered, bisect_left(ordered, prefix), None):
                if not entry.startswith(prefix):
                    break
                yield from table[entry]

    def get_minhash_hashvalues(self, key: Hashable) -> Values:
        """The values of a key's MinHash that the trees have.

        Raises:
            KeyError: there is no such key.
            InputError: its sketch was a WeightedMinHash.
        """
        data = b"".join(self.keys[key])
        width = len(data) // (self.k * self.l)
        if width not in WIDTHS:
            raise InputError(f"the values of key {key!r} have {width} bytes: they are of no MinHash.")
        values = np.frombuffer(data, dtype=WIDTHS[width])
        return values.astype(values.dtype.newbyteorder("="))

    def is_empty(self) -> bool:
        """Whether no key can be found."""
        return not self.sorted_hashtables[0]

    def __contains__(self, key: Hashable) -> bool:
        return key in self.keys

    def _hashes(self, minhash: Any) -> list[bytes]:
        if len(minhash) < self.k * self.l:
            raise InputError(f"the sketch has {len(minhash)} values, and the forest is for {self.k * self.l} or more.")
        return hashes_of(minhash, self.l, self.k)
