"""The probability of being found over the similarity, for the bands of a run and others beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup import tuning
from neardup.drawing import style
from neardup.params import Bands, Spec
from neardup.shown import counted
from neardup.tuning import areas, s_curve
from neardup.types import F64

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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


def other_bands(spec: Spec) -> dict[str, Bands]:
    """Bands to compare with: by rules of the literature for the same slots, and with fewer rows."""
    found = {
        f"rule {rule}": tuning.choose_bands(spec.banded_at, slots=spec.slots, rule=rule) for rule in ("log", "divisor")
    }
    for rows in (spec.bands.rows - 2, spec.bands.rows + 2):
        if 1 <= rows <= spec.slots:
            found[f"{'fewer' if rows < spec.bands.rows else 'more'} rows"] = Bands(spec.slots // rows, rows)
    return found
