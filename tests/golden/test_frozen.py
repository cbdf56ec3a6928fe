"""The format, frozen: a change of these values changes every signature and must raise SPEC_VERSION.

The expected values were computed by tests/twins, in Python integers, from the definitions; the kernels must agree.
"""

import numpy as np
import pytest
from tests.twins import hashing, sketching

import neardup
from neardup.params import SPEC_VERSION

SEED_1 = (
    (1 * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & 0xFFFFFFFFFFFFFFFF,
    0x9E3779B97F4A7C15,
    0xD6E8FEB86659FD93,
    0xFF51AFD7ED558CCD,
)
TEXTS = ["a rose is a rose is a rose", "日本語のテキスト and more", "short", "x" * 3000]

HASHES = {
    b"rose": 0x759F1340599DA33B,
    b"a rose is": 0xD748DD78E261E1C7,
    b"a rose is a rose": 0xD16707DCD9EC6128,
    b"a rose is a rose is a rose": 0xCC92855E426EC5AD,
}
FIRST_SLOTS = [
    [3242835749, 3264161774, 2897016787, 3389227106],
    [3386749595, 3267753905, 3400979867, 3355794964],
    [3927995348, 3715016416, 3873691149, 3457962923],
    [3915595428, 4057583158, 4079854778, 4285006134],
]


def test_the_format_has_this_version():
    assert SPEC_VERSION == 1


@pytest.mark.parametrize("blob", list(HASHES))
def test_hashes_of_shingles_are_frozen(blob):
    assert hashing.hash_bytes(blob, SEED_1) == HASHES[blob]


def test_signatures_are_frozen():
    values = neardup.sketch(TEXTS, shingle="char:9", slots=64).signatures.values
    assert values[:, :4].tolist() == FIRST_SLOTS


def test_the_twin_computes_the_frozen_signatures():
    letters = np.zeros(1, dtype=np.uint8)
    for text, first in zip(TEXTS, FIRST_SLOTS, strict=True):
        hashes = hashing.shingle_hashes((hashing.CHAR, 9, SEED_1, letters), text.encode())
        assert sketching.signature(set(hashes), 64, 2)[:4] == first
