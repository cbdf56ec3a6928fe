"""Find the candidate pairs of a collection: group the bands in threads, and handle hot buckets separately.

The pairs of small buckets are screened by a few bits of each signature, which are kept for every document. In larger
buckets whole signatures are compared, which are computed again for the members.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup.engine.banding.hot import Crowds, find_crowds, pair_hot_buckets
from neardup.engine.banding.pending import Buckets, Pending, pair_members
from neardup.engine.check import Buffers, Checker
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.threads import in_order
from neardup.stages import bands as band_stage
from neardup.stages.bands import BandBuckets
from neardup.stages.screen import SMALL, near_pairs
from neardup.types import I32, I64

ROW_BYTES = 16
"""Memory for each row while a band is grouped."""


@dataclass(slots=True)
class BandCandidates:
    """The candidate pairs and the crowds that banding found."""

    pending: Pending
    """Pairs of representatives, left < right."""
    crowds: Crowds
    met: int
    """The number of candidate pairs met. A pair counts once for each small bucket in which it meets."""
    overfull: int
    """The number of documents in buckets that stayed too large. They were compared with leaders only."""


class BandWork:
    """The bands of a collection and the results before crowds are known, continued from an interrupted run if any."""

    def __init__(self, collection: Collection, weight: I32, *, threads: int, observer: Observer) -> None:
        self.collection, self.weight, self.threads, self.observer = collection, weight, threads, observer
        self.pending = Pending(collection)
        self.hot = Buckets("hot", collection)
        self.waiting = Buckets("waiting", collection)
        """Buckets whose pairs wait until the crowds are known, so that pairs inside a crowd can be skipped."""
        state = collection.space.state.get("bands", {})
        self.done: int = state.get("done", 0)
        """The number of finished bands."""
        self.met: int = state.get("met", 0)
        """The number of meetings in small buckets."""

    def group(self) -> None:
        """Find the buckets of all bands, and record the pairs of small buckets, which need not wait for the crowds."""
        collection, spec, space = self.collection, self.collection.spec, self.collection.space
        fit = max(1, space.budget.share(0.3) // (ROW_BYTES * self.threads))
        parts = min(band_stage.PARTS, -(-len(collection) // fit))

        def jobs() -> Iterator[tuple[int, int, I64]]:
            for band in range(self.done, spec.bands.bands):
                if collection.key_counts is not None:
                    counts = collection.key_counts[band]
                else:  # the collection was read by an interrupted run
                    counts = band_stage.part_sizes(collection.key_blocks(band), self.weight)
                for part in range(parts):
                    yield band, part, counts

        bits, screen, buffers = self.pending.bits, spec.screening, Buffers(np.uint64)

        def one(job: tuple[int, int, I64]) -> tuple[int, bool, BandBuckets, list[tuple[I64, I64, int]]]:
            band, part, counts = job
            low, high = (each * band_stage.PARTS // parts for each in (part, part + 1))
            packed = buffers.take(int(counts[low:high].sum()), fresh=0)
            grouped = band_stage.grouped(collection.key_blocks(band), self.weight, part, parts, counts, packed)
            buffers.give_back(packed)
            found = band_stage.limited(*grouped, self.weight, limit=spec.crowd)
            return band, part + 1 == parts, found, list(near_pairs(found.members, found.starts, screen, bits))

        self.observer.advance(self.done)
        for band, is_last, found, near in in_order(one, jobs(), threads=self.threads, ahead=self.threads):
            for members in found.hot:
                self.hot.add(band, members)
            self.waiting.add_all(band, *found.chosen(np.diff(found.starts) > SMALL))
            for left, right, met in near:
                self.pending.add(left, right, is_vouched=False)
                self.met += met
            if is_last:
                self.done = band + 1
                if space.is_due or self.done == spec.bands.bands:
                    self.pending.flush()
                    facts = {"done": self.done, "met": self.met, "block": self.pending.block}
                    buckets = {"hot": self.hot.state(), "waiting": self.waiting.state()}
                    space.checkpoint(bands=facts | buckets)
                self.observer.advance(1)

    def hold_signatures(self) -> None:
        """Mark the members of large buckets, and make their signatures in bulk, because every band needs them."""
        collection, space = self.collection, self.collection.space
        wanted = self.pending.is_large
        for buckets in (self.hot, self.waiting):
            for rows in buckets.all_rows():
                wanted[rows] = True
        collection.values.hold(np.flatnonzero(wanted), threads=self.threads, most=space.budget.share(0.15))

    def pair_waiting(self, crowd: I32, hot: set[int]) -> int:
        """Pair up the buckets that waited, and return the number of candidate pairs met.

        In bands of ``hot``, which have a hot bucket, pairs with the same number in ``crowd`` (int32[n]) are skipped.
        """
        collection = self.collection
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
    """Run all bands. The result does not depend on threads, or on whether signatures are held or computed again.

    Memory: 16 bytes for each row that is being grouped. A band is grouped in parts, so that they fit the budget.
    """
    bands = BandWork(collection, weight, threads=threads, observer=observer)
    bands.group()
    return pair_large(bands, check)


def pair_large(bands: BandWork, check: Checker) -> BandCandidates:
    """Find the crowds, then pair up the hot buckets and the buckets that waited."""
    collection, weight, threads, pending = bands.collection, bands.weight, bands.threads, bands.pending
    space = collection.space
    bands.hold_signatures()
    if not len(bands.hot):
        crowds = Crowds.none(len(collection))
        met_hot = overfull = 0
    elif "hot_pairs" in space.state:
        crowds = Crowds.restored(collection)
        met_hot, overfull = space.state["hot_pairs"]
    else:
        crowds = find_crowds(bands.hot, collection, weight, check)
        met_hot, overfull = pair_hot_buckets(bands.hot, pending, collection, weight, crowds, check, threads=threads)
    if "waited" in space.state:
        met = space.state["waited"]
    else:
        met = bands.pair_waiting(crowds.passed_over, set(bands.hot.bands()))
        pending.flush()
        check.flush()
        crowds.keep(space)
        space.checkpoint(hot_pairs=[met_hot, overfull], waited=met, asked=crowds.asked, checked=check.checked)
    pending.is_apart = crowds.apart
    return BandCandidates(pending, crowds, bands.met + crowds.asked + met_hot + met, overfull)
