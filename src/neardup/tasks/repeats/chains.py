"""Passages that stand again with changes: what may differ, and a run that finds them and gives their table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import flags, numbers
from neardup.engine.repeats.chains import ChainedRepeats, ChainedSegments, chain_repeats
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.find import BLOCK, Repeats
from neardup.engine.repeats.kept import SegmentsInOrder
from neardup.engine.repeats.units import Window
from neardup.engine.space import Space
from neardup.errors import InputError
from neardup.kernels.chains import Rules
from neardup.stages.repeats.segments import FIRST, OTHER, Segments
from neardup.tasks.grouping import Groups
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import Length
from neardup.tasks.repeats.spans import group_columns, group_fields, in_bytes, in_characters
from neardup.tasks.repeats.summary import PassageSummary
from neardup.tasks.repeats.unit_runs import UnitRuns
from neardup.types import Batch

MOST_GAPS = 1000
LEAST_MATCH = {"byte": 12, "char": 12, "word": 2}
"""Units of the shortest equal stretch that may be asked for."""
MATCH = {"byte": 12, "char": 12, "word": 3}
"""The same where it is not given."""
LEAST_SIMILARITY, SIMILARITY = 0.3, 0.5
"""Below the first, unrelated texts are alike."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What may differ between two places of a passage."""

    gaps: int
    """Units between two equal stretches, at most, on either side."""
    min_match: int
    """Units of an equal stretch, at least."""
    min_similarity: float
    """One less the differences as a share of the longer of the two, at least."""

    @classmethod
    def of(
        cls, length: Length | UnitRuns, gaps: Any, min_match: Any = None, min_similarity: Any = None
    ) -> Changes | None:
        """What was given, with defaults; None where ``gaps`` is. InputError where something cannot be used."""
        for name, given in (("min_match", min_match), ("min_similarity", min_similarity)):
            if gaps is None and given is not None:
                raise InputError(f"{name} is for passages with changes. Give gaps too, or leave it out.")
        if gaps is None:
            return None
        if isinstance(length, UnitRuns):
            raise InputError(
                "gaps is for passages that begin and end anywhere. Leave it out, or unit: near-duplicate"
                f" {length.unit}s are found with threshold."
            )
        match = min(MATCH[length.kind], length.units) if min_match is None else min_match
        similarity = SIMILARITY if min_similarity is None else min_similarity
        for name, value, low, high in (
            ("gaps", gaps, 1, MOST_GAPS),
            ("min_match", match, LEAST_MATCH[length.kind], length.units),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InputError(
                    f"{name} is {value!r}. Give a whole number of {length.kind}s from {low} to {high:,}"
                    + (", the length of the shortest passage." if name == "min_match" else ".")
                )
        is_number = isinstance(similarity, (int, float)) and not isinstance(similarity, bool)
        if not is_number or not LEAST_SIMILARITY <= similarity <= 1:
            raise InputError(f"min_similarity is {similarity!r}. Give a number from {LEAST_SIMILARITY} to 1.")
        return cls(gaps, match, float(similarity))


@dataclass(slots=True, kw_only=True)
class ChainRun(PassageRun):
    """A run that finds passages with changes; all else is as for PassageRun."""

    changes: Changes

    @property
    def window(self) -> Window:
        """What is compared unit for unit."""
        return Window.of(self.length.kind, self.changes.min_match)

    @property
    def may_differ(self) -> dict[str, Any]:
        """What may differ between two places of a passage, as options."""
        return asdict(self.changes)

    def search(
        self,
        tasks: Iterator[Callable[[], Batch]],
        *,
        space: Space,
        choose: Callable[[int], Choice] = Choice.all_of,
        **how: Any,
    ) -> Repeats:
        """What repeats in some texts: equal stretches of the documents that ``choose`` says, chained."""
        wanted: list[Choice] = []

        def without_numbers(documents: int) -> Choice:
            wanted.append(choose(documents))
            return wanted[-1].without_numbers()

        repeats = PassageRun.search(self, tasks, space=space, choose=without_numbers, **how)
        self.observer.stage("chain", None, "passages")
        changes = self.changes
        rules = Rules(changes.min_match, changes.gaps, self.length.units, round(1000 * changes.min_similarity))
        return chain_repeats(repeats, rules, wanted[-1], space)

    def segments(self) -> SegmentsInOrder:
        """All places of passages, and what stands in templates."""
        repeats = self.find()
        assert isinstance(repeats, ChainedRepeats)
        return ChainedSegments(repeats)

    def spans(self) -> pa.RecordBatchReader:
        """A stream of all places in the order of the input; columns as ``RepeatedPassages.spans`` says."""
        repeats, ids = self.find(), self.provenance.ids
        assert isinstance(repeats, ChainedRepeats)
        found = repeats.found
        schema = pa.schema(
            [
                ("id", ids.type),
                *((name, pa.int64()) for name in ("start", "end", "start_byte", "end_byte")),
                ("source_id", ids.type),
                *((name, pa.int64()) for name in ("source_start", "source_end")),
                ("similarity", pa.float64()),
                *((name, pa.int64()) for name in ("passage", "count", "documents")),
                ("first", pa.bool_()),
                ("elsewhere", pa.bool_()),
                *group_fields(self.groups),
            ]
        )

        def batches() -> Iterator[pa.RecordBatch]:
            for at in range(0, len(found), BLOCK):
                rows = slice(at, at + BLOCK)
                units, source_end = found.segments.take(rows), found.source_end[rows]
                longer = np.maximum(units.end - units.start, source_end - units.source_start)
                there = replace(units, document=units.source, start=units.source_start, end=source_end)
                here, there = in_bytes(repeats, units), in_bytes(repeats, there)
                start, end, _ = in_characters(repeats, here)
                source_start, source_end, _ = in_characters(repeats, there)
                columns = [
                    ids.take(here.document),
                    *map(numbers, (start, end, here.start, here.end)),
                    ids.take(here.source),
                    *map(numbers, (source_start, source_end, 1 - found.differences[rows] / longer)),
                    *map(numbers, (found.passage[rows], here.most, here.documents)),
                    flags(here.kind == FIRST),
                    flags(here.kind == OTHER),
                    *group_columns(self.groups, here.document),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def summary_of(
        self, repeats: Repeats, segments: Iterable[Segments], groups: Groups | None, *, bad: int = 0
    ) -> PassageSummary:
        """What was read and found."""
        found = PassageRun.summary_of(self, repeats, segments, groups, bad=bad)
        return replace(found, **self.may_differ)


def passage_run(changes: Changes | None, *parts: Any, **more: Any) -> PassageRun:
    """A run with these parts, exact without ``changes``."""
    return PassageRun(*parts, **more) if changes is None else ChainRun(*parts, **more, changes=changes)
