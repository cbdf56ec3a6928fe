"""The pool: pairs of documents, their similarity under each setting, and how many of the collection each stands for.

All pairs at or above a floor under any setting, found by counting what any two share. The floor of a setting is the
lowest threshold at which a document has at most so many partners on average: below it nearly all of what is found is
wrong.

Not here: which documents those are of a large collection, and with what weight (``sampling``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from neardup.engine.observe import Observer, Silent
from neardup.engine.threads import in_order
from neardup.params import Normalize, Shingle
from neardup.stages.all_pairs import pairs_above
from neardup.stages.shingle import Hasher, build_padded
from neardup.stages.text import normalize_documents
from neardup.stages.verify import check_pairs
from neardup.tasks.tune.cells import F32
from neardup.tasks.tune.grid import THRESHOLDS, Setting
from neardup.tasks.tune.sampling import DRAWN_BY
from neardup.types import F64, I64, Documents, PaddedSets

PARTNERS = 100
"""Of a document, on average, from which a threshold is below the floor of its setting."""
PILOT = 20_000
"""Random pairs from which the floors are known."""
HELD = 50
"""Bytes that a thread holds for each byte of the texts, at most."""
FEW = 200
"""Documents up to which all pairs are in the pool."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Pairs from which questions are chosen and on which cells are counted."""

    left: I64
    """int64[m]: rows of the texts, ``left < right``."""
    right: I64
    similarity: F32
    """float32[m, k]: exact, under each setting."""
    weight: F64
    """float64[m]: pairs of the collection that each stands for: one over its probability of being in the pool. 0 for
    pairs that only teach (``with_pairs``), which are behind all others."""
    settings: tuple[Setting, ...]
    floors: F64
    """float64[k]: thresholds from which all pairs are in the pool; 2 where there is none."""
    equal: float = 0.0
    """Pairs of equal texts in the collection: duplicates that every setting finds. They are not in the arrays."""
    copies: F64 | float = 1.0
    """float64[m]: the pairs of documents that have just these two texts. One answer decides all of them."""

    def __len__(self) -> int:
        return self.left.size

    @property
    def counted(self) -> int:
        """Pairs that stand for any."""
        return int(np.count_nonzero(self.weight))

    def rows_of(self, keys: I64) -> dict[int, int]:
        """Where pairs are, of those that are there; a key has the lesser row in its upper half."""
        own = self.left << 32 | self.right
        at = np.flatnonzero(np.isin(own, keys))
        return dict(zip(own[at].tolist(), at.tolist(), strict=True))


def make_pool(
    documents: Documents,
    settings: tuple[Setting, ...],
    *,
    seed: int,
    weigh: Callable[[I64, I64, F64], F64] | None = None,
    equal: float = 0.0,
    copies: I64 | None = None,
    total: int | None = None,
    threads: int = 1,
    observer: Observer | None = None,
) -> Pool:
    """The pool of some distinct texts, of a collection of ``total`` documents; None: they are all of it.

    ``weigh``: how many pairs one stands for, by its rows and its similarity under DRAWN_BY, where the texts are a
    sample; 1 each if None. The settings must have DRAWN_BY then. The same for any ``threads``. Pairs are about
    PARTNERS / 2 for each text and setting at most, whatever the texts. Memory: 4 bytes for each pair and setting, and
    HELD bytes for each thread and byte of the texts.
    """
    tell = observer or Silent()
    tell.stage("pairs", 2 * len(settings), "settings")
    n = len(documents)
    population = n if total is None else total
    pilot, pilot_weight = _random_pairs(n, seed), np.ones(PILOT if n > 1 else 0)
    sets_of = _builder(documents, settings)

    def join(setting: Setting) -> tuple[float, I64]:
        sets = sets_of(setting)
        floor = _floor(check_pairs(*pilot, sets, sets, threshold=0.0), pilot_weight, n, population)
        if floor > 1 or n <= FEW:
            return floor, np.empty(0, dtype=np.int64)
        left, right = pairs_above(sets, floor)
        return floor, left << 32 | right

    if weigh is not None and n > FEW:
        sets = sets_of(DRAWN_BY)
        pilot_weight = weigh(*pilot, np.maximum(check_pairs(*pilot, sets, sets, threshold=0.0), 0.0))
        del sets
    floors = np.empty(len(settings))
    a, b = np.triu_indices(n if n <= FEW else 0, 1)
    found = [a.astype(np.int64) << 32 | b]
    for k, (floor, keys) in enumerate(in_order(join, settings, threads=threads)):
        floors[k] = floor
        found.append(keys)
        tell.advance(1)
    keys = np.unique(np.concatenate(found))
    left, right = keys >> 32, keys & 0xFFFFFFFF
    similarity = _measured(sets_of, settings, left, right, threads, tell)
    weight = np.ones(keys.size)
    if weigh is not None:
        weight = weigh(left, right, similarity[:, settings.index(DRAWN_BY)].astype(np.float64))
    own = 1.0 if copies is None else (copies[left] * copies[right]).astype(np.float64)
    return Pool(left, right, similarity, weight, settings, floors, equal, own)


