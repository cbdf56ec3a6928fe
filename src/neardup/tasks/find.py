"""Pairs and clusters: inputs to a Result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from neardup import params, tuning
from neardup.arrays import numbers, strings
from neardup.calls import hinted
from neardup.engine.banding.listed import list_candidates
from neardup.engine.observe import Observer, Silent
from neardup.engine.state import SearchState
from neardup.errors import InputError
from neardup.inputs.reader import Reader, open_inputs
from neardup.outputs.rows import RowTable
from neardup.params import (
    AUTO,
    Bands,
    CandidateShingle,
    InputOptions,
    ListOptions,
    Normalize,
    Preset,
    RunOptions,
    SearchOptions,
    Shingle,
    Spec,
    with_preset,
)
from neardup.result import Result
from neardup.session import Run
from neardup.tasks.plan.decision import decide
from neardup.watching import watched


@hinted
@watched
@with_preset
def find(
    inputs: Any,
    *,
    measure: str = params.DEFAULT_MEASURE,
    exact: bool | str = False,
    against: Any = None,
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
    link: str = "star",
    with_text: bool | int = False,
    sort: str | None = None,
    top: int | None = None,
    candidates: bool = False,
    collapse_exact: bool = False,
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
) -> Result:
    """Find the near-duplicates of a collection: verified pairs, clusters, a summary.

    Every pair reported has an exact similarity of at least ``threshold`` on its shingle sets. A pair at the threshold
    is found with probability ``recall`` at least, a more similar one with more. The answer is the same for any
    ``threads`` and ``block``; the order of the input decides the order of rows only.

    Args:
        inputs: a path (file, folder, glob) or a list of ``pathlib.Path``; a list of str (the documents); an iterable
            or mapping of (id, text); a record or a list of records, which are dicts with the fields of a line of
            JSONL; any object with the Arrow PyCapsule interface (a data frame, a table, a column).
            With ``shingle="item"`` a document may be a list or set of str or int.
        measure: ``jaccard``, the share of the shingles of both that both have, or ``containment``, the share of the
            smaller set that the larger one has: for texts that are part of others. Pairs of a containment are all
            found, by a join of its own that takes no slots, bands or sketch, and have the column contained: which is
            part of the other, "a", "b" or, of equally large sets, "both".
        exact: find all pairs by the exact join, none missed, instead of those that banding finds. ``"auto"``: when the
            plan predicts it to be no slower; the inputs are then read twice.
        against: a second collection, given as ``inputs`` may be: then only pairs of one of its documents (id_b) with
            one of the inputs (id_a) are found, by the exact join, and no clusters are made.
        preset: settings for a kind of text: ``copies`` (the defaults), ``articles``, ``essays``, ``records``, ``code``,
            ``scans``, ``unsegmented`` or ``web``. It gives the values of ``shingle``, ``normalize``, ``threshold``
            and ``link`` that are left out; what is given wins. The summary says what it stood for.
        threshold: least similarity, 0 < t <= 1.
        recall: least probability of finding a pair at the threshold.
        shingle: ``char:K``, ``word:K``, ``byte:K`` or ``item``.
        normalize: comma list of ``none|nfc|nfkc``, ``casefold``, ``digits``, ``punct``, ``space``, ``strip``.
        sketch: ``hybrid`` (default), or one of the literature: ``independent``, ``universal``, ``permutation``,
            ``one-permutation``.
        slots: length of a signature; chosen when None.
        bands: ``BxR`` by hand; chosen from threshold and recall when None.
        candidates_by: find the pairs to be checked by these, longer shingles, such as ``char:12`` where ``shingle`` is
            ``char:5``: for low thresholds in large collections. Pairs are checked by ``shingle`` all the same, but
            ``recall`` is then that of pairs at a similarity T of these shingles, and of those at ``threshold`` nothing
            is promised: ``audit`` measures it. T is chosen, or given: ``word:3@0.15``.
        seed: seed of the hash functions of signatures, bands and joins.
        verify: how the shingles of a pair are compared before it is reported. ``hash``: by 64-bit hashes with a key
            that is new and random in each run. ``text``: also as text, so that nothing depends on a hash.
        link: how pairs become clusters: ``star`` or ``connected``.
        with_text: True: the tables have the texts of their documents, as they were written, at the end: pairs the
            columns text_a and text_b, clusters text and keeper_text. A number: so many characters of each, at most.
        sort: order of the pairs: ``input``, or ``similarity``, the most similar first, ties in the order of the input.
            None: ``similarity`` with ``top``, else ``input``.
        top: list so many pairs only, the most similar ones; the summary counts all. Clusters are those of all pairs.
        candidates: list every candidate pair of distinct texts too, in the table ``candidates`` of the result: the
            bands in which the two met, the similarity that their signatures estimate, the exact one, and the verdict.
        collapse_exact: list no pairs among exact copies; the first represents them.
        crowd: a group of more documents than this that all look alike is listed as a star: each paired with its leader;
            0: every pair is listed.
        text, id: names of the columns, or fields, of the text and of the id; guessed when None. Several columns make
            one text, joined by newlines: a list of names, or one string with commas between.
        glob: pattern of the files of a folder that are read; all of a format that is read when None.
        encoding: encoding of text files, and of JSON and CSV.
        boilerplate: what is done with menus, headers and footers of web pages: ``keep`` or ``remove``.
        on_bad: what a record does that cannot be used: ``fail`` ends the run, ``skip`` leaves it out and counts it.
        input_format: format of files whose names do not tell it: ``jsonl``, ``csv``, ``tsv``, ``parquet``, ``arrow``,
            ``xlsx``, ``warc``, ``text`` or ``lines``.
        threads: number of threads; one for each processor when None.
        block: largest number of documents that are worked on together.
        memory: limit of the resident memory of the process, in bytes or such as "2GB"; half of what is free when None.
            Past it work goes to disk. The tables of the result come beside it.
        workdir: folder to work in from the start, so that a run that was killed can be resumed; it is removed at the
            end. When None, a temporary folder is used if memory gets short.
        resume: continue the interrupted run whose work is in ``workdir``.
        observer: what is told about progress.
        progress: show a bar: on a terminal, below the cell of a notebook, else a line on stderr every ten seconds.

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
    given = locals()
    search, run, listing = SearchOptions.of(given), RunOptions.of(given), ListOptions.of(given)
    if against is not None:
        if collapse_exact:
            raise InputError("collapse_exact is for one collection; against compares two. Give one of them.")
        search = replace(search, exact=True)
    spec = tuning.make_spec(search)
    is_item, again = spec.shingle.kind == "item", search.exact == AUTO
    reader = open_across(inputs, against, InputOptions.of(given), item=is_item, again=again)
    watching = observer or Silent()
    spec, choice = decide(reader, spec, search, run, watching)
    if candidates:
        check_candidates(spec)
    how: dict[str, Any] = {
        "choice": choice,
        "preset": search.used_preset,
        "keep_written": listing.with_text is not False,
    }
    with Run(reader, spec, run, **how, task=candidate_task(candidates), observer=watching) as searched:
        found = searched.search(keep_keys=candidates)
        result = searched.finding(found, search.link).result(listing)
        return replace(result, candidates=candidate_table(searched, found).read_all()) if candidates else result


