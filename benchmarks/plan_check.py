"""What `neardup plan` predicts beside what happens, and its choice beside every other setting that keeps the promise.

    python benchmarks/plan_check.py kernel_100mb.jsonl paragraphs.jsonl [--runs 3] [--find-options "--shingle word:3"]
    python benchmarks/plan_check.py abstracts.jsonl --try-all [--rounds 3]

First table: for each file the plan's own choice and the setting that `find` takes without being told (and with --exact
the exact join), each run in a process of its own on --cores with --threads. Shown is predicted / measured for
candidates, checked pairs, pairs, peak memory and seconds (median of --runs; on a machine that does other things CPU
seconds say more, with one thread); a dash: fewer than 30, or another kind of count. The target is a ratio between 0.5
and 2.

Second table, with --try-all: every setting of 64, 128, 256 and 512 slots that keeps the promise (for each number of
rows the fewest and the most bands), timed in one process, in turns, least CPU seconds of --rounds; start-up is left
out, which would only bring them nearer to each other. The target is that the plan's choice takes at most 1.3 times the
fastest. Ends with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import Run, measure

FACTOR, SLOWER = 2.0, 1.3
FEW = 30
"""Counts below this are not held against the target: they are chance."""
MODULE = [sys.executable, "-m", "neardup"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One setting of one file: its name, what was predicted, what happened."""

    name: str
    predicted: dict[str, Any]
    summary: dict[str, Any]
    seconds: float
    cpu_seconds: float


def planned(args: argparse.Namespace, source: Path, extra: list[str]) -> tuple[dict[str, Any], Run]:
    """The plan of a file, and what making it took."""
    command = [*MODULE, "plan", str(source), "--json", "--quiet", "--threads", str(args.threads), *extra]
    run = measure(command, args.cores)
    return json.loads(run.stdout), run


def happened(args: argparse.Namespace, source: Path, extra: list[str]) -> tuple[dict[str, Any], float, float]:
    """The summary of a run, its median seconds and CPU seconds."""
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        command = [*MODULE, "find", str(source), "-o", f"{folder}/pairs.parquet", "--json", "--quiet"]
        command += ["--threads", str(args.threads), *extra]
        runs = [measure(command, args.cores) for _ in range(args.runs)]
    seconds, cpu = (statistics.median(getattr(run, name) for run in runs) for name in ("seconds", "cpu_seconds"))
    return json.loads(runs[0].stdout), seconds, cpu


def outcomes(args: argparse.Namespace, source: Path) -> tuple[list[Outcome], Run]:
    """The plan's choice, find's default, and the exact join."""
    options = shlex.split(args.find_options)
    plan, run = planned(args, source, options)
    asked = ["-t", str(plan["threshold"]), "--recall", str(plan["target"])]
    chosen = plan["chosen"]
    banding = ["--slots", str(chosen["slots"]), "--bands", chosen["bands"]]
    found = [Outcome("chosen", chosen, *happened(args, source, [*options, *asked, *banding]))]
    summary, *seconds = happened(args, source, [*options, *asked])
    fixed, _ = planned(args, source, [*options, "--slots", str(summary["slots"]), "--bands", summary["bands"]])
    found.append(Outcome("default", fixed["chosen"], summary, *seconds))
    if args.exact:
        exact = {"slots": "-", "bands": "-", "estimate": plan["exact"]}
        found.append(Outcome("exact", exact, *happened(args, source, [*options, *asked[:2], "--exact"])))
    return found, run


def ratios(one: Outcome) -> dict[str, float]:
    """Predicted / measured of what can be held against the target."""
    cost, seen = one.predicted["estimate"], one.summary
    pairs = {"pairs": (cost["pairs"]["expected"], seen["pairs"])}
    if one.name != "exact":
        pairs["candidates"] = (cost["candidates"]["expected"], seen["candidates"])
        pairs["checked"] = (cost["checked"]["expected"], seen["checked"])
    found = {name: (a / b if b else float("inf")) for name, (a, b) in pairs.items() if max(a, b) >= FEW}
    found["memory"] = cost["memory"] / seen["peak_memory"]
    found["seconds"] = cost["total_seconds"] / one.seconds
    found["CPU"] = cost["total_seconds"] / one.cpu_seconds
    return found


