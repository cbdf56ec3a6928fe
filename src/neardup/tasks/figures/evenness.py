"""How evenly hash families spread the shingles of a collection over bins, beside what chance allows.

Hashing is in ``neardup.stages`` and ``neardup.tasks.figures``; here numbers in bins become a test and a picture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neardup.tasks.figures.style import BLACK, BLUE, GREY, RED, About, drawn, note_inside, sheet
from neardup.types import I64

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["HashBins", "chi_squared", "draw_evenness"]

SUSPECT = 1e-4
"""Chance below which a hash is called uneven: two tests of a good one on a sheet, so a false alarm in 5,000 sheets."""


@dataclass(frozen=True, slots=True)
class HashBins:
    """Distinct shingles in the bins that some bits of their hash name."""

    family: str
    """Of the hash."""
    bits: str
    """Which bits name the bin, such as ``leading 8 bits``."""
    counts: I64
    """int64[bins]."""
    is_ours: bool
    """Whether this is the hash that the search uses."""


def chi_squared(counts: I64) -> tuple[float, float]:
    """Chi-squared of counts against even ones, by degrees of freedom, and the chance of one at least so large.

    The chance is by the cube-root approximation of Wilson and Hilferty (1931), which for 255 degrees of freedom is
    right to two digits down to 1e-6.
    """
    free = counts.size - 1
    expected = counts.sum() / counts.size
    if expected == 0:
        return 0.0, 1.0
    ratio = float(((counts - expected) ** 2 / expected).sum()) / free
    spread = 2 / (9 * free)
    return ratio, 0.5 * math.erfc((ratio ** (1 / 3) - 1 + spread) / math.sqrt(2 * spread))


@drawn
def draw_evenness(bins: Sequence[HashBins], about: About) -> Figure:
    """Shingles in each bin, by what is to be expected: a frame for each, two in a row."""
    found = [chi_squared(each.counts) for each in bins]
    even = all(chance >= SUSPECT for each, (_, chance) in zip(bins, found, strict=True) if each.is_ours)
    title = (
        "The hash of this run fills its bins as evenly as chance does"
        if even
        else "The hash of this run fills its bins less evenly than chance does"
    )
    rows = -(-len(bins) // 2)
    figure, frames = sheet(title, about, rows=rows, columns=2, height=1.6 + 2.3 * rows, sharex=True)
    for axes, each, (ratio, chance) in zip(frames, bins, found, strict=True):
        _draw_bins(axes, each, ratio, chance)
    for axes in frames[-2:]:
        axes.set_xlabel("bin")
    for axes in frames[::2]:
        axes.set_ylabel("shingles / expected")
    return figure


def _draw_bins(axes: Axes, bins: HashBins, ratio: float, chance: float) -> None:
    """One point a bin, over the band in which 99.7 % of them should lie."""
    total, n = int(bins.counts.sum()), bins.counts.size
    axes.set_title(f"{bins.family}, {bins.bits}")
    if total == 0:
        note_inside(axes, "no shingles")
        return
    share = bins.counts * n / total
    sigma = math.sqrt((n - 1) / total)
    axes.axhspan(1 - 3 * sigma, 1 + 3 * sigma, color=GREY, alpha=0.25, linewidth=0)
    axes.axhline(1.0, color=BLACK, linewidth=0.8)
    color, marker = (BLUE, "o") if bins.is_ours else (RED, "x")
    axes.plot(np.arange(n), share, marker, color=color, markersize=3.2)
    axes.set_xlim(-3, n + 2)
    far = max(float(np.abs(share - 1).max()), 3.5 * sigma)
    axes.set_ylim(max(-0.03 * far, 1 - 1.12 * far), 1 + 1.45 * far)
    verdict = "even" if chance >= SUSPECT else "uneven"
    text = f"χ²/df = {ratio:,.2f}, p {_chance(chance)}: {verdict}"
    note_inside(axes, text, at=(0.98, 0.97), ha="right", va="top")


def _chance(value: float) -> str:
    return f"= {value:.2f}" if value >= 0.01 else f"= {value:.0e}" if value >= 1e-6 else "< 1e-6"
