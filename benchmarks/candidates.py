"""Candidates by longer shingles than those of the check: how many, how dear, and what they lose.

    python benchmarks/candidates.py FILE… [--threshold 0.4] [--shingle char:5] [--normalize casefold,punct,space]
        [--by char:9 --by char:12 --by word:3] [--slots 256 --slots 768] [--recall 0.95] [--exact] [--memory 4GB]
        [--audit 500] [--exponent]

For each FILE the plain banding, the plain banding with other numbers of slots, and each `--candidates-by`, one after
the other, each in a process of its own: candidates, pairs checked and found, CPU seconds, peak memory. With `--exact`
the exact join runs first and says what there is to be found; with `--audit N` each run measures its recall on N
documents instead, which is the way for collections too large for the join. `--exponent` says how candidates grow over
files of one kind, from the smallest to the largest: give parts made by `corpora.py part --by id`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from pathlib import Path

from harness import Run, measure

ROW = "{:<34}{:>15}{:>12}{:>10}{:>9}{:>8}{:>9}{:>8}  {}"


def find(file: Path, args: argparse.Namespace, extra: list[str]) -> tuple[Run, dict[str, object]]:
    """One run of `neardup find`, and its summary."""
    options = ["--shingle", args.shingle, "--normalize", args.normalize, "-t", str(args.threshold), "--json", "-q"]
    memory = ["--memory", args.memory] if args.memory else []
    audit = ["--audit", str(args.audit)] if args.audit and "--exact" not in extra else []
    command = [sys.executable, "-m", "neardup", "find", str(file), *options, *memory, *audit, *extra]
    run = measure(command, args.cores, limit=args.limit)
    return run, json.loads(run.stdout)


def ways(args: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """Name and options of each run."""
    plain: list[tuple[str, list[str]]] = [] if args.no_plain else [("plain", [])]
    slots = [(f"plain, {slots} slots", ["--slots", str(slots)]) for slots in args.slots]
    by = [
        (f"by {by}, recall {recall:g}", ["--candidates-by", by, "--recall", str(recall)])
        for by in args.by
        for recall in args.recall
    ]
    exact = [("exact join", ["--exact"])] if args.exact else []
    return [*exact, *plain, *slots, *by]


def told(audit: object) -> str:
    """Recall that an audit measured."""
    if not isinstance(audit, dict) or audit["recall"] is None:
        return ""
    return f"audit: {audit['found']} of {audit['pairs']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--threshold", type=float, default=0.4)
    parser.add_argument("--shingle", default="char:5")
    parser.add_argument("--normalize", default="casefold,punct,space")
    parser.add_argument("--by", action="append", default=[])
    parser.add_argument("--slots", action="append", type=int, default=[])
    parser.add_argument("--recall", action="append", type=float, default=[])
    parser.add_argument("--exact", action="store_true", help="run the exact join first")
    parser.add_argument("--no-plain", action="store_true", help="leave the plain banding out")
    parser.add_argument("--audit", type=int, help="documents of an audit")
    parser.add_argument("--exponent", action="store_true", help="how candidates grow over the files")
    parser.add_argument("--memory")
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds of a run, at most")
    args = parser.parse_args()
    args.recall = args.recall or [0.99]
    met: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for file in args.files:
        print(f"\n{file.name}")
        print(ROW.format("", "candidates", "checked", "pairs", "of all", "CPU s", "wall s", "GB", ""))
        all_pairs = None
        for name, extra in ways(args):
            try:
                run, summary = find(file, args, extra)
            except (RuntimeError, TimeoutError) as error:
                print(f"{name:<34}{error}")
                continue
            candidates, pairs, documents = (int(str(summary[key])) for key in ("candidates", "pairs", "documents"))
            all_pairs = pairs if "--exact" in extra else all_pairs
            share = f"{pairs / all_pairs:.4f}" if all_pairs else ""
            cells = [f"{candidates:,}", f"{int(str(summary['checked'])):,}", f"{pairs:,}", share]
            cost = [f"{run.cpu_seconds:.1f}", f"{run.seconds:.1f}", f"{run.peak_mib / 1024:.2f}"]
            print(ROW.format(name, *cells, *cost, told(summary.get("audit"))), flush=True)
            met[name].append((documents, candidates))
    for name, sizes in met.items() if args.exponent else ():
        (first, few), (last, many) = min(sizes), max(sizes)
        if last > first and few:
            exponent = math.log(many / few) / math.log(last / first)
            print(f"{name}: candidates grow with the power {exponent:.2f} of the documents, {first:,} to {last:,}")


if __name__ == "__main__":
    main()
