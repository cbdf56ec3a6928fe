"""The kernels of datasketch's sketches against their twins, at the edges of their arithmetic."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.twins import datasketch as twin

from neardup.kernels import datasketch

EDGES = [0, 1, 2**31, 2**32 - 1, 2**32, 2**61 - 2, 2**61 - 1, 2**61, 2**63, 2**64 - 1]
WORD = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**64 - 1))


def laid_out(tokens: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(tokens), dtype=np.uint8), np.cumsum([0, *map(len, tokens)])


def test_the_sha1_of_every_length_is_that_of_hashlib():
    """Lengths past three blocks; the padding needs one more from 56 bytes on, and again from 120."""
    tokens = [bytes(range(256))[:n] for n in range(200)] + [b"\xff" * n for n in (55, 56, 63, 64, 119, 120, 5000)]
    out = np.zeros(len(tokens), dtype=np.uint64)
    datasketch.sha1(*laid_out(tokens), out)
    assert out.tolist() == [int.from_bytes(hashlib.sha1(token).digest()[:8], "little") for token in tokens]


@given(st.lists(st.binary(max_size=70), max_size=5))
def test_the_sha1_of_a_token_does_not_depend_on_those_beside_it(tokens):
    fast, slow = (np.zeros(len(tokens), dtype=np.uint64) for _ in range(2))
    datasketch.sha1(*laid_out(tokens), fast)
    twin.sha1(*laid_out(tokens), slow)
    assert fast.tolist() == slow.tolist()


@pytest.mark.parametrize(("scheme", "dtype"), [("legacy", np.uint64), ("affine32", np.uint32), ("affine64", np.uint64)])
def test_permutations_are_those_of_big_integers_at_every_edge(scheme, dtype):
    """Each edge as hash, as factor and as summand; a set of all edges, an empty one, and one edge a set."""
    hashes = np.array([*EDGES, *EDGES], dtype=np.uint64)
    offsets = np.array([0, len(EDGES), *range(len(EDGES), 2 * len(EDGES) + 1)])
    most = 1 << 8 * np.dtype(dtype).itemsize
    a, b = (
        np.array(side, dtype=dtype) for side in zip(*((x % most, y % most) for x in EDGES for y in EDGES), strict=True)
    )
    for parameters in (a, b):
        parameters.flags.writeable = False
    start = 2**32 - 1 if scheme == "legacy" else most - 1
    fast, slow = (np.full((offsets.size - 1, a.size), start, dtype=dtype) for _ in range(2))
    getattr(datasketch, f"lower_{scheme}")(hashes, offsets, a, b, fast)
    getattr(twin, f"lower_{scheme}")(hashes, offsets, a, b, slow)
    assert fast.tolist() == slow.tolist()
    assert (fast[1] == start).all()


@given(
    st.lists(st.dictionaries(st.integers(0, 6), st.floats(1 / 64, 1e6, width=32), max_size=7), max_size=4),
    st.integers(0, 9),
)
def test_weighted_samples_are_those_of_single_numbers(vectors, seed):
    generator = np.random.default_rng(seed)
    rs, ln_cs, betas = (generator.gamma(2, 1, (5, 7)).astype(np.float32) for _ in range(3))
    dimensions = np.array([k for vector in vectors for k in vector], dtype=np.int64)
    logs = np.log(np.array([weight for vector in vectors for weight in vector.values()], dtype=np.float32))
    offsets = np.cumsum([0, *map(len, vectors)], dtype=np.int64)
    fast, slow = (np.full((len(vectors), 5, 2), -1, dtype=np.int64) for _ in range(2))
    datasketch.weigh(dimensions, logs, offsets, rs, ln_cs, betas, fast)
    twin.weigh(dimensions, logs, offsets, rs, ln_cs, betas, slow)
    assert fast.tolist() == slow.tolist()


@given(st.lists(WORD, max_size=20), st.sampled_from([(4, 32), (4, 64), (16, 32), (16, 64), (8, 64)]))
def test_registers_are_those_of_big_integers(hashes, shape):
    precision, width = shape
    values = np.array([h % 2**width for h in hashes], dtype=np.uint64)
    fast, slow = (np.zeros(1 << precision, dtype=np.int8) for _ in range(2))
    datasketch.raise_registers(values, precision, width, fast)
    twin.raise_registers(values, precision, width, slow)
    assert fast.tolist() == slow.tolist()
