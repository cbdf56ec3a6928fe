"""Whole programs side by side, file to pairs file: seconds, memory, recall and precision, as Markdown.

    python benchmarks/compare.py FILE.jsonl --truth TRUTH.csv --work FOLDER --peer-python PYTHON
    python benchmarks/compare.py FILE.jsonl --work FOLDER --threads-scaling

Every run is one process on one core (`taskset`), one thread, timed from start to exit; the programs take
turns, so that a slow minute of a shared machine hits all of them; medians are shown, and all runs go to
`--json`. datasketch runs once, on the first fifth. Before the first run the file is read once (page cache)
and neardup finds the pairs of 100 lines (its kernels are compiled once per machine; `startup.py` measures
that).

Quality is measured against the pairs of `exact_truth.py`: all pairs, or those of its sample
(`TRUTH.csv.sample` beside it). A reported pair is right when the truth has it, that is when its exact
similarity reaches t. Run it with a Python that has pyarrow (to read neardup's Parquet); peers run under
`--peer-python`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import platform
import shlex
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from harness import Run, measure

PEERS = Path(__file__).resolve().parent / "peers"
RENSA_WAYS: dict[str, list[str]] = {
    "rensa": [],
    "rensa-batch": ["--batch", "1000"],
    "rensa-sets": ["--sets"],
    "rensa-sets-batch": ["--sets", "--batch", "1000"],
}
"""Ways to use rensa that its documentation shows; the first is the fastest (see the program)."""
DATASKETCH_WAYS: dict[str, list[str]] = {"datasketch": [], "datasketch-xxh32": ["--hash", "xxh32"]}
Key = tuple[str, str]


@dataclass(slots=True)
class Program:
    """A program to compare, and its runs."""

    name: str
    command: list[str]
    output: Path
    nbytes: int
    runs: list[Run] = field(default_factory=list)

    def median(self, what: str = "seconds") -> float:
        """The median of one figure over the runs."""
        return statistics.median(getattr(run, what) for run in self.runs)

    @property
    def speed(self) -> float:
        """Megabytes (10^6) of input file a second, from the median."""
        return self.nbytes / 1e6 / self.median()


def read_pairs(path: Path) -> dict[Key, float]:
    """Return {(smaller id, larger id): similarity} of a pairs file, CSV or Parquet."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        columns = parquet.read_table(path).to_pydict()
        rows: Iterator[tuple[str, str, float]] = zip(
            map(str, columns["id_a"]), map(str, columns["id_b"]), columns["similarity"], strict=True
        )
    else:
        with path.open(encoding="utf-8", newline="") as lines:
            reader = csv.reader(lines)
            next(reader)
            rows = iter([(a, b, float(similarity)) for a, b, similarity in reader])
    return {(min(a, b), max(a, b)): similarity for a, b, similarity in rows}


def names_of(source: Path, nbytes: int) -> set[str]:
    """Return the ids of the lines that end within the first ``nbytes`` of the file."""
    names = set()
    done = 0
    with source.open("rb") as lines:
        for line in lines:
            done += len(line)
            if done > nbytes:
                break
            names.add(json.loads(line)["id"])
    return names


@dataclass(frozen=True, slots=True)
class Truth:
    """The exact pairs and, when they are those of a sample, the sample."""

    pairs: dict[Key, float]
    sample: set[str] | None

    @classmethod
    def load(cls, path: Path) -> Truth:
        """Read what exact_truth.py wrote."""
        note = path.with_name(path.name + ".sample")
        sample = None
        if note.exists():
            sample = {json.loads(line) for line in note.read_text(encoding="utf-8").splitlines()}
        return cls(read_pairs(path), sample)

    def within(self, names: set[str]) -> Truth:
        """Only the pairs both of whose documents are in ``names``."""
        kept = {key: value for key, value in self.pairs.items() if key[0] in names and key[1] in names}
        return Truth(kept, self.sample)

    def quality(self, reported: dict[Key, float], threshold: float) -> dict[str, float]:
        """Recall (also of pairs within 0.05 of t), precision, and the largest error of a similarity."""
        if self.sample is not None:
            reported = {k: v for k, v in reported.items() if k[0] in self.sample or k[1] in self.sample}
        right = [key for key in reported if key in self.pairs]
        near = [key for key, value in self.pairs.items() if value < round(threshold + 0.05, 9)]
        return {
            "true": len(self.pairs),
            "reported": len(reported),
            "recall": len(right) / max(1, len(self.pairs)),
            "near": len(near),
            "recall_near": sum(key in reported for key in near) / max(1, len(near)),
            "precision": len(right) / max(1, len(reported)),
            "error": max((abs(reported[key] - self.pairs[key]) for key in right), default=0.0),
        }


