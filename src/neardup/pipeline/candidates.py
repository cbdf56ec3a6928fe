"""Candidate pairs of a collection: the bands in threads, hot buckets apart."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from neardup.params import Spec
from neardup.pipeline.collect import Collection
from neardup.pipeline.copies import Copies
from neardup.pipeline.crowds import Check, Crowds, find_crowds
from neardup.pipeline.leftovers import Leftovers, pair_leftovers, unique_pairs
from neardup.pipeline.observe import Observer
from neardup.stages import bands as band_stage
from neardup.types import I64

__all__ = ["Candidates", "find_candidates"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What banding found."""

    left: I64
    right: I64
    """Pairs of representatives that passed the estimate filter, left < right, unique; none inside a crowd."""
    met: int
    """Candidate pairs before the filter."""
    crowds: Crowds
    overfull: int
    """Documents in buckets that stayed too large; they were compared with leaders only."""


@dataclass(slots=True)
class _Band:
    hot: list[I64]
    left: I64
    right: I64
    met: int


def find_candidates(
    collection: Collection,
    copies: Copies,
    weight: I64,
    spec: Spec,
    check: Check,
    *,
    threads: int,
    observer: Observer,
) -> Candidates:
    """Run all bands; the answer does not depend on threads.

    A band without a hot bucket is paired up at once. The others wait until the crowds are known, so that pairs inside a
    crowd, of which there may be very many, are passed over; their buckets are made again then, which is cheap.
    Memory: one band's keys and buckets a thread, beside the pairs.
    """
    none = np.full(len(collection), -1, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)

    def pair_band(band: int, crowd: I64, *, wait_if_hot: bool) -> _Band:
        found = band_stage.band_buckets(collection.values, copies.rows, weight, band, spec.bands, limit=spec.crowd)
        if found.hot and wait_if_hot:
            return _Band(found.hot, nothing, nothing, 0)
        left, right, met = band_stage.pair_up(
            found, collection.values, crowd, band=band, rows=spec.bands.rows, min_matches=spec.min_matches
        )
        return _Band(found.hot, left, right, met)

    order = range(spec.bands.bands)
    with ThreadPoolExecutor(threads, thread_name_prefix="neardup") as pool:
        results: list[_Band] = []
        for result in pool.map(lambda band: pair_band(band, none, wait_if_hot=True), order):
            results.append(result)
            observer.advance(1)
        hot = [result.hot for result in results]
        if not any(hot):
            empty = Crowds(none, nothing, nothing, np.empty(0), 0)
            rest = Leftovers(nothing, nothing, 0, np.zeros(len(collection), dtype=np.bool_))
            return _joined(results, rest, empty, weight)
        crowds = find_crowds(hot, collection, weight, spec, check)
        waiting = [band for band in order if hot[band]]
        results.extend(pool.map(lambda band: pair_band(band, crowds.crowd, wait_if_hot=False), waiting))
    rest = pair_leftovers(hot, collection, weight, crowds, spec, threads=threads)
    return _joined(results, rest, crowds, weight)


def _joined(results: list[_Band], rest: Leftovers, crowds: Crowds, weight: I64) -> Candidates:
    """Put the pairs of all bands together: none inside a crowd, none twice."""
    left = np.concatenate([*(result.left for result in results), rest.left])
    right = np.concatenate([*(result.right for result in results), rest.right])
    if crowds.left.size or rest.left.size:
        inside = (crowds.crowd[left] >= 0) & (crowds.crowd[left] == crowds.crowd[right])
        left, right = unique_pairs([(left[~inside], right[~inside])], crowds.crowd.size)
    met = crowds.asked + rest.met + sum(result.met for result in results)
    return Candidates(left, right, met, crowds, int(weight[rest.overfull].sum()))
