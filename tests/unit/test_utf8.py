"""The kernels know UTF-8 as Python's strict decoder does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.kernels import jsonl
from neardup.kernels.utf8 import is_ascii
from neardup.types import SLACK

EDGES = bytes.fromhex("00417f808f909fa0bfc0c1c2dfe0e1eceeedeff0f1f3f4f5f7f8ff")


def is_valid(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(data), dtype=np.uint8)


def is_read(text: bytes) -> bool:
    """Whether a line of JSON with this text, which has nothing to escape, is read without a doubt, and as it stands."""
    line = b'{"t":"' + text + b'"}\n'
    data, out = array(line + bytes(SLACK)), np.zeros(len(line) + SLACK, np.uint8)
    numbers, offsets, state = np.zeros(1, np.int64), np.zeros(2, np.int64), np.zeros(jsonl.STATE, np.int64)
    sizes, flags, ends = np.array([1, -1]), np.zeros(1, np.bool_), np.zeros(2, np.int64)
    jsonl.read_records(
        *(
            data,
            len(line),
            array(b"t"),
            sizes,
            False,
            out,
            offsets,
            np.zeros((1, 2), np.int64),
            numbers.copy(),
            out.copy(),
            ends,
            numbers,
            flags,
            state,
        )
    )
    is_whole = state[jsonl.DOUBT] == -1
    assert not is_whole or out[: offsets[1]].tobytes() == text
    return bool(is_whole)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_every_combination_of_edge_bytes(length: int) -> None:
    for combination in itertools.product(EDGES, repeat=length):
        for before, after in ((b"", b""), (b"abcdefg", b"z"), (b"", b"zzzzzzzzz")):
            data = before + bytes(combination) + after
            assert is_read(data) == (is_valid(data) and min(data) >= 0x20)


def test_edges_of_four_byte_sequences() -> None:
    for lead, *rest in itertools.product(EDGES[-9:], EDGES, EDGES[3:10], EDGES[3:10]):
        data = bytes((lead, *rest)) + b"z"
        assert is_read(data) == (is_valid(data) and min(data) >= 0x20)


@given(st.lists(st.sampled_from(["a", "é", "中", "😀", "\ud800", "\udfff"]), max_size=30), st.binary(max_size=4))
def test_long_runs_with_a_damaged_end(characters: list[str], end: bytes) -> None:
    data = "".join(characters).encode("utf-8", "surrogatepass") + end
    plain = data.translate(None, bytes(range(0x20)) + b'"\\')
    assert is_read(plain) == is_valid(plain)
    assert is_ascii(array(data), 0, len(data)) == data.isascii()


def test_bytes_outside_the_range_do_not_count() -> None:
    data = array(b"\xffabc\xc3\xa9")
    assert is_ascii(data, 1, 4)
    assert not is_ascii(data, 1, 5)
