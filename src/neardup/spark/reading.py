"""The first stage: read, normalise and sketch each split, and write the data for later stages to the storage.

read/NNNNNN.arrays    counts, prints, lengths, bits, rows (unless they are consecutive), and ids
keys/NNNNNN.arrays    the keys of all bands
places/NNNNNN.arrays  the offset of each record in its file, if records can be read one by one
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.engine.fit import SAMPLE, SEED
from neardup.engine.reading.collection import normalized, sketch_rows
from neardup.engine.reading.draw import hashes_of
from neardup.engine.reading.families import Hashers
from neardup.inputs.columns import ReadColumns
from neardup.inputs.passed import PassedOver
from neardup.inputs.reader import Reader
from neardup.inputs.source import Source, UnusableRecord
from neardup.inputs.splits import PIECES, FaultInSplit, Split, SplitReading, lines_before, read_split
from neardup.params import Spec
from neardup.spark import bad_records
from neardup.spark.exchange import Facts
from neardup.spark.packing import Arrays
from neardup.spark.pieces import Inputs, Job, batches_of, place_arrays
from neardup.stages.bands import KEY_BYTES
from neardup.types import I64, Batch, Places

MADE, NUMBERS, STRINGS = "made", "numbers", "strings"
"""The kinds of ids, as in ``inputs.names``."""


def read(job: Job, split: int) -> Facts:
    """Read a split, write the data of its documents to the storage, and return its counts."""
    spec, piece = job.spec, job.splits[split]
    source = job.source_of(split)
    reading = read_split(source, piece)
    hashers = Hashers.of(spec)
    found: dict[str, list[Any]] = {name: [] for name in ("counts", "prints", "lengths", "bits", "keys")}
    places: list[Places | None] = []
    names, short = Names(job, reading), 0
    for batch in batches_of_split(job, source, reading):
        names.enter(batch)
        if not len(batch.documents):
            continue
        rows = sketch_rows(batch, normalized(batch, spec), spec, hashers)
        short += rows.short
        found["counts"].append(rows.counts)
        found["prints"].append(rows.prints)
        found["lengths"].append(np.diff(rows.documents.offsets))
        found["bits"].append(rows.bits)
        places.append(batch.places)
        found["keys"].append(rows.keys)
        if batch.give_back is not None:
            batch.give_back()
    facts, named = names.told()
    facts["short"] = short
    facts["empty"] = sum(int(np.count_nonzero(each == 0)) for each in found["counts"])
    arrays = gathered(found, spec) | named
    keys = arrays.pop("keys")
    job.storage.put(f"sample/{split:06d}", **_sample(arrays))
    job.storage.put(f"read/{split:06d}", **arrays)
    job.storage.put(f"keys/{split:06d}", keys=keys)
    job.storage.put(f"places/{split:06d}", **place_arrays(places if piece.kind != PIECES else []))
    return facts


class Names:
    """The ids, lines and faults of the documents of a split."""

    def __init__(self, job: Inputs, reading: SplitReading) -> None:
        """Begin without documents."""
        self._job, self._reading = job, reading
        self._rows: list[I64] = [np.empty(0, dtype=np.int64)]
        self._ids: list[Any] = []
        self._facts: Facts = {"documents": 0, "bytes": 0, "bad": 0, "blank": 0, "faults": [], "batches": 0}

    def enter(self, batch: Batch) -> None:
        """Add a batch; batches come in order."""
        facts = self._facts
        facts["batches"] += 1
        facts["bad"] += batch.bad
        facts["blank"] += batch.blank
        faults = bad_records.with_ids(self._job, self._reading, batch.faults)
        facts["faults"] += [[fault.source, fault.row, fault.reason] for fault in faults]
        if len(batch.documents):
            facts["documents"] += len(batch.documents)
            facts["bytes"] += batch.documents.nbytes
            self._rows.append(batch.rows)
            self._ids.append(batch.ids)

    def told(self) -> tuple[Facts, Arrays]:
        """Return the counts of the split, and the arrays ``rows`` (unless consecutive) and ids for ``known``.
        Call it after the last batch."""
        facts, reading, arrays = self._facts, self._reading, {"rows": np.concatenate(self._rows)}
        facts["records"] = reading.records
        facts["relative"] = reading.is_relative
        facts["columns"] = None if reading.columns is None else asdict(reading.columns)
        facts["passed"] = [asdict(each) for each in reading.passed]
        facts["first"] = int(arrays["rows"][0]) if facts["documents"] else 0
        if facts["documents"] and int(arrays["rows"][-1]) - facts["first"] + 1 == facts["documents"]:
            del arrays["rows"]
        facts["ids"] = MADE
        if any(each is not None for each in self._ids):
            joined = pa.chunked_array(self._ids).combine_chunks()
            is_whole = pa.types.is_integer(joined.type)
            facts["ids"] = NUMBERS if is_whole else STRINGS
            arrays |= id_arrays(joined)
        return facts, arrays


def batches_of_split(job: Inputs, source: Source, reading: SplitReading) -> Iterator[Batch]:
    """Yield the batches of a split; an error names a bad record by its line in the file, or its row in the frame."""
    try:
        yield from batches_of(reading)
    except FaultInSplit as exc:
        raise exc.absolute(lines_before(source, reading.split)) from exc
    except UnusableRecord as exc:
        raise bad_records.unusable_row(job, reading, exc) from exc


def tell_reader(reader: Reader, splits: Sequence[Split], facts: Sequence[Facts]) -> None:
    """Give a reader the facts that workers found about its sources: their columns, and the skipped files."""
    for split, each in zip(splits, facts, strict=True):
        if each["columns"] is not None and split.first == 0:
            told = each["columns"]
            reader.parts[split.place].columns = ReadColumns(**told | {"text": tuple(told["text"])})
        over = reader.told_over.get(split.place, ())
        reader.told_over[split.place] = (*over, *(PassedOver(**passed) for passed in each["passed"]))


def _sample(arrays: Arrays) -> Arrays:
    """Return the smallest hashes of texts, each with the index of its first document, as a sample for hints."""
    at = np.flatnonzero(arrays["counts"] > 0)
    hashes = hashes_of(arrays["prints"][at], SEED)
    hashes, first = np.unique(hashes, return_index=True)
    return {"hashes": hashes[:SAMPLE], "places": at[first[:SAMPLE]]}


def gathered(found: Mapping[str, Sequence[Any]], spec: Spec) -> Arrays:
    """Join the pieces of the columns that all documents of a search have; a column without pieces is empty."""
    empty = {
        "counts": np.empty(0, dtype=np.int64),
        "prints": np.empty((0, 2), dtype=np.uint64),
        "lengths": np.empty(0, dtype=np.int64),
        "bits": np.empty((0, spec.screening.words), dtype=np.uint64),
        "keys": np.empty((spec.bands.bands, 0, KEY_BYTES), dtype=np.uint8),
    }
    return {
        name: np.concatenate([empty[name], *values], axis=1 if name == "keys" else 0) for name, values in found.items()
    }


def id_arrays(ids: Any) -> Arrays:
    """Convert an Arrow array of int64 or large_string, without nulls, to arrays."""
    if pa.types.is_integer(ids.type):
        return {"ids": np.asarray(ids.cast(pa.int64()))}
    ids = pa.concat_arrays([ids.cast(pa.large_string())])
    offsets = np.frombuffer(ids.buffers()[1], dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
    data = np.frombuffer(ids.buffers()[2] or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    return {"id_text": data, "id_offsets": offsets - offsets[0]}


def ids_from(arrays: Arrays) -> Any:
    """Return the Arrow array that ``id_arrays`` converted, or None if the ids are made."""
    if "ids" in arrays:
        return pa.array(arrays["ids"])
    if "id_offsets" not in arrays:
        return None
    buffers = [None, pa.py_buffer(arrays["id_offsets"]), pa.py_buffer(arrays["id_text"])]
    return pa.Array.from_buffers(pa.large_string(), arrays["id_offsets"].size - 1, buffers)
