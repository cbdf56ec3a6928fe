"""Time and memory over the number of documents, one curve for each way to find the pairs.

The runs themselves are in ``neardup.tasks.figures``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neardup.tasks.figures.style import (
    BLUE,
    GREEN,
    GREY,
    RED,
    About,
    drawn,
    legend_above,
    note_inside,
    plain_log,
    sheet,
)
from neardup.types import F64, I64

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Timings", "draw_scaling", "fitted_slope"]

METHODS = {
    "lsh": ("LSH", BLUE, "o", "-"),
    "exact": ("exact join", GREEN, "^", (0, (5, 1.5))),
    "naive": ("every pair", RED, "s", (0, (1, 1.2))),
}
"""Label, colour, marker and dashes of each way."""
LEAST_SECONDS = 1e-3


@dataclass(frozen=True, slots=True)
class Timings:
    """Runs of one method over ever more documents."""

    method: str
    """``lsh``, ``exact`` or ``naive``."""
    documents: I64
    """int64[m], rising."""
    seconds: F64
    """float64[m]: wall time."""
    memory: F64
    """float64[m]: largest resident memory in bytes; 0 where the system did not tell or no run was made."""
    measured: NDArray[np.bool_]
    """bool[m]: whether the run was made; where not, its time follows from the last one's."""
    program: float
    """Bytes that the process held before its first document."""


def fitted_slope(documents: I64, seconds: F64) -> float | None:
    """Exponent a of seconds ~ documents**a by least squares over the larger half of the runs; None below three."""
    if documents.size < 3:
        return None
    use = max(3, -(-documents.size // 2))
    x, y = np.log(documents[-use:].astype(float)), np.log(np.maximum(seconds[-use:], LEAST_SECONDS))
    x = x - x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())


@drawn
def draw_scaling(timings: Sequence[Timings], about: About) -> Figure:
    """Seconds above, peak memory below, over the number of documents; all axes logarithmic."""
    shown = [each for each in timings if each.documents.size]
    figure, (upper, lower) = sheet(_title(shown), about, rows=2, height=7.4, sharex=True, height_ratios=(1.4, 1))
    for each in shown:
        _draw_times(upper, each)
        _draw_memory(lower, each)
    upper.set_ylabel("wall time, seconds")
    lower.set_ylabel("peak memory, MB")
    lower.set_xlabel("documents")
    if not shown:
        note_inside(upper, "too few documents to time")
        return figure
    for axes in (upper, lower):
        axes.set_xscale("log")
        axes.set_yscale("log")
    _mark_program(lower, shown)
    plain_log(upper, "xy")
    plain_log(lower, "xy")
    legend_above(upper, columns=4)
    return figure


def _title(timings: Sequence[Timings]) -> str:
    """Seconds of each method for the most documents that the first of them was run over."""
    if not timings:
        return "Too few documents to time"
    most = int(timings[0].documents[-1])
    told = []
    for each in timings:
        at = np.flatnonzero(each.documents == most)
        if at.size:
            about = "" if each.measured[at[0]] else "about "
            told.append(f"{METHODS[each.method][0]} {about}{_seconds(float(each.seconds[at[0]]))}")
    return f"{most:,} documents: {', '.join(told)}"


def _seconds(value: float) -> str:
    if value >= 90:
        return f"{value / 60:,.0f} min" if value < 5400 else f"{value / 3600:,.1f} h"
    return f"{value:.2g} s" if value < 9.5 else f"{value:.0f} s"


def _draw_times(axes: Axes, timings: Timings) -> None:
    """Measured runs full, what follows from them hollow and in fine dots."""
    name, color, marker, dashes = METHODS[timings.method]
    made = timings.measured
    slope = fitted_slope(timings.documents[made], timings.seconds[made])
    label = name if slope is None else f"{name}, ~ n^{slope:.2f}"
    seconds = np.maximum(timings.seconds, LEAST_SECONDS)
    axes.plot(timings.documents[made], seconds[made], color=color, marker=marker, linestyle=dashes, label=label)
    if not made.all():
        tail = max(0, int(np.count_nonzero(made)) - 1)
        axes.plot(
            *(timings.documents[tail:], seconds[tail:]),
            color=color,
            marker=marker,
            markerfacecolor="white",
            markevery=slice(1, None),
            linestyle=(0, (1, 3)),
            linewidth=1.2,
            label="not run: ~ n²",
        )


def _draw_memory(axes: Axes, timings: Timings) -> None:
    _, color, marker, dashes = METHODS[timings.method]
    told = timings.memory > 0
    axes.plot(timings.documents[told], timings.memory[told] / 1e6, color=color, marker=marker, linestyle=dashes)


def _mark_program(axes: Axes, timings: Sequence[Timings]) -> None:
    """A line at what the process holds before its first document, and room for four times that."""
    program = min(each.program for each in timings) / 1e6
    if not 0 < program < np.inf:
        return
    most = max(float(each.memory.max()) for each in timings) / 1e6
    axes.set_ylim(0.6 * program, max(4 * program, 1.4 * most))
    axes.axhline(program, color=GREY, linestyle=(0, (1, 1.5)), linewidth=1.3)
    axes.annotate(
        f"the program itself, {program:.0f} MB",
        (1.0, program),
        xycoords=("axes fraction", "data"),
        xytext=(-3, -4),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=9,
        color="#444444",
    )
