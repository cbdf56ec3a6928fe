"""A report, in order: counts, clusters, the inputs read a second time, pages, and all of it written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.pages.site.write import write_site
from neardup.params import parse_memory
from neardup.result import Summary
from neardup.tasks.audit.outcome import Audit
from neardup.tasks.report.clusters import choose_clusters, find_mates, order_clusters
from neardup.tasks.report.curve import Count, count_pairs, link_at, steps
from neardup.tasks.report.facts import audit_of, curve_note, facts, limits
from neardup.tasks.report.files import file_links
from neardup.tasks.report.originals import read_originals
from neardup.tasks.report.origins import Origins, check_pattern, find_origins
from neardup.tasks.report.pages import LISTED_CHUNK, Contents, list_clusters, make_pages
from neardup.tasks.report.report_input import ReportInput
from neardup.types import I64

DEFAULT_SIZE, SINGLE_SIZE = 200_000_000, 20_000_000
"""Limit of the bytes of a report, as a folder and as one file, which a browser reads as a whole."""
LEAST_SIZE = 2_000_000
MOST_LISTED = 100_000
"""Clusters that are listed."""
LISTED_BYTES = 260
"""What a cluster takes in the list, about."""
FRAME_BYTES = 500_000
"""What the pages take without data, about."""
FAULTS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Reported:
    """A report that was written."""

    path: Path
    """The page to open."""
    files: int
    bytes: int
    summary: Summary
    """Of the search, as ``find`` gives it."""

    def __repr__(self) -> str:
        return f"<neardup.Reported: {self.path}, {self.files} files, {self.bytes} bytes>"


def check_size(size: int | str | None, *, single_file: bool) -> int:
    """The limit of a report's bytes; InputError where it is no size, or too small for a report."""
    if size is None:
        return SINGLE_SIZE if single_file else DEFAULT_SIZE
    number = parse_memory(size, "size")
    assert number is not None
    if number < LEAST_SIZE:
        raise InputError(
            f"size is {size}. Give {LEAST_SIZE // 1_000_000}MB or more, which an empty report almost takes."
        )
    return number


def build(
    basis: ReportInput,
    output: str | os.PathLike[str],
    *,
    title: str | None,
    single_file: bool,
    sources: str | None,
    size: int | str | None,
    audit: Audit | None,
) -> Reported:
    """Write the report of a run; the options are those of ``report``.

    The same documents, pairs and options give the same bytes, whatever the threads and the memory. The run is still
    entered, and its inputs can be read again.
    """
    limit = check_size(size, single_file=single_file)
    run, stages = basis.run, basis.search.stages
    with stages.stage("count", None, ""):
        origins = find_origins(run, check_pattern(sources))
        rows = sum(len(piece) for piece in basis.search.pairs.pieces())
        thresholds = steps(run.spec.threshold, rows)
        count = count_pairs(basis, origins, thresholds)
        linked = link_at(basis, thresholds)
    contents, budget = _contents(basis, origins, limit, file_links(basis, output, single_file=single_file))
    with stages.stage("pages"):
        pages = make_pages(contents, budget=budget)
    summary, faults = basis.summary(count.total), run.provenance.faults[:FAULTS_SHOWN]
    names = ", ".join(os.path.basename(name.rstrip("/\\")) or name for name in run.reader.sources)
    meta: dict[str, Any] = {
        "title": title if title is not None else f"Near-duplicates in {names}",
        "version": f"neardup {summary.version}",
        "measure": run.spec.measure,
        "threshold": summary.threshold,
        "recall": summary.recall,
        "spec_id": summary.spec_id,
        "spec": {name: value for name, value in summary.spec.items() if name not in ("version", "id")},
        "facts": facts(basis, summary, linked, audit),
        "faults": [str(fault) for fault in faults],
        "faults_left_out": run.provenance.bad - len(faults),
        "audit": audit_of(audit),
        "counts": {
            "documents": summary.documents,
            "pairs": count.total,
            "clusters": summary.clusters,
            "removed": int(linked.removed[0]),
        },
        "curve": {
            "t": count.thresholds.tolist(),
            "pairs": count.pairs.tolist(),
            "clusters": linked.clusters.tolist(),
            "removed": linked.removed.tolist(),
        },
        "bins": {"edges": count.edges.tolist(), "counts": count.bins.tolist(), "identical": count.identical},
        "curve_note": curve_note(basis, count, steps(run.spec.threshold, 0).size),
        "sources": _sources(origins, count),
        "clusters": {
            "total": len(contents.groups),
            "listed": contents.listed,
            "chunk": LISTED_CHUNK,
            "chunks": -(-contents.listed // LISTED_CHUNK),
        },
        "limits": limits(contents, pages, apart=count.apart, size=limit),
    }

    def chunks() -> Iterator[tuple[str, Any]]:
        for chunk in chain(list_clusters(contents, pages.page), pages.packed()):
            yield chunk
            run.observer.advance(1)

    run.observer.stage("report", meta["clusters"]["chunks"] + len(pages.chunks), "files")
    with stages.stage("write"):
        written = write_site(Path(output), meta, chunks(), single_file=single_file)
    contents.originals.blobs.drop()
    pages.chunks.drop()
    return Reported(written.path, written.files, written.bytes, basis.summary(count.total))


def _contents(
    basis: ReportInput, origins: Origins | None, limit: int, link: Callable[[I64], dict[int, str]]
) -> tuple[Contents, int]:
    """What the pages are made of, and the bytes that they may have."""
    run, collection = basis.run, basis.search.collection
    groups = order_clusters(basis.found.members)
    listed = min(len(groups), MOST_LISTED, limit // (2 * LISTED_BYTES))
    budget = limit - FRAME_BYTES - LISTED_BYTES * listed
    with basis.search.stages.stage("again"):
        paged = choose_clusters(groups, listed, run.provenance.ids, collection, budget=budget)
        mates = find_mates(basis.found.pairs, paged.shown, len(collection))
        originals = read_originals(run, collection, paged.rows(), np.sort(groups.keeper[:listed]))
    return Contents(basis, groups, listed, origins, paged, mates, originals, link(originals.rows)), budget


def _sources(origins: Origins | None, count: Count) -> dict[str, Any] | None:
    if origins is None or count.between is None:
        return None
    return {
        "names": origins.names,
        "documents": origins.documents,
        "pairs": count.between.tolist(),
        "inside": "On the diagonal are the pairs of two documents of one source.",
        "left_out": origins.left_out,
    }
