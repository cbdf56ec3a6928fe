"""All figures of a run, one after the other, and the ones that other commands draw beside their work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neardup.drawing import curves, histograms
from neardup.drawing.curves import other_bands
from neardup.drawing.histograms import crowd_note
from neardup.drawing.style import About, save, save_numbers
from neardup.engine.state import SearchState
from neardup.errors import InputError, OutputError, did_you_mean
from neardup.outputs.atomic import AtomicFiles, check_target, output_error
from neardup.params import Spec
from neardup.session import Finding, Run
from neardup.shown import counted
from neardup.stages.similarities import fold, similarity_edges
from neardup.tasks.audit.outcome import Audit
from neardup.tasks.audit.public import audit_search
from neardup.tasks.figures import trials
from neardup.tasks.figures.bands import Banding, count_bands, draw_bands
from neardup.tasks.figures.recall import draw_recall
from neardup.types import F64

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BELOW = 0.3
"""How far below the threshold the histogram of similarities begins, where candidates are there to be seen."""


@dataclass
class _Work:
    """What the figures of a run are made from; what several need is made once."""

    run: Run
    search: SearchState
    about: About

    @cached_property
    def sample(self) -> trials.Sample:
        """Some of the documents, for figures that search several times."""
        return trials.Sample(self.run, self.search)

    @cached_property
    def banding(self) -> Banding:
        """The bands once more."""
        return count_bands(self.search, self.run.observer)

    @cached_property
    def finding(self) -> Finding:
        """Pairs and clusters of all rows."""
        return self.run.finding(self.search, "star")


def write(run: Run, folder: Path, *, names: Sequence[str], formats: Sequence[str]) -> Iterator[str]:
    """Search a collection and draw its figures into a folder, each with its numbers as CSV; yield the complete files.

    ``names`` are of FIGURES; all if there are none.
    """
    search = run.search(keep_keys=True)
    work = _Work(run, search, About(run.spec, len(search.collection), ", ".join(run.reader.sources)))
    for name in (name for name in FIGURES if not names or name in names):
        figure = FIGURES[name](work)
        for suffix in formats:
            path = folder / f"{name}.{suffix}"
            save(figure, path)
            yield os.fspath(path)
        yield os.fspath(save_numbers(figure, folder / f"{name}.csv"))


def check_known(values: str | Sequence[str], known: Sequence[str], field: str) -> tuple[str, ...]:
    """Names of figures or formats, one or several, each once; InputError where there is no such thing."""
    names = (values,) if isinstance(values, str) else values
    for value in names:
        if value not in known:
            raise InputError(f"{field} has {value!r}; known are {', '.join(known)}.{did_you_mean(str(value), known)}")
    return tuple(dict.fromkeys(names))


def make_folder(path: str | os.PathLike[str]) -> Path:
    """The folder for figures, made when it is not there: before the work, so that a bad place is told at once."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as exc:
        raise OutputError(f"cannot write figures to {folder}: it is a file. Give the name of a folder.") from exc
    except OSError as exc:
        raise output_error(folder, exc) from exc
    check_target(folder / "figure")
    return folder


def plot_spec(spec: Spec, target: str | os.PathLike[str]) -> None:
    """The S-curves of a spec, beside those of other bands, to a file: ``neardup plan --plot``."""
    save(curves.draw_s_curves(About(spec), other_bands(spec)), target)


def plot_finding(finding: Finding, run: Run, target: str | os.PathLike[str], files: AtomicFiles | None = None) -> None:
    """What was found on one sheet, to a file: ``neardup find --plot``. Reads the pairs and the clusters once more.

    The file gets its name at once, or with the other outputs in ``files``.
    """
    about = About(run.spec, len(run.provenance.places), ", ".join(run.reader.sources), crowd_note(finding.crowds()))
    bins = histograms.similarity_bins(finding.pairs(), similarity_edges(run.spec.threshold))
    save(histograms.draw_found(bins, histograms.cluster_sizes(finding.clusters()), about), target, files)


def plot_audit(audit: Audit, run: Run, target: str | os.PathLike[str], files: AtomicFiles | None = None) -> None:
    """Recall by similarity, to a file: ``neardup audit --plot``; its name as for ``plot_finding``."""
    save(_recall_of(audit, About(run.spec, audit.documents, ", ".join(run.reader.sources))), target, files)


def _recall_of(audit: Audit, about: About) -> Figure:
    note = (
        f"All true pairs of {counted(audit.sampled, 'document')}, sampled by the hash of the text from "
        f"{audit.documents:,} distinct ones; pairs are of distinct texts. "
        f"{'Promise ' if audit.promised is not None else 'Recall '}{audit.verdict}."
    )
    return draw_recall(audit.bins, (audit.recall_low, audit.recall_high), replace(about, note=note))


def _bands(work: _Work) -> Figure:
    banding = work.banding
    note = (
        f"Buckets of more than {work.run.spec.crowd:,} documents ({banding.hot:,} documents, counted in each band) are "
        "compared with leaders only; their pairs are not among the candidates."
        if banding.hot
        else ""
    )
    return draw_bands(banding, replace(work.about, note=note))


def _similarities(work: _Work) -> Figure:
    spec = work.run.spec
    edges = similarity_edges(spec.threshold, max(0.0, spec.threshold - BELOW))
    dropped, share = _dropped(work, edges)
    bins = histograms.similarity_bins(work.finding.pairs(), edges, dropped)
    sampled = "" if share >= 1 else f"; estimated from a sample of {100 * share:.2g} %"
    note = (
        f"{crowd_note(work.finding.crowds())} Below t only the candidates that were checked exactly are seen, not all "
        f"pairs there are{sampled}."
    )
    return histograms.draw_similarities(bins, replace(work.about, note=note.lstrip()))


def _dropped(work: _Work, edges: F64) -> tuple[F64, float]:
    """Count the rejected candidates in bins, in pairs of documents; return the share of them that was looked at too."""
    rejected, search = work.banding, work.search
    weight = search.weight.astype(np.float64)
    counts = weight[rejected.left] * weight[rejected.right] / rejected.share
    return fold(search.check(rejected.left, rejected.right, 0.0), edges, counts), rejected.share


FIGURES: dict[str, Callable[[_Work], Figure]] = {
    "s-curves": lambda work: curves.draw_s_curves(work.about, other_bands(work.run.spec)),
    "recall": lambda work: _recall_of(audit_search(work.run, work.search), work.about),
    "bands": _bands,
    "similarities": _similarities,
    "clusters": lambda work: histograms.draw_clusters(histograms.cluster_sizes(work.finding.clusters()), work.about),
    "rates": lambda work: trials.draw_rates(work.sample, work.about),
    "candidates": lambda work: trials.draw_candidates(work.sample, work.about),
    "hashes": lambda work: trials.draw_hashes(work.sample, work.about),
    "scaling": lambda work: trials.draw_scaling(work.sample, work.about),
}
"""Name of each figure, and what draws it."""
