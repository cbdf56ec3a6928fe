"""Runs of whole lines, sentences or paragraphs in place of stretches of so many bytes: what a run of them is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neardup.errors import InputError
from neardup.params.checks import check_choice
from neardup.stages.repeats.splitting import UNITS, check_unit
from neardup.stages.repeats.surgery import SNAPS, UNIT
from neardup.tasks.passages.settings import Cutting, Length, one_length

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

    def __post_init__(self) -> None:
        check_choice(self.unit, UNITS, "unit")
        _check_whole("span", self.units, MOST_SPAN)
        if self.least is not None:
            _check_whole(f"min_{self.kind}s", self.least, MOST_LEAST)
        check_unit(self.unit)

    @property
    def options(self) -> dict[str, Any]:
        """It as options."""
        least = {} if self.least is None else {f"min_{self.kind}s": self.least}
        return {"unit": self.unit, "span": self.units, **least}

    @property
    def least_bytes(self) -> int:
        """Bytes of the shortest cut by default."""
        return 0


def length_of(
    *, unit: str | None, span: int | None, min_bytes: int | None, min_words: int | None, min_chars: int | None
) -> Length | UnitRuns:
    """What options ask for; InputError where they exclude each other, or one cannot be used."""
    if unit is None:
        if span is not None:
            raise InputError("span is for lines, sentences and paragraphs. Give unit too, or leave it out.")
        return Length.of(min_bytes, min_words, min_chars)
    given = one_length(min_bytes, min_words, min_chars)
    return UnitRuns(unit, 1 if span is None else span, *(given or ()))


def cutting_of(
    length: Length | UnitRuns, policy: str, *, snap: str | None, min_cut: int | None, min_left: int
) -> Cutting:
    """What is cut, with the defaults of what is compared; InputError where an option is of no use with it."""
    if isinstance(length, UnitRuns):
        if snap is not None:
            raise InputError(f"a {length.unit} is cut whole, and snap moves the ends of other cuts. Leave snap out.")
        snap = UNIT
    else:
        snap = check_choice("word" if snap is None else snap, SNAPS, "snap")
    return Cutting(policy, snap, length.least_bytes if min_cut is None else min_cut, min_left)


def _check_whole(name: str, value: Any, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InputError(f"{name} is {value!r}. Give a whole number from 1 to {most:,}.")
