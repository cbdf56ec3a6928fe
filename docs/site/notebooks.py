"""The notebooks of the tutorials, made from their pages: one source, two ways to read it."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from nbformat import NotebookNode, writes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

_BLOCK = re.compile(r"^```(?P<kind>[^\n`]*)\n(?P<body>.*?)^```$\n?", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[(?P<shown>[^\]]*)\]\((?!https?:)[^)]*\)")
_WHERE = "*Run this notebook in a folder that holds `examples/` of the repository, after `pip install neardup`.*"


def write_notebooks(folder: Path) -> None:
    """Write the notebook of each page of the folder beside it, and a link to it below the title of the page."""
    for page in sorted(folder.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        page.with_suffix(".ipynb").write_text(writes(notebook_of(text, page.stem)), encoding="utf-8")
        title, _, rest = text.partition("\n")
        page.write_text(f"{title}\n\n[Download this page as a notebook]({page.stem}.ipynb)\n{rest}", encoding="utf-8")


def notebook_of(text: str, name: str) -> NotebookNode:
    """The notebook of a page: its text, and a cell for each block that runs. Links to other pages become plain words.

    Commands become cells of ``bash``, and Python, shown as a session or not, cells of Python. What a page shows as
    output is left out, for a notebook makes its own.
    """
    cells: list[NotebookNode] = []
    told = 0
    for block in _BLOCK.finditer(text):
        _tell(cells, text[told : block.start()])
        told = block.end()
        cells.append(_cell(block["kind"].split(), block["body"], block[0]))
    _tell(cells, text[told:])
    cells.insert(1, new_markdown_cell(_WHERE))
    for number, cell in enumerate(cells):
        cell["id"] = f"{name}-{number}"  # drawn at random otherwise
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def _tell(cells: list[NotebookNode], text: str) -> None:
    if text.strip():
        cells.append(new_markdown_cell(_LINK.sub(r"\g<shown>", text.strip())))


def _cell(kind: list[str], body: str, whole: str) -> NotebookNode:
    """The cell of a fenced block."""
    if kind[:1] == ["console"]:
        commands = re.findall(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)", body, re.MULTILINE)
        return new_code_cell("\n".join(["%%bash", *commands]))
    if kind[:1] == ["python"]:
        examples = doctest.DocTestParser().get_examples(body)
        return new_code_cell("".join(example.source for example in examples).rstrip() if examples else body.rstrip())
    return new_markdown_cell(whole.strip())
