"""Waiting buckets, neither small nor hot: tasks get the texts of some buckets, and compare their signatures.

    buckets/ ── large buckets ──► driver ── by component ──► waiting1/PPPPPP.arrays
    inputs ── texts of members, once for a component ──────► waiting1-pairs/PPPPPP.arrays   pairs that pass the estimate

These buckets wait until the crowds are known, as on one machine, so that pairs inside a crowd are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from neardup.cutting import cut, starts_of
from neardup.engine.banding.candidates import BandWork
from neardup.engine.check import pairs_at_once
from neardup.engine.observe import Silent
from neardup.spark.buckets import Buckets
from neardup.spark.crowds import Crowded
from neardup.spark.exchange import Blobs, Facts
from neardup.spark.pieces import PARTS_TEXT, Job
from neardup.spark.texts import collected, give_wanted, taken_texts
from neardup.spark.work import ClusterWork
from neardup.stages.cluster import Components
from neardup.types import I64


def pair_waiting(work: ClusterWork, waiting: Buckets, crowded: Crowded) -> list[str]:
    """Pair up the waiting buckets, and return the names of the files with their pairs."""
    if not waiting.sizes.size:
        return []
    job, name = work.job, work.next_name("waiting")
    rows = np.unique(waiting.members)
    lengths = work.look_up(f"{name}-known", rows)["lengths"]
    crowd = np.full(rows.size, -1, dtype=np.int32)
    if crowded.rows.size:
        place = np.minimum(np.searchsorted(crowded.rows, rows), crowded.rows.size - 1)
        is_hot = crowded.rows[place] == rows
        crowd[is_hot] = crowded.passed_over[place[is_hot]]
    bands = np.array(crowded.bands, dtype=np.int64)
    sent, to, parts = [], [], 0
    for some in _together(waiting, rows, lengths):
        mine = waiting.some(some)
        members = np.unique(mine.members)
        known = crowd[np.searchsorted(rows, members)]
        job.storage.put(
            f"{name}/{parts:06d}", bands=mine.bands, sizes=mine.sizes, members=mine.members, crowd=known, hot=bands
        )
        sent.append(members)
        to.append(np.full(members.size, parts))
        parts += 1
    of, part = np.concatenate(sent), np.concatenate(to)
    order = np.lexsort((part, of))
    splits = work.put_wanted(f"{name}-wanted", of[order], part[order])
    found = work.exchange(
        "large buckets", splits, partial(give_wanted, job, name=name), parts, partial(_take, job, name=name)
    )
    work.tally.candidates += sum(each["met"] for each in found)
    return [f"{name}-pairs/{number:06d}" for number in range(parts)]


def _together(waiting: Buckets, rows: I64, lengths: I64) -> Iterator[I64]:
    """Yield the buckets for each partition: whole components of them, unless a single one is too large."""
    starts, places = starts_of(waiting.sizes), np.searchsorted(rows, waiting.members)
    components = Components(rows.size)
    heads = places[starts[:-1]]
    components.join(np.repeat(heads, waiting.sizes), places)
    label = components.labels()
    order = np.argsort(label[heads], kind="stable")
    size = np.zeros(rows.size, dtype=np.int64)
    np.add.at(size, label, lengths)
    of_component, first = np.unique(label[heads[order]], return_index=True)
    ends = np.append(first[1:], order.size)
    for run in cut(size[of_component], PARTS_TEXT):
        if run.stop - run.start > 1 or size[of_component[run.start]] <= PARTS_TEXT:
            yield order[first[run.start] : ends[run.stop - 1]]
            continue
        alone = order[first[run.start] : ends[run.start]]
        texts = np.add.reduceat(lengths[places], starts[:-1])[alone]
        for some in cut(texts, PARTS_TEXT):
            yield alone[some]


def _take(job: Job, part: int, blobs: Blobs, name: str) -> Facts:
    given = job.storage.get(f"{name}/{part:06d}")
    taken = taken_texts(blobs)
    rows, crowd = taken.rows, given["crowd"]
    with collected(job, taken) as collection:
        work = BandWork(collection, np.ones(rows.size, np.int32), threads=1, observer=Silent())
        buckets = Buckets(given["bands"], given["sizes"], np.searchsorted(rows, given["members"]))
        for band in np.unique(buckets.bands).tolist():
            some = buckets.some(buckets.bands == band)
            work.waiting.add_all(band, some.members, starts_of(some.sizes))
        work.hold_signatures()
        met = work.pair_waiting(crowd, set(given["hot"].tolist()))
        pairs = [(rows[left], rows[right]) for left, right in work.pending.passing(pairs_at_once(collection.space))]
    none = np.empty(0, np.int64)
    left, right = (np.concatenate([none, *column]) for column in (zip(*pairs, strict=True) if pairs else ([], [])))
    job.storage.put(f"{name}-pairs/{part:06d}", left=left, right=right)
    return {"met": met, "pairs": int(left.size)}
