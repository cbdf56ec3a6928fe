"""The Markdown pages as Sphinx takes them: in one folder, with links that fit there.

The pages stay readable on GitHub: their links lead from file to file of the repository. Here each page gets its place
on the site, and each link is made to lead there. The sections of docs/README.md, which is the first page, become those
of the navigation.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

HOME = "docs/README.md"
RESULTS = "benchmarks/RESULTS.md"
PLACES = {
    HOME: "index.md",
    "README.md": "overview.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "STABILITY.md": "project/stability.md",
    "CHANGELOG.md": "project/changes.md",
    "examples/README.md": "project/examples.md",
    "tests/README.md": "project/tests.md",
    "benchmarks/README.md": "benchmarks/programs.md",
    "benchmarks/LABELS.md": "benchmarks/labels.md",
    RESULTS: "benchmarks/results.md",
}
"""Where pages stand on the site; others of docs/ stand there as they do in docs/."""
FILES = "files"
"""The folder of files that pages link to and that are no pages."""
_FENCED = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
_ROW = re.compile(r"^\| \[(?P<title>[^\]]+)\]\((?P<target>[^)\s#]+)")


def collect(root: Path, stage: Path) -> None:
    """Write all pages of the checkout at ``root`` into the folder ``stage``, with their pictures and files."""
    pages = {
        **{path.relative_to(root).as_posix(): path.relative_to(root / "docs").as_posix() for path in _pages(root)},
        **{page: place for page, place in PLACES.items() if (root / page).exists()},
    }
    for page, place in pages.items():
        text = (root / page).read_text(encoding="utf-8")

        def moved(target: str, page: str = page, place: str = place) -> str:
            return _moved(root, stage, pages, page, place, target)

        text = with_links(text, moved)
        made = stage / place
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(with_navigation(text) if page == HOME else text, encoding="utf-8")


def _pages(root: Path) -> Iterator[Path]:
    yield from sorted((root / "docs").rglob("*.md"))


def with_links(text: str, moved: Callable[[str], str]) -> str:
    """The text of a page with its links, outside of fenced blocks, replaced: ``moved`` takes and gives a target."""
    parts = _FENCED.split(text)
    parts[::2] = [
        _LINK.sub(lambda found: f"]({moved(found['target'])}{found['anchor'] or ''})", part) for part in parts[::2]
    ]
    return "".join(parts)


def _moved(root: Path, stage: Path, pages: dict[str, str], page: str, place: str, target: str) -> str:
    """Where a link of a page leads on the site. A file that is no page is copied; one that is not there stays."""
    if "://" in target or target.startswith("mailto:"):
        return target
    meant = os.path.normpath(PurePosixPath(page).parent / target)
    there = pages.get(meant)
    if there is None and (root / meant).is_dir():
        there = pages.get(f"{meant}/README.md")
    if there is None:
        if not (root / meant).is_file():
            return target
        there = meant.removeprefix("docs/") if meant.startswith("docs/") else f"{FILES}/{meant}"
        (stage / there).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / meant, stage / there)
    return os.path.relpath(there, PurePosixPath(place).parent)


def with_navigation(text: str) -> str:
    """The first page with a hidden ``toctree`` (the navigation) behind each section with a table."""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    made = [parts[0]]
    for part in parts[1:]:
        title = part.partition("\n")[0]
        entries = [f"{row['title']} <{row['target']}>" for row in map(_ROW.match, part.splitlines()) if row is not None]
        tree = ["```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```", ""] if entries else []
        made.append(f"## {part.rstrip()}\n\n" + "\n".join([*tree, ""]))
    return "".join(made)
