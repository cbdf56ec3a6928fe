"""The arrays between stages are checked when they are made and cannot be changed after."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from neardup.types import SLACK, Batch, Documents, Fault, Pairs, ShingleSets, Signatures

I64 = np.int64


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=I64)


def test_texts_come_back_as_bytes():
    block = Documents.from_texts(["one", "", "zwölf", "日本"])
    assert [block.blob(i).decode() for i in range(len(block))] == ["one", "", "zwölf", "日本"]
    assert block.nbytes == 3 + 6 + 6
    assert block.data.size == block.nbytes + SLACK


def test_a_slice_shares_the_buffer_and_keeps_its_texts():
    block = Documents.from_bytes([b"a", b"bb", b"ccc"])
    part = block.slice(1, 3)
    assert [part.blob(i) for i in range(2)] == [b"bb", b"ccc"]
    assert np.shares_memory(part.data, block.data)
    assert len(block.slice(2, 2)) == 0
    assert part.nbytes == 5


def test_a_buffer_is_copied_only_when_it_lacks_the_slack():
    short = np.frombuffer(b"xxabc", dtype=np.uint8)
    block = Documents.with_slack(short, ints(2, 4, 5))
    assert [block.blob(0), block.blob(1)] == [b"ab", b"c"]
    assert block.offsets.tolist() == [0, 2, 3]
    roomy = np.frombuffer(b"xxabc" + bytes(SLACK), dtype=np.uint8)
    assert np.shares_memory(Documents.with_slack(roomy, ints(2, 4, 5)).data, roomy)
    assert not np.shares_memory(Documents.with_slack(roomy[:-1], ints(2, 4, 5)).data, roomy)


def test_arrays_of_a_block_cannot_be_written():
    block = Documents.from_bytes([b"abc"])
    with pytest.raises(ValueError, match="read-only"):
        block.data[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        block.data = np.zeros(1, dtype=np.uint8)


def test_the_caller_s_own_array_stays_writable():
    data = np.zeros(SLACK + 3, dtype=np.uint8)
    Documents(data, ints(0, 3))
    data[0] = 7
    assert data[0] == 7


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Documents(np.zeros(SLACK + 3, dtype=np.int8), ints(0, 3)), "uint8"),
        (lambda: Documents(np.zeros(SLACK + 2, dtype=np.uint8), ints(0, 3)), "SLACK"),
        (lambda: Documents(np.zeros(SLACK + 3, dtype=np.uint8), np.array([0, 3], dtype=np.int32)), "int64"),
        (lambda: Documents(np.zeros(SLACK, dtype=np.uint8), ints()), r"n \+ 1"),
        (lambda: ShingleSets(ints(0, 2), np.zeros(3, dtype=np.uint64)), "offsets must end"),
        (lambda: ShingleSets(ints(0, 3), np.zeros(3, dtype=np.int64)), "uint64 hashes"),
        (lambda: Signatures(np.zeros((2, 3), dtype=np.int64)), "uint32"),
        (lambda: Signatures(np.zeros(3, dtype=np.uint32)), "uint32"),
        (lambda: Pairs(ints(1), ints(1), np.ones(1)), "left must be less"),
        (lambda: Pairs(ints(2), ints(1), np.ones(1)), "left must be less"),
        (lambda: Pairs(ints(0), ints(1, 2), np.ones(1)), "one length"),
        (lambda: Batch(Documents.from_bytes([b"a"]), "a.txt", ints(1, 2)), "rows"),
        (lambda: Batch(Documents.from_bytes([b"a"]), "a.txt", ints(1), ids=pa.array(["x", "y"])), "ids"),
    ],
)
def test_arrays_of_the_wrong_shape_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_rows_of_sets_and_sizes_of_signatures():
    sets = ShingleSets(ints(0, 2, 2, 3), np.array([1, 5, 9], dtype=np.uint64))
    assert [sets.row(i).tolist() for i in range(len(sets))] == [[1, 5], [], [9]]
    signatures = Signatures(np.zeros((2, 7), dtype=np.uint32))
    assert (len(signatures), signatures.slots) == (2, 7)


def test_a_fault_says_where_and_why():
    assert str(Fault("a.jsonl", 3, "not JSON")) == "a.jsonl:3: not JSON"
