"""Whatever bytes a file has, and wherever it is cut, its splits give what an obvious reader of the whole file gives."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.jsonl import read_jsonl
from tests.unit.reading import Everything
from tests.unit.splitting import in_one_go, in_splits

from neardup.inputs.ranges import LinesInRange

RECORDS = [json.dumps({"id": f"n{i}", "text": "é x" * i}).encode() for i in (0, 1, 9)]
PIECES = st.sampled_from(
    [
        *(
            *RECORDS,
            b'{"id":1,"text":"one"}',
            b'{"text":"no id"}',
            b'{"id":"n","text":5}',
            b"{",
            b"null",
            b"\xff",
            b"\0",
        ),
        *(b"\xef\xbb\xbf", b"\xef", b"\r", b" ", b"\n", b"\n", b"\r\n", b"\n\n"),
    ]
)
FIRST = b'{"id":"first","text":"a text"}\n'
"""Decides on the fields."""


@given(pieces=st.lists(PIECES, max_size=15), most=st.integers(1, 80), before=st.sampled_from([b"", b"\xef\xbb\xbf"]))
def test_splits_of_json_lines_are_as_the_lines_one_by_one(pieces: list[bytes], most: int, before: bytes) -> None:
    data = before + FIRST + b"".join(pieces)
    expected = read_jsonl(data, "text", "id")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        path.write_bytes(data)
        found, _, splits = in_splits(path, most, on_bad="skip")
        failed = in_splits(path, most)[0]
        assert failed == in_one_go(path)[0] if expected.bad else isinstance(failed, Everything)
    assert isinstance(found, Everything)
    assert len(splits) == -(-len(data) // most)
    ids = expected.ids if all(isinstance(id, str) for id in expected.ids) else list(map(str, expected.ids))
    assert (found.blobs, found.rows, found.ids) == (expected.texts, expected.rows, ids)
    assert [int(fault.split(":")[1]) for fault in found.faults] == expected.bad
    assert (found.bad, found.blank, found.consumed) == (len(expected.bad), expected.blank, len(data))


@given(data=st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r", b"x" * 70_000])).map(b"".join), ends=st.data())
def test_a_range_has_the_lines_that_begin_in_it(data: bytes, ends: st.DataObject) -> None:
    first = ends.draw(st.integers(0, len(data)))
    stop = ends.draw(st.integers(first + 1, len(data) + 1))
    begins = [0, *(i + 1 for i, byte in enumerate(data) if byte == ord("\n"))]
    own = [(begin, data[begin:].split(b"\n")[0]) for begin in begins if first <= begin < stop and begin < len(data)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(data)
        with LinesInRange(str(path), range(first, stop)) as lines:
            found = lines.read(2 * len(data) + 1)
    assert found.removesuffix(b"\n") == b"\n".join(line for _, line in own).removesuffix(b"\n") or not own
    assert len(found) == sum(len(data[begin : begin + len(line) + 1]) for begin, line in own)
    assert lines.stored == len(found)
    if own:
        assert lines.begin == own[0][0]
