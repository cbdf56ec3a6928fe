"""The costs of a run on a machine that does nothing else, as pure functions of measurements."""

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

# Seconds on the machine of benchmarks/RESULTS.md, from runs that plan_check.py compares with predictions; elsewhere
# they are multiplied by the pace. What depends on the texts is measured on the sample instead.
PROGRAM_BYTES = 215_000_000
"""Resident memory of a run over a hundred documents."""
START_SECONDS = 0.7
"""CPU seconds to start Python, import libraries and load compiled kernels: those of a run over a hundred documents."""
COPY_SECONDS = 0.35e-6
"""Finding exact copies, a document."""
MEET_SECONDS = 25e-9
"""Comparing the bits of two documents that meet in a bucket of few; in a bucket of dozens it takes 3 ns."""
PAIR_SECONDS = 1.5e-6
"""Laying out a pair that is checked, and fetching its sets."""
MERGE_SECONDS = 1.6e-9
"""Counting what two sets share, a shingle of both."""
CLUSTER_SECONDS = 0.5e-6
"""Clusters, a document with a pair or a pair."""
WRITE_SECONDS = 0.7e-6
"""Spelling a pair out and writing it."""
NAME_SECONDS = 0.3e-6
"""Looking for repeated ids, a document."""
TOUCH_SECONDS = 0.45e-9
"""Memory that is used for the first time, a byte: most of it is the system's work."""
SPOOL_SECONDS = 1.5e-9
"""A byte that goes to a file of the workdir and is read again."""
MET_SECONDS = 40e-9
"""A pair that the exact join meets."""

DOCUMENT_BYTES, PAIRED_BYTES = 24, 110
"""Memory for each document, and for each that has a pair, while clusters are made."""
COLUMN_BYTES = 40
"""For each document beside text, signature, keys and id: counts, hash of the text, where it lies."""
OFFSET_BYTES = 8
"""The place of each text that is at hand."""
GROUP_BYTES = 16
"""For each row of a band that is grouped, in every thread."""
CANDIDATE_BYTES = 16
"""Memory for each meeting of a candidate that waits to be checked; half of that on disk."""
SHINGLE_BYTES = 20
CHUNK_SHINGLES = 2_000_000
"""Shingles of the sets that a thread holds while pairs are checked, with their texts."""
PAIR_BYTES, MOST_PAIRS = 200, 1 << 20
"""For each pair that is being checked, and as many as are at a time."""
BLOCK_BYTES = 12 << 20
"""For each block of documents that is being read."""
RESULT_BYTES = 40
"""For each pair that is found."""
HELD_BYTES = 100 << 20
"""Cells of shingles that the exact join holds at most before they are counted; each takes four bytes."""
SET_BYTES, PREFIX_BYTES = 8, 20
"""In the exact join, for each shingle of a document that is left, and for each of its prefix."""
LARGER_TABLE = 2.0
"""Most that counting a shingle slows down from the table of a trial to one that no cache holds."""
LEAST_NEAR = 0.3
"""Similarity below which a pair matters only by its probability of becoming a candidate."""
MODEL_ERROR = 1.15
"""Factor by which a prediction may be off for other reasons than the size of the sample."""


