"""Answer a single text in two calls: find its candidates, and compare it with a few stored documents.

For one text, the arrays between kernels cost more than the kernels, so each of these does the work of several. They
take tuples of plain values, because numba inspects a NamedTuple in Python, which takes 2 µs.
"""

from __future__ import annotations

import numpy as np

from neardup.kernels import banding, normal, postings, sketching, stored, verify
from neardup.kernels._jit import kernel, maker, within
from neardup.kernels.hashing import HashParams
from neardup.kernels.normal import PAGES, SAME, UNSEEN, Characters
from neardup.types import PaddedSets

FEW = 32
"""The most candidates that are found and checked here."""
DAMAGED, MANY, NOT_NORMAL = -1, -2, -3
"""Results instead of a number of documents: a page or a document is damaged; there are more than FEW; a text may not be
in its normal form."""
S32 = np.uint64(32)

_look, _sketch, _keys = within(normal.look), within(sketching.sketch_block), within(banding.all_keys)
_lookup, _prints, _checksums = within(postings.lookup), within(stored.prints), within(stored.checksums)
_build_sets, _check_pairs = within(verify.build_sets), within(verify.check_pairs)

PARAMS = "Tuple((int64, int64, UniTuple(uint64, 4), uint8[::1]))"
CHARACTERS = "Tuple((read(uint8[::1]), read(int32[::1]), read(int64[::1]), read(uint8[::1]), read(int64[::1])))"


@maker
def _are_normal(characters, data, offsets, items):
    """Whether all documents are in the normal form already, as far as ``characters`` tell."""
    ascii, pages, entries, pool, pairs = characters
    found = np.full(offsets.size - 1, UNSEEN, np.uint8)
    wanted = np.empty(PAGES, np.bool_)  # only written to
    _look(Characters(ascii, pages, entries, pool, pairs), data, offsets, items, found, wanted)
    return (found == SAME).all()


@kernel(
    f"{PARAMS}, {CHARACTERS}, boolean, boolean, read(uint8[::1]), int64, UniTuple(int64, 4)",
    "int64[:, ::1], int64[:, ::1]",
)
def candidates(params, characters, is_normal, items, data, size, shape, runs, out):
    """Write number and bands of each document that shares a key with a text; return how many there are, or why not.

    The text is the first ``size`` bytes of ``data``. ``shape`` has slots, rounds, bands and rows of the sketch; ``out``
    is int64[FEW, 2].
    """
    (kind, k, key, letters), (slots, rounds, bands, width) = params, shape
    offsets = np.array([0, size])
    if not is_normal and not _are_normal(characters, data, offsets, items):
        return NOT_NORMAL
    values, tokens = np.empty((1, slots), np.uint32), np.empty(1, np.int64)
    _sketch(HashParams(kind, k, key, letters), data, offsets, rounds, values, tokens)
    keys = np.empty((bands, 1), np.uint64)
    _keys(values, width, keys)
    leading = (keys >> S32).astype(np.uint32)
    _, numbers, shared, _, is_cut, damaged = _lookup(runs, leading, tokens != 0, 0, FEW)
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
    offsets[1:] = np.cumsum(facts[: 2 * n + 1])
    of_each = facts[2 * n + 1 :].reshape(3, n)
    prints, sums = np.empty(2 * n + 1, np.uint64), np.empty(n, np.int64)
    _prints(data, offsets, prints)
    _checksums(prints[1 : n + 1], prints[n + 1 :], of_each[0], of_each[1], sums)
    if not (sums == of_each[2]).all():
        return DAMAGED
    texts = offsets[: n + 2]
    if not is_normal and not _are_normal(characters, data, texts[1:], items):
        return NOT_NORMAL
    hashes, sizes = np.empty(texts[n + 1], np.uint64), np.empty(n + 1, np.int64)
    _build_sets(HashParams(kind, k, key, letters), data, texts, np.arange(n + 1), texts, sizes, hashes)
    sets = PaddedSets(texts, sizes, hashes)
    _check_pairs(np.zeros(n, np.int64), np.arange(1, n + 1), sets, sets, threshold, False, out)
    return n
