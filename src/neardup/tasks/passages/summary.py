"""What a run of passages read and found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup._version import __version__
from neardup.engine.repeats.find import Repeats
from neardup.stages.repeats.policies import find_cuts
from neardup.stages.repeats.segments import FIRST, Segments
from neardup.tasks.passages.cutting import whole_documents
from neardup.tasks.passages.spans import in_bytes


@dataclass(frozen=True, slots=True)
class PassageSummary:
    """What was read and found."""

    documents: int
    too_short: int
    """Documents that are shorter than the shortest stretch or run, and hold no passage."""
    bytes: int
    bad: int
    """Records left out because they could not be used."""
    spans: int
    passages: int
    """Spans of which each window stands there for the first time."""
    repeated_bytes: int
    """Bytes of text in spans, each counted once."""
    later_bytes: int
    """Bytes in spans that stood before, each counted once."""
    unit: str | None
    """``line``, ``sentence`` or ``paragraph`` where whole units are compared, else None."""
    span: int | None
    """Units of the shortest run."""
    min_bytes: int | None
    min_words: int | None
    min_chars: int | None
    """Length of the shortest stretch, or of the shortest unit that counts: one of the three, or none of them where
    whole units are compared; None of the others."""
    normalize: str
    seconds: float
    version: str = __version__

    def as_dict(self) -> dict[str, Any]:
        """The summary as plain JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Counts:
    """Spans of some segments, and bytes of text in them."""

    spans: int = 0
    passages: int = 0
    repeated_bytes: int = 0
    later_bytes: int = 0

    @classmethod
    def of(cls, repeats: Repeats, segments: Iterable[Segments]) -> Counts:
        """One pass over the segments; the fields are those of PassageSummary."""
        spans = passages = 0
        size = dict.fromkeys(("none", "first-greedy"), 0)
        for found in whole_documents(segments):
            spans += len(found)
            passages += int(np.count_nonzero(found.kind == FIRST))
            found = in_bytes(repeats, found)
            for policy in size:
                cuts = find_cuts(found, policy)
                size[policy] += int((cuts.end - cuts.start).sum())
        return cls(spans, passages, *size.values())
