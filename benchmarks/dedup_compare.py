"""JSONL to clean JSONL with neardup, text-dedup and datatrove: seconds, memory, recall, precision, as Markdown.

    python benchmarks/dedup_compare.py FILE.jsonl --truth TRUTH_WORD5.csv --truth-split TRUTH_SPLIT5.csv
        --truth-char TRUTH_CHAR9.csv --work FOLDER --textdedup PYTHON --datatrove PYTHON

Every run is one process on one core, from its start to its end; neardup runs `--runs` times, the peers once
(`--peer-megabytes`: on the first part of the file only). neardup runs with `word:5` on folded text, which is
what the peers shingle by, and once more with its default. Peers run with the bands that they choose
themselves, and with 32 bands of 8, which are neardup's for t = 0.8; text-dedup also with its hash of 32 bits.

What was removed is what the clean file lacks, by id. It is measured against the exact pairs of
`exact_truth.py`, all of them or those of its sample:

- recall: of the true pairs (J >= t), the share of which at least one document was removed;
- precision: of the removed documents, the share with a true partner that was kept. Removing a whole chain of
  documents for one that is like none of them but the next counts as wrong here;
- lost: removed documents without any true partner in the whole collection, kept or not. (Both only over
  sampled documents where the truth is that of a sample.)

Each program is measured against the truth of *its own* shingles where that can be had: neardup and datatrove
against words (`word:5`; datatrove's tokenizer cuts some words further, such as "cannot"), text-dedup against
its own splitting (`split:5`), and, in a second row, against words.
"""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from compare import Truth
from harness import Run, measure

PEERS = Path(__file__).resolve().parent / "peers"
OWN_BANDS = "own bands"
EQUAL_BANDS = "32 x 8"
FEWER_BITS = "own bands, 32 bits"
"""text-dedup only: its fastest setting."""
SETTINGS = (OWN_BANDS, FEWER_BITS, EQUAL_BANDS)


@dataclass(slots=True)
class Program:
    """One program with its settings, the clean file that it writes, and what it took."""

    name: str
    command: list[str]
    output: Path
    source: Path
    truths: list[str]
    """Which truths to measure it by; the first is its own."""
    runs: list[Run] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Median over the runs."""
        return statistics.median(run.seconds for run in self.runs)

    @property
    def cpu(self) -> float:
        """Median CPU seconds."""
        return statistics.median(run.cpu_seconds for run in self.runs)

    @property
    def megabytes(self) -> float:
        """Size of its input in 10^6 bytes."""
        return self.source.stat().st_size / 1e6


def ids(path: Path) -> list[str]:
    """The ids of a JSONL file, in order."""
    with path.open("rb") as lines:
        return [str(json.loads(line)["id"]) for line in lines]


def first_part(source: Path, work: Path, megabytes: float | None) -> Path:
    """The whole file, or a file of its first lines."""
    if megabytes is None or source.stat().st_size <= megabytes * 1e6:
        return source
    part = work / f"{source.stem}_first_{megabytes:g}mb.jsonl"
    left = megabytes * 1e6
    with source.open("rb") as lines, part.open("wb") as sink:
        for line in lines:
            left -= len(line)
            if left < 0:
                break
            sink.write(line)
    return part


def neardup_programs(args: argparse.Namespace) -> list[Program]:
    """neardup by words, as the peers, and with its default shingles."""
    found = []
    for name, flags, truth in (
        ("neardup word:5", ["--shingle", "word:5", "--normalize", "nfc,casefold"], "word"),
        ("neardup char:9", [], "char"),
    ):
        output = args.work / f"{name.replace(' ', '_').replace(':', '')}.jsonl"
        flags += ["-t", str(args.threshold), "--threads", "1", "--quiet", *shlex.split(args.neardup_flags)]
        command = [*shlex.split(args.neardup), "dedup", str(args.corpus), "-o", str(output), *flags]
        found.append(Program(name, command, output, args.corpus, [truth]))
    return found


def peer_programs(args: argparse.Namespace) -> list[Program]:
    """The peers that are asked for, each with its own bands and with neardup's."""
    source = first_part(args.corpus, args.work, args.peer_megabytes)
    found = []
    for bands in args.bands:
        equal = ["--bands", "32", "--rows", "8"] if bands == EQUAL_BANDS else []
        for name, python, program, more, truths in (
            ("text-dedup", args.textdedup, "textdedup_dedup.py", text_dedup_flags(args, bands), ["split", "word"]),
            ("datatrove", args.datatrove, "datatrove_dedup.py", [], ["word"]),
        ):
            if python is None or (bands == FEWER_BITS and name != "text-dedup"):
                continue
            output = args.work / f"{name}_{bands.replace(' ', '').replace(',', '_')}.jsonl"
            files = ["--input", str(source), "--output", str(output), "--work", str(args.work / f"{name}.work")]
            command = [python, str(PEERS / program), *files, *more, *equal]
            found.append(Program(f"{name}, {bands}", command, output, source, truths))
    return found


def text_dedup_flags(args: argparse.Namespace, bands: str) -> list[str]:
    """What text-dedup is told beside its bands; datatrove knows no threshold."""
    more = {EQUAL_BANDS: ["--slots", "256"], FEWER_BITS: ["--hash-bits", "32"]}
    return ["--threshold", str(args.threshold), *more.get(bands, [])]


