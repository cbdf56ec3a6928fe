"""One timed run in a process of its own: a task as JSON on stdin, seconds and bytes as JSON on stdout.

``python -m neardup.tasks.figures.child`` is called by ``neardup.tasks.figures.timing`` and by nobody else.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from neardup import tuning
from neardup.engine.check import Checker
from neardup.engine.observe import Silent, peak_memory
from neardup.engine.reading.collect import collect
from neardup.engine.space import Budget, Space
from neardup.errors import NeardupError
from neardup.inputs.names.ledger import Ledger
from neardup.inputs.reader import Reader, open_inputs
from neardup.params import RunOptions, Spec
from neardup.session import Run

__all__ = ["compare_all", "main"]

TILE = 1024
"""Documents of a side of the square of pairs that are compared at a time."""
ENOUGH_SECONDS = 1.0
"""Shorter runs are made again, and the fastest counts."""
MOST_REPEATS = 5
WARM = ["a rose is a rose is a rose", "a rose is a rose is a rose!", "tulips are not roses"]
WARM_SETS = [["a", "rose"], ["a", "rose", "is"], ["tulips"]]


def main() -> None:
    """Run the task of stdin: kernels are loaded first, then the clock starts."""
    task = json.load(sys.stdin)
    spec = Spec.from_dict(task["spec"])
    warm = WARM_SETS if spec.shingle.kind == "item" else WARM
    _one(task["method"], _open(warm, spec), spec, task["threads"])
    program = peak_memory()
    runs: list[float] = []
    while not runs or (sum(runs) < ENOUGH_SECONDS and len(runs) < MOST_REPEATS):
        begin = time.perf_counter()
        _one(task["method"], _open(task["path"], spec), spec, task["threads"])
        runs.append(time.perf_counter() - begin)
    answer = {"seconds": min(runs), "spent": sum(runs), "memory": peak_memory(), "program": program}
    json.dump(answer, sys.stdout)


def _open(inputs: Any, spec: Spec) -> Reader:
    return open_inputs(inputs, text=None if isinstance(inputs, list) else "text", item=spec.shingle.kind == "item")


def _one(method: str, reader: Reader, spec: Spec, threads: int) -> None:
    """Do the work once and forget what came out."""
    if method == "naive":
        compare_all(reader, spec, threads)
        return
    with Run(reader, tuning.as_exact(spec) if method == "exact" else spec, RunOptions(threads=threads)) as run:
        finding = run.find("star")
        for _ in finding.pairs():
            pass


def compare_all(reader: Reader, spec: Spec, threads: int) -> int:
    """The obvious way: compare every document with every other; returns the pairs of at least the threshold."""
    space = Space(Budget(1 << 62, 1 << 62), None, {})
    collection = collect(
        reader.tasks(),
        spec,
        total_bytes=reader.total_bytes,
        threads=threads,
        ledger=Ledger(),
        observer=Silent(),
        space=space,
    )
    check = Checker(collection, threads=threads, observer=Silent())
    rows = np.concatenate([counts for _, counts in collection.counts.scan(1 << 16)] or [np.empty(0, np.int64)])
    rows = np.flatnonzero(rows)
    found = 0
    for i in range(0, rows.size, TILE):
        for j in range(i, rows.size, TILE):
            left, right = (side.ravel() for side in np.meshgrid(rows[i : i + TILE], rows[j : j + TILE], indexing="ij"))
            apart = left < right
            found += int(np.count_nonzero(check(left[apart], right[apart], spec.threshold) >= 0))
    return found


if __name__ == "__main__":
    try:
        main()
    except NeardupError as exc:
        sys.exit(str(exc))
