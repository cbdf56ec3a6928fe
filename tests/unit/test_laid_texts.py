"""Texts that are laid down for the check come back byte for byte: from memory, from a file, and by a later run."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup.engine.reading import laid_texts
from neardup.engine.reading.laid_texts import lay_texts, restored_texts
from neardup.engine.space import Budget, Space
from neardup.spool import MemoryTexts
from neardup.stages.text import arranged
from neardup.types import Documents

COUNT = 300
BLOBS = [bytes([65 + i % 26]) * (i * 7 % 40) + b"\xff%d" % i for i in range(COUNT)]


class FarTexts(MemoryTexts):
    """Texts that must be read again, and which rows were read."""

    is_at_hand = False

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []
        for first in range(0, COUNT, 70):
            self.append(Documents.from_bytes(BLOBS[first : first + 70]))

    def parts(self, rows: Any, most: int | None = None) -> Any:
        self.read += rows.tolist()
        return super().parts(rows, most)


def texts_of(parts: Any, rows: list[int]) -> list[bytes]:
    """The texts of rows, each from its place in the block that was given."""
    found: dict[int, bytes] = {}
    for documents, local, part in parts(np.array(rows, dtype=np.int64)):
        for row, at in zip(rows[part], local.tolist(), strict=True):
            assert row not in found
            found[row] = documents.blob(at)
    return [found[row] for row in rows]


@given(st.lists(st.lists(st.binary(max_size=9), max_size=5), min_size=1, max_size=4), st.randoms())
def test_documents_of_several_blocks_are_arranged_in_any_order(blobs: list[list[bytes]], rng: Any) -> None:
    blocks = [Documents.from_bytes([b"before", *block]) for block in blobs]
    blocks = [block.slice(1, len(block)) for block in blocks]  # their offsets do not begin at 0
    flat = [blob for block in blobs for blob in block]
    order = rng.sample(range(len(flat)), len(flat))
    found = arranged(blocks, np.array(order, dtype=np.int64))
    assert [found.blob(i) for i in range(len(found))] == [flat[at] for at in order]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("place", ["memory", "file", "scratch", "resumed"])
def test_laid_texts_come_back_in_any_order_of_blocks(
    place: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(laid_texts, "PIECE_BYTES", 300)
    monkeypatch.setattr(laid_texts, "ROWS", 90)
    for number, blocks in enumerate((1, 4, COUNT)):
        rng = np.random.default_rng(number)
        rows = np.flatnonzero(rng.random(COUNT) < 0.7)
        block = rng.integers(0, blocks, rows.size).astype(np.int32)
        work = 1 << 40 if place == "memory" else 20_000
        path = tmp_path / f"work-{number}"
        space = Space(Budget(work, work), path, {}, at_once=place in ("file", "resumed"))
        far = FarTexts()
        collection: Any = SimpleNamespace(texts=far, space=space)
        parts = lay_texts(collection, rows, block, threads=threads)
        assert sorted(far.read) == rows.tolist(), "each text is read once"
        assert (space.workdir is None) == (place == "memory")
        if place == "resumed":
            space.checkpoint(laid_out=True)
            assert space.workdir is not None
            space.workdir.close()
            space = Space(Budget(work, work), path, {}, resume=True)
            collection = SimpleNamespace(texts=None, space=space)
            parts = restored_texts(collection)
        for share in (1.0, 0.3, 0.02):
            some = rows[rng.random(rows.size) < share].tolist()
            assert texts_of(parts, some) == [BLOBS[row] for row in some]
        one_block = rows[block == block[0]].tolist()
        assert texts_of(parts, one_block) == [BLOBS[row] for row in one_block]
        space.delete("laid")
        assert space.workdir is None or space.workdir.names("laid") == []


def test_texts_at_hand_are_not_read_again(tmp_path: Path) -> None:
    far = FarTexts()
    for is_at_hand, path in ((True, tmp_path / "work"), (False, None)):
        far.is_at_hand = is_at_hand
        space = Space(Budget(9, 9), path, {})
        collection: Any = SimpleNamespace(texts=far, space=space)
        parts = lay_texts(collection, np.arange(9), np.zeros(9, dtype=np.int32), threads=1)
        assert far.read == []
        assert texts_of(parts, [3, 5]) == [BLOBS[3], BLOBS[5]]
        far.read.clear()
