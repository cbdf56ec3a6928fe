"""What a run of passages read and found."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup._version import __version__
from neardup.engine.repeats.find import Repeats
from neardup.params import Normalize
from neardup.stages.repeats.policies import find_cuts
from neardup.stages.repeats.segments import FIRST, Segments
from neardup.tasks.passages.cutting import whole_documents
from neardup.tasks.passages.settings import Length
from neardup.tasks.passages.spans import in_bytes
from neardup.tasks.passages.unit_runs import UnitRuns


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
    threshold: float | None
    shingle: str | None
    """Where units are compared by similarity, from which on they are near-duplicates, and of what."""
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


def summarize(
    repeats: Repeats,
    segments: Iterable[Segments],
    length: Length | UnitRuns,
    normalize: Normalize,
    *,
    bad: int = 0,
    begin: float,
) -> PassageSummary:
    """One pass over all segments; ``begin`` is the time at which the run began, by ``time.perf_counter``."""
    spans = passages = 0
    size = dict.fromkeys(("none", "first-greedy"), 0)
    for part in whole_documents(segments):
        spans += len(part)
        passages += int(np.count_nonzero(part.kind == FIRST))
        found = in_bytes(repeats, part)
        for policy in size:
            cuts = find_cuts(found, policy)
            size[policy] += int((cuts.end - cuts.start).sum())
    sizes = np.diff(repeats.text.offsets)
    return PassageSummary(
        documents=sizes.size,
        too_short=int(np.count_nonzero(sizes < length.units)),
        bytes=repeats.originals.text.size,
        bad=bad,
        spans=spans,
        passages=passages,
        repeated_bytes=size["none"],
        later_bytes=size["first-greedy"],
        unit=length.options.get("unit"),
        span=length.options.get("span"),
        threshold=length.options.get("threshold"),
        shingle=length.options.get("shingle"),
        min_bytes=length.options.get("min_bytes"),
        min_words=length.options.get("min_words"),
        min_chars=length.options.get("min_chars"),
        normalize=str(normalize),
        seconds=round(time.perf_counter() - begin, 4),
    )
