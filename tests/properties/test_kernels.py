"""Every kernel gives what its plain twin gives, on documents made to break it.

A fast path skips work whose result is known; it is never another algorithm. The twins are in ``tests.twins``, the
documents in ``tests.properties.hostile``; cases found by thought are in ``tests/unit/test_kernels_*.py``.
"""

from __future__ import annotations

import itertools
from itertools import pairwise

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.properties import hostile
from tests.twins import banding, classical, copies, graph, hashing, normal, screening, sketching, verify
from tests.twins.blocks import POISONS, built, filled, hasher_of, needed, packed, sketched
from tests.unit.starring import starred

from neardup.kernels import banding as fast_banding
from neardup.kernels import classical as fast_classical
from neardup.kernels import copies as fast_copies
from neardup.kernels import graph as fast_graph
from neardup.kernels import hashing as fast_hashing
from neardup.kernels import screening as fast_screening
from neardup.kernels import sketching as fast_sketching
from neardup.kernels import utf8 as fast_utf8
from neardup.kernels import verify as fast_verify
from neardup.params import Bands
from neardup.stages.bands import (
    KEY_BYTES,
    Leading,
    as_numbers,
    first_bands,
    group,
    grouped,
    put_short_keys,
    short_keys,
)
from neardup.types import PaddedSets

EXAMPLES = settings(max_examples=60)
EMPTY = 0xFFFFFFFF


# Hashing


@given(
    st.lists(hostile.blobs(), min_size=1, max_size=3),
    hostile.SHINGLES,
    hostile.SEEDS,
    st.sampled_from(POISONS),
)
def test_the_hashes_of_a_document_are_those_of_its_shingles_in_order(blobs, shingle, seed, poison):
    hasher, block = hasher_of(shingle, seed), packed(blobs, poison)
    for i, blob in enumerate(blobs):
        expected = hashing.shingle_hashes(hasher.params, blob)
        assert filled(hasher, block, i) == expected


@EXAMPLES
@given(st.lists(hostile.items(), min_size=1, max_size=3), hostile.SEEDS, st.sampled_from(POISONS))
def test_the_hashes_of_a_set_are_those_of_its_items_in_order(blobs, seed, poison):
    hasher, block = hasher_of("item", seed), packed(blobs, poison)
    for i, blob in enumerate(blobs):
        assert filled(hasher, block, i) == [hashing.hash_bytes(x, hasher.params.key) for x in blob.split(b"\xff") if x]


@EXAMPLES
@given(hostile.damaged(), hostile.SHINGLES)
def test_damaged_utf8_ends_stays_inside_and_does_not_see_its_neighbours(blob, shingle):
    hasher = hasher_of(shingle)
    results = [filled(hasher, packed([b"x", blob], poison), 1) for poison in POISONS]
    assert all(result == results[0] for result in results)
    if hasher.params.kind == hashing.BYTE:
        assert results[0] == hashing.shingle_hashes(hasher.params, blob)


@EXAMPLES
@given(st.lists(st.one_of(hostile.blobs(), st.binary(max_size=70)), max_size=6), st.sampled_from(POISONS))
def test_fingerprints_are_those_of_the_twin(blobs, poison):
    block = packed(blobs, poison)
    fast, slow = (np.zeros((len(blobs), 2), dtype=np.uint64) for _ in range(2))
    fast_hashing.fingerprint(block.data, block.offsets, fast)
    hashing.fingerprint(block.data, block.offsets, slow)
    assert fast.tolist() == slow.tolist()


# Sketching


@given(
    st.lists(hostile.blobs(), min_size=1, max_size=3),
    hostile.SHINGLES,
    hostile.SLOTS,
    hostile.ROUNDS,
    hostile.SEEDS,
    st.sampled_from(POISONS),
)
def test_signatures_and_counts_are_those_of_the_twin(blobs, shingle, slots, rounds, seed, poison):
    hasher, block = hasher_of(shingle, seed), packed(blobs, poison)
    fast, fast_counts = sketched(hasher, block, slots, rounds, fast_sketching.sketch_block)
    slow, slow_counts = sketched(hasher, block, slots, rounds, sketching.sketch_block)
    assert fast_counts.tolist() == slow_counts.tolist()
    assert fast.tolist() == slow.tolist()


