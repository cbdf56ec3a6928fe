"""What all figures share: colours and marks, the frame of a sheet with its foot, and saving to a file.

Colours are those of M. Okabe and K. Ito (2008), which people with any kind of colour vision tell apart; each comes
with a line style, a marker or a hatch of its own, so that a print in grey can be read too.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import math
import os
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from neardup._version import __version__
from neardup.errors import InputError, MissingDependency, did_you_mean
from neardup.outputs.atomic import AtomicFiles
from neardup.params import CONTAINMENT, Spec
from neardup.shown import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


FORMATS = ("png", "svg", "pdf")

BLACK = "#000000"
BLUE, RED, GREEN, ORANGE, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7"

WIDTH = 8.0
"""Inches of a sheet; text of 10 points is 17 pixels high where a sheet is 1000 pixels wide."""
DPI = 200
_TITLE_LETTERS, _FOOT_LETTERS = 76, 122
_FOOT_LINE = 0.165
"""Inches of a line of the foot."""

_RC: dict[str, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.framealpha": 0.92,
    "legend.edgecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "hatch.linewidth": 0.7,
    "text.parse_math": False,  # a dollar sign in the name of a file is one
    "svg.hashsalt": "neardup",
    "svg.fonttype": "path",  # the same everywhere, whatever fonts the reader has
    "pdf.fonttype": 42,
    "savefig.dpi": DPI,
}

_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": f"neardup {__version__}"},
    "svg": {"Creator": f"neardup {__version__}", "Date": None},
    "pdf": {"Creator": f"neardup {__version__}", "CreationDate": None},
}
"""No dates: the same figure is the same file."""

Arguments = ParamSpec("Arguments")
Drawn = TypeVar("Drawn")


@dataclass(frozen=True, slots=True)
class About:
    """What a figure was drawn from; it stands at the foot of the sheet."""

    spec: Spec
    documents: int | None = None
    source: str | None = None
    """The inputs as the user named them."""
    note: str = ""
    """What the reader must know to read the figure right: caps, samples, what was left out."""

    def lines(self) -> list[str]:
        """The foot, line by line."""
        spec = self.spec
        what = [] if self.documents is None else [counted(self.documents, "document")]
        if self.source is not None:
            what.append(_drawable(self.source if len(self.source) <= 60 else "…" + self.source[-59:]))
        exact = "containment join" if spec.measure == CONTAINMENT else "exact join"
        search = exact if spec.exact else f"sketch {spec.sketch} of {spec.slots} slots, bands {spec.bands}"
        if spec.candidates_by is not None:
            search += f", candidates by {spec.candidates_by}"
        how = (
            f"neardup {__version__}, spec {spec.id}: t = {spec.threshold:g}, shingle {spec.shingle}, normalize "
            f"{spec.normalize}, {search}, seed {spec.seed}"
        )
        parts = [self.note, " in ".join(what), how]
        return [line for part in parts if part for line in textwrap.wrap(part, _FOOT_LETTERS)]


def check_matplotlib() -> None:
    """Raise MissingDependency unless figures can be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as exc:
        raise MissingDependency("figures need matplotlib: pip install 'neardup[plot]'") from exc


def drawn(draw: Callable[Arguments, Drawn]) -> Callable[Arguments, Drawn]:
    """Make a function draw in our style, whatever the user's settings of matplotlib are, and leave those alone."""

    @functools.wraps(draw)
    def in_style(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Drawn:
        check_matplotlib()
        import matplotlib

        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            settings: Any = matplotlib.rcParams  # the type that matplotlib gives it changes with its version
            settings.update(_RC)
            return draw(*args, **kwargs)

    return in_style


def check_suffix(target: str | os.PathLike[str]) -> str:
    """The format that the name of a figure asks for; InputError where figures cannot be written in it."""
    suffix = Path(target).suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        raise InputError(
            f"the figure is to be written to {os.fspath(target)}, and figures are png, svg or pdf. Give a name that "
            f"ends in .png, .svg or .pdf.{did_you_mean(suffix, FORMATS)}"
        )
    return suffix


@drawn
def save(figure: Figure, target: str | os.PathLike[str], files: AtomicFiles | None = None) -> None:
    """Write a figure as its name asks, whole or not at all; the same figure gives the same bytes.

    It gets its name at once, or with the other outputs in ``files``.
    """
    suffix = check_suffix(target)
    _freeze(figure)
    buffer = io.BytesIO()
    figure.savefig(buffer, format=suffix, metadata=_METADATA[suffix])
    with AtomicFiles() if files is None else contextlib.nullcontext(files) as held:
        held.open(Path(target)).write(buffer.getbuffer())


def save_numbers(figure: Figure, target: Path) -> Path:
    """Write the numbers that a figure draws as CSV, a line for each point or bar of everything that has a label.

    A bar reaches from ``x`` to ``x_end``; an interval, if there is one, from ``y_low`` to ``y_high``.
    """
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["x_axis", "y_axis", "series", "x", "x_end", "y", "y_low", "y_high"])
    below = figure.axes[-1].get_xlabel()
    for axes in figure.axes:
        head = [(axes.get_xlabel() or below).replace("\n", " "), axes.get_ylabel()]
        drawn: list[Any] = [*axes.containers, *axes.get_lines()]
        for each in (each for each in drawn if not str(each.get_label()).startswith("_")):
            # 12 digits, because the last ones of a sum depend on the order in which threads and parts add it up
            rows = (["" if number is None else f"{number:.12g}" for number in numbers] for numbers in _numbers(each))
            out.writerows([*head, each.get_label(), *row] for row in rows)
    with AtomicFiles() as files:
        files.open(target).write(text.getvalue().encode())
    return target


