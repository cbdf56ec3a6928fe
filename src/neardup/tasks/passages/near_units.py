"""Near-duplicate lines, sentences and paragraphs: each unit is a document of ``neardup dedup``, which keeps the first."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers, strings
from neardup.engine.observe import Observer
from neardup.engine.repeats.near import NearRepeats
from neardup.engine.repeats.read_units import ReadUnits
from neardup.engine.repeats.runs import no_runs
from neardup.engine.space import Space
from neardup.tasks.dedup.public import dedup

BLOCK = 1 << 12
"""Units that are written together."""
_SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.large_string())])


def find_near(
    read: ReadUnits,
    *,
    threshold: float,
    shingle: str,
    threads: int,
    memory: int | str | None,
    space: Space,
    observer: Observer,
) -> NearRepeats:
    """The units with a near-duplicate, each with the first unit of its group, to which it is one itself.

    As ``neardup dedup`` with ``keep="first"``: units are taken in their order, one that is still there is kept, and all
    found near-duplicates of it, from ``threshold`` on, go. Their texts are written to a file in between.
    Memory: 24 bytes for each unit that has a near-duplicate, beside what ``dedup`` takes.
    """
    assert space.path is not None, "a run of passages has a folder for its work"
    with tempfile.TemporaryDirectory(dir=space.path.parent, prefix=f"{space.path.name}-units-") as place:
        path = Path(place) / "units.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as out:
            for units, texts in _compared(read):
                out.write_batch(pa.RecordBatch.from_arrays([numbers(units), strings(texts)], schema=_SCHEMA))
        found = dedup(
            path,
            keep="first",
            threshold=threshold,
            shingle=shingle,
            normalize="none",
            id="id",
            text="text",
            threads=threads,
            memory=memory,
            observer=observer,
        ).removed
    later, first = (found[name].to_numpy().astype(np.int64) for name in ("id", "keeper"))
    heads = np.unique(first)
    units = np.concatenate((later, heads))
    order = np.argsort(units)
    sources = np.concatenate((first, heads))[order]
    similarity = np.concatenate((found["similarity"].to_numpy(), np.ones(heads.size)))[order]
    base = no_runs(read, space)
    known = base.text, base.originals, base.window, base.loops, base.pieces, base.chunk
    return NearRepeats(*known, units[order], sources, similarity)


def _compared(read: ReadUnits) -> Iterator[tuple[np.ndarray[tuple[int], np.dtype[np.int64]], list[str]]]:
    """The units that are large enough, block by block, and their texts, normalised."""
    for begin in range(0, read.count, BLOCK):
        units = np.arange(begin, min(begin + BLOCK, read.count))
        texts = read.texts(units)
        some = np.flatnonzero(read.units.are_counted(texts))
        yield units[some], [texts.blob(i).decode("utf-8", "replace") for i in some.tolist()]
