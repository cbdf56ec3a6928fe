"""Sets that are lists of whole numbers in Arrow are read as lists of their decimal texts are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.inputs.reader import open_inputs

EDGES = [0, -1, 9, 10, 99, 100, 101, -100, 10**18, 10**18 - 1, 10**9, -(10**18), (1 << 63) - 1, -(1 << 63)]
NUMBERS = st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-200, 200), st.sampled_from(EDGES))


def sets_of(lists: Any, kind: Any) -> tuple[list[bytes], list[int]]:
    reader = open_inputs(pa.table({"text": pa.array(lists, kind)}), item=True, on_bad="skip")
    batches = [task() for source in reader.parts for task in source.tasks()]
    found = [batch.documents.blob(i) for batch in batches for i in range(len(batch.documents))]
    return found, [row for batch in batches for row in batch.rows.tolist()]


def expected(lists: Any) -> tuple[list[bytes], list[int]]:
    good = [i for i, each in enumerate(lists) if each is not None and None not in each]
    return [b"\xff".join(b"%d" % item for item in lists[i]) for i in good], [i + 1 for i in good]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(NUMBERS, max_size=6) | st.none(), min_size=1, max_size=8))
def test_numbers_are_their_decimal_texts(lists):
    assert sets_of(lists, pa.list_(pa.int64())) == expected(lists)
    assert sets_of(lists, pa.large_list(pa.int64())) == expected(lists)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.uint64()])
def test_every_width_of_numbers(kind: Any) -> None:
    most = (1 << (kind.bit_width - pa.types.is_signed_integer(kind))) - 1
    least = -most - 1 if pa.types.is_signed_integer(kind) else 0
    lists = [[most, 0, 7], [], None, [least, 12, most - 1], [1, None]]
    assert sets_of(lists, pa.list_(kind)) == expected(lists)
    assert sets_of([[least, most]], pa.list_(kind, 2)) == expected([[least, most]])


def test_a_slice_of_a_column_of_lists() -> None:
    lists = [[i, -i] for i in range(50)]
    column = pa.array(lists, pa.list_(pa.int32()))[7:33]
    reader = open_inputs(pa.table({"text": column}), item=True, block=5)
    found = [b.documents.blob(i) for b in (task() for task in reader.tasks()) for i in range(len(b.documents))]
    assert found == expected(lists[7:33])[0]
