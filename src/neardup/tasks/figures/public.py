"""Figures of a collection: inputs to picture files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from neardup import tuning
from neardup.engine.observe import Observer, Silent
from neardup.inputs.reader import open_inputs
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
)
from neardup.session import Run, check_threads
from neardup.tasks.figures.sheets import check_formats, check_names, make_folder, write
from neardup.tasks.figures.style import check_matplotlib

__all__ = ["figures"]


def figures(
    inputs: Any,
    *,
    output: str | os.PathLike[str],
    only: str | Sequence[str] = (),
    formats: str | Sequence[str] = "png",
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
    boilerplate: str = "keep",
    on_bad: str = "fail",
    input_format: str | None = None,
    threads: int | None = None,
    block: int | None = None,
    memory: int | str | None = None,
    workdir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    observer: Observer | None = None,
) -> list[str]:
    """Draw what the method does on a collection, each figure to a file of its own.

    The collection is searched once, and its bands are run once more for what each of them brings. The files are
    the same in every run, to the byte.

    Args:
        inputs: as for ``find``.
        output: folder for the files; it is made when it is not there. A file of the same name is replaced.
        only: names of figures: ``s-curves``, ``recall``, ``bands``, ``similarities``, ``clusters``; all when
            empty.
        formats: ``png``, ``svg`` or ``pdf``, or several.
        threshold, recall, shingle, normalize, sketch, slots, bands, seed, crowd: as for ``find``.
        text, id, glob, encoding, boilerplate, on_bad, input_format, threads, block: as for ``find``.
        memory, workdir, resume, observer: as for ``find``.

    Returns:
        Names of the files written, one a figure and format.

    Raises:
        InputError: an option, a file or a record cannot be used; the message names it and the cure.
        MissingDependency: matplotlib is not installed.
        OutputError: a file cannot be written; those before it are complete.

    >>> import neardup, tempfile
    >>> written = neardup.figures(["a rose is a rose", "tulips"], output=tempfile.mkdtemp(), only="s-curves")
    >>> [name.rpartition("/")[2] for name in written]
    ['s-curves.png']
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
    check_matplotlib()
    names = check_names((only,) if isinstance(only, str) else only)
    suffixes = check_formats((formats,) if isinstance(formats, str) else formats)
    reader = open_inputs(
        inputs,
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
    folder = make_folder(output)
    run = Run(
        reader,
        spec,
        check_threads(threads),
        memory,
        workdir,
        resume=resume,
        task={"command": "figures"},
        observer=observer or Silent(),
    )
    with run:
        return list(write(run, folder, names=names, formats=suffixes))
