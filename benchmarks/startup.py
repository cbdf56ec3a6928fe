"""What a person waits for before a command begins to work, beside another version in turns.

    python benchmarks/startup.py FILE.jsonl --work FOLDER [--neardup "neardup"] [--against "OTHER/neardup"] [--runs 10]

The first hundred lines of the file are the documents. Give --neardup and --against the commands of environments into
which wheels were installed. CPU seconds (user and system) and peak memory are medians, on one core.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import subprocess
from pathlib import Path

from harness import Run, measure

TEXTS = "a rose is a rose", "a rose is a rosa"


def commands(small: Path, index: Path, out: Path) -> dict[str, list[str]]:
    """Return what is measured, without the word neardup."""
    return {
        "--help": ["--help"],
        "explain": ["explain", *TEXTS],
        "find": ["find", str(small), "-o", str(out), "--quiet"],
        "find, containment": ["find", str(small), "--measure", "containment", "-o", str(out), "--quiet"],
        "dedup": ["dedup", str(small), "-o", str(out), "--quiet"],
        "index query": ["index", "query", str(index), str(small), "-o", str(out), "--quiet"],
    }


def main() -> None:
    """Parse the command line, run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="folder for small files")
    parser.add_argument("--neardup", default="neardup")
    parser.add_argument("--against", help="the command of another version")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--core", default="0")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    small, index, out = (args.work / f"startup.{end}" for end in ("jsonl", "index", "out.jsonl"))
    with args.corpus.open("rb") as lines, small.open("wb") as sink:
        for _, line in zip(range(100), lines, strict=False):
            sink.write(line)
    versions = [shlex.split(each) for each in (args.against, args.neardup) if each]
    if not index.exists():
        subprocess.run([*versions[0], "index", "build", str(index), str(small), "--quiet"], check=True)
    heads = [f"{name}{each}" for each in ("CPU s", "MiB") for name in ("before, ", "now, ")[2 - len(versions) :]]
    heads += ["CPU, now / before"] * (len(versions) - 1)
    print(f"| command | {' | '.join(heads)} |\n|" + "---|" * (len(heads) + 1))
    for name, words in commands(small, index, out).items():
        runs: list[list[Run]] = [[] for _ in versions]
        for _ in range(args.runs):
            for version, of_it in zip(versions, runs, strict=True):
                out.unlink(missing_ok=True)
                of_it.append(measure([*version, *words], args.core))
        seconds = [statistics.median(run.cpu_seconds for run in each) for each in runs]
        memory = [statistics.median(run.peak_mib for run in each) for each in runs]
        ratio = [f"{seconds[1] / seconds[0]:.2f}"] if len(versions) > 1 else []
        cells = [*(f"{each:.3f}" for each in seconds), *(f"{each:.0f}" for each in memory), *ratio]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
