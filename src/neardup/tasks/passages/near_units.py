"""Near-duplicate lines, sentences and paragraphs: units are documents of a search, and the first of a group stays."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers, strings
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import RowNames
from neardup.engine.repeats.near import NearRepeats
from neardup.engine.repeats.read_units import ReadUnits, WholeUnits, read_units
from neardup.engine.repeats.runs import no_runs
from neardup.engine.repeats.units import private_key
from neardup.engine.space import Space
from neardup.params import Shingle
from neardup.tasks.dedup.public import dedup
from neardup.types import I64, Batch

BLOCK = 1 << 12
"""Units that are written together."""
_SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.large_string())])


def find_near(
    tasks: Iterator[Callable[[], Batch]],
    units: WholeUnits,
    threshold: float,
    shingle: Shingle,
    *,
    memory: int | str | None,
    total_bytes: int | None,
    threads: int,
    names: RowNames,
    observer: Observer,
    space: Space,
) -> NearRepeats:
    """Read all batches, and find the units with a near-duplicate, each with the first one of its group.

    As ``neardup dedup`` with ``keep="first"``: units are taken in their order, one that is still there is kept, and all
    found near-duplicates of it, from ``threshold`` on, go. So each is one of the first of its group, and pairs at the
    threshold are found with the recall that ``dedup`` promises. The texts of units are written to a file in between.

    Memory: as ``read_units``, what ``dedup`` takes, and 24 bytes for each unit that has a near-duplicate.
    """
    read = ReadUnits.none(units, space)
    how: dict[str, Any] = {"total_bytes": total_bytes, "threads": threads, "names": names, "observer": observer}
    read_units(tasks, read, key=private_key(), space=space, **how)
    base = no_runs(read, space)
    assert space.path is not None, "a run of passages has a folder for its work"
    with tempfile.TemporaryDirectory(dir=space.path.parent, prefix=f"{space.path.name}-units-") as place:
        path = Path(place) / "units.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _SCHEMA) as out:
            for some, texts in _compared(read):
                out.write_batch(pa.RecordBatch.from_arrays([numbers(some), strings(texts)], schema=_SCHEMA))
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
    near = np.concatenate((later, heads))
    order = np.argsort(near)
    sources = np.concatenate((first, heads))[order]
    similarity = np.concatenate((found["similarity"].to_numpy(), np.ones(heads.size)))[order]
    known = base.text, base.originals, base.window, base.loops, base.pieces, base.choice
    return NearRepeats(*known, near[order], sources, similarity)


def _compared(read: ReadUnits) -> Iterator[tuple[I64, list[str]]]:
    """The units that are large enough, block by block, and their texts, normalised."""
    for begin in range(0, read.count, BLOCK):
        units = np.arange(begin, min(begin + BLOCK, read.count))
        texts = read.texts(units)
        some = np.flatnonzero(read.units.are_counted(texts))
        yield units[some], [texts.blob(i).decode("utf-8", "replace") for i in some.tolist()]
