"""Histograms of what a search found, counted from the streams of a ``Finding``: pairs need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup.arrays import as_numpy
from neardup.drawing import style
from neardup.params import CONTAINMENT
from neardup.shown import counted
from neardup.stages.similarities import fold
from neardup.types import F64, I64

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


HEADROOM = 0.28
"""Share of the frame over the highest bar, for the legend."""


@dataclass(frozen=True, slots=True)
class SimilarityBins:
    """Pairs of documents by exact similarity; those of similarity 1 apart, for they would dwarf the rest."""

    edges: F64
    """float64[bins + 1], rising; a pair at an edge is in the bin above it. The last edge is 1."""
    found: I64
    """int64[bins]: pairs below 1 that were found."""
    identical: int
    """Pairs at 1: exact copies, and texts of the same shingles."""
    dropped: F64 | None = None
    """float64[bins]: candidates below the threshold, which the exact check dropped; None: not looked at."""


@dataclass(frozen=True, slots=True)
class ClusterSizes:
    """Clusters by their number of documents."""

    sizes: I64
    """int64[m], rising, at least 2."""
    clusters: I64
    """int64[m]: clusters of each size."""


def similarity_bins(batches: Iterable[Any], edges: F64, dropped: F64 | None = None) -> SimilarityBins:
    """Pairs of documents in bins, from Arrow batches with a column ``similarity``."""
    found = np.zeros(edges.size - 1)
    identical = 0
    for batch in batches:
        similarity = as_numpy(batch.column("similarity"))
        found += fold(similarity, edges)
        identical += int(np.count_nonzero(similarity == 1.0))
    return SimilarityBins(edges, found.astype(np.int64), identical, dropped)


def cluster_sizes(batches: Iterable[Any]) -> ClusterSizes:
    """Clusters by size, from Arrow batches with a column ``cluster`` (0, 1, …). Memory: 8 bytes a cluster."""
    members: I64 = np.zeros(0, dtype=np.int64)
    for batch in batches:
        more = np.bincount(as_numpy(batch.column("cluster")), minlength=members.size)
        more[: members.size] += members
        members = more
    sizes, clusters = np.unique(members, return_counts=True)
    return ClusterSizes(sizes, clusters)


@style.drawn
def draw_similarities(bins: SimilarityBins, about: style.About) -> Figure:
    """The histogram of pair similarities."""
    near, total = int(bins.found.sum()), int(bins.found.sum()) + bins.identical
    title = (
        f"{counted(total, 'pair')} found: {near:,} below similarity 1, {bins.identical:,} at 1"
        if total
        else "No pair found"
    )
    figure, (main, side) = style.sheet(title, about, columns=2, height=4.8, width_ratios=(9, 1))
    _draw_similarities(main, side, bins, about)
    return figure


@style.drawn
def draw_clusters(sizes: ClusterSizes, about: style.About) -> Figure:
    """The histogram of cluster sizes, both axes logarithmic."""
    figure, (axes,) = style.sheet(_cluster_title(sizes), about, height=4.8)
    _draw_clusters(axes, sizes)
    return figure


@style.drawn
def draw_found(bins: SimilarityBins, sizes: ClusterSizes, about: style.About) -> Figure:
    """Both histograms on one sheet: what a search found."""
    total = int(bins.found.sum()) + bins.identical
    title = f"{counted(total, 'pair')} and {counted(int(sizes.clusters.sum()), 'cluster')} found"
    figure, (main, side, left, right) = style.sheet(title, about, rows=2, columns=2, height=8.2, width_ratios=(9, 1))
    grid = left.get_gridspec()
    assert grid is not None
    left.remove()
    right.remove()
    below = figure.add_subplot(grid[1, :])
    main.set_title("Similarity of the pairs", pad=18)
    below.set_title(_cluster_title(sizes))
    _draw_similarities(main, side, bins, about)
    _draw_clusters(below, sizes)
    return figure


def _draw_similarities(main: Axes, side: Axes, bins: SimilarityBins, about: style.About) -> None:
    low, width = bins.edges[:-1], np.diff(bins.edges)
    if bins.dropped is not None:
        look: dict[str, Any] = {"facecolor": "white", "edgecolor": style.ORANGE, "hatch": "////"}
        label, line = "candidates that the exact check dropped", 0.8 * (bins.dropped > 0)
        main.bar(low, bins.dropped, width, align="edge", label=label, linewidth=line, **look)
    main.bar(
        low, bins.found, width, align="edge", color=style.BLUE, edgecolor="white", linewidth=0.6, label="pairs found"
    )
    style.mark_threshold(main, about.spec.threshold)
    drawn_bars = np.concatenate((bins.found, [] if bins.dropped is None else bins.dropped))
    some = drawn_bars[drawn_bars > 0]
    name = "pairs of documents"
    if some.size and some.max() > 100 * np.median(some):
        main.set_yscale("log")
        main.set_ylim(0.7, float(some.max()) * (float(some.max()) / 0.7) ** HEADROOM)
        style.plain_log(main.yaxis)
        name += " (logarithmic)"
    else:
        main.set_ylim(0, max(1.0, (1 + HEADROOM) * float(some.max(initial=0))))
        main.yaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    main.set_ylabel(name)
    main.set_xlim(bins.edges[0], 1.0)
    measure = "containment" if about.spec.measure == CONTAINMENT else "Jaccard similarity"
    main.set_xlabel(f"exact {measure} of a pair, in bins of {width[0]:.2g}")
    if not some.size:
        style.note_inside(main, "no pair below similarity 1")
    elif bins.dropped is not None:
        main.legend(loc="upper left")
    side.bar(
        [0],
        [bins.identical],
        0.6,
        facecolor=style.GREEN,
        edgecolor=style.BLACK,
        hatch="..",
        linewidth=0.6,
        label="at 1",
    )
    style.label_point(side, f"{bins.identical:,}", (0, bins.identical))
    side.set(xlim=(-0.6, 0.6), ylim=(0, max(1.12 * bins.identical, 1)), xticks=[0], xticklabels=["1.0"], yticks=[])
    side.spines["left"].set_visible(False)
    side.set_xlabel("identical\n(own scale)")


def _cluster_title(sizes: ClusterSizes) -> str:
    total = int(sizes.clusters.sum())
    if total == 0:
        return "No cluster of two documents or more"
    twos, largest = int(sizes.clusters[sizes.sizes == 2].sum()), int(sizes.sizes[-1])
    return f"{counted(total, 'cluster')}: {style.percent(twos / total)} of two documents, the largest of {largest:,}"


def _draw_clusters(axes: Axes, sizes: ClusterSizes) -> None:
    axes.set_xlabel("documents in the cluster")
    axes.set_ylabel("clusters of that size")
    if sizes.sizes.size == 0:
        style.note_inside(axes, "none")
        return
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1.7, max(12.0, 2.2 * float(sizes.sizes[-1])))
    axes.set_ylim(0.7, max(12.0, 1.6 * float(sizes.clusters.max())))
    axes.vlines(sizes.sizes, 0.7, sizes.clusters, color=style.BLUE, linewidth=1.0, alpha=0.55)
    axes.plot(
        *(sizes.sizes, sizes.clusters, "o"),
        color=style.BLUE,
        markeredgecolor="white",
        markeredgewidth=0.5,
        zorder=3,
        label="clusters",
    )
    style.plain_log(axes.xaxis, axes.yaxis)
    last = float(sizes.sizes[-1])
    style.label_point(axes, f"{last:,.0f} documents", (last, float(sizes.clusters[-1])), right=8)


def crowd_note(crowds: pa.Table) -> str:
    """A line for the foot where crowds make the histogram lower than it would be; empty without crowds."""
    if crowds.num_rows == 0:
        return ""
    documents = sum(crowds.column("documents").to_pylist())
    return (
        f"{counted(crowds.num_rows, 'crowd')} of {counted(documents, 'document')} in all: of these only the pairs with "
        "the leader of the crowd are listed and shown."
    )
