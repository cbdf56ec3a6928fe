"""Curves over the similarity: the probability of being found, and measured recall beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neardup.params import Bands
from neardup.shown import counted
from neardup.tasks.audit.outcome import AuditBin
from neardup.tasks.audit.statistics import expected_recall
from neardup.tasks.figures import style
from neardup.tuning import areas, s_curve
from neardup.types import F64

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Bins = NDArray[np.void]
STEPS = 1000
"""Points of a drawn curve."""
_OTHERS = (
    (style.RED, (0, (6, 2))),
    (style.GREEN, (0, (1, 1.4))),
    (style.PURPLE, (0, (6, 2, 1, 2))),
    (style.BLACK, (0, (2.5, 1.5))),
)
"""Colour and dashes of each curve beside the run's own."""


def curve(grid: F64, bands: Bands) -> F64:
    """float64[n]: the S-curve of a banding at each similarity of ``grid``."""
    return np.array([s_curve(similarity, bands.bands, bands.rows) for similarity in grid.tolist()])


@style.drawn
def draw_s_curves(about: style.About, others: Mapping[str, Bands] | None = None) -> Figure:
    """The S-curve of the spec's bands with its areas of false positives and negatives, and those of other bands.

    Of the others, which have a name for the legend, four different ones at most are drawn.
    """
    spec = about.spec
    own, t = spec.bands, spec.banded_at
    at_t = style.percent(s_curve(t, own.bands, own.rows))
    by = "" if spec.candidates_by is None else f" of {spec.sketched}"
    shape = f"{counted(own.bands, 'band')} of {counted(own.rows, 'row')}"
    title = f"{shape}: {at_t} of the pairs at {t:g}{by} become candidates"
    figure, (axes,) = style.sheet(title, about, height=6.6)
    grid = np.linspace(0.0, 1.0, STEPS + 1)
    _shade(axes, grid, curve(grid, own), t)
    axes.plot(grid, curve(grid, own), color=style.BLUE, linewidth=2.8, label=_with_areas(own, t, "this spec"), zorder=3)
    for (bands, name), (color, dashes) in zip(_by_bands(others or {}, own).items(), _OTHERS, strict=False):
        axes.plot(grid, curve(grid, bands), color=color, linestyle=dashes, label=_with_areas(bands, t, name))
    style.mark_threshold(axes, t)
    axes.set(xlim=(0, 1), ylim=(0, 1.005))
    axes.set_xlabel(f"Jaccard similarity of a pair{by and f', by {spec.sketched}'}")
    axes.set_ylabel("probability that the pair is a candidate")
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(-0.01, -0.12),  # below the frame: wherever the curves run, none is covered
        ncols=2,
        title="bands × rows: area of false positives, area of false negatives",
        alignment="left",
        handlelength=3.2,
    )
    return figure


def _by_bands(others: Mapping[str, Bands], own: Bands) -> dict[Bands, str]:
    """Bands that differ from ``own`` and from each other, each with all of its names."""
    named: dict[Bands, str] = {}
    for name, bands in others.items():
        if bands != own:
            named[bands] = f"{named[bands]}, {name}" if bands in named else name
    return named


def _shade(axes: Axes, grid: F64, own: F64, threshold: float) -> None:
    """The two kinds of error, told apart by the direction of their hatch."""
    left, right = grid <= threshold, grid >= threshold
    for name, where, low, high, color, hatch in (
        ("false positives: compared, then dropped", left, np.zeros_like(own), own, style.ORANGE, "///"),
        ("false negatives: never compared", right, own, np.ones_like(own), style.RED, "\\\\\\"),
    ):
        look: dict[str, Any] = {"facecolor": (color, 0.22), "edgecolor": (color, 0.75), "hatch": hatch}
        axes.fill_between(grid, low, high, where=where.tolist(), label=name, linewidth=0.0, **look)


def _with_areas(bands: Bands, threshold: float, name: str) -> str:
    found = areas(threshold, bands)
    positives, negatives = found.false_positive, found.false_negative
    shown = ", ".join("< 0.001" if area < 0.001 else f"{area:.3f}" for area in (positives, negatives))
    return f"{bands.bands} × {bands.rows}: {shown} ({name})"


