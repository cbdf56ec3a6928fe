"""What the tests of the readers share: reading everything, and looking at it as plain Python values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.inputs.names import Ids
from neardup.inputs.reader import Reader, open_inputs
from neardup.types import SLACK, Batch


def zstd(data: bytes) -> bytes:
    """Bytes as one zstd frame."""
    return _packed(data, "zstd")


def lz4(data: bytes) -> bytes:
    """Bytes as one LZ4 frame."""
    return _packed(data, "lz4")


def _packed(data: bytes, codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


@dataclass
class Everything:
    """All batches of a run, end to end."""

    texts: list[str] = field(default_factory=list)
    blobs: list[bytes] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    bad: int = 0
    blank: int = 0
    consumed: int = 0
    batches: list[Batch] = field(default_factory=list)


def read(inputs: Any, **options: Any) -> Everything:
    """Read inputs through the public door."""
    return gathered(batches_of(open_inputs(inputs, **options)))


def batches_of(reader: Reader) -> Iterator[Batch]:
    """Yield what the sources of a reader give, even if no record is good: a run would be refused then."""
    return (task() for source in reader.parts for task in source.tasks())


def gathered(batches: Iterable[Batch]) -> Everything:
    """Join batches, checking what holds for each of them."""
    every, ids = Everything(), Ids()
    for batch in batches:
        documents = batch.documents
        assert documents.offsets[-1] + SLACK <= documents.data.size
        assert documents.offsets.dtype == np.int64
        blobs = [documents.blob(i) for i in range(len(documents))]
        every.blobs += blobs
        every.texts += [blob.replace(b"\xff", b"|").decode("utf-8") for blob in blobs]
        every.rows += batch.rows.tolist()
        every.faults += [str(fault) for fault in batch.faults]
        every.bad += batch.bad
        every.blank += batch.blank
        every.consumed += batch.consumed
        every.batches.append(batch)
        ids.append(batch)
    every.ids = ids.take(np.arange(len(ids), dtype=np.int64)).to_pylist()
    return every
