"""The shingles of a collection in the bins of three hash families: the one of the search, and two poor ones.

The poor ones are what small programs take: djb2a cut to 16 bits, and one multiplication, whose trailing bits know only
the last letter. They work on byte strings and are for the figure only; the hash of the search runs in the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from neardup.engine.reading.collection import SCAN, Collection
from neardup.params import Shingle
from neardup.stages import shingle as shingle_stage
from neardup.stages.shingle import Hasher
from neardup.stages.text import SEPARATOR
from neardup.tasks.figures.evenness import HashBins
from neardup.types import I32, I64, U64, Documents

__all__ = ["djb2a", "hash_bins", "multiply"]

MOST_SHINGLES = 300_000
"""Shingles that are hashed, with repeats: a thousand a bin, so that an unevenness of a tenth is seen in any bin."""
MOST_BITS, LEAST_BITS = 8, 3
LEAST_IN_BIN = 20
"""Shingles of a bin, in the mean: with fewer the test of chi-squared is none."""
_FACTOR = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4)."""
_START = 5381
_LETTERS = 30_000_000
"""Bytes of all these shingles together, about."""


def hash_bins(collection: Collection, weight: I32) -> list[HashBins]:
    """Distinct shingles of a sample of documents, by leading and by trailing bits, for both families."""
    rows = _sample(collection, weight)
    hasher = Hasher(collection.spec.shingle, collection.spec.seed)
    ours: list[U64] = [np.empty(0, dtype=np.uint64)]
    words: set[bytes] = set()
    for documents, local, part in collection.texts.parts(rows):
        texts = [documents.blob(i) for i in local.tolist()]
        counts = collection.counts.take(rows[part])
        ours.append(shingle_stage.build_sets(Documents.from_bytes(texts), hasher, counts).hashes)
        for text in texts:
            words.update(_shingles(text, collection.spec.shingle))
    families = (
        ("hash of this run", np.unique(np.concatenate(ours)), 64),
        ("djb2a mod 2^16", djb2a(words).astype(np.uint64) & np.uint64(0xFFFF), 16),
        ("a·x mod 2^64", multiply(words), 64),
    )
    bits = max(LEAST_BITS, min(MOST_BITS, (len(words) // LEAST_IN_BIN).bit_length() - 1))
    return [
        HashBins(name, f"{which} {bits} bits", _binned(hashes >> np.uint64(shift), bits), name == families[0][0])
        for name, hashes, width in families
        for which, shift in (("leading", width - bits), ("trailing", 0))
    ]


def djb2a(words: Iterable[bytes]) -> np.typing.NDArray[np.uint32]:
    """uint32[m], by length of the word: h = 5381, then h = 33 h XOR byte for each byte, modulo 2**32 (D. Bernstein).

    >>> djb2a([b"he"]).tolist()
    [5861128]
    """
    by_size: dict[int, list[bytes]] = {}
    for word in words:
        by_size.setdefault(len(word), []).append(word)
    done = [np.empty(0, dtype=np.uint32)]
    for size, group in by_size.items():
        letters = np.frombuffer(b"".join(group), dtype=np.uint8).reshape(len(group), size)
        state = np.full(len(group), _START, dtype=np.uint32)
        for column in range(size):
            state = (state * np.uint32(33)) ^ letters[:, column]
        done.append(state)
    return np.concatenate(done)


def multiply(words: Iterable[bytes]) -> U64:
    """uint64[m]: the last eight bytes of each word, as a number, times an odd factor, modulo 2**64."""
    numbers = np.array([int.from_bytes(word[-8:], "big") for word in words], dtype=np.uint64)
    hashes: U64 = numbers * np.uint64(_FACTOR)
    return hashes


def _binned(hashes: U64, bits: int) -> I64:
    """int64[2**bits]: hashes by their last bits."""
    bins = 1 << bits
    counts: I64 = np.bincount((hashes & np.uint64(bins - 1)).astype(np.int64), minlength=bins)
    return counts


def _sample(collection: Collection, weight: I32) -> I64:
    """Rows of distinct documents, chosen by the hash of their texts, up to the number of shingles."""
    counts = np.concatenate([part for _, part in collection.counts.scan(SCAN)] or [np.empty(0, np.int64)])
    most = min(MOST_SHINGLES, _LETTERS // collection.spec.shingle.k)
    usable = (weight > 0) & (counts <= most)
    total = int(counts[usable].sum())
    # twice the share that is wanted in the mean, so that the cut below is what limits
    bar = np.uint64(min(1.0, 2 * most / max(1, total)) * (2.0**64 - 2048))
    chosen, marks = [], []
    for first, prints in collection.prints.scan(SCAN):
        at = np.flatnonzero(usable[first : first + len(prints)] & (prints[:, 0] <= bar))
        chosen.append(at + first)
        marks.append(prints[at, 0])
    if not chosen:
        return np.empty(0, dtype=np.int64)
    rows, mark = np.concatenate(chosen), np.concatenate(marks)
    rows = rows[np.argsort(mark, kind="stable")]
    rows = rows[np.cumsum(counts[rows]) <= most]
    return np.sort(rows)


def _shingles(text: bytes, shingle: Shingle) -> Iterator[bytes]:
    """The distinct shingles of a normalised document, as bytes."""
    if shingle.kind == "item":
        yield from {item for item in text.split(SEPARATOR) if item}
        return
    code = "latin-1" if shingle.kind == "byte" else "utf-8"
    for each in shingle_stage.shingles(text.decode("utf-8"), shingle):
        yield each.encode(code, "replace")
