"""Runs of whole lines, sentences or paragraphs in place of stretches of so many bytes: what a run of them is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from neardup.errors import InputError
from neardup.params import Shingle
from neardup.params.checks import DEFAULT_SHINGLE, check_choice, check_threshold, check_whole
from neardup.stages.repeats.splitting import UNITS, check_unit
from neardup.stages.repeats.surgery import SNAPS, UNIT
from neardup.tasks.repeats.settings import Cutting, Length, one_length

MOST_SPAN = 1000
MOST_LEAST = 1 << 16


@dataclass(frozen=True, slots=True)
class UnitRuns:
    """What repeats are runs of, in place of a ``Length``."""

    unit: str
    """One of UNITS."""
    units: int = 1
    """Of the shortest run."""
    kind: str = "byte"
    least: int | None = None
    """Bytes, characters (``char``) or words that a unit must have to count."""
    threshold: float | None = None
    """Similarity from which units are near-duplicates; None: they are compared for equality."""
    shingle: Shingle = field(default_factory=lambda: Shingle.parse(DEFAULT_SHINGLE))
    """What the similarity is taken of."""

    def __post_init__(self) -> None:
        check_choice(self.unit, UNITS, "unit")
        check_whole(self.units, "span", 1, MOST_SPAN)
        if self.least is not None:
            check_whole(self.least, f"min_{self.kind}s", 1, MOST_LEAST)
        if self.threshold is not None:
            check_threshold(self.threshold)
            if self.shingle.kind == "item":
                raise InputError(f"shingle is 'item', and a {self.unit} is a text. Give char:K, word:K or byte:K.")
            if self.units != 1:
                raise InputError(
                    f"span is {self.units} and a threshold is given: near-duplicate {self.unit}s are compared one by"
                    " one. Leave one of them out."
                )
        check_unit(self.unit)

    @property
    def options(self) -> dict[str, Any]:
        """It as options."""
        least = {} if self.least is None else {f"min_{self.kind}s": self.least}
        near = {} if self.threshold is None else {"threshold": self.threshold, "shingle": str(self.shingle)}
        return {"unit": self.unit, "span": self.units, **least, **near}

    @property
    def least_bytes(self) -> int:
        """Bytes of the shortest cut by default."""
        return 0


def length_of(
    *,
    unit: str | None,
    span: int | None,
    min_bytes: int | None,
    min_words: int | None,
    min_chars: int | None,
    threshold: float | None,
    shingle: str | Shingle | None,
) -> Length | UnitRuns:
    """What options ask for; InputError where they exclude each other, or one cannot be used."""
    if unit is None:
        for name, value in (("span", span), ("threshold", threshold), ("shingle", shingle)):
            if value is not None:
                raise InputError(f"{name} is for lines, sentences and paragraphs. Give unit too, or leave it out.")
        return Length.of(min_bytes, min_words, min_chars)
    given = one_length(min_bytes, min_words, min_chars)
    if shingle is not None and threshold is None:
        raise InputError("shingle is for near-duplicates. Give threshold too, or leave it out.")
    kind, least = given or ("byte", None)
    shingles = Shingle.parse(DEFAULT_SHINGLE if shingle is None else shingle)
    return UnitRuns(unit, 1 if span is None else span, kind, least, threshold, shingles)


def cutting_of(
    length: Length | UnitRuns, policy: str, *, snap: str | None, min_cut: int | None, min_left: int | None
) -> Cutting:
    """What is cut, with the defaults of what is compared; InputError where an option is of no use with it."""
    if isinstance(length, UnitRuns):
        if snap is not None:
            raise InputError(f"a {length.unit} is cut whole, and snap moves the ends of other cuts. Leave snap out.")
        snap = UNIT
    else:
        snap = check_choice("word" if snap is None else snap, SNAPS, "snap")
    return Cutting(policy, snap, length.least_bytes if min_cut is None else min_cut, min_left)
