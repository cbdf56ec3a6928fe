"""Start-up of the command: help, a find over a hundred documents, and the first run ever on a machine.

    python benchmarks/startup.py FILE.jsonl --work FOLDER [--neardup "neardup"]

The first hundred lines of the file are the documents. "First ever" is the same find with an empty
NUMBA_CACHE_DIR, so that every kernel is compiled; each of its runs gets a new folder. Medians, one core.
The limits are those promised in the project's description: the program ends with 1 when one is passed.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

from harness import Run, measure

LIMITS = {"--help": 0.15, "find, 100 documents, warm": 1.2, "find, 100 documents, first ever": 20.0}


def measure_all(args: argparse.Namespace, small: Path) -> dict[str, list[Run]]:
    """Run help and find, warm and with an empty kernel cache."""
    base = shlex.split(args.neardup)
    find = [*base, "find", str(small), "-o", str(args.work / "startup.parquet"), "--threads", "1", "--quiet"]
    measure(find, args.core)
    helps = [measure([*base, "--help"], args.core) for _ in range(args.runs)]
    warm = [measure(find, args.core) for _ in range(args.runs)]
    first = []
    for _ in range(args.first_runs):
        with tempfile.TemporaryDirectory() as cache:
            first.append(measure(find, args.core, environment={"NUMBA_CACHE_DIR": cache}))
    return dict(zip(LIMITS, (helps, warm, first), strict=True))


def main() -> None:
    """Parse the command line, run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="folder for small files")
    parser.add_argument("--neardup", default="neardup")
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--first-runs", type=int, default=3)
    parser.add_argument("--core", default="0")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    small = args.work / "startup.jsonl"
    with args.corpus.open("rb") as lines, small.open("wb") as sink:
        for _, line in zip(range(100), lines, strict=False):
            sink.write(line)
    passed = True
    print("| command | runs | median s | fastest | slowest | CPU s | peak MiB | limit s |\n|" + "---|" * 8)
    for name, runs in measure_all(args, small).items():
        seconds = sorted(run.seconds for run in runs)
        middle = statistics.median(seconds)
        passed = passed and middle <= LIMITS[name]
        cpu = statistics.median(run.cpu_seconds for run in runs)
        peak = max(run.peak_mib for run in runs)
        print(
            f"| {name} | {len(runs)} | {middle:.3f} | {seconds[0]:.3f} | {seconds[-1]:.3f} | {cpu:.3f} | "
            f"{peak:.0f} | {LIMITS[name]} |"
        )
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
