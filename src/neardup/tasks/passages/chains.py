"""Passages that stand again with changes: what may differ, and a run that finds them and gives their table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.arrays import flags, numbers
from neardup.engine.repeats.chains import ChainedRepeats, chain_repeats
from neardup.engine.repeats.find import BLOCK, Repeats
from neardup.engine.repeats.units import Window
from neardup.errors import InputError
from neardup.kernels.chains import Rules
from neardup.stages.repeats.segments import FIRST, OTHER
from neardup.tasks.passages.run import PassageRun
from neardup.tasks.passages.selection import Selection
from neardup.tasks.passages.settings import Length
from neardup.tasks.passages.spans import in_bytes, in_characters
from neardup.tasks.passages.summary import PassageSummary
from neardup.tasks.passages.unit_runs import UnitRuns

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
    def is_resumable(self) -> bool:
        """Whether the work lasts from stage to stage."""
        return False

    @property
    def has_second_pass(self) -> bool:
        """Whether the same search can be made of the texts that are left."""
        return False

    @property
    def window(self) -> Window:
        """What is compared unit for unit."""
        return Window.of(self.length.kind, self.changes.min_match)

    @property
    def shortest(self) -> dict[str, Any]:
        """The length of the shortest passage, what is compared, and what may differ, as options."""
        changes = {name: getattr(self.changes, name) for name in self.changes.__slots__}
        return {**self.length.options, "normalize": str(self.normalize), **changes}

    def find(self) -> Repeats:
        """Read the inputs, find what repeats, and chain it; done once."""
        if not isinstance(self._repeats, ChainedRepeats):
            repeats = PassageRun.find(self)
            self.observer.stage("chain", None, "passages")
            changes = self.changes
            rules = Rules(changes.min_match, changes.gaps, self.length.units, round(1000 * changes.min_similarity))
            self._repeats = chain_repeats(repeats, rules, self.space)
        return self._repeats

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
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    def summary(self) -> PassageSummary:
        """What was read and found."""
        changes = self.changes
        found = PassageRun.summary(self)
        return replace(found, gaps=changes.gaps, min_match=changes.min_match, min_similarity=changes.min_similarity)


def passage_run(changes: Changes | None, *parts: Any, **more: Any) -> PassageRun:
    """A run with these parts, exact without ``changes``.

    InputError where only some of the passages with changes are wanted.
    """
    if changes is None:
        return PassageRun(*parts, **more)
    if more.get("selection", Selection()) != Selection():
        raise InputError(
            "passages with changes are looked for in all documents. Leave --gaps (gaps=) out, or --against, --ignore, "
            "--group-by, --min-count, --min-docs and --min-share."
        )
    return ChainRun(*parts, **more, changes=changes)
