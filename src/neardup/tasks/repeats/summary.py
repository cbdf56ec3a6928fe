"""What a run of passages read and found."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup._version import __version__
from neardup.engine.repeats.chains import ChainedRepeats
from neardup.engine.repeats.find import Repeats
from neardup.params import Normalize
from neardup.stages.repeats.policies import IGNORABLE, LATER, REPEATED, stretches_of
from neardup.stages.repeats.segments import FIRST, IGNORED, Segments, whole_documents
from neardup.tasks.grouping import Groups
from neardup.tasks.repeats.selection import Selection
from neardup.tasks.repeats.settings import Length
from neardup.tasks.repeats.spans import in_bytes
from neardup.tasks.repeats.unit_runs import UnitRuns

EVERY = Selection()
"""All that repeat."""
_OF_LENGTH = ("unit", "span", "threshold", "shingle", "min_bytes", "min_words", "min_chars")
_OF_SELECTION = ("group_by", "min_count", "min_docs", "min_share")


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
    """Spans of which each window stands there for the first time; with ``gaps`` the numbers in the column ``passage``;
    with ``against`` all spans, which stood there."""
    documents_with_spans: int
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
    against: dict[str, int] | None = None
    """``documents`` and ``bytes`` of the collection that the inputs were held against."""
    ignored: dict[str, int] | None = None
    """``passages`` of templates, how many of them are ``too_short`` to be looked for, and the ``bytes`` of the inputs
    that stand in one of the others."""
    groups: dict[str, int] | None = None
    """``count`` of the groups, and ``untold``: documents that do not tell theirs, each a group by itself."""
    group_by: str | None = None
    min_count: int | None = None
    min_docs: int | None = None
    min_share: float | None = None
    """As they were given."""
    gaps: int | None = None
    """Units of the longest difference, of passages with changes; None: passages are equal."""
    min_match: int | None = None
    """Units of the shortest stretch of such a passage that is equal."""
    min_similarity: float | None = None
    """Of such a passage and the earlier one that it is compared with, at least."""
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
    selection: Selection = EVERY,
    templates: tuple[int, int] = (0, 0),
    groups: Groups | None = None,
) -> PassageSummary:
    """One pass over all segments; ``begin`` is the time at which the run began, by ``time.perf_counter``.

    ``templates``: passages of templates, and how many of them were too short.
    """
    spans = passages = holding = 0
    asked = (REPEATED, LATER, IGNORABLE) if templates[0] else (REPEATED, LATER)
    covered = np.zeros(len(asked), dtype=np.int64)
    for part in whole_documents(segments):
        is_span = part.kind != IGNORED
        spans += int(np.count_nonzero(is_span))
        passages += int(np.count_nonzero(is_span if selection.is_across else part.kind == FIRST))
        held = part.document[is_span]
        holding += int(np.count_nonzero(np.diff(held, prepend=-1)))
        found = in_bytes(repeats, part)
        covered += [stretches_of(found, kinds).size for kinds in asked]
    if isinstance(repeats, ChainedRepeats) and not selection.is_across:
        passages = np.unique(repeats.found.passage).size  # one may have several places that stand for the first time
    repeated, later, ignored = [*covered.tolist(), 0][:3]
    inputs, offsets = repeats.documents, repeats.originals.text.offsets
    behind = repeats.choice.templates
    against = {"documents": behind - inputs, "bytes": int(offsets[behind] - offsets[inputs])}
    given: dict[str, Any] = {name: length.options.get(name) for name in _OF_LENGTH}
    given |= {name: getattr(selection, name) for name in _OF_SELECTION}
    told = {"passages": templates[0], "too_short": templates[1], "bytes": ignored}
    return PassageSummary(
        documents=inputs,
        too_short=int(np.count_nonzero(np.diff(repeats.text.offsets[: inputs + 1]) < length.units)),
        bytes=int(offsets[inputs]),
        bad=bad,
        spans=spans,
        passages=passages,
        documents_with_spans=holding,
        repeated_bytes=repeated,
        later_bytes=later,
        normalize=str(normalize),
        seconds=round(time.perf_counter() - begin, 4),
        against=against if selection.is_across else None,
        ignored=told if templates[0] else None,
        groups=None if groups is None else {"count": len(groups.names), "untold": groups.untold},
        **given,
    )
