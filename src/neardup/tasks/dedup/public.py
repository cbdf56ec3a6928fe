"""A clean collection: inputs to clean copies and removals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from neardup import params, tuning
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.outputs.atomic import AtomicFiles
from neardup.outputs.renames import finish_names
from neardup.params import Bands, InputOptions, Keep, Normalize, RunOptions, SearchOptions, Shingle, check_share
from neardup.result import Cleaned
from neardup.session import Run
from neardup.tasks.dedup.policy import Policy, open_protected
from neardup.tasks.dedup.rewrite.copy_names import plan_copies
from neardup.tasks.dedup.run import clean
from neardup.tasks.plan.decision import decide


def dedup(
    inputs: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    keep: str | Keep = params.DEFAULT_KEEP,
    prefer: str | Sequence[str] = (),
    protect: Any = None,
    annotate: bool = False,
    alarm: float = params.DEFAULT_ALARM,
    exact: bool | str = False,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = params.DEFAULT_SEED,
    verify: str = params.DEFAULT_VERIFY,
    crowd: int = params.DEFAULT_CROWD,
    text: str | Sequence[str] | None = None,
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
        exact, threshold, recall, shingle, normalize, sketch, slots, bands, seed, verify, crowd: as for ``find``.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``; bad records that
            are skipped, and documents that cannot be read, stay in the copies as they are.
        memory, workdir, resume, observer: as for ``find``.

    Returns:
        Cleaned with ``data`` (the same kind of object as the inputs; for paths the names of the files written),
        ``removed`` (an Arrow table with one record for each document that went) and ``summary``.

    Raises:
        InputError: an option, a file or a record cannot be used; the message names it and the cure.
        InputChanged: a file was changed while the run went on; nothing is written then.
        OutputError: a copy cannot be written; none is, then.
        SpoolError: the workdir cannot be used.

    >>> import neardup
    >>> clean, removed = neardup.dedup(["a rose is a rose", "tulips", "a rose is a rose"], shingle="char:4")
    >>> clean
    ['a rose is a rose', 'tulips']
    >>> removed.select(["id", "keeper", "similarity", "rule"]).to_pylist()
    [{'id': 2, 'keeper': 0, 'similarity': 1.0, 'rule': 'first'}]
    """
    given = locals()
    search, options = SearchOptions.of(given), RunOptions.of(given)
    spec = tuning.make_spec(search)
    rule, watching = Keep.parse(keep), observer or Silent()
    check_share(alarm, "alarm")
    reader, protected = open_protected(inputs, protect, InputOptions.of(given), item=spec.shingle.kind == "item")
    in_memory = reader.value is not None
    if in_memory and output is not None:
        raise InputError("output is for inputs that are files; what is in memory is given back. Leave output out.")
    target = None if output is None else os.fspath(output)
    if target is not None:
        for line in finish_names([target]):
            watching.note(line)
        plan_copies(reader, target)  # what stands in the way is said before a long run
    policy = Policy(rule, (prefer,) if isinstance(prefer, str) else tuple(prefer), protected)
    spec, choice = decide(reader, spec, search, options, watching)
    task = {"dedup": {**policy.facts(), "output": target, "annotate": annotate}}
    with Run(reader, spec, options, task=task, choice=choice, observer=watching) as run:
        cleaning = clean(run, policy)
        removed = cleaning.removals().read_all()
        data: Any = None
        if in_memory:
            data = cleaning.data(annotate=annotate)
        elif target is not None:
            with AtomicFiles() as files:
                cleaning.write(target, files, annotate=annotate)
            data = list(cleaning.written)
        dry = not in_memory and target is None
        summary = cleaning.summary(alarm=alarm, dry_run=dry, annotated=annotate)
        return Cleaned(data, removed, summary, spec, tuple(run.provenance.faults))
