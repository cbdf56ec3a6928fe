"""Documents by row, in memory and in files."""

from __future__ import annotations

import numpy as np
import pytest

from neardup.spool import MemoryTexts, Workdir
from neardup.types import SLACK, Documents


def _many(count: int) -> list[bytes]:
    """Documents of very different sizes: empty ones, short ones, one in a hundred of 200 KB."""
    rng = np.random.default_rng(4)
    sizes = rng.integers(0, 300, count)
    sizes[rng.random(count) < 0.2] = 0
    sizes[rng.random(count) < 0.01] = 200_000
    return [rng.integers(0, 256, size).astype(np.uint8).tobytes() for size in sizes]


@pytest.fixture(params=["memory", "file"])
def texts(request, tmp_path):
    """No documents yet, of each kind in turn."""
    if request.param == "memory":
        yield MemoryTexts()
        return
    workdir = Workdir.create(tmp_path / "work", {"spec_id": "s"})
    yield workdir.texts("texts")
    workdir.remove()


def _read(texts, rows: np.ndarray) -> list[bytes]:
    """The documents as ``parts`` gives them; each row must be told once, in order."""
    found: list[bytes] = []
    for documents, local, part in texts.parts(rows):
        assert part.start == len(found)
        assert local.size == part.stop - part.start
        assert documents.data.size >= int(documents.offsets[-1]) + SLACK
        found += [documents.blob(i) for i in local]
    return found


def test_documents_come_back_by_row(texts):
    blobs = _many(3000)
    for start in range(0, 3000, 411):
        texts.append(Documents.from_bytes(blobs[start : start + 411]))
    assert len(texts) == 3000
    rng = np.random.default_rng(5)
    for share in (0.002, 0.1, 0.7, 1.0):
        rows = np.flatnonzero(rng.random(3000) < share)
        assert _read(texts, rows) == [blobs[row] for row in rows]


def test_lengths_are_told_in_any_order(texts):
    blobs = [b"", b"abc", b"", b"\xff" * 50, b"z"]
    texts.append(Documents.from_bytes(blobs[:2]))
    texts.append(Documents.from_bytes(blobs[2:]))
    for rows in ([4, 3, 0, 1, 1, 2], [1, 2, 3], [0], [], [0, 1, 2, 3, 4], [2, 2]):
        assert texts.lengths(np.array(rows, dtype=np.int64)).tolist() == [len(blobs[row]) for row in rows]


def test_a_block_that_begins_inside_its_buffer_is_understood(texts):
    whole = Documents.from_bytes([b"one", b"two", b"three", b"four"])
    texts.append(whole.slice(1, 3))
    texts.append(whole.slice(3, 4))
    assert _read(texts, np.arange(3)) == [b"two", b"three", b"four"]


def test_no_rows_give_no_parts(texts):
    texts.append(Documents.from_bytes([b"a"]))
    assert list(texts.parts(np.empty(0, np.int64))) == []


def test_only_empty_documents_can_be_read(texts):
    texts.append(Documents.from_bytes([b"", b"", b""]))
    assert _read(texts, np.array([0, 2])) == [b"", b""]


def test_a_row_that_is_not_there_is_an_error(texts):
    texts.append(Documents.from_bytes([b"a", b"b"]))
    for rows in ([1, 2], [2], [0, 5]):
        with pytest.raises(IndexError):
            texts.lengths(np.array(rows))


def test_a_buffer_that_blocks_share_is_counted_once():
    whole = Documents.from_bytes([b"x" * 100_000] * 4)
    shared, apart = MemoryTexts(), MemoryTexts()
    for i in range(4):
        shared.append(whole.slice(i, i + 1))
        apart.append(Documents.from_bytes([b"x" * 100_000]))
    assert 400_000 <= shared.nbytes < 401_000
    assert 400_000 <= apart.nbytes < 401_000


def test_a_slice_counts_the_whole_buffer_that_it_keeps_alive():
    texts = MemoryTexts()
    texts.append(Documents.from_bytes([b"x" * 100_000, b"y"]).slice(1, 2))
    assert texts.nbytes >= 100_000
