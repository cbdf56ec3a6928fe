"""The repeated passages of a report: found in a run of their own, before the search, and kept as they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.inputs.reader import Reader
from neardup.pages.site.render import json_bytes
from neardup.params import RunOptions, Spec
from neardup.tasks.passages.page import view_of
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import Cutting, Length
from neardup.tasks.report.wanted import Wanted

SHARE, MOST_BYTES = 0.25, 20_000_000
"""Of the bytes of a report, and at most, since they are in memory until they are written."""


@dataclass(frozen=True, slots=True)
class ReportedPassages:
    """What a report shows of repeated passages."""

    meta: dict[str, Any]
    chunks: list[tuple[str, bytes]]

    @property
    def size(self) -> int:
        """Bytes of all chunks."""
        return sum(len(data) for _, data in self.chunks)


def report_passages(
    reader: Reader, spec: Spec, wanted: Wanted, options: RunOptions, observer: Observer
) -> ReportedPassages | None:
    """Find the repeated passages of all inputs, if they are wanted; what else is kept of the run goes with it.

    InputError where documents are sets, which have no passages.
    """
    if wanted.passages is None:
        return None
    if spec.shingle.kind == "item":
        raise InputError("passages are stretches of text, and documents are sets here. Leave --passages out.")
    length = Length("byte", wanted.passages)
    with PassageRun(reader, length, options, observer) as run:
        run.find()
        cutting = Cutting(min_cut=length.least_bytes)
        view = view_of(run, cutting, size=min(MOST_BYTES, int(SHARE * wanted.limit)))
        return ReportedPassages(view.meta, [(name, json_bytes(value)) for name, value in view.chunks()])
