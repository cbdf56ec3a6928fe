"""Exact copies: rows of equal prints meet in a partition, their texts in another, where they are compared.

read/ ── prints, by their value ──► copies/PPPP.npz   rows that share a print
inputs ── texts of these, by group ──► groups/PPPP.npz   rows that share a text
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.reading.copies import find_copies, repeated_prints
from neardup.spark.exchange import Blob, Blobs, Facts
from neardup.spark.pieces import Job
from neardup.spark.reading import ids_from
from neardup.spark.storage import packed, unpacked
from neardup.spark.texts import collected, give_texts, taken_texts
from neardup.types import I64, U64


def give_prints(job: Job, split: int, parts: int) -> Iterator[Blob]:
    """The prints of the documents of a split that are not empty, each to the partition of its value."""
    found = job.storage.get(f"read/{split:06d}")
    at = np.flatnonzero(found["counts"] > 0)
    prints = found["prints"][at]
    yield from _by_part(prints[:, 0], parts, rows=at + job.bases[split], prints=prints)


def give_ids(job: Job, split: int, parts: int) -> Iterator[Blob]:
    """Hashes of the ids of a split, where it has ids, each to the partition of its value."""
    ids = ids_from(job.storage.get(f"read/{split:06d}"))
    if ids is not None:
        hashes = hashed(ids)
        yield from _by_part(hashes, parts, rows=np.arange(hashes.size) + job.bases[split], prints=hashes[:, None])


def _by_part(values: U64, parts: int, **columns: I64 | U64) -> Iterator[Blob]:
    part = (values % np.uint64(parts)).astype(np.int64)
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(parts + 1))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        some = order[ends[number] : ends[number + 1]]
        yield number, packed({name: column[some] for name, column in columns.items()})


def take_repeated(job: Job, part: int, blobs: Blobs, name: str) -> Facts:
    """Write down the rows of a partition that share a print, or the hash of an id, with another, group after group."""
    columns = [unpacked(blob) for _, blob in blobs]
    rows = np.concatenate([np.empty(0, np.int64), *(each["rows"] for each in columns)])
    width = columns[0]["prints"].shape[1] if columns else 1
    prints = np.concatenate([np.empty((0, width), np.uint64), *(each["prints"] for each in columns)])
    of, members = repeated_prints(rows, prints)
    job.storage.put(f"{name}/{part:06d}", of=of, rows=members)
    return {"rows": int(members.size)}


def repeated(job: Job, name: str, parts: int) -> tuple[I64, I64]:
    """What ``take_repeated`` wrote: (first row of the group of each, rows), by row."""
    found = [job.storage.get(f"{name}/{part:06d}") for part in range(parts)]
    of, rows = (np.concatenate([np.empty(0, np.int64), *(each[column] for each in found)]) for column in ("of", "rows"))
    order = np.argsort(rows)
    return of[order], rows[order]


def hashed(ids: object) -> U64:
    """uint64[n]: a hash of each id, equal for equal ids."""
    from neardup.inputs.names import id_hashes

    return id_hashes(ids)


def give_copies(job: Job, split: int) -> Iterator[Blob]:
    """The texts of the rows of a split that share a print, each to the partition of its group."""
    wanted = job.storage.get(f"compared/{split:06d}")
    yield from give_texts(job, split, wanted["places"], wanted["part"])


def take_copies(job: Job, part: int, blobs: Blobs) -> Facts:
    """Compare the texts of a partition, as one machine does; what is equal is written down."""
    rows, batches = taken_texts(job, blobs)
    with collected(job, batches) as collection:
        copies = find_copies(collection)
    job.storage.put(
        f"groups/{part:06d}", rows=rows[copies.members], sizes=np.diff(copies.starts), several=rows[copies.several]
    )
    return {"rows": int(copies.members.size)}


def found_copies(job: Job, parts: int) -> tuple[I64, I64, I64]:
    """What ``take_copies`` wrote: (representatives, rising; where each one's group begins; rows of the groups)."""
    found = [job.storage.get(f"groups/{part:06d}") for part in range(parts)]
    none = np.empty(0, np.int64)
    several, sizes, rows = (
        np.concatenate([none, *(each[column] for each in found)]) for column in ("several", "sizes", "rows")
    )
    starts = starts_of(sizes)
    order = np.argsort(several)
    places = np.repeat(starts[:-1][order] - starts_of(sizes[order])[:-1], sizes[order]) + np.arange(rows.size)
    return several[order], starts_of(sizes[order]), rows[places]
