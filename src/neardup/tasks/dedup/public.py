"""A clean collection: inputs to clean copies and removals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from neardup import params
from neardup.calls import hinted
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.outputs.atomic import AtomicFiles, output_place
from neardup.outputs.renames import finish_names
from neardup.params import (
    Bands,
    CandidateShingle,
    InputOptions,
    Keep,
    Normalize,
    Overlap,
    Preset,
    RunOptions,
    SearchOptions,
    Shingle,
    check_share,
    check_text_length,
    check_top,
    with_preset,
)
from neardup.result import Cleaned
from neardup.session import Run, texts_again
from neardup.tasks.dedup.passage_step import PassageStep, cut_before, cut_passages
from neardup.tasks.dedup.policy import Policy, make_spec, open_protected
from neardup.tasks.dedup.run import clean
from neardup.tasks.plan.decision import decide
from neardup.tasks.rewrite.copy_names import plan_copies
from neardup.watching import watched


@hinted
@watched
@with_preset
def dedup(
    inputs: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    keep: str | Keep = params.DEFAULT_KEEP,
    prefer: str | Sequence[str] = (),
    protect: Any = None,
    annotate: bool = False,
    with_text: bool | int = False,
    show: int | None = None,
    alarm: float = params.DEFAULT_ALARM,
    overlap: str | int | Overlap | None = None,
    passages: str | None = None,
    min_bytes: int | None = None,
    min_words: int | None = None,
    min_chars: int | None = None,
    min_docs: int | None = None,
    snap: str | None = None,
    min_cut: int | None = None,
    min_left: int | None = None,
    measure: str = params.DEFAULT_MEASURE,
    exact: bool | str = False,
    preset: str | Preset | None = None,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    candidates_by: str | CandidateShingle | None = None,
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
    progress: bool = False,
) -> Cleaned:
    """Give a collection back without its near-duplicates, and say why each was removed.

    Documents are taken in the order that ``keep`` says, ties by input order; one that is still there is kept, and
    all near-duplicates found of it are removed. So every removed document has an exact similarity of at least
    ``threshold`` to the one kept for it, and no found pair is left among the kept. Empty documents are kept. All else
    is unchanged: kept records are what they were, byte for byte or value for value.

    Args:
        inputs: as for ``find``: a path or paths, or a frame, table, dataset, list or mapping in memory.
        output: for paths, where the clean copies go: a folder, or for a single file a file. One copy for each input
            file, of the same name, format and compression. None: nothing is written.
        keep: ``first``, ``last``, ``longest``, ``shortest`` (bytes of the normalised text), ``max:COLUMN`` or
            ``min:COLUMN`` (documents without a value last); or ``none``: all members of a cluster are removed, each
            because of the one that it is most similar to, or of a protected one.
        prefer: input files, folders or patterns whose documents are kept rather than others, the first first.
        protect: further inputs whose documents are never removed nor written; near-duplicates of them are removed. A
            file that is among the inputs too is written whole.
        overlap: compare the documents with the protected ones only, by a rule of n-gram overlap: ``gpt3``, ``llama3``,
            ``dolma``, N or ``word:N`` (one shared N-gram of words is enough), ``char:N``, ``byte:N``; with ``:SHARE``
            behind it, such as ``13:0.5``, that share of the words of a protected document must be in n-grams that
            the other has. The rule says what is compared: options of the search cannot be given with it, nor ``keep``
            and ``prefer``, since all that overlap are removed.
        passages: cut passages that repeat inside the documents that stay, by a policy of ``RepeatedPassages.cut``:
            ``first``, ``first-greedy`` or ``other-documents``; or ``none``: cut them out of all documents first, and
            compare what is left. Documents of ``protect`` take no part in it. None: texts stay as they are.
        min_bytes, min_words, min_chars: of ``passages``: length of the shortest, as for ``neardup.passages``.
        min_docs: of ``passages``: documents that hold one at least, as for ``neardup.passages``.
        snap, min_cut, min_left: of ``passages``: as for ``RepeatedPassages.cut``.
        annotate: leave nothing out, and add the columns cluster, keeper and similarity.
        with_text: True: ``removed`` has the columns text and keeper_text at its end, as they were written. A number: so
            many characters of each, at most.
        show: so many ``examples`` of removed documents beside kept ones, spread over their similarities, each text cut
            round the place where the two differ; None: none.
        alarm: the summary names sources that lose more than this share.
        measure: as for ``find``. With ``containment`` documents are removed that are part of a kept one, or contain a
            protected one; ``longest`` is then the document of most shingles, so that the part is removed.
        preset, exact, threshold, recall, shingle, normalize, sketch, slots, bands, candidates_by, seed, verify, crowd:
            as for ``find``.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``; bad records that
            are skipped, and documents that cannot be read, stay in the copies as they are.
        memory, workdir, resume, observer, progress: as for ``find``.

    Returns:
        Cleaned with ``data`` (the same kind of object as the inputs; for paths the names of the files written),
        ``removed`` (an Arrow table with one record for each removed document), ``summary``, ``examples`` and, with
        ``passages``, ``cuts`` (a table with one record for each document of which something was cut). By
        containment or overlap ``removed`` has the longest passage that the two have in common: ``start`` and ``end`` in
        characters of the removed document, ``keeper_start`` and ``keeper_end``, and ``passage``, its first 200
        characters.

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
    rule, watching = Keep.parse(keep), observer or Silent()
    policy = Policy(rule, (prefer,) if isinstance(prefer, str) else tuple(prefer))
    spec = make_spec(search, overlap, policy, is_protected=protect is not None)
    check_share(alarm, "alarm")
    check_text_length(with_text)
    check_top(show, "show", "none")
    step = PassageStep.of(given)
    if step is not None and annotate:
        raise InputError("annotate copies everything as it is, and passages are cut. Leave one of them out.")
    reader, protected = open_protected(inputs, protect, InputOptions.of(given), item=spec.shingle.kind == "item")
    in_memory = reader.value is not None
    if in_memory and output is not None:
        raise InputError("output is for inputs that are files; what is in memory is given back. Leave output out.")
    target = None if output is None else os.fspath(output)
    if target is not None:
        for line in finish_names([output_place(target)]):
            watching.note(line)
        plan_copies(reader, target)  # what stands in the way is said before a long run
    policy = replace(policy, protected=protected)
    if step is not None:
        step.check(reader, spec, options)
    task: dict[str, Any] = {"dedup": {**policy.facts(), "output": target, "annotate": annotate}}
    if step is not None:
        task["dedup"]["passages"] = step.facts()
    keep_written = with_text is not False or show is not None or spec.measure != params.DEFAULT_MEASURE
    with ExitStack() as stack:
        opened = cut_before(reader, step, protected, options, watching, task=task)
        reader, options = stack.enter_context(opened)
        spec, choice = decide(reader, spec, search, options, watching)
        how: dict[str, Any] = {
            "task": task,
            "choice": choice,
            "preset": search.used_preset,
            "keep_written": keep_written,
        }
        run = stack.enter_context(Run(reader, spec, options, **how, observer=watching))
        cleaning = clean(run, policy)
        if step is not None:
            stack.enter_context(cut_passages(cleaning, step))
        removed = cleaning.removals(with_text).read_all()
        examples = None if show is None else cleaning.examples(show)
        data: Any = None
        if in_memory:
            data = cleaning.data(annotate=annotate)
        elif target is not None:
            with AtomicFiles() as files:
                cleaning.write(target, files, annotate=annotate)
            data = list(cleaning.written)
        dry = not in_memory and target is None
        summary = cleaning.summary(alarm=alarm, dry_run=dry, annotated=annotate)
        chosen, prints = cleaning.chosen, cleaning.search.collection.prints
        (again,) = texts_again(run, prints, (chosen.rows, chosen.keeper))
        cuts = None if cleaning.cuts is None else cleaning.cuts.table()
        return Cleaned(data, removed, summary, spec, tuple(run.provenance.faults), examples, again, cuts)
