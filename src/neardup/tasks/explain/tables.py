"""The tables of an explanation: plain values, frozen. ``∞`` and an empty slot are None."""

from __future__ import annotations

from dataclasses import dataclass

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
