"""The costs of a run on an otherwise idle machine, as pure functions of measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from neardup.engine.banding.pending import BITS_PART
from neardup.engine.reading.collection import most_near
from neardup.engine.reading.laid_texts import MEMORY_PART
from neardup.engine.space import Budget
from neardup.params import Bands, Screen
from neardup.stages.bands import KEY_BYTES
from neardup.tasks.plan.census import meetings, pass_chances
from neardup.types import F64

# Seconds on the machine of benchmarks/RESULTS.md, from runs that plan_check.py compares with predictions. On other
# machines they are multiplied by the pace. Costs that depend on the texts are measured on the sample instead.
PROGRAM_BYTES = 215_000_000
"""The resident memory of a run over a hundred documents."""
START_SECONDS = 0.7
"""CPU seconds to start Python, import libraries and load compiled kernels, from a run over a hundred documents."""
COPY_SECONDS = 0.35e-6
"""Seconds per document to find exact copies."""
MEET_SECONDS = 25e-9
"""Seconds to compare the bits of two documents that meet in a bucket of a few; in a bucket of dozens it takes 3 ns."""
PAIR_SECONDS = 1.5e-6
"""Seconds to lay out a pair for the check and to fetch its sets."""
MERGE_SECONDS = 1.6e-9
"""Seconds to count the shared shingles of two sets, per shingle of either set."""
CLUSTER_SECONDS = 0.5e-6
"""Seconds of clustering, per document with a pair and per pair."""
WRITE_SECONDS = 0.7e-6
"""Seconds to format and write a pair."""
NAME_SECONDS = 0.3e-6
"""Seconds per document to look for repeated ids."""
TOUCH_SECONDS = 0.45e-9
"""Seconds per byte of memory that is used for the first time; the operating system takes most of them."""
SPOOL_SECONDS = 1.5e-9
"""Seconds per byte that is written to a file of the workdir and read back."""
MET_SECONDS = 40e-9
"""Seconds per pair that the exact join meets."""

DOCUMENT_BYTES, PAIRED_BYTES = 24, 110
"""Bytes of memory for each document, and for each document with a pair, while clusters are made."""
COLUMN_BYTES = 40
"""Bytes for each document besides text, signature, keys and id: counts, the hash of the text, and its position."""
OFFSET_BYTES = 8
"""Bytes for the offset of each text in memory."""
GROUP_BYTES = 16
"""Bytes for each row of a band that is being grouped, in every thread."""
CANDIDATE_BYTES = 16
"""Bytes of memory for each meeting of a candidate pair that waits for its check; half as many on disk."""
SHINGLE_BYTES = 20
CHUNK_SHINGLES = 2_000_000
"""The most shingles in the sets that a thread holds, with their texts, while it checks pairs."""
PAIR_BYTES, MOST_PAIRS = 200, 1 << 20
"""Bytes for each pair that is being checked, and the most pairs that are checked at a time."""
BLOCK_BYTES = 12 << 20
"""Bytes for each block of documents that is being read."""
RESULT_BYTES = 40
"""Bytes for each pair found."""
HELD_BYTES = 100 << 20
"""The most bytes of shingles that the exact join holds before it counts them, at four bytes a shingle."""
SET_BYTES, PREFIX_BYTES = 8, 20
"""Bytes in the exact join for each shingle of a remaining document, and for each shingle of its prefix."""
LARGER_TABLE = 2.0
"""The most by which counting a shingle slows down between the table of a trial and one too large for any cache."""
LEAST_NEAR = 0.3
"""The similarity below which a pair matters only through its probability of becoming a candidate."""
MODEL_ERROR = 1.15
"""The factor by which a prediction may be off for reasons other than the size of the sample."""


@dataclass(frozen=True, slots=True)
class Range:
    """A figure and its likely range: two standard errors to each side."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Profile:
    """A collection in numbers. Pairs are pairs of distinct texts, without pairs inside crowds."""

    threshold: float
    documents: int
    distinct: int
    bytes: int
    """The bytes of normalised text."""
    kept_bytes: int
    """The bytes of normalised text that a run with bands keeps."""
    id_bytes: int
    copies: int
    copy_pairs: int
    shingles: int
    """The number of shingles of all distinct texts, with repeats."""
    slots: int
    """The number of slots of the signatures that were compared."""
    pairs: F64
    """float64[slots + 1]: the number of pairs that agree in each number of slots."""
    squares: F64
    """float64[slots + 1]: the sum of the squared weights of the sampled pairs, which gives the standard errors."""
    pair_shingles: F64
    """float64[slots + 1]: the number of shingles of both documents, summed over these pairs."""
    partnered: F64
    """float64[slots + 1]: the number of texts with a partner that agrees in at least that many slots."""
    scale: float
    """The number of pairs in the collection for each near pair in the sample."""
    document_pairs: float
    """The number of document pairs at the threshold or above, with exact copies, without pairs inside crowds."""
    crowds: int
    crowd_texts: float
    crowd_documents: float
    crowd_pairs: float = 0.0
    """The number of document pairs at the threshold or above inside crowds. A run lists only pairs with leaders if a
    bucket reveals the crowd, and all pairs if no bucket does."""
    alike: tuple[F64, F64] | None = None
    """Pairs and squares by agreeing slots of signatures made of the shingles of the check, if candidates are found by
    other shingles. None: the shingles are the same."""

    @property
    def similar(self) -> tuple[F64, F64]:
        """Pairs and squares by agreeing slots of signatures made of the shingles of the check."""
        return (self.pairs, self.squares) if self.alike is None else self.alike