def _numbers(drawn: Any) -> Iterator[tuple[float | None, ...]]:
    """Yield x, x_end, y, y_low, y_high of each point or bar of a series; None for a number that it does not have."""
    from matplotlib.container import BarContainer, ErrorbarContainer

    if isinstance(drawn, BarContainer):
        for bar in drawn.patches:
            yield bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height(), None, None
        return
    line, ends = (drawn[0], drawn[2][0].get_segments()) if isinstance(drawn, ErrorbarContainer) else (drawn, [])
    for i, (x, y) in enumerate(zip(line.get_xdata(), line.get_ydata(), strict=True)):
        yield x, None, y, *((ends[i][0][1], ends[i][1][1]) if len(ends) else (None, None))


def _freeze(figure: Figure) -> None:
    """Settle where everything stands, for all formats.

    Each format measures text in its own way, and a layout begins with the one before, so the second file would depend
    on the first. The solver of layouts is right to the last digits only: they change from run to run and go.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = (round(side, 6) for side in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))
    for text in figure.texts:
        x, y = text.get_position()
        text.set_position((round(x, 6), round(y, 6)))


def sheet(
    title: str, about: About, *, rows: int = 1, columns: int = 1, height: float = 5.0, **grid: Any
) -> tuple[Figure, list[Axes]]:
    """A sheet with a title above, the foot below, and axes between, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **grid)
    lines = about.lines()
    foot = (0.12 + _FOOT_LINE * len(lines)) / height
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.006, foot, 0.985, 1 - foot - 0.01), h_pad=0.06, w_pad=0.06)
    figure.text(0.012, 0.06 / height, "\n".join(lines), fontsize=7.5, color="#555555", va="bottom", linespacing=1.3)
    wrapped = "\n".join(textwrap.wrap(title, _TITLE_LETTERS))
    figure.suptitle(wrapped, x=0.012, ha="left", fontsize=12, fontweight="bold")
    return figure, list(axes.flat)


def mark_threshold(axes: Axes, threshold: float) -> None:
    """A dashed line at the threshold, with its value above the frame."""
    axes.axvline(threshold, color=BLACK, linestyle=(0, (5, 3)), linewidth=1.1, zorder=1.5)
    label_point(axes, f"t = {threshold:g}", (threshold, 1.0), xycoords=("data", "axes fraction"), va="bottom")


def label_point(axes: Axes, text: str, point: tuple[float, float], *, right: int = 0, **more: Any) -> None:
    """A few words so many points to the right of a point, or just above it."""
    place: dict[str, Any] = {"xytext": (right, 0), "va": "center"} if right else {"xytext": (0, 3), "ha": "center"}
    axes.annotate(text, point, textcoords="offset points", fontsize=9, **place, **more)


def note_inside(axes: Axes, text: str) -> None:
    """A remark inside the frame, on white."""
    box: dict[str, Any] = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": "none", "alpha": 0.9}
    axes.text(0.5, 0.5, text, transform=axes.transAxes, bbox=box, ha="center", va="center", fontsize=9)


def legend_above(axes: Axes, *, columns: int, side: str = "left") -> None:
    """The legend in a row over the frame, where no curve runs beneath it."""
    place: dict[str, Any] = {"loc": f"lower {side}", "bbox_to_anchor": (-0.008 if side == "left" else 1.008, 1.0)}
    axes.legend(ncols=columns, columnspacing=1.6, handlelength=2.6, borderaxespad=0.2, **place)


def plain_log(*logarithmic: Axis) -> None:
    """Numbers in full (1,000) on a logarithmic axis, at powers of ten and, where those are few, between them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in logarithmic:
        low, high = axis.get_view_interval()
        decades = math.log10(high / low)
        subs = (1.0, 2.0, 5.0) if decades < 3.2 else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs, numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axis.set_minor_formatter(NullFormatter())


def percent(share: float) -> str:
    """A share in per cent, never rounded to all or to nothing when it is not."""
    text = f"{100 * share:.1f} %"
    if share < 1 and text == "100.0 %":
        return "> 99.9 %"
    return "< 0.1 %" if share > 0 and text == "0.0 %" else text


def _drawable(text: str) -> str:
    """``text`` with what the font has no sign for replaced by a box."""
    from matplotlib import font_manager

    known = font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap()
    return "".join(char if ord(char) in known and char.isprintable() else "□" for char in text)
