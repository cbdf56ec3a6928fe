"""JSONL to JSONL without repeated lines or sentences, with neardup and datatrove, as whole processes on one core.

    python benchmarks/passage_units_compare.py FILE.jsonl --work FOLDER --datatrove PYTHON [--repeats 3]

FILE is JSONL with a field `text`; PYTHON is an interpreter with datatrove and spaCy. Printed as Markdown: medians of
CPU seconds, peak memory, and the characters that are left. The two do not do
quite the same: datatrove trusts hashes, takes symbols such as > for punctuation and empty lines for repeats, and its
sentences are those of spaCy's sentencizer. So the last column is the size of a difference, not of an error.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

from harness import measure

PEER = Path(__file__).parent / "peers" / "datatrove_units.py"


def left(file: Path) -> tuple[int, int]:
    """Documents of a JSONL file that are not empty, and the characters of all."""
    with file.open() as lines:
        sizes = [len(json.loads(line)["text"].strip()) for line in lines]
    return sum(size > 0 for size in sizes), sum(sizes)


def main() -> None:
    """Measure what is asked for and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--datatrove", required=True, help="Python with datatrove")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", default="0")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    size = given.file.stat().st_size / 1e6
    print(f"{size:.1f} MB of JSONL, {left(given.file)[1] / 1e6:.1f} million characters of text\n")
    print("| unit | span | program | CPU seconds | peak MiB | documents with text | million characters left |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for unit, span in (("line", 1), ("sentence", 3)):
        out = given.work / "clean.jsonl"
        units = ["--unit", unit, "--span", str(span)]
        ours = ["-m", "neardup", "passages", str(given.file), *units, "--normalize", "casefold,punct,space"]
        ways = {
            "neardup": [
                sys.executable,
                *ours,
                "--cut",
                "first",
                "--threads",
                "1",
                "--quiet",
                "-o",
                str(out),
            ],
            "datatrove": [given.datatrove, str(PEER), "--input", str(given.file), "--output", str(out)],
        }
        ways["datatrove"] += ["--work", str(given.work / "work"), *units]
        for name, command in ways.items():
            runs = [measure(command, given.core) for _ in range(given.repeats)]
            cpu, peak = (statistics.median(getattr(run, what) for run in runs) for what in ("cpu_seconds", "peak_mib"))
            documents, characters = left(out)
            print(f"| {unit} | {span} | {name} | {cpu:.1f} | {peak:.0f} | {documents:,} | {characters / 1e6:.2f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
