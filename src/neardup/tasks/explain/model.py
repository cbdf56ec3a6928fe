"""The tables of an explanation: plain values, frozen. ``∞`` and an empty slot are None."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from neardup.params import Bands, Normalize, Shingle

__all__ = ["Bucket", "Document", "Explanation", "Function", "Pair", "Row", "Slot", "Step"]

Value = int | None


@dataclass(frozen=True, slots=True)
class Document:
    """A document and its set."""

    name: str
    text: str | None
    """As normalised; None for a set that was given as one."""
    shingles: tuple[str, ...]
    """Distinct: those of a text in order of first appearance, those of a set sorted."""


@dataclass(frozen=True, slots=True)
class Function:
    """An order of the rows: a permutation, an order of shingles, a hash function, or one of a sketch family."""

    name: str
    rule: str
    """As it was given, or what the family makes it of."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the characteristic matrix."""

    number: int
    shingle: str
    members: tuple[int, ...]
    """1 for each document that has the shingle, else 0."""
    values: tuple[Value, ...]
    """The row's place under each function; None where one-permutation hashing throws it into another slot."""


@dataclass(frozen=True, slots=True)
class Step:
    """The signatures after a row of the matrix has been looked at."""

    row: int
    signature: tuple[tuple[Value, ...], ...]
    """For each slot the value of each document."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One row of the signature matrix."""

    function: str
    values: tuple[Value, ...]
    """Of each document."""
    shingles: tuple[str | None, ...]
    """The shingle of each document that the value comes from; the first row that has it."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Documents that agree in all rows of a band. A document without a shingle is in none."""

    band: int
    """From 1."""
    key: tuple[Value, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two documents: what their signatures say beside what is true."""

    left: str
    right: str
    shared: int
    union: int
    similarity: float
    """Exact Jaccard similarity; 1 for two empty documents."""
    agreeing: int
    compared: int
    """Slots that are not empty in both."""
    estimate: float
    bands: tuple[int, ...]
    """Bands in which the two share a bucket, from 1: a candidate pair when there is one."""
    probability: float
    """Of becoming a candidate pair at this similarity: 1 - (1 - s**rows)**bands."""

    @property
    def is_candidate(self) -> bool:
        """Whether some band holds both."""
        return bool(self.bands)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Every step of the method on a few documents. ``str()`` lays it out for reading, ``as_dict()`` for programs."""

    shingle: Shingle
    normalize: Normalize
    sketch: str
    """The family of the functions, or ``given`` when they were."""
    seed: int | None
    """Of the family; None when the functions were given."""
    bands: Bands
    documents: tuple[Document, ...]
    functions: tuple[Function, ...]
    rows: tuple[Row, ...]
    steps: tuple[Step, ...]
    signature: tuple[Slot, ...]
    buckets: tuple[Bucket, ...]
    pairs: tuple[Pair, ...]
    curve: tuple[tuple[float, float], ...]
    """Similarities, and the probability of becoming a candidate pair at each."""
    values: tuple[tuple[Value, ...], ...] | None
    """What ``neardup.sketch`` gives for each document; the signature above has its ranks. None when given."""
    notes: tuple[str, ...]

    @property
    def candidates(self) -> tuple[Pair, ...]:
        """The pairs that some band holds."""
        return tuple(pair for pair in self.pairs if pair.is_candidate)

    def as_dict(self) -> dict[str, Any]:
        """All tables as plain JSON values."""
        plain = asdict(self)
        plain.update(shingle=str(self.shingle), normalize=str(self.normalize), bands=str(self.bands))
        for pair, table in zip(plain["pairs"], self.pairs, strict=True):
            pair["candidate"] = table.is_candidate
        plain["curve"] = [{"similarity": s, "probability": p} for s, p in self.curve]
        return plain

    def __str__(self) -> str:
        from neardup.tasks.explain.text import lay_out

        return lay_out(self)
