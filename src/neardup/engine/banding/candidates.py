"""Candidate pairs of a collection: the bands in threads, hot buckets apart.

Signatures in memory are compared as soon as two rows meet in a bucket. Signatures in a workdir are not there to be
compared: the pairs of small buckets are written down with their band and compared later, many at a time
(``Pending.slabs``), and larger buckets are dealt with one by one. Both ways give the same pairs and the same counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.engine.banding.hot import Crowds, find_crowds, pair_hot_buckets
from neardup.engine.banding.pending import Buckets, Pending, pair_members
from neardup.engine.check import Checker
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.threads import in_order
from neardup.stages import bands as band_stage
from neardup.stages.bands import BandBuckets
from neardup.types import I32, I64, U32

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


class _Bands:
    """The bands of a collection, and what they gave before crowds are known; as an interrupted run left it."""

    def __init__(self, collection: Collection, weight: I32, *, threads: int, observer: Observer) -> None:
        self.collection, self.weight, self.threads, self.observer = collection, weight, threads, observer
        self.pending = Pending(collection)
        self.hot = Buckets("hot", collection)
        self.waiting = Buckets("waiting", collection)
        """Buckets whose pairs wait until the crowds are known, so that pairs inside a crowd are passed over."""
        state = collection.space.state.get("bands", {})
        self.met: int = state.get("met", 0)
        self.done: int = state.get("done", 0)
        """Bands finished."""

    def group(self) -> None:
        """Find the buckets of all bands, and pair up those that need not wait."""
        if self.collection.resident is None:
            self._group_spooled()
        else:
            self._group_resident(self.collection.resident)

    def _group_resident(self, values: U32) -> None:
        """Bands of signatures in memory: one band a thread; one with a hot bucket waits as a whole."""
        spec, rows = self.collection.spec, np.flatnonzero(self.weight)
        none = np.full(len(self.collection), -1, dtype=np.int32)

        def one(band: int) -> tuple[BandBuckets, int]:
            found = band_stage.band_buckets(values, rows, self.weight, band, spec.bands, limit=spec.crowd)
            if found.hot:
                return found, 0
            pieces = band_stage.pair_up(
                found, values, none, band=band, rows=spec.bands.rows, min_matches=spec.min_matches
            )
            return found, self.pending.add_all(pieces)

        for band, (found, met) in enumerate(in_order(one, range(spec.bands.bands), threads=self.threads)):
            self.met += met
            for members in found.hot:
                self.hot.add(band, members)
            if found.hot:
                self.waiting.add_all(band, found.members, found.starts)
            self.observer.advance(1)

    def _group_spooled(self) -> None:
        """Bands of keys in files: a band after the other, its parts in threads."""
        collection, spec, space = self.collection, self.collection.spec, self.collection.space
        fit = max(1, space.budget.share(0.3) // (ROW_BYTES * self.threads))
        parts = min(band_stage.PARTS, max(self.threads, -(-len(collection) // fit)))
        self.observer.advance(self.done)
        for band in range(self.done, spec.bands.bands):

            def one(part: int, band: int = band) -> BandBuckets:
                keys, rows = collection.scan_keys(band, self.weight, part, parts)
                return band_stage.group(keys, rows, self.weight, limit=spec.crowd)

            for found in in_order(one, range(parts), threads=self.threads, ahead=self.threads):
                for members in found.hot:
                    self.hot.add(band, members)
                small = np.diff(found.starts) <= SMALL
                for left, right in band_stage.all_pairs(*found.chosen(small)):
                    self.pending.add(left, right, tag=band + 1)
                self.waiting.add_all(band, *found.chosen(~small))
            self.done = band + 1
            self.pending.flush()
            buckets = {"hot": self.hot.state(), "waiting": self.waiting.state()}
            space.checkpoint(bands={"met": self.met, "done": self.done, **buckets})
            self.observer.advance(1)

    def pair_waiting(self, crowd: I32) -> int:
        """Pair up the buckets that waited; returns the candidates met."""
        collection, hot = self.collection, set(self.hot.bands())
        room = max(1024, collection.space.budget.share(0.1) // (self.threads * 4 * collection.spec.slots))
        jobs = ((band, *part) for band in self.waiting.bands() for part in self.waiting.pieces(band, room))

        def one(job: tuple[int, I64, I64]) -> int:
            band, members, starts = job
            pairs = pair_members(collection, members, starts, crowd if band in hot else None, band=band)
            return self.pending.add_all(pairs)

        return sum(in_order(one, jobs, threads=self.threads))


def find_candidates(
    collection: Collection, weight: I32, check: Checker, *, threads: int, observer: Observer
) -> BandCandidates:
    """Run all bands; the answer does not depend on threads, nor on where the signatures are.

    Memory: 56 bytes for each row of the bands that are being grouped; in a workdir a band is grouped in parts, so
    that they fit the budget.
    """
    space = collection.space
    bands = _Bands(collection, weight, threads=threads, observer=observer)
    pending = bands.pending
    bands.group()
    if not len(bands.hot):
        crowds = Crowds.none(len(collection))
        met_hot = overfull = 0
    elif "hot_pairs" in space.state:
        crowds = Crowds.restored(collection)
        met_hot, overfull = space.state["hot_pairs"]
    else:
        crowds = find_crowds(bands.hot, collection, weight, check)
        met_hot, overfull = pair_hot_buckets(bands.hot, pending, collection, weight, crowds, threads=threads)
    if "waited" in space.state:
        met = space.state["waited"]
    else:
        met = bands.pair_waiting(crowds.passed_over)
        pending.flush()
        crowds.keep(space)
        space.checkpoint(hot_pairs=[met_hot, overfull], waited=met, asked=crowds.asked, checked=check.checked)
    pending.hot, pending.apart = set(bands.hot.bands()), crowds.apart
    return BandCandidates(pending, crowds, bands.met + crowds.asked + met_hot + met, overfull)
