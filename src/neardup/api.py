"""The Python face: from inputs to a Result, and the parts for people who want the parts.

Here the layers below are put together: ``formats`` reads, ``tuning`` chooses, ``pipeline`` finds; then rows get their
names back. The command line is a thin shell around ``find``.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from neardup import tuning
from neardup.cleaning import Policy, check_output, clean, open_protected
from neardup.errors import InputError, SpecMismatch
from neardup.formats import Ledger, open_inputs
from neardup.formats.objects import hold
from neardup.params import (
    DEFAULT_ALARM,
    DEFAULT_CROWD,
    DEFAULT_KEEP,
    DEFAULT_NORMALIZE,
    DEFAULT_RECALL,
    DEFAULT_SEED,
    DEFAULT_SHINGLE,
    DEFAULT_SKETCH,
    DEFAULT_THRESHOLD,
    Bands,
    Keep,
    Normalize,
    Shingle,
    check_link,
    check_share,
    check_slots,
)
from neardup.pipeline.collect import collect
from neardup.pipeline.observe import Observer, Silent
from neardup.pipeline.space import Budget, Space
from neardup.result import Cleaned, Result
from neardup.runs import Run, check_threads
from neardup.stages import shingle as shingle_stage
from neardup.stages import sketch as sketch_stage
from neardup.stages import text as text_stage
from neardup.types import Signatures

__all__ = ["SketchSet", "dedup", "estimate", "find", "jaccard", "shingle", "sketch"]


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
    memory: int | str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    resume: bool = False,
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
        memory: limit of the resident memory of the process, in bytes or such as "2GB"; half of what is free when None.
            Past it work goes to disk. The tables of the result come beside it.
        workdir: folder to work in from the start, so that a run that was killed can be resumed; it is removed at the
            end. When None, a temporary folder is used if memory gets short.
        resume: go on with the interrupted run whose work is in ``workdir``.
        observer: told about progress.

    Returns:
        Result with Arrow tables ``pairs`` (id_a, id_b, similarity), ``clusters`` (id, cluster, keeper, similarity).

    Raises:
        InputError: an option, a file or a record cannot be used; the message names it and the cure.
        SpoolError: the workdir cannot be used: another run's, damaged, or its disk is full.

    >>> import neardup
    >>> found = neardup.find(["a rose is a rose", "a rose is a rose", "tulips"], shingle="char:4")
    >>> found.pairs.to_pylist()
    [{'id_a': 0, 'id_b': 1, 'similarity': 1.0}]
    """
    spec = tuning.make_spec(
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
    run = Run(reader, spec, check_threads(threads), memory, workdir, resume=resume, observer=observer or Silent())
    with run:
        return run.find(link).result()


def dedup(
    inputs: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    keep: str | Keep = DEFAULT_KEEP,
    prefer: str | Sequence[str] = (),
    protect: Any = None,
    annotate: bool = False,
    alarm: float = DEFAULT_ALARM,
    threshold: float = DEFAULT_THRESHOLD,
    recall: float = DEFAULT_RECALL,
    shingle: str | Shingle = DEFAULT_SHINGLE,
    normalize: str | Normalize = DEFAULT_NORMALIZE,
    sketch: str = DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = DEFAULT_SEED,
    crowd: int = DEFAULT_CROWD,
    text: str | None = None,
    id: str | None = None,
    glob: str | None = None,
    encoding: str = "utf-8",
    on_bad: str = "fail",
    input_format: str | None = None,
    threads: int | None = None,
    block: int | None = None,
    memory: int | str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    observer: Observer | None = None,
) -> Cleaned:
    """Give a collection back without its near-duplicates, and say why each document went.

    Documents are taken in the order that ``keep`` says, ties by input order; one that is still there is kept, and
    those found near to it go. So every document that goes has an exact similarity of at least ``threshold`` to the one
    kept for it, and no found pair is left among the kept. Empty documents stay. All else is untouched: records that
    stay are what they were, byte for byte or value for value.

    Args:
        inputs: as for ``find``: a path or paths, or a frame, table, dataset, list or mapping in memory.
        output: for paths, where the clean copies go: a folder, or for a single file a file. One copy for each input
            file, of the same name, format and compression. None: nothing is written.
        keep: ``first``, ``last``, ``longest``, ``shortest`` (bytes of the normalised text), ``max:COLUMN`` or
            ``min:COLUMN`` (documents without a value last).
        prefer: input files, folders or patterns whose documents are kept rather than others, the first first.
        protect: further inputs whose documents never go and are not written; others that are near to them go. A file
            that is among the inputs too is written whole.
        annotate: leave nothing out, and add the columns cluster, keeper and similarity.
        alarm: the summary names sources that lose more than this share.
        threshold, recall, shingle, normalize, sketch, slots, bands, seed, crowd: as for ``find``.
        text, id, glob, encoding, on_bad, input_format, threads, block: as for ``find``; bad records that are skipped
            stay in the copies as they are.
        memory, workdir, resume, observer: as for ``find``.

    Returns:
        Cleaned with ``data`` (the same kind of object as the inputs; for paths the names of the files written),
        ``removed`` (an Arrow table with one record for each document that went) and ``summary``.

    Raises:
        InputError: an option, a file or a record cannot be used; the message names it and the cure.
        OutputError: a copy cannot be written; none is, then.
        SpoolError: the workdir cannot be used.

    >>> import neardup
    >>> clean, removed = neardup.dedup(["a rose is a rose", "tulips", "a rose is a rose"], shingle="char:4")
    >>> clean
    ['a rose is a rose', 'tulips']
    >>> removed.select(["id", "keeper", "similarity", "rule"]).to_pylist()
    [{'id': 2, 'keeper': 0, 'similarity': 1.0, 'rule': 'first'}]
    """
    spec = tuning.make_spec(
        threshold=threshold,
        recall=recall,
        shingle=shingle,
        normalize=normalize,
        sketch=sketch,
        slots=slots,
        bands=bands,
        seed=seed,
        crowd=crowd,
    )
    policy_keep = Keep.parse(keep)
    check_share(alarm, "alarm")
    inputs = hold(inputs)
    reader, protected = open_protected(
        inputs,
        protect,
        text=text,
        id=id,
        glob=glob,
        encoding=encoding,
        on_bad=on_bad,
        input_format=input_format,
        item=spec.shingle.kind == "item",
        block=block,
    )
    in_memory = reader.value is not None
    if in_memory and output is not None:
        raise InputError("output is for inputs that are files; what is in memory is given back. Leave output out.")
    target = None if output is None else os.fspath(output)
    if target is not None:
        check_output(reader, target)
    policy = Policy(policy_keep, (prefer,) if isinstance(prefer, str) else tuple(prefer), protected)
    run = Run(
        reader,
        spec,
        check_threads(threads),
        memory,
        workdir,
        resume=resume,
        task={"dedup": {**policy.facts(), "output": target, "annotate": annotate}},
        observer=observer or Silent(),
    )
    with run:
        cleaning = clean(run, policy)
        removed = cleaning.removals().read_all()
        data: Any = None
        if in_memory:
            data = cleaning.data(annotate=annotate)
        elif target is not None:
            cleaning.write(target, annotate=annotate)
            data = list(cleaning.written)
        dry = not in_memory and target is None
        summary = cleaning.summary(alarm=alarm, dry_run=dry, annotated=annotate)
        return Cleaned(data, removed, summary, spec, tuple(run.ledger.faults))


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
    slots: int = tuning.DEFAULT_SLOTS,
    seed: int = DEFAULT_SEED,
) -> SketchSet:
    """MinHash signatures of texts: anything that ``find`` takes as input.

    Returns:
        SketchSet whose ``signatures.values`` is uint32[documents, slots].

    >>> s = sketch(["a rose is a rose", "a rose is a rose is a rose"], shingle="word:2")
    >>> s.signatures.values.shape
    (2, 128)
    """
    spec = tuning.make_spec(
        shingle=shingle, normalize=normalize, sketch=sketch, slots=check_slots(slots), bands="1x1", seed=seed
    )
    reader = open_inputs(texts, item=spec.shingle.kind == "item")
    collection = collect(
        reader.tasks(),
        spec,
        total_bytes=reader.total_bytes,
        threads=1,
        ledger=Ledger(),
        observer=Silent(),
        space=Space(Budget(1 << 62, 1 << 62), None, {}),
    )
    values = collection.resident
    assert values is not None
    return SketchSet(Signatures(values), spec.shingle, spec.normalize, spec.sketch, seed)


def estimate(a: Any, b: Any) -> float:
    """Estimated Jaccard similarity of two signatures: the share of positions in which they agree.

    >>> estimate([2, 1, 2, 1], [2, 1, 4, 1])
    0.75
    """
    return sketch_stage.estimate(a, b)
