"""Signatures of the documents of a collection by the sketch of its spec, and what is particular to each family.

    hybrid                     from the text itself, as it is counted: no set of shingles is built
    independent, universal,    from the sets of a batch; of one-permutation the user is told where many slots stay empty
    one-permutation
    permutation                from the sets of the whole collection, which must be in memory when all is read
    none                       the joins: documents are counted only

What the families are, and their papers, is in ``stages.sketch``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.cutting import ROWS_AT_A_TIME, starts_of
from neardup.engine.observe import Observer
from neardup.errors import InputError
from neardup.params import Spec
from neardup.spool import Column, Texts
from neardup.stages import shingle as shingle_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages.shingle import Hasher
from neardup.types import I64, U32, Documents, ShingleSets


def read_slots(spec: Spec) -> int:
    """Slots of the signatures that ``sketch_batch`` gives: one, the least that counting costs, where there are none."""
    return 1 if needs_memory(spec) or spec.sketch == "none" else spec.slots


def needs_memory(spec: Spec) -> bool:
    """Whether the sets of the whole collection have to be in memory before there is a signature."""
    return spec.sketch == "permutation"


def check_room(spec: Spec, limit: int | None = None) -> None:
    """Raise where a run on disk cannot make its signatures; ``limit`` is what sent it there, None: a named workdir."""
    if not needs_memory(spec):
        return
    wants = "sketch permutation needs the sets of the whole collection in memory at once"
    if limit is None:
        raise InputError(f"{wants}. Name no --workdir (workdir=), or take another sketch.")
    raise InputError(
        f"{wants}, which a limit of {limit / 1e6:.0f} MB does not allow. Raise --memory (memory=), or take another "
        "sketch."
    )


@dataclass(frozen=True, slots=True)
class Hashers:
    """How the shingles of a spec are hashed."""

    checked: Hasher
    """Those that pairs are checked by, which are counted."""
    sketched: Hasher
    """Those that signatures are made of: the same, unless candidates are found by others."""

    @classmethod
    def of(cls, spec: Spec) -> Hashers:
        """The public hashes of a spec."""
        checked = Hasher(spec.shingle, spec.seed)
        return cls(checked, checked if spec.candidates_by is None else Hasher(spec.sketched, spec.seed))


def sketch_batch(documents: Documents, spec: Spec, hashers: Hashers) -> tuple[U32, I64, int]:
    """Signatures of normalised documents, uint32[n, slots]; their shingles with repeats, int64[n]; the short ones.

    A count is 0 for an empty document. Short are those of fewer tokens than a shingle that signatures are made of.
    Those of a family that ``needs_memory`` are made by ``permuted``; here they have one slot without a meaning.
    """
    # the other families need the counts only: one slot is the least that counting costs
    values = np.empty((len(documents), spec.slots if spec.sketch == "hybrid" else 1), dtype=np.uint32)
    counts = np.zeros(len(documents), dtype=np.int64)
    hasher = hashers.sketched
    sketch_stage.count_and_sketch(documents, hasher, values=values, counts=counts)
    short = int(np.count_nonzero(counts < 0))
    if hashers.checked is not hasher:
        least = np.empty((len(documents), 1), dtype=np.uint32)
        sketch_stage.count_and_sketch(documents, hashers.checked, values=least, counts=counts)
    np.abs(counts, out=counts)
    if spec.sketch in ("independent", "one-permutation", "universal"):
        sets = shingle_stage.build_sets(documents, hasher, counts)
        values = sketch_stage.sketch_sets(sets, family=spec.sketch, slots=spec.slots, seed=spec.seed).values
    return values, counts, short


def permuted(spec: Spec, texts: Texts, counts: Column, hasher: Hasher) -> U32:
    """Make all signatures, uint32[n, slots], by permutations of the whole universe, for which all sets are built."""
    rows = np.arange(len(counts))
    parts = texts.parts(rows)
    sets = [shingle_stage.build_sets(documents, hasher, counts.take(rows[part])) for documents, _, part in parts]
    sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(part.offsets) for part in sets)])
    hashes = np.concatenate([np.empty(0, np.uint64), *(part.hashes for part in sets)])
    whole = ShingleSets(starts_of(sizes), hashes)
    return sketch_stage.sketch_sets(whole, family=spec.sketch, slots=spec.slots, seed=spec.seed).values


def tell_sparse(spec: Spec, counts: Column, observer: Observer) -> None:
    """Say how many documents leave so many slots empty that they meet strangers in the bands."""
    limit = sketch_stage.sparse_below(spec.slots, spec.bands)
    blocks = (block for _, block in counts.scan(ROWS_AT_A_TIME))
    sparse = sum(int(np.count_nonzero((block > 0) & (block < limit))) for block in blocks)
    if sparse:
        observer.note(
            f"sketch one-permutation: {sparse} of {len(counts)} documents have fewer than {limit} shingles, which "
            f"leaves many of {spec.slots} slots empty; they make many false candidates, and checking those takes time. "
            "The sketch hybrid fills the slots."
        )