@EXAMPLES
@given(hostile.items(), hostile.items(), hostile.SLOTS, hostile.ROUNDS)
def test_the_signature_of_a_union_is_the_smaller_value_of_each_slot(a, b, slots, rounds):
    hasher, block = hasher_of("item"), packed([a, b, a + b"\xff" + b, b + b"\xff" + a + b"\xff" + a])
    values, counts = sketched(hasher, block, slots, rounds, fast_sketching.sketch_block)
    assert values[2].tolist() == np.minimum(values[0], values[1]).tolist()
    assert values[3].tolist() == values[2].tolist(), "order and repeats do not matter"
    assert [bool((row == EMPTY).any()) for row in values] == [count == 0 for count in counts]
    assert values.tolist() == sketched(hasher, block, slots, rounds, sketching.sketch_block)[0].tolist()


@EXAMPLES
@given(hostile.damaged(), hostile.SHINGLES, hostile.SLOTS)
def test_only_a_document_without_shingles_has_empty_slots(blob, shingle, slots):
    block = packed([blob, b""])
    values, counts = sketched(hasher_of(shingle), block, slots, 2, fast_sketching.sketch_block)
    assert counts[1] == 0
    assert (values[1] == EMPTY).all()
    assert (counts[0] == 0) == (len(blob) == 0)
    assert bool((values[0] == EMPTY).any()) == (len(blob) == 0)


# Exact sets and their check


@given(
    st.lists(hostile.blobs(), min_size=1, max_size=4),
    hostile.SHINGLES,
    st.randoms(),
    st.sampled_from(POISONS),
)
def test_sets_are_the_sorted_distinct_hashes(blobs, shingle, random, poison):
    hasher, block = hasher_of(shingle), packed(blobs, poison)
    docs = [random.randrange(len(blobs)) for _ in range(5)]
    assert built(hasher, block, docs, fast_verify.build_sets) == built(hasher, block, docs, verify.build_sets)


@EXAMPLES
@given(
    st.lists(
        st.one_of(st.integers(0, 3000), st.integers(2**64 - 300, 2**64 - 1), st.integers(0, 2**64 - 1)),
        max_size=300,
    ),
    st.integers(1, 3),
)
def test_sets_of_chosen_hashes_are_sorted_and_distinct_whatever_their_bits(values, repeats):
    """Items of eight bytes whose hashes are the numbers drawn; a few preimages hold the separator and are left out."""
    hasher = hasher_of("item")
    made = [hashing.bytes_with_hash(value, hasher.params.key) for value in values * repeats]
    block = packed([b"\xff".join(item for item in made if b"\xff" not in item)])
    assert built(hasher, block, [0], fast_verify.build_sets) == built(hasher, block, [0], verify.build_sets)


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(1, 100).map(lambda x: x / 100))
def test_the_needed_overlap_suffices_and_one_less_does_not(size_a, size_b, threshold):
    least, total = needed(size_a, size_b, threshold), size_a + size_b
    assert least == verify.overlap_needed(size_a, size_b, threshold)
    assert least == 0 or (least - 1) / (total - least + 1) < threshold
    assert least == total or least / (total - least) >= threshold


def test_the_needed_overlap_is_exact_at_every_decimal():
    for step in range(1, 101):
        t = step / 100
        for union in range(1, 101):
            if union * step % 100 == 0:
                common = union * step // 100
                assert needed(common, union, t) == common, f"{common} of {union} at {t}"


@st.composite
def pairs_of_sets(draw: st.DrawFn) -> list[list[int]]:
    """Rising sets of which many share a lot."""
    pool = draw(st.sampled_from([40, 400, 3000]))
    base = st.integers(0, pool)
    sets = draw(st.lists(st.sets(base, max_size=120), min_size=2, max_size=5))
    shared = set(range(draw(st.integers(0, pool))))
    return [sorted(one | shared) if draw(st.booleans()) else sorted(one) for one in sets]


@given(pairs_of_sets(), st.one_of(st.sampled_from([0.0, 1.0, 0.5, 0.7, 0.8]), st.floats(0.001, 1.0)))
def test_checked_pairs_have_the_similarity_of_the_twin(sets, threshold):
    sizes = np.array([len(one) for one in sets], dtype=np.int64)
    starts = np.cumsum([0, *sizes], dtype=np.int64)
    flat = np.array([x * 0x123456789AB for one in sets for x in one], dtype=np.uint64)
    left, right = (np.array(side, dtype=np.int64) for side in np.indices((len(sets),) * 2).reshape(2, -1))
    fast, slow = np.empty(left.size), np.empty(left.size)
    padded = PaddedSets(starts, sizes, flat)
    fast_verify.check_pairs(left, right, padded, padded, threshold, False, fast)
    verify.check_pairs(left, right, padded, padded, threshold, slow)
    assert fast.tolist() == slow.tolist()


