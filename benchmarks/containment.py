"""What containment costs beside Jaccard similarity: CPU seconds, peak memory and pairs of whole runs; as Markdown.

    python benchmarks/containment.py FILE... [-t 0.8 -t 0.5] [--shingle char:9] [--runs 3] [--memory 400MB] [--json OUT]
    python benchmarks/containment.py --hazard FOLDER [-t 0.8 -t 0.5]

Every run is one process of `neardup find` on the cores given, timed from start to exit: file to pairs file. The three
ways take turns: banding, the exact join, the containment join. Medians are shown. `--memory` adds the containment join
under that limit, whose pairs must be the same bytes.

`--hazard` makes collections in FOLDER in which many documents share much and are no pairs, and some in which they are:
`header` (short letters under one long header), `phrases` (letters made of some of fifty blocks), `copies` (near-copies
of one page, all of them pairs).

Use CPU seconds where other programs run beside.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness import Run, measure

WAYS = {
    "banding": [],
    "exact join": ["--exact"],
    "containment": ["--measure", "containment"],
}
NO_CROWD = "1000000000"


def words(chosen: random.Random, count: int, vocabulary: int) -> str:
    """Words of a vocabulary in which few are frequent and most are rare."""
    return " ".join(f"w{int(vocabulary ** chosen.random())}" for _ in range(count))


def hazards(folder: Path, documents: int) -> list[Path]:
    """Collections in which postings are long."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    chosen = random.Random(1)
    header = words(chosen, 100, 10**6)
    blocks = [words(chosen, 20, 10**6) for _ in range(50)]
    page = words(chosen, 200, 10**6).split()
    bodies = {
        "header": lambda: header + " " + words(chosen, 130, 10**5),
        "phrases": lambda: " ".join(chosen.sample(blocks, 6)) + " " + words(chosen, 30, 10**5),
        "copies": lambda: " ".join([*page[: chosen.randint(190, 200)], f"x{chosen.random()}"]),
    }
    for name, body in bodies.items():
        path = folder / f"{name}.jsonl"
        count = documents if name != "copies" else min(documents, 3000)
        if not path.exists():
            with open(path, "w", encoding="utf-8") as file:
                for i in range(count):
                    file.write(json.dumps({"id": i, "text": body()}) + "\n")
        made.append(path)
    return made


def run(path: Path, way: list[str], how: argparse.Namespace, threshold: float, folder: Path, *more: str) -> Any:
    """One run; what it took, its summary, and a digest of its pairs."""
    output = folder / "pairs.csv"
    command = [
        *(sys.executable, "-m", "neardup", "find", str(path), "-t", str(threshold), "--shingle", how.shingle),
        *("--crowd", NO_CROWD, "-o", str(output), "--json", "--quiet", "--threads", str(how.threads), *way, *more),
    ]
    took: Run = measure(command, how.cores, limit=how.limit)
    summary = json.loads(took.stdout)
    return took, summary, hashlib.sha256(output.read_bytes()).hexdigest()


def compare(path: Path, how: argparse.Namespace, threshold: float, folder: Path) -> list[dict[str, Any]]:
    """All ways of one collection, in turns."""
    ways = {name: (way, []) for name, way in WAYS.items() if name not in how.skip}
    for limit in how.memory:
        ways[f"containment, {limit}"] = WAYS["containment"], ["--memory", limit]
    runs: dict[str, list[Any]] = {name: [] for name in ways}
    for _ in range(how.runs):
        for name, (way, more) in ways.items():
            try:
                runs[name].append(run(path, way, how, threshold, folder, *more))
            except TimeoutError as exc:
                print(exc, file=sys.stderr)
                continue
            took = runs[name][-1][0]
            print(f"{path.name} t={threshold} {name}: {took}"[:200], file=sys.stderr, flush=True)
    if how.memory and runs.get("containment"):
        digests = {each[2] for name, some in runs.items() if name.startswith("containment") for each in some}
        assert len(digests) == 1, "the pairs depend on the memory limit"
    rows = []
    for name, some in runs.items():
        if some:
            rows.append(
                {
                    "collection": path.name,
                    "threshold": threshold,
                    "way": name,
                    "cpu": statistics.median(each[0].cpu_seconds for each in some),
                    "wall": statistics.median(each[0].seconds for each in some),
                    "mib": statistics.median(each[0].peak_mib for each in some),
                    "pairs": some[0][1]["pairs"],
                    "candidates": some[0][1]["candidates"],
                    "checked": some[0][1]["checked"],
                    "runs": len(some),
                }
            )
    return rows


def main() -> None:
    """Run and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("-t", "--threshold", type=float, action="append")
    parser.add_argument("--shingle", default="char:9")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cores", default="0")
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--memory", action="append", default=[])
    parser.add_argument("--skip", action="append", default=[], choices=[*WAYS])
    parser.add_argument("--hazard", type=Path)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    how = parser.parse_args()
    files = how.files + (hazards(how.hazard, how.documents) if how.hazard else [])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            for threshold in how.threshold or [0.8]:
                rows += compare(path, how, threshold, Path(folder))
    print("| collection | t | way | CPU s | wall s | peak MiB | pairs | candidates | counted in full |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        print(
            f"| {row['collection']} | {row['threshold']:g} | {row['way']} | {row['cpu']:.1f} | {row['wall']:.1f} "
            f"| {row['mib']:.0f} | {row['pairs']:,} | {row['candidates']:,} | {row['checked']:,} |"
        )
    if how.json:
        how.json.write_text(json.dumps(rows, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
