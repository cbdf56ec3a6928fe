"""The snapshots of this folder made anew: ``python -m tests.golden.freeze [NAME…]``, then read what git shows.

A snapshot that differs is a change that a user sees. Make it anew only when the change is meant, and say it in
CHANGELOG.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.golden import interface, pages, transcripts

FOLDER = Path(__file__).resolve().parent / "snapshots"
REPORTED = "$ neardup report chapters -t 0.5 -o site --title Chapters --sources [^/]+ --quiet --threads 2 --memory 8GB"
COMPARED = "$ neardup compare chapters/1Tim.2/NHEB.txt chapters/1Tim.2/Webster.txt --html pair.html --quiet"


def report_page(folder: Path) -> str:
    """What can be read in the page of a small report, and what its data holds."""
    return _page(REPORTED, "site/index.html", folder)


def pair_page(folder: Path) -> str:
    """The same of the page of a comparison."""
    return _page(COMPARED, "pair.html", folder)


def _page(line: str, name: str, folder: Path) -> str:
    with transcripts.chdir(folder):
        result = transcripts.invoke(line)
        assert result.exit_code == 0, result.output
        html = Path(name).read_text("utf-8")
    data = "\n\n".join("data:\n" + "\n".join(pages.outline(each)) for each in pages.data_of(html))
    return f"{line}\n\n{pages.markup(html)}\n\n{data}\n"


def _transcript(name: str) -> Callable[[Path], str]:
    return lambda folder: transcripts.transcript((FOLDER / name).read_text("utf-8"), folder)


SNAPSHOTS: dict[str, Callable[[Path], str]] = {
    "parameters.txt": lambda folder: interface.parameters(),
    "public_names.txt": lambda folder: interface.public_names(),
    "report_page.txt": report_page,
    "pair_page.txt": pair_page,
    **{path.name: _transcript(path.name) for path in sorted(FOLDER.glob("run_*.txt"))},
}
"""File to the function that makes its text in an empty folder with the inputs in it."""


def made(name: str, folder: Path) -> str:
    """The text of a snapshot as the program gives it now."""
    transcripts.set_up(folder)
    return SNAPSHOTS[name](folder)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or SNAPSHOTS:
        with tempfile.TemporaryDirectory() as place:
            text = made(chosen, Path(place).resolve())
        (FOLDER / chosen).write_text(text, encoding="utf-8")
        print(chosen)
