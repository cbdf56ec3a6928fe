"""What a run gives back: Arrow tables, a summary, the spec that made them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from neardup.engine.fit import Hint
from neardup.errors import MissingDependency
from neardup.inputs.columns import ReadColumns, column_words
from neardup.inputs.passed import PassedOver
from neardup.params import Preset, Spec
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
    """Documents of fewer tokens than a shingle that signatures are made of; their whole text is their one shingle."""
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
    recall: float | None
    """Promised probability that a pair at the threshold is found; None: nothing is promised, an audit measures it."""
    threshold: float
    slots: int
    bands: str
    link: str
    sketch: str
    method: str
    """How pairs were found: ``banding``, ``exact join``, ``containment join`` or ``overlap join``."""
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
    engine: str
    """Who did the work: ``local``, this machine, or ``spark``, a cluster; then memory and threads are the driver's."""
    master: str | None
    """Of the cluster, such as ``spark://host:7077``."""
    exchanged: dict[str, int]
    """Bytes that tasks of the cluster sent to each other, by stage."""
    spec: dict[str, Any]
    spec_id: str
    preset: Preset | None
    """The preset that was asked for, and what it stood for."""
    hints: tuple[Hint, ...]
    """What of the texts does not fit the setting, and what to try instead."""
    version: str

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain JSON values."""
        plain = {
            "passed_over": [asdict(each) for each in self.passed_over],
            "columns": [asdict(each) for each in self.columns],
            "preset": None if self.preset is None else self.preset.as_dict(),
            "hints": [each.as_dict() for each in self.hints],
        }
        return {**asdict(self), **plain}


@dataclass(frozen=True, slots=True)
class SourceShare:
    """How much of a source is removed."""

    source: str
    documents: int
    removed: int

    @property
    def share(self) -> float:
        """Removed documents of all."""
        return self.removed / self.documents if self.documents else 0.0


@dataclass(frozen=True, slots=True)
class CleanSummary(Summary):
    """A summary, and what was removed. ``pairs`` are of distinct texts, ``clusters`` those that lose something."""

    keep: str
    """The policy."""
    kept: int
    """Documents that are kept, protected ones included."""
    removed: int
    protected: int
    """Documents of protected sources."""
    short_protected: int
    """Of these, documents shorter than an n-gram, by a rule of overlap: only their equals are found. 0 without one."""
    unreadable: int
    """Files, and folders, of the inputs that cannot be opened at all, such as broken links: they have no copy."""
    largest_cluster: int
    """Documents of the largest cluster, the kept one included."""
    largest_keeper: Any
    """Id of the document that is kept of it; None where none is."""
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
    """A clean collection and why each document was removed. A sequence of two: ``clean, removed = dedup(…)``."""

    data: Any
    """What was given, without the removed documents: of the same kind; for paths the names of the files written."""
    removed: pa.Table
    """id, source, row, keeper, keeper_source, similarity, cluster, rule, and with texts text and keeper_text.

    One record for each removed document. By containment or overlap also start, end, keeper_start, keeper_end and
    passage: the longest passage that both share.
    """
    summary: CleanSummary
    spec: Spec
    faults: tuple[Fault, ...]
    """The first bad records, with reasons."""
    examples: pa.Table | None = None
    """id, keeper, similarity, rule, text, keeper_text of removals that were to be shown, the least similar first."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.removed))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, part: Any) -> Any:
        """Data and removals as of a tuple of the two."""
        if isinstance(part, (int, slice)):
            return (self.data, self.removed)[part]
        raise TypeError(f"{part!r} is no part of a Cleaned, which has two: [0] is its data, [1] what was removed.")

    def __repr__(self) -> str:
        s = self.summary
        rule = s.spec.get("overlap", s.threshold)
        if s.annotated:
            return f"<neardup.Cleaned: {s.documents} documents at {rule}, {s.removed} marked, none removed>"
        return f"<neardup.Cleaned: {s.kept} of {s.documents} documents kept at {rule}, {s.removed} removed>"


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Pairs and clusters of a collection. Itself an Arrow stream of its pairs (PyCapsule interface)."""

    pairs: pa.Table
    """id_a, id_b, similarity: ordered by input row, or as was asked for; ids as they came, similarity exact float64.

    Of containment also contained, with texts also text_a and text_b.
    """
    clusters: pa.Table
    """id, cluster, keeper, similarity (to the keeper): documents in clusters of two and more, by input row.

    With texts also text and keeper_text.
    """
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
        words = column_words(s.columns)
        read = f", {words}" if words else ""  # where a column was guessed that has another name
        found = f"{s.pairs} pairs, {s.clusters} clusters of {s.documents} documents at {s.threshold}"
        return f"<neardup.Result: {found}{read}>"
