"""Units that are near-duplicates of earlier ones, as segments: one each, with its similarity to its source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from neardup.engine.repeats.find import BLOCK, Repeats
from neardup.stages.repeats.segments import FIRST, OTHER, OWN, Segments
from neardup.types import F64, I64


@dataclass(slots=True)
class NearRepeats(Repeats):
    """What near-duplicate units are, in place of runs that are equal."""

    units: I64
    """int64[n]: units of the collection that have a near-duplicate, rising."""
    sources: I64
    """int64[n]: the first unit of each one's group, which it is a near-duplicate of; its own where it is that."""
    similarities: F64
    """float64[n]: to the source."""

    def choose(self, min_count: int, min_documents: int) -> NearRepeats:
        """The units of groups with so many units or more, in so many documents."""
        _, counts, documents = self._places()
        wanted = (counts >= min_count) & (documents >= min_documents)
        some = self.units[wanted], self.sources[wanted], self.similarities[wanted]
        return replace(self, units=some[0], sources=some[1], similarities=some[2])

    def _places(self) -> tuple[I64, I64, I64]:
        """Of each unit its document, the units of its group, and the documents in which these stand."""
        documents_of = np.searchsorted(self.text.offsets, self.units, side="right") - 1
        order = np.lexsort((self.units, self.sources))
        is_head = np.append(True, np.diff(self.sources[order]) > 0)[: order.size]
        heads = np.flatnonzero(is_head)
        is_new = is_head | np.append(True, np.diff(documents_of[order]) > 0)[: order.size]
        sizes = np.diff(np.append(heads, order.size))
        counts, documents = np.empty_like(self.units), np.empty_like(self.units)
        counts[order] = np.repeat(sizes, sizes)
        documents[order] = np.repeat(np.add.reduceat(is_new, heads, dtype=np.int64), sizes) if heads.size else 0
        return documents_of, counts, documents

    def segments(self) -> Iterator[Segments]:
        """A segment for each unit, in the order of the text."""
        offsets = self.text.offsets
        documents_of, counts, documents = self._places()
        for begin in range(0, self.units.size, BLOCK):
            some = slice(begin, begin + BLOCK)
            unit, source, document = self.units[some], self.sources[some], documents_of[some]
            source_document = np.searchsorted(offsets, source, side="right") - 1
            start = unit - offsets[document]
            kind = np.where(unit == source, FIRST, np.where(document == source_document, OWN, OTHER))
            source_start = source - offsets[source_document]
            places = counts[some], counts[some], documents[some]
            yield Segments(document, start, start + 1, kind, source_document, source_start, *places)

    def similarity(self, found: Segments) -> F64:
        """float64[m]: of each segment to its source."""
        unit = self.text.offsets[found.document] + found.start
        similarity: F64 = self.similarities[np.searchsorted(self.units, unit)]
        return similarity
