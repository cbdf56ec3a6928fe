"""Time and memory over the number of documents: banding, the exact join, and comparing every pair.

    python benchmarks/methods.py docs.jsonl [--threads 1] [--threshold 0.8] [--shingle char:9] [--plot methods.png]

A sixteenth of the documents, an eighth, … and all are searched, each run in a process of its own, so that its peak of
memory is its own; parts are drawn by the hash of the text, and each is in the next. Kernels are loaded before the clock
starts. A way goes no further when its next run would take it past --seconds. The exponent of its time is that of the
larger half of its runs; what was not run is not told.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

METHODS = ("banding", "exact join", "every pair")
WARM = ['{"text": "a rose is a rose is a rose"}', '{"text": "a rose is a rose is a rose!"}', '{"text": "tulips"}']
HALVINGS = 4
LEAST_DOCUMENTS = 32
TILE = 1024
"""Documents of a side of the square of pairs that are compared at a time."""


def search(method: str, path: Path, options: dict[str, Any]) -> int:
    """Pairs that one method finds."""
    import neardup

    threads = options["threads"]
    spec = {"threshold": options["threshold"], "shingle": options["shingle"]}
    if method != "every pair":
        return len(neardup.find(path, **spec, exact=method == "exact join", threads=threads).pairs)
    from neardup.tuning import make_spec

    return compare_all(path, make_spec(**spec), threads)


def compare_all(path: Path, spec: Any, threads: int) -> int:
    """The obvious way: every document beside every other one, with the kernel that checks candidates."""
    from neardup.inputs.reader import open_inputs
    from neardup.session import Run

    with Run(open_inputs(path), spec, threads) as run:
        done = run.search()
        rows = np.flatnonzero(done.weight > 0)
        found = 0
        for i in range(0, rows.size, TILE):
            for j in range(i, rows.size, TILE):
                sides = np.meshgrid(rows[i : i + TILE], rows[j : j + TILE], indexing="ij")
                left, right = (side.ravel() for side in sides)
                apart = left < right
                found += int(np.count_nonzero(done.check(left[apart], right[apart], spec.threshold) >= 0))
    return found


def child(task: dict[str, Any]) -> dict[str, float]:
    """One timed run, in this process: seconds, and peaks of memory in bytes without and with it."""
    from neardup.engine.observe import peak_memory

    with tempfile.TemporaryDirectory() as folder:
        warm = Path(folder, "warm.jsonl")
        warm.write_text("\n".join(WARM))
        search(task["method"], warm, task["options"])
    program = peak_memory()
    begin = time.perf_counter()
    pairs = search(task["method"], Path(task["path"]), task["options"])
    return {"seconds": time.perf_counter() - begin, "memory": peak_memory(), "program": program, "pairs": pairs}


def cut_parts(path: Path, folder: Path) -> list[tuple[Path, int]]:
    """Files with a sixteenth of the lines, an eighth, … and all, in the order of the hashes of their texts."""
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    lines.sort(key=lambda line: hashlib.blake2b(json.loads(line)["text"].encode()).digest())
    parts = []
    for halving in range(HALVINGS, -1, -1):
        number = len(lines) >> halving
        if number >= LEAST_DOCUMENTS:
            part = folder / f"part-{halving}.jsonl"
            part.write_bytes(b"\n".join(lines[:number]) + b"\n")
            parts.append((part, number))
    return parts


def measure(method: str, parts: list[tuple[Path, int]], options: dict[str, Any], limit: float) -> list[dict[str, Any]]:
    """The runs of one method, until the next would take its time past the limit."""
    runs: list[dict[str, Any]] = []
    for path, documents in parts:
        if runs:
            growth = 4.0 if len(runs) < 2 else runs[-1]["seconds"] / runs[-2]["seconds"]
            if sum(run["seconds"] for run in runs) + runs[-1]["seconds"] * min(4.0, max(2.0, growth)) > limit:
                break
        task = json.dumps({"method": method, "path": str(path), "options": options})
        done = subprocess.run([sys.executable, __file__, "--child", task], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{method} over {documents} documents failed: {done.stderr.strip()[-500:]}")
        runs.append({"documents": documents, **json.loads(done.stdout)})
    return runs


def exponent(runs: list[dict[str, Any]]) -> float | None:
    """The exponent a of seconds ~ documents**a, by least squares over the larger half of the runs."""
    if len(runs) < 3:
        return None
    use = max(3, -(-len(runs) // 2))
    x = np.log([run["documents"] for run in runs[-use:]])
    y = np.log([run["seconds"] for run in runs[-use:]])
    return float(np.polyfit(x, y, 1)[0])


def draw(found: dict[str, list[dict[str, Any]]], target: Path) -> None:
    """Seconds above, memory below, over documents; all axes logarithmic."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 7.4), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    for (method, runs), mark in zip(found.items(), "o^s", strict=True):
        slope = exponent(runs)
        documents = [run["documents"] for run in runs]
        label = method if slope is None else f"{method}, ~ n^{slope:.2f}"
        upper.loglog(documents, [run["seconds"] for run in runs], marker=mark, label=label)
        lower.loglog(documents, [run["memory"] / 1e6 for run in runs], marker=mark)
    upper.set_ylabel("wall time, seconds")
    lower.set_ylabel("peak memory, MB")
    lower.set_xlabel("documents")
    upper.legend()
    figure.savefig(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path, nargs="?", help="JSONL with a field text")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--shingle", default="char:9")
    parser.add_argument("--seconds", type=float, default=60.0, help="of all runs of a method together")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(child(json.loads(args.child))))
        return
    options = {"threads": args.threads, "threshold": args.threshold, "shingle": args.shingle}
    with tempfile.TemporaryDirectory() as folder:
        parts = cut_parts(args.input, Path(folder))
        found = {method: measure(method, parts, options, args.seconds) for method in METHODS}
    print("| method | documents | seconds | memory, MB | pairs | exponent |\n|---|---:|---:|---:|---:|---:|")
    for method, runs in found.items():
        slope = exponent(runs)
        for run in runs:
            tail = f"{slope:.2f}" if slope is not None and run is runs[-1] else ""
            memory = (run["memory"] - run["program"]) / 1e6
            print(
                f"| {method} | {run['documents']:,} | {run['seconds']:.3g} | {memory:.0f} | {run['pairs']} | {tail} |"
            )
    if args.plot:
        draw(found, args.plot)


if __name__ == "__main__":
    main()
