"""Curves: probability of being found, measured recall beside it, and what each further band brings.

Where the numbers come from is in ``neardup.tasks.figures``; the formula of the S-curve in ``neardup.tuning``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.params import Bands
from neardup.shown import counted
from neardup.tasks.audit.statistics import expected_recall
from neardup.tasks.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    About,
    drawn,
    legend_above,
    mark_threshold,
    note_inside,
    percent,
    plain_log,
    sheet,
)
from neardup.tuning import s_curve
from neardup.tuning.rules import areas
from neardup.types import F64, I64

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["BandCounts", "RecallBins", "draw_bands", "draw_recall", "draw_s_curves"]

STEPS = 1000
"""Points of a drawn curve."""
_OTHERS = ((RED, (0, (6, 2))), (GREEN, (0, (1, 1.4))), (PURPLE, (0, (6, 2, 1, 2))), (BLACK, (0, (2.5, 1.5))))
"""Colour and dashes of each curve beside the run's own."""


def curve(grid: F64, bands: Bands) -> F64:
    """float64[n]: the S-curve of a banding at each similarity of ``grid``."""
    return np.array([s_curve(similarity, bands.bands, bands.rows) for similarity in grid.tolist()])


@drawn
def draw_s_curves(about: About, others: Mapping[str, Bands] | None = None) -> Figure:
    """The S-curve of the spec's bands with its areas of false positives and negatives, and those of other bands.

    Args:
        about: the spec whose bands and threshold are drawn, and the foot of the sheet.
        others: bands to compare with, by their name in the legend; four different ones at most are drawn.
    """
    spec = about.spec
    own, t = spec.bands, spec.threshold
    at_t = percent(s_curve(t, own.bands, own.rows))
    title = (
        f"{counted(own.bands, 'band')} of {counted(own.rows, 'row')}: {at_t} of the pairs at {t:g} become candidates"
    )
    figure, (axes,) = sheet(title, about, height=6.6)
    grid = np.linspace(0.0, 1.0, STEPS + 1)
    _shade(axes, grid, curve(grid, own), t)
    axes.plot(grid, curve(grid, own), color=BLUE, linewidth=2.8, label=_with_areas(own, t, "this spec"), zorder=3)
    for (bands, name), (color, dashes) in zip(_by_bands(others or {}, own).items(), _OTHERS, strict=False):
        axes.plot(grid, curve(grid, bands), color=color, linestyle=dashes, label=_with_areas(bands, t, name))
    mark_threshold(axes, t)
    axes.set(xlim=(0, 1), ylim=(0, 1.005))
    axes.set_xlabel("Jaccard similarity of a pair")
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
        ("false positives: compared, then dropped", left, np.zeros_like(own), own, ORANGE, "///"),
        ("false negatives: never compared", right, own, np.ones_like(own), RED, "\\\\\\"),
    ):
        look: dict[str, Any] = {
            "facecolor": (color, 0.22),
            "edgecolor": (color, 0.75),
            "hatch": hatch,
            "linewidth": 0.0,
        }
        axes.fill_between(grid, low, high, where=where.tolist(), label=name, **look)


def _with_areas(bands: Bands, threshold: float, name: str) -> str:
    found = areas(threshold, bands)
    positives, negatives = found.false_positive, found.false_negative
    shown = ", ".join("< 0.001" if area < 0.001 else f"{area:.3f}" for area in (positives, negatives))
    return f"{bands.bands} × {bands.rows}: {shown} ({name})"


@dataclass(frozen=True, slots=True)
class RecallBins:
    """True pairs, and those of them that were found, by similarity: a line of an audit for each bin."""

    low: F64
    """float64[bins], rising."""
    high: F64
    """float64[bins]: outside of the bin, unless it is ``low``: then the bin has the pairs of just this similarity."""
    true: I64
    """int64[bins]: true pairs."""
    found: I64
    """int64[bins]: those of them that were found."""
    lower: F64
    upper: F64
    """float64[bins]: ends of the interval of 95 % of found by true."""
    overall: tuple[float, float]
    """The same of all pairs together."""


@drawn
def draw_recall(bins: RecallBins, about: About) -> Figure:
    """Measured recall in bins of similarity beside what is promised, above the numbers of pairs."""
    t = about.spec.threshold
    true, found = int(bins.true.sum()), int(bins.found.sum())
    low, high = (percent(end) for end in bins.overall)
    recall = f"is {low}" if low == high else f"lies from {low} to {high}"
    title = (
        f"{found:,} of {counted(true, 'true pair')} found: the recall {recall}"
        if true
        else f"No pair is at {t:g} or above: there is no recall to measure"
    )
    figure, (upper, lower) = sheet(title, about, rows=2, height=6.6, sharex=True, height_ratios=(1.6, 1))
    places, widths = _bin_places(bins)
    _draw_rates(upper, bins, places, about)
    mark_threshold(upper, t)
    _draw_numbers(lower, bins, places, widths)
    lower.axvline(t, color=BLACK, linestyle=(0, (5, 3)), linewidth=1.1)
    apart = bins.low == bins.high
    ticks = [*dict.fromkeys([*bins.low[~apart].tolist(), 1.0]), *places[apart].tolist()]
    lower.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks if tick <= 1] + ["exactly 1"] * int(apart.sum()))
    lower.set_xlabel("exact Jaccard similarity of a pair")
    return figure


