"""A column in memory and a column in a file are the same thing to whoever uses them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from neardup.spool import MemoryColumn, Workdir
from neardup.spool import files as spool_files


@pytest.fixture(params=["memory", "file"])
def make(request, tmp_path):
    """Makes an empty column, of each kind in turn."""
    if request.param == "memory":
        yield MemoryColumn
        return
    workdir = Workdir.create(tmp_path / "work", {"spec_id": "s"})
    yield lambda dtype, width=1: workdir.column(f"c{len(workdir.names())}", dtype, width)
    workdir.remove()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.int64, np.uint64, np.float64])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_a_column_gives_back_what_was_appended(make, dtype, width):
    values = np.random.default_rng(1).integers(0, 200, (1000, width)).astype(dtype)
    values = values[:, 0] if width == 1 else values
    column = make(dtype, width)
    for start in range(0, 1000, 137):
        column.append(values[start : start + 137])
    rows = np.array([999, 0, 5, 5, 998, 137, 136])
    assert len(column) == 1000
    assert column.nbytes == values.nbytes
    assert column.width == width
    assert column.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(column.take(rows), values[rows])
    np.testing.assert_array_equal(column.slice(100, 300), values[100:300])
    assert column.take(rows).dtype == column.slice(0, 3).dtype == np.dtype(dtype)
    np.testing.assert_array_equal(np.concatenate([block for _, block in column.scan(77)]), values)
    assert [start for start, _ in column.scan(400)] == [0, 400, 800]


def test_an_empty_column_gives_empty_arrays_of_its_shape(make):
    column = make(np.uint64, 3)
    assert column.take(np.empty(0, np.int64)).shape == (0, 3)
    assert column.slice(0, 10).shape == (0, 3)
    assert list(column.scan(10)) == []


@pytest.mark.parametrize(("start", "stop"), [(0, 3), (8, 99), (10, 10), (7, 5), (50, 60)])
def test_a_slice_is_cut_at_the_end_as_of_a_list(make, start, stop):
    column = make(np.int64)
    column.append(np.arange(10))
    assert column.slice(start, stop).tolist() == list(range(10))[start:stop]


@pytest.mark.parametrize("row", [-1, 3])
def test_a_row_that_is_not_there_is_an_error(make, row):
    column = make(np.int64)
    column.append(np.arange(3))
    with pytest.raises(IndexError, match="column of 3"):
        column.take(np.array([0, row]))


def test_values_that_do_not_fit_are_refused_and_nothing_is_added(make):
    column = make(np.uint32, 2)
    with pytest.raises(ValueError, match="int64 do not fit into a column of uint32"):
        column.append(np.zeros((3, 2), np.int64))
    with pytest.raises(ValueError, match="width is 2"):
        column.append(np.zeros((3, 4), np.uint32))
    with pytest.raises(ValueError, match="width is 2"):
        column.append(np.zeros(4, np.uint32))
    assert len(column) == 0


def test_a_row_of_one_value_may_come_as_a_table_of_one_column(make):
    column = make(np.uint32)
    column.append(np.array([[4], [5]], np.uint32))
    assert column.take(np.array([1, 0])).tolist() == [5, 4]


def test_taken_rows_are_a_copy(make):
    column = make(np.int64)
    column.append(np.arange(5))
    for rows in ([1, 2, 3], [3, 1], [0, 4]):
        column.take(np.array(rows))[:] = 77
    assert column.slice(0, 5).tolist() == [0, 1, 2, 3, 4]


def test_strided_values_are_appended_in_their_order(make):
    column = make(np.int64, 2)
    table = np.arange(40).reshape(10, 4)
    column.append(table[::-2, 1::2])
    np.testing.assert_array_equal(column.slice(0, 5), table[::-2, 1::2])


def test_room_that_was_guessed_is_not_grown_again():
    column = MemoryColumn(np.int64)
    column.append(np.arange(10), more=9.0)
    first = column.array.base
    for _ in range(9):
        column.append(np.arange(10))
    assert column.array.base is first
    assert column.array.flags.c_contiguous
    assert len(column) == 100


@pytest.fixture
def wide(tmp_path):
    """4,000 rows of 4,096 bytes, 16 MB: more than is read at a time. Row i is full of i."""
    workdir = Workdir.create(tmp_path / "work", {"spec_id": "s"})
    column = workdir.column("wide", np.uint32, 1024)
    for start in range(0, 4000, 500):
        column.append(np.repeat(np.arange(start, start + 500, dtype=np.uint32), 1024).reshape(-1, 1024))
    yield column
    workdir.remove()


@pytest.mark.parametrize("share", [0.001, 0.05, 0.4, 0.6, 0.99, 1.0])
def test_any_share_of_a_large_file_is_taken_right(wide, share):
    rows = np.flatnonzero(np.random.default_rng(2).random(4000) < share)
    np.random.default_rng(3).shuffle(rows)
    taken = wide.take(rows)
    np.testing.assert_array_equal(taken[:, 0], rows)
    np.testing.assert_array_equal(taken[:, 1023], rows)


def test_scattered_rows_of_a_wide_column_are_those_of_the_rows(tmp_path):
    workdir = Workdir.create(tmp_path / "work", {"spec_id": "s"})
    column = workdir.column("c", np.uint64, 64)
    for start in range(0, 40_000, 8000):
        column.append(np.repeat(np.arange(start, start + 8000, dtype=np.uint64), 64).reshape(-1, 64))
    for rows in (np.flatnonzero(np.arange(40_000) % 3 != 1), np.array([10, 12, 400, 39_000, 39_001])):
        np.testing.assert_array_equal(column.take(rows), np.repeat(rows, 64).reshape(-1, 64))
    workdir.remove()


def test_rows_that_are_still_in_the_buffer_are_seen(tmp_path):
    workdir = Workdir.create(tmp_path / "work", {"spec_id": "s"})
    column = workdir.column("c", np.int64)
    for i in range(50):
        column.append(np.array([i]))
        assert column.take(np.array([i, i // 2])).tolist() == [i, i // 2]
    assert column.slice(0, 50).tolist() == list(range(50))
    workdir.remove()


def test_while_one_thread_writes_the_buffer_out_another_sees_all_rows(tmp_path, monkeypatch):
    workdir = Workdir.create(tmp_path / "work", {"spec_id": "s"})
    column = workdir.column("c", np.int64)
    column.append(np.arange(1000))
    seen = []
    write = spool_files.os.pwrite
    monkeypatch.setattr(spool_files.os, "pwrite", lambda *given: (seen.append(len(column)), write(*given))[1])
    assert column.slice(900, 1000).tolist() == list(range(900, 1000))
    assert seen == [1000]
    workdir.remove()


def test_reads_that_the_system_cuts_short_go_on(tmp_path, monkeypatch):
    real = spool_files.os.preadv
    monkeypatch.setattr(spool_files.os, "preadv", lambda fd, buffers, at: real(fd, [buffers[0][:1000]], at))
    workdir = Workdir.create(tmp_path / "work", {"spec_id": "s"})
    column = workdir.column("c", np.int64)
    column.append(np.arange(50_000))
    rows = np.arange(0, 50_000, 7)
    np.testing.assert_array_equal(column.take(rows), rows)
    np.testing.assert_array_equal(column.slice(1, 40_000), np.arange(1, 40_000))
    workdir.remove()


def test_threads_may_read_at_the_same_time(wide):
    wide.file.rest()  # so that the first of them opens the file
    asked = [np.random.default_rng(seed).integers(0, 4000, 300) for seed in range(24)]
    with ThreadPoolExecutor(8) as pool:
        for rows, taken in zip(asked, pool.map(wide.take, asked), strict=True):
            np.testing.assert_array_equal(taken[:, 500], rows)
