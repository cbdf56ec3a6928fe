"""Exact copies: rows of equal prints meet in a partition, their texts in another, where they are compared.

read/ ── prints, by their value ──► prints/PPPP.arrays   rows that share a print
inputs ── texts of these, by group ──► groups/PPPP.arrays   rows that share a text
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from neardup.cutting import cut, distinct, starts_of
from neardup.engine.reading.copies import find_copies as find_copies_here
from neardup.engine.reading.copies import repeated_rows
from neardup.inputs.names import id_hashes, repeated_among
from neardup.spark.exchange import Blob, Blobs, Facts
from neardup.spark.known import provenance
from neardup.spark.packing import Arrays, packed, unpacked
from neardup.spark.pieces import PARTS_TEXT, Job
from neardup.spark.reading import ids_from
from neardup.spark.texts import collected, give_wanted, taken_texts
from neardup.spark.work import ClusterWork
from neardup.types import I64, U64

PART_PRINTS = 4_000_000
"""Prints of one partition, about."""


def give_prints(job: Job, split: int, parts: int) -> Iterator[Blob]:
    """Prints of the documents of a split that are not empty, each to the partition of its value.

    Hashes of ids, where the split has ids, go to as many partitions behind these.
    """
    found = job.storage.get(f"read/{split:06d}")
    at = np.flatnonzero(found["counts"] > 0)
    yield from _by_part(found["prints"][at], at, parts, 0)
    ids = ids_from(found)
    if ids is not None:
        hashes = id_hashes(ids)
        yield from _by_part(hashes[:, None], np.arange(hashes.size), parts, parts)


def _by_part(prints: U64, places: I64, parts: int, first: int) -> Iterator[Blob]:
    """Prints by ranges of their first half, each once with the places in the split of all that have it.

    So a text that comes a million times weighs four bytes each time in the one partition that it goes to.
    """
    order = np.argsort(prints[:, 0], kind="stable")
    prints, places = prints[order], places[order].astype(np.uint32)
    fresh = np.ones(order.size, dtype=np.bool_)
    fresh[1:] = np.any(prints[1:] != prints[:-1], axis=1)
    heads = np.flatnonzero(fresh)
    prints, begins = prints[heads], np.append(heads, order.size)
    part = (prints[:, 0] >> np.uint64(48)) * np.uint64(parts) >> np.uint64(16)
    ends = np.searchsorted(part, np.arange(parts + 1, dtype=np.uint64))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        some = slice(int(ends[number]), int(ends[number + 1]))
        sizes = np.diff(begins[some.start : some.stop + 1])
        several = np.flatnonzero(sizes > 1)
        blob = {"prints": prints[some], "rows": places[begins[some.start] : begins[some.stop]]}
        yield first + number, packed(blob | {"several": several, "sizes": sizes[several]})


def take_repeated(job: Job, part: int, blobs: Blobs) -> Facts:
    """Write down the rows of a partition that share a print, or the hash of an id, with another."""
    first = members = np.empty(0, np.int64)
    if blobs:
        rows, prints, sizes = zip(*(_prints_of(job, *blob) for blob in blobs), strict=True)
        starts = starts_of(np.concatenate(sizes))
        first, members = repeated_prints(np.concatenate(prints), starts, np.concatenate(rows))
    job.storage.put(f"prints/{part:06d}", first=first, rows=members)
    return {"rows": int(members.size)}


def _prints_of(job: Job, split: int, blob: Any) -> tuple[I64, U64, I64]:
    """Rows, prints, and how many of the rows have each of these."""
    arrays = unpacked(blob)
    sizes = np.ones(arrays["prints"].shape[0], dtype=np.int64)
    sizes[arrays["several"]] = arrays["sizes"]
    return arrays["rows"] + job.bases[split], arrays["prints"], sizes


def repeated_prints(prints: U64, starts: I64, rows: I64) -> tuple[I64, I64]:
    """Rows whose print (uint64[m, w]) another row has, too: (first row of the group of each, rows).

    Print i is that of ``rows[starts[i]:starts[i + 1]]``, rising; where prints are equal, the rows of the later one are
    the larger ones.
    """
    sizes = np.diff(starts)
    order = np.argsort(prints[:, 0], kind="stable")
    keys = prints[order, 0]
    same = np.flatnonzero(keys[1:] == keys[:-1])
    # only rows that share half of their hash with a neighbour are looked at closely
    close = distinct(np.concatenate((order[same], order[same + 1], np.flatnonzero(sizes > 1))))
    if close.size == 0:
        return rows[:0], rows[:0]
    close = close[np.lexsort(prints[close].T[::-1])]  # stable: rows of a group stay in order
    is_other = np.ones(close.size, dtype=np.bool_)
    is_other[1:] = np.any(prints[close[1:]] != prints[close[:-1]], axis=1)
    begins = starts_of(sizes[close])
    fresh = np.zeros(int(begins[-1]), dtype=np.bool_)
    fresh[begins[:-1][is_other]] = True
    return repeated_rows(rows[np.repeat(starts[close] - begins[:-1], sizes[close]) + np.arange(fresh.size)], fresh)


def _repeated(job: Job, parts: range) -> tuple[I64, I64]:
    """What ``take_repeated`` wrote: rows, rising, and the first row of the group of each."""
    found = list(job.storage.get_all(f"prints/{part:06d}" for part in parts))
    first, rows = (np.concatenate([each[name] for each in found]) for name in ("first", "rows"))
    order = np.argsort(rows)
    return rows[order], first[order]


def take_copies(job: Job, part: int, blobs: Blobs, name: str) -> Facts:
    """Compare the texts of a partition, as one machine does, and write down what is equal."""
    taken = taken_texts(blobs)
    with collected(job, taken, is_sketched=False) as collection:
        found = find_copies_here(collection)
    of = np.repeat(found.several, np.diff(found.starts))
    job.storage.put(f"{name}/{part:06d}", of=taken.rows[of], rows=taken.rows[found.members])
    return {"rows": int(found.members.size)}


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows of equal texts."""

    several: I64
    """The first row of each group, rising."""
    starts: I64
    """int64[groups + 1] into ``members``."""
    members: I64
    """Rows of each group, rising, the first of it first."""

    @classmethod
    def of(cls, first: I64, rows: I64) -> Groups:
        """Groups from rows and the first row of each one's group."""
        order = np.lexsort((rows, first))
        several, sizes = np.unique(first, return_counts=True)
        return cls(several, starts_of(sizes), rows[order])


