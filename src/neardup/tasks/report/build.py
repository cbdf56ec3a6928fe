"""A report, in order: counts, clusters, the inputs read a second time, pages, and all of it written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from neardup.inputs.folder import FilesSource
from neardup.pages.links import file_link
from neardup.pages.site.write import write_site
from neardup.params import CLEANING, COPYING
from neardup.result import Summary
from neardup.shown import by_cause, counted, megabytes, shown_path
from neardup.stages.similarities import similarity_edges
from neardup.tasks.audit.outcome import Audit
from neardup.tasks.report.clusters import DEPTHS, Groups, best_of, choose_clusters, find_mates, order_clusters
from neardup.tasks.report.curve import Count, count_pairs, link_at, steps
from neardup.tasks.report.facts import audit_of, curve_note, facts, limits, words
from neardup.tasks.report.originals import read_originals
from neardup.tasks.report.origins import Origins, check_pattern, find_origins
from neardup.tasks.report.pages import LISTED_CHUNK, Contents, best_clusters, list_clusters, make_pages
from neardup.tasks.report.ranking import PEOPLE, list_people
from neardup.tasks.report.repeats import ReportedPassages
from neardup.tasks.report.report_input import ReportInput
from neardup.tasks.report.verdicts import Verdict, verdict_data
from neardup.tasks.report.wanted import Wanted
from neardup.types import I64

MOST_LISTED = 100_000
"""Clusters that are listed."""
LISTED_BYTES = 280
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

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import page_view

        title = f"neardup.Reported: {counted(self.summary.pairs, 'pair')}, {counted(self.summary.clusters, 'cluster')}"
        facts = [*self.summary.figures(), ("files", f"{self.files:,}"), ("size", megabytes(self.bytes))]
        return page_view(title, self.path, facts=facts, is_whole=self.files == 1, size=self.bytes)


def build(
    basis: ReportInput,
    output: str | os.PathLike[str],
    wanted: Wanted,
    *,
    verdicts: Sequence[Verdict] = (),
    audit: Audit | None,
    passages: ReportedPassages | None = None,
) -> Reported:
    """Write the report of a run, what graders said of its pairs, and the repeated passages of the same inputs.

    The same documents, pairs and options give the same bytes, whatever the threads and the memory. The run is still
    entered, and its inputs can be read again.
    """
    run, stages = basis.run, basis.search.stages
    with stages.stage("count", None, ""):
        origins = None if basis.pseudonyms is not None else find_origins(run, check_pattern(wanted.sources))
        rows = sum(len(piece) for piece in basis.search.pairs.pieces())
        thresholds, edges = steps(run.spec.threshold, rows), similarity_edges(run.spec.threshold, pairs=rows)
        groups = order_clusters(basis.found.members)
        count = count_pairs(basis, groups, origins, thresholds, edges)
        linked = link_at(basis, thresholds)
    link = file_links(basis, output, single_file=wanted.single_file)
    limit = wanted.limit - (0 if passages is None else passages.size)
    contents, budget = _contents(basis, groups, origins, wanted, link, limit=limit)
    with stages.stage("pages"):
        pages = make_pages(contents, budget=budget)
        ranked = pages.listed.rank(by_share=wanted.purpose == COPYING)
    summary = basis.summary(count.total)
    faults = by_cause(run.provenance.faults)[:FAULTS_SHOWN] if basis.pseudonyms is None else []
    meta: dict[str, Any] = {
        "title": wanted.title if wanted.title is not None else _title(basis, wanted),
        "purpose": wanted.purpose,
        "version": f"neardup {summary.version}",
        "measure": run.spec.measure,
        "threshold": summary.threshold,
        "recall": summary.recall,
        "spec_id": summary.spec_id,
        "spec": {name: value for name, value in summary.spec.items() if name not in ("version", "id")},
        "words": words(summary, linked, wanted.purpose, ranked.most),
        "facts": facts(basis, summary, audit),
        "faults": [line for line, _ in faults],
        "faults_left_out": run.provenance.bad - sum(count for _, count in faults),
        "audit": audit_of(audit),
        "counts": {
            "documents": summary.documents,
            "pairs": count.total,
            "clusters": summary.clusters,
            "clustered": summary.clusters + int(linked.removed[0]),
            "removed": int(linked.removed[0]),
        },
        "highest": float(count.highest.max(initial=0.0)),
        "pairs": ranked.about(basis, origins, contents.originals, count.total),
        "people": {"count": basis.people.submitting(), "grouped": basis.people.is_grouped},
        "pseudonyms": basis.pseudonyms is not None,
        "shared": ranked.most,
        "verdicts": verdict_data(verdicts),
        "curve": {
            "t": count.thresholds.tolist(),
            "pairs": count.pairs.tolist(),
            "clusters": linked.clusters.tolist(),
            "removed": linked.removed.tolist(),
        },
        "bins": {"edges": count.edges.tolist(), "counts": count.bins.tolist(), "identical": count.identical},
        "curve_note": curve_note(basis, count, steps(run.spec.threshold, 0).size, wanted.purpose),
        "sources": _sources(origins, count),
        "clusters": {
            "total": len(contents.groups),
            "listed": contents.listed,
            "chunk": LISTED_CHUNK,
            "chunks": -(-contents.listed // LISTED_CHUNK),
            "best": best_clusters(contents, count.highest),
        },
        "limits": [
            *limits(contents, pages, found=count.total, apart=count.apart, size=wanted.limit),
            *([] if passages is None else passages.meta["limits"]),
        ],
        "passages": None if passages is None else passages.meta,
    }

    def chunks() -> Iterator[tuple[str, Any]]:
        people = [(PEOPLE, list_people(basis, ranked))] if wanted.purpose == COPYING else []
        listed = list_clusters(contents, pages.page, count.highest)
        repeats = [] if passages is None else passages.chunks
        found = ranked.chunks(basis, origins, contents.originals)
        for chunk in chain(found, people, listed, pages.packed(), repeats):
            yield chunk
            run.observer.advance(1)

    files = meta["pairs"]["chunks"] + int(wanted.purpose == COPYING) + meta["clusters"]["chunks"] + len(pages.chunks)
    files += 0 if passages is None else len(passages.chunks)
    run.observer.stage("report", files, "files")
    with stages.stage("write"):
        written = write_site(Path(output), meta, chunks(), single_file=wanted.single_file)
    for held in (contents.originals.blobs, pages.chunks, ranked.snippets):
        held.drop()
    return Reported(written.path, written.files, written.bytes, basis.summary(count.total))


def _title(basis: ReportInput, wanted: Wanted) -> str:
    what = "Near-duplicates" if wanted.purpose == CLEANING else "Shared passages"
    if basis.pseudonyms is not None:
        return what
    names = (os.path.basename(name.rstrip("/\\")) or name for name in basis.run.reader.sources)
    return f"{what} in {', '.join(names)}"


def _contents(
    basis: ReportInput,
    groups: Groups,
    origins: Origins | None,
    wanted: Wanted,
    link: Callable[[I64], dict[int, str]],
    *,
    limit: int,
) -> tuple[Contents, int]:
    """What the pages are made of, and the bytes that they may have of the ``limit``."""
    run, collection = basis.run, basis.search.collection
    depth = DEPTHS[wanted.purpose]
    listed = min(len(groups), MOST_LISTED, limit // (2 * LISTED_BYTES))
    budget = limit - FRAME_BYTES - LISTED_BYTES * listed
    with basis.search.stages.stage("again"):
        best = best_of(basis.found.pairs, len(collection)) if depth.by_pairs else None
        paged = choose_clusters(groups, listed, run.provenance.ids, collection, budget=budget, depth=depth, best=best)
        mates = find_mates(basis.found.pairs, paged.shown, len(collection))
        originals = read_originals(run, collection, paged.rows(), np.sort(groups.keeper[:listed]))
    return Contents(basis, groups, listed, origins, paged, mates, originals, link(originals.rows), depth), budget


def _sources(origins: Origins | None, count: Count) -> dict[str, Any] | None:
    if origins is None or count.between is None or count.sharing is None:
        return None
    return {
        "names": origins.names,
        "documents": origins.documents,
        "pairs": count.between.tolist(),
        "sharing": count.sharing.tolist(),
        "inside": "On the diagonal are the pairs of two documents of one source.",
        "left_out": origins.left_out,
    }


def file_links(
    basis: ReportInput, output: str | os.PathLike[str], *, single_file: bool
) -> Callable[[I64], dict[int, str]]:
    """A function that gives the addresses of the files of some rows, by row: of those beside the report or below.

    What else was read, such as the lines of one file, has no address, and nothing has one where names are hidden.
    """
    folder = os.path.dirname(os.path.abspath(output))

    def links(rows: I64) -> dict[int, str]:
        if basis.pseudonyms is not None:
            return {}
        names = basis.run.provenance.ids.take(rows).to_pylist()
        wanted = dict(zip(names, rows.tolist(), strict=True))
        found = {}
        for source in basis.run.reader.parts:
            for file in source.files if isinstance(source, FilesSource) else ():
                row = wanted.get(shown_path(file.path))
                if row is None or file.stream is not None:
                    continue
                link = file_link(file.path, folder, up="" if single_file else "../")
                if link is not None:
                    found[row] = link
        return found

    return links
