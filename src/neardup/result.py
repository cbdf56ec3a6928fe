"""What a run gives back: Arrow tables, a summary, the spec that made them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from neardup.errors import MissingDependency
from neardup.params import Spec
from neardup.types import Fault

__all__ = ["Result", "Summary"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What was read, found, promised and spent."""

    documents: int
    bytes: int
    """Bytes of text, before normalisation."""
    empty: int
    """Documents without a shingle after normalisation: in no pair, never a duplicate of anything but each other."""
    short: int
    """Documents of fewer tokens than a shingle has; their whole text is their one shingle."""
    bad: int
    """Records that could not be used."""
    blank: int
    """Blank lines passed over."""
    duplicate_ids: int
    """Documents whose id an earlier one has; they are compared like any other."""
    duplicate_id_example: str | None
    exact_copies: int
    """Documents whose normalised text an earlier document has."""
    candidates: int
    """Candidate pairs that the bands gave, before the estimate filter."""
    checked: int
    """Pairs whose exact similarity was computed."""
    pairs: int
    clusters: int
    """Clusters of two documents and more."""
    crowds: int
    crowd_documents: int
    overfull: int
    """Documents in buckets too large to pair up even after splitting; compared with leaders only, without promise."""
    recall: float
    """Promised probability that a pair at the threshold is found."""
    threshold: float
    slots: int
    bands: str
    link: str
    sketch: str
    seconds: dict[str, float]
    total_seconds: float
    mb_per_second: float
    peak_memory: int
    """Largest resident memory of the process, in bytes."""
    threads: int
    spec: dict[str, Any]
    spec_id: str
    version: str

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Pairs and clusters of a collection. Itself an Arrow stream of its pairs (PyCapsule interface)."""

    pairs: pa.Table
    """id_a, id_b, similarity: ordered by input row; ids as they came, similarity exact float64."""
    clusters: pa.Table
    """id, cluster, keeper, similarity (to the keeper): documents in clusters of two and more, by input row."""
    crowds: pa.Table
    """leader, documents: groups above the crowd limit, whose members are listed with their leader only."""
    summary: Summary
    spec: Spec
    faults: tuple[Fault, ...]
    """The first bad records, with reasons."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The pairs, for any library that takes Arrow streams."""
        return self.pairs.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The pairs as a pandas data frame.

        Raises:
            MissingDependency: pandas is not installed.
        """
        try:
            import pandas  # noqa: F401
        except ImportError as exc:
            raise MissingDependency("to_pandas needs pandas: pip install pandas") from exc
        return self.pairs.to_pandas()

    def to_polars(self) -> Any:
        """The pairs as a polars data frame.

        Raises:
            MissingDependency: polars is not installed.
        """
        try:
            import polars
        except ImportError as exc:
            raise MissingDependency("to_polars needs polars: pip install polars") from exc
        return polars.DataFrame(self.pairs)

    def __repr__(self) -> str:
        s = self.summary
        return f"<neardup.Result: {s.pairs} pairs, {s.clusters} clusters of {s.documents} documents at {s.threshold}>"
