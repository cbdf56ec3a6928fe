"""A result of ``find`` as plain Python, so that two of them, or one and an oracle, can be compared."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pyarrow as pa
from tests.oracles.cluster import Partition, partition


def pair_map(pairs: pa.Table) -> dict[frozenset[Hashable], float]:
    """{a, b} -> similarity; fails when a pair is listed twice or a document is paired with itself."""
    rows = list(zip(*(pairs[name].to_pylist() for name in ("id_a", "id_b", "similarity")), strict=True))
    found = {frozenset((a, b)): s for a, b, s in rows}
    assert len(found) == len(rows), "a pair is listed twice"
    assert all(len(pair) == 2 for pair in found), "a document is paired with itself"
    return found


def groups(clusters: pa.Table) -> Partition[Any]:
    """The partition, without labels."""
    return partition(dict(zip(clusters["id"].to_pylist(), clusters["cluster"].to_pylist(), strict=True)))


def keepers(clusters: pa.Table) -> dict[Hashable, Hashable]:
    """Each clustered document's keeper; fails when a document is in two clusters."""
    ids = clusters["id"].to_pylist()
    assert len(set(ids)) == len(ids), "a document is in two clusters"
    return dict(zip(ids, clusters["keeper"].to_pylist(), strict=True))


def as_bytes(table: pa.Table) -> bytes:
    """The table as an Arrow stream of one chunk a column: equal bytes, equal tables."""
    sink = pa.BufferOutputStream()
    whole = table.combine_chunks().replace_schema_metadata(None)
    with pa.ipc.new_stream(sink, whole.schema) as writer:
        writer.write_table(whole)
    return sink.getvalue().to_pybytes()


def crowd_members(crowds: pa.Table, pairs: pa.Table) -> dict[Hashable, set[Hashable]]:
    """Leader -> the documents that a pair joins to it, with itself."""
    members: dict[Hashable, set[Hashable]] = {leader: {leader} for leader in crowds["leader"].to_pylist()}
    for a, b in zip(pairs["id_a"].to_pylist(), pairs["id_b"].to_pylist(), strict=True):
        for leader, other in ((a, b), (b, a)):
            if leader in members:
                members[leader].add(other)
    return members
