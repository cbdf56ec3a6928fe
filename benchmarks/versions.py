"""Two versions of neardup in turns: CPU seconds of user and system, peak memory, and the same output.

    python benchmarks/versions.py OLD NEW FILE.jsonl… [--runs 3] [--cores 0] [--work FOLDER]
        [--options "--threads 1"] [--command find]

OLD and NEW are checkouts, of which `src` is put on PYTHONPATH; kernels are compiled before. Each run is
a process of its own. Shown are medians, the ratio of CPU seconds as they are and with those of a run on the first
hundred documents of the first file taken off, and the ratio of the memory.
"""

from __future__ import annotations

import argparse
import filecmp
import itertools
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took."""

    user: float
    system: float
    mib: float

    @property
    def cpu(self) -> float:
        """CPU seconds."""
        return self.user + self.system


def run(tree: Path, args: list[str], cores: str) -> Cost:
    """Run a command of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = ["taskset", "-c", cores, sys.executable, "-m", "neardup", *args]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{shlex.join(command)}\n{said.decode()[-2000:]}")
    return Cost(usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1024)


def median(costs: list[Cost]) -> Cost:
    """Medians of each figure."""
    return Cost(*(statistics.median(getattr(cost, name) for cost in costs) for name in ("user", "system", "mib")))


def main() -> None:
    """Run both on every file and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cores", default="0")
    parser.add_argument("--command", default="find")
    parser.add_argument("--options", default="--threads 1")
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    trees = (asked.old, asked.new)
    print("| file | old: user + system s, MiB | new: user + system s, MiB | CPU | start taken off | memory | output |")
    print("|---|---|---|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory(dir=asked.work) as name:
        folder = Path(name)
        outputs = [folder / "old.jsonl", folder / "new.jsonl"]
        few = folder / "few.jsonl"
        with asked.files[0].open(encoding="utf-8") as lines:
            few.write_text("".join(itertools.islice(lines, 100)), encoding="utf-8")
        for tree in trees:
            run(tree, ["warm", "-q"], asked.cores)

        def both(path: Path) -> list[Cost]:
            costs: list[list[Cost]] = [[], []]
            for _ in range(asked.runs):
                for tree, output, found in zip(trees, outputs, costs, strict=True):
                    options = [str(path), "-o", str(output), "--quiet", *shlex.split(asked.options)]
                    found.append(run(tree, [asked.command, *options], asked.cores))
            return [median(each) for each in costs]

        start = both(few)
        for path in asked.files:
            old, new = both(path)
            same = "same" if filecmp.cmp(*outputs, shallow=False) else "DIFFERENT"
            told = [f"{each.user:.2f} + {each.system:.2f}, {each.mib:.0f}" for each in (old, new)]
            net = (old.cpu - start[0].cpu) / max(new.cpu - start[1].cpu, 1e-9)
            ratios = f"{old.cpu / new.cpu:.2f}x | {net:.2f}x | {new.mib / old.mib:.2f}"
            print(f"| {path.name} | {' | '.join(told)} | {ratios} | {same} |", flush=True)


if __name__ == "__main__":
    main()
