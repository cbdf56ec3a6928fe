"""A report: inputs to pages that a browser shows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from neardup import params, tuning
from neardup.calls import hinted
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.outputs.renames import finish_names
from neardup.pages.site.write import check_site, is_page
from neardup.params import (
    CONTAINMENT,
    Bands,
    CandidateShingle,
    InputOptions,
    Normalize,
    Preset,
    RunOptions,
    SearchOptions,
    Shingle,
    with_preset,
)
from neardup.session import Run
from neardup.tasks.audit.public import check_sample
from neardup.tasks.plan.decision import decide
from neardup.tasks.report.build import Reported, build
from neardup.tasks.report.earlier_pairs import read_pairs
from neardup.tasks.report.originals import check_inputs
from neardup.tasks.report.prepared import Prepared
from neardup.tasks.report.repeats import report_passages
from neardup.tasks.report.report_input import report_input
from neardup.tasks.report.wanted import Wanted
from neardup.watching import watched


@hinted
@watched
@with_preset
def report(
    inputs: Any,
    output: str | os.PathLike[str],
    *,
    pairs: str | os.PathLike[str] | None = None,
    title: str | None = None,
    single_file: bool = False,
    sources: str | None = None,
    purpose: str = params.CLEANING,
    ignore: Any = (),
    originals: Any = None,
    against: Any = None,
    group_by: str | None = None,
    pseudonyms: str | os.PathLike[str] | None = None,
    verdicts: Any = (),
    passages: int | None = None,
    audit: int | None = None,
    size: int | str | None = None,
    exact: bool | str = False,
    measure: str = params.DEFAULT_MEASURE,
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
) -> Reported:
    """Find the near-duplicates of a collection and write pages that show them, to be opened from disk in a browser.

    The pages say what was read, found and left out, what every threshold from ``threshold`` upward would give, which
    clusters there are, and for pairs of their members which passages the two texts share. Passages are marked in the
    texts as they were written, for which the inputs are read a second time. The same inputs and options give the same
    bytes.

    Args:
        inputs: as for ``find``.
        output: the folder for the pages, made when it is not there; an earlier report in it is replaced. With
            ``single_file`` the name of an HTML file.
        pairs: a file that ``neardup find -o`` wrote over the same inputs: nothing is searched, its pairs are shown,
            under its spec.
        title: title of the report; made of the names of the inputs when None.
        single_file: all in one file, to send; a name that ends in .html says so too.
        sources: regular expression that is searched in each id; its first group, or the match, names the source of the
            document. None: the input file, and in a folder the sub-folder.
        purpose: ``cleaning``, or ``copying``: the pages then speak of sources and shared passages, not of documents to
            remove, and put pairs in the order of the share of the smaller document that is in the larger one.
        ignore: files with text that does not count, such as the questions of an assignment: shingles that it has are
            taken out of every document, and its passages are shown grey. Passages in a file are apart by lines of
            ``---`` alone. One path or several, of any kind of document that is read.
        originals: texts that others may have used, given as ``inputs`` may be, beside the inputs or among them. They
            are compared with all submissions and not among themselves.
        against: earlier documents, given in the same way: compared with the submissions and not among themselves.
        group_by: whose a document is: ``folder:1`` (the first folder below the inputs), ``column:NAME``, or a regular
            expression that is searched in each id. Documents of one person form no pairs.
        pseudonyms: a key file, a CSV that is made when it is not there: the pages have pseudonyms in place of the names
            of people and documents, the same ones in each report with this file. Texts are as they are.
        verdicts: files that pages have exported, one or several: of each grader the newest verdict on a pair is shown.
        passages: look for repeated passages of so many bytes or more too, as ``neardup.passages`` does, and show them
            in a view of their own: of all inputs, whatever pairs there are.
        audit: measure the recall too, on so many documents; see ``audit``.
        size: how many bytes the report may have, about, such as "50MB"; 200 MB when None, 20 MB for a single file.
        preset, exact, measure, threshold, recall, shingle, normalize, sketch, slots, bands, candidates_by, seed,
            verify, collapse_exact, crowd: as for ``find``; not with ``pairs``, which have their own.
        link: as for ``find``.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``.
        memory, workdir, resume, observer, progress: as for ``find``.

    Returns:
        Reported with ``path`` (of the page to open), ``files``, ``bytes`` and the ``summary`` of the search.

    Raises:
        InputError: an option, a file or a record cannot be used; the inputs were changed meanwhile; ``pairs`` are not
            those of the inputs.
        OutputError: the report cannot be written, or something else is there.

    >>> import neardup, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> made = neardup.report(["a rose is a rose", "a rose is a rose!", "tulips"], folder, shingle="char:4")
    >>> made.path.name, made.summary.clusters
    ('index.html', 1)
    """
    given = locals()
    filed = read_pairs(pairs) if pairs is not None else None
    wanted = Wanted.of({**given, "single_file": single_file or is_page(os.fspath(output))})
    search, options = wanted.adapted(SearchOptions.of(given)), RunOptions.of(given)
    if filed is not None:
        _check_no_search(given)
        wanted.check_filed()
    if audit is not None:
        check_sample(audit, params.DEFAULT_SEED)
    spec = tuning.make_spec(search) if filed is None else filed.spec
    if filed is None and spec.measure == CONTAINMENT and audit is not None:
        raise InputError("containment misses no pair, so there is nothing to measure. Leave audit out.")
    check_site(os.fspath(output), single_file=wanted.single_file)
    prepared = Prepared.of(wanted, spec, output)
    watching = observer or Silent()
    for line in finish_names([os.fspath(output)]):
        watching.note(line)
    reader = prepared.open(inputs, InputOptions.of(given))
    check_inputs(reader, output)
    repeated = report_passages(reader, spec, wanted, options, watching)
    spec, choice = decide(reader, spec, search, options, watching)
    how: dict[str, Any] = {"task": {"report": link, **prepared.task}, "choice": choice, "template": prepared.template}
    with Run(reader, spec, options, **how, preset=search.used_preset, observer=watching) as run:
        basis, audited = report_input(run, prepared.asked(filed, link))
        return build(basis, output, wanted, verdicts=prepared.verdicts, audit=audited, passages=repeated)


def _check_no_search(given: Mapping[str, Any]) -> None:
    """Raise unless the options of a search are as they are when nothing is said of them."""
    usual = {each.name: each.default for each in fields(SearchOptions) if each.name != "link"}
    for name, value in {"preset": None, **usual, "audit": None, "resume": False}.items():
        if given[name] != value:
            raise InputError(
                f"{name} is about a search, and with pairs nothing is searched: their spec says it. Leave {name} out."
            )