COLUMNS = ("candidates", "checked", "pairs", "memory", "seconds", "CPU")


def print_outcomes(source: Path, found: list[Outcome], run: Run, *, by: str) -> bool:
    """Print the rows of a file, return whether the target is met."""
    good = True
    for one in found:
        seen, ratio = one.summary, ratios(one)
        good = good and all(1 / FACTOR <= ratio[name] <= FACTOR for name in (*COLUMNS[:4], by) if name in ratio)
        print(
            f"| {source.name} | {one.name} | {one.predicted['slots']} | {one.predicted['bands']} | "
            f"{seen['candidates']:,} | {seen['checked']:,} | {seen['pairs']:,} | {seen['peak_memory'] / 1e6:.0f} | "
            f"{one.seconds:.2f} | {one.cpu_seconds:.2f} | "
            + " | ".join(f"{ratio[name]:.2f}" if name in ratio else "-" for name in COLUMNS)
            + f" | {run.cpu_seconds:.2f} | {run.load_before:.1f} |",
            flush=True,
        )
    return good


def find_arguments(options: list[str]) -> dict[str, Any]:
    """The options of the command line as arguments of ``neardup.find``."""
    names = [each.removeprefix("--").replace("-", "_") for each in options[::2]]
    return dict(zip(names, options[1::2], strict=True))


def try_all(args: argparse.Namespace, source: Path) -> bool:
    """Time every setting and print the fastest, the slowest and the chosen one; True when that is fast enough."""
    import neardup
    from neardup.tasks.plan.make import SLOTS, shapes_of

    options = find_arguments(shlex.split(args.find_options))
    plan, _ = planned(args, source, shlex.split(args.find_options))
    threshold, target = plan["threshold"], plan["target"]
    names = [(slots, str(bands)) for slots in SLOTS for bands in shapes_of(threshold, target, slots)]
    best = dict.fromkeys(names, float("inf"))
    for _ in range(args.rounds):
        for slots, bands in names:
            begin = time.process_time()
            neardup.find(
                source, threshold=threshold, recall=target, slots=slots, bands=bands, threads=args.threads, **options
            )
            best[slots, bands] = min(best[slots, bands], time.process_time() - begin)
    order = sorted(names, key=lambda name: best[name])
    chosen = (plan["chosen"]["slots"], plan["chosen"]["bands"])
    default = (128, str(neardup.choose_bands(threshold, slots=128, recall=target)))
    ratio = best[chosen] / best[order[0]]

    def shown(name: tuple[int, str]) -> str:
        return f"{name[0]} {name[1]}: {best[name]:.2f}" if name in best else "-"

    print(
        f"| {source.name} | {len(names)} | {shown(order[0])} | {shown(order[len(order) // 2])} | {shown(order[-1])} | "
        f"{shown(chosen)} | {ratio:.2f} | {shown(default)} | {os.getloadavg()[0]:.1f} |",
        flush=True,
    )
    return ratio <= SLOWER


def main() -> None:
    """Parse the command line, run everything, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--find-options", default="", help="options for find and plan, in one string")
    parser.add_argument("--try-all", action="store_true", help="time every setting, in place of the first table")
    parser.add_argument("--exact", action="store_true", help="run find --exact as well")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cores", default="0")
    parser.add_argument("--by", choices=("seconds", "CPU"), default="CPU", help="which seconds the target is held to")
    parser.add_argument("--work", type=Path, default=None, help="folder for outputs; the system's when left out")
    args = parser.parse_args()
    print(
        f"threads {args.threads}, cores {args.cores}, {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, "
        f"find options: {args.find_options or 'none'}\n"
    )
    if args.try_all:
        print("| file | settings | fastest, CPU s | median | slowest | chosen | chosen / fastest | default | load |")
        print("|" + "---|" * 9)
        results = [try_all(args, source) for source in args.files]
    else:
        print(
            "| file | setting | slots | bands | candidates | checked | pairs | peak MB | s | CPU s | "
            + " | ".join(f"{name}: predicted / measured" for name in COLUMNS)
            + " | plan CPU s | load |\n|"
            + "---|" * (12 + len(COLUMNS))
        )
        results = [print_outcomes(source, *outcomes(args, source), by=args.by) for source in args.files]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
