"""Answer a single text in two calls: find its candidates, and compare it with a few stored documents.

For one text, the arrays between kernels cost more than the kernels, so each of these does the work of several. They
take tuples of plain values, because Numba inspects a NamedTuple in Python, which takes 2 µs.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels.banding import all_keys
from neardup.kernels.hashing import HashParams
from neardup.kernels.normal import PAGES, SAME, UNSEEN, Characters, look
from neardup.kernels.postings import S32, lookup
from neardup.kernels.sketching import sketch_block
from neardup.kernels.stored import checksums, prints
from neardup.kernels.verify import build_sets, check_pairs
from neardup.native.declare import kernel, maker
from neardup.types import PaddedSets

FEW = 32
"""The most candidates that are found and checked here."""
DAMAGED, MANY, NOT_NORMAL = -1, -2, -3
"""Results instead of a number of documents: a page or a document is damaged; there are more than FEW; a text may not be
in its normal form."""

PARAMS = "Tuple((int64, int64, UniTuple(uint64, 4), uint8[::1]))"
CHARACTERS = "Tuple((read(uint8[::1]), read(int32[::1]), read(int64[::1]), read(uint8[::1]), read(int64[::1])))"


@maker
def _are_normal(characters, data, offsets, items):
    """Whether all documents are in the normal form already, as far as ``characters`` tell."""
    ascii, pages, entries, pool, pairs = characters
    found = np.full(offsets.size - 1, UNSEEN, np.uint8)
    wanted = np.empty(PAGES, np.bool_)  # only written to
    look(Characters(ascii, pages, entries, pool, pairs), data, offsets, items, found, wanted)
    return (found == SAME).all()


@kernel(
    f"{PARAMS}, {CHARACTERS}, boolean, boolean, read(uint8[::1]), int64, UniTuple(int64, 4)",
    "int64[:, ::1], int64[:, ::1]",
)
def candidates(params, characters, is_normal, items, data, size, shape, runs, out):
    """Write number and bands of each document that shares a key with a text; return how many there are, or why not.

    The text is the first ``size`` bytes of ``data``; ``shape``: slots, rounds, bands, rows; ``out`` is int64[FEW, 2].
    """
    (kind, k, key, letters), (slots, rounds, bands, width) = params, shape
    offsets = np.array([0, size])
    if not is_normal and not _are_normal(characters, data, offsets, items):
        return NOT_NORMAL
    values, tokens = np.empty((1, slots), np.uint32), np.empty(1, np.int64)
    sketch_block(HashParams(kind, k, key, letters), data, offsets, rounds, values, tokens)
    keys = np.empty((bands, 1), np.uint64)
    all_keys(values, width, keys)
    leading = (keys >> S32).astype(np.uint32)
    _, numbers, shared, _, is_cut, damaged = lookup(runs, leading, tokens != 0, 0, FEW)
    if damaged >= 0:
        return DAMAGED
    if is_cut[0] or numbers.size > FEW:
        return MANY
    out[: numbers.size, 0], out[: numbers.size, 1] = numbers, shared
    return numbers.size


@kernel(f"{PARAMS}, {CHARACTERS}, boolean, boolean, read(uint8[::1]), int64[::1], float64, float64[::1]")
def similarities(params, characters, is_normal, items, data, facts, threshold, out):
    """Write the exact similarity of a text to each of n stored documents, -1 below the threshold; return n, or why not.

    ``data`` has the text, normalised, the texts of the documents, and their ids. ``facts`` has the bytes of each of
    these, then the numbers of the documents, their kinds, and their checksums, which are compared.
    """
    kind, k, key, letters = params
    n = out.size
    offsets = np.zeros(2 * n + 2, np.int64)
    for i in range(2 * n + 1):
        offsets[i + 1] = offsets[i] + facts[i]
    numbers, kinds, known = facts[2 * n + 1 : 3 * n + 1], facts[3 * n + 1 : 4 * n + 1], facts[4 * n + 1 :]
    found, sums = np.empty(2 * n + 1, np.uint64), np.empty(n, np.int64)
    prints(data, offsets, found)
    checksums(found[1 : n + 1], found[n + 1 :], numbers, kinds, sums)
    if not (sums == known).all():
        return DAMAGED
    texts = offsets[: n + 2]
    if not is_normal and not _are_normal(characters, data, texts[1:], items):
        return NOT_NORMAL
    hashes, sizes = np.empty(texts[n + 1], np.uint64), np.empty(n + 1, np.int64)
    build_sets(HashParams(kind, k, key, letters), data, texts, np.arange(n + 1), texts, sizes, hashes)
    sets = PaddedSets(texts, sizes, hashes)
    check_pairs(np.zeros(n, np.int64), np.arange(1, n + 1), sets, sets, threshold, False, out)
    return n
