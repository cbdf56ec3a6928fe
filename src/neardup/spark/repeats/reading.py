"""The first stage: each split is read, and its texts, or the units made of them, go to the storage.

read/NNNNNN.arrays  lengths of documents, in units and in bytes; rows and ids, as in ``spark.reading``; marks
text/NNNNNN.raw     the texts, end to end
units, places       the units of the texts, and where each stands, where units are not bytes
"""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np

from neardup.inputs.splits import read_split
from neardup.spark.exchange import Facts
from neardup.spark.reading import Names, batches_of_split
from neardup.spark.repeats.job import PLACES, TEXT, UNITS, PassageJob
from neardup.spark.repeats.stored import Marks, file_of
from neardup.types import I64, Documents


def read(job: PassageJob, split: int) -> Facts:
    """Read a split; what it has of documents goes to the storage, what it counted is the answer."""
    source = job.source_of(split)
    reading = read_split(source, job.splits[split])
    units, window = job.reading_units(), job.window
    names, marks = Names(job, reading), Marks()
    lengths: list[I64] = [np.empty(0, dtype=np.int64)]
    sizes: list[I64] = [np.empty(0, dtype=np.int64)]
    folders = [TEXT] if job.are_bytes else [TEXT, UNITS, PLACES]
    with ExitStack() as stack:
        text, *more = (stack.enter_context(job.storage.writing(file_of(name, split))) for name in folders)
        for batch in batches_of_split(job, source, reading):
            names.enter(batch)
            if len(batch.documents):
                compared = units.of(batch.documents)
                lengths.append(np.diff(compared.documents.offsets) // window.unit)
                sizes.append(np.diff(batch.documents.offsets))
                data = _text_of(batch.documents)
                marks.add(data)
                text.write(data)
                if compared.places is not None:
                    more[0].write(_text_of(compared.documents))
                    more[1].write(np.ascontiguousarray(compared.places, dtype="<u4"))
            if batch.give_back is not None:
                batch.give_back()
    facts, arrays = names.told()
    arrays |= {"lengths": np.concatenate(lengths), "sizes": np.concatenate(sizes), "marks": marks.marks}
    job.storage.put(f"read/{split:06d}", **arrays)
    facts["units"] = int(arrays["lengths"].sum())
    facts["characters"] = int(arrays["marks"][-1])
    return facts


def _text_of(documents: Documents) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return documents.data[int(documents.offsets[0]) : int(documents.offsets[-1])]
