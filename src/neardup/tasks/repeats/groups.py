"""Groups of documents, such as sites or newspapers, by what repeats inside each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import numbers
from neardup.stages.repeats.policies import REPEATED, stretches_of
from neardup.stages.repeats.segments import whole_documents
from neardup.tasks.repeats.overview import LISTED
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.spans import in_bytes


def group_table(run: PassageRun) -> pa.Table | None:
    """Every group that repeats something, the one with most repeated bytes first; None without groups.

    ``group`` (null: of a document that does not tell its own), ``documents``, ``bytes``, ``spans`` and
    ``repeated_bytes`` (those of spans, each counted once). One pass over the segments; 32 bytes a group.
    """
    repeats, groups = run.find(), run.groups
    if groups is None:
        return None
    sizes = np.diff(repeats.originals.text.offsets[: repeats.documents + 1])
    held, spans, repeated = (np.zeros(len(groups.names), dtype=np.int64) for _ in range(3))
    np.add.at(held, groups.of, sizes)
    for found in whole_documents(run.segments().repeats()):
        np.add.at(spans, groups.of[found.document], 1)
        stretches = stretches_of(in_bytes(repeats, found), REPEATED)
        np.add.at(repeated, groups.of[stretches.document], stretches.end - stretches.start)
    order = np.lexsort((np.arange(held.size), -repeated))
    order = order[: int(np.count_nonzero(spans))]
    columns = {
        "group": pa.array([groups.names[number] for number in order.tolist()], pa.large_string()),
        "documents": numbers(groups.sizes()[order]),
        "bytes": numbers(held[order]),
        "spans": numbers(spans[order]),
        "repeated_bytes": numbers(repeated[order]),
    }
    return pa.table(columns)


def top_groups(run: PassageRun, most: int = LISTED) -> list[dict[str, Any]] | None:
    """The first rows of ``group_table``, as JSON values."""
    table = group_table(run)
    return None if table is None else table.slice(0, most).to_pylist()