@dataclass(frozen=True, slots=True)
class Speeds:
    """The CPU seconds that one thread takes for a unit of each kind of work."""

    read: float
    """The seconds to read, normalise and hash a byte of text."""
    enter: float
    """The seconds to record the id of a document."""
    sketch: Mapping[int, tuple[float, float]]
    """By number of slots, the seconds of sketching for a byte of text and for a text."""
    key: float
    """The seconds to make a band key, for each slot."""
    group: float
    """The seconds to group a row of a band."""
    build: float
    """The seconds to build a set, for each shingle."""
    pace: float = 1.0
    """The time of a small fixed job, as a multiple of its time on the machine of the constants."""


@dataclass(frozen=True, slots=True)
class JoinTrial:
    """The counts and times of an exact join of a part of the sample."""

    texts: int
    shingles: int
    alive_texts: int
    """The number of texts that could have a partner among the texts of the trial."""
    alive_shingles: int
    met: int
    sift_seconds: float
    """The seconds to count shingles and drop texts."""
    build_seconds: float
    probe_seconds: float

    @property
    def seconds(self) -> float:
        return self.sift_seconds + self.build_seconds + self.probe_seconds


@dataclass(frozen=True, slots=True)
class Setting:
    """The values that define one way to run."""

    slots: int
    bands: Bands
    min_matches: int
    screen: Screen
    recall: float
    """The recall at the threshold, in the shingles that are sketched, less the losses of filter and screen."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The predicted counts and costs of a run."""

    candidates: Range
    checked: Range
    pairs: Range
    """The number of pairs reported: every pair of exact copies counts, and crowds count only pairs with leaders."""
    seconds: Mapping[str, float]
    """The seconds of each stage; ``start`` is the time before the program reads anything."""
    memory: int
    """The peak memory of the process, in bytes."""
    disk: int
    """The bytes of the workdir; 0 if everything fits into memory."""

    @property
    def total_seconds(self) -> float:
        """The seconds of all stages together."""
        return sum(self.seconds.values())


