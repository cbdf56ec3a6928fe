"""Compute the signatures of a collection by the sketch family of its spec.

    hybrid                     from the texts while their shingles are counted, without building sets
    independent, universal,    from the sets of a batch; one-permutation warns the user if many slots stay empty
    one-permutation
    permutation                from the sets of the whole collection, which are all in memory at the end of reading
    none                       for the joins: shingles are counted, without signatures

``stages.sketch`` describes the families and cites their papers.
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
    """Return the slots of signatures from ``sketch_batch``: 1, the least that counting needs, if it makes none."""
    return 1 if needs_memory(spec) or spec.sketch == "none" else spec.slots


def needs_memory(spec: Spec) -> bool:
    """Return whether the sets of the whole collection must be in memory before signatures can be computed."""
    return spec.sketch == "permutation"


def check_room(spec: Spec, limit: int | None = None) -> None:
    """Raise InputError if a run on disk cannot make signatures. ``limit`` sent it there; None means a named workdir."""
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
    """The hashers for the shingles of a spec."""

    checked: Hasher
    """The hasher for checking pairs. Its shingles are the ones that are counted."""
    sketched: Hasher
    """The hasher for signatures. It differs from ``checked`` only with ``candidates_by``."""

    @classmethod
    def of(cls, spec: Spec) -> Hashers:
        """Create the hashers of a spec with its public seed."""
        checked = Hasher(spec.shingle, spec.seed)
        return cls(checked, checked if spec.candidates_by is None else Hasher(spec.sketched, spec.seed))


def sketch_batch(documents: Documents, spec: Spec, hashers: Hashers) -> tuple[U32, I64, int]:
    """Return signatures (uint32[n, slots]), shingle counts (int64[n]), and the number of short documents.

    ``documents`` are normalised. Counts include repeats; empty documents have 0. A short document has fewer tokens than
    a sketched shingle. A family that ``needs_memory`` gets one meaningless slot: ``permuted`` makes its signatures.
    """
    # the other families need only the counts here, and one slot is the least that counting needs
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
    """Return all signatures, uint32[n, slots], by permutations of the whole universe. Builds the sets of all texts."""
    rows = np.arange(len(counts))
    parts = texts.parts(rows)
    sets = [shingle_stage.build_sets(documents, hasher, counts.take(rows[part])) for documents, _, part in parts]
    sizes = np.concatenate([np.empty(0, np.int64), *(np.diff(part.offsets) for part in sets)])
    hashes = np.concatenate([np.empty(0, np.uint64), *(part.hashes for part in sets)])
    whole = ShingleSets(starts_of(sizes), hashes)
    return sketch_stage.sketch_sets(whole, family=spec.sketch, slots=spec.slots, seed=spec.seed).values


def tell_sparse(spec: Spec, counts: Column, observer: Observer) -> None:
    """Warn the user if documents have too few shingles to fill their slots, and so meet unrelated documents."""
    limit = sketch_stage.sparse_below(spec.slots, spec.bands)
    blocks = (block for _, block in counts.scan(ROWS_AT_A_TIME))
    sparse = sum(int(np.count_nonzero((block > 0) & (block < limit))) for block in blocks)
    if sparse:
        observer.note(
            f"sketch one-permutation: {sparse} of {len(counts)} documents have fewer than {limit} shingles, which "
            f"leaves many of {spec.slots} slots empty; they make many false candidates, and checking those takes time. "
            "The sketch hybrid fills the slots."
        )
