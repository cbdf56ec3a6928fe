"""The chunks of a report: the list of clusters, and their pages, packed until the size of the report is spent.

On a page the passages that pairs of members share are marked in their texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain, combinations
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.engine.results.passages import Marker
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.pages.pairs import pair_data, text_data, union
from neardup.pages.site.render import json_bytes
from neardup.params import Spec
from neardup.stages.passages import Occurrences, Span
from neardup.tasks.report.clusters import KINDS, LONG, Groups, Mates, PagedClusters
from neardup.tasks.report.originals import BlobStore, Originals
from neardup.tasks.report.origins import Origins
from neardup.tasks.report.report_input import ReportInput
from neardup.types import I64

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
HELD = 2_000_000
"""Characters whose occurrences are kept for a later pair; those of longer texts are found again."""


@dataclass(frozen=True, slots=True)
class Job:
    """A cluster whose pairs are to be marked."""

    number: int
    cluster: dict[str, Any]
    """What its page says beside the pairs, as JSON values."""
    texts: list[str | None]
    """Of each member shown, as it was written; None: not shown, for the texts of the cluster are very long."""
    pairs: list[Trio]
    """Those that get a page, in order."""
    is_full: bool
    """Whether the similarities of all members shown with each other are in ``cluster``."""


@dataclass(slots=True)
class Pages:
    """Pages that were made."""

    chunks: BlobStore
    """Each chunk, packed."""
    page: NDArray[np.int32]
    """int32[clusters with a page]: the chunk of each; the clusters are the first of the report."""
    size: int
    """Bytes of all chunks."""
    partial: int
    """Pages on which the similarities of some pairs of members shown are left out."""

    def packed(self) -> Iterator[tuple[str, bytes]]:
        """Name and bytes of each chunk."""
        for number in range(len(self.chunks)):
            yield f"pages-{number:04d}", self.chunks.get(np.array([number]))[0]


@dataclass(frozen=True, slots=True)
class Contents:
    """What the pages of clusters are made of."""

    basis: ReportInput
    groups: Groups
    listed: int
    """Clusters in the list; the first of all."""
    origins: Origins | None
    paged: PagedClusters
    mates: Mates
    originals: Originals
    files: dict[int, str]
    """Addresses of files that are one document each, from the page on, by row."""

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
            size, similarity = int(self.groups.size[number]), each.similarity.tolist()
            found = [(i, j, s) for i, j, s in self.mates.of(number) if i]
            with_keeper = [(0, j, similarity[j]) for j in range(1, len(each))]
            pairs = self._paged(number, with_keeper, found)
            columns = (names[part], sources[part], lengths[part], similarity, each.kinds.tolist())
            cluster = {
                "keeper": 0,
                "size": size,
                "members": [
                    {
                        "id": id,
                        "source": source,
                        "characters": characters,
                        "similarity": s,
                        "kind": KINDS[kind],
                        **self._about(row),
                    }
                    for id, source, characters, s, kind, row in zip(*columns, each.rows.tolist(), strict=True)
                ],
                "left_out": size - len(each),
                "similarities": [list(pair) for pair in [*with_keeper, *compared.get(number, found)]],
                "matrix_note": _note(number in compared, len(with_keeper) + len(found) - len(pairs)),
            }
            jobs.append(Job(number, cluster, self._texts(number, pairs), pairs, number in compared))
        return jobs

    def _about(self, row: int) -> dict[str, Any]:
        """What is known of some documents only: where their pages begin, and the file that is one of them."""
        about = {"pages": self.originals.pages.get(row), "file": self.files.get(row)}
        return {name: value for name, value in about.items() if value is not None}

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

    ``counts`` are the shingles of each member shown.
    """
    m = np.array([count.size for count in counts], dtype=np.int64)
    total = np.array([count.sum() for count in counts], dtype=np.int64)
    costs = np.maximum(m - 2, 0) * total  # similarities to the keeper are known
    can = (m <= 2) | ((costs <= FULL_EACH) & (total <= FULL_SHINGLES))
    order = np.lexsort((np.arange(m.size), costs, m > FULL_MEMBERS, ~can))
    full = np.zeros(m.size, dtype=np.bool_)
    full[order] = can[order] & (np.cumsum(costs[order]) <= FULL_ALL)
    return list(map(bool, full))


def _note(is_full: bool, pairs_left_out: int) -> str:
    """What the similarities of a cluster are, and how many pairs have no page."""
    note = "The similarities of the representative with each member shown, and of found pairs. Others were left out."
    if is_full:
        note = "The similarities of all members shown with each other, exact."
    if pairs_left_out:
        note += f" {pairs_left_out:,} of these pairs have no page, for lack of space."
    return note


