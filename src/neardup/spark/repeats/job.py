"""What all tasks of a run know that looks for repeated passages, and where what it has of the texts is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from neardup.engine.repeats.units import UNCHANGED, Key, Units, Window
from neardup.engine.space import Space
from neardup.params import Normalize
from neardup.spark.pieces import Inputs
from neardup.spark.texts import worker_budget
from neardup.types import I64

TEXT, UNITS, PLACES = "text", "units", "places"
"""Folders of the storage: the texts as they were read; the units that are compared, and where each stands in its text,
where these are not the bytes of the texts."""


def _nowhere() -> I64:
    return np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PassageJob(Inputs):
    """What every task of a run needs that looks for repeated passages."""

    kind: str = field(kw_only=True)
    """Of the units: ``byte`` or ``char``."""
    span: int = field(kw_only=True)
    """Units of a window."""
    normalize: Normalize = field(kw_only=True, default=UNCHANGED)
    key: Key = field(kw_only=True)
    """Of the hashes. The answer does not depend on it."""
    units: I64 = field(kw_only=True, default_factory=_nowhere)
    """int64[splits + 1]: the first unit of each split, when the splits were read."""
    texts: I64 = field(kw_only=True, default_factory=_nowhere)
    """int64[splits + 1]: the first byte of each, of the texts as they were read."""
    characters: I64 = field(kw_only=True, default_factory=_nowhere)
    """int64[splits + 1]: the first character of each."""
    chunks: I64 = field(kw_only=True, default_factory=_nowhere)
    """int64[chunks + 1]: the first unit of each chunk, some whole documents whose segments one task makes."""

    @property
    def window(self) -> Window:
        """What is compared."""
        return Window.of(self.kind, self.span)

    def reading_units(self) -> Units:
        """What makes units of texts."""
        return Units(self.kind, self.normalize, Space(worker_budget(self.memory), None, {}))

    @property
    def are_bytes(self) -> bool:
        """Whether the units are the bytes of the texts."""
        return self.kind == "byte" and self.normalize.is_form_only and self.normalize.form == "none"

    @property
    def compared(self) -> str:
        """The folder of the units."""
        return TEXT if self.are_bytes else UNITS
