"""A collection measured: the survey, the census of its sample and the speeds, put together for predictions."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import numpy as np

from neardup.engine.fit import SAMPLE, Hint, beginning, text_hints
from neardup.engine.observe import Observer
from neardup.engine.reading.families import Hashers
from neardup.engine.space import Budget
from neardup.inputs.reader import Reader
from neardup.params import RunOptions, Spec
from neardup.session import limit_records
from neardup.tasks.plan.census import Census, documents_with_partner, find_crowds, take_census
from neardup.tasks.plan.costs import (
    LEAST_NEAR,
    Estimate,
    JoinTrial,
    Profile,
    Range,
    Setting,
    Speeds,
    predict,
    predict_exact,
)
from neardup.tasks.plan.outcome import Collected, Option
from neardup.tasks.plan.profile import Sample, Survey, survey
from neardup.tasks.plan.speeds import measure_speeds, sketch_sample, try_join
from neardup.types import F64, I64

CENSUS_SLOTS = 512
SAMPLE_BYTES, SAMPLE_TEXTS = 48 << 20, 40_000
JOIN_BYTES = 4 << 20
"""Text on which the exact join is tried."""
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
BINS = 20
"""Of the histogram of similarities."""


@dataclass(frozen=True, slots=True)
class MeasuredCollection:
    """What was measured, ready for predictions."""

    collected: Collected
    profile: Profile
    speeds: Speeds
    trials: list[JoinTrial]
    budget: Budget
    threads: int
    hints: tuple[Hint, ...]
    """What of the texts does not fit the setting."""

    @classmethod
    def of(
        cls, reader: Reader, spec: Spec, lengths: set[int], run: RunOptions, observer: Observer
    ) -> MeasuredCollection:
        """Read everything, then measure a sample for signatures of these lengths, within the memory of the run."""
        budget = Budget.of(run.memory_limit)
        limit_records(reader, budget, run.workers)
        threads = budget.threads(run.workers)
        observer.stage("read", reader.total_bytes, "bytes")
        with closing(reader.tasks(threads)) as tasks:
            found, sample = survey(
                tasks,
                spec,
                threads=threads,
                observer=observer,
                most_bytes=min(SAMPLE_BYTES, budget.share(0.1)),
                most_texts=min(SAMPLE_TEXTS, budget.share(0.2) // (4 * CENSUS_SLOTS)),
            )
        observer.stage("sample", None, "texts")
        hashers, slots = Hashers.of(spec), max(CENSUS_SLOTS, *lengths)
        values, counts = sketch_sample(sample.documents, hashers.checked, slots=slots)
        census = take_census(values, threads=threads)
        met = None
        if spec.candidates_by is not None:
            values, _ = sketch_sample(sample.documents, hashers.sketched, slots=slots)
            met = census.agreeing(values, threads=threads)
        profile = _profile(found, sample, counts, census, spec, met)
        speeds = measure_speeds(found, sample, values, counts, hashers, spec, slots=sorted(lengths))
        trials = try_join(sample, counts, hashers.checked, spec.threshold, most=min(JOIN_BYTES, budget.share(0.03)))
        fitted = min(SAMPLE, len(sample))
        hints = text_hints([beginning(sample.documents, i) for i in range(fitted)], counts[:fitted], spec)
        collected = _collected(found, sample, profile, reader)
        return cls(collected, profile, speeds, trials, budget, threads, tuple(hints))

    def predict(self, setting: Setting) -> Estimate:
        return predict(self.profile, self.speeds, setting, budget=self.budget, threads=self.threads)

    def option(self, setting: Setting) -> Option:
        return Option.of(setting, self.predict(setting))

    @property
    def exact(self) -> Estimate | None:
        if not self.trials:
            return None
        return predict_exact(self.profile, self.speeds, self.trials, budget=self.budget, threads=self.threads)


def _collected(found: Survey, sample: Sample, profile: Profile, reader: Reader) -> Collected:
    n = found.documents
    return Collected(
        documents=n,
        bytes=found.read_bytes,
        bad=found.bad,
        distinct=found.distinct,
        exact_copies=found.copies,
        sizes={f"{q:g}": int(found.sizes[min(n - 1, int(q * n))]) for q in QUANTILES} if n else {},
        sampled=len(sample),
        sampled_bytes=sample.documents.nbytes,
        similarity=_histogram(profile),
        crowds=profile.crowds,
        crowd_documents=round(profile.crowd_documents),
        blank=found.blank,
        passed_over=reader.passed_over,
        columns=reader.columns,
    )


def _histogram(profile: Profile) -> tuple[Range, ...]:
    place = np.minimum(np.arange(profile.slots + 1) * BINS // profile.slots, BINS - 1)
    pairs, squares = (np.bincount(place, counted, minlength=BINS) for counted in profile.similar)
    error = 2 * np.sqrt(squares)
    return tuple(
        Range(float(count), max(0.0, float(count - off)), float(count + off))
        for count, off in zip(pairs, error, strict=True)
    )


def _profile(found: Survey, sample: Sample, counts: I64, census: Census, spec: Spec, met_slots: I64 | None) -> Profile:
    """The collection in numbers, from those of its sample.

    ``met_slots`` are the slots in which the signatures of each pair agree where candidates are found by others than
    those that the census is of.
    """
    m, n = len(sample), found.distinct
    larger = n / m if m else 1.0
    scale = n * (n - 1) / (m * (m - 1)) if m > 1 else 1.0
    near = n / census.near_texts if census.near_texts else 1.0
    least = spec.threshold * census.slots
    crowded = find_crowds(census, sample.weight, least=least, scale=near, limit=spec.crowd)
    free = ~crowded.inside
    left, right, matches = census.left[free], census.right[free], census.matches[free]
    weight = census.weight[free] * scale

    def sums(of: F64, at: I64) -> F64:
        return np.bincount(at, of, minlength=census.slots + 1).astype(np.float64)

    met = matches if met_slots is None else met_slots[free]
    spread = _clustering(left, right, matches, weight, census.slots) * (1 - 1 / larger)
    least_near = min(LEAST_NEAR, spec.banded_at)
    similar = matches >= least
    copies = sample.weight[left[similar]] * sample.weight[right[similar]]
    document_pairs = float((weight[similar] * (1 if spec.collapse_exact else copies)).sum())
    inside = crowded.inside & (census.matches >= least)
    of_texts = 1 if spec.collapse_exact else sample.weight[census.left[inside]] * sample.weight[census.right[inside]]
    return Profile(
        threshold=spec.threshold,
        documents=found.documents,
        distinct=n,
        bytes=found.bytes,
        kept_bytes=found.kept_bytes,
        id_bytes=found.id_bytes,
        copies=found.copies,
        copy_pairs=0 if spec.collapse_exact else found.copy_pairs,
        shingles=int(counts.sum() * found.bytes / max(int(sample.weight @ np.diff(sample.documents.offsets)), 1)),
        slots=census.slots,
        pairs=sums(weight, met),
        squares=sums(weight * weight, met) * spread,
        pair_shingles=sums(weight * (counts[left] + counts[right]), met),
        partnered=_partnered(left, right, met, census.slots, 1 / near, least_near),
        scale=scale if larger > 1 else 1.0,
        document_pairs=document_pairs,
        crowds=crowded.crowds,
        crowd_texts=crowded.texts * near,
        crowd_documents=crowded.documents * near,
        crowd_pairs=float((census.weight[inside] * scale * of_texts).sum()),
        alike=None if met_slots is None else (sums(weight, matches), sums(weight * weight, matches) * spread),
    )


def _clustering(left: I64, right: I64, matches: I64, weight: F64, slots: int) -> float:
    """How much larger the variance is than if pairs were drawn one by one: texts are drawn, with all their pairs."""
    near = matches >= slots / 2
    if not near.any():
        return 1.0
    own = weight[near]
    size = int(max(left.max(), right.max())) + 1
    of_text = np.bincount(left[near], own, minlength=size) + np.bincount(right[near], own, minlength=size)
    return max(1.0, float(of_text @ of_text / (2 * (own @ own))))


def _partnered(left: I64, right: I64, matches: I64, slots: int, share: float, least: float) -> F64:
    """float64[slots + 1]: texts with a partner in at least so many slots; below a share ``least`` as there."""
    near = matches >= least * slots
    left, right, matches = left[near], right[near], matches[near]
    grid = np.unique(np.linspace(int(least * slots), slots, 15).astype(np.int64))
    seen = [documents_with_partner(left[at], right[at], share=share) for at in (matches >= count for count in grid)]
    return np.interp(np.arange(slots + 1), grid, seen)