@dataclass(frozen=True, slots=True)
class Range:
    """A figure, and the range in which it may lie: two standard errors to each side."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Profile:
    """A collection in numbers. Pairs are those of distinct texts, those inside crowds left out."""

    threshold: float
    documents: int
    distinct: int
    bytes: int
    """Of normalised text."""
    kept_bytes: int
    """Of them, those that a run with bands keeps."""
    id_bytes: int
    copies: int
    copy_pairs: int
    shingles: int
    """Of all distinct texts, with repeats."""
    slots: int
    """Of the signatures that were compared."""
    pairs: F64
    """float64[slots + 1]: pairs that agree in so many slots."""
    squares: F64
    """float64[slots + 1]: the squares of the weights of the sampled pairs, summed, from which errors follow."""
    pair_shingles: F64
    """float64[slots + 1]: the shingles of both documents, summed over these pairs."""
    partnered: F64
    """float64[slots + 1]: texts that have a partner in at least so many slots."""
    scale: float
    """Pairs of the collection for each near pair of the sample."""
    document_pairs: float
    """Pairs of documents at the threshold or above, copies spelled out, pairs inside crowds left out."""
    crowds: int
    crowd_texts: float
    crowd_documents: float
    crowd_pairs: float = 0.0
    """Pairs of documents at the threshold or above inside crowds. A run lists them as stars if a bucket shows it the
    crowd, and one by one if none does."""
    alike: tuple[F64, F64] | None = None
    """Pairs and squares by the slots in which signatures of the shingles of the check agree, where candidates are found
    by others; None: they are the same."""

    @property
    def similar(self) -> tuple[F64, F64]:
        """Pairs and squares by the slots in which signatures of the shingles of the check agree."""
        return (self.pairs, self.squares) if self.alike is None else self.alike


@dataclass(frozen=True, slots=True)
class Speeds:
    """CPU seconds of one thread."""

    read: float
    """A byte of text: reading, normalising, hashing."""
    enter: float
    """A document: taking note of its id."""
    sketch: Mapping[int, tuple[float, float]]
    """By slots: a byte of text, and a text."""
    key: float
    """A slot of a band key."""
    group: float
    """A row of a band."""
    build: float
    """A shingle of a set that is built."""
    pace: float = 1.0
    """How many times as long as on the machine of the constants a small fixed job takes."""


@dataclass(frozen=True, slots=True)
class JoinTrial:
    """An exact join of a part of the sample."""

    texts: int
    shingles: int
    alive_texts: int
    """Texts that could have a partner among these."""
    alive_shingles: int
    met: int
    sift_seconds: float
    """Counting shingles, dropping texts."""
    build_seconds: float
    probe_seconds: float

    @property
    def seconds(self) -> float:
        return self.sift_seconds + self.build_seconds + self.probe_seconds


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to run."""

    slots: int
    bands: Bands
    min_matches: int
    screen: Screen
    recall: float
    """For a pair at the threshold, in the shingles that are sketched, less what filter and screen may lose."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The predicted counts and costs of a run."""

    candidates: Range
    checked: Range
    pairs: Range
    """Pairs that are reported: copies spelled out, crowds as stars."""
    seconds: Mapping[str, float]
    """The seconds of each stage; ``start`` is the time before the program reads anything."""
    memory: int
    """The peak memory of the process, in bytes."""
    disk: int
    """Bytes of the workdir; 0 when everything fits into memory."""

    @property
    def total_seconds(self) -> float:
        """All stages."""
        return sum(self.seconds.values())


def predict(profile: Profile, speeds: Speeds, setting: Setting, *, budget: Budget, threads: int) -> Estimate:
    """Predict the candidates, checks and costs of a run with bands."""
    met, passed = pass_chances(profile.slots, setting.slots, setting.bands, setting.screen)
    stars, pace = profile.crowd_texts, speeds.pace
    candidates, checked = (_range(profile, (profile.pairs, profile.squares), each, stars) for each in (met, passed))
    pairs = _found(profile)
    # sets are built of texts with a partner that the screen passes, as a rule
    cut = int(np.argmax(passed >= 0.5)) if passed.max() >= 0.5 else profile.slots
    involved = min(float(profile.distinct), float(profile.partnered[cut]) + stars)
    near = float(profile.pairs @ passed)
    size = float(profile.pair_shingles @ passed) / near / 2 if near > 0 else profile.shingles / max(profile.distinct, 1)
    merging = float((profile.pair_shingles * _merged(profile.slots, profile.threshold)) @ passed) + stars * 2 * size
    comparing = involved * size * speeds.build + merging * MERGE_SECONDS * pace
    keys = KEY_BYTES * setting.bands.bands * profile.documents
    bits = 8 * setting.screen.words * profile.documents
    lasting = profile.kept_bytes + profile.id_bytes + COLUMN_BYTES * profile.documents + bits + keys
    # all texts of a small collection are at hand
    fresh = profile.bytes - profile.kept_bytes
    spare = fresh + OFFSET_BYTES * profile.documents
    is_near = spare <= most_near(budget) and lasting + spare <= budget.store
    store = lasting + (spare if is_near else 0)
    spooled = _disk(store, lasting, budget)
    # else the texts of the sets are read again, and laid down in memory or in a file
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
    """Return the seconds of a run without its check, which are the same for any screen."""
    reading = _reading(profile, speeds, speeds.sketch[slots], 0, threads)
    writing = _writing(profile, _found(profile), 0, speeds.pace)
    return sum(reading.values()) + _pairing(profile, speeds, bands, threads) + sum(writing.values())