_BIN = np.dtype(
    [("low", "f8"), ("high", "f8"), ("pairs", "i8"), ("found", "i8"), ("recall_low", "f8"), ("recall_high", "f8")]
)
"""What is drawn of an ``AuditBin``; of a bin whose ``low`` is its ``high`` the pairs have just this similarity."""


@style.drawn
def draw_recall(audited: Sequence[AuditBin], overall: tuple[float, float], about: style.About) -> Figure:
    """Measured recall in bins of similarity beside what is promised, above the numbers of pairs.

    The bins are rising, their intervals of 95 %; ``overall`` is the interval of all pairs together.
    """
    bins = np.array([tuple(getattr(each, name) for name in _BIN.names or ()) for each in audited], _BIN)
    t = about.spec.threshold
    true, found = int(bins["pairs"].sum()), int(bins["found"].sum())
    low, high = map(style.percent, overall)
    recall = f"is {low}" if low == high else f"lies from {low} to {high}"
    title = (
        f"{found:,} of {counted(true, 'true pair')} found: the recall {recall}"
        if true
        else f"No pair is at {t:g} or above: there is no recall to measure"
    )
    figure, (upper, lower) = style.sheet(title, about, rows=2, height=6.6, sharex=True, height_ratios=(1.6, 1))
    width = bins["high"] - bins["low"]
    apart = width == 0  # drawn to the right of all others
    usual = float(width.max(initial=0.0)) or 0.02
    places = (bins["low"] + bins["high"]) / 2 + np.where(apart, 0.9 * usual, 0.0)
    _draw_rates(upper, bins, places, about)
    style.mark_threshold(upper, t)
    _draw_numbers(lower, bins, places, np.where(apart, 0.7 * usual, width))
    lower.axvline(t, color=style.BLACK, linestyle=(0, (5, 3)), linewidth=1.1)
    ticks = [*dict.fromkeys([*bins["low"][~apart].tolist(), 1.0]), *places[apart].tolist()]
    lower.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks if tick <= 1] + ["exactly 1"] * int(apart.sum()))
    lower.set_xlabel("exact Jaccard similarity of a pair")
    return figure


def _draw_rates(axes: Axes, bins: Bins, places: F64, about: style.About) -> None:
    """Recall of each bin with its interval, and the curve of the promise."""
    spec, some = about.spec, bins["pairs"] > 0
    grid = np.linspace(spec.threshold, 1.0, 101)
    theory = expected_recall(grid, spec)
    if theory is not None and spec.recall is not None:
        at_t = f"promised, {style.percent(spec.recall)} at t: bands less estimate filter"
        axes.plot(grid, theory, color=style.BLUE, label="exact join: all" if spec.exact else at_t)
    share, least, most = (bins[end][some] for end in ("found", "recall_low", "recall_high"))
    share = share / bins["pairs"][some]
    axes.errorbar(
        places[some],
        share,
        yerr=np.vstack((share - least, most - share)).clip(0),
        fmt="o",
        color=style.BLACK,
        markerfacecolor=style.ORANGE,
        capsize=3,
        linewidth=1.2,
        label="measured, with 95 % intervals",
        zorder=3,
    )
    promised = 1.0 if theory is None else float(theory.min())
    room = max(1.0 - min(promised, float(least.min(initial=1.0))), 0.004)
    axes.set_ylim(1.0 - 1.08 * room, 1.0 + 0.05 * room)
    axes.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:.6g} %")
    axes.set_ylabel("true pairs found")
    style.legend_above(axes, columns=2, side="right")


def _draw_numbers(axes: Axes, bins: Bins, places: F64, widths: F64) -> None:
    """Bars of the true pairs: what was found of them full, the rest hatched on top."""
    missed = bins["pairs"] - bins["found"]
    axes.bar(places, bins["found"], 0.86 * widths, color=style.BLUE, label="found")
    look: dict[str, Any] = {
        "facecolor": "white",
        "edgecolor": style.RED,
        "hatch": "////",
        "linewidth": 1.0 * (missed > 0),
    }
    axes.bar(places, missed, 0.86 * widths, bottom=bins["found"], label="missed", **look)
    axes.set_ylim(0, max(1.0, 1.35 * float(bins["pairs"].max(initial=0))))
    axes.set_ylabel("true pairs in the bin")
    axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    axes.legend(loc="upper right", ncols=2)
