"""A cluster beside one machine: from what size on it pays, and what would end a run on it or make it slow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from neardup.engine.space import Budget
from neardup.shown import counted, megabytes
from neardup.stages.numbering import most_documents
from neardup.tasks.plan.cluster import ClusterEstimate, Pieces, Shape, predict_cluster
from neardup.tasks.plan.costs import DOCUMENT_BYTES, LEAST_NEAR, Profile, Setting, Speeds, predict

STEPS, PER_DECADE, DECADES = 40, 4, 10
"""Of the search for the break-even."""


@dataclass(frozen=True, slots=True)
class BreakEven:
    """From how many documents of the kind that was planned for a cluster is the better choice."""

    documents: float
    bytes: float
    """Of text."""
    is_limit: bool
    """Whether one machine is as fast up to there, and cannot take more."""


def grown(profile: Profile, factor: float) -> Profile:
    """So many times the collection, of documents of the same kind: each has as many near-duplicates as it has here.

    Pairs below ``LEAST_NEAR`` are those of any two documents, so there are ``factor`` squared as many.
    """
    slots = np.arange(profile.slots + 1)
    times = np.where(slots >= LEAST_NEAR * profile.slots, factor, factor * factor)
    whole = {
        name: round(getattr(profile, name) * factor)
        for name in (
            *("documents", "distinct", "bytes", "kept_bytes", "long_documents", "id_bytes", "copies", "copied"),
            *("copy_pairs", "shingles"),
        )
    }
    return replace(
        profile,
        **whole,
        pairs=profile.pairs * times,
        squares=profile.squares * times,
        pair_shingles=profile.pair_shingles * times,
        partnered=profile.partnered * factor,
        document_pairs=profile.document_pairs * factor,
        crowd_texts=profile.crowd_texts * factor,
        crowd_documents=profile.crowd_documents * factor,
        alike=None if profile.alike is None else (profile.alike[0] * times, profile.alike[1] * times),
    )


def fits_one_machine(profile: Profile, setting: Setting, budget: Budget) -> bool:
    """Whether one machine can take a collection, with what does not fit into its memory in files."""
    is_numbered = profile.documents <= most_documents(setting.bands.bands + 1)
    return is_numbered and DOCUMENT_BYTES * profile.documents <= 0.9 * budget.work


def break_even(
    profile: Profile,
    speeds: Speeds,
    setting: Setting,
    pieces: Pieces,
    shape: Shape,
    *,
    budget: Budget,
    threads: int,
) -> BreakEven | None:
    """From how many documents like these on a cluster takes less time than one machine of ``budget`` and ``threads``.

    None: where nothing is to be compared.
    """
    if not profile.documents:
        return None

    def cluster_is_better(documents: float) -> bool:
        factor = documents / profile.documents
        large = grown(profile, factor)
        if not fits_one_machine(large, setting, budget):
            return True
        here = predict(large, speeds, setting, budget=budget, threads=threads).total_seconds
        there = predict_cluster(large, speeds, setting, pieces.grown(factor), shape)
        return there.seconds.expected < here

    sizes = [10 ** (3 + i / PER_DECADE) for i in range(DECADES * PER_DECADE)]
    first = next(i for i, size in enumerate(sizes) if cluster_is_better(size) or i == len(sizes) - 1)
    low, high = sizes[max(0, first - 1)], sizes[first]
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if cluster_is_better(middle) else (middle, high)
        if high / low < 1.01:
            break
    is_limit = not fits_one_machine(grown(profile, high * 1.02 / profile.documents), setting, budget)
    return BreakEven(high, high * profile.bytes / profile.documents, is_limit)


def warnings_of(
    found: ClusterEstimate, setting: Setting, pieces: Pieces, shape: Shape, driver: Budget
) -> Iterator[str]:
    """What would end a run on a cluster, or make it slow, and the cure."""
    tags, known = setting.bands.bands + 1, found.known.expected
    if known > most_documents(tags):
        yield (
            f"about {known / 1e9:.3g} billion documents have a copy or a candidate pair, and the driver can number the "
            f"pairs of {most_documents(tags) / 1e9:.3g} billion with {setting.bands.bands} bands: the run would end "
            "with an error. Remove exact copies first, or work on parts of the collection."
        )
    if found.driver_memory.expected > driver.limit:
        yield (
            f"the driver needs about {megabytes(found.driver_memory.expected)} for {known:,.0f} documents with a copy "
            f"or a candidate pair, and --memory (memory=) is {megabytes(driver.limit)}. Take a driver with more."
        )
    python = shape.memory - shape.jvm
    if found.worker_memory > python:
        yield (
            f"the Python process of a core needs about {megabytes(found.worker_memory)}, and of the "
            f"{megabytes(shape.memory)} of a core the JVM leaves {megabytes(max(0, python))}. Give executors more "
            "memory, or fewer cores."
        )
    stages = {stage.name: stage for stage in found.stages}
    is_long = stages["read"].seconds > 0.1 * found.seconds.expected
    if is_long and pieces.count > 1 and pieces.share * min(shape.cores, pieces.count) > 2:
        yield (
            f"one piece of the input has {pieces.share:.0%} of it, and is read by one core while others wait. Give "
            "many files, or formats that can be cut: Parquet, or JSONL that is not compressed."
        )
    elif is_long and pieces.count < shape.cores:
        yield (
            f"the input is read in {counted(pieces.count, 'task')}, so that {shape.cores - pieces.count:,} of "
            f"{shape.cores:,} cores have nothing to read. Take fewer cores; or more files, where they are compressed."
        )
