"""The exact check: candidate pairs are laid out in partitions, and each text is brought once to a partition.

check/PPPP.arrays ──┐
inputs ── texts ─┴─► verified/PPPP.arrays   pairs that reach the threshold, with their exact similarity
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from neardup.engine.check import Checker, TooLargeError
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.spark.exchange import Blobs, Facts
from neardup.spark.pieces import PARTS_TEXT, Job
from neardup.spark.texts import collected, give_wanted, taken_texts
from neardup.spark.work import TOO_LARGE, ClusterWork
from neardup.spool import Parts
from neardup.stages.verify import chunks
from neardup.types import F64, I64


def take_candidates(job: Job, name: str, threshold: float, part: int, blobs: Blobs) -> Facts:
    """Check the pairs of a partition with the code for one machine, and write those at or above the threshold."""
    pairs = job.storage.get(f"{name}-pairs/{part:06d}")
    taken = taken_texts(blobs)
    left, right = np.searchsorted(taken.rows, pairs["left"]), np.searchsorted(taken.rows, pairs["right"])
    with collected(job, taken, is_sketched=False) as collection:
        check = Checker(collection, threads=1)
        try:
            similarity = check(left, right, threshold)
        except TooLargeError as exc:
            return {TOO_LARGE: taken.rows[exc.rows].tolist(), "need": exc.need}
        near = similarity >= 0 if threshold > 0 else np.ones(left.size, dtype=np.bool_)
        found = {"left": pairs["left"][near], "right": pairs["right"][near], "similarity": similarity[near]}
    job.storage.put(f"{name}-verified/{part:06d}", **found)
    return {"pairs": int(near.sum()), "checked": check.checked}


def check_pairs(
    search: ClusterWork, pieces: Iterable[tuple[I64, I64]], threshold: float
) -> Iterator[tuple[I64, I64, F64]]:
    """Check pairs of known documents on the cluster; yield those that reach the threshold, with their similarity.

    ``pieces`` are left and right of some pairs at a time, by the new numbers of their documents.
    """
    job, rows, lengths = search.job, search.rows, search.collection.texts.lengths
    name, parts, wanted = search.next_name("check"), 0, []
    for left, right in pieces:
        for chunk in chunks(left, right, lambda some: lengths(some) + 1, lengths, budget=PARTS_TEXT):
            of_chunk = {"left": rows[left[chunk.pairs]], "right": rows[right[chunk.pairs]]}
            job.storage.put(f"{name}-pairs/{parts:06d}", **of_chunk)
            wanted.append((rows[chunk.docs], np.full(chunk.docs.size, parts)))
            parts += 1
    if not parts:
        return
    of, part = (np.concatenate(column) for column in zip(*wanted, strict=True))
    order = np.lexsort((part, of))
    splits = search.put_wanted(f"{name}-wanted", of[order], part[order])
    give, take = partial(give_wanted, job, name=name), partial(take_candidates, job, name, threshold)
    found = search.exchange("check", splits, give, parts, take)
    search.tally.checked += sum(each["checked"] for each in found)
    # a resumed run with another memory limit divides pairs differently, so use the number of recorded answers
    for verified in job.storage.get_all(f"{name}-verified/{number:06d}" for number in range(len(found))):
        left, right = np.searchsorted(rows, verified["left"]), np.searchsorted(rows, verified["right"])
        yield left, right, verified["similarity"]


class RemoteChecker(Checker):
    """A ``Checker`` whose exact similarities are computed on the cluster."""

    def __init__(self, search: ClusterWork, collection: Collection, *, threads: int) -> None:
        """Check documents of ``collection`` with ``search``, which knows them."""
        super().__init__(collection, threads=threads)
        self._search = search

    def __call__(
        self,
        left: I64,
        right: I64,
        threshold: float,
        *,
        parts: Parts | None = None,
        observer: Observer | None = None,
    ) -> F64:
        """Check pairs as ``Checker`` does, with the texts on the cluster."""
        if not left.size:
            return np.empty(0)
        n = np.uint64(len(self.collection))
        keys, place = np.unique(left.astype(np.uint64) * n + right.astype(np.uint64), return_inverse=True)
        a, b = np.divmod(keys, n)
        pairs = a.astype(np.int64), b.astype(np.int64)
        similarity = np.full(keys.size, -1.0)
        for some_left, some_right, near in check_pairs(self._search, [pairs], threshold):
            at = np.searchsorted(keys, some_left.astype(np.uint64) * n + some_right.astype(np.uint64))
            similarity[at] = near
        found: F64 = similarity[place]
        return found
