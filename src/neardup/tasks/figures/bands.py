"""What each further band of a search brings: its candidates counted once more, band by band, and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neardup.drawing import style
from neardup.engine.banding.listed import bucket_pieces, hold_signatures
from neardup.engine.banding.pending import pair_members
from neardup.engine.observe import Observer
from neardup.engine.reading.collection import Collection
from neardup.engine.results.pairs import PairStore
from neardup.engine.state import SearchState
from neardup.shown import counted
from neardup.stages import bands as band_stage
from neardup.types import F64, I64

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SAMPLED = 1_000_000
"""Candidates whose similarity is looked at, about; more are sampled by their content."""


@dataclass(frozen=True, slots=True)
class Banding:
    """What the first b bands give, for b = 1 to B: pairs of distinct texts, each counted in its first band."""

    met: I64
    """int64[B]: candidates."""
    passed: I64
    """int64[B]: the candidates that were checked exactly."""
    true: I64
    """int64[B]: the candidates that reach the threshold."""
    expected: F64
    """float64[B]: how many of the last of ``true`` the curve lets expect."""
    left: I64
    right: I64
    """Candidates that the check rejected, or a sample of them."""
    share: float
    """The share of these candidates that are in the sample."""
    hot: int
    """Documents in buckets above the crowd limit, counted in each band; their pairs are not among the candidates."""


def count_bands(search: SearchState, observer: Observer) -> Banding:
    """Run the bands of a finished search once more, and count the pairs by the band that meets them first.

    Memory: 56 bytes for each row of a part of a band, the pairs of one piece of its buckets, and the sample.
    """
    collection, rejected = search.collection, search.rejected
    assert rejected is not None, "the search kept what its check rejected"
    shape, bands = collection.spec.bands, collection.spec.bands.bands
    met = np.zeros(bands, dtype=np.int64)
    hot = 0
    observer.stage("counting band by band", bands, "bands")
    hold_signatures(search)
    for band in range(bands):
        for members, starts, over in bucket_pieces(search, band):
            hot += over
            pieces = pair_members(collection, members, starts, None, band=band, min_matches=0)
            met[band] += sum(left.size for left, *_ in pieces)
        observer.advance(1)
    true, expected = np.zeros(bands, dtype=np.int64), np.zeros(bands)
    for first, similarity in _first_bands(search, search.pairs):
        true += np.bincount(first, minlength=bands)
        # a pair of similarity s is met by b bands with P_b(s), and is here because all B met it: so P_b(s) / P_B(s)
        miss = 1.0 - similarity**shape.rows
        whole = 1.0 - miss**bands
        for b in range(bands):
            expected[b] += float(((1.0 - miss ** (b + 1)) / whole).sum())
    passed = true.copy()
    for first, _ in _first_bands(search, rejected):
        passed += np.bincount(first, minlength=bands)
    share = min(1.0, SAMPLED / max(1, len(rejected)))
    kept = [_sample(collection, pairs.left, pairs.right, share) for pairs in rejected.pieces()]
    left, right = np.concatenate([np.empty((2, 0), dtype=np.int64), *kept], axis=1)
    return Banding(np.cumsum(met), np.cumsum(passed), np.cumsum(true), expected, left, right, share, hot)


def _sample(collection: Collection, left: I64, right: I64, share: float) -> I64:
    """Choose pairs, int64[2, m], by the hashes of their texts, whatever the order of the input."""
    pairs = np.stack((left, right))
    if share >= 1.0 or left.size == 0:
        return pairs
    prints = collection.prints
    mixed = prints.take(left)[:, 0] + prints.take(right)[:, 0]
    return pairs[:, mixed < np.uint64(share * 2.0**64)]


def _first_bands(search: SearchState, store: PairStore) -> Iterator[tuple[I64, F64]]:
    """Yield the first bands in which pairs agree, and the similarities that the store has, some pairs at a time."""
    for pairs in store.pieces():
        rows, place = np.unique(np.concatenate((pairs.left, pairs.right)), return_inverse=True)
        values, shape = search.collection.values.take(rows), search.collection.spec.bands
        first, _ = band_stage.first_bands(values, place[: len(pairs)], place[len(pairs) :], shape)
        met = (first >= 0) & (first < shape.bands)  # the star of a crowd may have members that share no band
        yield first[met], pairs.similarity[met]


@style.drawn
def draw_bands(counts: Banding, about: style.About) -> Figure:
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
    figure, (upper, lower) = style.sheet(title, about, rows=2, height=6.6, sharex=True, height_ratios=(1.25, 1))
    for values, name, color, marker, dashes in (
        (counts.met, "candidates: agree in a band", style.ORANGE, "s", (0, (5, 1.5))),
        (counts.passed, "checked exactly", style.GREEN, "^", (0, (1, 1.2))),
        (counts.true, f"found: at {spec.threshold:g} or above", style.BLUE, "o", "-"),
    ):
        shown = np.where(values > 0, values, np.nan)
        every = max(1, number.size // 25)
        upper.plot(number, shown, color=color, linestyle=dashes, marker=marker, markevery=every, label=name)
        if values[-1] > 0:
            style.label_point(upper, f"{values[-1]:,.0f}", (float(number[-1]), float(values[-1])), right=7)
    upper.set_ylabel("pairs of distinct texts")
    upper.set_yscale("log")
    low, high = upper.get_ylim()
    upper.set_ylim(low * 0.9, high * 1.1)
    style.plain_log(upper.yaxis)
    style.legend_above(upper, columns=3)
    if last:
        lower.plot(number, counts.true / last, color=style.BLUE, marker="o", label="found by the first b bands")
        lower.plot(
            number,
            counts.expected / last,
            color=style.BLACK,
            linestyle=(0, (4, 2)),
            label="expected from the S-curves of these pairs",
        )
        lower.legend(loc="lower right")
    else:
        style.note_inside(lower, "no pair was found")
    lower.set_ylim(0, 1.04)
    lower.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.6g} %")
    lower.set_ylabel(f"of those that {number.size} bands find")
    lower.set_xlim(0.5, number.size * 1.09 + 0.5)
    lower.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    lower.set_xlabel(f"bands b, of {spec.bands.rows} rows each")
    return figure
