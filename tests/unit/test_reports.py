"""Figures hold the numbers that went in, say what they show, and are written as valid files, the same each time."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neardup import tuning
from neardup.drawing import curves, histograms, style
from neardup.drawing.histograms import ClusterSizes, SimilarityBins
from neardup.drawing.style import About, save
from neardup.errors import InputError, MissingDependency, OutputError
from neardup.params import Bands
from neardup.tasks.audit.outcome import AuditBin
from neardup.tasks.figures.bands import Banding, draw_bands
from neardup.tasks.figures.recall import draw_recall

matplotlib = pytest.importorskip("matplotlib")

SPEC = tuning.make_spec(threshold=0.7)
ABOUT = About(SPEC, 1234, "docs.jsonl", "A note for the reader.")
EDGES = np.linspace(0.7, 1.0, 7)
SIMILARITIES = SimilarityBins(EDGES, np.array([5, 4, 0, 2, 1, 9]), 3)
WITH_DROPPED = SimilarityBins(
    np.concatenate(([0.6, 0.65], EDGES)), np.array([0, 0, 5, 4, 0, 2, 1, 9]), 3, np.array([8.0, 6, 0, 0, 0, 0, 0, 0])
)
SIZES = ClusterSizes(np.array([2, 3, 40]), np.array([120, 11, 1]))
NONE = np.empty(0, np.int64)
BANDS = Banding(
    np.array([10, 15, 18, 30]),
    np.array([9, 12, 13, 14]),
    np.array([6, 9, 10, 10]),
    np.array([6.1, 8.7, 9.6, 10]),
    *(NONE, NONE, 1.0, 0),
)
RECALL = (
    [
        AuditBin(low, high, pairs, found, None, recall_low, recall_high, None)
        for low, high, pairs, found, recall_low, recall_high in (
            (0.7, 0.8, 50, 49, 0.9, 0.999),
            (0.8, 0.9, 0, 0, 0.0, 1.0),
            (0.9, 1.0, 20, 20, 0.84, 1.0),
            (1.0, 1.0, 7, 7, 0.6, 1.0),
        )
    ],
    (0.93, 0.998),
)

FIGURES: dict[str, Callable[[], Any]] = {
    "s-curves": lambda: curves.draw_s_curves(ABOUT, {"few rows": Bands(64, 2), "many": Bands(8, 16)}),
    "recall": lambda: draw_recall(*RECALL, ABOUT),
    "bands": lambda: draw_bands(BANDS, ABOUT),
    "similarities": lambda: histograms.draw_similarities(WITH_DROPPED, ABOUT),
    "clusters": lambda: histograms.draw_clusters(SIZES, ABOUT),
    "found": lambda: histograms.draw_found(SIMILARITIES, SIZES, ABOUT),
}
NOTHING: dict[str, Callable[[], Any]] = {
    "recall": lambda: draw_recall([], (0.0, 1.0), ABOUT),
    "bands": lambda: draw_bands(Banding(*(np.zeros(4, np.int64),) * 3, np.zeros(4), NONE, NONE, 1.0, 0), ABOUT),
    "found": lambda: histograms.draw_found(
        SimilarityBins(EDGES, np.zeros(6, np.int64), 0), ClusterSizes(NONE, NONE), ABOUT
    ),
}


@cache
def made(name: str) -> Any:
    """A figure that is looked at and left as it is."""
    return FIGURES[name]()


@pytest.fixture(params=FIGURES)
def figure(request: pytest.FixtureRequest) -> Any:
    """Each figure."""
    return made(request.param)


def texts_of(figure: Any) -> list[Any]:
    """All texts of a figure that say something."""
    return [text for text in figure.findobj(matplotlib.text.Text) if text.get_text() and text.get_visible()]


def test_every_figure_has_a_title_labels_and_its_spec(figure: Any) -> None:
    words = "\n".join(text.get_text() for text in texts_of(figure))
    assert figure._suptitle.get_text()
    assert f"spec {SPEC.id}: t = 0.7, shingle char:9, normalize nfc" in words
    assert "1,234 documents in docs.jsonl" in words
    assert "A note for the reader." in words
    for axes in figure.axes:
        same = [other for other in figure.axes if other is axes or axes.get_shared_x_axes().joined(axes, other)]
        assert any(each.get_xlabel() for each in same)
        assert axes.get_ylabel() or axes.get_title(loc="left") or not axes.get_yticks().size


def test_nothing_lies_over_the_foot_or_outside_the_sheet(figure: Any) -> None:
    figure.draw_without_rendering()
    foot = next(text for text in figure.texts if SPEC.id in text.get_text()).get_window_extent()
    width, height = figure.bbox.width, figure.bbox.height
    boxes = [text.get_window_extent() for text in (*figure.texts, figure._suptitle)]
    frames = [axes.get_tightbbox() for axes in figure.axes]
    for box in (*boxes, *frames):
        assert -1 <= box.x0 <= box.x1 <= width + 1
        assert -1 <= box.y0 <= box.y1 <= height + 1
    for frame in frames:
        assert foot.y1 <= frame.y0
        assert frame.y1 <= figure._suptitle.get_window_extent().y0


def test_curves_differ_by_more_than_their_colour(figure: Any) -> None:
    for axes in figure.axes:
        legend = axes.get_legend()
        looks = [
            (str(line._unscaled_dash_pattern), line.get_marker(), line.get_linewidth())
            for line in axes.get_lines()
            if legend is not None and not line.get_label().startswith("_")
        ]
        assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("name", NOTHING)
def test_a_figure_of_nothing_says_so(name: str, tmp_path: Path) -> None:
    figure = NOTHING[name]()
    words = " ".join(text.get_text().lower() for text in texts_of(figure))
    assert any(word in words for word in ("no pair", "none", "no shingles", "too few documents"))
    save(figure, tmp_path / "x.png")


def test_files_are_valid_and_the_same_in_any_order_of_formats(tmp_path: Path) -> None:
    one, two = FIGURES["clusters"](), FIGURES["clusters"]()
    for suffix in ("png", "svg", "pdf"):
        save(one, tmp_path / f"one.{suffix}")
    for suffix in ("pdf", "svg", "png"):
        save(two, tmp_path / f"two.{suffix}")
        assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()
    png = (tmp_path / "one.png").read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20], "big") == 1600
    assert png[-8:-4] == b"IEND"
    root = ElementTree.fromstring((tmp_path / "one.svg").read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    pdf = (tmp_path / "one.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert pdf.rstrip().endswith(b"%%EOF")
    assert b"CreationDate" not in pdf


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_drawn_again_is_the_same_file(name: str, tmp_path: Path) -> None:
    for number in ("one", "two"):
        save(FIGURES[name](), tmp_path / f"{number}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_settings_of_the_user_are_neither_used_nor_changed(tmp_path: Path) -> None:
    save(FIGURES["clusters"](), tmp_path / "plain.svg")
    with matplotlib.rc_context({"axes.facecolor": "red", "font.size": 30, "text.parse_math": True}):
        before = dict(matplotlib.rcParams)
        save(FIGURES["clusters"](), tmp_path / "red.svg")
        assert dict(matplotlib.rcParams) == before
    assert (tmp_path / "plain.svg").read_bytes() == (tmp_path / "red.svg").read_bytes()


def test_names_of_files_are_shown_as_they_are(tmp_path: Path) -> None:
    about = About(SPEC, 1, "cost$x^2$ \u6587\u66f8 \x07.txt")
    figure = histograms.draw_clusters(SIZES, about)
    assert any("cost$x^2$ □□ □.txt" in text.get_text() for text in texts_of(figure))
    save(figure, tmp_path / "x.png")  # a sign that the font has not would be a warning, and warnings are errors


@pytest.mark.parametrize(
    ("name", "words"), [("a.jpg", "a.jpg"), ("a", "Give a name"), ("a.pngs", "Did you mean 'png'")]
)
def test_a_wrong_suffix_is_told(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words.replace(".", r"\.")):
        save(made("clusters"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="Make the folder first"):
        save(FIGURES["clusters"](), tmp_path / "no" / "x.png")


def test_without_matplotlib_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"pip install 'neardup\[plot\]'"):
        histograms.draw_clusters(SIZES, ABOUT)


def test_s_curves_are_those_of_the_formula() -> None:
    figure = made("s-curves")
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    own = next(line for label, line in lines.items() if "(this spec)" in label)
    for similarity, probability in zip(*own.get_data(), strict=True):
        b, r = SPEC.bands.bands, SPEC.bands.rows
        assert probability == pytest.approx(1 - (1 - similarity**r) ** b, abs=1e-12)
    assert any(label.startswith("64 × 2: ") and "(few rows)" in label for label in lines)
    assert any(line.get_xdata()[0] == 0.7 for line in lines.values())


def test_equal_bands_are_drawn_once_and_named_together() -> None:
    figure = curves.draw_s_curves(ABOUT, {"a": Bands(8, 8), "b": Bands(8, 8), "own": SPEC.bands})
    labels = [line.get_label() for line in figure.axes[0].get_lines()]
    assert sum("8 × 8" in label for label in labels) == 1
    assert any("(a, b)" in label for label in labels)


def test_recall_bins_are_drawn_as_they_are() -> None:
    upper, lower = made("recall").axes
    container = next(each for each in upper.containers)
    points, _, (bars,) = container.lines
    np.testing.assert_allclose(points.get_xdata(), [0.75, 0.95, 1.09])
    np.testing.assert_allclose(points.get_ydata(), [0.98, 1.0, 1.0])
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.9, 0.999], [0.84, 1.0], [0.6, 1.0]])
    found, missed = lower.containers
    assert [bar.get_height() for bar in found] == [49, 0, 20, 7]
    assert [bar.get_height() for bar in missed] == [1, 0, 0, 0]
    assert [label.get_text() for label in lower.get_xticklabels()] == ["0.7", "0.8", "0.9", "1", "exactly 1"]
    assert upper.get_ylim()[0] < 0.6
    assert "76 of 77 true pairs found: the recall lies from 93.0 % to 99.8 %" in made("recall")._suptitle.get_text()


def test_the_promise_is_the_bands_less_the_filter() -> None:
    line = made("recall").axes[0].get_lines()[0]
    grid, promised = line.get_data()
    assert (grid[0], grid[-1]) == (0.7, 1.0)
    assert promised[0] == pytest.approx(SPEC.recall)
    assert promised[-1] == 1.0
    exact = About(tuning.make_spec(threshold=0.7, exact=True))
    assert set(draw_recall(*RECALL, exact).axes[0].get_lines()[0].get_ydata()) == {1.0}


def test_candidates_are_drawn_over_the_bands() -> None:
    upper, lower = made("bands").axes
    drawn = {line.get_label(): line.get_ydata().tolist() for line in upper.get_lines()}
    assert list(drawn.values()) == [BANDS.met.tolist(), BANDS.passed.tolist(), BANDS.true.tolist()]
    found, expected = lower.get_lines()
    assert found.get_xdata().tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(found.get_ydata(), [0.6, 0.9, 1.0, 1.0])
    np.testing.assert_allclose(expected.get_ydata(), [0.61, 0.87, 0.96, 1.0])


def test_similarities_are_drawn_with_the_identical_ones_apart() -> None:
    main, side = made("similarities").axes
    dropped, found = main.containers
    assert [bar.get_height() for bar in found] == WITH_DROPPED.found.tolist()
    assert [bar.get_height() for bar in dropped] == WITH_DROPPED.dropped.tolist()  # type: ignore[union-attr]
    np.testing.assert_allclose([bar.get_x() for bar in found], WITH_DROPPED.edges[:-1])
    assert [bar.get_height() for bar in side.containers[0]] == [3]
    assert main.get_yscale() == "linear"
    steep = SimilarityBins(EDGES, np.array([1, 1, 1, 1, 2, 5000]), 0)
    assert histograms.draw_similarities(steep, ABOUT).axes[0].get_yscale() == "log"


def test_cluster_sizes_are_points_on_logarithmic_axes() -> None:
    (axes,) = made("clusters").axes
    (points,) = (line for line in axes.get_lines() if line.get_marker() == "o")
    assert points.get_xdata().tolist() == [2, 3, 40]
    assert points.get_ydata().tolist() == [120, 11, 1]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


@given(st.floats(0, 1))
def test_a_share_is_never_rounded_to_all_or_nothing(share: float) -> None:
    text = style.percent(share)
    assert (text == "100.0 %") == (share == 1)
    assert (text == "0.0 %") == (share == 0)