def run_all(programs: list[Program], args: argparse.Namespace) -> None:
    """neardup ``--runs`` times, half of them before the peers and half after, the peers once."""
    peers = [one for one in programs if not one.name.startswith("neardup")]
    ours = [one for one in programs if one.name.startswith("neardup")]
    before = ours * (args.runs - args.runs // 2)
    for program in [*before, *peers, *ours * (args.runs // 2)]:
        program.output.unlink(missing_ok=True)
        try:
            run = measure(program.command, args.core, limit=args.limit)
        except TimeoutError as over:
            print(over, file=sys.stderr)
            continue
        program.runs.append(run)
        print(
            f"  {program.name}: {run.seconds:.1f} s, {run.cpu_seconds:.1f} s CPU, {run.peak_mib:.0f} MiB, load before "
            f"{run.load_before:.1f}",
            file=sys.stderr,
        )


def warm_up(args: argparse.Namespace) -> None:
    """Read the file once, and let each neardup setting compile its kernels on a hundred lines of it."""
    small = args.work / "warm.jsonl"
    with args.corpus.open("rb") as lines, small.open("wb") as sink:
        for number, line in enumerate(lines):
            if number < 100:
                sink.write(line)
    for program in neardup_programs(args):
        output = args.work / "warm_clean.jsonl"
        output.unlink(missing_ok=True)
        swap = {str(args.corpus): str(small), str(program.output): str(output)}
        measure([swap.get(word, word) for word in program.command], args.core)


def quality(names: list[str], kept: set[str], truth: Truth) -> dict[str, float]:
    """Recall, precision and lost documents of a clean collection (see the head of this file)."""
    inside = set(names)
    truth = truth.within(inside)
    removed = inside - kept
    if truth.sample is not None:
        removed_known = removed & truth.sample
    else:
        removed_known = removed
    partners: dict[str, list[str]] = {}
    for a, b in truth.pairs:
        partners.setdefault(a, []).append(b)
        partners.setdefault(b, []).append(a)
    right = sum(any(other in kept for other in partners.get(one, ())) for one in removed_known)
    lost = sum(one not in partners for one in removed_known)
    hit = sum(a in removed or b in removed for a, b in truth.pairs)
    return {
        "pairs": len(truth.pairs),
        "removed": len(removed),
        "judged": len(removed_known),
        "recall": hit / max(1, len(truth.pairs)),
        "precision": right / max(1, len(removed_known)),
        "lost": lost,
    }


def rows_of(program: Program, base: Program, truths: dict[str, Truth], names: list[str]) -> list[str]:
    """The rows of one program, one a truth."""
    if not program.runs:
        return [f"| {program.name} | over | | | | | | | | | | |"]
    speed = program.megabytes / program.seconds
    ours = base.megabytes / base.seconds
    ratio = "" if program is base else f"{ours / speed:.1f}x"
    peak = max(run.peak_mib for run in program.runs)
    part = "" if program.source == base.source else f" (first {program.megabytes:.0f} MB)"
    head = (
        f"| {program.name}{part} | {len(program.runs)} | {program.seconds:.1f} | {program.cpu:.1f} | {speed:.2f} | "
        f"{ratio} | {peak:.0f} |"
    )
    kept = set(ids(program.output))
    if not kept <= set(names):
        raise SystemExit(f"{program.output} has ids that its input lacks")
    rows: list[str] = []
    for name in program.truths:
        if name not in truths:
            continue
        found = quality(names, kept, truths[name])
        cells = (
            f" {found['removed']:,} | {name} | {found['pairs']:,} | {found['recall']:.4f} | {found['precision']:.4f} "
            f"({found['judged']:,}) | {found['lost']:,} |"
        )
        rows.append((head if not rows else "| … | | | | | | |") + cells)
    return rows or [f"{head} {len(names) - len(kept):,} | | | | | |"]


def report(programs: list[Program], args: argparse.Namespace) -> None:
    """Print the table."""
    files = {"word": args.truth, "split": args.truth_split, "char": args.truth_char}
    truths = {name: Truth.load(path) for name, path in files.items() if path is not None}
    print(
        f"`{args.corpus.name}`, {args.corpus.stat().st_size / 1e6:.1f} MB, t = {args.threshold}; "
        f"{time.strftime('%Y-%m-%d')}; {args.machine}; Python {platform.python_version()}; one core each\n"
    )
    print(
        "| program | runs | s | CPU s | MB/s | neardup word:5 is | peak MiB | removed | truth | true pairs | recall | "
        "precision (of) | lost |\n|" + "---|" * 13
    )
    base = programs[0]
    for program in programs:
        print("\n".join(rows_of(program, base, truths, ids(program.source))), flush=True)
    if args.json:
        record = {program.name: [asdict(run) for run in program.runs] for program in programs}
        args.json.write_text(json.dumps(record, indent=1), encoding="utf-8")


def main() -> None:
    """Parse the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--truth", type=Path, default=None, help="exact_truth.py --shingle word:5 --casefold")
    parser.add_argument("--truth-split", type=Path, default=None, help="exact_truth.py --shingle split:5")
    parser.add_argument("--truth-char", type=Path, default=None, help="exact_truth.py")
    parser.add_argument("--work", type=Path, required=True, help="folder for the clean files")
    parser.add_argument("--neardup", default="neardup", help="the command, such as 'python -m neardup'")
    parser.add_argument("--neardup-flags", default="", help="such as '--memory 2GB'")
    parser.add_argument("--textdedup", default=None, help="Python with text-dedup")
    parser.add_argument("--datatrove", default=None, help="Python with datatrove")
    parser.add_argument("--peer-megabytes", type=float, default=None, help="peers get so much of the file only")
    parser.add_argument("--peer-settings", dest="bands", nargs="*", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("-t", "--threshold", type=float, default=0.8)
    parser.add_argument("--runs", type=int, default=4, help="of neardup")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which a run is ended")
    parser.add_argument("--core", default="0")
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    parser.add_argument("--json", type=Path, default=None, help="write every run there")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    warm_up(args)
    programs = [*neardup_programs(args), *peer_programs(args)]
    run_all(programs, args)
    report(programs, args)


if __name__ == "__main__":
    main()
