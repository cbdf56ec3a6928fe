"""What a plan holds: the collection, the chosen setting, the others, and what they cost. Making one is in ``make``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from neardup.engine.fit import Hint
from neardup.inputs.columns import ReadColumns
from neardup.inputs.passed import PassedOver
from neardup.outputs.frames import pandas_frame, polars_frame, table_of
from neardup.params import Preset, Spec
from neardup.shown import duration, megabytes
from neardup.tasks.plan.costs import Estimate, Range, Setting
from neardup.tuning import areas, knee

AS_FAST = 1.05
"""How many times as long as with bands the exact join may take to count as equal; it misses nothing, after all."""

_OPTION_COLUMNS = {
    "slots": pa.int64(),
    "bands": pa.string(),
    "recall": pa.float64(),
    "knee": pa.float64(),
    "is_chosen": pa.bool_(),
    "candidates": pa.float64(),
    "checked": pa.float64(),
    "seconds": pa.float64(),
    "memory": pa.int64(),
    "disk": pa.int64(),
}


def is_as_fast(exact: Estimate, bands: Estimate) -> bool:
    """Whether the exact join is predicted to be as fast as a run with bands."""
    return exact.total_seconds <= AS_FAST * bands.total_seconds


@dataclass(frozen=True, slots=True)
class Option(Setting):
    """One way to run, and what it costs."""

    estimate: Estimate | None = None
    """None where there are no data."""

    @classmethod
    def of(cls, setting: Setting, estimate: Estimate | None = None) -> Option:
        """A setting with its costs."""
        return cls(setting.slots, setting.bands, setting.min_matches, setting.screen, setting.recall, estimate)

    @property
    def total_seconds(self) -> float:
        """0 where there are no data."""
        return 0.0 if self.estimate is None else self.estimate.total_seconds

    @property
    def knee(self) -> float:
        """(1/b)**(1/r): the similarity near which the S-curve is steepest."""
        return knee(self.bands)

    def as_dict(self) -> dict[str, Any]:
        """The option as plain JSON values."""
        plain = {"slots": self.slots, "bands": str(self.bands), "min_matches": self.min_matches, "recall": self.recall}
        costs = {"estimate": None if self.estimate is None else _plain(self.estimate)}
        return {**plain, "knee": self.knee, **costs}


@dataclass(frozen=True, slots=True)
class RuleOption:
    """What a rule chooses for the slots of the plan."""

    rule: str
    option: Option
    false_positive_area: float
    false_negative_area: float

    @classmethod
    def of(cls, rule: str, option: Option, threshold: float) -> RuleOption:
        """The same with what its S-curve gets wrong on either side of the threshold."""
        beside = areas(threshold, option.bands)
        return cls(rule, option, beside.false_positive, beside.false_negative)

    def as_dict(self) -> dict[str, Any]:
        """The rule as plain JSON values."""
        beside = {"false_positive_area": self.false_positive_area, "false_negative_area": self.false_negative_area}
        return {"rule": self.rule, **self.option.as_dict(), **beside}


@dataclass(frozen=True, slots=True)
class Collected:
    """What the collection is like. Pairs are pairs of distinct texts."""

    documents: int
    bytes: int
    """Of text, as read."""
    bad: int
    distinct: int
    """Distinct texts, empty ones left out."""
    exact_copies: int
    sizes: Mapping[str, int]
    """Quantiles of bytes of normalised text, from "0" to "1"."""
    sampled: int
    """Distinct texts that were compared with each other."""
    sampled_bytes: int
    similarity: tuple[Range, ...]
    """Pairs in 20 equal bins of similarity from 0 to 1, as estimated by signatures."""
    crowds: int
    crowd_documents: int
    blank: int = 0
    """Blank lines passed over."""
    passed_over: tuple[PassedOver, ...] = ()
    """Files and folders that the inputs hold and that were not read."""
    columns: tuple[ReadColumns, ...] = ()
    """Columns or fields that were read, of inputs that have any."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A chosen setting, the others, and what they cost."""

    threshold: float
    target: float
    """The recall that was asked for."""
    spec: Spec
    """Of the chosen run."""
    chosen: Option
    options: tuple[Option, ...]
    """The cheapest for each number of slots, and what ``find`` takes without being told; with data by rising time."""
    rules: tuple[RuleOption, ...]
    collection: Collected | None
    exact: Estimate | None
    """The exact join, which misses nothing."""
    threads: int
    memory_limit: int
    seconds: float
    """That the plan took."""
    hints: tuple[Hint, ...] = ()
    """What of the texts does not fit the setting, and what to try instead."""
    preset: Preset | None = None
    """The preset that was asked for, and what it stood for."""

    @property
    def recommended(self) -> str:
        """``exact`` where the exact join is predicted to be as fast as the chosen bands, else ``lsh``."""
        if self.exact is None or self.chosen.estimate is None:
            return "lsh"
        return "exact" if is_as_fast(self.exact, self.chosen.estimate) else "lsh"

    @property
    def arguments(self) -> dict[str, Any]:
        """Options of ``find`` and ``dedup`` that make the chosen run."""
        made = {"threshold": self.threshold, "recall": self.target, "slots": self.spec.slots, "bands": self.spec.bands}
        by = self.spec.candidates_by
        return made if by is None else {**made, "candidates_by": str(by)}

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain JSON values."""
        return {
            "threshold": self.threshold,
            "target": self.target,
            "collection": None if self.collection is None else asdict(self.collection),
            "chosen": self.chosen.as_dict(),
            "options": [option.as_dict() for option in self.options],
            "rules": [rule.as_dict() for rule in self.rules],
            "exact": None if self.exact is None else _plain(self.exact),
            "recommended": self.recommended,
            "arguments": {**self.arguments, "bands": str(self.spec.bands)},
            "threads": self.threads,
            "memory_limit": self.memory_limit,
            "seconds": self.seconds,
            "spec": self.spec.as_dict(),
            "preset": None if self.preset is None else self.preset.as_dict(),
            "hints": [each.as_dict() for each in self.hints],
        }

    def to_pandas(self) -> Any:
        """The options as a pandas data frame, a row each. MissingDependency: pandas is not installed."""
        return pandas_frame(self._option_table())

    def to_polars(self) -> Any:
        """The options as a polars data frame, a row each. MissingDependency: polars is not installed."""
        return polars_frame(self._option_table())

    def _option_table(self) -> pa.Table:
        """Return a row for each option; the costs are null if there are no data."""
        return table_of([self._option_row(each) for each in self._listed()], _OPTION_COLUMNS)

    def _listed(self) -> list[Option]:
        return [*self.options, *([] if self.chosen in self.options else [self.chosen])]

    def _option_row(self, option: Option) -> dict[str, Any]:
        plain = (option.slots, str(option.bands), option.recall, option.knee, option == self.chosen)
        costs: tuple[float | None, ...] = (None,) * 5
        if (cost := option.estimate) is not None:
            costs = (cost.candidates.expected, cost.checked.expected, option.total_seconds, cost.memory, cost.disk)
        return dict(zip(_OPTION_COLUMNS, plain + costs, strict=True))

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, view

        facts = [("threshold", f"{self.threshold:g}"), ("recall asked for", f"{self.target:g}")]
        if self.collection is not None:
            size = f"{self.collection.documents:,} ({megabytes(self.collection.bytes)})"
            facts += [("documents", size), ("exact copies", f"{self.collection.exact_copies:,}")]
        if self.chosen.estimate is not None:
            cost = self.chosen.estimate
            facts += [("time", f"about {duration(self.chosen.total_seconds)}"), ("memory", megabytes(cost.memory))]
            facts += [("pairs", f"about {cost.pairs.expected:,.0f}")]
        if self.exact is not None:
            better = ", as fast: recommended" if self.recommended == "exact" else ""
            facts += [("exact join", f"about {duration(self.exact.total_seconds)}{better}")]
        has_costs = self.chosen.estimate is not None
        rows: list[list[object]] = []
        for row in map(self._option_row, self._listed()):
            costs = (
                [f"{row['candidates']:,.0f}", duration(row["seconds"]), megabytes(row["memory"])] if has_costs else []
            )
            recall = int(row["recall"] * 10_000) / 10_000
            mark = "chosen" if row["is_chosen"] else ""
            rows.append([row["slots"], row["bands"], recall, f"{row['knee']:.2f}", *costs, mark])
        columns = ["slots", "bands", "recall", "knee", *(["candidates", "time", "memory"] if has_costs else []), ""]
        return view(repr(self).strip("<>"), facts=facts, tables=[Table(columns, rows)], notes=map(str, self.hints))

    def __repr__(self) -> str:
        estimate = self.chosen.estimate
        cost = "" if estimate is None else f", about {estimate.total_seconds:.1f} s and {estimate.memory / 1e6:.0f} MB"
        return f"<neardup.Plan: {self.spec.slots} slots, {self.spec.bands} bands{cost}>"


def _plain(estimate: Estimate) -> dict[str, Any]:
    return {**asdict(estimate), "total_seconds": estimate.total_seconds}
