"""The hashes in the files of an index, frozen: a change of these values makes every stored document look damaged."""

from __future__ import annotations

import random

import numpy as np
import pytest

from neardup.kernels.postings import PAGE, page_sums
from neardup.kernels.stored import prints
from neardup.types import Documents

M1, M2, M3 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD
ALL = (1 << 64) - 1
PRINTS = {
    b"": 0xFE820E8894A71672,
    b"rose": 0x341C05519C8F5603,
    b"a rose is a rose": 0x059EFD5A2335BCFF,
    b"a rose is a rose is a rose": 0x172F28857D098849,
    b"x" * 1000: 0x88FEFA81F756ABEE,
}
PAGE_SUMS = [0x941AEFF5890BEFB0, 0x87552FF03F29EF6E, 0xE17D194B3015BD08]
"""Of a page of zeros, of one of the bytes 0 to 255 again and again, of one of zeros and a last bit."""


def mix(x: int) -> int:
    x = (x ^ (x >> 32)) * M2 & ALL
    x = (x ^ (x >> 29)) * M3 & ALL
    return x ^ (x >> 32)


def twin(blob: bytes) -> int:
    """The print in Python integers: two lanes of eight bytes, zeros behind the end."""
    x, y = M1 ^ (len(blob) * M2 & ALL), M2 ^ (len(blob) * M2 & ALL)
    whole = len(blob) // 16 * 16
    for at in range(0, len(blob), 16):
        block = blob[at : at + 16].ljust(16, b"\0")
        x = (x ^ int.from_bytes(block[:8], "little")) * M1 & ALL
        y = (y ^ int.from_bytes(block[8:], "little")) * M3 & ALL
        x, y = x ^ (x >> 29), y ^ (y >> 32)
        if at < whole:
            x = (x + y) & ALL
    return mix((x + (y >> 29)) & ALL)


def print_of(blob: bytes) -> int:
    block = Documents.from_bytes([b"before", blob, b"behind"])
    out = np.empty(3, dtype=np.uint64)
    prints(block.data, block.offsets, out)
    return int(out[1])


@pytest.mark.parametrize("blob", list(PRINTS))
def test_prints_are_frozen(blob: bytes) -> None:
    assert print_of(blob) == PRINTS[blob] == twin(blob)


def test_the_kernel_computes_what_its_twin_does() -> None:
    draw = random.Random(3)
    for length in [*range(70), 1000, 4097]:
        blob = draw.randbytes(length)
        assert print_of(blob) == twin(blob), length


def test_checksums_of_pages_are_frozen() -> None:
    pages = np.zeros((3, PAGE), dtype=np.uint8)
    pages[1] = np.arange(PAGE) % 256
    pages[2, -1] = 128
    sums = np.empty(3, dtype=np.uint64)
    page_sums(pages.reshape(-1), sums)
    assert sums.tolist() == PAGE_SUMS