# Banding


@given(
    st.integers(0, 5000),
    st.sampled_from([1, 2, 30, 1000, 10**6]),
    st.sampled_from([0, 31, 37]),
    st.integers(0, 9),
)
def test_buckets_are_the_groups_of_a_dict(n, distinct, shift, seed):
    """Keys few and many, spread and crowded into one part or the low bits of one table."""
    draw = np.random.default_rng(seed)
    skew = (draw.random(n) ** 3 * distinct).astype(np.uint64)
    keys = (skew << np.uint64(shift) if shift else skew * np.uint64(hashing.M1)) & np.uint64(2**40 - 1)
    rows = draw.permutation(2 * n + 1)[:n].astype(np.int64)
    array = np.ascontiguousarray(keys.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 3:])
    buckets = group(array, rows, np.ones(2 * n + 1, dtype=np.int32), limit=n)
    found = [tuple(buckets.members[a:b].tolist()) for a, b in itertools.pairwise(buckets.starts.tolist())]
    assert set(found) == banding.buckets(keys, rows)
    assert len(found) == len(set(found))
    assert buckets.starts[0] == 0
    assert buckets.starts[-1] == buckets.members.size


@st.composite
def signatures(draw: st.DrawFn, *, most: int = 24) -> np.ndarray:
    """Few values in few slots, so that many agree."""
    n, slots = draw(st.integers(1, most)), draw(st.sampled_from([2, 6, 12, 64, 67]))
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = generator.integers(0, draw(st.sampled_from([1, 2, 4])), (n, slots))
    return np.ascontiguousarray(values.astype(np.uint32) + np.uint32(draw(st.sampled_from([0, EMPTY - 8]))))


