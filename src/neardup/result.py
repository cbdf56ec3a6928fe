"""What a run gives back: Arrow tables, a summary, the spec that made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from neardup.errors import MissingDependency
from neardup.inputs.columns import ReadColumns
from neardup.inputs.passed import PassedOver
from neardup.params import Spec
from neardup.types import Fault


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
    passed_over: tuple[PassedOver, ...]
    """Files and folders that the inputs hold and that were not read, by reason and suffix, the most frequent first."""
    columns: tuple[ReadColumns, ...]
    """Columns or fields that were read, of inputs that have any, in the order of the inputs."""
    duplicate_ids: int
    """Documents whose id an earlier one has; they are compared like any other."""
    duplicate_id_example: str | None
    exact_copies: int
    """Documents whose normalised text an earlier document has."""
    candidates: int
    """Candidate pairs that the bands gave, before the estimate filter; those that shared a rare shingle, in a join."""
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
    method: str
    """How pairs were found: ``banding``, ``exact join`` or ``containment join``."""
    choice: str | None
    """Why, where the plan decided."""
    seconds: dict[str, float]
    total_seconds: float
    mb_per_second: float
    peak_memory: int
    """Largest resident memory of the process, in bytes."""
    memory_limit: int
    """What it was to stay under."""
    spooled: int
    """Largest size of the workdir, in bytes; 0 when everything fitted into memory."""
    threads: int
    spec: dict[str, Any]
    spec_id: str
    version: str

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain JSON values."""
        passed, columns = ([asdict(each) for each in group] for group in (self.passed_over, self.columns))
        return {**asdict(self), "passed_over": passed, "columns": columns}


@dataclass(frozen=True, slots=True)
class SourceShare:
    """How much of a source goes."""

    source: str
    documents: int
    removed: int

    @property
    def share(self) -> float:
        """Removed documents of all."""
        return self.removed / self.documents if self.documents else 0.0


@dataclass(frozen=True, slots=True)
class CleanSummary(Summary):
    """A summary, and what went. ``pairs`` are those of distinct texts, ``clusters`` those that lose something."""

    keep: str
    """The policy."""
    kept: int
    """Documents that stay, protected ones included."""
    removed: int
    protected: int
    """Documents of protected sources."""
    unreadable: int
    """Files, and folders, of the inputs that cannot be opened at all, such as broken links: they have no copy."""
    largest_cluster: int
    """Documents of the largest cluster, the kept one included."""
    largest_keeper: Any
    """Id of the document that is kept of it."""
    sources: tuple[SourceShare, ...]
    """What each source had and lost, in input order."""
    alarm: float
    alarms: tuple[str, ...]
    """Sources that lost more than the share ``alarm``."""
    written: tuple[str, ...]
    """Files that were written."""
    dry_run: bool
    annotated: bool
    """Records got the columns cluster, keeper and similarity, and none was removed."""


@dataclass(frozen=True, slots=True, eq=False)
class Cleaned:
    """A clean collection and why each document went. Unpacks into data and removals: ``clean, removed = dedup(…)``."""

    data: Any
    """What was given, without the documents that went: of the same kind; for paths the names of the files written."""
    removed: pa.Table
    """id, source, row, keeper, keeper_source, similarity, cluster, rule: one record for each document that went."""
    summary: CleanSummary
    spec: Spec
    faults: tuple[Fault, ...]
    """The first bad records, with reasons."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.removed))

    def __repr__(self) -> str:
        s = self.summary
        return f"<neardup.Cleaned: {s.kept} of {s.documents} documents kept at {s.threshold}, {s.removed} removed>"


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
