"""Places of passages that stand again with changes, grouped: all places of one passage have one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.stages.cluster import Components
from neardup.stages.repeats.segments import FIRST, OTHER, OWN, Segments
from neardup.types import I64


@dataclass(frozen=True, slots=True)
class Chains:
    """Later places of passages, each aligned with an earlier one; places are units from the begin of the collection."""

    begin: I64
    """int64[n]."""
    end: I64
    """int64[n]: behind the last unit."""
    source: I64
    """int64[n]: where the earlier place begins."""
    source_end: I64
    """int64[n]."""
    differences: I64
    """int64[n]: units that are put in, left out or changed between the two."""
    stays: I64
    """int64[n]: its own row; or the row of a chain of the same place with a higher score, which stays in its stead."""


@dataclass(frozen=True, slots=True)
class NearPassages:
    """Places of passages in the order of the text."""

    segments: Segments
    """``least`` and ``most`` are the places of the passage, ``documents`` those that hold one. FIRST are the places
    of which no earlier one was found; the source of any other lies in one of these."""
    source_end: I64
    """int64[n]: unit behind the last in the source."""
    differences: I64
    """int64[n]: between the place and its source."""
    passage: I64
    """int64[n]: number of the passage, from 0, by where it stands for the first time."""

    def __len__(self) -> int:
        return self.passage.size

    def choose(self, min_count: int, min_documents: I64) -> NearPassages:
        """The passages with so many places or more, in so many documents (int64[n], of each place), numbered anew."""
        is_wanted = (self.segments.most >= min_count) & (self.segments.documents >= min_documents)
        if is_wanted.all():
            return self
        numbers = np.unique(self.passage[is_wanted], return_inverse=True)[1].astype(np.int64)
        some = self.segments.take(is_wanted)
        return NearPassages(some, self.source_end[is_wanted], self.differences[is_wanted], numbers)


def group_chains(chains: Chains, offsets: I64, inputs: int) -> NearPassages:
    """Number the passages, and add to the later places those that these come from. O(n log n).

    Sources that have more than half of the shorter one in common are one passage, and its first place is all of them
    together. So are two passages of which one place is a copy. Places in documents behind the first ``inputs``, which
    are of another collection, are sources only.
    """
    group, begins, ends = _sources(chains)
    stays = chains.stays
    while not np.array_equal(stays, stays[stays]):
        stays = stays[stays]
    passages = Components(begins.size)
    passages.join(group, group[stays])
    label = passages.labels().astype(np.int64)
    kept = np.flatnonzero(stays == np.arange(stays.size))
    begin = np.concatenate((begins, chains.begin[kept]))
    end = np.concatenate((ends, chains.end[kept]))
    source = np.concatenate((begins, chains.source[kept]))
    source_end = np.concatenate((ends, chains.source_end[kept]))
    differences = np.concatenate((np.zeros(begins.size, dtype=np.int64), chains.differences[kept]))
    passage = np.concatenate((label, label[group[kept]]))
    is_first = np.arange(begin.size) < begins.size
    order = np.lexsort((end, ~is_first, begin))
    order = order[begin[order] < offsets[inputs]]
    begin, end, source, source_end = begin[order], end[order], source[order], source_end[order]
    is_first, differences = is_first[order], differences[order]
    _, at, number = np.unique(passage[order], return_index=True, return_inverse=True)
    rank = np.empty(at.size, dtype=np.int64)
    rank[np.argsort(at)] = np.arange(at.size)
    number = rank[number]
    document = np.searchsorted(offsets, begin, side="right") - 1
    its_source = np.searchsorted(offsets, source, side="right") - 1
    places = np.bincount(number, minlength=at.size)[number]
    distinct = np.unique(np.stack((number, document)), axis=1)[0]
    documents = np.bincount(distinct, minlength=at.size)[number]
    segments = Segments(
        document,
        begin - offsets[document],
        end - offsets[document],
        np.where(is_first, FIRST, np.where(its_source == document, OWN, OTHER)),
        its_source,
        source - offsets[its_source],
        places,
        places,
        documents,
    )
    return NearPassages(segments, source_end - offsets[its_source], differences, number)


def _sources(chains: Chains) -> tuple[I64, I64, I64]:
    """Of each chain the number of its source, and where each source begins and ends; these rise."""
    order = np.lexsort((chains.source_end, chains.source))
    begins: list[int] = []
    ends: list[int] = []
    group = np.empty(order.size, dtype=np.int64)
    rows = order.tolist(), chains.source[order].tolist(), chains.source_end[order].tolist()
    for i, begin, end in zip(*rows, strict=True):
        if begins and 2 * (min(end, ends[-1]) - begin) > min(end - begin, ends[-1] - begins[-1]):
            ends[-1] = max(ends[-1], end)
        else:
            begins.append(begin)
            ends.append(end)
        group[i] = len(begins) - 1
    return group, np.array(begins, dtype=np.int64), np.array(ends, dtype=np.int64)