def programs(args: argparse.Namespace) -> tuple[list[Program], list[Program]]:
    """Return the programs that take turns, and those that run once."""
    size = args.corpus.stat().st_size
    out = args.work
    turns = [Program("neardup", neardup_command(args, out / "neardup.parquet", 1), out / "neardup.parquet", size)]
    once: list[Program] = []
    if args.peer_python is None:
        return turns, once
    for name, extra in RENSA_WAYS.items():
        if name in args.peers:
            command = [*peer_command(args, "rensa_find.py", out / f"{name}.csv"), *extra]
            turns.append(Program(name, command, out / f"{name}.csv", size))
    part = size // args.datasketch_part
    for name, extra in DATASKETCH_WAYS.items():
        if name in args.peers:
            command = [*peer_command(args, "datasketch_find.py", out / f"{name}.csv"), *extra]
            once.append(Program(name, [*command, "--limit-bytes", str(part)], out / f"{name}.csv", part))
    return turns, once


def neardup_command(args: argparse.Namespace, output: Path, threads: int) -> list[str]:
    """The command line of neardup."""
    flags = ["-t", str(args.threshold), "-o", str(output), "--threads", str(threads), "--quiet"]
    return [*shlex.split(args.neardup), "find", str(args.corpus), *flags]


def peer_command(args: argparse.Namespace, program: str, output: Path) -> list[str]:
    """The command line of a peer program."""
    files = ["--input", str(args.corpus), "--output", str(output)]
    return [args.peer_python, str(PEERS / program), *files, "--threshold", str(args.threshold)]


def warm_up(args: argparse.Namespace) -> None:
    """Read the corpus once and let neardup compile its kernels on a hundred lines of it."""
    small = args.work / "warm.jsonl"
    with args.corpus.open("rb") as lines, small.open("wb") as sink:
        for number, line in enumerate(lines):
            if number < 100:
                sink.write(line)
    flags = ["-o", str(args.work / "warm.parquet"), "--quiet"]
    measure([*shlex.split(args.neardup), "find", str(small), *flags], args.core)


def take_turns(turns: list[Program], runs: int, cores: str) -> None:
    """Run the programs ``session`` times each, the order reversed every other time."""
    for number in range(runs):
        for program in turns if number % 2 == 0 else turns[::-1]:
            run = measure(program.command, cores)
            program.runs.append(run)
            print(
                f"  {program.name} run {number + 1}: {run.seconds:.2f} s wall, {run.cpu_seconds:.2f} s CPU, "
                f"{run.peak_mib:.0f} MiB, load before {run.load_before:.1f}",
                file=sys.stderr,
            )


def quality_cells(found: dict[str, float]) -> str:
    """The quality columns of a row."""
    return f"{found['reported']:,.0f} | {found['recall']:.4f} | {found['recall_near']:.4f} | {found['precision']:.4f}"


def rows_of(program: Program, base: Program, args: argparse.Namespace, truth: Truth | None) -> list[str]:
    """The rows of one program: as it reports, and for peers also filtered by their own estimate."""
    ratio = "1 | 1"
    if program is not base:  # per byte: the part that a slow peer gets is smaller
        cpu = program.median("cpu_seconds") / program.nbytes / (base.median("cpu_seconds") / base.nbytes)
        ratio = f"{base.speed / program.speed:.1f}x | {cpu:.1f}x"
    shown = program.name + ("" if program.nbytes == base.nbytes else f" (first {program.nbytes / 1e6:.0f} MB)")
    speed = (
        f"| {shown} | {len(program.runs)} | {program.median():.2f} | {program.median('cpu_seconds'):.2f} | "
        f"{program.speed:.1f} | {ratio} | {program.median('peak_mib'):.0f}"
    )
    if truth is None:
        return [f"{speed} | | | | |"]
    if program.nbytes < base.nbytes:
        truth = truth.within(names_of(args.corpus, program.nbytes))
    reported = read_pairs(program.output)
    found = truth.quality(reported, args.threshold)
    rows = [f"{speed} | {quality_cells(found)} |"]
    if program is base:
        print(
            f"  truth: {found['true']:,} pairs, {found['near']:,} of them below {args.threshold + 0.05:.2f}; "
            f"largest error of a reported similarity {found['error']:.1e}",
            file=sys.stderr,
        )
    else:
        kept = {key: value for key, value in reported.items() if value >= args.threshold}
        cells = quality_cells(truth.quality(kept, args.threshold))
        rows.append(f"| … its pairs with an estimate ≥ {args.threshold} | | | | | | | | {cells} |")
    return rows


