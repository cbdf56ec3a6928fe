"""The pool: pairs of documents, their similarity under each setting, and how many of the collection each stands for.

All pairs at or above a floor under any setting, found by the exact join. The floor of a setting is the lowest threshold
at which a document has at most so many partners on average: below it nearly all of what is found is wrong.

Not here: which documents those are of a large collection, and with what weight (``sampling``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from neardup.engine.observe import Observer, Silent
from neardup.params import Normalize, Shingle
from neardup.stages import join as join_stage
from neardup.stages.join import Index, Occurrences, Prefixes
from neardup.stages.shingle import Hasher, build_padded
from neardup.stages.text import normalize_documents
from neardup.stages.verify import check_pairs
from neardup.tasks.tune.cells import F32
from neardup.tasks.tune.grid import THRESHOLDS, Setting
from neardup.tasks.tune.sampling import DRAWN_BY
from neardup.types import F64, I64, Documents, PaddedSets, SetBlock

PARTNERS = 100
"""Of a document, on average, from which a threshold is below the floor of its setting."""
PILOT = 20_000
"""Random pairs from which the floors are known."""
FEW = 200
"""Documents up to which all pairs are in the pool."""
LEAST_BITS, MOST_BITS = 12, 26
"""Of the table in which the join counts how rare shingles are."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Pairs from which questions are chosen and on which cells are counted."""

    left: I64
    """int64[m]: rows of the texts, ``left < right``."""
    right: I64
    similarity: F32
    """float32[m, k]: exact, under each setting."""
    weight: F64
    """float64[m]: pairs of the collection that each stands for: one over its probability of being in the pool."""
    settings: tuple[Setting, ...]
    floors: F64
    """float64[k]: thresholds from which all pairs are in the pool; 2 where there is none."""
    equal: float = 0.0
    """Pairs of equal texts in the collection: duplicates that every setting finds. They are not in the arrays."""

    def __len__(self) -> int:
        return self.left.size


def make_pool(
    documents: Documents,
    settings: tuple[Setting, ...],
    *,
    seed: int,
    weigh: Callable[[I64, I64, F64], F64] | None = None,
    equal: float = 0.0,
    total: int | None = None,
    observer: Observer | None = None,
) -> Pool:
    """The pool of some distinct texts, of a collection of ``total`` documents; None: they are all of it.

    ``weigh``: how many pairs one stands for, by its rows and its similarity under DRAWN_BY, where the texts are a
    sample; 1 each if None. The settings must have DRAWN_BY then. Memory: 4 bytes for each pair and setting, beside the
    sets of one setting.
    """
    tell = observer or Silent()
    tell.stage("pairs", 2 * len(settings), "settings")
    n = len(documents)
    floors = np.full(len(settings), 2.0)
    keys = np.empty(0, dtype=np.int64)
    population = n if total is None else total
    pilot, pilot_weight = _random_pairs(n, seed), np.ones(PILOT if n > 1 else 0)
    normalized = {each.normalize: Normalize.parse(each.normalize) for each in settings}
    texts = {name: normalize_documents(documents, how) for name, how in normalized.items()}

    def sets_of(setting: Setting) -> PaddedSets:
        return build_padded(texts[setting.normalize], Hasher.private(Shingle.parse(setting.shingle)))

    if weigh is not None and n > FEW:
        sets = sets_of(DRAWN_BY)
        pilot_weight = weigh(*pilot, np.maximum(check_pairs(*pilot, sets, sets, threshold=0.0), 0.0))
    for k in range(len(settings)):
        sets = sets_of(settings[k])
        floors[k] = _floor(check_pairs(*pilot, sets, sets, threshold=0.0), pilot_weight, n, population)
        if floors[k] <= 1:
            keys = np.union1d(keys, _joined(texts[settings[k].normalize], settings[k], floors[k]))
        tell.advance(1)
    if n <= FEW:
        a, b = np.triu_indices(n, 1)
        keys = a.astype(np.int64) << 32 | b
    left, right = keys >> 32, keys & 0xFFFFFFFF
    similarity = np.empty((keys.size, len(settings)), dtype=np.float32)
    for k, setting in enumerate(settings):
        sets = sets_of(setting)
        similarity[:, k] = np.maximum(check_pairs(left, right, sets, sets, threshold=0.0), 0.0)
        tell.advance(1)
    weight = np.ones(keys.size)
    if weigh is not None:
        weight = weigh(left, right, similarity[:, settings.index(DRAWN_BY)].astype(np.float64))
    return Pool(left, right, similarity, weight, settings, floors, equal)


def _random_pairs(n: int, seed: int) -> tuple[I64, I64]:
    """Pairs of different rows."""
    rng = np.random.default_rng(seed)
    left = rng.integers(n, size=PILOT if n > 1 else 0)
    right = (left + rng.integers(1, max(n, 2), size=left.size)) % max(n, 1)
    return np.minimum(left, right).astype(np.int64), np.maximum(left, right).astype(np.int64)


def _floor(similarity: F64, weight: F64, n: int, population: int) -> float:
    """The lowest threshold at which a document has at most PARTNERS others, as random pairs have it."""
    if n <= FEW:
        return THRESHOLDS[0]
    for threshold in THRESHOLDS:
        if np.average(similarity >= threshold, weights=weight) * (population - 1) <= PARTNERS:
            return threshold
    return 2.0


def _joined(documents: Documents, setting: Setting, threshold: float) -> I64:
    """Keys of all pairs of at least the threshold (the smaller row in the upper half), sorted."""
    hasher = Hasher.private(Shingle.parse(setting.shingle))
    padded = build_padded(documents, hasher)
    everyone = np.arange(len(documents))
    counts = np.diff(documents.offsets)  # shingles of a text are at most its bytes
    total = max(1, int(padded.sizes.sum()))
    table = Occurrences(bits := max(LEAST_BITS, min(total.bit_length(), MOST_BITS)), is_across=False)
    room = int(counts.sum())
    raw, values = np.empty(room, dtype=np.uint32), np.empty(room, dtype=np.uint32)
    met = join_stage.cells(documents, everyone, hasher, bits=bits, side=3, raw=raw, values=values)
    table.count([met], 0, table.parts)
    rarity = table.rarity()
    order = np.argsort(padded.sizes, kind="stable")
    order = order[padded.sizes[order] > 0]
    starts = np.ascontiguousarray(padded.starts[:-1][order])
    sides = np.full(order.size, 3, dtype=np.uint8)
    block = SetBlock(order, sides, starts, np.ascontiguousarray(padded.sizes[order]), padded.hashes)
    prefixes = Prefixes(block, rarity, threshold)
    found = Index(prefixes).probe(prefixes, 0, order.size)
    keys = [np.minimum(some.left, some.right) << 32 | np.maximum(some.left, some.right) for some in found]
    return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *keys]))
