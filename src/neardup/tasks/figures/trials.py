"""Figures from many small searches over a sample of the documents: time, candidates and recall by setting, bins.

These are the figures that the systems draw which neardup grew from: T. Chang and S. Tang (LSH via MinHash, 2020), time
and the share of true pairs found; M. Lyra, candidates by the number of bands; S. Hanna and A. Hunt (2015), how evenly
hashes fill their bins. All figures but ``scaling`` are the same in every run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup import tuning
from neardup.drawing import style
from neardup.engine.reading.draw import draw
from neardup.engine.state import SearchState
from neardup.params import Shingle
from neardup.result import Result
from neardup.session import Run
from neardup.shown import counted
from neardup.stages.shingle import Hasher, build_sets
from neardup.stages.shingle import shingles as shingles_of
from neardup.stages.text import SEPARATOR
from neardup.tasks.find import find
from neardup.types import F64, I64, U64, Documents

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
        return rows[ends <= max(ends[:1].sum(), self.run.space.budget.share(SHARE))]

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


@dataclass(frozen=True, slots=True)
class Timed:
    """CPU seconds of one way to find all pairs, by number of documents."""

    name: str
    documents: I64
    seconds: F64

    @property
    def label(self) -> str:
        """The name, with the exponent a of seconds ~ documents**a from the larger half of the runs."""
        use = max(3, -(-self.documents.size // 2))
        if self.documents.size < use or self.seconds[-use:].min() <= 0:
            return self.name
        slope = np.polyfit(np.log(self.documents[-use:]), np.log(self.seconds[-use:]), 1)[0]
        return f"{self.name}, ~ n^{slope:.2f}"


def time_methods(sample: Sample) -> list[Timed]:
    """Time banding, the exact join and comparing every pair on a sixteenth of the sample, an eighth, … and all."""
    spec = sample.run.spec

    def every_pair(documents: int) -> None:
        rows = sample.rows[:documents]
        for i in range(0, rows.size, TILE):
            for j in range(i, rows.size, TILE):
                sides = np.meshgrid(rows[i : i + TILE], rows[j : j + TILE], indexing="ij")
                left, right = (side.ravel() for side in sides)
                sample.search.check(left[left < right], right[left < right], spec.threshold)

    banded = {"bands": spec.bands, "slots": spec.slots}
    ways: dict[str, Callable[[int], object]] = {
        "banding": lambda documents: sample.find(documents, **banded),
        "exact join": lambda documents: sample.find(documents, exact=True),
        "every pair compared": every_pair,
    }
    sizes = sorted({max(2, sample.rows.size >> halving) for halving in range(HALVINGS + 1)})
    return [_timed(name, run, sizes) for name, run in ways.items()]


def _timed(name: str, run: Callable[[int], object], sizes: list[int]) -> Timed:
    run(sizes[0])  # loads the kernels
    seconds: list[float] = []
    for documents in sizes:
        if seconds and 4 * seconds[-1] > SECONDS:
            break
        begin = time.process_time()
        run(documents)
        seconds.append(time.process_time() - begin)
    return Timed(name, np.array(sizes[: len(seconds)]), np.array(seconds))


@style.drawn
def draw_time(sample: Sample, about: style.About) -> Figure:
    """CPU time over the number of documents, on logarithmic axes."""
    timed = time_methods(sample)
    last = ", ".join(f"{each.name} {each.seconds[-1]:.2g} for {each.documents[-1]:,}" for each in timed)
    title = f"CPU seconds by the number of documents: {last}"
    figure, (axes,) = style.sheet(
        title, replace(about, note=f"{sample.note} Times differ from run to run."), height=5.4
    )
    for each, color, marker in zip(timed, (style.BLUE, style.ORANGE, style.RED), "os^", strict=True):
        axes.loglog(each.documents, each.seconds, color=color, marker=marker, label=each.label)
    style.plain_log(axes.xaxis, axes.yaxis)
    axes.set(xlabel="documents", ylabel="CPU seconds")
    axes.legend(loc="upper left")
    return figure


@style.drawn
def draw_shapes(sample: Sample, about: style.About) -> Figure:
    """Candidates, and the pairs among them, if 100 hashes are cut into 2, 5, 10, … bands."""
    results = [sample.find(slots=HASHES, bands=f"{bands}x{HASHES // bands}") for bands in SHAPES]
    met, found = ([getattr(result.summary, name) for result in results] for name in ("candidates", "pairs"))
    there = sample.find(exact=True).summary.pairs
    every = sample.rows.size * (sample.rows.size - 1) // 2
    title = (
        f"{SHAPES[3]} bands of {HASHES} hashes bring {met[3]:,} of {every:,} pairs, {found[3]:,} of {there:,} true ones"
    )
    figure, (axes,) = style.sheet(title, replace(about, note=sample.note), height=5.4)
    for values, name, color, marker in (
        (met, "candidates", style.ORANGE, "s"),
        (found, f"found: at {about.spec.threshold:g} or above", style.BLUE, "o"),
        ([there] * len(SHAPES), "true pairs, by the exact join", style.BLACK, ""),
    ):
        axes.plot(SHAPES, np.array(values, dtype=float), color=color, marker=marker, label=name)
    axes.set_yscale("symlog")
    axes.set_ylim(bottom=0)
    axes.set(xlabel=f"bands b, of {HASHES} / b rows each", ylabel="pairs of distinct texts", xticks=SHAPES)
    axes.yaxis.set_major_formatter(lambda number, _: f"{number:,.6g}")
    axes.legend(loc="lower right")
    return figure


@style.drawn
def draw_rates(sample: Sample, about: style.About) -> Figure:
    """The share of the true pairs that a search finds, by its threshold: as neardup chooses bands, and by a rule."""
    similarity = sample.find(exact=True, threshold=THRESHOLDS[0]).pairs["similarity"].to_numpy()
    thresholds = [t for t in THRESHOLDS if np.any(similarity >= t)]
    slots, ways = (
        about.spec.slots,
        {"bands chosen for the promised recall": style.BLUE, "bands by t = (1/b)^(1/r)": style.RED},
    )

    def rates(by_rule: bool) -> Iterator[float]:
        for t in thresholds:
            rule = {"bands": tuning.choose_bands(t, slots=slots, rule="log"), "slots": slots} if by_rule else {}
            yield sample.find(threshold=t, **rule).summary.pairs / int(np.count_nonzero(similarity >= t))

    found = [list(rates(by_rule)) for by_rule in (False, True)]
    title = "No pair is similar: there is no share of true pairs to draw"
    if thresholds:
        share = "All" if min(found[0]) == 1 else f"At least {style.percent(min(found[0]))} of"
        title = f"{share} true pairs are found at each threshold"
    figure, (axes,) = style.sheet(title, replace(about, note=sample.note), height=5.4)
    for (name, color), shares, marker in zip(ways.items(), found, "os", strict=True):
        axes.plot(thresholds, shares, color=color, marker=marker, label=name)
    axes.set(xlabel="threshold t of the search", ylabel="pairs found, of the true pairs at t or above", ylim=(0, 1.04))
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.6g} %")
    axes.legend(loc="lower right")
    return figure


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


@style.drawn
def draw_bins(sample: Sample, about: style.About) -> Figure:
    """How full each of 256 bins is that the leading 8 bits of a hash name, the emptiest bin first."""
    words = distinct_shingles(sample.documents, about.spec.shingle)
    families = hash_families(words, about.spec.shingle, about.spec.seed)
    title = f"{len(words):,} distinct shingles in {BINS} bins: how evenly three hashes spread them"
    note = f"{sample.note} χ²/df of an even hash is 1, with a standard error of {(2 / (BINS - 1)) ** 0.5:.3f}."
    figure, (axes,) = style.sheet(title, replace(about, note=note), height=5.4)
    for (name, (hashes, bits)), color, dashes in zip(
        families.items(), (style.BLUE, style.ORANGE, style.RED), ("-", (0, (6, 2)), (0, (1, 1.4))), strict=True
    ):
        counts, ratio = evenness(hashes, bits - 8)
        load = np.sort(counts) * BINS / max(1, len(words))
        label = f"{name}: χ²/df {ratio:,.2f}"
        axes.plot(np.arange(1, BINS + 1), load, color=color, linestyle=dashes, label=label)
    axes.set(xlabel="bins, the emptiest first", ylabel="shingles in the bin, of an even share")
    axes.legend(loc="upper left")
    return figure
