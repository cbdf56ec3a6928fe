"""Tests and maps over bytes at every offset of the words they are read in."""

from __future__ import annotations

import numpy as np
import pytest
from tests.twins import normal as twin
from tests.twins.blocks import packed

from neardup.kernels import normal, utf8
from neardup.stages.text import INERT_RANGES

ENDS = np.array([end for low, high in INERT_RANGES for end in (low, high + 1)], dtype=np.int64)


def marks(kernel, blobs: list[bytes], *more: np.ndarray) -> list[bool]:
    block = packed(blobs, 0xFF)
    out = np.full(len(blobs), True)
    kernel(block.data, block.offsets, *more, out)
    return out.tolist()


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 130])
def test_one_byte_above_ascii_is_seen_at_every_place_and_none_outside(length):
    blobs = [b"a" * at + b"\x80" + b"a" * (length - at - 1) for at in range(length)]
    assert marks(normal.mark_not_ascii, [b"a" * length, *blobs]) == [False] + [True] * length
    block = packed([b"\xff" * 3, b"a" * length, b"\xff"], 0xFF)
    assert utf8.is_ascii(block.data, 4, 4 + length)
    for i, blob in enumerate(blobs):
        block = packed(blobs)
        assert utf8.is_ascii(block.data, int(block.offsets[i]), int(block.offsets[i + 1])) == twin.is_ascii(
            np.frombuffer(blob, dtype=np.uint8), 0, length
        )


@pytest.mark.parametrize("inert", ["a", "é", "я", "日", "한"])
@pytest.mark.parametrize("other", ["\u0301", "\u0300", "क्", "😀", "\u1100", "\u2126", "\u0344", "\u3099"])
def test_one_character_that_is_not_inert_is_seen_at_every_place(inert, other):
    blobs = [(inert * at + other + inert * (20 - at)).encode() for at in range(21)]
    assert marks(normal.mark_not_inert, [(inert * 21).encode(), b"", *blobs], ENDS) == [False, False] + [True] * 21
    mixed = [(b"ascii run " * 3) + blob for blob in blobs]
    assert marks(normal.mark_not_inert, mixed, ENDS) == [True] * 21


def test_every_character_is_told_inert_as_the_ranges_say():
    points = [p for p in range(0x110000) if not 0xD800 <= p <= 0xDFFF]
    blobs = [chr(point).encode() for point in points]
    expected = [not any(low <= p <= high for low, high in INERT_RANGES) for p in points]
    assert marks(normal.mark_not_inert, blobs, ENDS) == expected


@pytest.mark.parametrize("blob", [b"\xc3", b"\xe6\x97", b"\xf0", b"\x80" * 9, b"\xcc", b"\xff" * 70])
def test_damaged_documents_end_and_stay_inside(blob):
    for before in (b"", b"a" * 7, b"a" * 8, b"a" * 63):
        quiet, loud = (packed([before + blob], poison) for poison in (0, 0xBF))
        out = [np.zeros(1, dtype=np.bool_) for _ in range(2)]
        for block, flag in zip((quiet, loud), out, strict=True):
            normal.mark_not_inert(block.data, block.offsets, ENDS, flag)
        assert out[0] == out[1]
