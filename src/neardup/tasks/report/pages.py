"""The chunks of a report: the list of clusters, and their pages, packed until the size of the report is spent.

The found pairs of the pages are gathered for the list of pairs (``ranking``).

On a page the passages that pairs of members share are marked in their texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import isnan
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neardup.engine.pairing import Pairing
from neardup.engine.results.passages import Marker
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.pages.pairs import pair_data, text_data, union
from neardup.pages.site.render import json_bytes
from neardup.params import CLEANING, Spec
from neardup.stages.passages import Occurrences, Span
from neardup.tasks.report.clusters import DEPTHS, KINDS, LONG, Depth, Groups, Mates, PagedClusters
from neardup.tasks.report.originals import BlobStore, Originals
from neardup.tasks.report.origins import Origins
from neardup.tasks.report.ranking import PairList, PairRow, row_bytes, snippet, thousandths
from neardup.tasks.report.report_input import ReportInput
from neardup.tasks.report.roles import ROLES
from neardup.tasks.report.verdicts import text_hash
from neardup.types import F64, I64

Trio = tuple[int, int, float]
"""Two members of a cluster, by their place among those shown, and their similarity."""

LISTED_CHUNK = 2000
"""Clusters listed in a chunk."""
BEST_CLUSTERS = 6
"""Clusters that the summary shows."""
PAGES_BYTES = 480_000
"""Estimated size of a chunk of pages, with the rows of its pairs in the list: small enough to be loaded at once, large
enough not to make too many files."""
FULL_MEMBERS = 20
"""Members shown up to which all pairs of a cluster are compared, unless the texts are very long."""
FULL_EACH, FULL_ALL = 50_000_000, 4_000_000_000
"""Shingles that are compared for all pairs of a cluster, and of all clusters together: some seconds."""
FULL_SHINGLES = 1_500_000
"""Shingles of all members of such a cluster: two of them can be compared under any memory limit."""
HEAVY = 4_000_000
"""Bytes of the texts of a cluster from which it is made by itself, and shows only the texts of its pairs."""
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
    found: set[tuple[int, int]]
    """Pairs of members shown that the search found."""
    rows: list[int]
    """The documents of the members shown."""
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
    """Bytes of all chunks, and of the rows of their pairs in the list of pairs."""
    partial: int
    """Pages on which the similarities of some pairs of members shown are left out."""
    listed: PairList
    """The found pairs that have a page."""

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
    depth: Depth = DEPTHS[CLEANING]

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
            mates = list(self.mates.of(number))
            found = [mate for mate in mates if mate[0]]
            with_keeper = [(0, j, similarity[j]) for j in range(1, len(each)) if not isnan(similarity[j])]
            pairs = self._paged(number, with_keeper, found)
            people = self.basis.people
            whose = (people.of[each.rows].tolist(), people.role[each.rows].tolist())
            columns = (names[part], sources[part], *whose, lengths[part], similarity, each.kinds.tolist())
            cluster = {
                "keeper": 0,
                "size": size,
                "members": [
                    {
                        "id": id,
                        "source": source,
                        "person": person,
                        "role": ROLES[role],
                        "characters": characters,
                        "similarity": None if isnan(s) else s,
                        "kind": KINDS[kind],
                        **self._about(row),
                    }
                    for id, source, person, role, characters, s, kind, row in zip(
                        *columns, each.rows.tolist(), strict=True
                    )
                ],
                "left_out": size - len(each),
                "similarities": [*with_keeper, *compared.get(number, found)],
                "matrix_note": _note(
                    number in compared, len(with_keeper) + len(found) - len(pairs), self.basis.search.pairing
                ),
            }
            ends = {(i, j) for i, j, _ in mates}
            texts = self._texts(number, pairs)
            jobs.append(Job(number, cluster, texts, pairs, ends, each.rows.tolist(), number in compared))
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
        copies_last = not self.depth.by_pairs
        found = sorted(found, key=lambda pair: (copies_last and pair[2] == 1.0, -pair[2], pair[0], pair[1]))[
            : self.depth.pairs
        ]
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
        if self.basis.search.pairing is not None:
            allowed = [self.basis.search.pairing.allows(pair[:, 0], pair[:, 1]) for pair in rows]
            rows = [pair[some] for pair, some in zip(rows, allowed, strict=True)]
            places = [
                [pair for pair, is_there in zip(each, some.tolist(), strict=True) if is_there]
                for each, some in zip(places, allowed, strict=True)
            ]
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


def _note(is_full: bool, pairs_left_out: int, pairing: Pairing | None) -> str:
    """What the similarities of a cluster are, and how many pairs have no page."""
    note = "The similarities of the representative with each member shown, and of found pairs. Others were left out."
    if is_full:
        note = "The similarities of all members shown with each other, exact."
    if pairing is not None and pairing.group is not None:
        note += " Documents of one person are not compared with each other."
    if pairing is not None and pairing.is_reference is not None:
        note += " Originals and earlier documents are not compared among themselves."
    if pairs_left_out:
        note += f" {pairs_left_out:,} of these pairs have no page, for lack of space."
    return note


@dataclass(slots=True)
class _Text:
    """One text of a cluster, however many members have it."""

    text: str
    occurrences: Occurrences | None = None
    template: list[Span] = field(default_factory=list)
    """What does not count."""
    spans: list[Sequence[Span]] = field(default_factory=list)
    """Passages of each pair that it is shown in; of long texts only."""


@dataclass(slots=True)
class _Marked:
    """What a chunk of pages is packed from, and the rows of its pairs."""

    clusters: dict[str, Any] = field(default_factory=dict)
    texts: list[dict[str, Any]] = field(default_factory=list)
    rows: list[PairRow] = field(default_factory=list)
    snippets: list[bytes] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Of the two documents of each row."""


