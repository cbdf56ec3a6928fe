"""``MinHashLSH``: keys of sets, found by a MinHash that agrees with theirs in a whole band."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from neardup.compat.datasketch._bands import best_bands, check_params, check_search, hashes_of
from neardup.compat.datasketch._schemes import check_alike
from neardup.compat.datasketch.storage import Shape, open_storage
from neardup.errors import InputError, SpecMismatch

BUFFER_SIZE = 50_000


class MinHashLSH:
    """An index of keys by the bands of their MinHashes, in memory or in a file.

    A query gives the keys that agree with it in all values of at least one of ``b`` bands of ``r`` values. At Jaccard
    similarity s that has the probability 1 - (1 - s**r)**b; keys are not verified. Keys come in the order of the bands
    in which they are found first, and inside a band as they were inserted. ``hashtables`` and ``keys`` are mappings as
    in datasketch.

    Args:
        threshold: Jaccard similarity at which b and r centre the curve.
        num_perm: permutations, or samples, of the sketches.
        weights: of false positives and false negatives, for the choice of b and r.
        params: b and r, instead of a choice.
        storage_config: ``{"type": "dict"}``, in memory, or ``{"type": "neardup", "path": FILE}``. The file is made
            where there is none, and else opened; ``close`` lets go of it.
        prepickle: keep keys as their pickles, which a file needs for keys that are no strings, integers or bytes. Open
            only files that you trust then.
        hashfunc: from the bytes of a band to shorter ones, which then are the hash of the band.

    >>> from neardup.compat.datasketch import MinHash
    >>> one, other = MinHash.bulk([[b"a", b"b", b"c", b"d"], [b"x", b"y"]])
    >>> lsh = MinHashLSH(threshold=0.5)
    >>> lsh.insert("one", one)
    >>> lsh.insert("other", other)
    >>> lsh.query(one)
    ['one']
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: tuple[int, int] | None = None,
        storage_config: Mapping[str, Any] | None = None,
        prepickle: bool | None = None,
        hashfunc: Callable[[bytes], bytes] | None = None,
    ) -> None:
        check_search(threshold, num_perm, weights)
        self.h = num_perm
        self.b, self.r = best_bands(threshold, num_perm, weights) if params is None else check_params(params, num_perm)
        if self.b < 2:
            raise InputError(
                f"threshold {threshold} with num_perm {num_perm} gives {self.b} band. Give a lower threshold."
            )
        self.hashranges = [(i * self.r, (i + 1) * self.r) for i in range(self.b)]
        self.prepickle = bool(prepickle)
        self.hashfunc = hashfunc
        self._storage = open_storage(storage_config, Shape(num_perm, self.b, self.r))
        self._queries: list[set[Any]] = []
        self._changes = 0
        """Buffered since the last ones were kept."""
        self._buffer_size = BUFFER_SIZE

    @property
    def hashtables(self) -> Sequence[Mapping[bytes, Any]]:
        """For each band, the keys of each hash."""
        return self._storage.hashtables

    @property
    def keys(self) -> Mapping[Any, Sequence[bytes]]:
        """The hashes of each key."""
        return self._storage.keys

    @property
    def buffer_size(self) -> int:
        """Changes that a session keeps together."""
        return self._buffer_size

    @buffer_size.setter
    def buffer_size(self, value: int) -> None:
        if value < 1:
            raise InputError(f"buffer_size is {value}. Give at least 1.")
        self._buffer_size = value

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Add a key and its MinHash or WeightedMinHash.

        Raises:
            InputError: the key is there already, which is not asked without ``check_duplication``; or the sketch has
                another number of values.
            SpecMismatch: it is of another scheme than those before.
            TypeError: a file cannot have such a key.
        """
        self._insert(key, minhash, check_duplication, buffered=False)

    def _insert(self, key: Hashable, minhash: Any, check_duplication: bool, *, buffered: bool) -> None:
        hashes = self._hashes(minhash, self.b)
        stored = self._stored(key)
        if check_duplication and stored in self._storage.keys:
            raise InputError(f"the key {key!r} is there already. Remove it first, or give another key.")
        self._storage.scheme = check_alike("MinHashLSH", self._storage.scheme, minhash)
        self._storage.insert(stored, hashes, buffered=buffered)
        self._count(buffered)

    def remove(self, key: Hashable) -> None:
        """Remove a key; InputError where it is not there."""
        self._remove(key, buffered=False)

    def _remove(self, key: Hashable, *, buffered: bool) -> None:
        stored = self._stored(key)
        if stored not in self._storage.keys:
            raise InputError(f"the key {key!r} is not there.")
        self._storage.remove(stored, buffered=buffered)
        self._count(buffered)

    def _count(self, buffered: bool) -> None:
        self._changes += buffered
        if self._changes >= self._buffer_size:
            self._settle()

    def _settle(self) -> None:
        self._changes = 0
        self._storage.settle()

    def insertion_session(self, buffer_size: int = BUFFER_SIZE) -> MinHashLSHInsertionSession:
        """A context in which many keys are inserted; a file keeps ``buffer_size`` of them at a time, and so faster."""
        return MinHashLSHInsertionSession(self, buffer_size)

    def deletion_session(self, buffer_size: int = BUFFER_SIZE) -> MinHashLSHDeletionSession:
        """A context in which many keys are removed, likewise."""
        return MinHashLSHDeletionSession(self, buffer_size)

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Add all keys of another index.

        Raises:
            SpecMismatch: it has another num_perm, b, r or scheme.
            InputError: with ``check_overlap``, a key is in both.
        """
        if not isinstance(other, MinHashLSH):
            raise InputError(f"a {type(other).__name__} cannot be merged into a MinHashLSH.")
        shape, other_shape = (self.h, self.b, self.r), (other.h, other.b, other.r)
        if shape != other_shape:
            raise SpecMismatch(
                f"the indexes have num_perm, b and r of {shape} and {other_shape}. Make both with the same."
            )
        scheme = self._storage.scheme
        if other._storage.scheme not in (None, scheme) and scheme is not None:
            raise SpecMismatch(f"the indexes have MinHashes of schemes {scheme!r} and {other._storage.scheme!r}.")
        moved = [(self._stored(other._given(stored)), hashes) for stored, hashes in other._storage.keys.items()]
        if check_overlap:
            for stored, _ in moved:
                if stored in self._storage.keys:
                    raise InputError(f"the key {self._given(stored)!r} is in both indexes. Remove it from one of them.")
        self._storage.scheme = scheme or other._storage.scheme
        for stored, hashes in moved:
            for at in range(0, len(hashes), self.b):
                self._storage.insert(stored, hashes[at : at + self.b], buffered=True)
        self._settle()

    def query(self, minhash: Any) -> list[Any]:
        """The keys that agree with a sketch in a band; raises as ``insert`` for the sketch."""
        return [self._given(stored) for stored in self._candidates(minhash, self.b)]

    def _query_b(self, minhash: Any, b: int) -> list[Any]:
        """The same in the first ``b`` bands."""
        return [self._given(stored) for stored in self._candidates(minhash, b)]

    def _candidates(self, minhash: Any, b: int) -> dict[Any, None]:
        check_alike("MinHashLSH", self._storage.scheme, minhash)
        found: dict[Any, None] = {}
        for table, each in zip(self._storage.hashtables, self._hashes(minhash, b), strict=False):
            found.update(table.get(each, ()))
        return found

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Query for a sketch, and keep the answer for ``collect_query_buffer``."""
        self._queries.append(set(self._candidates(minhash, self.b)))

    def collect_query_buffer(self) -> list[Any]:
        """The keys that all sketches of the buffer have found, as they were inserted; the buffer is empty then."""
        queries, self._queries = self._queries, []
        found = set.intersection(*queries) if queries else set()
        return [self._given(stored) for stored in self._storage.keys if stored in found] if found else []

    def __contains__(self, key: Hashable) -> bool:
        return self._stored(key) in self._storage.keys

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not len(self._storage.keys)

    def get_counts(self) -> list[dict[bytes, int]]:
        """For each band, how many keys each hash has."""
        return [{each: len(bucket) for each, bucket in table.items()} for table in self._storage.hashtables]

    def get_subset_counts(self, *keys: Hashable) -> list[dict[bytes, int]]:
        """The same of these keys alone; those that are not there count nothing."""
        counts: list[Counter[bytes]] = [Counter() for _ in range(self.b)]
        for stored in {self._stored(key) for key in keys}:
            for i, each in enumerate(self._storage.keys.get(stored, ())):
                counts[i % self.b][each] += 1
        return [dict(count) for count in counts]

    def close(self) -> None:
        """Let go of the file, if there is one; datasketch has no such method."""
        self._storage.close()

    def _hashes(self, minhash: Any, b: int) -> list[bytes]:
        if len(minhash) != self.h:
            raise InputError(
                f"the sketch has {len(minhash)} values, and the index is for {self.h}. Give num_perm={self.h}."
            )
        hashes = hashes_of(minhash, b, self.r)
        return hashes if self.hashfunc is None else [self.hashfunc(each) for each in hashes]

    def _stored(self, key: Any) -> Any:
        return pickle.dumps(key) if self.prepickle else key

    def _given(self, stored: Any) -> Any:
        return pickle.loads(stored) if self.prepickle else stored


class _Session:
    """Changes that are kept together, and at the end."""

    def __init__(self, lsh: MinHashLSH, buffer_size: int) -> None:
        self.lsh = lsh
        lsh.buffer_size = buffer_size

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Keep what is not kept yet."""
        self.lsh._settle()


class MinHashLSHInsertionSession(_Session):
    """Made by ``MinHashLSH.insertion_session``."""

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """As ``MinHashLSH.insert``."""
        self.lsh._insert(key, minhash, check_duplication, buffered=True)


class MinHashLSHDeletionSession(_Session):
    """Made by ``MinHashLSH.deletion_session``."""

    def remove(self, key: Hashable) -> None:
        """As ``MinHashLSH.remove``."""
        self.lsh._remove(key, buffered=True)
