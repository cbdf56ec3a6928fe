"""The hashes of bands, and the bands that a threshold calls for: what all three indexes share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.tuning import area_rule, quadrature

NODES = 128
"""Points at which the curve of a containment is taken."""


def hashes_of(sketch: Any, bands: int, rows: int) -> list[bytes]:
    """The hash of each band of a sketch: its values in big-endian bytes, which sort as the values do."""
    data = sketch.hashvalues.byteswap().tobytes()
    step = rows * (len(data) // len(sketch))
    return [data[at : at + step] for at in range(0, bands * step, step)]


def check_search(threshold: float, num_perm: int, weights: Sequence[float]) -> None:
    """Raise InputError for a threshold, a number of permutations or weights out of range."""
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold is {threshold}. Give a number from 0 to 1.")
    if num_perm < 2:
        raise InputError(f"num_perm is {num_perm}. Give 2 or more.")
    if len(weights) != 2 or not all(0 <= weight <= 1 for weight in weights) or sum(weights) != 1:
        raise InputError(f"weights are {tuple(weights)}. Give two numbers of at least 0 that sum to 1.")


def best_bands(threshold: float, num_perm: int, weights: Sequence[float]) -> tuple[int, int]:
    """Bands and rows for which the weighted areas of false positives and negatives have the least sum."""
    found = area_rule(threshold, num_perm, weights=(weights[0], weights[1]))
    return found.bands, found.rows


def best_containment_bands(
    threshold: float, num_perm: int, most_rows: int, ratio: float, weights: Sequence[float]
) -> tuple[int, int]:
    """The same for the containment of a query in sets that are ``ratio`` times as large, with at most so many rows.

    A containment t is then a Jaccard similarity of t / (1 + ratio - t). Source: E. Zhu, F. Nargesian, K. Q. Pu,
    R. J. Miller, "LSH Ensemble: Internet-Scale Domain Search", VLDB 2016, section 5.5.
    """
    nodes, node_weights = quadrature(NODES)
    error = np.full((num_perm, most_rows), np.inf)
    for rows in range(1, most_rows + 1):
        most_bands = num_perm // rows
        total = np.zeros(most_bands)
        for side, low, high in (
            ("found", 0.0, min(ratio, threshold)),
            ("missed", threshold, max(min(ratio, 1.0), threshold)),
        ):
            at = low + (high - low) / 2 * (nodes + 1)
            agrees = (at / (1 + ratio - at)) ** rows
            missed = np.cumprod(np.broadcast_to(1 - agrees, (most_bands, NODES)), axis=0)
            wrong, weight = (1 - missed, weights[0]) if side == "found" else (missed, weights[1])
            total += weight * (high - low) / 2 * (wrong @ node_weights)
        error[:most_bands, rows - 1] = total
    at_bands, at_rows = divmod(int(np.argmin(error)), most_rows)
    return at_bands + 1, at_rows + 1


def check_params(params: Sequence[int], num_perm: int) -> tuple[int, int]:
    """The bands and rows that a program gave; InputError where they take more permutations than there are."""
    bands, rows = params
    if bands < 1 or rows < 1 or bands * rows > num_perm:
        raise InputError(
            f"params are {bands} bands of {rows} rows, which take {bands * rows} permutations, and num_perm is "
            f"{num_perm}. Give fewer, or the num_perm of the MinHashes."
        )
    return bands, rows
