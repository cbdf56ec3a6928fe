"""The table of spans: segments in characters and bytes of the texts as they were read, with their ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from neardup.arrays import flags, numbers
from neardup.engine.repeats.find import Repeats
from neardup.engine.repeats.near import NearRepeats
from neardup.inputs.names import Ids
from neardup.stages.repeats.segments import FIRST, OTHER, Segments
from neardup.tasks.grouping import Groups
from neardup.types import I64


def span_table(
    repeats: Repeats, segments: Iterable[Segments], ids: Ids, groups: Groups | None = None
) -> pa.RecordBatchReader:
    """A stream of all spans in the order of the input; the columns are those of ``RepeatedPassages.spans``."""
    whole = ("start", "end", "start_byte", "end_byte")
    schema = pa.schema(
        [
            ("id", ids.type),
            *((name, pa.int64()) for name in whole),
            ("source_id", ids.type),
            ("source_start", pa.int64()),
            ("count", pa.int64()),
            ("count_min", pa.int64()),
            ("documents", pa.int64()),
            ("first", pa.bool_()),
            ("elsewhere", pa.bool_()),
            *group_fields(groups),
            *([("similarity", pa.float64())] if isinstance(repeats, NearRepeats) else []),
        ]
    )

    def batches() -> Iterator[pa.RecordBatch]:
        for part in segments:
            found = in_bytes(repeats, part)
            start, end, source_start = in_characters(repeats, found)
            columns = [
                ids.take(found.document),
                *map(numbers, (start, end, found.start, found.end)),
                ids.take(found.source),
                *map(numbers, (source_start, found.most, found.least, found.documents)),
                flags(found.kind == FIRST),
                flags(found.kind == OTHER),
                *group_columns(groups, found.document),
            ]
            if isinstance(repeats, NearRepeats):
                columns.append(numbers(repeats.similarity(part)))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def group_fields(groups: Groups | None) -> tuple[tuple[str, pa.DataType], ...]:
    """The columns of a table that say of which group a document is; none without groups."""
    return () if groups is None else (("group", pa.large_string()), ("group_documents", pa.int64()))


def group_columns(groups: Groups | None, documents: I64) -> list[pa.Array]:
    """The values of these columns for some documents."""
    if groups is None:
        return []
    of = groups.of[documents].astype(np.int64)
    known, back = np.unique(of, return_inverse=True)
    names = pa.array([groups.names[number] for number in known.tolist()], pa.large_string())
    return [names.take(numbers(back.astype(np.int64))), numbers(groups.sizes()[of])]


def in_bytes(repeats: Repeats, found: Segments) -> Segments:
    """The segments in bytes of the texts as read, in place of the units that were compared."""
    start, end = repeats.originals.around(found.document, found.start, found.end)
    source_start, _ = repeats.originals.around(found.source, found.source_start, found.source_start + 1)
    return replace(found, start=start, end=end, source_start=source_start)


def in_characters(repeats: Repeats, found: Segments) -> tuple[I64, I64, I64]:
    """Start, end and start in the source of segments in bytes, in characters: of those that are whole in them."""
    text, offsets = repeats.originals.text, repeats.originals.text.offsets
    own, other = offsets[found.document], offsets[found.source]
    begin = text.characters(own)
    end_place = own + found.end
    start = text.characters(own + found.start) - begin
    end = (
        text.characters(end_place)
        - begin
        - (text.goes_on_at(end_place) & (found.end < offsets[found.document + 1] - own))
    )
    return start, end, text.characters(other + found.source_start) - text.characters(other)
