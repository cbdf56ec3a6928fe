"""The single steps of a search as functions: shingles, exact similarities, signatures and their estimates."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from neardup import params, tuning
from neardup.calls import hinted
from neardup.engine.observe import Silent
from neardup.engine.reading.collection import collect, normalized
from neardup.engine.reading.families import Hashers, needs_memory, sketch_batch
from neardup.engine.space import Budget, Space
from neardup.errors import InputError, SpecMismatch
from neardup.inputs.names import Provenance
from neardup.inputs.reader import open_inputs
from neardup.inputs.source import Task
from neardup.params import Normalize, Shingle, Spec, check_slots
from neardup.shown import counted
from neardup.stages import shingle as shingle_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.types import U32, Signatures

_NO_LIMIT = 1 << 62
_SETTINGS = ("shingle", "normalize", "sketch", "seed")


@hinted
def shingle(
    text: str, shingle: str | Shingle = params.DEFAULT_SHINGLE, *, normalize: str | Normalize = params.DEFAULT_NORMALIZE
) -> list[str]:
    """Return the distinct shingles of a text in order of first appearance; words are joined by one space.

    >>> shingle("Nadal", "char:2")
    ['Na', 'ad', 'da', 'al']
    """
    normal = text_stage.normalize_text(text, Normalize.parse(normalize))
    return shingle_stage.shingles(normal, Shingle.parse(shingle))


@hinted
def jaccard(
    a: str | Iterable[Hashable],
    b: str | Iterable[Hashable],
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    *,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
) -> float:
    """Return the exact Jaccard similarity of two texts, by their shingles, or of two sets as they are.

    The similarity of two empty texts or sets is 1.0.

    Raises:
        InputError: one argument is a text and the other is not.

    >>> jaccard("Nadal", "Nadia", "char:2") == 2 / 6
    True
    >>> jaccard({"I", "love", "chocolate"}, {"I", "love", "chocolate", "and", "pizza", "white"})
    0.5
    """
    if isinstance(a, str) != isinstance(b, str):
        raise InputError(f"jaccard of {type(a).__name__} and {type(b).__name__}. Give two texts or two sets.")
    if isinstance(a, str) and isinstance(b, str):
        kind, plain = Shingle.parse(shingle), Normalize.parse(normalize)
        a, b = (shingle_stage.shingles(text_stage.normalize_text(text, plain), kind) for text in (a, b))
    first, second = set(a), set(b)
    return len(first & second) / len(first | second) if first or second else 1.0


@dataclass(frozen=True, slots=True)
class SketchSet:
    """Signatures, and the settings that they were made with."""

    signatures: Signatures
    shingle: Shingle
    normalize: Normalize
    sketch: str
    seed: int

    def __len__(self) -> int:
        return len(self.signatures)

    def __repr__(self) -> str:
        made = f"{self.sketch} sketch of {self.shingle}, {self.normalize}, seed {self.seed}"
        return f"<neardup.SketchSet: {counted(len(self), 'signature')} of {self.signatures.slots} slots, {made}>"

    def _repr_html_(self) -> str:
        from neardup.pages.notebook import Table, view

        few = min(8, self.signatures.slots)
        rows = [[row, *values] for row, values in enumerate(self.signatures.values[:5, :few].tolist())]
        columns = ["document", *(f"slot {slot}" for slot in range(few))]
        table = Table(columns, rows, f"The first {few} slots", len(self) - len(rows))
        return view(repr(self).strip("<>"), tables=[table])

    def estimate(self, i: int, other: SketchSet, j: int) -> float:
        """Estimate the Jaccard similarity of document ``i`` of this set and document ``j`` of another set.

        Raises:
            SpecMismatch: the two sets were made with different settings; the message names the first difference.
        """
        settings = {name: (getattr(self, name), getattr(other, name)) for name in _SETTINGS}
        settings["slots"] = (self.signatures.slots, other.signatures.slots)
        for name, (mine, theirs) in settings.items():
            if mine != theirs:
                raise SpecMismatch(
                    f"signatures differ in {name} ({mine} and {theirs}). Sketch one side again with the other's."
                )
        return sketch_stage.estimate(self.signatures.values[i], other.signatures.values[j])


@hinted
def sketch(
    texts: Any,
    *,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int = tuning.DEFAULT_SLOTS,
    seed: int = params.DEFAULT_SEED,
) -> SketchSet:
    """Make the MinHash signatures of texts, given as anything that ``find`` takes as input.

    Returns:
        SketchSet whose ``signatures.values`` is uint32[documents, slots].

    Raises:
        InputError: an option is out of range, or a document cannot be read.

    >>> s = sketch(["a rose is a rose", "a rose is a rose is a rose"], shingle="word:2")
    >>> s.signatures.values.shape
    (2, 128)
    """
    spec = tuning.make_spec(
        shingle=shingle, normalize=normalize, sketch=sketch, slots=check_slots(slots), bands="1x1", seed=seed
    )
    reader = open_inputs(texts, item=spec.shingle.kind == "item")
    values, provenance = sketch_all(reader.tasks(), spec, reader.total_bytes)
    if provenance.faults:  # an unreadable document: its row would be missing without a message
        raise InputError(f"{provenance.faults[0]} Leave it out: each document has a row of signatures.")
    return SketchSet(Signatures(values), spec.shingle, spec.normalize, spec.sketch, seed)


def sketch_all(tasks: Iterator[Task], spec: Spec, total_bytes: int | None = None) -> tuple[U32, Provenance]:
    """Return the signatures, uint32[documents, slots], that a search makes of the ``tasks``, and their provenance."""
    provenance, found = Provenance(), [np.empty((0, spec.slots), dtype=np.uint32)]
    if needs_memory(spec):
        space, observer = Space(Budget(_NO_LIMIT, _NO_LIMIT), None, {}), Silent()
        collection = collect(
            tasks, spec, total_bytes=total_bytes, threads=1, names=provenance, observer=observer, space=space
        )
        return collection.values.take(np.arange(len(collection))), provenance
    hashers = Hashers.of(spec)
    for task in tasks:
        batch = task()
        provenance.enter(batch)
        values, _, _ = sketch_batch(normalized(batch, spec), spec, hashers)
        found.append(values)
    return np.concatenate(found), provenance


@hinted
def estimate(a: Any, b: Any) -> float:
    """Estimate the Jaccard similarity of two signatures: the share of slots in which they agree.

    >>> estimate([2, 1, 2, 1], [2, 1, 4, 1])
    0.75
    """
    return sketch_stage.estimate(a, b)
