"""A search that is told what to return, and the command run around it, in this process or in another."""

from __future__ import annotations

import math
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from tests import warm

import neardup
from neardup.cli import forms, main
from neardup.cli.find import FOUND
from neardup.params import Bands, Normalize, Shingle, Spec
from neardup.session import Run
from neardup.types import Fault

SPEC = Spec(
    threshold=0.8,
    recall=0.99,
    shingle=Shingle("char", 9),
    normalize=Normalize("nfc"),
    sketch="hybrid",
    slots=256,
    bands=Bands(32, 8),
    seed=1,
    min_matches=180,
    crowd=1000,
)
PAIRS = pa.table({"id_a": ["a", "b"], "id_b": ["b", "c"], "similarity": [1.0, 0.8]})
CLUSTERS = pa.table({"id": ["a", "b"], "cluster": [0, 0], "keeper": ["a", "a"], "similarity": [1.0, 0.9]})
CROWDS = pa.table({"leader": pa.array([], pa.large_string()), "documents": pa.array([], pa.int64())})
SUMMARY: dict[str, Any] = {
    "documents": 1234,
    "bytes": 5_600_000,
    "empty": 1,
    "short": 2,
    "bad": 0,
    "blank": 3,
    "passed_over": (),
    "columns": (),
    "duplicate_ids": 0,
    "duplicate_id_example": None,
    "exact_copies": 4,
    "candidates": 56,
    "checked": 50,
    "pairs": 2,
    "clusters": 1,
    "crowds": 0,
    "crowd_documents": 0,
    "overfull": 0,
    "preset": None,
    "hints": [],
    "recall": 0.99312,
    "threshold": 0.8,
    "slots": 256,
    "bands": "32x8",
    "seconds": {"read": 0.5, "candidates": 0.1, "check": 0.2, "cluster": 0.0},
    "total_seconds": 0.8,
    "mb_per_second": 7.0,
    "peak_memory": 210_000_000,
    "memory_limit": 2_000_000_000,
    "spooled": 0,
    "engine": "local",
    "master": None,
    "exchanged": {},
    "threads": 2,
    "sketch": "hybrid",
    "link": "star",
    "method": "banding",
    "choice": None,
    "spec": SPEC.as_dict(),
    "spec_id": SPEC.id,
    "version": neardup.__version__,
}


class FakeSearch:
    """Stands in for ``Run.find``: notes how it was called, then returns or raises what it was given."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.calls: list[dict[str, Any]] = []
        self.error: BaseException | None = None
        self.summary: dict[str, Any] = {}
        self.pairs = PAIRS
        self.crowds = CROWDS
        self.faults: list[Fault] = []
        self.notes: list[str] = []

    def find(self, run: Run, link: str) -> Any:
        reader, spec = run.reader, run.spec
        self.runs.append(run)
        self.calls.append({"inputs": reader.sources, "link": link, **spec.as_dict(), **reader.settings})
        for note in self.notes:
            run.observer.note(note)
        if self.error is not None:
            run.space.checkpoint(read=1)  # some work is done by then
            raise self.error
        return SimpleNamespace(
            pairs=lambda listing, text_rows=None: self.pairs.to_reader(),
            clusters=lambda with_text: CLUSTERS,
            crowds=lambda: self.crowds,
            faults=self.faults,
            summary=lambda: SimpleNamespace(as_dict=lambda: {**SUMMARY, **self.summary}),
        )


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> FakeSearch:
    """A search that reads nothing; the command calls it in place of the real one."""
    fake = FakeSearch()

    def fake_find(run: Run, link: str) -> Any:
        return fake.find(run, link)

    monkeypatch.setattr(Run, "find", fake_find)
    return fake


@pytest.fixture
def summary() -> dict[str, Any]:
    """A summary to render; a test may change its own copy."""
    return {**SUMMARY, "seconds": dict(SUMMARY["seconds"])}


@pytest.fixture
def neardup_find(search: FakeSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run ``neardup find docs.jsonl …`` in an empty folder with the search replaced."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.jsonl").write_text('{"text": "only looked at", "body": "for its columns", "key": 1}\n')

    def run(*args: str) -> Result:
        return CliRunner().invoke(main, ["find", "docs.jsonl", *args], prog_name="neardup")

    return run


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the real command outside this process, in an empty folder."""

    def run(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return warm.run(["-m", "neardup", *args], **{"cwd": tmp_path, "encoding": "utf-8", **options})

    return run


@pytest.fixture(autouse=True)
def every_hint_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run each command that a hint printed in a test, in the folder of that test: none may be refused or fail."""
    printed: dict[str, Path] = {}
    written = forms.try_instead

    def noted(ctx: click.Context, hint: Mapping[str, Any]) -> str:
        command = written(ctx, hint)
        printed[command] = Path.cwd()
        return command

    monkeypatch.setattr(forms, "try_instead", noted)
    yield
    for command, folder in list(printed.items()):
        monkeypatch.chdir(folder)
        done = CliRunner().invoke(main, shlex.split(command)[1:], prog_name="neardup")
        assert done.exit_code in (0, FOUND), f"{command}\n{done.stderr}"


@pytest.fixture(autouse=True)
def no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a command takes on a busy machine, no line of progress comes between what it says."""
    monkeypatch.setattr("neardup.progress.EVERY_SECONDS", math.inf)