def _mark(job: Job, marker: Marker, spec: Spec, pairs_from: str | None, marked: _Marked) -> None:
    """Add the page of a cluster, its texts and the rows of its found pairs. O(text of each pair).

    InputError where the similarity of a pair is not what the file ``pairs_from``, or else the search, says.
    """
    numbers: dict[str, int] = {}
    of = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in job.texts]
    texts = [_Text(text) for text in numbers]
    known: dict[tuple[int, int], dict[str, Any]] = {}
    openings: dict[tuple[int, int], bytes] = {}
    pairs: list[dict[str, Any]] = []
    for a, b, similarity in job.pairs:
        key = (of[a], of[b])
        if key not in known:
            known[key] = _pair(marker, texts[key[0]], texts[key[1]], spec.measure)
            openings[key] = snippet(texts[key[0]].text, known[key]["longest"])
            _forget(texts, key[0])
        data = known[key]
        if data["similarity"] != similarity and spec.shingle.kind != "item":
            who = f"{pairs_from} says" if pairs_from is not None else "the search said"
            first_id, second_id = (job.cluster["members"][place]["id"] for place in (a, b))
            raise InputError(
                f"the documents {first_id} and {second_id} have a similarity of {data['similarity']}, and {who} "
                f"{similarity}. Give the texts with which the pairs were found."
            )
        if (a, b) in job.found:
            place, longest = len(pairs), data["longest"][0]
            contained = max(data["a_in_b"], data["b_in_a"])
            shares = thousandths(data["covered"][0]), thousandths(data["covered"][1])
            marked.rows.append(
                PairRow(job.number, place, job.rows[a], job.rows[b], similarity, contained, *shares, longest)
            )
            marked.snippets.append(openings[key])
            marked.names += (job.cluster["members"][a]["id"], job.cluster["members"][b]["id"])
        pairs.append({"a": a, "b": b, **data})
    first = len(marked.texts)
    marked.texts += [
        {
            **text_data(each.text, union(chain.from_iterable(each.spans)), most=LONG),
            "hash": text_hash(each.text),
            **({"template": each.template} if each.template else {}),
        }
        for each in texts
    ]
    for member, number in zip(job.cluster["members"], of, strict=True):
        member["text"] = -1 if number < 0 else first + number
    marked.clusters[str(job.number)] = {**job.cluster, "pairs": pairs}


