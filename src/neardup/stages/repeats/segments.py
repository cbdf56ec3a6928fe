"""Segments: stretches of documents of which every window stands at two or more places of the collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from neardup.types import I64, Mask

FIRST, OWN, OTHER, IGNORED = 1, 2, 3, 4
"""Kinds of segments. FIRST: each of its windows stands here for the first time in the collection. OWN and OTHER: each
stood before, for the first time in this document, or in an earlier one; what stands in a collection that the inputs are
held against is OTHER. IGNORED: each stands in a template; these are no repeats."""


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments in the order of the text; those of one document follow each other, by where they begin.

    A window is in exactly one segment, and two segments may overlap by less than a window.
    """

    document: I64
    """int64[n]: row of the document."""
    start: I64
    """int64[n]: first unit in the document. Units are bytes, or words."""
    end: I64
    """int64[n]: behind the last unit."""
    kind: I64
    """int64[n]: FIRST, OWN or OTHER."""
    source: I64
    """int64[n]: row of a document with the same units, the same or an earlier one; its own where it is FIRST, and one
    of the other collection where the inputs are held against one."""
    source_start: I64
    """int64[n]: where they begin there, always earlier in the collection unless it is FIRST."""
    least: I64
    """int64[n]: places of the inputs at which a window of it stands, at least."""
    most: I64
    """int64[n]: the same, at most."""
    documents: I64
    """int64[n]: documents in which a window of it stands, at most."""

    def __len__(self) -> int:
        return self.document.size

    @classmethod
    def of_places(cls, rows: I64, offsets: I64) -> Segments:
        """From the rows of ``kernels.segments.walk_pieces``, which have places in place of units of a document."""
        document, begin, end, kind, source, source_begin, least, most, documents = rows.T
        start = offsets[document]
        return cls(
            document,
            begin - start,
            end - start,
            kind,
            source,
            source_begin - offsets[source],
            least,
            most,
            documents,
        )

    @classmethod
    def together(cls, parts: list[Segments]) -> Segments:
        """Several behind each other."""
        names = [each.name for each in fields(cls)]
        none = np.empty(0, dtype=np.int64)
        return cls(*(np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in names))

    def take(self, rows: slice | I64 | Mask) -> Segments:
        """Some of them."""
        return Segments(*(getattr(self, each.name)[rows] for each in fields(self)))


def whole_documents(parts: Iterable[Segments]) -> Iterator[Segments]:
    """The same segments, all those of one document together."""
    held: list[Segments] = []
    for part in parts:
        last = int(np.searchsorted(part.document, part.document[-1]))
        if last > 0:
            yield Segments.together([*held, part.take(slice(0, last))])
            held = [part.take(slice(last, len(part)))]
        elif held and held[-1].document[-1] != part.document[0]:
            yield Segments.together(held)
            held = [part]
        else:
            held.append(part)
    if held:
        yield Segments.together(held)
