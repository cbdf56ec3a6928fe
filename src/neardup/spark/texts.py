"""Texts on their way: out of the splits, through an exchange, into a collection as one machine has it.

What travels are the texts as they are written: who gets them normalises them as the first reading did, holds their
prints against those of that reading, and so notices an input that was changed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from neardup.engine.observe import Silent
from neardup.engine.reading.collection import Collection, collect, normalized
from neardup.engine.space import LEAST_WORK, PROGRAM, Budget, Space
from neardup.errors import InputChanged
from neardup.inputs.names import Provenance
from neardup.spark.exchange import Blob, Blobs, Facts
from neardup.spark.pieces import Job, as_arrays, as_documents, chosen
from neardup.spark.storage import packed, unpacked
from neardup.stages.sketch import fingerprints
from neardup.types import I64, U64, Batch

BLOB_BYTES = 8 << 20
"""Text of one blob, about."""


def give_texts(job: Job, split: int, wanted: I64, part: I64) -> Iterator[Blob]:
    """Texts of a split, by their places in it (rising, repeats allowed), each to its partition."""
    prints = job.storage.get(f"read/{split:06d}", "prints")["prints"]
    places = np.unique(wanted)
    for documents, some in job.texts_of(split, places):
        here = places[some]
        begin, end = np.searchsorted(wanted, here[0]), np.searchsorted(wanted, here[-1], side="right")
        mine, to = wanted[begin:end], part[begin:end]
        order = np.argsort(to, kind="stable")
        cuts = np.flatnonzero(np.diff(to[order])) + 1
        for at in np.split(order, cuts):
            local = np.searchsorted(here, mine[at])
            arrays = as_arrays(chosen(documents, local))
            rows = mine[at] + job.bases[split]
            yield int(to[at[0]]), packed(arrays | {"rows": rows, "prints": prints[mine[at]]})


def taken_texts(job: Job, blobs: Blobs) -> tuple[I64, list[Batch]]:
    """Rows, rising, and batches of the texts in their order, from the blobs of a partition."""
    rows: list[I64] = [np.empty(0, np.int64)]
    batches: list[Batch] = []
    for _, blob in blobs:
        arrays = unpacked(blob)
        rows.append(arrays["rows"])
        batches.append(Batch(as_documents(arrays), "", arrays["rows"], None))
        check_prints(job, batches[-1], arrays["prints"])
    return np.concatenate(rows), batches


def check_prints(job: Job, batch: Batch, prints: U64) -> None:
    """Raise InputChanged where the texts are not those of the first reading."""
    same = (fingerprints(normalized(batch, job.spec)) == prints).all(axis=1)
    if not same.all():
        row = int(batch.rows[np.argmin(same)])
        split = int(np.searchsorted(job.bases, row, side="right")) - 1
        source = job.source_of(split)
        raise InputChanged(
            f"{source.name} was changed while the run was reading it. Leave the inputs as they are until it is done, "
            "and run again from the start."
        )


@contextmanager
def collected(job: Job, batches: Sequence[Batch], *, keep_values: bool = False) -> Iterator[Collection]:
    """A collection of texts, as one machine makes it within the memory of a worker; row i is the i-th text."""
    with local_space(job.memory) as space:
        yield collect(
            (partial(_given, batch) for batch in batches),
            job.spec,
            total_bytes=None,
            threads=1,
            names=Provenance(),
            observer=Silent(),
            space=space,
            keep_values=keep_values,
        )


def _given(batch: Batch) -> Batch:
    return batch


@contextmanager
def local_space(memory: int) -> Iterator[Space]:
    """A budget, and a folder of the machine for what does not fit it; removed at the end."""
    path = Path(tempfile.gettempdir()) / f"neardup-{os.getpid()}-{os.urandom(6).hex()}"
    space = Space(Budget(memory, max(LEAST_WORK, memory - PROGRAM)), path, {})
    try:
        yield space
    finally:
        space.close(finished=True)


def bring(job: Job, split: int, name: str) -> Facts:
    """Bring some texts of a split, as they are written, to the storage."""
    wanted = job.storage.get(f"{name}-wanted/{split:06d}")["places"]
    prints = job.storage.get(f"read/{split:06d}", "prints")["prints"][wanted]
    found = [as_arrays(documents) for documents, _ in job.texts_of(split, wanted)]
    text = np.concatenate([np.empty(0, np.uint8), *(each["text"] for each in found)])
    lengths = np.concatenate([np.empty(0, np.int64), *(each["lengths"] for each in found)])
    job.storage.put(f"{name}/{split:06d}", text=text, lengths=lengths, prints=prints, rows=wanted + job.bases[split])
    return {"bytes": int(text.size)}


def brought(job: Job, name: str, split: int) -> Batch:
    """The texts of a split that were brought under a name, as a batch."""
    arrays = job.storage.get(f"{name}/{split:06d}")
    batch = Batch(as_documents(arrays), job.source_of(split).name, arrays["rows"])
    check_prints(job, batch, arrays["prints"])
    return replace(batch, rows=np.arange(1, batch.rows.size + 1))
