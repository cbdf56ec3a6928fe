"""Figures from many small searches over a sample of the documents: time, candidates and recall by setting, bins.

These are the figures that the systems draw which neardup grew from: T. Chang and S. Tang (LSH via MinHash, 2020), time
and the share of true pairs found; M. Lyra, candidates by the number of bands; S. Hanna and A. Hunt (2015), how evenly
hashes fill their bins. All figures but ``scaling`` are the same in every run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup import tuning
from neardup.drawing import style
from neardup.engine.reading.draw import draw
from neardup.engine.state import SearchState
from neardup.params import Bands, Shingle
from neardup.result import Result
from neardup.session import Run
from neardup.shown import counted
from neardup.stages.shingle import Hasher, build_sets
from neardup.stages.shingle import shingles as shingles_of
from neardup.stages.text import SEPARATOR
from neardup.tasks.find import find
from neardup.tasks.measures import sketch
from neardup.tasks.plan.census import met_pairs
from neardup.types import I64, U64, Documents

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCUMENTS = 5_000
"""The most documents of a sample: should all be alike, the exact join has 12 million pairs of them, 300 MB."""
SHARE = 0.05
"""The part of the memory limit that the texts of a sample may take."""
HALVINGS = 4
"""The smallest part that is timed is 2**-4 of the sample."""
SECONDS = 20.0
"""CPU seconds after which comparing every pair goes no further."""
TILE = 1024
"""Documents on each side of the square of pairs that are compared at a time."""
HASHES = 100
"""Slots of the signatures that are cut into bands."""
SHAPES = (2, 5, 10, 20, 25, 50)
"""Numbers of bands that are tried; each divides HASHES."""
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
BINS = 256
SHINGLES = 200_000
"""About the most distinct shingles that are put into bins."""
FACTOR = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4)."""


@dataclass
class Sample:
    """Distinct documents chosen by the hash of their text, and searches over them."""

    run: Run
    search: SearchState

    @cached_property
    def rows(self) -> I64:
        """The rows of the documents, in the order of the collection."""
        rows = draw(self.search.collection, self.search.weight, documents=DOCUMENTS, seed=0)
        ends = np.cumsum(self.search.collection.texts.lengths(rows))
        fit: I64 = rows[ends <= max(ends[:1].sum(), self.run.space.budget.share(SHARE))]
        return fit

    @cached_property
    def documents(self) -> list[Any]:
        """The normalised texts; lists of items if documents are sets."""
        texts = {
            int(self.rows[part][i]): documents.blob(at)
            for documents, local, part in self.search.collection.texts.parts(self.rows)
            for i, at in enumerate(local.tolist())
        }
        blobs = [texts[row] for row in self.rows.tolist()]
        if self.run.spec.shingle.kind != "item":
            return [blob.decode("utf-8", "replace") for blob in blobs]
        return [[item.decode("utf-8", "replace") for item in blob.split(SEPARATOR) if item] for blob in blobs]

    @property
    def note(self) -> str:
        """A line for the foot of a figure: what was sampled."""
        total = int(np.count_nonzero(self.search.weight))
        if self.rows.size == total:
            return "Exact copies count as one document."
        return f"From {counted(self.rows.size, 'document')} of {total:,} distinct ones, chosen by the hash of the text."

    def find(self, documents: int | None = None, **settings: Any) -> Result:
        """Search the first ``documents`` of the sample, as the run would but for ``settings``."""
        spec, options = self.run.spec, self.run.options
        how: dict[str, Any] = {"shingle": spec.shingle, "normalize": "none", "sketch": spec.sketch, "seed": spec.seed}
        how |= {"threshold": spec.threshold, "crowd": 0, "threads": options.threads, "memory": options.memory}
        return find(self.documents[:documents], **how | settings)


Series = tuple[str, Any, Any]
"""Name, x and y of a line."""
_LOOKS = ((style.BLUE, "o", "-"), (style.RED, "s", (0, (6, 2))), (style.ORANGE, "^", (0, (1, 1.4))))
"""Colour, marker and dashes of each line."""


