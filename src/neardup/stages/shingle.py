"""Shingles: the readable ones for people, their hashes in sets for the exact check."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

import numpy as np

from neardup.cutting import starts_of
from neardup.kernels import hashing, stored, verify
from neardup.kernels.hashing import HashParams
from neardup.params import Shingle
from neardup.types import I64, U8, U64, Documents, PaddedSets, ShingleSets

SALT = np.uint64(int.from_bytes(os.urandom(8)) | 1)
"""A random odd number of this process, by which keys are multiplied before they are given a place in a hash table.

Where things lie in a table decides how long a search takes, never what it finds. Keys of texts can be chosen by who
writes them, so that all want one place, and each insertion then passes all those before it. Who does not know the
number cannot (M. Dietzfelbinger and others, "A Reliable Randomized Algorithm for the Closest-Pair Problem", 1997,
section 2: two different keys share the leading b bits of the product with probability at most 2 / 2**b).
"""

_Key = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

_KINDS = {"byte": hashing.BYTE, "char": hashing.CHAR, "word": hashing.WORD, "item": hashing.ITEM}


@lru_cache(maxsize=1)
def _letters() -> U8:
    """Bitmap of the code points that words are made of: Unicode categories L*, M*, N*."""
    inside = np.zeros(0x110000, dtype=np.uint8)
    for low, high in ((0, 0x40000), (0xE0000, 0xE1000)):  # nothing else is assigned to those categories
        for point in range(low, high):
            inside[point] = unicodedata.category(chr(point))[0] in "LMN"
    return np.packbits(inside, bitorder="little")


def _public_key(seed: int) -> _Key:
    start = (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFFFFFFFFFFFFFF
    return np.uint64(start), stored.M1, stored.M2, stored.M3


def _private_key() -> _Key:
    start, *multipliers = np.frombuffer(os.urandom(32), dtype=np.uint64)
    first, second, third = (number | np.uint64(1) for number in multipliers)
    return start, first, second, third


@dataclass(frozen=True, slots=True)
class Hasher:
    """A shingle and the key of its hash."""

    shingle: Shingle
    seed: int | None
    """None: the key is drawn at random and belongs to this object alone."""
    params: HashParams = field(init=False)
    """What the kernels need to know. The key is the seed, spread over 64 bits, with the public multipliers; or four
    random numbers."""

    @classmethod
    def private(cls, shingle: Shingle) -> Hasher:
        """One whose hashes nobody can know who wrote the texts: for sets that are compared and then forgotten."""
        return cls(shingle, None)

    def __post_init__(self) -> None:
        key = _public_key(self.seed) if self.seed is not None else _private_key()
        letters = _letters() if self.shingle.kind == "word" else np.zeros(1, dtype=np.uint8)
        object.__setattr__(self, "params", HashParams(_KINDS[self.shingle.kind], self.shingle.k, key, letters))


def tokens(text: str, shingle: Shingle) -> list[str]:
    """Tokens of one normalised text; bytes come as one character each, items are split at white space."""
    if shingle.kind == "char":
        return list(text)
    if shingle.kind == "byte":
        return list(text.encode("utf-8").decode("latin-1"))
    if shingle.kind == "item":
        return text.split()
    runs = groupby(text, lambda char: unicodedata.category(char)[0] in "LMN")
    return ["".join(run) for is_word, run in runs if is_word]


def shingles(text: str, shingle: Shingle) -> list[str]:
    """Distinct shingles of one normalised text, in order of first appearance; words are joined by one space.

    A text of fewer than k tokens is its one shingle; an empty text has none.

    >>> shingles("abcab", Shingle.parse("char:2"))
    ['ab', 'bc', 'ca']
    """
    parts = tokens(text, shingle)
    glue = " " if shingle.kind == "word" else ""
    if not parts:
        return [text] if text and shingle.kind != "item" else []
    if len(parts) < shingle.k:
        return [glue.join(parts)]
    runs = (glue.join(parts[i : i + shingle.k]) for i in range(len(parts) - shingle.k + 1))
    return list(dict.fromkeys(runs))


def shingle_set(blob: bytes, shingle: Shingle) -> set[bytes] | set[str]:
    """The shingles themselves of one normalised document as it lies in ``Documents``: items are separated by 0xFF."""
    if shingle.kind == "item":
        return {item for item in blob.split(b"\xff") if item}
    return set(shingles(blob.decode("utf-8"), shingle))


def build_rows(documents: Documents, docs: I64, counts: I64, hasher: Hasher, starts: I64, sizes: I64, out: U64) -> None:
    """Write the sorted set of each of ``docs`` (indices into the block) into its part of ``out``, and its size.

    ``counts`` are shingles with repeats, as sketching counted them; part i begins at ``starts[i]`` (int64[m + 1]) and
    must hold so many.
    """
    if np.any(starts[1:] - starts[:-1] < counts):
        raise ValueError("a part is smaller than its document's shingle count")
    verify.build_sets(hasher.params, documents.data, documents.offsets, docs, starts, sizes, out)


def build_padded(documents: Documents, hasher: Hasher) -> PaddedSets:
    """Sets of a block whose shingles nobody has counted: a document has at most as many as bytes. O(bytes)."""
    starts = documents.offsets - documents.offsets[0]
    hashes, sizes = np.empty(int(starts[-1]), dtype=np.uint64), np.empty(len(documents), dtype=np.int64)
    docs = np.arange(sizes.size)
    verify.build_sets(hasher.params, documents.data, documents.offsets, docs, starts, sizes, hashes)
    return PaddedSets(starts, sizes, hashes)


def build_sets(documents: Documents, hasher: Hasher, counts: I64) -> ShingleSets:
    """Sets of a whole block, in CSR form. O(total shingles)."""
    n = len(documents)
    starts = starts_of(counts)
    padded = np.empty(int(starts[-1]), dtype=np.uint64)
    sizes = np.zeros(n, dtype=np.int64)
    build_rows(documents, np.arange(n), counts, hasher, starts, sizes, padded)
    inside = np.arange(padded.size) - np.repeat(starts[:-1], counts) < np.repeat(sizes, counts)
    return ShingleSets(starts_of(sizes), padded[inside])