def _pairing(profile: Profile, speeds: Speeds, bands: Bands, threads: int) -> float:
    """Return the seconds of grouping all bands, and of comparing the bits of documents that meet."""
    rows = profile.distinct * bands.bands
    met = float(profile.pairs @ meetings(profile.slots, bands))
    return (rows * (speeds.group + speeds.key * bands.rows) + met * MEET_SECONDS * speeds.pace) / threads


def _reading(
    profile: Profile, speeds: Speeds, sketch: tuple[float, float], store: int, threads: int
) -> dict[str, float]:
    """Seconds of the stages before pairs are looked for; ``sketch`` is what a byte and a text take to be sketched."""
    per_byte, per_text = sketch
    in_threads = (speeds.read + per_byte) * profile.bytes + per_text * profile.documents
    alone = speeds.enter * profile.documents
    return {
        "start": START_SECONDS * speeds.pace,
        "read": in_threads / threads + alone + TOUCH_SECONDS * speeds.pace * store,
        "copies": COPY_SECONDS * speeds.pace * profile.documents,
    }


def _writing(profile: Profile, pairs: Range, disk: int, pace: float) -> dict[str, float]:
    """Seconds of the output, and of what goes through files."""
    write = (pairs.expected * WRITE_SECONDS + profile.documents * NAME_SECONDS) * pace
    return {"write": write, **({"spool": SPOOL_SECONDS * pace * disk} if disk else {})}


def _merged(slots: int, threshold: float) -> F64:
    """Share of two sets that is looked at until their overlap is out of reach, by matching slots.

    Of two sets of one size a share (1 - s) / (1 + s) of each is not in the other; (1 - t) / (1 + t) may be.
    """
    similarity = np.arange(slots + 1) / slots
    spare, lacking = (1 - threshold) / (1 + threshold), (1 - similarity) / (1 + similarity)
    share: F64 = np.where(lacking > spare, spare / np.maximum(lacking, 1e-12), 1.0)
    return share


def _range(profile: Profile, counted: tuple[F64, F64], chance: F64, stars: float) -> Range:
    """Pairs that a chance by matching slots leaves, and two standard errors of the sampling."""
    pairs, squares = counted
    expected = float(pairs @ chance)
    error = 2 * math.sqrt(float(squares @ (chance * chance)) + expected)
    # none seen in the sample: up to three could be there (the rule of three)
    high = max(expected + error, 3 * profile.scale if profile.scale > 1 else 0.0)
    return Range(expected + stars, max(0.0, expected - error) / MODEL_ERROR + stars, high * MODEL_ERROR + stars)


def _found(profile: Profile) -> Range:
    """Return how many pairs of documents will be reported: at least with every crowd as a star, at most with none."""
    chance = (np.arange(profile.slots + 1) >= profile.threshold * profile.slots).astype(np.float64)
    texts = _range(profile, profile.similar, chance, 0.0)
    copies = profile.document_pairs / texts.expected if texts.expected else 1.0
    fixed = profile.copy_pairs + max(0.0, profile.crowd_documents - profile.crowds)  # a star has a pair less
    high = texts.high * copies + fixed + profile.crowd_pairs * MODEL_ERROR
    return Range(profile.document_pairs + fixed, texts.low * copies + fixed, high)


def _disk(store: int, spooled: int, budget: Budget) -> int:
    """Bytes of files, where what is held does not fit: what goes there, and a tenth for pairs."""
    return int(1.1 * spooled) if store > budget.store else 0


def _memory(profile: Profile, budget: Budget, threads: int, store: int, disk: int, stage: float) -> int:
    """Peak: program, what is held all along, and the largest stage, which keeps to its share where work is on disk."""
    if disk:
        held = DOCUMENT_BYTES * profile.documents + profile.id_bytes
        return int(PROGRAM_BYTES + held + min(stage + store, 0.4 * budget.work))
    reading = BLOCK_BYTES * (threads + 2)
    return int(PROGRAM_BYTES + store + max(stage, reading))


def predict_exact(
    profile: Profile, speeds: Speeds, trials: Sequence[JoinTrial], *, budget: Budget, threads: int
) -> Estimate:
    """What the exact join will cost, from joins of parts of the sample.

    Two figures grow with the collection: the share of the texts that could have a partner, by a fixed amount for each
    doubling, and the number of pairs that share a rare shingle, by a power between 1 and 2.
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
    # the least sketch there is stands for counting shingles
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