@EXAMPLES
@given(signatures(), st.data())
def test_band_keys_are_those_of_the_twin(values, data):
    width = data.draw(st.integers(1, values.shape[1]))
    fast = np.empty((values.shape[1] // width, len(values)), np.uint64)
    fast_banding.all_keys(values, width, fast)
    slow = np.empty_like(fast)
    for band, keys in enumerate(slow):
        banding.band_keys(values, np.arange(len(values)), band * width, width, keys)
    assert fast.tolist() == slow.tolist()


@given(signatures(), st.data())
def test_pairs_of_buckets_are_those_of_the_twin_however_little_room_there_is(values, data):
    n, slots = values.shape
    width = data.draw(st.sampled_from([1, 2, 3]))
    band = data.draw(st.integers(-1, slots // width - 1))
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    members = generator.permutation(n).astype(np.int64)
    cuts = sorted(data.draw(st.sets(st.integers(1, n), max_size=4)) | {0, n})
    starts = np.array(cuts, dtype=np.int64)
    crowd = generator.integers(-1, 2, n).astype(np.int32)
    least = data.draw(st.integers(0, slots))
    by_crowd = data.draw(st.booleans())
    if by_crowd:
        for begin, end in itertools.pairwise(cuts):
            part = members[begin:end]
            members[begin:end] = part[np.argsort(crowd[part], kind="stable")]
    question = (members, starts, values, band, width, least, crowd, by_crowd)
    expected = banding.bucket_pairs(*question)
    for room in (1, 2, 7, 10_000):
        assert drained(question, room) == expected


def drained(question, room):
    """All pairs of ``bucket_pairs`` taken in rooms of one size, and the candidates it met."""
    state = np.array([0, 0, 1, 0, 0], dtype=np.int64)
    pairs = []
    for _ in range(10_000):
        left, right = np.full(room, -1, dtype=np.int64), np.full(room, -1, dtype=np.int64)
        count = fast_banding.bucket_pairs(*question, state, left, right)
        assert state[4] or count == room
        assert (left[count:] == -1).all()
        pairs.extend(zip(left[:count].tolist(), right[:count].tolist(), strict=True))
        if state[4]:
            return pairs, int(state[3])
    raise AssertionError("bucket_pairs does not end")


@given(signatures(), st.data())
def test_leaders_are_those_of_the_twin(values, data):
    n, slots = values.shape
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    members = generator.permutation(n)[: data.draw(st.integers(0, n))].astype(np.int64)
    known = generator.permutation(n)[: data.draw(st.integers(0, 3))].astype(np.int64)
    leader = np.where(generator.random(n) < 0.2, 0, -1).astype(np.int32)
    most, least = data.draw(st.integers(1, 6)), data.draw(st.integers(0, slots))
    slow = np.full(members.size, -7, dtype=np.int64)
    banding.star_leaders(members, values, leader, known, most, least, slow)
    is_free = leader[members] < 0
    assert set(slow[~is_free].tolist()) <= {-1}
    for pieces in (1, 3):
        leading = Leading(known, values[known], most=most, min_matches=least)
        parts = [leading.nearest(part, values[part]) for part in np.array_split(members[is_free], pieces)]
        assert np.concatenate(parts).tolist() == slow[is_free].tolist()
    assert len(set(slow.tolist()) - {-1}) <= most


@given(signatures(), st.integers(1, 3), st.integers(0, 10**6))
def test_first_bands_are_those_of_the_definition(values, width, seed):
    n, slots = values.shape
    bands = Bands(max(1, slots // width), min(width, slots))
    generator = np.random.default_rng(seed)
    left, right = generator.integers(0, n, 20), generator.integers(0, n, 20)
    first, same = first_bands(values, left, right, bands)
    for a, b, band, agree in zip(left.tolist(), right.tolist(), first.tolist(), same.tolist(), strict=True):
        agreeing = [i for i in range(bands.bands) if banding.agree(values, a, b, i, bands.rows)]
        assert band == (agreeing[0] if agreeing else bands.bands)
        assert agree == banding.matches(values, a, b)


@given(
    st.lists(st.tuples(st.integers(0, 2**40 - 1), st.integers(0, 2)), max_size=60),
    st.lists(st.integers(0, 2**40 - 1), min_size=1, max_size=4),
    st.integers(1, 512),
    st.integers(1, 9),
)
def test_groups_of_short_keys_are_those_of_a_dict_in_whatever_parts_they_are_found(rows, shared, parts, block):
    keys = [shared[i % len(shared)] if i % 3 == 0 else key for i, (key, _) in enumerate(rows)]
    weight = np.array([few for _, few in rows], dtype=np.int32)
    array = np.array([list(key.to_bytes(KEY_BYTES, "big")) for key in keys], np.uint8).reshape(-1, KEY_BYTES)
    assert as_numbers(array).tolist() == keys

    def blocks():
        return ((first, array[first : first + block]) for first in range(0, len(keys), block))

    found = []
    for part in range(parts):
        members, starts = grouped(blocks, weight, part, parts)
        found += [members[a:b].tolist() for a, b in pairwise(starts.tolist())]
    expected: dict[int, list[int]] = {}
    for row, key in enumerate(keys):
        if weight[row]:
            expected.setdefault(key, []).append(row)
    assert sorted(found) == sorted(group for group in expected.values() if len(group) > 1)


@given(signatures(), st.integers(1, 3), st.integers(0, 5))
def test_short_keys_are_multilinear_hashes_of_the_slots(values, width, first):
    """The definition in whole numbers of Python: constants, the sum, one multiplication, the highest 40 bits."""
    n, slots = values.shape
    bands = Bands(max(1, slots // width), min(width, slots))
    keys = np.zeros((bands.bands, n + first, KEY_BYTES), np.uint8)
    put_short_keys(values, bands, first, keys)
    assert keys[:, first:].tolist() == short_keys(values, bands).tolist()
    for row in range(n):
        for band in range(bands.bands):
            total = band
            for s in range(band * bands.rows, (band + 1) * bands.rows):
                total += (mix64((s + 1) * 0x9E3779B97F4A7C15 % 2**64) | 1) * int(values[row, s])
            total %= 2**64
            expected = ((total ^ (total >> 32)) * 0xFF51AFD7ED558CCD % 2**64) >> 24
            assert int.from_bytes(keys[band, first + row].tobytes(), "big") == expected


def mix64(x: int) -> int:
    """method.md: the bijection that hashes are mixed by."""
    x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93 % 2**64
    x = (x ^ (x >> 29)) * 0xFF51AFD7ED558CCD % 2**64
    return x ^ (x >> 32)


# Graphs


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, np.ndarray, np.ndarray]:
    """Sparse, dense, chained or starred; no loops, repeated edges allowed."""
    n = draw(st.integers(1, 40))
    row = st.integers(0, n - 1)
    edges = [(min(p), max(p)) for p in draw(st.lists(st.tuples(row, row), max_size=80)) if p[0] != p[1]]
    if draw(st.booleans()):
        edges += [(i, i + 1) for i in range(n - 1)][:: draw(st.integers(1, 3))]
    sides = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return n, np.ascontiguousarray(sides[0]), np.ascontiguousarray(sides[1])


@given(graphs(), st.integers(0, 10**6))
def test_components_and_stars_are_those_of_the_twins(graph_of, seed):
    n, left, right = graph_of
    order = np.random.default_rng(seed).permutation(n).astype(np.int64)
    assert fast_graph.components(left, right, n).tolist() == graph.components(left, right, n)
    keeper, _ = starred(left, right, order, pieces=1 + seed % 4)
    assert keeper == graph.stars(left, right, order, n)
    fixed = set(order[: seed % 3].tolist()) | set(order[n // 2 : n // 2 + seed % 2].tolist())
    assert starred(left, right, order, fixed=fixed)[0] == graph.stars(left, right, order, n, fixed)
    edges = {frozenset(edge) for edge in zip(left.tolist(), right.tolist(), strict=True)}
    keepers = set(keeper)
    assert all(keeper[row] == row or frozenset((row, keeper[row])) in edges for row in range(n))
    assert not any(edge <= keepers for edge in edges), "two keepers are neighbours"


@EXAMPLES
@given(graphs(), st.integers(0, 60), st.integers(0, 10**6))
def test_runs_of_pairs_keep_to_their_budget(graph_of, budget, seed):
    n, left, right = graph_of
    assume(left.size)
    cost = np.random.default_rng(seed).integers(0, 20, n).astype(np.int64)
    seen = np.full(n, -1, dtype=np.int64)
    begin = 0
    while begin < left.size:
        end = fast_graph.reach(left, right, cost, begin, budget, seen)
        assert end == graph.reach(left, right, cost, begin, budget)
        begin = end


# Copies spelled out


@EXAMPLES
@given(st.lists(st.integers(1, 5), min_size=2, max_size=8), st.integers(0, 10**6))
def test_copies_are_spelled_out_as_the_twin_spells_them(sizes, seed):
    draw = np.random.default_rng(seed)
    starts = np.cumsum([0, *sizes], dtype=np.int64)
    members = draw.permutation(int(starts[-1])).astype(np.int64)
    for begin, end in itertools.pairwise(starts.tolist()):
        members[begin:end].sort()
    edges = draw.permutation(list(itertools.combinations(range(len(sizes)), 2)))[:6].astype(np.int64)
    left, right = np.ascontiguousarray(edges[:, 0]), np.ascontiguousarray(edges[:, 1])
    similarity = draw.random(left.size)
    fast = fast_copies.cross_copies(left, right, similarity, starts, members)
    slow = copies.cross_copies(left, right, similarity, starts, members)
    assert [column.tolist() for column in fast] == slow
    rows = draw.permutation(len(sizes))[:4].astype(np.int64)
    inside = fast_copies.pair_copies(rows, starts, members)
    assert [column.tolist() for column in inside] == copies.pair_copies(rows, starts, members)


# Bytes of blocks


@given(
    st.lists(st.one_of(hostile.blobs(), st.binary(max_size=150)), min_size=1, max_size=4),
    st.sampled_from(POISONS),
)
def test_ascii_is_told_from_the_rest(blobs, poison):
    block = packed(blobs, poison)
    for begin, end in zip(block.offsets[:-1].tolist(), block.offsets[1:].tolist(), strict=True):
        expected = normal.is_ascii(block.data, begin, end)
        assert fast_utf8.is_ascii(block.data, begin, end) == expected


# The families of the literature

ODD = st.one_of(st.integers(0, 3), st.integers(2**61 - 3, 2**61 + 3), st.integers(2**64 - 3, 2**64 - 1))
WORD64 = st.one_of(ODD, st.integers(0, 2**64 - 1))
BELOW = st.one_of(st.sampled_from([0, 1, 2, 2**32 - 1, 2**32, 2**61 - 2]), st.integers(0, 2**61 - 2))


@given(
    st.lists(st.lists(WORD64, max_size=12), min_size=1, max_size=4),
    st.lists(st.tuples(WORD64, BELOW, BELOW), min_size=1, max_size=5),
)
def test_classical_families_are_those_of_big_integers(sets, coefficients):
    hashes = np.array([h for one in sets for h in one], dtype=np.uint64)
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    keys, a, b = (np.array(column, dtype=np.uint64) for column in zip(*coefficients, strict=True))
    fast, slow = (np.zeros((len(sets), keys.size), dtype=np.uint32) for _ in range(2))
    fast_classical.independent(hashes, offsets, keys, fast)
    classical.independent(hashes, offsets, keys, slow)
    assert fast.tolist() == slow.tolist()
    fast_classical.universal(hashes, offsets, a, b, fast)
    classical.universal(hashes, offsets, a, b, slow)
    assert fast.tolist() == slow.tolist()
    for key in keys:
        fast_classical.one_permutation(hashes, offsets, key, fast)
        classical.one_permutation(hashes, offsets, key, slow)
        assert fast.tolist() == slow.tolist()


@EXAMPLES
@given(st.lists(st.sets(st.integers(0, 30)), min_size=1, max_size=5), st.integers(0, 10**6))
def test_least_ranks_are_those_of_the_twin(sets, seed):
    index = np.array([x for one in sets for x in one], dtype=np.int64)
    offsets = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    ranks = np.random.default_rng(seed).permutation(31).astype(np.uint32)
    fast, slow = np.zeros(len(sets), dtype=np.uint32), np.zeros(len(sets), dtype=np.uint32)
    fast_classical.least_rank(ranks, index, offsets, fast)
    classical.least_rank(ranks, index, offsets, slow)
    assert fast.tolist() == slow.tolist()


# Screening


@st.composite
def fields_of_documents(draw: st.DrawFn):
    """Signatures in which many slots agree, and which of their fields are kept."""
    width = draw(st.sampled_from([1, 2, 4, 8]))
    slots = draw(st.integers(1, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pattern = rng.integers(0, 2**32, slots, dtype=np.uint32)
    values = np.tile(pattern, (draw(st.integers(1, 9)), 1))
    values ^= np.where(rng.random(values.shape) < 0.3, rng.integers(0, 2**32, values.shape), 0).astype(np.uint32)
    return values, draw(st.integers(1, slots)), width


def bits_by_both(values, fields, width):
    """The bits of signatures, by kernel and by twin, with a row before them that nobody may touch."""
    words = -(-fields * width // 64)
    fast, slow = (np.full((1 + len(values), words), 7, dtype=np.uint64) for _ in range(2))
    fast_screening.put_bits(values, fields, width, 1, fast)
    screening.put_bits(values, fields, width, 1, slow)
    assert fast.tolist() == slow.tolist()
    return fast[1:].copy()


@EXAMPLES
@given(fields_of_documents())
def test_fields_are_counted_as_the_twin_counts_them(documents):
    values, fields, width = documents
    bits = bits_by_both(values, fields, width)
    left, right = (side.ravel().astype(np.int64) for side in np.indices((len(values), len(values))))
    fast, slow = (np.full(left.size, -7) for _ in range(2))
    fast_screening.count_apart(bits, left, bits[::-1].copy(), right, width, fast)
    screening.count_apart(bits, left, bits[::-1].copy(), right, width, slow)
    assert fast.tolist() == slow.tolist()
    assert fast.tolist() == [
        sum(x % 2**width != y % 2**width for x, y in zip(values[a, :fields], values[len(values) - 1 - b], strict=False))
        for a, b in zip(left, right, strict=True)
    ]


@EXAMPLES
@given(fields_of_documents(), st.data())
def test_near_pairs_of_buckets_are_those_of_the_twin_call_by_call(documents, data):
    values, fields, width = documents
    bits = bits_by_both(values, fields, width)
    largest = data.draw(st.integers(2, 5))
    buckets = data.draw(st.lists(st.sets(st.integers(0, len(values) - 1), min_size=1), max_size=8))
    members = np.array([row for bucket in buckets for row in sorted(bucket)], dtype=np.int64)
    starts = np.cumsum([0, *map(len, buckets)], dtype=np.int64)
    room = data.draw(st.integers(largest * (largest - 1) // 2, 30))
    known = bits if data.draw(st.booleans()) else bits[:0]
    args = (members, starts, largest, known, width, data.draw(st.integers(0, fields)))
    states, calls = np.zeros((2, 2), dtype=np.int64), 0
    while states[0, 0] < len(buckets):
        sides, counts = np.full((2, 2, room), -7), []
        for by, near_pairs in enumerate((fast_screening.near_pairs, screening.near_pairs)):
            counts.append(near_pairs(*args, states[by], *sides[by]))
        assert counts[0] == counts[1]
        assert sides[0, :, : counts[0]].tolist() == sides[1, :, : counts[1]].tolist()
        assert states[0].tolist() == states[1].tolist()
        calls += 1
        assert calls <= len(buckets)
    assert states[0, 1] == sum(len(some) * (len(some) - 1) // 2 for some in buckets if len(some) <= largest)
