"""The exact join beside SetSimilaritySearch: the same pairs, the same similarities, and what each took; as Markdown.

    python benchmarks/exact_compare.py FILE... --work FOLDER --peer-python PEERS [-t 0.8] [--shingle char:9]
    python benchmarks/exact_compare.py FILE... --work FOLDER --truth TRUTH.csv     beside exact_truth.py
    python benchmarks/exact_compare.py FILE... --work FOLDER --banded --memory 500MB

Every run is one process on one core (`taskset`), one thread, timed from start to exit: file to pairs file. Programs
take turns; medians are shown, all runs go to `--json`. The peer runs `--peer-runs` times at the end; its pairs and
figures stay in the work folder, and with `--known-peer` a later call takes them from there instead of minutes or hours
of running.

"Join" is what lies between reading and writing: of the peer its one call `all_pairs` on sets that are cut and
numbered already; of neardup copies, join and clusters, which includes the cutting and hashing of the shingles. No
crowd is made a star, so that both list every pair. Pairs are compared as sets of pairs of ids, similarities by their
largest difference. `--banded` adds neardup without `--exact` and its recall; each `--memory` adds the exact
join under that limit, whose pairs file must be the same bytes.

Run it with a Python that has pyarrow and numpy (to read the pairs); the peer runs under `--peer-python`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import platform
import shlex
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness import Run, measure

PEER = Path(__file__).resolve().parent / "peers" / "setsimilaritysearch_join.py"
NO_CROWD = "1000000000"
INNER = ("copies", "join", "candidates", "check", "cluster")
"""Stages of neardup between reading and writing, exact or banded."""
SAME = 1e-12
"""Similarities that differ by less are equal."""


@dataclass(slots=True)
class Program:
    """A program, its runs, and the seconds of its join in each of them."""

    name: str
    command: list[str]
    output: Path
    runs: list[Run] = field(default_factory=list)
    joins: list[float] = field(default_factory=list)

    def median(self, what: str = "seconds") -> float:
        """The median of one figure over the runs."""
        return statistics.median(getattr(run, what) for run in self.runs)

    def run(self, cores: str, limit: float) -> None:
        """Run it once more."""
        run = measure(self.command, cores, limit=limit)
        self.runs.append(run)
        said = json.loads(run.stdout)
        self.joins.append(said["join"] if "join" in said else _inner(said))
        print(
            f"  {self.name} run {len(self.runs)}: {run.seconds:.2f} s wall, {run.cpu_seconds:.2f} s CPU, "
            f"join {self.joins[-1]:.2f} s, {run.peak_mib:.0f} MiB, load before {run.load_before:.1f}",
            file=sys.stderr,
            flush=True,
        )


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a file: each as one number made of the ranks of its two ids, rising, and its similarity."""

    keys: NDArray[np.int64]
    similarity: NDArray[np.float64]


def _inner(summary: dict[str, Any]) -> float:
    return sum(summary["seconds"].get(stage, 0.0) for stage in INNER)


def ranks_of(source: Path) -> dict[str, int]:
    """Rank of every id: that of the line; a line of items is named FILE:LINE."""
    opener: Any = gzip.open if source.suffix == ".gz" else open
    with opener(source, "rt", encoding="utf-8") as lines:
        if ".jsonl" in source.suffixes:
            return {json.loads(line)["id"]: row for row, line in enumerate(lines)}
        return {f"{source}:{row + 1}": row for row, _ in enumerate(lines)}