def _bin_places(bins: RecallBins) -> tuple[F64, F64]:
    """Where a bin is drawn, and how wide; one of a single similarity stands apart, to the right."""
    width = bins.high - bins.low
    usual = float(width.max(initial=0.0)) or 0.02
    middle = (bins.low + bins.high) / 2
    return np.where(width > 0, middle, middle + 0.9 * usual), np.where(width > 0, width, 0.7 * usual)


def _draw_rates(axes: Axes, bins: RecallBins, places: F64, about: About) -> None:
    """Recall of each bin with its interval, and the curve of the promise."""
    spec, some = about.spec, bins.true > 0
    grid = np.linspace(spec.threshold, 1.0, 101)
    theory = expected_recall(grid, spec)
    name = "exact join: all" if spec.exact else f"promised, {percent(spec.recall)} at t: bands less estimate filter"
    axes.plot(grid, theory, color=BLUE, label=name)
    share = bins.found[some] / bins.true[some]
    axes.errorbar(
        *(places[some], share),
        yerr=np.vstack((share - bins.lower[some], bins.upper[some] - share)).clip(0),
        fmt="o",
        color=BLACK,
        markerfacecolor=ORANGE,
        capsize=3,
        linewidth=1.2,
        label="measured, with 95 % intervals",
        zorder=3,
    )
    room = max(1.0 - min(float(theory.min()), float(bins.lower[some].min(initial=1.0))), 0.004)
    axes.set_ylim(1.0 - 1.08 * room, 1.0 + 0.05 * room)
    axes.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:.6g} %")
    axes.set_ylabel("true pairs found")
    legend_above(axes, columns=2, side="right")


def _draw_numbers(axes: Axes, bins: RecallBins, places: F64, widths: F64) -> None:
    """Bars of the true pairs: what was found of them full, the rest hatched on top."""
    missed = bins.true - bins.found
    axes.bar(places, bins.found, 0.86 * widths, color=BLUE, label="found")
    look: dict[str, Any] = {"facecolor": "white", "edgecolor": RED, "hatch": "////", "linewidth": 1.0 * (missed > 0)}
    axes.bar(places, missed, 0.86 * widths, bottom=bins.found, label="missed", **look)
    axes.set_ylim(0, max(1.0, 1.35 * float(bins.true.max(initial=0))))
    axes.set_ylabel("true pairs in the bin")
    axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    axes.legend(loc="upper right", ncols=2)


@dataclass(frozen=True, slots=True)
class BandCounts:
    """What the first b bands give, for b = 1 to B: pairs of distinct texts, each counted in its first band."""

    met: I64
    """int64[B]: candidates, before the estimate filter."""
    passed: I64
    """int64[B]: those that the filter lets through to the exact check."""
    true: I64
    """int64[B]: those that reach the threshold."""
    expected: F64
    """float64[B]: how many of the last of ``true`` the curve lets expect."""


@drawn
def draw_bands(counts: BandCounts, about: About) -> Figure:
    """Candidates, and the pairs that are wanted, over the number of bands."""
    from matplotlib.ticker import MaxNLocator

    spec, last = about.spec, int(counts.true[-1])
    number = np.arange(1, counts.met.size + 1)
    enough = int(np.searchsorted(counts.true, 0.9 * last)) + 1
    verb = "brings" if enough == 1 else "bring"
    title = (
        f"{counted(enough, 'band')} of {number.size} {verb} nine tenths of the pairs found"
        if last
        else f"{number.size} bands bring {counted(int(counts.met[-1]), 'candidate')}, none of them a pair"
    )
    figure, (upper, lower) = sheet(title, about, rows=2, height=6.6, sharex=True, height_ratios=(1.25, 1))
    for values, name, color, marker, dashes in (
        (counts.met, "candidates: agree in a band", ORANGE, "s", (0, (5, 1.5))),
        (counts.passed, "pass the estimate filter", GREEN, "^", (0, (1, 1.2))),
        (counts.true, f"found: at {spec.threshold:g} or above", BLUE, "o", "-"),
    ):
        shown = np.where(values > 0, values, np.nan)
        every = max(1, number.size // 25)
        upper.plot(number, shown, color=color, linestyle=dashes, marker=marker, markevery=every, label=name)
        _label_end(upper, float(number[-1]), float(values[-1]))
    upper.set_ylabel("pairs of distinct texts")
    upper.set_yscale("log")
    low, high = upper.get_ylim()
    upper.set_ylim(low * 0.9, high * 1.1)
    plain_log(upper, "y")
    legend_above(upper, columns=3)
    if last:
        lower.plot(number, counts.true / last, color=BLUE, marker="o", label="found by the first b bands")
        lower.plot(
            number,
            counts.expected / last,
            color=BLACK,
            linestyle=(0, (4, 2)),
            label="expected from the S-curves of these pairs",
        )
        lower.legend(loc="lower right")
    else:
        note_inside(lower, "no pair was found")
    lower.set_ylim(0, 1.04)
    lower.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.6g} %")
    lower.set_ylabel(f"of those that {number.size} bands find")
    lower.set_xlim(0.5, number.size * 1.09 + 0.5)
    lower.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    lower.set_xlabel(f"bands b, of {spec.bands.rows} rows each")
    return figure


def _label_end(axes: Axes, x: float, value: float) -> None:
    """The last value of a curve, beside its end."""
    if value > 0:
        place: dict[str, Any] = {"xytext": (7, 0), "textcoords": "offset points", "va": "center", "fontsize": 9}
        axes.annotate(f"{value:,.0f}", (x, value), **place)
