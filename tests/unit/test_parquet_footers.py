"""Row groups of several files as those of one: what pyarrow would have written of all of them."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neardup.errors import FormatError
from neardup.tasks.rewrite.footers import MAGIC, footer_size, joined_footers
from neardup.tasks.rewrite.parquet import _is_joined_well

needs_new = pytest.mark.skipif(not _is_joined_well(), reason="this pyarrow writes row groups that tell where they lie")
TYPES = {
    "number": pa.int64(),
    "text": pa.string(),
    "flags": pa.list_(pa.bool_()),
    "real": pa.float64(),
    "struct": pa.struct([("a", pa.int8()), ("b", pa.large_string())]),
}


def written(groups: list[Any], schema: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    with pq.ParquetWriter(out, schema, **options) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(1, len(group)))
        writer.add_key_value_metadata({"more": "of it"})
    return out.getvalue()


def joined(files: list[bytes]) -> bytes:
    ends = [len(file) - footer_size(file[-8:]) for file in files]
    footer = joined_footers([file[end:] for file, end in zip(files, ends, strict=True)], ends)
    return b"".join([MAGIC, *(file[len(MAGIC) : end] for file, end in zip(files, ends, strict=True)), footer])


@needs_new
@given(
    counts=st.lists(st.lists(st.integers(0, 40), max_size=20), min_size=1, max_size=6),
    codec=st.sampled_from(["none", "snappy", "zstd"]),
    dictionary=st.booleans(),
    data=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None)
def test_the_bytes_are_those_of_one_writer(counts: list[list[int]], codec: str, dictionary: bool, data: int) -> None:
    schema = pa.schema(TYPES.items())

    def group(rows: int) -> Any:
        values = [
            {
                "number": (i * 7919 + data) * (-1) ** i << i % 50,
                "text": None if i % 5 == 0 else f"text {i * data}" * (i % 7),
                "flags": [True, False][: i % 3],
                "real": i / 7,
                "struct": {"a": i % 100, "b": "x" * i},
            }
            for i in range(rows)
        ]
        return pa.Table.from_pylist(values, schema=schema)

    parts = [[group(rows) for rows in some if rows] for some in counts]
    options: dict[str, Any] = {"compression": codec, "use_dictionary": dictionary}
    whole = written([each for some in parts for each in some], schema, **options)
    assert joined([written(some, schema, **options) for some in parts]) == whole


@needs_new
def test_a_footer_that_is_damaged_is_refused() -> None:
    table = pa.table({"number": [1, 2]})
    file = written([table], table.schema)
    end = len(file) - footer_size(file[-8:])
    for damaged in (file[end : end + 9] + file[-8:], b"\x1d" + file[end + 1 :], file[end:-8] + b"\0" + file[-8:]):
        with pytest.raises(FormatError, match="footer"):
            joined_footers([damaged], [end])
