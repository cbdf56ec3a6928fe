"""The notebooks in examples/ run from their first cell to their last, and what they show is what a browser can show.

So do the notebooks that docs.site makes of the tutorials.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from docs.site.notebooks import notebook_of
from nbformat import writes
from tests import warm
from tests.docs.blocks import blocks_of, commands_of, matches
from tests.remote.stores import free_port
from tests.spark.session import missing, submitting

NOTEBOOKS = ("first-look", "clean-a-frame", "one-pair")
ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted(path.stem for path in (ROOT / "docs" / "tutorial").glob("*.md"))
FRAME = "neardup-fragment"
_RUN = """
import os, sys, nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
books = [nbformat.read(name, as_version=4) for name in sys.argv[1:]]
together = new_notebook()
for name, book in zip(sys.argv[1:], books):
    nbformat.validate(book)
    there = f"import os; os.chdir({os.path.dirname(name)!r})"
    together.cells += [new_code_cell("%reset -f"), new_code_cell(there), *book.cells]
NotebookClient(together, timeout=500, kernel_name="python3").execute()
for name, book in zip(sys.argv[1:], books):
    nbformat.write(book, name)
"""
"""In a process of its own: the libraries of notebooks warn of each other, and warnings are errors in tests. One kernel
runs them all, emptied between them, since each start of one takes as long as a notebook."""


@pytest.fixture(scope="module")
def executed(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The code cells of each notebook with their outputs, executed in a copy of examples/, or beside it."""
    folder = tmp_path_factory.mktemp("notebooks")
    shutil.copytree(repository / "examples", folder / "examples")
    work, home, tools = folder / "examples" / "notebooks", folder / "home", folder / "bin"
    places = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    env = {**warm.environment(), **dict.fromkeys(places, str(home)), "JUPYTER_PLATFORM_DIRS": "1"}
    home.mkdir()
    tools.mkdir()
    warm.shell_commands(tools)
    env["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"
    tutorials = [name for name in TUTORIALS if name != "cluster" or missing() is None]
    env |= submitting() if "cluster" in tutorials else {}
    for name in tutorials:
        shutil.copytree(repository / "examples", folder / name / "examples")
        page = (repository / "docs" / "tutorial" / f"{name}.md").read_text("utf-8")
        page = page.replace("8791", str(free_port()))  # another test runs the page itself
        (folder / name / f"{name}.ipynb").write_text(writes(notebook_of(page, name)), "utf-8")
    books = [*(work / f"{name}.ipynb" for name in NOTEBOOKS), *(folder / name / f"{name}.ipynb" for name in tutorials)]
    done = warm.run(["-c", _RUN, *map(str, books)], cwd=work, env=env, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return {book.stem: code_cells(book) for book in books}


def code_cells(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_all_notebooks_are_run_and_none_is_kept_with_outputs(repository: Path) -> None:
    folder = repository / "examples" / "notebooks"
    assert sorted(path.stem for path in folder.glob("*.ipynb")) == sorted(NOTEBOOKS)
    for path in folder.glob("*.ipynb"):
        assert [cell["outputs"] for cell in code_cells(path) if cell["outputs"]] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs_and_shows_results_as_html(name: str, executed: dict[str, list[dict[str, Any]]]) -> None:
    outputs = [output for cell in executed[name] for output in cell["outputs"]]
    assert [output for output in outputs if output["output_type"] == "error"] == []
    shown = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]
    assert sum(FRAME in html for html in shown) >= 3
    assert all(len(html) < 1_000_000 for html in shown)


@pytest.mark.parametrize("name", TUTORIALS)
def test_the_notebook_of_a_tutorial_prints_what_the_page_shows(
    name: str, executed: dict[str, list[dict[str, Any]]]
) -> None:
    if name not in executed:
        pytest.skip(f"needs PySpark and Java: {missing()}")
    blocks = [
        block
        for block in blocks_of(ROOT / "docs" / "tutorial" / f"{name}.md", ROOT)
        if block.info[:1] in {("console",), ("python",)}
    ]
    assert len(blocks) == len(executed[name]) > 0
    for block, cell in zip(blocks, executed[name], strict=True):
        if block.info[:1] == ("console",):
            streams = ("stdout", "stderr") if "all" in block.info else ("stdout",)
            printed = "".join(
                _printed(output) for kind in streams for output in cell["outputs"] if output.get("name") == kind
            )
            # a kernel asks for bold type, whose lines are filled up with spaces
            printed = re.sub(r"(\x1b\[\d+m|[ \r])+$|\x1b\[\d+m", "", printed, flags=re.MULTILINE)
            shown = "".join(command.shown if command.shown.strip() else "…\n" for command in commands_of(block))
            assert matches(shown, printed), f"{block}: it printed\n{printed}\nand the page shows\n{shown}"


def test_the_notebook_of_the_course_shows_its_values(executed: dict[str, list[dict[str, Any]]]) -> None:
    said = "".join(_printed(output) for cell in executed["course"] for output in cell["outputs"])
    assert "[[1, 0], [3, 2], [0, 0], [1, 0]]" in said
    assert "0.6 0.8019 0.8019" in said


def _printed(output: dict[str, Any]) -> str:
    return "".join(output.get("text", "")) + "".join(output.get("data", {}).get("text/plain", ""))


def test_a_notebook_shows_the_bar_the_figure_and_the_report(executed: dict[str, list[dict[str, Any]]]) -> None:
    outputs = [output for cell in executed["first-look"] for output in cell["outputs"]]
    data = [output["data"] for output in outputs if "data" in output]
    assert sum("image/png" in each for each in data) == 1
    assert sum("<iframe" in "".join(each.get("text/html", "")) for each in data) == 1
    bars = [output for output in outputs if output["output_type"] == "display_data"]
    assert len(bars) >= 1  # the place of the bar, which is wiped when the search is done
    assert "<progress" not in "".join("".join(bar["data"].get("text/html", "")) for bar in bars)
