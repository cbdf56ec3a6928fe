"""Finds the repeats of a few byte strings, as the engine does it, and holds segments against every window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.oracles import repeats as plain

from neardup.engine.observe import Silent
from neardup.engine.repeats.choice import Choice
from neardup.engine.repeats.find import find_repeats
from neardup.engine.repeats.units import Key, Units, Window
from neardup.engine.space import Budget, Space
from neardup.inputs.names import Provenance
from neardup.params import Normalize
from neardup.stages.repeats.segments import Segments
from neardup.types import Batch, Documents

BAD_KEY: Key = (np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0))
"""With it every hash is zero: all anchors have one key, and every window is an anchor of its own."""


def segments_of(
    blobs: Sequence[bytes],
    span: int,
    *,
    unit: int = 1,
    key: Key | None = None,
    step: int = 3,
    threads: int = 1,
    folder: Any = None,
    choose: Callable[[int], Choice] = Choice.all_of,
) -> Segments:
    """All segments, those of templates too; with a ``folder``, found with next to no memory, in files there."""

    def task(first: int) -> Batch:
        some = blobs[first : first + step]
        return Batch(Documents.from_bytes(some), "texts", np.arange(first, first + len(some)))

    class Roomy(Space):
        def need_documents(self, count: int, expected: int) -> None:
            """A memory of a hundred bytes is for tests."""

        def need_memory(self, size: int, what: str) -> None:
            """The same."""

    budget = Budget(1 << 30, 1 << 29 if folder is None else 100)
    space = Roomy(budget, None if folder is None else Path(folder) / "work", {})
    repeats = find_repeats(
        iter([lambda first=first: task(first) for first in range(0, len(blobs), step)]),
        Window(span, unit, 8 if unit == 1 else 1),
        units=Units("byte", Normalize("none"), space),
        total_bytes=None,
        threads=threads,
        names=Provenance(),
        observer=Silent(),
        space=space,
        key=key,
        choose=choose,
    )
    found = Segments.together(list(repeats.segments()))
    assert folder is None or not any(blobs) or space.workdir is not None
    space.close(finished=True)
    return found


def rows_of(found: Segments) -> list[tuple[int, ...]]:
    """The segments as plain tuples."""
    columns = (getattr(found, name).tolist() for name in found.__slots__)
    return list(zip(*columns, strict=True))


def check(blobs: Sequence[Any], span: int, found: Segments) -> None:
    """Every repeated window is in exactly one segment, with what is true of it, and no other window is in any."""
    known, seen = plain.windows(blobs, span), set()
    for document, start, end, kind, source, at, least, most, documents in rows_of(found):
        assert 0 <= start <= end - span
        assert end <= len(blobs[document])
        assert blobs[document][start:end] == blobs[source][at : at + end - start]
        assert (source, at) == (document, start) if kind == plain.FIRST else (source, at) < (document, start)
        inside = [(document, i) for i in range(start, end - span + 1)]
        assert {known[each].kind for each in inside} == {kind}
        assert min(known[each].places for each in inside) == least
        assert max(known[each].places for each in inside) == most
        assert max(known[each].documents for each in inside) == documents
        assert not seen.intersection(inside)
        seen.update(inside)
    assert seen == set(known)
