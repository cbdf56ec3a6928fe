"""Candidate pairs of a collection: the bands in threads, hot buckets apart.

Signatures in memory are compared as soon as two rows meet in a bucket. Signatures in a workdir are not there to be
compared: the pairs of small buckets are written down with their band and compared later, many at a time
(``Pending.slabs``), and larger buckets are dealt with one by one. Both ways give the same pairs and the same counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup.engine.banding.hot import Crowds, find_crowds, pair_hot_buckets
from neardup.engine.banding.pending import Buckets, Pending, pair_members
from neardup.engine.check import Checker
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.space import Space
from neardup.engine.threads import in_order
from neardup.stages import bands as band_stage
from neardup.stages.bands import BandBuckets
from neardup.types import I32, I64

__all__ = ["BandCandidates", "find_candidates"]

SMALL = 64
"""Rows of a bucket up to which writing down all its pairs costs less than fetching its signatures."""
ROW_BYTES = 56
"""Memory for each row that is being grouped."""


@dataclass(slots=True)
class BandCandidates:
    """What banding found."""

    pending: Pending
    """Pairs of representatives, left < right."""
    crowds: Crowds
    met: int
    """Candidate pairs met so far, before the estimate filter; those still pending are counted when they are checked."""
    overfull: int
    """Documents in buckets that stayed too large; they were compared with leaders only."""


@dataclass(slots=True)
class _Bands:
    """What the bands gave before crowds are known."""

    hot: Buckets
    waiting: Buckets
    """Buckets whose pairs wait until the crowds are known, so that pairs inside a crowd are passed over."""
    met: int = 0
    done: int = 0
    """Bands finished."""

    def state(self) -> dict[str, Any]:
        return {"met": self.met, "done": self.done, "hot": self.hot.state(), "waiting": self.waiting.state()}

    @classmethod
    def begun(cls, collection: Collection, space: Space) -> _Bands:
        """Empty, or as an interrupted run left it."""
        bands = cls(Buckets("hot", collection, space), Buckets("waiting", collection, space))
        state = space.state.get("bands")
        if state is not None:
            bands.met, bands.done = state["met"], state["done"]
            bands.hot.restore(state["hot"])
            bands.waiting.restore(state["waiting"])
        return bands


def find_candidates(
    collection: Collection, weight: I32, check: Checker, *, threads: int, observer: Observer
) -> BandCandidates:
    """Run all bands; the answer does not depend on threads, nor on where the signatures are.

    Memory: 56 bytes for each row of the bands that are being grouped; in a workdir a band is grouped in parts, so
    that they fit the budget.
    """
    space = collection.space
    pending = Pending(collection, space)
    bands = _Bands.begun(collection, space)
    group = _group_resident if collection.resident is not None else _group_spooled
    group(bands, pending, collection, weight, threads=threads, observer=observer)
    n = len(collection)
    if not len(bands.hot):
        crowds = Crowds.none(n)
        met_hot = overfull = 0
    elif "hot_pairs" in space.state:
        crowds = Crowds.restored(collection, space)
        met_hot, overfull = space.state["hot_pairs"]
    else:
        crowds = find_crowds(bands.hot, collection, weight, check)
        met_hot, overfull = pair_hot_buckets(bands.hot, pending, collection, weight, crowds, threads=threads)
    if "waited" in space.state:
        met = space.state["waited"]
    else:
        met = _pair_waiting(bands, pending, collection, crowds.crowd, threads=threads)
        pending.flush()
        crowds.keep(space)
        space.checkpoint(hot_pairs=[met_hot, overfull], waited=met, asked=crowds.asked, checked=check.checked)
    pending.hot = {int(band) for band in bands.hot.bands()}
    return BandCandidates(pending, crowds, bands.met + crowds.asked + met_hot + met, overfull)


def _group_resident(
    bands: _Bands, pending: Pending, collection: Collection, weight: I32, *, threads: int, observer: Observer
) -> None:
    """Bands of signatures in memory: one band a thread; one with a hot bucket waits as a whole."""
    spec, values = collection.spec, collection.resident
    assert values is not None
    rows = np.flatnonzero(weight)
    none = np.full(len(collection), -1, dtype=np.int32)

    def one(band: int) -> tuple[BandBuckets, int]:
        found = band_stage.band_buckets(values, rows, weight, band, spec.bands, limit=spec.crowd)
        if found.hot:
            return found, 0
        pieces = band_stage.pair_up(found, values, none, band=band, rows=spec.bands.rows, min_matches=spec.min_matches)
        return found, pending.add_all(pieces)

    for band, (found, met) in enumerate(in_order(one, range(spec.bands.bands), threads=threads)):
        bands.met += met
        for members in found.hot:
            bands.hot.add(band, members)
        if found.hot:
            bands.waiting.add_all(band, found.members, found.starts)
        observer.advance(1)


def _group_spooled(
    bands: _Bands, pending: Pending, collection: Collection, weight: I32, *, threads: int, observer: Observer
) -> None:
    """Bands of keys in files: a band after the other, its parts in threads."""
    spec, space = collection.spec, collection.space
    fit = max(1, space.budget.share(0.3) // (ROW_BYTES * threads))
    parts = min(band_stage.PARTS, max(threads, -(-len(collection) // fit)))
    observer.advance(bands.done)
    for band in range(bands.done, spec.bands.bands):

        def one(part: int, band: int = band) -> BandBuckets:
            keys, rows = collection.scan_keys(band, weight, part, parts)
            return band_stage.group(keys, rows, weight, limit=spec.crowd)

        for found in in_order(one, range(parts), threads=threads, ahead=threads):
            for members in found.hot:
                bands.hot.add(band, members)
            sizes = np.diff(found.starts)
            small = sizes <= SMALL
            for left, right in band_stage.all_pairs(*found.chosen(small)):
                pending.add(left, right, tag=band + 1)
            bands.waiting.add_all(band, *found.chosen(~small))
        bands.done = band + 1
        pending.flush()
        space.checkpoint(bands=bands.state())
        observer.advance(1)


def _pair_waiting(bands: _Bands, pending: Pending, collection: Collection, crowd: I32, *, threads: int) -> int:
    """Pair up the buckets that waited; returns the candidates met."""
    hot = set(bands.hot.bands())
    room = max(1024, collection.space.budget.share(0.1) // (threads * 4 * collection.spec.slots))
    jobs = ((band, *part) for band in bands.waiting.bands() for part in bands.waiting.pieces(band, room))

    def one(job: tuple[int, I64, I64]) -> int:
        band, members, starts = job
        return pending.add_all(pair_members(collection, members, starts, crowd if band in hot else None, band=band))

    return sum(in_order(one, jobs, threads=threads))
