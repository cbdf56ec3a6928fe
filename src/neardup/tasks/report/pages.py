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
from neardup.tasks.report.clusters import Groups, Mates, PagedClusters
from neardup.tasks.report.marking import Job, Marked, mark
from neardup.tasks.report.originals import BlobStore, Originals
from neardup.tasks.report.origins import Origins
from neardup.tasks.report.report_input import ReportInput
from neardup.types import I64

__all__ = ["LISTED_CHUNK", "Contents", "Pages", "list_clusters", "make_pages"]

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

    chunks: BlobStore
    """Each chunk, packed."""
    page: NDArray[np.int32]
    """int32[clusters with a page]: the chunk of each; the clusters are the first of the report."""
    bytes: int
    partial: int
    """Pages on which the similarities of some pairs of members shown are left out."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What the pages of clusters are made of."""

    basis: ReportInput
    groups: Groups
    origins: Origins | None
    paged: PagedClusters
    mates: Mates
    originals: Originals

    def jobs(self, most: int) -> Iterator[list[Job]]:
        """The clusters of each chunk of pages, which takes about ``most`` bytes."""
        counts = self.basis.search.collection.counts
        full = _full_matrices([counts.take(each.rows) for each in self.paged.shown])
        first, size = 0, 0
        for number in range(len(self.paged.shown)):
            m = len(self.paged.shown[number])
            size += self.paged.sizes[number] + 26 * m * (m - 1) // 2
            if size >= most or number + 1 == len(self.paged.shown):
                yield self._jobs(range(first, number + 1), full)
                first, size = number + 1, 0

    def _jobs(self, numbers: range, full: list[bool]) -> list[Job]:
        shown = [self.paged.shown[number] for number in numbers]
        rows = np.concatenate([each.rows for each in shown])
        lengths = self.originals.lengths(rows)
        names = self.basis.names(rows)
        sources = self.origins.of[rows].tolist() if self.origins is not None else [-1] * rows.size
        compared = self._compared([number for number in numbers if full[number]])
        jobs, first = [], 0
        for number, each in zip(numbers, shown, strict=True):
            part = slice(first, first + len(each))
            first += len(each)
            similarity = each.similarity.tolist()
            found = [(i, j, s) for i, j, s in self.mates.of(number) if i]
            with_keeper = [(0, j, similarity[j]) for j in range(1, len(each))]
            pairs = self._paged(number, with_keeper, found)
            jobs.append(
                Job(
                    number=number,
                    size=int(self.groups.size[number]),
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
        rows = self.paged.shown[number].rows
        wanted = np.arange(rows.size)
        if int(self.paged.lengths[number].sum()) > HEAVY:
            wanted = np.unique([0, *(member for a, b, _ in pairs for member in (a, b))])
        texts: list[str | None] = [None] * rows.size
        for member, text in zip(wanted.tolist(), self.originals.texts(rows[wanted]), strict=True):
            texts[member] = text
        return texts

    def _paged(self, number: int, with_keeper: list[Trio], found: list[Trio]) -> list[Trio]:
        """The pairs that get a page: with the keeper, then of the found ones the most similar that differ."""
        found = sorted(found, key=lambda pair: (pair[2] == 1.0, -pair[2], pair[0], pair[1]))[:FOUND_PAIRS]
        lengths = self.paged.lengths[number].tolist()
        left = MARKED_EACH
        pairs: list[Trio] = []
        for pair in [*with_keeper, *found]:
            left -= lengths[pair[0]] + lengths[pair[1]]
            if left < 0 and pairs:
                break
            pairs.append(pair)
        return pairs

    def _compared(self, full: list[int]) -> dict[int, list[Trio]]:
        """Similarities of all pairs of members shown beside the keeper, of the clusters where all are compared."""
        places = [list(combinations(range(1, len(self.paged.shown[number])), 2)) for number in full]
        pairs = [np.array(each, dtype=np.int64).reshape(-1, 2) for each in places]
        rows = [self.paged.shown[number].rows[pair] for number, pair in zip(full, pairs, strict=True)]
        both = np.concatenate([np.empty((0, 2), np.int64), *rows])
        similarity = iter(self.basis.search.check(both.min(axis=1), both.max(axis=1), 0.0).tolist())
        return {number: [(i, j, next(similarity)) for i, j in each] for number, each in zip(full, places, strict=True)}


def _full_matrices(counts: list[I64]) -> list[bool]:
    """For each cluster whether all pairs of its members shown are compared: small ones first, within what it costs.

    Args:
        counts: of each cluster the shingles of each member shown.
    """
    m = np.array([count.size for count in counts], dtype=np.int64)
    total = np.array([count.sum() for count in counts], dtype=np.int64)
    costs = np.maximum(m - 2, 0) * total  # similarities to the keeper are known
    can = (m <= 2) | ((costs <= FULL_EACH) & (total <= FULL_SHINGLES))
    order = np.lexsort((np.arange(m.size), costs, m > FULL_MEMBERS, ~can))
    full = np.zeros(m.size, dtype=np.bool_)
    full[order] = can[order] & (np.cumsum(costs[order]) <= FULL_ALL)
    return list(map(bool, full))


def make_pages(contents: Contents, *, budget: int) -> Pages:
    """Make and pack the pages of clusters until ``budget`` bytes are spent.

    Memory: some pages for each thread; packed ones wait in memory or in the workdir.
    """
    run, pairs_from = contents.basis.run, contents.basis.pairs_from
    pages = Pages(BlobStore("pages", run.space, part=0.2), np.empty(0, np.int32), 0, 0)
    page: list[int] = []
    run.observer.stage("pages", len(contents.paged.shown), "clusters")

    alone = Lock()

    def work(jobs: list[Job]) -> tuple[list[Job], bytes]:
        heavy = sum(sum(job.characters) for job in jobs) > HEAVY
        with alone if heavy else nullcontext():
            return jobs, _packed([mark(job, run.spec, pairs_from) for job in jobs])

    threads = run.space.budget.threads(run.threads)
    jobs_of_chunks = contents.jobs(min(PAGES_BYTES, budget // 8))
    for jobs, data in in_order(work, jobs_of_chunks, threads=threads, ahead=threads):
        if pages.bytes + len(data) > budget:
            break
        page += [len(pages.chunks)] * len(jobs)
        pages.chunks.add([data])
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


def list_clusters(contents: Contents, page: NDArray[np.int32], listed: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The chunks of the list of clusters."""
    groups, origins = contents.groups, contents.origins
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
                "keeper": contents.basis.names(keeper),
                "size": groups.size[part].tolist(),
                "least": groups.least[part].tolist(),
                "mean": groups.mean[part].tolist(),
                "source": of[keeper].tolist() if of is not None else [-1] * keeper.size,
                "opening": [contents.originals.openings[i] for i in place[part].tolist()],
                "page": pages + [-1] * (keeper.size - len(pages)),
            },
        )
