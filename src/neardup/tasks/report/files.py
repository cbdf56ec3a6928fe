"""The files that documents of a report are, where each is one document, as addresses from the page on."""

from __future__ import annotations

import os
from collections.abc import Callable

from neardup.inputs.folder import FilesSource
from neardup.pages.links import file_link
from neardup.shown import shown_path
from neardup.tasks.report.report_input import ReportInput
from neardup.types import I64


def file_links(
    basis: ReportInput, output: str | os.PathLike[str], *, single_file: bool
) -> Callable[[I64], dict[int, str]]:
    """A function that gives the addresses of the files of some rows, by row: of those beside the report or below.

    What else was read, such as the lines of one file, has no address.
    """
    folder = os.path.dirname(os.path.abspath(output))

    def links(rows: I64) -> dict[int, str]:
        names = basis.run.provenance.ids.take(rows).to_pylist()
        wanted = dict(zip(names, rows.tolist(), strict=True))
        found = {}
        for source in basis.run.reader.parts:
            for file in source.files if isinstance(source, FilesSource) else ():
                row = wanted.get(shown_path(file.path))
                if row is None or file.stream is not None:
                    continue
                link = file_link(file.path, folder, up="" if single_file else "../")
                if link is not None:
                    found[row] = link
        return found

    return links
