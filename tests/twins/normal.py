"""Tests and maps over the bytes of documents, byte by byte and character by character."""

from __future__ import annotations

import numpy as np


def is_ascii(data: np.ndarray, begin: int, end: int) -> bool:
    """Whether all bytes are below 0x80."""
    return data[begin:end].tobytes().isascii()


def mark_not_ascii(data: np.ndarray, offsets: np.ndarray, out: np.ndarray) -> None:
    """Whether each document has a byte that is not ASCII."""
    for d in range(offsets.size - 1):
        out[d] = not is_ascii(data, offsets[d], offsets[d + 1])


def mark_not_inert(data: np.ndarray, offsets: np.ndarray, ends: np.ndarray, out: np.ndarray) -> None:
    """Whether each document (valid UTF-8) has a character outside the ranges ``[ends[0], ends[1])``, …."""
    ranges = list(zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True))
    for d in range(offsets.size - 1):
        text = data[offsets[d] : offsets[d + 1]].tobytes().decode("utf-8")
        out[d] = not all(any(low <= ord(char) < high for low, high in ranges) for char in text)


def map_ascii(
    data: np.ndarray,
    offsets: np.ndarray,
    table: np.ndarray,
    space: int,
    out: np.ndarray,
    out_offsets: np.ndarray,
) -> None:
    """Map each byte by ``table``: 0xFF drops it, 0x80 is white space, kept (0), made one space (1) or dropped (2)."""
    n = 0
    for d in range(offsets.size - 1):
        out_offsets[d] = n
        blob = data[offsets[d] : offsets[d + 1]].tobytes()
        if space == 0:
            done = bytes(byte if table[byte] == 0x80 else table[byte] for byte in blob if table[byte] != 0xFF)
        else:
            spaced = bytes(0x20 if table[byte] == 0x80 else table[byte] for byte in blob if table[byte] != 0xFF)
            done = (b" " if space == 1 else b"").join(part for part in spaced.split(b" ") if part)
        out[n : n + len(done)] = np.frombuffer(done, dtype=np.uint8)
        n += len(done)
    out_offsets[offsets.size - 1] = n
