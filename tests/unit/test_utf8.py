"""The UTF-8 kernel says what Python's strict decoder says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels.utf8 import invalid_at, is_ascii

EDGES = bytes.fromhex("00417f808f909fa0bfc0c1c2dfe0e1eceeedeff0f1f3f4f5f7f8ff")


def where(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as exc:
        return exc.start
    return -1


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(data), dtype=np.uint8)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_every_combination_of_edge_bytes(length: int) -> None:
    for combination in itertools.product(EDGES, repeat=length):
        for before, after in ((b"", b""), (b"abcdefg", b"z"), (b"", b"zzzzzzzzz")):
            data = before + bytes(combination) + after
            assert invalid_at(array(data), 0, len(data)) == where(data)


def test_edges_of_four_byte_sequences() -> None:
    for lead, *rest in itertools.product(EDGES[-9:], EDGES, EDGES[3:10], EDGES[3:10]):
        data = bytes((lead, *rest)) + b"z"
        assert invalid_at(array(data), 0, len(data)) == where(data)


@given(st.lists(st.sampled_from(["a", "é", "中", "😀", "\ud800", "\udfff"]), max_size=30), st.binary(max_size=4))
def test_long_runs_with_a_damaged_end(characters: list[str], end: bytes) -> None:
    data = "".join(characters).encode("utf-8", "surrogatepass") + end
    assert invalid_at(array(data), 0, len(data)) == where(data)
    assert is_ascii(array(data), 0, len(data)) == data.isascii()


def test_bytes_outside_the_range_do_not_count() -> None:
    data = array(b"\xffabc\xc3\xa9")
    assert invalid_at(data, 1, 4) == -1
    assert invalid_at(data, 1, 5) == 4
    assert invalid_at(data, 2, 2) == -1
    assert is_ascii(data, 1, 4)
    assert not is_ascii(data, 1, 5)
