"""What a run gives back: Arrow tables, a summary, the spec that made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.arrays import strings
from neardup.engine.fit import Hint
from neardup.inputs.columns import ReadColumns, column_words
from neardup.inputs.lookup import PairTexts
from neardup.inputs.passed import PassedOver, passed_words
from neardup.outputs.frames import pandas_frame, polars_frame
from neardup.params import Preset, Spec, check_choice, check_text_length
from neardup.shown import by_cause, counted, cut_text, duration
from neardup.types import Fault

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from neardup.pages.beside import Beside

LISTED = 5
"""Pairs, clusters and removals that a notebook shows of a result without being asked."""
CHARACTERS = 2000
"""Of each text that ``show`` shows."""


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
    """Candidate pairs that the bands gave. One that is not checked counts in each band in which it meets; in a join,
    those that shared a rare shingle."""
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
            "over_limit": max(0, self.peak_memory - self.memory_limit),
        }
        return {**asdict(self), **plain}

    def __repr__(self) -> str:
        at = f"at {self.threshold}, spec {self.spec_id}"
        return f"<neardup.{type(self).__name__}: {self._told()} {at}, {duration(self.total_seconds)}>"

    def _told(self) -> str:
        found = f"{counted(self.pairs, 'pair')}, {counted(self.clusters, 'cluster')}"
        return f"{found} of {counted(self.documents, 'document')}"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import view

        title = f"neardup.{type(self).__name__}: {self._told()} at {self.threshold}"
        return view(title, facts=self.figures(), notes=self.remarks())

    def figures(self) -> list[tuple[str, str]]:
        """What there is of everything and what it took, by label, without what there is none of."""
        counts = {
            "documents": self.documents,
            "exact copies": self.exact_copies,
            "empty": self.empty,
            "bad records": self.bad,
            "ids seen before": self.duplicate_ids,
            "in crowds": self.crowd_documents,
        }
        told = [(name, f"{count:,}") for name, count in counts.items() if count or name == "documents"]
        recall = "none promised" if self.recall is None else f"{int(self.recall * 10_000) / 10_000:g}"
        return [*told, ("recall", recall), ("found by", self.method), ("time", duration(self.total_seconds))]

    def remarks(self) -> list[str]:
        """Sentences on what was left out, read or better tried."""
        columns, passed = column_words(self.columns), passed_words(self.passed_over)
        return [*([columns] if columns else []), *([f"passed over: {passed}"] if passed else []), *map(str, self.hints)]


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


@dataclass(frozen=True, slots=True, repr=False)
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
    passages: dict[str, Any] | None = None
    """Where passages were cut: what the summary of ``neardup.passages`` says of the documents that stayed, and under
    ``cut`` what was cut of them."""

    def _told(self) -> str:
        what = f"{self.removed:,} marked, none removed" if self.annotated else f"{self.removed:,} removed"
        return f"{self.kept:,} of {counted(self.documents, 'document')} kept, {what}"


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
    again: PairTexts | None = None
    """Brings the texts of removed documents and their keepers from the inputs, for ``show``."""
    cuts: pa.Table | None = None
    """id, cut_bytes, left (characters) and kept of each document of which passages were cut, where that was asked."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.removed))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, part: Any) -> Any:
        """Data and removals as of a tuple of the two."""
        if isinstance(part, (int, slice)):
            return (self.data, self.removed)[part]
        raise TypeError(f"{part!r} is no part of a Cleaned, which has two: [0] is its data, [1] what was removed.")

    def to_pandas(self) -> Any:
        """What was removed, and why, as a pandas data frame. MissingDependency: pandas is not installed."""
        return pandas_frame(self.removed)

    def to_polars(self) -> Any:
        """What was removed, and why, as a polars data frame. MissingDependency: polars is not installed."""
        return polars_frame(self.removed)

    def show(self, n: int = 10, *, at: int | Sequence[int] | None = None, characters: int = CHARACTERS) -> Beside:
        """Removed documents beside those that stayed for them, with the passages marked that both share.

        Args:
            n: so many, the least similar first: those to look at before the others are thrown away.
            at: a row of ``removed``, or several, instead.
            characters: of each text, at most; of a longer one the parts around its passages.

        Raises:
            InputError: there is no such row, or the texts cannot be read again; the message says why.

        >>> import neardup
        >>> cleaned = neardup.dedup(["a rose is a rose", "a rose is a rose!", "tulips"], shingle="char:4")
        >>> cleaned.show(1)
        0.9091  removed 0 and kept 1
          A  a rose is a rose
          B  a rose is a rose!
        """
        from neardup.pages.rows import beside, brought, places

        rows = places(self.removed, n, at, rising=True)
        texts = brought(self.removed, ("text", "keeper_text"), self.again, rows)
        names = ("id", "keeper"), ("removed ", "kept ")
        return beside(self.removed, rows, texts, *names, self.spec, characters, all_rows=at is None)

    def __repr__(self) -> str:
        s = self.summary
        rule = s.spec.get("overlap", s.threshold)
        if s.annotated:
            return f"<neardup.Cleaned: {s.documents} documents at {rule}, {s.removed} marked, none removed>"
        return f"<neardup.Cleaned: {s.kept} of {s.documents} documents kept at {rule}, {s.removed} removed>"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, opening, view
        from neardup.pages.rows import places, tried

        rows = places(self.removed, LISTED, None, rising=True)
        texts, why = tried(self.removed, ("text", "keeper_text"), self.again, rows)
        found = self.removed.select(["id", "keeper", "similarity", "rule"]).take(rows).to_pylist()
        lines: list[list[object]] = []
        for each, (text, keeper_text) in zip(found, texts, strict=True):
            lines.append([each["similarity"], "removed", str(each["id"]), opening(text), each["rule"]])
            lines.append([None, "kept", str(each["keeper"]), opening(keeper_text), None])
        left_out, columns = self.removed.num_rows - len(found), ["similarity", "", "document", "text", "rule"]
        removed = Table(columns, lines, "The least similar of the removed documents", left_out, together=2)
        summary = self.summary
        losses = [[each.source, each.documents, each.removed, each.share] for each in summary.sources[:20]]
        sources = Table(
            ["source", "documents", "removed", "share"], losses, "Sources", len(summary.sources) - len(losses)
        )
        notes = [*why, *_alarms(summary), *summary.remarks(), *(line for line, _ in by_cause(self.faults)[:3])]
        tables = [removed, *([sources] if len(summary.sources) > 1 else [])]
        return view(repr(self).strip("<>"), facts=summary.figures(), tables=tables, notes=notes)


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Pairs and clusters of a collection. Itself an Arrow stream of its pairs (PyCapsule interface).

    It holds on to inputs that are in memory, so that ``show`` can bring their texts.
    """

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
    again: PairTexts | None = None
    """Brings the texts of the pairs from the inputs, for ``show``."""
    clusters_again: PairTexts | None = None
    """The same for the documents of ``clusters`` and their keepers."""
    candidates: pa.Table | None = None
    """id_a, id_b, bands, estimate, similarity, verdict of each candidate pair of distinct texts, or None."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The pairs, for any library that takes Arrow streams."""
        return self.pairs.__arrow_c_stream__(requested_schema)

    def to_pandas(self, table: str = "pairs") -> Any:
        """The pairs, or another ``table`` (``clusters``, ``crowds``), as a pandas data frame.

        Raises:
            MissingDependency: pandas is not installed.
        """
        return pandas_frame(self._table(table))

    def to_polars(self, table: str = "pairs") -> Any:
        """The pairs, or another ``table`` (``clusters``, ``crowds``), as a polars data frame.

        Raises:
            MissingDependency: polars is not installed.
        """
        return polars_frame(self._table(table))

    def _table(self, name: str) -> pa.Table:
        tables = {"pairs": self.pairs, "clusters": self.clusters, "crowds": self.crowds}
        return tables[check_choice(name, tuple(tables), "table")]

    def with_text(self, characters: int | None = None) -> Result:
        """The same result with texts beside the ids: what ``find`` gives with ``with_text``.

        The texts of all pairs and clusters are read again from the inputs and held in memory. ``characters``: so many
        of each, at most.

        Raises:
            InputError: the texts cannot be read again; the message says why.
            InputChanged: an input is not what was searched.

        >>> import neardup
        >>> found = neardup.find(["a rose is a rose", "a rose is a rose!", "tulips"], shingle="char:4")
        >>> found.with_text(6).pairs.column("text_b").to_pylist()
        ['a rose…']
        """
        from neardup.pages.rows import brought

        check_text_length(True if characters is None else characters)
        added = []
        for table, names, again in (
            (self.pairs, ("text_a", "text_b"), self.again),
            (self.clusters, ("text", "keeper_text"), self.clusters_again),
        ):
            known = [name for name in table.column_names if name not in names]
            texts = brought(table, names, again, np.arange(table.num_rows))
            more = table.select(known)
            for side, name in enumerate(names):
                cut = (pair[side] if characters is None else cut_text(pair[side], characters) for pair in texts)
                more = more.append_column(name, strings(cut))
            added.append(more)
        return replace(self, pairs=added[0], clusters=added[1])

    def show(self, n: int = 10, *, at: int | Sequence[int] | None = None, characters: int = CHARACTERS) -> Beside:
        """Pairs side by side, with the passages marked that both texts share: in a notebook, or as text.

        The texts are read again from the inputs, of which only the parts are parsed that hold these documents.

        Args:
            n: so many pairs, the most similar first.
            at: a row of ``pairs``, or several, instead.
            characters: of each text, at most; of a longer one the parts around its passages.

        Raises:
            InputError: there is no such row; or the texts cannot be read again, since the inputs were an iterator.
            InputChanged: an input is not what was searched.

        >>> import neardup
        >>> found = neardup.find(["a rose is a rose", "a rose is a rose!", "tulips"], shingle="char:4")
        >>> found.show(at=0)
        0.9091  0 and 1
          A  a rose is a rose
          B  a rose is a rose!
        """
        from neardup.pages.rows import beside, brought, places

        rows = places(self.pairs, n, at)
        texts = brought(self.pairs, ("text_a", "text_b"), self.again, rows)
        names = ("id_a", "id_b"), ("", "")
        return beside(self.pairs, rows, texts, *names, self.spec, characters, all_rows=at is None)

    def plot(self, figure: str = "found") -> Figure:
        """A figure of matplotlib: ``found`` (pairs by similarity above clusters by size), ``similarities``,
        ``clusters``, or ``s-curve``, the probability that the bands find a pair.

        A notebook shows it where it is the last value of a cell; ``.savefig(…)`` writes it.

        Raises:
            InputError: there is no such figure, or no S-curve, since the pairs were found without bands.
            MissingDependency: matplotlib is not installed.
        """
        from neardup.drawing.result import draw_result

        tables = self.pairs, self.clusters, self.crowds
        return draw_result(figure, *tables, spec=self.spec, documents=self.summary.documents)

    def __repr__(self) -> str:
        s = self.summary
        words = column_words(s.columns)
        read = f", {words}" if words else ""  # where a column was guessed that has another name
        found = f"{s.pairs} pairs, {s.clusters} clusters of {s.documents} documents at {s.threshold}"
        return f"<neardup.Result: {found}{read}>"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, opening, view
        from neardup.pages.rows import largest, places, tried

        rows, heads = places(self.pairs, LISTED, None), largest(self.clusters, LISTED)
        texts, why = tried(self.pairs, ("text_a", "text_b"), self.again, rows)
        openings, _ = tried(self.clusters, ("text", "keeper_text"), self.clusters_again, heads[:, 0])
        lines: list[list[object]] = []
        for each, pair in zip(self.pairs.take(rows).to_pylist(), texts, strict=True):
            lines.append([each["similarity"], str(each["id_a"]), opening(pair[0])])
            lines.append([None, str(each["id_b"]), opening(pair[1])])
        left_out, columns = self.pairs.num_rows - len(rows), ["similarity", "document", "text"]
        pairs = Table(columns, lines, "The most similar pairs", left_out, together=2)
        keepers = self.clusters.column("keeper").take(heads[:, 0]).to_pylist()
        groups = [
            [int(head[1]), str(keeper), opening(pair[1])]
            for head, keeper, pair in zip(heads, keepers, openings, strict=True)
        ]
        columns = ["documents", "one of them", "text"]
        clusters = Table(columns, groups, "The largest clusters", self.summary.clusters - len(groups))
        notes = [*why, *self.summary.remarks(), *(line for line, _ in by_cause(self.faults)[:3])]
        return view(repr(self).strip("<>"), facts=self.summary.figures(), tables=[pairs, clusters], notes=notes)


def _alarms(summary: CleanSummary) -> list[str]:
    return [f"{source} lost more than {summary.alarm:.0%} of its documents" for source in summary.alarms[:5]]
