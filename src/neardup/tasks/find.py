"""Pairs and clusters: inputs to a Result."""

from __future__ import annotations

import os
from typing import Any

from neardup import tuning
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.inputs.across import open_across
from neardup.inputs.objects import rereadable
from neardup.params import (
    AUTO,
    DEFAULT_CROWD,
    DEFAULT_MEASURE,
    DEFAULT_NORMALIZE,
    DEFAULT_RECALL,
    DEFAULT_SEED,
    DEFAULT_SHINGLE,
    DEFAULT_SKETCH,
    DEFAULT_THRESHOLD,
    DEFAULT_VERIFY,
    Bands,
    Normalize,
    Shingle,
    check_exact,
    check_link,
)
from neardup.result import Result
from neardup.session import Run, check_threads
from neardup.tasks.plan.decision import decide

__all__ = ["find"]


def find(
    inputs: Any,
    *,
    measure: str = DEFAULT_MEASURE,
    exact: bool | str = False,
    against: Any = None,
    threshold: float = DEFAULT_THRESHOLD,
    recall: float = DEFAULT_RECALL,
    shingle: str | Shingle = DEFAULT_SHINGLE,
    normalize: str | Normalize = DEFAULT_NORMALIZE,
    sketch: str = DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = DEFAULT_SEED,
    verify: str = DEFAULT_VERIFY,
    link: str = "star",
    collapse_exact: bool = False,
    crowd: int = DEFAULT_CROWD,
    text: str | None = None,
    id: str | None = None,
    glob: str | None = None,
    encoding: str = "utf-8",
    boilerplate: str = "keep",
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

    Every pair reported has exact similarity of at least ``threshold`` on its shingle sets . A
    pair at the threshold is found with probability ``recall`` at least, a more similar one with more. The answer is
    the same for any ``threads`` and ``block``; the order of the input decides the order of rows only.

    Args:
        inputs: a path (file, folder, glob) or a list of ``pathlib.Path``; a list of str (the documents); an iterable
            or mapping of (id, text); any object with the Arrow PyCapsule interface (a data frame, a table, a column).
            With ``shingle="item"`` a document may be a list or set of str or int.
        measure: ``jaccard``, the share of the shingles of both that both have, or ``containment``, the share of the
            smaller set that the larger one has: for texts that are part of others. Pairs of a containment are all
            found, by a join of its own that takes no slots, bands or sketch, and have the column contained: which is
            part of the other, "a", "b" or, of equally large sets, "both".
        exact: find all pairs by the exact join, none missed, instead of those that banding finds. ``"auto"``: when the
            plan predicts it to be no slower; the inputs are then read twice.
        against: a second collection, given as ``inputs`` may be: then only pairs of one of its documents (id_b) with
            one of the inputs (id_a) are found, by the exact join, and no clusters are made.
        threshold: least similarity, 0 < t <= 1.
        recall: least probability of finding a pair at the threshold.
        shingle: ``char:K``, ``word:K``, ``byte:K`` or ``item``.
        normalize: comma list of ``none|nfc|nfkc``, ``casefold``, ``punct``, ``space``, ``strip``.
        sketch: ``hybrid`` (default), or one of the literature: ``independent``, ``universal``, ``permutation``,
            ``one-permutation``.
        slots: length of a signature; chosen when None.
        bands: ``BxR`` by hand; chosen from threshold and recall when None.
        seed: seed of the hash functions of signatures, bands and joins.
        verify: ``hash`` compares the shingles of a pair by 64-bit hashes with a key that each run draws at random;
            ``text`` by themselves too, so that no reported similarity rests on a hash.
        link: how pairs become clusters: ``star`` or ``connected``.
        collapse_exact: list no pairs among exact copies; the first stands for them.
        crowd: above so many documents copies or near-copies are listed as a star.
        text, id: columns; guessed by the usual names when None.
        glob: pattern of the files of a folder.
        encoding: of text files.
        boilerplate: of web pages: ``keep``, or ``remove`` menus, headers and footers.
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
        exact=check_exact(exact, measure) or against is not None,
        measure=measure,
        verify=verify,
    )
    check_link(link)
    if against is not None and collapse_exact:
        raise InputError("collapse_exact is for one collection; against compares two. Give one of them.")
    auto = exact == AUTO and against is None
    reader = open_across(
        rereadable(inputs) if auto else inputs,
        against,
        text=text,
        id=id,
        glob=glob,
        encoding=encoding,
        boilerplate=boilerplate,
        on_bad=on_bad,
        input_format=input_format,
        item=spec.shingle.kind == "item",
        block=block,
    )
    threads, observer = check_threads(threads), observer or Silent()
    choice = None
    if auto:
        spec, choice = decide(reader, spec, target=recall, threads=threads, memory=memory, observer=observer)
    run = Run(reader, spec, threads, memory, workdir, resume=resume, choice=choice, observer=observer)
    with run:
        return run.find(link).result()
