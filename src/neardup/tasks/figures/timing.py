"""Time and memory of a search over ever larger parts of a collection, beside the ways that find every pair.

Each run is a process of its own (``neardup.tasks.figures.child``), so that its peak of memory is its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.engine.observe import Observer
from neardup.engine.reading.collection import SCAN, Collection
from neardup.errors import NeardupError
from neardup.inputs.items import ITEM_SEPARATOR
from neardup.tasks.figures.scaling import METHODS, Timings
from neardup.types import I64

__all__ = ["MOST_BYTES", "SECONDS", "Part", "cut_parts", "measure"]

MOST_BYTES = 48_000_000
"""Bytes of text that the largest part has, at most."""
SECONDS = 12.0
"""Time that all runs of a method may take together, beside the starts of their processes; one run is always made."""
HANGS = 300.0
"""Seconds after which a process is given up."""
HALVINGS = 4
"""Parts: a sixteenth, an eighth, … and the whole."""
LEAST_DOCUMENTS = 32
"""Fewer documents say nothing about time."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a collection in a file of its own."""

    path: Path
    documents: int


def cut_parts(collection: Collection, folder: Path) -> tuple[list[Part], bool]:
    """Write a sixteenth of the documents, an eighth, … and all into Arrow files; each part is in the next.

    Documents are chosen by the hash of their text: no order of the input matters, and copies stay together. Texts are
    as they were normalised.

    Returns:
        The parts, smallest first, and whether the largest is less than the whole.
    """
    marks = np.concatenate([prints[:, 0] for _, prints in collection.prints.scan(SCAN)] or [np.empty(0, np.uint64)])
    sizes = collection.texts.lengths(np.arange(marks.size))
    order = np.argsort(marks, kind="stable")
    most = int(np.searchsorted(np.cumsum(sizes[order]), MOST_BYTES, side="right"))
    parts = []
    for halving in range(HALVINGS, -1, -1):
        number = most >> halving
        if number >= LEAST_DOCUMENTS:
            path = folder / f"part-{halving}.arrow"
            _write(collection, np.sort(order[:number]), path)
            parts.append(Part(path, number))
    return parts, most < marks.size


def _write(collection: Collection, rows: I64, path: Path) -> None:
    """Texts of some rows as an Arrow file with a column ``text``: of lists where documents are sets."""
    items = collection.spec.shingle.kind == "item"
    kind = pa.large_list(pa.large_string()) if items else pa.large_string()
    schema = pa.schema([("text", kind)])
    with pa.OSFile(os.fspath(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for begin in range(0, rows.size, 1 << 13):
            for documents, local, _ in collection.texts.parts(rows[begin : begin + (1 << 13)]):
                blobs = [documents.blob(i) for i in local.tolist()]
                values: list[Any] = (
                    [blob.decode("utf-8") for blob in blobs]
                    if not items
                    else [
                        [item.decode("utf-8") for item in blob.split(ITEM_SEPARATOR)] if blob else [] for blob in blobs
                    ]
                )
                writer.write_batch(pa.record_batch([pa.array(values, kind)], schema=schema))


def measure(collection: Collection, *, threads: int, observer: Observer) -> tuple[list[Timings], bool]:
    """Run each method over the parts until its time is up; what is left of comparing every pair follows as n squared.

    Returns:
        Timings of each method, and whether the parts end below the whole collection.
    """
    with tempfile.TemporaryDirectory(prefix="neardup-figures-") as folder:
        parts, is_capped = cut_parts(collection, Path(folder))
        observer.stage("timing parts of the collection", len(parts) * len(METHODS), "runs")
        found = [_measure(method, parts, collection, threads, observer) for method in METHODS]
    return found, is_capped


def _measure(method: str, parts: list[Part], collection: Collection, threads: int, observer: Observer) -> Timings:
    left = SECONDS
    answers: list[dict[str, float]] = []
    for part in parts:
        if answers and _next([answer["seconds"] for answer in answers]) > left:
            break
        answers.append(_run(method, part, collection, threads))
        left -= answers[-1]["spent"]
        observer.advance(1)
    made = len(answers)
    observer.advance(len(parts) - made)
    seconds, memory, programs = (
        np.array([answer[name] for answer in answers], dtype=np.float64) for name in ("seconds", "memory", "program")
    )
    documents = np.array([part.documents for part in parts], dtype=np.int64)
    if method == "naive" and made:
        rest = seconds[-1] * (documents[made:] / documents[made - 1]) ** 2.0
        seconds = np.concatenate((seconds, rest))
        memory = np.concatenate((memory, np.zeros(rest.size)))
    documents = documents[: seconds.size]
    measured = np.arange(documents.size) < made
    return Timings(method, documents, seconds, memory, measured, float(programs.min(initial=np.inf)))


def _next(seconds: list[float]) -> float:
    """Seconds that the next run, of twice the documents, will take: as the last two tell, from twice to four times."""
    growth = 4.0 if len(seconds) < 2 else seconds[-1] / seconds[-2]
    return seconds[-1] * min(4.0, max(2.0, growth))


def _run(method: str, part: Part, collection: Collection, threads: int) -> dict[str, float]:
    """One run in a process of its own."""
    spec = collection.spec
    task = {"method": method, "path": os.fspath(part.path), "spec": spec.as_dict(), "threads": threads}
    here = os.fspath(Path(__file__).resolve().parents[2])
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "neardup.tasks.figures.child"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        timeout=HANGS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    if done.returncode:
        raise NeardupError(f"timing {method} over {part.documents} documents failed: {done.stderr.strip()[-500:]}")
    answer: dict[str, float] = json.loads(done.stdout)
    return answer
