"""How fast the real kernels are on a sample: sketching, grouping, building sets, and the exact join on parts of it.

CPU time of this thread is measured, so that other programs disturb little. Each kernel runs once before it is timed:
loading its machine code is a cost of the start, not of the work.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from neardup.cutting import starts_of
from neardup.engine.reading.families import Hashers
from neardup.params import Bands, Spec
from neardup.stages import bands as band_stage
from neardup.stages import join as join_stage
from neardup.stages import shingle as shingle_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages.join import Index, Occurrences, Prefixes
from neardup.stages.shingle import Hasher
from neardup.tasks.plan.costs import JoinTrial, Speeds
from neardup.tasks.plan.profile import Sample, Survey
from neardup.types import I64, U32, Documents, SetBlock

PIECE = 3 << 19
"""Bytes of text on which a kernel is timed."""
CLASSICAL_WORK = 20_000_000
"""Shingles times slots on which a classical family is timed: it takes some nanoseconds for each."""
LONG_TRIAL = 0.5
"""Seconds of a trial of the exact join after which no larger one is made."""
PACE_SECONDS = 1.9e-3
"""What the job that tells the pace takes on the machine of the constants of ``costs``."""
WARM = 8
"""Texts on which a kernel is run before it is timed."""


def sketch_sample(documents: Documents, hasher: Hasher, *, slots: int) -> tuple[U32, I64]:
    """Default signatures of some texts and their shingle counts, whatever family the run will have."""
    values = np.empty((len(documents), slots), dtype=np.uint32)
    counts = np.zeros(len(documents), dtype=np.int64)
    sketch_stage.count_and_sketch(documents, hasher, values=values, counts=counts)
    return values, np.abs(counts)


def measure_speeds(
    found: Survey, sample: Sample, values: U32, counts: I64, hashers: Hashers, spec: Spec, *, slots: Sequence[int]
) -> Speeds:
    """Time the kernels on a sample, whose signatures (uint32[m, any]) and shingle counts (int64[m]) are given.

    Signatures of the lengths ``slots`` are timed, of the family of the spec.
    """
    piece = sample.first(PIECE)
    n = len(piece)
    everyone, weight = np.arange(len(sample)), np.ones(len(sample), dtype=np.int32)

    def group(rows: int) -> None:
        band_stage.group(band_stage.short_keys(values, Bands(1, rows))[0], everyone, weight, limit=1 << 40)

    short, long = _timed(partial(group, 2)), _timed(partial(group, 18))
    key = max(0.0, long - short) / 16 / max(len(sample), 1)
    build = _timed(lambda: shingle_stage.build_sets(piece, hashers.checked, counts[:n]))
    return Speeds(
        read=found.read_seconds / max(found.bytes, 1),
        enter=found.enter_seconds / max(found.documents, 1),
        sketch={each: _sketch_speed(piece, counts[:n], hashers, spec, each) for each in slots},
        key=key,
        group=max(0.0, short / max(len(sample), 1) - 2 * key),
        build=build / max(int(counts[:n].sum()), 1),
        pace=_pace(),
    )


def _pace() -> float:
    """How many times as long as on the machine of the constants a fixed job takes: a sort, and a loop of Python's."""

    def work() -> None:
        np.sort(np.arange(60_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        cells = {}
        for i in range(20_000):
            cells[i * 7919 % 65536] = i

    return min(_timed(work) for _ in range(3)) / PACE_SECONDS


def _timed(work: Callable[[], object]) -> float:
    """CPU seconds of the faster of two runs; the first also loads the machine code."""
    return min(timeit.repeat(work, timer=time.thread_time, repeat=2, number=1))


def _sketch_speed(piece: Documents, counts: I64, hashers: Hashers, spec: Spec, slots: int) -> tuple[float, float]:
    """CPU seconds for each byte and for each text, from a run on the shorter half of the texts and one on the rest."""
    if len(piece) < 2 * WARM:
        return 0.0, 0.0
    if spec.sketch != "hybrid":
        return _classical_speed(piece, counts, hashers.checked, spec, slots), 0.0

    def sketch(documents: Documents) -> None:
        sketch_sample(documents, hashers.sketched, slots=slots)
        if hashers.checked is not hashers.sketched:
            sketch_sample(documents, hashers.checked, slots=1)

    sizes = np.diff(piece.offsets)
    order = np.argsort(sizes, kind="stable")
    sketch(piece.slice(0, WARM))
    halves = []
    for rows in (np.sort(order[: order.size // 2]), np.sort(order[order.size // 2 :])):
        part = Documents.from_bytes(piece.blob(i) for i in rows.tolist())
        halves.append((part.nbytes, len(part), _timed(partial(sketch, part))))
    (bytes_a, texts_a, a), (bytes_b, texts_b, b) = halves
    if determinant := bytes_a * texts_b - bytes_b * texts_a:
        a_byte = (a * texts_b - b * texts_a) / determinant
        a_text = (bytes_a * b - bytes_b * a) / determinant
        if a_byte > 0 and a_text >= 0:
            return a_byte, a_text
    return (a + b) / max(1, bytes_a + bytes_b), 0.0  # too even to tell them apart


def _classical_speed(piece: Documents, counts: I64, hasher: Hasher, spec: Spec, slots: int) -> float:
    """CPU seconds for each byte of a classical family: sets first, then slots times shingles."""
    ends = np.cumsum(counts)
    n = max(1, int(np.searchsorted(ends, CLASSICAL_WORK // slots, side="right")))
    some = piece.slice(0, min(n, len(piece)))

    def work() -> object:
        sets = shingle_stage.build_sets(some, hasher, counts[: len(some)])
        return sketch_stage.sketch_sets(sets, family=spec.sketch, slots=slots, seed=spec.seed)

    return _timed(work) / max(1, some.nbytes)


def try_join(sample: Sample, counts: I64, hasher: Hasher, threshold: float, *, most: int) -> list[JoinTrial]:
    """The exact join on the first quarter, half and whole of what ``most`` bytes of the sample hold."""
    trials: list[JoinTrial] = []
    for size in (most // 4, most // 2, most):
        piece = sample.first(size)
        if len(piece) and (not trials or len(piece) > trials[-1].texts):
            if not trials:
                _join(piece.slice(0, min(WARM, len(piece))), counts[:WARM], hasher, threshold)
            trial = _join(piece, counts[: len(piece)], hasher, threshold)
            if trial.seconds < LONG_TRIAL:  # else noise does not matter
                again = _join(piece, counts[: len(piece)], hasher, threshold)
                steps = ("sift_seconds", "build_seconds", "probe_seconds")
                trial = replace(trial, **{step: min(getattr(trial, step), getattr(again, step)) for step in steps})
            trials.append(trial)
            if trial.seconds >= LONG_TRIAL:
                break
    return trials


def _join(documents: Documents, counts: I64, hasher: Hasher, threshold: float) -> JoinTrial:
    """One join of a few texts, as ``engine.joins.exact`` does it, with its steps timed."""
    total = int(counts.sum())
    bits = max(12, min(total.bit_length(), 26))
    everyone = np.arange(len(documents))
    begin = time.thread_time()
    table = Occurrences(bits, is_across=False)
    raw, values = np.empty(total, dtype=np.uint32), np.empty(total, dtype=np.uint32)
    met = join_stage.cells(documents, everyone, hasher, bits=bits, side=3, raw=raw, values=values)
    table.count([met], 0, table.parts)
    rarity = table.rarity()
    alive = np.flatnonzero(join_stage.survivors(documents, everyone, counts, hasher, rarity, threshold))
    sifted = time.thread_time()
    starts = starts_of(counts[alive])
    sizes = np.empty(alive.size, dtype=np.int64)
    sets = np.empty(int(starts[-1]), dtype=np.uint64)
    shingle_stage.build_rows(documents, alive, counts[alive], hasher, starts, sizes, sets)
    order = np.argsort(sizes, kind="stable")
    sides = np.full(alive.size, 3, dtype=np.uint8)
    block = SetBlock(alive[order], sides, starts[:-1][order], sizes[order], sets)
    prefixes = Prefixes(block, rarity, threshold)
    index = Index(prefixes)
    indexed = time.thread_time()
    found = list(index.probe(prefixes, 0, alive.size))
    done = time.thread_time()
    return JoinTrial(
        texts=len(documents),
        shingles=total,
        alive_texts=int(alive.size),
        alive_shingles=int(counts[alive].sum()),
        met=sum(each.candidates_met for each in found),
        sift_seconds=sifted - begin,
        build_seconds=indexed - sifted,
        probe_seconds=done - indexed,
    )