def predict(profile: Profile, speeds: Speeds, setting: Setting, *, budget: Budget, threads: int) -> Estimate:
    """Predict the candidates, checks and costs of a run with bands."""
    met, passed = pass_chances(profile.slots, setting.slots, setting.bands, setting.screen)
    stars, pace = profile.crowd_texts, speeds.pace
    candidates, checked = (_range(profile, (profile.pairs, profile.squares), each, stars) for each in (met, passed))
    pairs = _found(profile)
    # sets are usually built only for texts that the screen leaves with a partner
    cut = int(np.argmax(passed >= 0.5)) if passed.max() >= 0.5 else profile.slots
    involved = min(float(profile.distinct), float(profile.partnered[cut]) + stars)
    near = float(profile.pairs @ passed)
    size = float(profile.pair_shingles @ passed) / near / 2 if near > 0 else profile.shingles / max(profile.distinct, 1)
    merging = float((profile.pair_shingles * _merged(profile.slots, profile.threshold)) @ passed) + stars * 2 * size
    comparing = involved * size * speeds.build + merging * MERGE_SECONDS * pace
    keys = KEY_BYTES * setting.bands.bands * profile.documents
    bits = 8 * setting.screen.words * profile.documents
    lasting = profile.kept_bytes + profile.id_bytes + COLUMN_BYTES * profile.documents + bits + keys
    # all texts of a small collection stay in memory
    fresh = profile.bytes - profile.kept_bytes
    spare = fresh + OFFSET_BYTES * profile.documents
    is_near = spare <= most_near(budget) and lasting + spare <= budget.store
    store = lasting + (spare if is_near else 0)
    spooled = _disk(store, lasting, budget)
    # otherwise the texts of the sets are reread, and laid out in memory or in a file
    again = 0.0 if is_near else involved * size * fresh / max(profile.shingles, 1)
    filed = again if spooled or again > budget.share(MEMORY_PART) else 0.0
    unscreened = 8 * candidates.expected if spooled and bits > budget.share(BITS_PART) else 0.0
    disk = spooled + int(filed + unscreened)
    seconds = {
        **_reading(profile, speeds, speeds.sketch[setting.slots], store, threads),
        "candidates": _pairing(profile, speeds, setting.bands, threads),
        "check": (speeds.read * again + comparing) / threads + checked.expected * PAIR_SECONDS * pace,
        "cluster": (involved + profile.copies + checked.expected) * CLUSTER_SECONDS * pace,
        **_writing(profile, pairs, disk, pace),
    }
    often = np.maximum(1.0, meetings(profile.slots, setting.bands))
    waiting = CANDIDATE_BYTES * float(profile.pairs @ (often * passed))
    grouping = profile.distinct * GROUP_BYTES * min(threads, setting.bands.bands)
    in_hand = threads * SHINGLE_BYTES * min(CHUNK_SHINGLES, involved * size) + again - filed
    pairing = PAIR_BYTES * min(MOST_PAIRS, checked.expected) - keys
    paired = involved + profile.copies
    clusters = DOCUMENT_BYTES * profile.documents + PAIRED_BYTES * paired + RESULT_BYTES * pairs.expected
    stage = max(grouping + waiting, in_hand + waiting + pairing, clusters - keys)
    return Estimate(candidates, checked, pairs, seconds, _memory(profile, budget, threads, store, spooled, stage), disk)


def least_seconds(profile: Profile, speeds: Speeds, slots: int, bands: Bands, *, threads: int) -> float:
    """Return the seconds of a run without its check; they are the same for any screen."""
    reading = _reading(profile, speeds, speeds.sketch[slots], 0, threads)
    writing = _writing(profile, _found(profile), 0, speeds.pace)
    return sum(reading.values()) + _pairing(profile, speeds, bands, threads) + sum(writing.values())


def _pairing(profile: Profile, speeds: Speeds, bands: Bands, threads: int) -> float:
    """Return the seconds to group all bands and to compare the bits of documents that meet."""
    rows = profile.distinct * bands.bands
    met = float(profile.pairs @ meetings(profile.slots, bands))
    return (rows * (speeds.group + speeds.key * bands.rows) + met * MEET_SECONDS * speeds.pace) / threads


def _reading(
    profile: Profile, speeds: Speeds, sketch: tuple[float, float], store: int, threads: int
) -> dict[str, float]:
    """Return the seconds of the stages before banding; ``sketch`` has the seconds for a byte and for a text."""
    per_byte, per_text = sketch
    in_threads = (speeds.read + per_byte) * profile.bytes + per_text * profile.documents
    alone = speeds.enter * profile.documents
    return {
        "start": START_SECONDS * speeds.pace,
        "read": in_threads / threads + alone + TOUCH_SECONDS * speeds.pace * store,
        "copies": COPY_SECONDS * speeds.pace * profile.documents,
    }


def _writing(profile: Profile, pairs: Range, disk: int, pace: float) -> dict[str, float]:
    """Return the seconds to write the output, and the seconds for data that passes through files."""
    write = (pairs.expected * WRITE_SECONDS + profile.documents * NAME_SECONDS) * pace
    return {"write": write, **({"spool": SPOOL_SECONDS * pace * disk} if disk else {})}


def _merged(slots: int, threshold: float) -> F64:
    """Return the share of two sets that is read until the threshold is out of reach, by matching slots.

    If two sets have one size, a share (1 - s) / (1 + s) of each is not in the other; (1 - t) / (1 + t) may be missing.
    """
    similarity = np.arange(slots + 1) / slots
    spare, lacking = (1 - threshold) / (1 + threshold), (1 - similarity) / (1 + similarity)
    share: F64 = np.where(lacking > spare, spare / np.maximum(lacking, 1e-12), 1.0)
    return share