def with_pairs(pool: Pool, blob: Callable[[int], bytes], keys: I64, *, threads: int = 1) -> Pool:
    """The pool with some pairs that it has not: of its texts and others behind them, of which ``blob`` gives each.

    A key has the lesser row in its upper half. They stand for nothing. Pairs that are less alike than all of the pool,
    by the mean square root of their similarities, are left out: a model of the pool says nothing of them.
    """
    keys = np.setdiff1d(keys, pool.left << 32 | pool.right)
    if not keys.size or not pool.counted:
        return pool
    left, right = keys >> 32, keys & 0xFFFFFFFF
    rows, places = np.unique(np.concatenate((left, right)), return_inverse=True)
    some = Documents.from_bytes(map(blob, rows.tolist()))
    sets_of = _builder(some, pool.settings)
    similarity = _measured(sets_of, pool.settings, places[: keys.size], places[keys.size :], threads, Silent())
    least = float(np.sqrt(pool.similarity).mean(axis=1).min())
    is_near = np.sqrt(similarity).mean(axis=1) >= least
    return replace(
        pool,
        left=np.concatenate((pool.left, left[is_near])),
        right=np.concatenate((pool.right, right[is_near])),
        similarity=np.concatenate((pool.similarity, similarity[is_near])),
        weight=np.concatenate((pool.weight, np.zeros(np.count_nonzero(is_near)))),
        copies=np.concatenate((np.broadcast_to(pool.copies, len(pool)), np.ones(np.count_nonzero(is_near)))),
    )


def _builder(documents: Documents, settings: tuple[Setting, ...]) -> Callable[[Setting], PaddedSets]:
    """What builds the sets of some texts under a setting; each normalisation is done once."""
    normalized = {each.normalize: Normalize.parse(each.normalize) for each in settings}
    texts = {name: normalize_documents(documents, how) for name, how in normalized.items()}

    def sets_of(setting: Setting) -> PaddedSets:
        return build_padded(texts[setting.normalize], Hasher.private(Shingle.parse(setting.shingle)))

    return sets_of


def _measured(
    sets_of: Callable[[Setting], PaddedSets],
    settings: tuple[Setting, ...],
    left: I64,
    right: I64,
    threads: int,
    tell: Observer,
) -> F32:
    """float32[m, k]: similarity of pairs under each setting."""

    def measure(setting: Setting) -> F64:
        sets = sets_of(setting)
        return np.maximum(check_pairs(left, right, sets, sets, threshold=0.0), 0.0)

    similarity = np.empty((left.size, len(settings)), dtype=np.float32)
    for k, column in enumerate(in_order(measure, settings, threads=threads)):
        similarity[:, k] = column
        tell.advance(1)
    return similarity


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