def _pair(marker: Marker, a: _Text, b: _Text, measure: str) -> dict[str, Any]:
    for each in (a, b):
        if each.occurrences is None:
            each.occurrences, each.template = marker.split(each.text)
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
    template = run.template.passages if run.template is not None else ()
    listed = PairList.empty(run.space)
    pages = Pages(BlobStore("pages", run.space, part=0.2), np.empty(0, np.int32), 0, 0, listed)
    page: list[int] = []
    run.observer.stage("pages", len(contents.paged.shown), "clusters")
    alone = Lock()

    def work(jobs: list[Job]) -> tuple[list[Job], bytes, _Marked]:
        heavy = sum(member["characters"] for job in jobs for member in job.cluster["members"]) > HEAVY
        marked = _Marked()
        marker = Marker(shingle=run.spec.shingle, normalize=run.spec.normalize, template=template)
        with alone if heavy else nullcontext():
            for job in jobs:
                _mark(job, marker, run.spec, pairs_from, marked)
            data = json_bytes({"clusters": marked.clusters, "texts": marked.texts})
            marked.clusters, marked.texts = {}, []
            return jobs, data, marked

    threads = run.space.budget.threads(run.threads)
    jobs_of_chunks = contents.jobs(min(PAGES_BYTES, budget // 8))
    for jobs, data, marked in in_order(work, jobs_of_chunks, threads=threads, ahead=threads):
        size = len(data) + row_bytes(marked.names, marked.snippets)
        if pages.size + size > budget:
            break
        pages.listed.add(marked.rows, marked.snippets)
        page += [len(pages.chunks)] * len(jobs)
        pages.chunks.add([data])
        pages.size += size
        pages.partial += sum(not job.is_full for job in jobs)
        run.observer.advance(len(jobs))
    pages.page = np.array(page, dtype=np.int32)
    return pages


def _opening_places(groups: Groups, listed: int) -> I64:
    """int64[listed]: where the beginning of each keeper's text is among those that were read, which are by row."""
    place = np.empty(listed, dtype=np.int64)
    place[np.argsort(groups.keeper[:listed], kind="stable")] = np.arange(listed)
    return place


def list_clusters(contents: Contents, page: NDArray[np.int32], highest: F64) -> Iterator[tuple[str, dict[str, Any]]]:
    """The chunks of the list of clusters; ``highest`` is the similarity of the highest pair of each."""
    groups, origins, listed = contents.groups, contents.origins, contents.listed
    place = _opening_places(groups, listed)
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
                "highest": highest[part].tolist(),
                "source": origins.of[keeper].tolist() if origins is not None else [-1] * keeper.size,
                "opening": [contents.originals.openings[i] for i in place[part].tolist()],
                "page": pages + [-1] * (keeper.size - len(pages)),
            },
        )


def best_clusters(contents: Contents, highest: F64) -> list[dict[str, Any]]:
    """The listed clusters of the highest pairs, for the summary; of those that are alike the larger first."""
    listed, groups = contents.listed, contents.groups
    chosen = np.argsort(-highest[:listed], kind="stable")[:BEST_CLUSTERS]
    place = _opening_places(groups, listed)[chosen]
    columns = {
        "number": chosen.tolist(),
        "keeper": contents.basis.names(groups.keeper[chosen]),
        "size": groups.size[chosen].tolist(),
        "highest": highest[chosen].tolist(),
        "opening": [contents.originals.openings[i] for i in place.tolist()],
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
