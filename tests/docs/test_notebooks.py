"""The notebooks in examples/ run from their first cell to their last, and what they show is what a browser can show."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests import warm

NOTEBOOKS = ("first-look", "clean-a-frame", "one-pair")
FRAME = "neardup-fragment"
_RUN = """
import sys, nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
books = [nbformat.read(name, as_version=4) for name in sys.argv[1:]]
together = new_notebook()
for book in books:
    nbformat.validate(book)
    together.cells += [new_code_cell("%reset -f"), *book.cells]
NotebookClient(together, timeout=500, kernel_name="python3").execute()
for name, book in zip(sys.argv[1:], books):
    nbformat.write(book, name)
"""
"""In a process of its own: the libraries of notebooks warn of each other, and warnings are errors in tests. One kernel
runs them all, emptied between them, since each start of one takes as long as a notebook."""


@pytest.fixture(scope="module")
def executed(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The code cells of each notebook with their outputs, executed in a copy of examples/."""
    folder = tmp_path_factory.mktemp("notebooks")
    shutil.copytree(repository / "examples", folder / "examples")
    work, home = folder / "examples" / "notebooks", folder / "home"
    places = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    env = {**warm.environment(), **dict.fromkeys(places, str(home)), "JUPYTER_PLATFORM_DIRS": "1"}
    home.mkdir()
    files = [f"{name}.ipynb" for name in NOTEBOOKS]
    done = warm.run(["-c", _RUN, *files], cwd=work, env=env, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: code_cells(work / f"{name}.ipynb") for name in NOTEBOOKS}


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


def test_a_notebook_shows_the_bar_the_figure_and_the_report(executed: dict[str, list[dict[str, Any]]]) -> None:
    outputs = [output for cell in executed["first-look"] for output in cell["outputs"]]
    data = [output["data"] for output in outputs if "data" in output]
    assert sum("image/png" in each for each in data) == 1
    assert sum("<iframe" in "".join(each.get("text/html", "")) for each in data) == 1
    bars = [output for output in outputs if output["output_type"] == "display_data"]
    assert len(bars) >= 1  # the place of the bar, which is wiped when the search is done
    assert "<progress" not in "".join("".join(bar["data"].get("text/html", "")) for bar in bars)
