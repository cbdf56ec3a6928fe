"""The default sketch where its shortcuts begin: more than one chunk, slots left empty, documents of one shingle."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.twins import hashing
from tests.twins import sketching as twin
from tests.twins.blocks import hasher_of, packed, sketched

from neardup.kernels.sketching import EMPTY, sketch_block

CHUNK = 2048
SLOTS = [2, 3, 16, 64, 100, 128, 129, 256]


def check(shingle: str, blobs: list[bytes], slots: int, rounds: int) -> np.ndarray:
    block = packed(blobs, 0xBF)
    fast, fast_counts = sketched(hasher_of(shingle), block, slots, rounds, sketch_block)
    slow, slow_counts = sketched(hasher_of(shingle), block, slots, rounds, twin.sketch_block)
    assert fast_counts.tolist() == slow_counts.tolist()
    assert fast.tolist() == slow.tolist()
    return fast


@pytest.mark.parametrize("slots", SLOTS)
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_documents_that_fill_all_slots_some_and_one(slots, rounds):
    distinct = ["".join(f"{i} " for i in range(n)).encode() for n in (1, 2, 5, 40, 150)]
    check("char:5", distinct, slots, rounds)


@pytest.mark.parametrize("slots", [2, 16, 129, 256])
@pytest.mark.parametrize("count", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 1])
def test_documents_of_about_a_chunk(slots, count):
    digits = "".join(str(i) for i in range(2 * CHUNK)).encode()
    check("byte:9", [digits[: count + 8]], slots, 2)
    check("char:9", [digits[: count + 8]], slots, 2)
    check("word:1", [b" ".join(b"%d" % i for i in range(count))], slots, 2)
    check("item", [b"\xff".join(b"%d" % i for i in range(count))], slots, 2)


@pytest.mark.parametrize(("slots", "rounds"), [(1, 2), (7, 2), (64, 2), (100, 2), (128, 2), (128, 3), (256, 3)])
def test_sets_of_sizes_at_which_slots_are_filled_in_another_way(slots, rounds):
    """All slots at once or the empty ones, in vectors of slots or of hashes, one chunk or more; and repeats of few."""
    draw = random.Random(slots)
    sizes = [0, 1, 2, 3, *range(17, 34), 63, 64, 65, 127, 128, 129, 300, 1023, 1024, 1025, *range(2047, 2051)]
    blobs = [b"\xff".join(b"%x" % draw.getrandbits(64) for _ in range(size)) for size in sizes]
    for kinds in (1, 2, 3, 20):
        few = [b"%x" % draw.getrandbits(64) for _ in range(kinds)]
        blobs += [b"\xff".join(draw.choice(few) for _ in range(size)) for size in sizes]
    check("item", blobs, slots, rounds)


@pytest.mark.parametrize("slots", [100, 128])
def test_a_hash_of_zero_is_not_taken_for_one_seen_before(slots):
    """A long document of few shingles drops those that it has just seen; the table of these begins without any."""
    key = hasher_of("item").params.key
    made = [hashing.bytes_with_hash(h, key) for h in (0, 1, 256, 512)]
    items = [item for item in made if b"\xff" not in item]
    assert made[0] in items
    check("item", [b"\xff".join(items * CHUNK), b"\xff".join([made[0]] * 2 * CHUNK)], slots, 3)


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("period", [1, 2, 3, 50, 400])
def test_long_documents_of_few_shingles_take_the_second_pass(period, rounds):
    """Slots stay empty after many chunks, so later rounds read the document again; the repeats must change nothing."""
    text = ("".join(chr(97 + i * i % 26) for i in range(period)) * (3 * CHUNK // period + 2)).encode()
    wide = text.replace(b"a", "é".encode())
    check("char:5", [text, wide, b"x" + text], 256, rounds)
    check("word:1", [b" ".join(b"%d" % (i % period) for i in range(2 * CHUNK))], 129, rounds)


def test_a_long_document_skips_only_hashes_that_change_nothing():
    """Past the first chunk only hashes below the largest slot value are thrown; ten chunks of distinct shingles."""
    blob = b"\xff".join(b"%d" % (i * 7919) for i in range(10 * CHUNK))
    for slots in (2, 64, 256):
        check("item", [blob], slots, 2)


@pytest.mark.parametrize("below", [0, 1])
def test_a_hash_one_below_the_largest_slot_still_lowers_it_in_a_later_chunk(below):
    """Items made for their hashes, two slots: a first chunk that leaves a large value, then one more item."""
    key = hasher_of("item").params.key

    def item(slot: int, value: int) -> bytes:
        return hashing.bytes_with_hash(slot << 63 | value, key)

    large = next(v for v in range(2**30, 2**31) if all(b"\xff" not in item(1, u) for u in (v, v - 1)))
    low = [made for made in (item(0, v) for v in range(10 * CHUNK)) if b"\xff" not in made][: CHUNK - 1]
    values = check("item", [b"\xff".join([item(1, large), *low, item(1, large - below)])], 2, 2)
    assert values[0, 1] == large - below


def test_slots_hold_values_of_earlier_rounds_below_those_of_later_ones():
    values = check("char:3", [b"abcdefg"], 64, 2)[0]
    rounds = (values >= 0x80000000).astype(int) + (values >= 0xC0000000)
    assert set(rounds.tolist()) == {0, 1, 2}
    assert (values < EMPTY).all()


@pytest.mark.parametrize("shingle", ["byte:3", "char:3", "word:3", "word:1", "item"])
def test_only_empty_documents_have_empty_slots_and_the_count_zero(shingle):
    values, counts = sketched(hasher_of(shingle), packed([b"", b"a", b"", b" ", b""]), 16, 2, sketch_block)
    assert (values == EMPTY).any(axis=1).tolist() == [True, False, True, False, True]
    assert (values == EMPTY).all(axis=1).tolist() == [True, False, True, False, True]
    assert counts[[0, 2, 4]].tolist() == [0, 0, 0]


def test_a_set_of_empty_items_is_empty():
    values, counts = sketched(hasher_of("item"), packed([b"\xff\xff"]), 16, 2, sketch_block)
    assert (values == EMPTY).all()
    assert counts.tolist() == [0]


@pytest.mark.parametrize(
    ("shingle", "counts"), [("byte:4", [-1, 1, 2, 5]), ("char:4", [-1, -1, 1, 3]), ("word:2", [-1] * 4)]
)
def test_counts_say_minus_one_for_a_short_document(shingle, counts):
    blobs = ["abc", "abé", "abéd", "日aaaaa"]
    got = sketched(hasher_of(shingle), packed([text.encode() for text in blobs]), 16, 2, sketch_block)[1]
    assert got.tolist() == counts


def test_a_signature_does_not_depend_on_the_documents_around_it():
    blobs = [b"", b"one two three", b"x" * 5000, "日本語".encode() * 900, b"?", b"one two three four"]
    together = sketched(hasher_of("char:5"), packed(blobs), 128, 2, sketch_block)[0]
    backwards = sketched(hasher_of("char:5"), packed(blobs[::-1]), 128, 2, sketch_block)[0]
    alone = [sketched(hasher_of("char:5"), packed([blob]), 128, 2, sketch_block)[0][0] for blob in blobs]
    assert together.tolist() == [row.tolist() for row in alone]
    assert backwards[::-1].tolist() == together.tolist()


@pytest.mark.parametrize("slots", SLOTS)
def test_signatures_of_unions_are_the_smaller_values_across_sizes(slots):
    """A set of 3 and one of 5,000: one fills its slots in the last round, the other in the first."""
    few, many = [b"\xff".join(b"%d" % i for i in part) for part in (range(3), range(2, 5000))]
    values = sketched(hasher_of("item"), packed([few, many, few + b"\xff" + many]), slots, 2, sketch_block)[0]
    assert values[2].tolist() == np.minimum(values[0], values[1]).tolist()
