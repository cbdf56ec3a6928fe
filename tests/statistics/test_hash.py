"""The shingle hash spreads real and structured shingles evenly, in every bit that a sketch reads.

chi^2/df of n distinct shingles over 2^b bins is 1 with standard error sqrt(2/df); the gate is 5 of them, on both
sides (false alarm 6e-7 a check, fixed seeds). A hash of two multiplications without a last mixing gives over 10 on
the same shingles and must fail. What a sketch needs of avalanche is that every input bit reaches both halves of
the hash; a full one (each output bit with probability 1/2) is not asked for, and neardup's hash has not got it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles import shared
from tests.oracles.sketch import chi_square_per_freedom, two_round_hash
from tests.statistics.bounds import SIGMAS
from tests.twins import hashing

from neardup.params import Shingle
from neardup.stages.shingle import Hasher, build_sets
from neardup.types import Documents

U8 = NDArray[np.uint8]
U64 = NDArray[np.uint64]
BITS = 14
BINS = 1 << BITS
LEAST_FLIPPED = 0.2
REAL = {
    "revisions": ("char:5", "char:9", "char:40", "byte:6", "word:3"),
    "messages": ("char:5", "char:8", "char:17"),
    "mccormick_1000": ("char:9", "word:3"),
    "udhr": ("char:5", "char:8", "char:17", "byte:6", "word:2"),
    "bible_nt": ("char:5",),
}
"""Real texts, and the shingles of them that are tested; every collection has more distinct ones than 5 for each bin."""


def hashes_of(texts: list[bytes] | U8, shingle: str, seed: int = 1) -> U64:
    """The distinct shingle hashes of each text, or row of bytes, end to end."""
    if isinstance(texts, np.ndarray):
        offsets = np.arange(len(texts) + 1, dtype=np.int64) * texts.shape[1]
        documents = Documents.with_slack(texts.ravel(), offsets)
    else:
        documents = Documents.from_bytes(texts)
    counts = np.maximum(1, np.diff(documents.offsets))  # at least as many as there are shingles
    return build_sets(documents, Hasher(Shingle.parse(shingle), seed), counts).hashes


def check_even(values: U64, name: str) -> None:
    """Three windows of bits fill their bins evenly: the lowest, the middle and the highest."""
    assert values.size >= 5 * BINS
    bound = SIGMAS * math.sqrt(2 / (BINS - 1))
    for shift in (0, 25, 64 - BITS):
        bins = (values >> np.uint64(shift)) & np.uint64(BINS - 1)
        found = chi_square_per_freedom(bins, BINS)
        assert abs(found - 1) <= bound, f"{name}: chi2/df {found:.3f} at bit {shift}; allowed is 1 +- {bound:.3f}"


@pytest.mark.parametrize(
    ("name", "shingle"),
    [
        (name, shingle)
        for name in shared.at_hand("revisions", "messages", "mccormick_1000", "udhr", "bible_nt")
        for shingle in REAL[name]
    ],
)
def test_shingles_of_real_text_fill_their_bins_evenly(name: str, shingle: str):
    _, texts = shared.documents(name)
    check_even(hashes_of(["\n".join(texts).encode()], shingle), f"{name} {shingle}")


@pytest.mark.parametrize("seed", [0, 2**63 - 1])
@pytest.mark.parametrize("form", ["{}", "{:08}", "{:016}", "https://example.org/a/long/common/prefix/{}.html", "{:b}"])
def test_structured_items_fill_their_bins_evenly(form: str, seed: int):
    items = b"\xff".join(form.format(i).encode() for i in range(200_000))
    check_even(hashes_of([items], "item", seed), form)


def test_hashes_of_two_seeds_are_unrelated():
    texts = [f"{i:07}".encode() for i in range(200_000)]
    a, b = hashes_of(texts, "byte:7", seed=1), hashes_of(texts, "byte:7", seed=2)
    check_even(a ^ b, "seeds 1 and 2, XOR")
    check_even(a - b, "seeds 1 and 2, difference")


def eight_bytes() -> NDArray[np.int64]:
    """Return every distinct 8-byte window of a real text as a little-endian word."""
    _, texts = shared.documents("revisions")
    data = np.frombuffer("\n".join(texts).encode(), dtype=np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(data, 8)
    return np.unique(np.ascontiguousarray(windows).view("<i8").ravel())


def test_known_bad_two_round_hash_fails_the_same_check():
    with pytest.raises(AssertionError, match="chi2/df"):
        check_even(two_round_hash(eight_bytes(), 1), "two rounds")


def check_avalanche(hasher: Callable[[U8], U64], length: int) -> None:
    """A flipped input bit flips, on average, at least LEAST_FLIPPED of the bits of each half of the hash.

    The halves are what the sketch reads: the upper one chooses the slot, the lower one is the value. 2,000 random
    strings; the standard error of a share is at most sqrt(1/8000) = 0.011 were the 32 bits one.
    """
    rng = np.random.default_rng(length)
    base = rng.integers(0, 256, (2000, length), dtype=np.uint8)
    plain = hasher(base)
    for place in rng.permutation(8 * length)[:128]:
        flipped = base.copy()
        flipped[:, place // 8] ^= np.uint8(1 << (place % 8))
        change = np.unpackbits((plain ^ hasher(flipped)).view(np.uint8).reshape(-1, 2, 4), axis=2)
        share = float(change.mean(axis=(0, 2)).min())
        assert share >= LEAST_FLIPPED, f"{length} bytes, bit {place}: flips {share:.3f} < {LEAST_FLIPPED} of a half"


@pytest.mark.parametrize("length", [3, 4, 8, 9, 12, 16, 17, 24, 31, 32, 33, 64, 100])
def test_every_input_bit_reaches_both_halves_of_the_hash(length: int):
    check_avalanche(lambda rows: hashes_of(rows, f"byte:{length}"), length)


def test_known_bad_two_round_hash_fails_the_avalanche_check():
    with pytest.raises(AssertionError, match="of a half"):
        check_avalanche(lambda rows: two_round_hash(rows.view("<i8").ravel(), 1), 8)


def test_no_two_of_a_million_shingles_collide():
    """2^20 shingles of ten bytes: a collision of 64-bit hashes has probability 3e-8."""
    text = np.random.default_rng(4).integers(0, 256, 1 << 20, dtype=np.uint8).tobytes()
    assert np.unique(hashes_of([text], "byte:10")).size == (1 << 20) - 9


def differing_pairs() -> list[tuple[bytes, bytes]]:
    """Pairs of 16 bytes that differ in the highest bits of their first half, with a second half that undoes it.

    The first half is multiplied, then folded by a shift of 29: a difference in bit 63 - n comes out as one of
    2**(63 - n) +- 2**(34 - n), whatever the seed; the multiplier of the second half can be undone since it is public.
    """
    inverse = pow(hashing.M3, -1, 1 << 64)
    pairs = []
    draw = np.random.default_rng(5)
    for bit in range(60, 64):
        for sign in (1, -1):
            first, last = (int(x) for x in draw.integers(0, 1 << 63, 2))
            other = last - ((1 << bit) + sign * (1 << (bit - 29))) * inverse
            words = (first, last), (first ^ (1 << bit), other % (1 << 64))
            pairs.append(tuple(b"".join(word.to_bytes(8, "little") for word in each) for each in words))
    return pairs


def test_known_bad_public_multipliers_let_pairs_collide_for_many_seeds_and_private_ones_do_not():
    """Eight pairs under 2,000 keys each. Expected of the best of them: half of all seeds; of any under private keys:
    16,000 / 2**59 at most, so that one collision is an error."""
    shingle = Shingle.parse("item")
    rates, private = [], 0
    for one, other in differing_pairs():
        public = [Hasher(shingle, seed).params.key for seed in range(2000)]
        rates.append(np.mean([hashing.hash_bytes(one, key) == hashing.hash_bytes(other, key) for key in public]))
        keys = [Hasher.private(shingle).params.key for _ in range(2000)]
        private += sum(hashing.hash_bytes(one, key) == hashing.hash_bytes(other, key) for key in keys)
    assert max(rates) > 0.4
    assert private == 0