@style.drawn
def draw_lines(
    title: str, about: style.About, series: Sequence[Series], *, x: str, y: str, is_log: bool = False
) -> Figure:
    """Draw up to three lines over one axis, with a legend; ``is_log`` for both axes logarithmic."""
    figure, (axes,) = style.sheet(title, about, height=5.4)
    for (name, xs, ys), (color, marker, dashes) in zip(series, _LOOKS, strict=False):
        few = marker if len(xs) < BINS else None
        axes.plot(xs, ys, color=color, marker=few, linestyle=dashes, label=name, clip_on=False)
    if is_log:
        axes.set(xscale="log", yscale="log")
        style.plain_log(axes.xaxis, axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    axes.set(xlabel=x, ylabel=y)
    axes.legend(loc="best")
    return figure


def draw_scaling(sample: Sample, about: style.About) -> Figure:
    """Draw the CPU time of banding, the exact join and comparing every pair on a sixteenth of the sample, … and all."""
    spec = sample.run.spec

    def every_pair(documents: int) -> None:
        rows = sample.rows[:documents]
        for i in range(0, rows.size, TILE):
            for j in range(i, rows.size, TILE):
                sides = np.meshgrid(rows[i : i + TILE], rows[j : j + TILE], indexing="ij")
                left, right = (side.ravel() for side in sides)
                sample.search.check(left[left < right], right[left < right], spec.threshold)

    ways: dict[str, Callable[[int], object]] = {
        "banding": lambda documents: sample.find(documents, bands=spec.bands, slots=spec.slots),
        "exact join": lambda documents: sample.find(documents, exact=True),
        "every pair compared": every_pair,
    }
    sizes = sorted({max(2, sample.rows.size >> halving) for halving in range(HALVINGS + 1)})
    series = [_timed(name, run, sizes) for name, run in ways.items()]
    last = ", ".join(f"{name.partition(',')[0]} {ys[-1]:.2g} for {xs[-1]:,}" for name, xs, ys in series)
    about = replace(about, note=f"{sample.note} Times differ from run to run.")
    title = f"CPU seconds by the number of documents: {last}"
    return draw_lines(title, about, series, x="documents", y="CPU seconds", is_log=True)


def _timed(name: str, run: Callable[[int], object], sizes: list[int]) -> Series:
    """Time a way on each size, and name it with the exponent a of seconds ~ documents**a over the larger half."""
    run(sizes[0])  # loads the kernels
    seconds: list[float] = []
    for documents in sizes:
        if seconds and 4 * seconds[-1] > SECONDS:
            break
        begin = time.process_time()
        run(documents)
        seconds.append(time.process_time() - begin)
    done, half = sizes[: len(seconds)], max(3, -(-len(seconds) // 2))
    if len(done) >= half and min(seconds) > 0:
        name += f", ~ n^{np.polyfit(np.log(done[-half:]), np.log(seconds[-half:]), 1)[0]:.2f}"
    return name, done, seconds


def draw_candidates(sample: Sample, about: style.About) -> Figure:
    """Draw the candidates, and the pairs among them, if 100 hashes are cut into 2, 5, 10, … bands."""
    results = [sample.find(slots=HASHES, bands=f"{bands}x{HASHES // bands}").summary for bands in SHAPES]
    there = sample.find(exact=True).summary.pairs
    every = sample.rows.size * (sample.rows.size - 1) // 2
    at, spec = SHAPES.index(20), sample.run.spec
    how: dict[str, Any] = {"shingle": spec.shingle, "sketch": spec.sketch, "seed": spec.seed, "slots": HASHES}
    values = sketch(sample.documents, normalize="none", **how).signatures.values
    met = [met_pairs(values, Bands(bands, HASHES // bands), 0, threads=1)[0].size for bands in SHAPES]
    title = f"20 bands of {HASHES} hashes: {met[at]:,} of {every:,} pairs, {results[at].pairs:,} of {there:,} true ones"
    series = [
        (f"found: at {about.spec.threshold:g} or above", SHAPES, [each.pairs for each in results]),
        ("true pairs, by the exact join", SHAPES, [there] * len(SHAPES)),
        ("candidates", SHAPES, met),
    ]
    x, y = f"bands b, of {HASHES} / b rows each", "pairs of distinct texts"
    return draw_lines(title, replace(about, note=sample.note), series, x=x, y=y)


def draw_rates(sample: Sample, about: style.About) -> Figure:
    """Draw the share of the true pairs that a search finds, by its threshold and by how its bands are chosen."""
    similarity = sample.find(exact=True, threshold=THRESHOLDS[0]).pairs["similarity"].to_numpy()
    thresholds, slots = [t for t in THRESHOLDS if np.any(similarity >= t)], about.spec.slots

    def rates(**settings: Callable[[float], Any]) -> list[float]:
        found = (sample.find(threshold=t, **{name: of(t) for name, of in settings.items()}) for t in thresholds)
        return [
            100 * each.summary.pairs / int(np.count_nonzero(similarity >= t))
            for each, t in zip(found, thresholds, strict=True)
        ]

    def by_rule(t: float) -> Bands:
        return tuning.choose_bands(t, slots=slots, rule="log")

    promised, ruled = rates(), rates(bands=by_rule, slots=lambda t: slots)
    title = f"True pairs found: {min(promised, default=100):.4g} % or more at each threshold"
    series = [
        ("bands chosen for the promised recall", thresholds, promised),
        ("bands by t = (1/b)^(1/r)", thresholds, ruled),
    ]
    x, y = "threshold t of the search", "pairs found, % of the true pairs at t or above"
    return draw_lines(title, replace(about, note=sample.note), series, x=x, y=y)


def djb2a(word: bytes) -> int:
    """Return the hash that D. Bernstein gave: h = 5381, then 33 h XOR byte, modulo 2**32."""
    state = 5381
    for byte in word:
        state = (33 * state ^ byte) % 2**32
    return state


def distinct_shingles(documents: list[Any], shingle: Shingle) -> list[bytes]:
    """Return the distinct shingles of documents, sorted; of many documents, about the first SHINGLES of them."""
    words = set[bytes]()
    for document in documents:
        words.update(each.encode() for each in (document if shingle.kind == "item" else shingles_of(document, shingle)))
        if len(words) > SHINGLES:
            break
    return sorted(words)


def hash_families(words: list[bytes], shingle: Shingle, seed: int) -> dict[str, tuple[U64, int]]:
    """Return uint64 hashes of shingles by three families, and how many bits each hash has."""
    own = build_sets(Documents.from_bytes(words), Hasher(shingle, seed), np.ones(len(words), dtype=np.int64)).hashes
    multiplied = [int.from_bytes(word[-8:], "big") * FACTOR % 2**64 for word in words]
    return {
        "the hash of the search": (own, 64),
        "djb2a mod 2^16": (np.array([djb2a(word) & 0xFFFF for word in words], dtype=np.uint64), 16),
        "a·x mod 2^64": (np.array(multiplied, dtype=np.uint64), 64),
    }


def evenness(hashes: U64, shift: int) -> tuple[I64, float]:
    """Return how many hashes are in each of 256 bins, named by the 8 bits from ``shift`` on, and χ² / df."""
    counts = np.bincount(((hashes >> np.uint64(shift)) & np.uint64(BINS - 1)).astype(np.int64), minlength=BINS)
    even = max(1, hashes.size) / BINS
    return counts, float((np.square(counts - even) / even).sum() / (BINS - 1))


def draw_hashes(sample: Sample, about: style.About) -> Figure:
    """Draw how full each of 256 bins is that the leading 8 bits of a hash name, the emptiest bin first."""
    words, series = distinct_shingles(sample.documents, about.spec.shingle), list[Series]()
    for name, (hashes, bits) in hash_families(words, about.spec.shingle, about.spec.seed).items():
        counts, ratio = evenness(hashes, bits - 8)
        load = np.sort(counts) * BINS / max(1, len(words))
        series.append((f"{name}: χ²/df {ratio:,.2f}", range(1, BINS + 1), load))
    title = f"{len(words):,} distinct shingles in {BINS} bins: how evenly three hashes spread them"
    note = f"{sample.note} χ²/df of an even hash is 1, with a standard error of {(2 / (BINS - 1)) ** 0.5:.3f}."
    x, y = "bins, the emptiest first", "shingles in the bin, of an even share"
    return draw_lines(title, replace(about, note=note), series, x=x, y=y)