def threads_scaling(args: argparse.Namespace) -> None:
    """One thread on one core against two threads on two, in turns; the pairs files must be the same bytes."""
    single = Program("1 thread", [], args.work / "one.parquet", args.corpus.stat().st_size)
    double = Program("2 threads", [], args.work / "two.parquet", single.nbytes)
    single.command = neardup_command(args, single.output, 1)
    double.command = neardup_command(args, double.output, 2)
    for _ in range(args.runs):
        single.runs.append(measure(single.command, args.core))
        double.runs.append(measure(double.command, args.two_cores))
    digests = {hashlib.sha256(one.output.read_bytes()).hexdigest() for one in (single, double)}
    print("| threads | seconds (all runs) | MB/s | speed-up | peak MiB | same bytes |\n|" + "---|" * 6)
    for one in (single, double):
        print(
            f"| {one.name} | {one.median():.2f} ({', '.join(f'{r.seconds:.2f}' for r in one.runs)}) | "
            f"{one.speed:.1f} | {single.median() / one.median():.2f} | {one.median('peak_mib'):.0f} | "
            f"{'yes' if len(digests) == 1 else 'NO'} |"
        )


def header(args: argparse.Namespace) -> str:
    """The line that says what was measured, where and when."""
    return (
        f"`{args.corpus.name}`, {args.corpus.stat().st_size / 1e6:.1f} MB, char:9, t = {args.threshold}; "
        f"{time.strftime('%Y-%m-%d')}; {args.machine}; Python {platform.python_version()}; one core, "
        f"one thread; medians of {args.runs} runs in turns"
    )


def compare(args: argparse.Namespace) -> None:
    """Run everything and print the table."""
    turns, once = programs(args)
    take_turns(turns, args.runs, args.core)
    take_turns(once, 1, args.core)
    truth = Truth.load(args.truth) if args.truth else None
    print(header(args) + "\n")
    print(
        "| program | runs | seconds | CPU s | MB/s | time to neardup | CPU to neardup | peak MiB | pairs | recall | "
        f"recall, J < {args.threshold + 0.05:.2f} | precision |\n|" + "---|" * 12
    )
    for program in [*turns, *once]:
        print("\n".join(rows_of(program, turns[0], args, truth)))
    if args.json:
        record = {program.name: [asdict(run) for run in program.runs] for program in [*turns, *once]}
        args.json.write_text(json.dumps({"what": header(args), "runs": record}, indent=1), encoding="utf-8")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--truth", type=Path, default=None, help="pairs of exact_truth.py")
    parser.add_argument("--work", type=Path, required=True, help="folder for the pairs files")
    parser.add_argument("--neardup", default="neardup", help="the command, such as 'python -m neardup'")
    parser.add_argument("--peer-python", default=None, help="Python with the peers; without it neardup runs alone")
    parser.add_argument("--peers", nargs="*", default=["rensa", "datasketch"], choices=(*RENSA_WAYS, *DATASKETCH_WAYS))
    parser.add_argument("-t", "--threshold", type=float, default=0.8)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--core", default="0")
    parser.add_argument("--two-cores", default="0,1")
    parser.add_argument("--datasketch-part", type=int, default=5, help="it gets this fraction of the file")
    parser.add_argument("--threads-scaling", action="store_true", help="1 thread against 2, nothing else")
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    parser.add_argument("--json", type=Path, default=None, help="write every run there")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    warm_up(args)
    if args.threads_scaling:
        threads_scaling(args)
    else:
        compare(args)


if __name__ == "__main__":
    main()
