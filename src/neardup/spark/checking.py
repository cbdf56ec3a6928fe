"""The exact check: candidate pairs laid out by partitions, the texts of each brought there once.

check/PPPP.arrays ──┐
inputs ── texts ─┴─► verified/PPPP.arrays   pairs that reach the threshold, with their exact similarity
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from neardup.engine.banding.pending import Pending
from neardup.engine.check import Checker, Screen, TooLargeError
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.spark.exchange import Blobs, Facts
from neardup.spark.packing import Arrays
from neardup.spark.pieces import PARTS_TEXT, Job
from neardup.spark.texts import collected, give_wanted, taken_texts
from neardup.spark.work import TOO_LARGE, ClusterWork
from neardup.stages.verify import chunks
from neardup.types import F64, I32, I64, Mask

Slab = tuple[I64, I64, I64]
"""Pairs, left and right by their new numbers, and their tags."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A round of checks: the pairs to check under one name, with one threshold."""

    name: str
    threshold: float
    hot: tuple[int, ...] = ()
    """Bands with a hot bucket."""
    is_screened: bool = True


def take_candidates(job: Job, checked: Checked, part: int, blobs: Blobs) -> Facts:
    """Check the pairs of a partition, as one machine does."""
    pairs = job.storage.get(f"{checked.name}-pairs/{part:06d}")
    taken = taken_texts(blobs)
    left, right = np.searchsorted(taken.rows, pairs["left"]), np.searchsorted(taken.rows, pairs["right"])
    with collected(job, taken, is_sketched=checked.is_screened, keep_values=checked.is_screened) as collection:
        check = Checker(collection, threads=1)
        screen, pending = None, None
        if checked.is_screened:
            pending = Pending(collection)
            pending.hot = set(checked.hot)
            screen = Screen(pending.screen, pairs["tag"].astype(np.int64), pairs["inside"], pairs["apart"])
        try:
            similarity = check(left, right, checked.threshold, screen=screen)
        except TooLargeError as exc:
            return {TOO_LARGE: taken.rows[exc.rows].tolist(), "need": exc.need}
        near = similarity >= 0 if checked.threshold > 0 else np.ones(left.size, dtype=np.bool_)
        found = {"left": pairs["left"][near], "right": pairs["right"][near], "similarity": similarity[near]}
    job.storage.put(f"{checked.name}-verified/{part:06d}", **found)
    return {
        "pairs": int(near.sum()),
        "checked": check.checked,
        "met": 0 if pending is None else pending.met,
    }


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of documents from hot buckets, by their new numbers."""

    crowd: I32
    """int32[n]: the leader of each one's crowd, or -1."""
    apart: Mask
    """bool[n]: which were told apart."""
    hot: tuple[int, ...]
    """Bands with a hot bucket."""


def check_pairs(
    search: ClusterWork, slabs: Iterable[Slab], threshold: float, crowds: Known | None = None
) -> Iterator[tuple[I64, I64, F64]]:
    """Check pairs of known documents on the cluster; gives those that reach the threshold, with their similarity.

    With ``crowds`` they are candidates with tags, which are screened first.
    """
    job, rows, lengths = search.job, search.rows, search.collection.texts.lengths
    checked = Checked(search.next_name("check"), threshold, crowds.hot if crowds else (), crowds is not None)
    parts, wanted = 0, []
    for left, right, tag in slabs:
        for chunk in chunks(left, right, lambda some: lengths(some) + 1, lengths, budget=PARTS_TEXT):
            a, b = left[chunk.pairs], right[chunk.pairs]
            pairs: Arrays = {"left": rows[a], "right": rows[b], "tag": tag[chunk.pairs].astype(np.int16)}
            if crowds is not None:
                pairs["inside"] = (crowds.crowd[a] >= 0) & (crowds.crowd[a] == crowds.crowd[b])
                pairs["apart"] = crowds.apart[a] & crowds.apart[b]
            job.storage.put(f"{checked.name}-pairs/{parts:06d}", **pairs)
            wanted.append((rows[chunk.docs], np.full(chunk.docs.size, parts)))
            parts += 1
    if not parts:
        return
    of, part = (np.concatenate(column) for column in zip(*wanted, strict=True))
    order = np.lexsort((part, of))
    splits = search.put_wanted(f"{checked.name}-wanted", of[order], part[order])
    found = search.exchange(
        "check", splits, partial(give_wanted, job, name=checked.name), parts, partial(take_candidates, job, checked)
    )
    search.tally.checked += sum(each["checked"] for each in found)
    search.tally.candidates += sum(each["met"] for each in found)
    for verified in job.storage.get_all(f"{checked.name}-verified/{number:06d}" for number in range(parts)):
        left, right = np.searchsorted(rows, verified["left"]), np.searchsorted(rows, verified["right"])
        yield left, right, verified["similarity"]


class RemoteChecker(Checker):
    """Gives exact similarities as ``Checker`` does; the cluster works them out."""

    def __init__(self, search: ClusterWork, collection: Collection, *, threads: int) -> None:
        """``search`` knows the documents of ``collection``."""
        super().__init__(collection, threads=threads)
        self._search = search

    def __call__(
        self,
        left: I64,
        right: I64,
        threshold: float,
        *,
        screen: Screen | None = None,
        observer: Observer | None = None,
    ) -> F64:
        """As ``Checker``; candidates are not screened here."""
        if not left.size:
            return np.empty(0)
        n = np.uint64(len(self.collection))
        keys, place = np.unique(left.astype(np.uint64) * n + right.astype(np.uint64), return_inverse=True)
        a, b = np.divmod(keys, n)
        slab = a.astype(np.int64), b.astype(np.int64), np.zeros(keys.size, dtype=np.int64)
        similarity = np.full(keys.size, -1.0)
        for some_left, some_right, near in check_pairs(self._search, [slab], threshold):
            at = np.searchsorted(keys, some_left.astype(np.uint64) * n + some_right.astype(np.uint64))
            similarity[at] = near
        found: F64 = similarity[place]
        return found
