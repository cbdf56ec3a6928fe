"""Move texts out of the splits, through an exchange, into a collection like that of one machine.

The texts travel as they are written. The receiver normalises them as the first reading did and compares their prints
with the prints of that reading, which reveals an input that has changed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from neardup.engine.observe import Silent
from neardup.engine.reading.collection import Collection, collect
from neardup.engine.space import LEAST_WORK, PROGRAM, Budget, Space
from neardup.errors import InputChanged
from neardup.inputs.names import Provenance
from neardup.params import Bands, Spec
from neardup.spark.exchange import Blob, Blobs, Facts
from neardup.spark.packing import packed, unpacked
from neardup.spark.pieces import Job, as_arrays, as_documents
from neardup.stages.text import chosen
from neardup.types import I64, U8, U64, Batch


@dataclass(frozen=True, slots=True)
class Taken:
    """The texts of some documents, with their rows and prints from the first reading."""

    rows: I64
    """The rows, ascending."""
    prints: U64
    batches: Sequence[Callable[[], Batch]]
    """The texts in the order of the rows, as they are written."""


def give_wanted(job: Job, split: int, name: str) -> Iterator[Blob]:
    """Yield the texts of a split for each partition that wants them, as ``ClusterWork.put_wanted`` recorded."""
    wanted = job.storage.get(f"{name}-wanted/{split:06d}")
    asked, part = wanted["places"], wanted["part"]
    prints = job.storage.get(f"read/{split:06d}", "prints")["prints"]
    places = np.unique(asked)
    for documents, some in job.texts_of(split, places):
        here = places[some]
        begin, end = np.searchsorted(asked, here[0]), np.searchsorted(asked, here[-1], side="right")
        mine, to = asked[begin:end], part[begin:end]
        order = np.argsort(to, kind="stable")
        cuts = np.flatnonzero(np.diff(to[order])) + 1
        for at in np.split(order, cuts):
            arrays = as_arrays(chosen(documents, np.searchsorted(here, mine[at])))
            rows = mine[at] + job.bases[split]
            yield int(to[at[0]]), packed(arrays | {"rows": rows, "prints": prints[mine[at]]})


def taken_texts(blobs: Blobs) -> Taken:
    """Return the texts in the blobs of a partition."""
    rows, prints = [np.empty(0, np.int64)], [np.empty((0, 2), np.uint64)]
    batches = []
    for _, blob in blobs:
        arrays = unpacked(blob)
        rows.append(arrays["rows"])
        prints.append(arrays["prints"])
        batches.append(partial(_batch, arrays["text"], arrays["lengths"]))
    return Taken(np.concatenate(rows), np.concatenate(prints), batches)


def bring(job: Job, split: int, name: str) -> Facts:
    """Write the requested texts of a split, as they are in the input, to the storage."""
    wanted = job.storage.get(f"{name}-wanted/{split:06d}")["places"]
    prints = job.storage.get(f"read/{split:06d}", "prints")["prints"][wanted]
    found = [as_arrays(documents) for documents, _ in job.texts_of(split, wanted)]
    text = np.concatenate([np.empty(0, np.uint8), *(each["text"] for each in found)])
    lengths = np.concatenate([np.empty(0, np.int64), *(each["lengths"] for each in found)])
    job.storage.put(f"{name}/{split:06d}", text=text, lengths=lengths, prints=prints, rows=wanted + job.bases[split])
    return {"bytes": int(text.size)}


def brought_texts(job: Job, name: str, splits: Sequence[int]) -> Taken:
    """Return the texts that ``bring`` wrote as ``name``; they are read from the storage one split after the other."""
    files = [f"{name}/{split:06d}" for split in splits]
    known = list(job.storage.get_all(files, "rows", "prints"))
    rows, prints = (np.concatenate([each[column] for each in known]) for column in ("rows", "prints"))
    return Taken(rows, prints, [partial(_stored, job, file) for file in files])


def _stored(job: Job, file: str) -> Batch:
    arrays = job.storage.get(file, "text", "lengths")
    return _batch(arrays["text"], arrays["lengths"])


def _batch(text: U8, lengths: I64) -> Batch:
    documents = as_documents({"text": text, "lengths": lengths})
    return Batch(documents, "", np.arange(1, len(documents) + 1))


@contextmanager
def collected(
    job: Job,
    taken: Taken,
    *,
    is_sketched: bool = True,
    space: Space | None = None,
    threads: int = 1,
) -> Iterator[Collection]:
    """Make a collection of texts as one machine does; row i is text i.

    The collection is in ``space``, or within the memory of a worker if there is no ``space``. Unless ``is_sketched``,
    it has only texts, prints and counts.

    Raises:
        InputChanged: a text differs from the one in the first reading.
    """
    with nullcontext(space) if space is not None else local_space(job.memory) as used:
        collection = collect(
            iter(taken.batches),
            job.spec if is_sketched else _unsketched(job.spec),
            total_bytes=None,
            threads=threads,
            names=Provenance(),
            observer=Silent(),
            space=used,
        )
        check_prints(job, taken.rows, collection.prints.take(np.arange(len(collection))), taken.prints)
        yield collection


def _unsketched(spec: Spec) -> Spec:
    """Return the spec without signatures."""
    return replace(spec, sketch="none", slots=0, bands=Bands(0, 0), min_matches=0, candidates_by=None, screen=None)


def check_prints(job: Job, rows: I64, prints: U64, known: U64) -> None:
    """Raise InputChanged if the prints of rows differ from those ``known`` from the first reading."""
    same = (prints == known).all(axis=1)
    if not same.all():
        split = int(np.searchsorted(job.bases, rows[np.argmin(same)], side="right")) - 1
        raise InputChanged(
            f"{job.source_of(split).name} was changed while the run was reading it. Leave the inputs as they are until "
            "it is done, and run again from the start."
        )


def worker_budget(memory: int) -> Budget:
    """Return the budget of a worker process within its ``memory``."""
    return Budget(memory, max(LEAST_WORK, memory - PROGRAM))


@contextmanager
def local_space(memory: int) -> Iterator[Space]:
    """Make a space within ``memory``, with a temporary folder for data that does not fit; it is removed at the end."""
    path = Path(tempfile.gettempdir()) / f"neardup-{os.getpid()}-{os.urandom(6).hex()}"
    space = Space(worker_budget(memory), path, {})
    try:
        yield space
    finally:
        space.close(finished=True)
