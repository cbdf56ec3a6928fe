"""Figures of a result that is there already, from its tables: what ``plot`` of a result gives."""

from __future__ import annotations

import io
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from neardup.drawing import curves, histograms
from neardup.drawing.style import About
from neardup.errors import InputError
from neardup.params import Spec, check_choice
from neardup.stages.similarities import similarity_edges

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("found", "similarities", "clusters", "s-curve")
NOTEBOOK_DPI = 110


def draw_result(name: str, pairs: Any, clusters: Any, crowds: pa.Table, *, spec: Spec, documents: int) -> Figure:
    """A figure of tables as those of ``Result``; ``name`` is of ``KINDS``. A notebook shows it without pyplot.

    Raises:
        InputError: there is no such figure, or no S-curve of a search without bands.
        MissingDependency: matplotlib is not installed.
    """
    figure: Any = _drawn(name, pairs, clusters, crowds, spec, documents)
    figure._repr_png_ = partial(_png, figure)  # IPython's own way of showing a figure needs pyplot
    return figure  # type: ignore[no-any-return]


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=NOTEBOOK_DPI)
    return buffer.getvalue()


def _drawn(name: str, pairs: Any, clusters: Any, crowds: pa.Table, spec: Spec, documents: int) -> Figure:
    about = About(spec, documents, note=histograms.crowd_note(crowds))
    if check_choice(name, KINDS, "figure") == "s-curve":
        if not spec.bands.bands:
            raise InputError("there is no S-curve: these pairs were found without bands, and none was missed.")
        return curves.draw_s_curves(About(spec), curves.other_bands(spec))
    if name == "clusters":
        return histograms.draw_clusters(histograms.cluster_sizes(clusters.to_batches()), about)
    bins = histograms.similarity_bins(pairs.to_batches(), similarity_edges(spec.threshold))
    if name == "similarities":
        return histograms.draw_similarities(bins, about)
    return histograms.draw_found(bins, histograms.cluster_sizes(clusters.to_batches()), about)
