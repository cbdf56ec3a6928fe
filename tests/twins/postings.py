"""Lookup by comparing every key with every other, merging by sorting, directories by counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from neardup.stages.postings import Run


def lookup(
    blocks: list[tuple[int, NDArray[np.uint32], NDArray[np.uint64]]],
    keys: NDArray[np.uint32],
    wanted: NDArray[np.bool_],
    first_row: int,
) -> list[dict[int, tuple[int, int]]]:
    """For each query the bands that agree with each document, and the hash of its text.

    Args:
        blocks: first number, uint32[rows, n] keys and uint64[n] text hashes of each run.
        keys: uint32[rows, queries].
        wanted: bool[queries].
        first_row: row of the blocks that ``keys[0]`` belongs to.
    """
    found = []
    for query in range(keys.shape[1]):
        agreeing: Counter[int] = Counter()
        prints = {}
        for base, block, texts in blocks if wanted[query] else []:
            for document in range(block.shape[1]):
                prints[base + document] = int(texts[document])
                for row in range(keys.shape[0]):
                    if keys[row, query] == block[first_row + row, document]:
                        agreeing[base + document] += 1
        found.append({number: (bands, prints[number]) for number, bands in agreeing.items()})
    return found


def content(run: Run) -> list[list[tuple[int, int]]]:
    """Key and document number of each posting, row by row, in order."""
    return [
        [(posting >> 32, run.base + (posting & 0xFFFFFFFF)) for posting in run.row(row).tolist()]
        for row in range(run.starts.size - 1)
    ]


def directory(run: Run) -> list[list[int]]:
    """Postings of each row whose key has a smaller prefix, for every prefix, and the length of the row."""
    shift = 32 - run.bits
    return [
        [sum(1 for key, _ in row if (key >> shift) < prefix) for prefix in range((1 << run.bits) + 1)]
        for row in content(run)
    ]
