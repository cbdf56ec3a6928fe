"""Figures of a collection: inputs to picture files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from neardup import params, tuning
from neardup.calls import hinted
from neardup.drawing.style import FORMATS, check_matplotlib
from neardup.engine.observe import Observer, Silent
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.params import Bands, InputOptions, Normalize, Preset, RunOptions, SearchOptions, Shingle, with_preset
from neardup.session import Run
from neardup.tasks.figures.sheets import FIGURES, check_known, make_folder, write
from neardup.watching import watched


@hinted
@watched
@with_preset
def figures(
    inputs: Any,
    output: str | os.PathLike[str],
    *,
    only: str | Sequence[str] = (),
    formats: str | Sequence[str] = "png",
    preset: str | Preset | None = None,
    threshold: float = params.DEFAULT_THRESHOLD,
    recall: float = params.DEFAULT_RECALL,
    shingle: str | Shingle = params.DEFAULT_SHINGLE,
    normalize: str | Normalize = params.DEFAULT_NORMALIZE,
    sketch: str = params.DEFAULT_SKETCH,
    slots: int | None = None,
    bands: str | Bands | None = None,
    seed: int = params.DEFAULT_SEED,
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
) -> list[str]:
    """Draw figures of the method on a collection, each to a file of its own, with its numbers as CSV.

    The collection is searched once, and its bands are run once more to count what each of them adds. The last four
    figures search a sample of at most 5,000 documents several times. All files but those of ``scaling`` are the same in
    every run, to the byte.

    Args:
        inputs: as for ``find``.
        output: folder for the files, made if it does not exist. A file of the same name is replaced.
        only: names of figures: ``s-curves``, ``recall``, ``bands``, ``similarities``, ``clusters``, ``rates``,
            ``candidates``, ``hashes``, ``scaling``; all if empty.
        formats: ``png``, ``svg`` or ``pdf``, or several.
        preset, threshold, recall, shingle, normalize, sketch, slots, bands, seed, crowd: as for ``find``.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``.
        memory, workdir, resume, observer, progress: as for ``find``.

    Returns:
        Names of the files written: for each figure one in each format, and a CSV.

    Raises:
        InputError: an option, a file or a record cannot be used; the message names it and the cure.
        MissingDependency: matplotlib is not installed.
        OutputError: a file cannot be written; those before it are complete.

    >>> import neardup, tempfile
    >>> written = neardup.figures(["a rose is a rose", "tulips"], tempfile.mkdtemp(), only="s-curves")
    >>> [name.rpartition("/")[2] for name in written]
    ['s-curves.png', 's-curves.csv']
    """
    given = locals()
    spec = tuning.make_spec(SearchOptions.of(given))
    check_matplotlib()
    names = check_known(only, tuple(FIGURES), "only")
    suffixes = check_known(formats, FORMATS, "formats")
    if not suffixes:
        raise InputError(f"formats is empty. Give one or more of {', '.join(FORMATS)}.")
    reader = open_inputs(inputs, InputOptions.of(given), item=spec.shingle.kind == "item")
    task = {"command": "figures"}
    with Run(reader, spec, RunOptions.of(given), task=task, observer=observer or Silent()) as run:
        return list(write(run, make_folder(output), names=names, formats=suffixes))