def find_copies(work: ClusterWork) -> Groups:
    """Find the exact copies among all documents, and tell the splits for how many each of theirs stands."""
    job, parts = work.job, 1 + work.tally.documents // PART_PRINTS
    work.exchange("prints", work.filled, partial(give_prints, job, parts=parts), 2 * parts, partial(take_repeated, job))
    rows, first = _repeated(job, range(parts))
    if rows.size:
        first, rows = _compared(work, first, rows, work.look_up("suspects", rows)["lengths"])
    with_id, _ = _repeated(job, range(parts, 2 * parts))
    if with_id.size:
        # equal hashes are almost surely equal ids, and these are compared themselves
        work.look_up("ids", with_id)
        named = provenance(job, work.facts, with_id, "ids").ids
        work.repeated_ids = repeated_among(named.take(np.arange(with_id.size)))
    groups = Groups.of(first, rows)
    _put_weights(work, groups)
    work.tally.exact_copies = groups.members.size - groups.several.size
    return groups


def _compared(work: ClusterWork, first: I64, rows: I64, lengths: I64) -> tuple[I64, I64]:
    """Rows that share a text with another, and the first row of each one's group, of those that share a print.

    A partition has some groups, or a part of a group that is too large, whose rows are held against the first of it.
    Those that turn out to be others than the first are held against each other in another round.
    """
    found: list[tuple[I64, I64]] = []
    while rows.size:
        heads, group = np.unique(first, return_inverse=True)
        size = np.zeros(heads.size, dtype=np.int64)
        np.add.at(size, group, lengths)
        part_of = np.zeros(heads.size, dtype=np.int64)
        parts = 0
        for some in cut(size, PARTS_TEXT):
            part_of[some] = parts
            parts += 1
        is_large = size > PARTS_TEXT
        sent, to = [rows[~is_large[group]]], [part_of[group][~is_large[group]]]
        for head in heads[is_large].tolist():
            others = np.flatnonzero((first == head) & (rows != head))
            for some in cut(lengths[others], PARTS_TEXT):
                sent.append(np.append(head, rows[others[some]]))
                to.append(np.full(sent[-1].size, parts))
                parts += 1
        of, members = _exchanged(work, np.concatenate(sent), np.concatenate(to), parts)
        was = np.searchsorted(rows, members)
        settled = ~is_large[group[was]] | (of == first[was])
        found.append((of[settled], members[settled]))
        left = is_large[group] & (rows != first) & ~np.isin(rows, members[settled])
        rows, lengths, group = rows[left], lengths[left], group[left]
        # the first of those that are left, in each group; rows are rising
        _, at, back = np.unique(group, return_index=True, return_inverse=True)
        first = rows[at][back]
    firsts, members = (np.concatenate(column) for column in zip(*found, strict=True))
    members, at = np.unique(members, return_index=True)  # the first of a large group was in several partitions
    return firsts[at], members


def _exchanged(work: ClusterWork, rows: I64, part: I64, parts: int) -> tuple[I64, I64]:
    """Compare texts: rows of equal ones, and the first row of each one's group."""
    job, name = work.job, work.next_name("copies")
    order = np.lexsort((part, rows))
    splits = work.put_wanted(f"{name}-wanted", rows[order], part[order])
    give, take = partial(give_wanted, job, name=name), partial(take_copies, job, name=name)
    work.exchange("copies", splits, give, parts, take)
    found = list(job.storage.get_all(f"{name}/{number:06d}" for number in range(parts)))
    of, members = (np.concatenate([each[column] for each in found]) for column in ("of", "rows"))
    return of, members


def _put_weights(work: ClusterWork, groups: Groups) -> None:
    """Tell each split which of its documents are copies, and which stand for several."""
    job, sizes = work.job, np.diff(groups.starts)
    weight = np.zeros(groups.members.size, dtype=np.int32)
    weight[groups.starts[:-1]] = np.minimum(sizes, 1) if job.spec.collapse_exact else sizes
    order = np.argsort(groups.members)
    rows, weight = groups.members[order], weight[order]
    of_split = {split: (places, weight[some]) for split, some, places in job.by_split(rows)}
    none = rows[:0], weight[:0]

    def files() -> Iterator[tuple[str, Arrays]]:
        for split in work.filled:
            places, mine = of_split.get(split, none)
            yield f"weights/{split:06d}", {"places": places, "weight": mine}

    job.storage.put_all(files())
