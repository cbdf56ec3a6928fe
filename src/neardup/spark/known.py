"""The known documents: the driver keeps data only for documents that have an exact copy or may have a pair.

These documents get new row numbers in the same order. All decisions depend only on that order and on the contents, so
they are the same as on one machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers
from neardup.engine.reading.again import SourceTexts
from neardup.engine.reading.collection import Collection, check_count
from neardup.engine.reading.families import Hashers
from neardup.engine.reading.signatures import Signatures
from neardup.engine.reading.written import WrittenTexts
from neardup.engine.space import Space
from neardup.inputs.names import Ids, Places, Provenance
from neardup.spark.exchange import Facts
from neardup.spark.packing import Arrays
from neardup.spark.pieces import Inputs, Job
from neardup.spark.reading import MADE, NUMBERS, gathered, id_arrays, ids_from
from neardup.spool import Column, MemoryColumn
from neardup.types import I64, MOST_FAULTS, SLACK, Batch, Documents, Fault

COLUMNS = "counts", "lengths", "prints", "bits"
"""The columns of the first reading that ``collection`` uses; ``lengths`` has the bytes of normalised texts."""


def look_up(job: Inputs, split: int, name: str) -> Facts:
    """Write the COLUMNS, rows and ids of the requested documents of a split to the storage."""
    places = job.storage.get(f"{name}-asked/{split:06d}")["places"]
    found = job.storage.get(f"read/{split:06d}")
    known: Arrays = {column: found[column][places] for column in (*COLUMNS, "rows") if column in found}
    ids = ids_from(found)
    if ids is not None:
        known |= id_arrays(ids.take(pa.array(places)))
    job.storage.put(f"{name}/{split:06d}", **known)
    return {"documents": int(places.size)}


def looked_up(job: Job, name: str, splits: Sequence[int]) -> Arrays:
    """Read the COLUMNS that ``look_up`` wrote for ``splits``."""
    found = list(job.storage.get_all((f"{name}/{split:06d}" for split in splits), *COLUMNS))
    return gathered({column: [each[column] for each in found] for column in COLUMNS}, job.spec)


class KnownTexts(SourceTexts):
    """The lengths of texts that are with the workers."""

    def __init__(self, lengths: Column) -> None:
        """Use ``lengths``, the bytes of the normalised texts."""
        self._known = lengths

    def __len__(self) -> int:
        return len(self._known)

    @property
    def nbytes(self) -> int:
        return self._known.nbytes

    @property
    def is_at_hand(self) -> bool:
        """True, so that the driver does not try to lay the texts out: ``checking`` brings them to the tasks."""
        return True

    def lengths(self, rows: I64) -> I64:
        found: I64 = self._known.take(rows)
        return found

    def parts(self, rows: I64, most: int | None = None) -> Iterator[tuple[Documents, I64, slice]]:
        raise NotImplementedError("the texts are with the workers")


@dataclass(slots=True)
class KnownCollection(Collection):
    """The known documents, whose texts are with the workers."""

    shown: WrittenTexts | None = None
    """The texts as they were written, if they are available."""

    @property
    def written(self) -> WrittenTexts | None:
        return self.shown


def collection(job: Job, space: Space, found: Arrays) -> KnownCollection:
    """Make the collection of the known documents, without their texts, from what ``looked_up`` gave."""
    spec = job.spec
    counts, lengths = MemoryColumn(np.int64), MemoryColumn(np.int64)
    prints, bits = MemoryColumn(np.uint64, 2), MemoryColumn(np.uint64, spec.screening.words)
    for name, column in zip(COLUMNS, (counts, lengths, prints, bits), strict=True):
        column.append(found[name])
    hashers, texts = Hashers.of(spec), KnownTexts(lengths)
    values = Signatures(spec, hashers, texts)
    known = KnownCollection(spec, space, hashers, texts, values, counts, prints, bits)
    check_count(known, space, 0.0)
    return known


class KnownPlaces(Places):
    """The sources and lines of the known documents, by their new numbers, and the document counts of whole sources."""

    def __init__(self, job: Inputs, facts: Sequence[Facts]) -> None:
        """Use ``facts``, the counts of each split."""
        super().__init__()
        self._job = job
        self._facts = facts

    def documents(self) -> I64:
        counts = dict.fromkeys(self.sources, 0)
        for split, facts in zip(self._job.splits, self._facts, strict=True):
            if facts["documents"]:
                counts[self._job.sources[split.place].name] += facts["documents"]
        return np.array(list(counts.values()), dtype=np.int64)

    def local_rows(self, source: int) -> I64:
        name = self.sources[source]
        found = [np.empty(0, dtype=np.int64)]
        for split, facts in enumerate(self._facts):
            if facts["documents"] and self._job.source_of(split).name == name:
                found.append(local_rows(facts, self._job.storage.get(f"read/{split:06d}"), slice(None)))
        return np.concatenate(found)


class KnownIds(Ids):
    """The ids of the known documents, by their new numbers, with the kinds and repeats of the ids of all documents."""

    first_records: Mapping[str, int] | None = None
    """The number of the first record of each source, if made ids are record numbers instead of ``source:row``."""

    def __init__(self, places: KnownPlaces, *, kinds: set[str], repeated: tuple[int, str | None]) -> None:
        super().__init__()
        self.places = places
        self._kinds = kinds
        self._repeated = repeated

    @property
    def type(self) -> Any:
        are_made = self.first_records is not None and self._kinds == {MADE}
        return pa.int64() if are_made or self._kinds == {NUMBERS} else pa.large_string()

    def take(self, rows: I64) -> Any:
        if self._kinds == {MADE} and self.first_records is not None:
            return numbers(self._records(rows))
        return super().take(rows)

    def _made(self, rows: I64) -> Any:
        if self.first_records is None:
            return super()._made(rows)
        return numbers(self._records(rows)).cast(pa.large_string())

    def _records(self, rows: I64) -> I64:
        assert self.first_records is not None
        source, local = self.places.locate(rows)
        firsts = np.array([self.first_records[name] for name in self.places.sources], dtype=np.int64)
        found: I64 = firsts[source] + local - 1
        return found

    def count_duplicates(self, budget: int = 0, workdir: Any = None) -> tuple[int, str | None]:
        return self._repeated


def local_rows(facts: Facts, arrays: dict[str, Any], places: I64 | slice) -> I64:
    """Return the lines or rows in the source for documents of a split, by their indices in the split."""
    if "rows" in arrays:
        found: I64 = arrays["rows"][places] + facts["before"]
        return found
    whole: I64 = np.arange(facts["documents"], dtype=np.int64) + (facts["first"] + facts["before"])
    return whole[places]


def provenance(
    job: Inputs, facts: Sequence[Facts], rows: I64, name: str, *, repeated: tuple[int, str | None] = (0, None)
) -> Provenance:
    """Make the provenance of known documents, with the faults of all splits; ``look_up`` wrote ``name`` for them."""
    has_documents = [each for each in facts if each["documents"]]
    kinds = {each["ids"] for each in has_documents}
    known = Provenance()
    known.places = KnownPlaces(job, facts)
    known.ids = KnownIds(known.places, kinds=kinds, repeated=repeated)
    places = {split: at for split, _, at in job.by_split(rows)}
    looked_up = job.storage.get_all(f"{name}/{split:06d}" for split in places)
    for split, each in enumerate(facts):
        source = job.source_of(split).name
        known.bad += each["bad"]
        known.blank += each["blank"]
        known.records[source] = known.records.get(source, 0) + each["documents"] + each["bad"]
        known.faults += [Fault(of, row + each["before"] if row else 0, reason) for of, row, reason in each["faults"]][
            : MOST_FAULTS - len(known.faults)
        ]
        mine = places.get(split)
        if mine is None:
            if each["batches"]:
                known.ids.append(no_documents(source))
            continue
        arrays = next(looked_up)
        if "rows" in arrays:
            local = arrays["rows"] + each["before"]
        else:
            local = mine + (each["first"] + each["before"])
        ids = ids_from(arrays)
        known.ids.append(Batch(empty_documents(mine.size), source, local, ids))
    return known


def no_documents(source: str) -> Batch:
    """Make a batch without documents for a source."""
    return Batch(empty_documents(0), source, np.empty(0, dtype=np.int64))


def empty_documents(n: int) -> Documents:
    """Make ``n`` documents without text."""
    return Documents(np.zeros(SLACK, dtype=np.uint8), np.zeros(n + 1, dtype=np.int64))
