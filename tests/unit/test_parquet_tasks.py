"""Row groups that are unpacked by the tasks that read them, in whatever order and in however many threads."""

from __future__ import annotations

import gc
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.inputs.columnar import parquet
from neardup.inputs.columnar.thrift import BINARY, LIST, NUMBERS, STRUCT, put_struct
from neardup.inputs.reader import open_inputs
from neardup.types import Batch


def table(rows: int) -> pa.Table:
    chosen = random.Random(rows)
    texts = [f"text {i} " * chosen.choice([1, 3, 40, 400]) for i in range(rows)]
    return pa.table({"id": [f"n{i}" for i in range(rows)], "text": texts, "tags": [[i, 2 * i] for i in range(rows)]})


LAYOUTS: dict[str, dict[str, Any]] = {
    "plain": {"use_dictionary": False, "row_group_size": 1700},
    "dictionary": {"use_dictionary": True, "row_group_size": 1700, "compression": "zstd"},
    "small pages": {"use_dictionary": False, "row_group_size": 900, "data_page_size": 2000, "write_batch_size": 10},
    "one group": {"data_page_version": "2.0"},
}


def written(path: Path, rows: int = 5000, **how: Any) -> pa.Table:
    data = table(rows)
    pq.write_table(data, path, **how)
    return data


def seen(batch: Batch) -> list[tuple[int, str, bytes]]:
    ids = batch.ids.to_pylist()
    return [(int(row), ids[i], batch.documents.blob(i)) for i, row in enumerate(batch.rows)]


@pytest.mark.parametrize("how", LAYOUTS.values(), ids=LAYOUTS)
def test_batches_are_the_same_in_any_order_of_the_tasks_and_again(tmp_path: Path, how: dict[str, Any]) -> None:
    path = tmp_path / "x.parquet"
    data = written(path, **how)
    names, texts = data.column("id").to_pylist(), data.column("text").to_pylist()
    expected = [(i + 1, names[i], texts[i].encode()) for i in range(len(data))]
    for seed in range(3):
        tasks = list(open_inputs(path, block=300).tasks())
        assert len(tasks) > 10
        order = list(range(len(tasks)))
        random.Random(seed).shuffle(order)
        with ThreadPoolExecutor(4) as pool:
            done = pool.map(lambda task: task(), [tasks[i] for i in order])
            batches = dict(zip(order, done, strict=True))
        assert [each for i in range(len(tasks)) for each in seen(batches[i])] == expected
        assert sum(batch.consumed for batch in batches.values()) == path.stat().st_size
        assert seen(tasks[3]()) == seen(batches[3])


def test_the_thread_that_makes_the_tasks_unpacks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.parquet"
    written(path, use_dictionary=False, row_group_size=1700)
    monkeypatch.setattr(parquet.Groups, "of_rows", lambda *_: pytest.fail("unpacked"))
    assert len(list(open_inputs(path).tasks())) == 3


def test_batches_that_nobody_wants_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    written(path, use_dictionary=False)
    tasks = iter(open_inputs(path, block=100).tasks())
    for _ in range(20):  # as a run that goes on leaves out what it has read
        next(tasks)
    watched: Any = next(tasks)
    task = watched.args[0]
    gc.collect()
    assert [row for row, *_ in seen(task())] == list(range(2001, 2101))
    unpacking = task.args[0]
    assert not unpacking._waiting


def test_rows_of_very_different_sizes_are_read_as_before(tmp_path: Path) -> None:
    texts = ["a" * 30_000_000, *["b" * 10] * 5000, "c" * 20_000_000, "d"]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": texts}), path, use_dictionary=False)
    batches = list(in_order(lambda task: task(), open_inputs(path).tasks(), threads=2))
    assert [len(b.documents.blob(i)) for b in batches for i in range(len(b.documents))] == [len(t) for t in texts]
    assert [row for batch in batches for row in batch.rows.tolist()] == list(range(1, len(texts) + 1))


def test_sets_and_empty_groups(tmp_path: Path) -> None:
    data = table(50)
    path = tmp_path / "x.parquet"
    with pq.ParquetWriter(path, data.schema) as writer:
        for piece in (data[:20], data[:0], data[20:]):
            writer.write_table(piece)
    batches = [task() for task in open_inputs(path, text="tags", item=True).tasks()]
    found = [batch.documents.blob(i) for batch in batches for i in range(len(batch.documents))]
    assert found == [b"%d\xff%d" % (i, 2 * i) for i in range(50)]


@pytest.mark.parametrize("threads", [1, 3])
def test_a_damaged_page_fails_its_task_after_those_before_it(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "x.parquet"
    written(path, use_dictionary=False, row_group_size=1000, compression="zstd")
    chunk = pq.read_metadata(path).row_group(2).column(1)
    raw = bytearray(path.read_bytes())
    middle = chunk.data_page_offset + chunk.total_compressed_size // 2
    raw[middle : middle + 200] = bytes(200)
    path.write_bytes(raw)
    rows: list[int] = []
    batches = in_order(lambda task: task(), open_inputs(path).tasks(), threads=threads)
    with pytest.raises(InputError, match=r"x\.parquet cannot be read as Parquet"):
        rows.extend(row for batch in batches for row in batch.rows.tolist())
    assert rows == list(range(1, 2001))


HONEST = {1: 0, 2: 100, 3: 100, 5: {1: 10, 2: 0}}
"""A data page of ten values: its type, its sizes, and of its own header the values and the encoding."""


@pytest.mark.parametrize("path", [(), (1,), (2,), (3,), (5,), (5, 1), (5, 2)])
@pytest.mark.parametrize("forged", [(LIST, (NUMBERS[1], [1])), (BINARY, b"7"), (STRUCT, [[1, NUMBERS[1], 1]])])
def test_a_page_header_with_another_type_of_value_is_damaged(path: tuple[int, ...], forged: tuple[int, Any]) -> None:
    def fields(own: dict[int, Any], within: tuple[int, ...] = ()) -> list[list[Any]]:
        return [
            [number, *forged]
            if (*within, number) == path
            else [number, STRUCT, fields(value, (number,))]
            if isinstance(value, dict)
            else [number, NUMBERS[1], value]
            for number, value in own.items()
        ]

    out = bytearray()
    put_struct(out, fields(HONEST))
    chunk = SimpleNamespace(
        data_page_offset=0, has_dictionary_page=False, total_compressed_size=len(out) + 100, num_values=10
    )
    pages = parquet.pages_of(pa.BufferReader(bytes(out) + bytes(100)), chunk)
    if not path:
        assert [(page.unpacked, page.values) for page in pages] == [(100, 10)]
    elif path == (5,) and forged[0] == STRUCT:
        assert [page.values for page in pages] == [1]
    else:
        with pytest.raises(pa.ArrowInvalid, match="is damaged"):
            list(pages)
