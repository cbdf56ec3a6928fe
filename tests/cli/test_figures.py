"""``neardup figures`` writes what it says, tells wrong usage before it reads, and needs matplotlib to draw only."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from neardup.cli import main
from neardup.cli.figures import FIGURE_FORMATS, FIGURE_NAMES
from neardup.drawing.style import FORMATS
from neardup.tasks.figures import sheets

pytest.importorskip("matplotlib")

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Forty documents, some of them twice."""
    draw = random.Random(7)
    lines = [" ".join("".join(draw.choices("abcdef", k=6)) for _ in range(30)) for _ in range(40)]
    path = tmp_path / "docs.lines"
    path.write_text("\n".join([*lines, *(f"{line} x" for line in lines[:9])]) + "\n")
    return path


def test_the_command_knows_the_figures_and_formats() -> None:
    assert tuple(sheets.FIGURES) == FIGURE_NAMES
    assert FORMATS == FIGURE_FORMATS


def test_files_are_written_and_named_on_stdout(command: Command, documents: Path, tmp_path: Path) -> None:
    only = [word for name in ("s-curves", "clusters") for word in ("--only", name)]
    formats = ["--format", "svg", "--format", "png"]
    done = command("figures", "docs.lines", "--input-format", "lines", "-o", "out", *only, *formats)
    assert done.returncode == 0, done.stderr
    names = [f"out/{name}.{suffix}" for name in ("s-curves", "clusters") for suffix in ("svg", "png", "csv")]
    assert done.stdout.splitlines() == names
    assert {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "out").iterdir()} == set(names)
    assert done.stderr.splitlines()[-1].startswith("neardup: 6 files in out, ")


@pytest.mark.slow
def test_all_figures_are_drawn(command: Command, documents: Path, tmp_path: Path) -> None:
    done = command("figures", "docs.lines", "--input-format", "lines", "-o", "a/b", "--quiet", "--shingle", "word:2")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"a/b/{name}.{suffix}" for name in FIGURE_NAMES for suffix in ("png", "csv")]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-o", "docs.lines"], "is a file"),
        (["-o", "out", "--only", "pie"], "'pie' is not one of"),
        (["-o", "out", "--format", "jpg"], "'jpg' is not one of"),
        (["-o", "out", "-t", "2"], "threshold is 2."),
        (["-o", "out", "--bands", "32x8", "--slots", "128"], "--bands 32x8 needs 256 slots"),
        (["-o", "out", "--quiet", "--verbose"], "exclude each other"),
    ],
)
def test_wrong_usage_is_told_at_once(
    args: list[str], words: str, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["figures", "docs.lines", *args], prog_name="neardup")
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert not (tmp_path / "out").exists()


def test_without_matplotlib_the_install_line_is_told_before_anything_is_read(command: Command, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "matplotlib.py").write_text("raise ImportError('hidden')\n")
    (tmp_path / "nothing.jsonl").write_text("{never read\n")
    done = command("figures", "nothing.jsonl", "-o", "out", env={**os.environ, "PYTHONPATH": str(hidden)})
    assert done.returncode == 1
    assert done.stderr == "Error: figures need matplotlib: pip install 'neardup[plot]'\n"
    assert not (tmp_path / "out").exists()


def test_no_screen_is_looked_for(tmp_path: Path) -> None:
    code = (
        "import sys; from neardup.tasks.figures.public import figures\n"
        "figures(['a b c d', 'a b c d e'], output='out', only=['s-curves', 'clusters'], shingle='word:2')\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    env = {**os.environ, "MPLBACKEND": "TkAgg"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