def _range(profile: Profile, counted: tuple[F64, F64], chance: F64, stars: float) -> Range:
    """Return the pairs that remain after a chance by matching slots, with two standard errors of the sampling."""
    pairs, squares = counted
    expected = float(pairs @ chance)
    error = 2 * math.sqrt(float(squares @ (chance * chance)) + expected)
    # if the sample shows no pair, it could still represent up to three (the rule of three)
    high = max(expected + error, 3 * profile.scale if profile.scale > 1 else 0.0)
    return Range(expected + stars, max(0.0, expected - error) / MODEL_ERROR + stars, high * MODEL_ERROR + stars)


def _found(profile: Profile) -> Range:
    """Return the number of pairs reported: the low end lists every crowd through its leader, the high end all pairs."""
    chance = (np.arange(profile.slots + 1) >= profile.threshold * profile.slots).astype(np.float64)
    texts = _range(profile, profile.similar, chance, 0.0)
    copies = profile.document_pairs / texts.expected if texts.expected else 1.0
    fixed = profile.copy_pairs + max(0.0, profile.crowd_documents - profile.crowds)  # the members without their leaders
    high = texts.high * copies + fixed + profile.crowd_pairs * MODEL_ERROR
    return Range(profile.document_pairs + fixed, texts.low * copies + fixed, high)


def _disk(store: int, spooled: int, budget: Budget) -> int:
    """Return the bytes of files, if the store does not fit into memory: the spooled data, and a tenth for pairs."""
    return int(1.1 * spooled) if store > budget.store else 0


def _memory(profile: Profile, budget: Budget, threads: int, store: int, disk: int, stage: float) -> int:
    """Return the peak memory: program, store and largest stage, which is limited to its share if work is on disk."""
    if disk:
        held = DOCUMENT_BYTES * profile.documents + profile.id_bytes
        return int(PROGRAM_BYTES + held + min(stage + store, 0.4 * budget.work))
    reading = BLOCK_BYTES * (threads + 2)
    return int(PROGRAM_BYTES + store + max(stage, reading))


def predict_exact(
    profile: Profile, speeds: Speeds, trials: Sequence[JoinTrial], *, budget: Budget, threads: int
) -> Estimate:
    """Predict the cost of the exact join from joins of parts of the sample.

    Two figures grow with the collection. The share of the texts that could have a partner grows by a fixed amount for
    each doubling. The number of pairs that share a rare shingle grows by a power between 1 and 2.
    """
    last = trials[-1]
    before = trials[-2] if len(trials) > 1 else last
    doublings = math.log2(last.texts / before.texts) if last.texts > before.texts else 1.0
    more = max(0.0, math.log2(max(1.0, profile.distinct / last.texts)))

    def grown(now: float, then: float) -> float:
        return min(1.0, now + max(0.0, now - then) / doublings * more)

    alive = grown(last.alive_shingles / max(last.shingles, 1), before.alive_shingles / max(before.shingles, 1))
    texts = grown(last.alive_texts / last.texts, before.alive_texts / before.texts) * profile.distinct
    power = math.log2(max(1, last.met) / max(1, before.met)) / doublings
    met = last.met * 2 ** (more * min(2.0, max(1.0, power)))
    left = alive * profile.shingles
    pairs = _found(profile)
    pace = speeds.pace
    a_met = last.probe_seconds / last.met if last.met > 10_000 else MET_SECONDS * pace
    store = profile.bytes + profile.id_bytes + COLUMN_BYTES * profile.documents
    disk = _disk(store, store, budget)
    # the smallest sketch approximates the cost of counting shingles
    per_byte, _ = speeds.sketch[min(speeds.sketch)]
    a_sift, then = (each.sift_seconds / max(each.shingles, 1) for each in (last, before))
    sift = min(LARGER_TABLE * a_sift, a_sift + max(0.0, a_sift - then) / doublings * more) * profile.shingles
    build = last.build_seconds / last.alive_shingles if last.alive_shingles else 2 * speeds.build
    seconds = {
        **_reading(profile, speeds, (per_byte, 0.0), store, threads),
        "join": (sift * (1 + alive) + build * left + a_met * met) / threads,
        "cluster": (texts + profile.copies) * CLUSTER_SECONDS * pace,
        **_writing(profile, pairs, disk, pace),
    }
    cells = min(2 ** profile.shingles.bit_length(), 0.33 * budget.work)
    counting = min(HELD_BYTES, 4 * profile.shingles)
    joining = min(left * (SET_BYTES + PREFIX_BYTES * (1 - profile.threshold)), 0.55 * budget.work)
    stage = cells + max(counting, joining)
    counted = Range(met, met / 2, met * 2)
    return Estimate(counted, counted, pairs, seconds, _memory(profile, budget, threads, store, disk, stage), disk)
