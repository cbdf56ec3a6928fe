"""The chunks of a report: pages of clusters, packed one after the other until the size is spent, and their list."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.engine.threads import in_order
from neardup.pages.site.render import json_bytes
from neardup.tasks.report.chosen import Chosen, Mates
from neardup.tasks.report.ground import Ground
from neardup.tasks.report.groups import Groups
from neardup.tasks.report.marking import Job, Marked, mark
from neardup.tasks.report.originals import Originals
from neardup.tasks.report.origins import Origins
from neardup.tasks.report.shelf import Shelf
from neardup.types import I64

__all__ = ["LISTED_CHUNK", "Pages", "full_matrices", "list_clusters", "make_pages"]

Trio = tuple[int, int, float]
"""Two members of a cluster, by their place among those shown, and their similarity."""

LISTED_CHUNK = 2000
"""Clusters listed in a chunk."""
PAGES_BYTES = 400_000
"""Estimated size of a chunk of pages: small enough to be loaded at once, large enough not to make too many files."""
FULL_MEMBERS = 20
"""Members shown up to which all pairs of a cluster are compared, unless the texts are very long."""
FULL_EACH, FULL_ALL = 50_000_000, 4_000_000_000
"""Shingles that are compared for all pairs of a cluster, and of all clusters together: some seconds."""
FULL_SHINGLES = 1_500_000
"""Shingles of all members of such a cluster: two of them can be compared under any memory limit."""
HEAVY = 4_000_000
"""Bytes of the texts of a cluster from which it is made by itself, and shows only the texts of its pairs."""
FOUND_PAIRS = 60
"""Found pairs of a cluster, beside those with the keeper, that get a page."""
MARKED_EACH = 100_000_000
"""Bytes of the texts of the pairs of a cluster that are looked through for passages."""


@dataclass(slots=True)
class Pages:
    """Pages that were made."""

    shelf: Shelf
    """Each chunk, packed."""
    page: NDArray[np.int32]
    """int32[clusters with a page]: the chunk of each; the clusters are the first of the report."""
    bytes: int
    is_spent: bool
    """Whether the size was spent before all were made."""
    partial: int
    """Pages on which the similarities of some pairs of members shown are left out."""


def full_matrices(chosen: Chosen, counts: list[I64]) -> list[bool]:
    """For each cluster whether all pairs of its members shown are compared: small ones first, within what it costs.

    Args:
        chosen: the clusters.
        counts: shingles of each member shown.
    """
    m = np.array([count.size for count in counts], dtype=np.int64)
    total = np.array([count.sum() for count in counts], dtype=np.int64)
    costs = np.maximum(m - 2, 0) * total  # similarities to the keeper are known
    can = (m <= 2) | ((costs <= FULL_EACH) & (total <= FULL_SHINGLES))
    order = np.lexsort((np.arange(m.size), costs, m > FULL_MEMBERS, ~can))
    full = np.zeros(m.size, dtype=np.bool_)
    full[order] = can[order] & (np.cumsum(costs[order]) <= FULL_ALL)
    return list(map(bool, full))


def make_pages(
    ground: Ground,
    groups: Groups,
    origins: Origins | None,
    chosen: Chosen,
    mates: Mates,
    originals: Originals,
    *,
    budget: int,
) -> Pages:
    """Make and pack the pages of clusters until ``budget`` bytes are spent.

    Memory: some pages for each thread; packed ones wait on a shelf.
    """
    maker = _Maker(ground, groups, origins, chosen, mates, originals)
    pages = Pages(Shelf("pages", ground.run.space, part=0.2), np.empty(0, np.int32), 0, False, 0)
    page: list[int] = []
    run, spec = ground.run, ground.run.spec
    run.observer.stage("pages", len(chosen.shown), "clusters")

    alone = Lock()

    def work(jobs: list[Job]) -> tuple[list[Job], bytes]:
        heavy = sum(sum(job.characters) for job in jobs) > HEAVY
        with alone if heavy else nullcontext():
            return jobs, _packed([mark(job, spec, ground.pairs_from) for job in jobs])

    threads = run.space.budget.threads(run.threads)
    for jobs, data in in_order(work, maker.chunks(min(PAGES_BYTES, budget // 8)), threads=threads, ahead=threads):
        if pages.bytes + len(data) > budget:
            pages.is_spent = True
            break
        page += [len(pages.shelf)] * len(jobs)
        pages.shelf.add([data])
        pages.bytes += len(data)
        pages.partial += sum(not job.is_full for job in jobs)
        run.observer.advance(len(jobs))
    pages.page = np.array(page, dtype=np.int32)
    return pages


def _packed(marked: list[Marked]) -> bytes:
    clusters: dict[str, Any] = {}
    texts: list[dict[str, Any]] = []
    for each in marked:
        for member in each.cluster["members"]:
            member["text"] += len(texts)
        clusters[str(each.number)] = each.cluster
        texts += each.texts
    return json_bytes({"clusters": clusters, "texts": texts})


class _Maker:
    """Puts together what the pages are made of, a chunk of clusters at a time."""

    def __init__(
        self,
        ground: Ground,
        groups: Groups,
        origins: Origins | None,
        chosen: Chosen,
        mates: Mates,
        originals: Originals,
    ) -> None:
        self._ground = ground
        self._groups = groups
        self._origins = origins
        self._chosen = chosen
        self._mates = mates
        self._originals = originals
        counts = ground.search.collection.counts
        self._full = full_matrices(chosen, [counts.take(each.rows) for each in chosen.shown])

    def chunks(self, most: int) -> Iterator[list[Job]]:
        """The clusters of each chunk of pages, which takes about ``most`` bytes."""
        first, size = 0, 0
        for number in range(len(self._chosen.shown)):
            m = len(self._chosen.shown[number])
            size += self._chosen.sizes[number] + 26 * m * (m - 1) // 2
            if size >= most or number + 1 == len(self._chosen.shown):
                yield self._jobs(range(first, number + 1))
                first, size = number + 1, 0

    def _jobs(self, numbers: range) -> list[Job]:
        shown = [self._chosen.shown[number] for number in numbers]
        rows = np.concatenate([each.rows for each in shown])
        lengths = self._originals.lengths(rows)
        names = self._ground.names(rows)
        sources = self._origins.of[rows].tolist() if self._origins is not None else [-1] * rows.size
        compared = self._compared(numbers)
        jobs, first = [], 0
        for number, each in zip(numbers, shown, strict=True):
            part = slice(first, first + len(each))
            first += len(each)
            similarity = each.similarity.tolist()
            found = [(i, j, s) for i, j, s in self._mates.of(number) if i]
            with_keeper = [(0, j, similarity[j]) for j in range(1, len(each))]
            pairs = self._paged(number, with_keeper, found)
            jobs.append(
                Job(
                    number=number,
                    size=int(self._groups.size[number]),
                    ids=names[part],
                    sources=sources[part],
                    texts=self._texts(number, pairs),
                    characters=lengths[part],
                    similarity=similarity,
                    kinds=each.kinds.tolist(),
                    similarities=[*with_keeper, *compared.get(number, found)],
                    is_full=number in compared,
                    pairs=pairs,
                    pairs_left_out=len(with_keeper) + len(found) - len(pairs),
                )
            )
        return jobs

    def _texts(self, number: int, pairs: list[Trio]) -> list[str | None]:
        """The texts of the members shown; where they are very long in all only those of pairs that have a page."""
        rows = self._chosen.shown[number].rows
        wanted = np.arange(rows.size)
        if int(self._chosen.lengths[number].sum()) > HEAVY:
            wanted = np.unique([0, *(member for a, b, _ in pairs for member in (a, b))])
        texts: list[str | None] = [None] * rows.size
        for member, text in zip(wanted.tolist(), self._originals.texts(rows[wanted]), strict=True):
            texts[member] = text
        return texts

    def _paged(self, number: int, with_keeper: list[Trio], found: list[Trio]) -> list[Trio]:
        """The pairs that get a page: with the keeper, then of the found ones the most similar that differ."""
        found = sorted(found, key=lambda pair: (pair[2] == 1.0, -pair[2], pair[0], pair[1]))[:FOUND_PAIRS]
        lengths = self._chosen.lengths[number].tolist()
        left = MARKED_EACH
        pairs: list[Trio] = []
        for pair in [*with_keeper, *found]:
            left -= lengths[pair[0]] + lengths[pair[1]]
            if left < 0 and pairs:
                break
            pairs.append(pair)
        return pairs

    def _compared(self, numbers: range) -> dict[int, list[Trio]]:
        """Similarities of all pairs of members shown beside the keeper, of the clusters where all are compared."""
        full = [number for number in numbers if self._full[number]]
        places = [list(combinations(range(1, len(self._chosen.shown[number])), 2)) for number in full]
        pairs = [np.array(each, dtype=np.int64).reshape(-1, 2) for each in places]
        rows = [self._chosen.shown[number].rows[pair] for number, pair in zip(full, pairs, strict=True)]
        both = np.concatenate([np.empty((0, 2), np.int64), *rows])
        similarity = iter(self._ground.search.check(both.min(axis=1), both.max(axis=1), 0.0).tolist())
        return {number: [(i, j, next(similarity)) for i, j in each] for number, each in zip(full, places, strict=True)}


def list_clusters(
    ground: Ground, groups: Groups, origins: Origins | None, originals: Originals, page: NDArray[np.int32], listed: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The chunks of the list of clusters."""
    by_row = np.argsort(groups.keeper[:listed], kind="stable")
    place = np.empty(listed, dtype=np.int64)
    place[by_row] = np.arange(listed)
    of = origins.of if origins is not None else None
    for chunk, first in enumerate(range(0, listed, LISTED_CHUNK)):
        part = slice(first, min(first + LISTED_CHUNK, listed))
        keeper = groups.keeper[part]
        pages = page[part].tolist()
        yield (
            f"clusters-{chunk:04d}",
            {
                "first": first,
                "keeper": ground.names(keeper),
                "size": groups.size[part].tolist(),
                "least": groups.least[part].tolist(),
                "mean": groups.mean[part].tolist(),
                "source": of[keeper].tolist() if of is not None else [-1] * keeper.size,
                "opening": [originals.openings[i] for i in place[part].tolist()],
                "page": pages + [-1] * (keeper.size - len(pages)),
            },
        )
