"""What an audit says: figures, and the verdict in words. They are worked out in ``audit`` and ``statistics``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from neardup.inputs.columns import ReadColumns
from neardup.inputs.passed import PassedOver
from neardup.outputs.frames import pandas_frame, polars_frame, table_of

CHANCE = 0.001
"""Probability with which a search that keeps its promise is said to break it, at most."""
LEAST_SHOWN = 1e-6
"""Smallest share that is written out, and the smallest that may be missing from one."""


@dataclass(frozen=True, slots=True)
class AuditBin:
    """The true pairs of one range of similarity."""

    low: float
    high: float
    """Not in the range itself, unless it is ``low``: then the bin has the pairs at exactly this similarity."""
    pairs: int
    """True pairs."""
    found: int
    recall: float | None
    """Found of all; None where there is none."""
    recall_low: float
    recall_high: float
    """The interval of 95 % around it."""
    theory: float | None
    """Mean probability with which the promise says that these pairs are found; None where there is none of either."""


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """What a search found of the pairs that are there. Pairs are of distinct texts: exact copies count as one."""

    documents: int
    """Distinct texts with a shingle: what the sample is drawn from."""
    sampled: int
    """Documents in the sample."""
    sample_seed: int
    threshold: float
    promised: float | None
    """Promised probability that a pair at the threshold is found; None where nothing is promised."""
    pairs: int
    """True pairs with a document of the sample: those of two documents in crowds are left out."""
    found: int
    """Of them, those that the search found."""
    recall: float | None
    """Found of all; None where there is no true pair."""
    recall_low: float
    recall_high: float
    """The interval of 95 % in which the recall of this search over all its documents lies."""
    design_effect: float
    """How many times the variance of single pairs the true one is, since near copies are missed together."""
    theory: float | None
    """Mean probability with which the promise says that these pairs are found; None where there is none of either."""
    chance: float | None
    """Probability that a search which keeps the promise finds so few of them, or fewer; None without a promise."""
    listed: int
    """Pairs that the search found with a document of the sample."""
    false_pairs: int
    """Of them, those that are below the threshold or have another similarity: there must be none."""
    precision: float | None
    """Share of those that are true; None where there is none."""
    crowd_documents: int
    """Documents of the sample that stand in a crowd, whose pairs among themselves are listed as a star only."""
    overfull: int
    """Documents of the whole collection in groups too large to pair up. Their pairs count here, and have no promise."""
    bins: tuple[AuditBin, ...]
    """By similarity, rising."""
    is_broken: bool
    """Whether the promise is broken: fewer pairs found than chance allows, or a false one."""
    verdict: str
    """The same in words."""
    candidates: int
    """Pairs that the pass over the texts gave to be checked."""
    seconds: dict[str, float]
    """Wall time by stage of the search, and of the audit itself."""
    read_bytes: int
    """Bytes of text of the collection."""
    spec: dict[str, Any]
    """Of the search."""
    bad: int
    """Records that could not be used."""
    blank: int
    """Blank lines passed over."""
    passed_over: tuple[PassedOver, ...]
    """Files and folders that the inputs hold and that were not read."""
    columns: tuple[ReadColumns, ...]
    """Columns or fields that were read, of inputs that have any."""
    missed: pa.Table
    """id_a, id_b, similarity of the true pairs that were not found."""

    def as_dict(self) -> dict[str, Any]:
        """The audit as plain JSON values, without the table of missed pairs."""
        plain = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "missed"}
        nested = {name: [asdict(each) for each in plain[name]] for name in ("bins", "passed_over", "columns")}
        return {**plain, **nested}

    def to_pandas(self) -> Any:
        """The bins of similarity as a pandas data frame, a row each. MissingDependency: pandas is not installed."""
        return pandas_frame(self._bin_table())

    def to_polars(self) -> Any:
        """The bins of similarity as a polars data frame, a row each. MissingDependency: polars is not installed."""
        return polars_frame(self._bin_table())

    def _bin_table(self) -> pa.Table:
        whole = {"pairs", "found"}
        kinds = {each.name: pa.int64() if each.name in whole else pa.float64() for each in fields(AuditBin)}
        return table_of([asdict(each) for each in self.bins], kinds)

    def __repr__(self) -> str:
        return f"<neardup.Audit: {self.verdict}>"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, view

        facts = [
            ("documents", f"{self.documents:,}"),
            ("sampled", f"{self.sampled:,}"),
            ("true pairs", f"{self.pairs:,}"),
            ("found", f"{self.found:,}"),
            ("false pairs", f"{self.false_pairs:,}"),
            ("recall", f"{shown(self.recall_low)} to {shown(self.recall_high)}"),
            ("promised", "nothing" if self.promised is None else shown(self.promised)),
        ]
        bins = [
            [
                "exactly 1" if each.low == each.high else f"{each.low:.4g} to {each.high:.4g}",
                *(each.pairs, each.found),
                None if each.recall is None else shown(each.recall),
                f"{shown(each.recall_low)} to {shown(each.recall_high)}" if each.pairs else None,
                None if each.theory is None else shown(each.theory),
            ]
            for each in self.bins
        ]
        columns = ["similarity", "true pairs", "found", "recall", "between", "promised"]
        first = self.missed.slice(0, 5).to_pylist()
        missed = [[row["similarity"], str(row["id_a"]), str(row["id_b"])] for row in first]
        tables = [
            Table(columns, bins, "By similarity"),
            Table(["similarity", "document", "document"], missed, "Missed", self.missed.num_rows - len(missed)),
        ]
        return view(f"neardup.Audit: {self.verdict}", facts=facts, tables=tables)


def judge(
    found: int, pairs: int, interval: tuple[float, float], theory: float | None, chance: float | None, false_pairs: int
) -> tuple[str, bool]:
    """The outcome in words, and whether the promise is broken; a ``chance`` of None: of recall nothing is promised."""
    if false_pairs:
        return f"broken: {false_pairs} of the pairs found are below the threshold or have another similarity", True
    if not pairs:
        return "nothing to say: the sample has no true pair; sample more documents", False
    recall = " to ".join(dict.fromkeys(map(shown, interval)))
    if theory is None or chance is None:
        return f"measured, nothing promised: {found} of {pairs} true pairs found; recall is {recall}", False
    share = f"{found} of {pairs} true pairs found, {shown(theory)} of them or more promised"
    if chance < CHANCE:
        return f"broken: {share}, and chance alone would hardly ever lose so many (p = {chance:.2g})", True
    return f"kept: {share}; recall is {recall}", False


def shown(share: float) -> str:
    """A share in percent that does not say 100 % of less, nor 0 % of more.

    >>> shown(0.5), shown(0.99999), shown(1.0)
    ('50.0 %', '99.999 %', '100 %')
    """
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    if not LEAST_SHOWN <= share <= 1.0 - LEAST_SHOWN:
        return "< 0.0001 %" if share < LEAST_SHOWN else "> 99.9999 %"
    places = next(n for n in range(1, 6) if 0.0 < round(100 * share, n) < 100.0)
    return f"{100 * share:.{places}f} %"
