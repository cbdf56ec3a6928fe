"""Measured recall over the similarity, beside what is promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from neardup.drawing import style
from neardup.shown import counted
from neardup.tasks.audit.outcome import AuditBin
from neardup.tasks.audit.statistics import expected_recall
from neardup.types import F64

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bins = NDArray[np.void]
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
        at_t = f"promised, {style.percent(spec.recall)} at t: bands less filter and screen"
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