def read_pairs(path: Path, ranks: dict[str, int]) -> Pairs:
    """Read a pairs file, CSV or Parquet; the order of the two ids of a pair does not matter.

    Raises:
        SystemExit: a pair is listed twice.
    """
    if path.suffix == ".parquet":
        from pyarrow import parquet

        columns = [column.to_pylist() for column in parquet.read_table(path).columns]
        first, second = ([ranks[name] for name in names] for names in columns[:2])
        values = columns[2]
    else:
        first, second, values = [], [], []
        with path.open(encoding="utf-8", newline="") as lines:
            reader = csv.reader(lines)
            next(reader)
            for a, b, similarity in reader:
                first.append(ranks[a])
                second.append(ranks[b])
                values.append(float(similarity))
    a, b = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    keys = np.minimum(a, b) * len(ranks) + np.maximum(a, b)
    order = np.argsort(keys)
    keys = keys[order]
    if np.any(keys[1:] == keys[:-1]):
        raise SystemExit(f"{path} lists a pair twice")
    return Pairs(keys, np.array(values, dtype=np.float64)[order])


def against(found: Pairs, other: Pairs) -> str:
    """Say how two files of pairs differ."""
    common, here, there = np.intersect1d(found.keys, other.keys, assume_unique=True, return_indices=True)
    missing, extra = other.keys.size - common.size, found.keys.size - common.size
    error = float(np.abs(found.similarity[here] - other.similarity[there]).max(initial=0.0))
    if not missing and not extra and error < SAME:
        return "identical"
    return f"{missing:,} missing, {extra:,} extra, similarities to {error:.1e}"


def neardup(name: str, corpus: Path, args: argparse.Namespace, *flags: str) -> Program:
    """A run of neardup."""
    output = args.work / f"{corpus.name}.{name.replace(' ', '')}.parquet"
    common = ["-t", str(args.threshold), "--shingle", args.shingle, "--crowd", NO_CROWD, "--threads", "1", "--json"]
    return Program(name, [*shlex.split(args.neardup), "find", str(corpus), *common, *flags, "-o", str(output)], output)


def programs(corpus: Path, args: argparse.Namespace) -> list[Program]:
    """Those that take turns: the exact join, also under limits of memory, and what banding finds."""
    wanted = [neardup("exact", corpus, args, "--exact")]
    wanted += [neardup(f"exact {limit}", corpus, args, "--exact", "--memory", limit) for limit in args.memory]
    return [*wanted, neardup("banded", corpus, args)] if args.banded else wanted


def peer(corpus: Path, args: argparse.Namespace) -> Program:
    """SetSimilaritySearch, with the runs of an earlier call where they are wanted."""
    output = args.work / f"{corpus.name}.peer.csv"
    files = ["--input", str(corpus), "--output", str(output)]
    how = ["--threshold", str(args.threshold), "--shingle", args.shingle]
    program = Program("SetSimilaritySearch", [args.peer_python or "", str(PEER), *files, *how], output)
    record = output.with_suffix(".json")
    if args.known_peer:
        known = json.loads(record.read_text(encoding="utf-8"))
        if known["how"] != how:
            raise SystemExit(f"{record} was made with {shlex.join(known['how'])}")
        program.runs = [Run(**run) for run in known["runs"]]
        program.joins = known["joins"]
        return program
    for _ in range(args.peer_runs):
        program.run(args.core, args.limit)
    known = {"how": how, "runs": [asdict(run) for run in program.runs], "joins": program.joins}
    record.write_text(json.dumps(known, indent=1), encoding="utf-8")
    return program


def row_of(program: Program, base: Program, pairs: str, result: str) -> str:
    """One row of the table."""
    join = statistics.median(program.joins)
    ratio = "1 | 1 | 1"
    if program is not base:
        ratio = " | ".join(
            f"{value:.2f}x" if value < 10 else f"{value:.0f}x"
            for value in (
                program.median() / base.median(),
                program.median("cpu_seconds") / base.median("cpu_seconds"),
                join / statistics.median(base.joins),
            )
        )
    return (
        f"| {program.name} | {len(program.runs)} | {program.median():.2f} | {program.median('cpu_seconds'):.2f} | "
        f"{join:.2f} | {ratio} | {program.median('peak_mib'):.0f} | "
        f"{max(run.load_before for run in program.runs):.1f} | {pairs} | {result} |"
    )


