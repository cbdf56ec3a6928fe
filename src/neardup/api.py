"""The Python face: from inputs to a Result, and the parts for people who want the parts.

Here the layers below are put together: ``formats`` reads, ``plan`` chooses, ``pipeline`` finds; then rows get their
names back. The command line is a thin shell around ``find``.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from neardup import plan
from neardup._version import __version__
from neardup.errors import InputError, SpecMismatch
from neardup.formats import open_inputs
from neardup.formats.arrays import numbers
from neardup.formats.ids import Ids
from neardup.params import (
    DEFAULT_CROWD,
    DEFAULT_NORMALIZE,
    DEFAULT_RECALL,
    DEFAULT_SEED,
    DEFAULT_SHINGLE,
    DEFAULT_SKETCH,
    DEFAULT_THRESHOLD,
    Bands,
    Normalize,
    Shingle,
    Spec,
    check_link,
    check_slots,
)
from neardup.pipeline.collect import collect
from neardup.pipeline.observe import Observer, Silent, peak_memory
from neardup.pipeline.run import Found, run
from neardup.result import Result, Summary
from neardup.stages import shingle as shingle_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.types import I64, Batch, Fault, Signatures

__all__ = ["SketchSet", "estimate", "find", "jaccard", "shingle", "sketch"]

MOST_FAULTS = 1000
"""Bad records that a result describes one by one; all are counted."""


def find(
    inputs: Any,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    recall: float = DEFAULT_RECALL,
    shingle: str | Shingle = DEFAULT_SHINGLE,
    normalize: str | Normalize = DEFAULT_NORMALIZE,
    sketch: str = DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = DEFAULT_SEED,
    link: str = "star",
    collapse_exact: bool = False,
    crowd: int = DEFAULT_CROWD,
    text: str | None = None,
    id: str | None = None,
    glob: str | None = None,
    encoding: str = "utf-8",
    on_bad: str = "fail",
    input_format: str | None = None,
    threads: int | None = None,
    block: int | None = None,
    observer: Observer | None = None,
) -> Result:
    """Find the near-duplicates of a collection: verified pairs, clusters, a summary.

    Every pair reported has exact Jaccard similarity of at least ``threshold`` on its shingle sets (sets of 64-bit
    hashes). A pair at the threshold is found with probability ``recall`` at least, a more similar one with more. The
    answer is the same for any ``threads`` and ``block``; the order of the input decides the order of rows only.

    Args:
        inputs: a path (file, folder, glob) or a list of ``pathlib.Path``; a list of str (the documents); an iterable
            or mapping of (id, text); any object with the Arrow PyCapsule interface (a data frame, a table, a column).
            With ``shingle="item"`` a document may be a list or set of str or int.
        threshold: least Jaccard similarity, 0 < t <= 1.
        recall: least probability of finding a pair at the threshold.
        shingle: ``char:K``, ``word:K``, ``byte:K`` or ``item``.
        normalize: comma list of ``none|nfc|nfkc``, ``casefold``, ``punct``, ``space``, ``strip``.
        sketch: ``hybrid`` (default), ``independent``, ``universal`` or ``permutation``.
        slots: length of a signature; chosen when None.
        bands: ``BxR`` by hand; chosen from threshold and recall when None.
        seed: of all hashing.
        link: how pairs become clusters: ``star`` or ``connected``.
        collapse_exact: list no pairs among exact copies; the first stands for them.
        crowd: above so many documents copies or near-copies are listed as a star.
        text, id: columns; guessed by the usual names when None.
        glob: pattern of the files of a folder.
        encoding: of text files.
        on_bad: ``fail`` at the first record that cannot be used, or ``skip`` and count.
        input_format: when the name of a file does not tell.
        threads: how many; all processors when None.
        block: most documents of a block.
        observer: told about progress.

    Returns:
        Result with Arrow tables ``pairs`` (id_a, id_b, similarity), ``clusters`` (id, cluster, keeper, similarity).

    Raises:
        InputError: an option, a file or a record cannot be used; the message names it and the cure.

    >>> import neardup
    >>> found = neardup.find(["a rose is a rose", "a rose is a rose", "tulips"], shingle="char:4")
    >>> found.pairs.to_pylist()
    [{'id_a': 0, 'id_b': 1, 'similarity': 1.0}]
    """
    begin = time.perf_counter()
    spec = plan.make_spec(
        threshold=threshold,
        recall=recall,
        shingle=shingle,
        normalize=normalize,
        sketch=sketch,
        slots=slots,
        bands=bands,
        seed=seed,
        crowd=crowd,
        collapse_exact=collapse_exact,
    )
    check_link(link)
    workers = _check_threads(threads)
    reader = open_inputs(
        inputs,
        text=text,
        id=id,
        glob=glob,
        encoding=encoding,
        on_bad=on_bad,
        input_format=input_format,
        item=spec.shingle.kind == "item",
        block=block,
    )
    book = _Book()
    found = run(
        reader.tasks(),
        spec,
        link=link,
        total_bytes=reader.total_bytes,
        threads=workers,
        on_batch=book.enter,
        first_of=book.first_of,
        observer=observer or Silent(),
    )
    return _result(found, book, spec, link, workers, begin)


def _check_threads(threads: int | None) -> int:
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise InputError(f"threads is {threads!r}. Give a whole number of at least 1.")
    return threads


class _Book:
    """Keeps the names of rows and what was wrong, batch by batch."""

    def __init__(self) -> None:
        self.ids = Ids()
        self.faults: list[Fault] = []
        self.bad = 0
        self.blank = 0

    def enter(self, batch: Batch) -> None:
        """Take note of a batch, in order."""
        self.ids.append(batch)
        self.bad += batch.bad
        self.blank += batch.blank
        self.faults.extend(batch.faults[: MOST_FAULTS - len(self.faults)])

    def first_of(self, rows: I64) -> int:
        """Among copies the row with the least hash of its id, so that shuffling the input changes nothing."""
        names = self.ids.take(rows).to_pylist()
        digests = [hashlib.blake2b(str(name).encode("utf-8", "replace"), digest_size=8).digest() for name in names]
        return int(rows[min(range(len(digests)), key=lambda i: (digests[i], i))])


def _result(found: Found, book: _Book, spec: Spec, link: str, threads: int, begin: float) -> Result:
    pairs, tally = found.pairs, found.tally
    take = book.ids.take
    pair_table = pa.table(
        {"id_a": take(pairs.left), "id_b": take(pairs.right), "similarity": numbers(pairs.similarity)}
    )
    names, number = np.unique(found.label, return_inverse=True)
    cluster_table = pa.table(
        {
            "id": take(found.members),
            "cluster": numbers(number.astype(np.int64)),
            "keeper": take(found.keeper),
            "similarity": numbers(found.similarity),
        }
    )
    crowd_table = pa.table({"leader": take(found.crowd_leaders), "documents": numbers(found.crowd_documents)})
    duplicates, example = book.ids.count_duplicates()
    seconds = time.perf_counter() - begin
    summary = Summary(
        documents=tally.documents,
        bytes=tally.read_bytes,
        empty=tally.empty,
        short=tally.short,
        bad=book.bad,
        blank=book.blank,
        duplicate_ids=duplicates,
        duplicate_id_example=example,
        exact_copies=tally.exact_copies,
        candidates=tally.candidates,
        checked=tally.checked,
        pairs=len(pairs),
        clusters=names.size,
        crowds=found.crowd_leaders.size,
        crowd_documents=int(found.crowd_documents.sum()),
        overfull=tally.overfull,
        recall=spec.recall,
        threshold=spec.threshold,
        slots=spec.slots,
        bands=str(spec.bands),
        link=link,
        sketch=spec.sketch,
        seconds={name: round(value, 4) for name, value in tally.seconds.items()},
        total_seconds=round(seconds, 4),
        mb_per_second=round(tally.read_bytes / 1e6 / max(seconds, 1e-9), 3),
        peak_memory=peak_memory(),
        threads=threads,
        spec=spec.as_dict(),
        spec_id=spec.id,
        version=__version__,
    )
    return Result(pair_table, cluster_table, crowd_table, summary, spec, tuple(book.faults))


def shingle(
    text: str, shingle: str | Shingle = DEFAULT_SHINGLE, *, normalize: str | Normalize = DEFAULT_NORMALIZE
) -> list[str]:
    """Distinct shingles of a text in order of first appearance; words are joined by one space.

    >>> shingle("Nadal", "char:2")
    ['Na', 'ad', 'da', 'al']
    """
    normal = text_stage.normalize_text(text, Normalize.parse(normalize))
    return shingle_stage.shingles(normal, Shingle.parse(shingle))


def jaccard(
    a: str | Iterable[Hashable],
    b: str | Iterable[Hashable],
    shingle: str | Shingle = DEFAULT_SHINGLE,
    *,
    normalize: str | Normalize = DEFAULT_NORMALIZE,
) -> float:
    """Exact Jaccard similarity of two texts on their shingles, or of two sets as they are.

    Two empty ones are alike (1.0).

    Raises:
        InputError: one is a text and the other is not.

    >>> jaccard("Nadal", "Nadia", "char:2") == 2 / 6
    True
    >>> jaccard({"I", "love", "chocolate"}, {"I", "love", "chocolate", "and", "pizza", "white"})
    0.5
    """
    if isinstance(a, str) != isinstance(b, str):
        raise InputError(f"jaccard of {type(a).__name__} and {type(b).__name__}. Give two texts or two sets.")
    if isinstance(a, str) and isinstance(b, str):
        kind = Shingle.parse(shingle)
        plain = Normalize.parse(normalize)
        first = set(shingle_stage.shingles(text_stage.normalize_text(a, plain), kind))
        second = set(shingle_stage.shingles(text_stage.normalize_text(b, plain), kind))
        return _jaccard_sets(first, second)
    return _jaccard_sets(set(a), set(b))


def _jaccard_sets(a: set[Any], b: set[Any]) -> float:
    common = len(a & b)
    return common / (len(a) + len(b) - common) if a or b else 1.0


@dataclass(frozen=True, slots=True)
class SketchSet:
    """Signatures and the settings that made them."""

    signatures: Signatures
    shingle: Shingle
    normalize: Normalize
    sketch: str
    seed: int

    def __len__(self) -> int:
        return len(self.signatures)

    def estimate(self, i: int, other: SketchSet, j: int) -> float:
        """Estimated Jaccard similarity of document i here and j of another set made alike.

        Raises:
            SpecMismatch: the two were made with different settings; the message says which.
        """
        for name in ("shingle", "normalize", "sketch", "seed"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                raise SpecMismatch(
                    f"signatures differ in {name} ({mine} and {theirs}). Sketch one side again with the other's."
                )
        if self.signatures.slots != other.signatures.slots:
            raise SpecMismatch(
                f"signatures differ in slots ({self.signatures.slots} and {other.signatures.slots}). "
                "Sketch one side again with the other's."
            )
        return sketch_stage.estimate(self.signatures.values[i], other.signatures.values[j])


def sketch(
    texts: Any,
    *,
    shingle: str | Shingle = DEFAULT_SHINGLE,
    normalize: str | Normalize = DEFAULT_NORMALIZE,
    sketch: str = DEFAULT_SKETCH,
    slots: int = plan.DEFAULT_SLOTS,
    seed: int = DEFAULT_SEED,
) -> SketchSet:
    """MinHash signatures of texts: anything that ``find`` takes as input.

    Returns:
        SketchSet whose ``signatures.values`` is uint32[documents, slots].

    >>> s = sketch(["a rose is a rose", "a rose is a rose is a rose"], shingle="word:2")
    >>> s.signatures.values.shape
    (2, 128)
    """
    spec = plan.make_spec(
        shingle=shingle, normalize=normalize, sketch=sketch, slots=check_slots(slots), bands="1x1", seed=seed
    )
    reader = open_inputs(texts, item=spec.shingle.kind == "item")
    collection = collect(
        reader.tasks(),
        spec,
        total_bytes=reader.total_bytes,
        threads=1,
        on_batch=lambda batch: None,
        observer=Silent(),
    )
    return SketchSet(Signatures(collection.values), spec.shingle, spec.normalize, spec.sketch, seed)


def estimate(a: Any, b: Any) -> float:
    """Estimated Jaccard similarity of two signatures: the share of positions in which they agree.

    >>> estimate([2, 1, 2, 1], [2, 1, 4, 1])
    0.75
    """
    return sketch_stage.estimate(a, b)
