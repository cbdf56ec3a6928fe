"""A report, in order: counts, clusters, the inputs read a second time, pages, and all of it written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from neardup.errors import InputError
from neardup.pages.site.write import write_site
from neardup.params import parse_memory
from neardup.result import Summary
from neardup.tasks.report.clusters import choose_clusters, find_mates, order_clusters
from neardup.tasks.report.curve import Count, Linked, count_pairs, link_at, steps
from neardup.tasks.report.facts import audit_of, curve_note, facts, limits
from neardup.tasks.report.originals import read_originals
from neardup.tasks.report.origins import Origins, check_pattern, find_origins
from neardup.tasks.report.pages import LISTED_CHUNK, Contents, Pages, list_clusters, make_pages
from neardup.tasks.report.report_input import ReportInput

__all__ = ["DEFAULT_SIZE", "SINGLE_SIZE", "Reported", "build", "check_size"]

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
    """The limit of a report's bytes.

    Raises:
        InputError: no size, or too small for a report.
    """
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
    title: str | None = None,
    single_file: bool = False,
    sources: str | None = None,
    size: int | str | None = None,
    audit: Mapping[str, Any] | None = None,
) -> Reported:
    """Write the report of a run.

    The same documents, pairs and options give the same bytes, whatever the threads and the memory.

    Args:
        basis: what was found; its run is still entered, and its inputs can be read again.
        output: the folder, or the file.
        title: of the report; made of the names of the inputs when None.
        single_file: one HTML file.
        sources: regular expression that finds the source in an id.
        size: about how many bytes the report may have.
        audit: ``Audit.as_dict()`` of the search.

    Raises:
        InputError: an option cannot be used, or the inputs are not what they were.
        OutputError: the report cannot be written.
    """
    limit = check_size(size, single_file=single_file)
    run, stages = basis.run, basis.search.stages
    with stages.stage("count", None, ""):
        origins = find_origins(run, check_pattern(sources))
        rows = sum(len(piece) for piece in basis.search.pairs.pieces())
        thresholds = steps(run.spec.threshold, rows)
        count = count_pairs(basis, origins, thresholds)
        linked = link_at(basis, thresholds)
    contents, listed, budget = _contents(basis, origins, limit)
    with stages.stage("pages"):
        pages = make_pages(contents, budget=budget)
    summary = basis.summary(count.total)
    meta: dict[str, Any] = {
        **_about(basis, summary, title),
        "facts": facts(basis, summary, linked, audit),
        "faults": [str(fault) for fault in run.provenance.faults[:FAULTS_SHOWN]],
        "faults_left_out": run.provenance.bad - len(run.provenance.faults[:FAULTS_SHOWN]),
        "audit": audit_of(audit),
        **_counts(summary, count, linked),
        "curve_note": curve_note(basis, count, steps(run.spec.threshold, 0).size),
        "sources": _sources(origins, count),
        "clusters": {
            "total": len(contents.groups),
            "listed": listed,
            "chunk": LISTED_CHUNK,
            "chunks": -(-listed // LISTED_CHUNK),
        },
        "limits": limits(contents, pages, apart=count.apart, listed=listed, size=limit),
    }

    def chunks() -> Iterator[tuple[str, Any]]:
        for chunk in chain(list_clusters(contents, pages.page, listed), _packed(pages)):
            yield chunk
            run.observer.advance(1)

    run.observer.stage("report", meta["clusters"]["chunks"] + len(pages.chunks), "files")
    with stages.stage("write"):
        written = write_site(Path(output), meta, chunks(), single_file=single_file)
    contents.originals.blobs.drop()
    pages.chunks.drop()
    return Reported(written.path, written.files, written.bytes, basis.summary(count.total))


def _contents(basis: ReportInput, origins: Origins | None, limit: int) -> tuple[Contents, int, int]:
    """What the pages are made of, the number of clusters listed, and the bytes that pages may have."""
    run, collection = basis.run, basis.search.collection
    groups = order_clusters(basis.found.members)
    listed = min(len(groups), MOST_LISTED, limit // (2 * LISTED_BYTES))
    budget = limit - FRAME_BYTES - LISTED_BYTES * listed
    with basis.search.stages.stage("again"):
        paged = choose_clusters(groups, listed, run.provenance.ids, collection, budget=budget)
        mates = find_mates(basis.found.pairs, paged.shown, len(collection))
        originals = read_originals(run, collection, paged.rows(), np.sort(groups.keeper[:listed]))
    return Contents(basis, groups, origins, paged, mates, originals), listed, budget


def _packed(pages: Pages) -> Iterator[tuple[str, bytes]]:
    for number in range(len(pages.chunks)):
        yield f"pages-{number:04d}", pages.chunks.get(np.array([number]))[0]


def _about(basis: ReportInput, summary: Summary, title: str | None) -> dict[str, Any]:
    names = ", ".join(os.path.basename(name.rstrip("/\\")) or name for name in basis.run.reader.sources)
    return {
        "title": title if title is not None else f"Near-duplicates in {names}",
        "version": f"neardup {summary.version}",
        "measure": basis.run.spec.measure,
        "threshold": summary.threshold,
        "recall": summary.recall,
        "spec_id": summary.spec_id,
        "spec": {name: value for name, value in summary.spec.items() if name not in ("version", "id")},
    }


def _counts(summary: Summary, count: Count, linked: Linked) -> dict[str, Any]:
    return {
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
    }


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