def warm_up(corpus: Path, args: argparse.Namespace) -> None:
    """Read the corpus once, and let neardup compile its kernels on a few documents."""
    with corpus.open("rb") as source:
        while source.read(1 << 20):
            pass
    small = args.work / "warm.jsonl"
    few = [f"{chr(97 + number)} document of a few words" * 3 for number in range(20)]
    small.write_text("".join(json.dumps({"id": text[0], "text": text}) + "\n" for text in few), encoding="utf-8")
    for flags in (["--exact"], []):
        command = [*shlex.split(args.neardup), "find", str(small), *flags, "-o", str(args.work / "warm.parquet")]
        measure(command, args.core)


def run_all(corpus: Path, args: argparse.Namespace) -> list[Program]:
    """Run everything on one collection; the exact join comes first, the peer last."""
    warm_up(corpus, args)
    turns = programs(corpus, args)
    for number in range(args.runs):
        for program in turns if number % 2 == 0 else turns[::-1]:
            program.run(args.core, args.limit)
    return [*turns, peer(corpus, args)] if args.peer_python or args.known_peer else turns


def show(corpus: Path, ran: list[Program], args: argparse.Namespace) -> None:
    """Compare the pairs and print the table of one collection."""
    base = ran[0]
    ranks = ranks_of(corpus)
    exact = read_pairs(base.output, ranks)
    digest = hashlib.sha256(base.output.read_bytes()).digest()
    print(
        f"\n`{corpus.name}`, {corpus.stat().st_size / 1e6:.1f} MB, {args.shingle}, t = {args.threshold}; "
        f"{time.strftime('%Y-%m-%d')}; {args.machine}; Python {platform.python_version()}; one core, one thread\n\n"
        "| program | runs | seconds | CPU s | join s | time to exact | CPU to exact | join to exact | peak MiB | "
        "load before, most | pairs | result |\n|" + "---|" * 12
    )
    for program in ran:
        if program.name.startswith("exact"):
            is_same = hashlib.sha256(program.output.read_bytes()).digest() == digest
            same = "the same bytes" if is_same else "OTHER BYTES"
            print(row_of(program, base, f"{exact.keys.size:,}", "" if program is base else same))
            continue
        found = read_pairs(program.output, ranks)
        result = against(exact, found)
        if program.name == "banded":
            recall = np.isin(found.keys, exact.keys).sum() / max(1, exact.keys.size)
            result = f"recall {recall:.5f}; {against(found, exact)}"
        print(row_of(program, base, f"{found.keys.size:,}", result))
    if args.truth:
        print(f"\nBeside {args.truth.name}: {against(exact, read_pairs(args.truth, ranks))}.")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="+", metavar="FILE", help="JSONL, or with --shingle item baskets")
    parser.add_argument("--work", type=Path, required=True, help="folder for the pairs files")
    parser.add_argument("--neardup", default="neardup", help="the command, such as 'python -m neardup'")
    parser.add_argument("--peer-python", default=None, help="Python with the peer; without it neardup runs alone")
    parser.add_argument("--known-peer", action="store_true", help="take the peer's runs of an earlier call")
    parser.add_argument("--truth", type=Path, default=None, help="pairs of exact_truth.py")
    parser.add_argument("--banded", action="store_true", help="also neardup without --exact")
    parser.add_argument("--memory", nargs="*", default=[], metavar="SIZE", help="also --exact under these limits")
    parser.add_argument("-t", "--threshold", type=float, default=0.8)
    parser.add_argument("--shingle", default="char:9", help="char:K, or item")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--peer-runs", type=int, default=1)
    parser.add_argument("--core", default="0")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds that a run may take")
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    parser.add_argument("--json", type=Path, default=None, help="write every run there")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    # all runs before any pairs are read: a child's peak memory is never less than what its parent once had
    ran = {corpus: run_all(corpus, args) for corpus in args.corpora}
    for corpus, some in ran.items():
        show(corpus, some, args)
    if args.json:
        record = {
            str(corpus): {program.name: [asdict(run) for run in program.runs] for program in some}
            for corpus, some in ran.items()
        }
        args.json.write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