def check_candidates(spec: Spec) -> None:
    """Raise InputError if a search with this spec has no candidates to list."""
    if spec.exact:
        raise InputError(
            "candidates are the pairs that bands bring together, and this search has no bands. Leave out candidates, "
            "or exact, against and measure containment."
        )


def candidate_task(candidates: bool) -> dict[str, Any]:
    """Return the part of a task that says whether candidates are listed: a resumed run must not change it."""
    return {"candidates": True} if candidates else {}


def candidate_table(run: Run, search: SearchState) -> RowTable:
    """Return id_a, id_b, bands, estimate, similarity, verdict of every candidate pair of distinct texts, as a stream.

    ``search`` was made with ``keep_keys``. ``bands`` has the numbers of the bands that the pair shares, from 1 on, with
    spaces between; a verdict is one of ``engine.banding.listed``.
    """
    ids = run.provenance.ids
    names = {"bands": pa.string(), "estimate": pa.float64(), "similarity": pa.float64(), "verdict": pa.string()}
    schema = pa.schema({"id_a": ids.type, "id_b": ids.type, **names})

    def columns() -> Iterator[list[Any]]:
        for found in list_candidates(search):
            bands = strings(" ".join(map(str, np.flatnonzero(met) + 1)) for met in found.met)
            more = [bands, numbers(found.estimate), numbers(found.pairs.similarity), strings(found.verdict)]
            yield [found.pairs.left, found.pairs.right, *more]

    return RowTable(schema, ids, columns())


def open_across(inputs: Any, against: Any, options: InputOptions, *, item: bool, again: bool = False) -> Reader:
    """Open inputs, with those that they are held against behind them; None: they are compared among themselves.

    ``again`` is as for ``open_inputs``. InputError where something cannot be read, or a file is on both sides.
    """
    reader = open_inputs(inputs, options, item=item, again=again)
    if against is None:
        return reader
    other = open_inputs(against, options, item=item, name="against", limit=reader.options.limit)
    for path, _ in (twice for _, shared in reader.shared_with(other) for twice in shared):
        raise InputError(
            f"{path} is an input, and the inputs are compared with it too. Leave it out on one side; a collection "
            "is compared with itself when no other is named."
        )
    return reader.joined(other.parts, other.found_over, is_across=True)