@dataclass(slots=True)
class _Text:
    """One text of a cluster, however many members have it."""

    text: str
    occurrences: Occurrences | None = None
    spans: list[Sequence[Span]] = field(default_factory=list)
    """Passages of each pair that it is shown in; of long texts only."""


def _mark(job: Job, spec: Spec, pairs_from: str | None, first: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The page of a cluster and its texts, numbered from ``first``, as JSON values. O(text of each pair).

    InputError where the similarity of a pair is not what the file ``pairs_from``, or else the search, says.
    """
    marker = Marker(shingle=spec.shingle, normalize=spec.normalize)
    numbers: dict[str, int] = {}
    of = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in job.texts]
    texts = [_Text(text) for text in numbers]
    known: dict[tuple[int, int], dict[str, Any]] = {}
    pairs = []
    for a, b, similarity in job.pairs:
        key = (of[a], of[b])
        if key not in known:
            known[key] = _pair(marker, texts[key[0]], texts[key[1]], spec.measure)
            _forget(texts, key[0])
        data = known[key]
        if data["similarity"] != similarity and spec.shingle.kind != "item":
            who = f"{pairs_from} says" if pairs_from is not None else "the search said"
            first_id, second_id = (job.cluster["members"][place]["id"] for place in (a, b))
            raise InputError(
                f"the documents {first_id} and {second_id} have a similarity of {data['similarity']}, and {who} "
                f"{similarity}. Give the texts with which the pairs were found."
            )
        pairs.append({"a": a, "b": b, **data})
    shown = [text_data(each.text, union(chain.from_iterable(each.spans)), most=LONG) for each in texts]
    members = [
        {**member, "text": -1 if number < 0 else first + number}
        for member, number in zip(job.cluster["members"], of, strict=True)
    ]
    return {**job.cluster, "members": members, "pairs": pairs}, shown


def _pair(marker: Marker, a: _Text, b: _Text, measure: str) -> dict[str, Any]:
    for each in (a, b):
        each.occurrences = each.occurrences or marker.occurrences(each.text)
    assert a.occurrences is not None
    assert b.occurrences is not None
    passages = marker.shared(a.occurrences, b.occurrences)
    for each, spans in ((a, passages.a), (b, passages.b)):
        if len(each.text) > LONG:
            each.spans.append(spans)
    return pair_data(passages, (len(a.text), len(b.text)), measure=measure)


def _forget(texts: list[_Text], first: int) -> None:
    """Drop the occurrences of long texts, except those of the text that most of the next pairs share."""
    held = [each for each in texts if each.occurrences is not None]
    if sum(len(each.text) for each in held) > HELD:
        for each in held:
            if each is not texts[first]:
                each.occurrences = None


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
        heavy = sum(member["characters"] for job in jobs for member in job.cluster["members"]) > HEAVY
        clusters: dict[str, Any] = {}
        texts: list[dict[str, Any]] = []
        with alone if heavy else nullcontext():
            for job in jobs:
                clusters[str(job.number)], shown = _mark(job, run.spec, pairs_from, len(texts))
                texts += shown
            return jobs, json_bytes({"clusters": clusters, "texts": texts})

    threads = run.space.budget.threads(run.threads)
    jobs_of_chunks = contents.jobs(min(PAGES_BYTES, budget // 8))
    for jobs, data in in_order(work, jobs_of_chunks, threads=threads, ahead=threads):
        if pages.size + len(data) > budget:
            break
        page += [len(pages.chunks)] * len(jobs)
        pages.chunks.add([data])
        pages.size += len(data)
        pages.partial += sum(not job.is_full for job in jobs)
        run.observer.advance(len(jobs))
    pages.page = np.array(page, dtype=np.int32)
    return pages


def list_clusters(contents: Contents, page: NDArray[np.int32]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The chunks of the list of clusters."""
    groups, origins, listed = contents.groups, contents.origins, contents.listed
    by_row = np.argsort(groups.keeper[:listed], kind="stable")
    place = np.empty(listed, dtype=np.int64)
    place[by_row] = np.arange(listed)
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
                "source": origins.of[keeper].tolist() if origins is not None else [-1] * keeper.size,
                "opening": [contents.originals.openings[i] for i in place[part].tolist()],
                "page": pages + [-1] * (keeper.size - len(pages)),
            },
        )
