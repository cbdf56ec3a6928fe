"""Cost by size and by memory limit: seconds, CPU, memory of the whole process tree, spool, and the same bytes.

    python benchmarks/scaling.py planted_100000.jsonl planted_1000000.jsonl planted_10000000.jsonl
        --memory 4GB 1GB none --work FOLDER [--command dedup] [--neardup "python -m neardup"]

Every file is run with every setting of --memory (`none`: the flag is left out), each in a process of its own
on --cores. Measured are: seconds from start to exit; CPU seconds of it and its children; the peak of resident
memory, as the kernel's own high-water mark of the main process (nothing escapes it) and as the largest sum
over the process tree seen in samples 50 ms apart (pages that two processes share count twice), and how much of
that sum was anonymous, that is not pages of mapped files; the largest size of the workdir in samples 250 ms
apart, in blocks on disk. Outputs of one input must be the same bytes under every setting.

The cost exponent between two sizes is log(CPU ratio) / log(ratio of documents). A fixed start hides in it and
makes it smaller, so it is shown once more with the CPU seconds of a run on the first hundred documents taken
off. Ends with 1 when outputs differ, or a run passed its limit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import platform
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

from harness import ONE_THREAD

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
MEMORY_PERIOD, DISK_PERIOD = 0.05, 0.25
FIELDS = ("VmRSS", "VmHWM", "RssAnon")


def nbytes(text: str) -> int | None:
    """Bytes of `1GB` (10^9), `1GiB` (2^30); None for `none`."""
    if text == "none":
        return None
    match = re.fullmatch(r"([\d.]+)\s*([KMG]i?)?B?", text)
    if match is None:
        raise SystemExit(f"--memory {text!r} is no size. Give one such as 4GB, or none.")
    return int(float(match[1]) * UNITS[match[2] or ""])


def tree(root: int) -> list[int]:
    """The process and all its descendants that are alive."""
    found = [root]
    for pid in found:  # grows while it is read
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                children = Path(f"/proc/{pid}/task/{task}/children").read_text(encoding="ascii")
                found += [int(child) for child in children.split()]
        except OSError:
            continue  # it has ended
    return found


def memory(pid: int) -> dict[str, int]:
    """Bytes of FIELDS of one process; zeros when it has ended."""
    found = dict.fromkeys(FIELDS, 0)
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as lines:
            for line in lines:
                name, _, value = line.partition(":")
                if name in found:
                    found[name] = int(value.split()[0]) * 1024
    except OSError:
        pass
    return found


def disk(folder: Path) -> int:
    """Bytes on disk under a folder that others write to."""
    total = 0
    try:
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                total += disk(Path(entry.path))
            else:
                total += entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        pass  # removed while it was read
    return total


@dataclass(slots=True)
class Sampler:
    """Watches a process tree and a folder from a thread until it is stopped."""

    root: int
    folder: Path
    peak: int = 0
    """Largest sum of VmRSS over the tree."""
    anonymous: int = 0
    """RssAnon of that sample."""
    high_water: int = 0
    """Largest VmHWM of any one process."""
    processes: int = 0
    spool: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Sample until stopped."""
        next_disk = 0.0
        while not self.stopped.wait(MEMORY_PERIOD):
            found = [memory(pid) for pid in tree(self.root)]
            total = sum(one["VmRSS"] for one in found)
            if total > self.peak:
                self.peak, self.anonymous = total, sum(one["RssAnon"] for one in found)
            self.high_water = max(self.high_water, *(one["VmHWM"] for one in found))
            self.processes = max(self.processes, len(found))
            if time.perf_counter() >= next_disk:
                self.spool = max(self.spool, disk(self.folder))
                next_disk = time.perf_counter() + DISK_PERIOD


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run took."""

    seconds: float
    user: float
    system: float
    peak: int
    """Bytes: the larger of ru_maxrss and the largest sampled sum over the tree."""
    high_water: int
    tree_peak: int
    anonymous: int
    processes: int
    spool: int
    load_before: float
    said: str
    """Its last line on stderr."""

    @property
    def cpu(self) -> float:
        """CPU seconds."""
        return self.user + self.system


def measure(command: list[str], cores: str, folder: Path) -> Cost:
    """Run a command on some cores and watch it; RuntimeError with its last words when it fails."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(
            ["taskset", "-c", cores, *command], stdout=subprocess.DEVNULL, stderr=err, env={**os.environ, **ONE_THREAD}
        )
        sampler = Sampler(process.pid, folder)
        watcher = threading.Thread(target=sampler.run)
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        sampler.stopped.set()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        said = err.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)} ended with {process.returncode}:\n{said[-2000:]}")
    own = max(usage.ru_maxrss * 1024, sampler.high_water)
    return Cost(
        seconds=seconds,
        user=usage.ru_utime,
        system=usage.ru_stime,
        peak=max(own, sampler.peak),
        high_water=own,
        tree_peak=sampler.peak,
        anonymous=sampler.anonymous,
        processes=sampler.processes,
        spool=sampler.spool,
        load_before=load,
        said=said.rpartition("\n")[2],
    )


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Setting:
    """One input under one limit, its outputs' hashes and its runs."""

    source: Path
    documents: int
    limit: str
    outputs: dict[str, str]
    runs: list[Cost]

    def median(self, what: str) -> float:
        """Median of one figure."""
        return float(statistics.median(getattr(run, what) for run in self.runs))


def command_of(args: argparse.Namespace, source: Path, limit: str) -> tuple[list[str], list[Path], Path]:
    """The command line, the files it writes, and its workdir."""
    stem = f"{source.stem}.{limit}"
    spool = args.work / f"{stem}.spool"
    outputs = [args.work / f"{stem}.{args.command}{'.jsonl' if args.command == 'dedup' else '.parquet'}"]
    command = [*shlex.split(args.neardup), args.command, str(source), "-o", str(outputs[0])]
    if args.command == "dedup":
        outputs.append(args.work / f"{stem}.removed.parquet")
        command += ["--removed", str(outputs[1])]
    if limit != "none":
        command += ["--memory", limit]
    if not args.no_workdir:
        command += ["--workdir", str(spool)]
    return [*command, "--threads", str(args.threads), *shlex.split(args.flags)], outputs, spool


def documents_in(source: Path) -> int:
    """Lines of a JSONL file."""
    with source.open("rb") as lines:
        return sum(1 for _ in lines)


def run_setting(args: argparse.Namespace, source: Path, limit: str, documents: int) -> Setting:
    """Run one input under one limit ``--runs`` times; all runs must give the same bytes."""
    command, outputs, spool = command_of(args, source, limit)
    runs: list[Cost] = []
    hashes: dict[str, str] = {}
    for _ in range(args.runs):
        for output in outputs:
            output.unlink(missing_ok=True)
        shutil.rmtree(spool, ignore_errors=True)
        runs.append(measure(command, args.cores, spool))
        if spool.exists() and disk(spool):
            print(f"  left behind: {spool} with {disk(spool):,} bytes", file=sys.stderr)
        found = {re.sub(r"^.*\.", "", output.stem): digest(output) for output in outputs}
        if hashes and found != hashes:
            raise RuntimeError(f"{shlex.join(command)} gave other bytes the second time: {found}, not {hashes}")
        hashes = found
        one = runs[-1]
        print(
            f"  {source.name} {limit}: {one.seconds:.1f} s, {one.cpu:.1f} s CPU, {one.peak / 1e9:.2f} GB, spool "
            f"{one.spool / 1e9:.2f} GB, load before {one.load_before:.1f}; {one.said}",
            file=sys.stderr,
        )
    return Setting(source, documents, limit, hashes, runs)


def start_cost(args: argparse.Namespace, source: Path) -> float:
    """CPU seconds of a run on the first hundred documents, kernels compiled by one before."""
    small = args.work / "hundred.jsonl"
    with source.open("rb") as lines, small.open("wb") as sink:
        for _, line in zip(range(100), lines, strict=False):
            sink.write(line)
    command, _, spool = command_of(args, small, "none")
    return min(measure(command, args.cores, spool).cpu for _ in range(3))


def print_tables(settings: list[Setting], start: float) -> bool:
    """Print both tables, return whether limits were kept and outputs agree."""
    good = True
    print(
        "| documents | MB | --memory | s | user s | system s | documents/s | peak RSS, GB | of the tree (anonymous) | "
        "processes | spool, GB | within limit | output |\n|" + "---|" * 13
    )
    first: dict[Path, dict[str, str]] = {}
    for one in settings:
        peak, allowed = max(run.peak for run in one.runs), nbytes(one.limit)
        speed = f"{one.documents / one.median('seconds'):,.0f}"
        same = first.setdefault(one.source, one.outputs) == one.outputs
        kept = "–" if allowed is None else "yes" if peak <= allowed else "NO"
        good = good and same and kept != "NO"
        print(
            f"| {one.documents:,} | {one.source.stat().st_size / 1e6:.0f} | {one.limit} | "
            f"{one.median('seconds'):.1f} | "
            f"{one.median('user'):.1f} | {one.median('system'):.1f} | {speed} | "
            f"{peak / 1e9:.2f} | {max(run.tree_peak for run in one.runs) / 1e9:.2f} "
            f"({max(run.anonymous for run in one.runs) / 1e9:.2f}) | {max(run.processes for run in one.runs)} | "
            f"{max(run.spool for run in one.runs) / 1e9:.2f} | {kept} | "
            f"{' '.join(value[:8] for value in one.outputs.values())}{'' if same else ' DIFFERS'} |"
        )
    print(f"\nStart (100 documents): {start:.2f} s CPU.\n")
    print("| --memory | from | to | CPU ratio | exponent | exponent without the start |\n|" + "---|" * 6)
    for limit in dict.fromkeys(one.limit for one in settings):
        line = sorted((one for one in settings if one.limit == limit), key=lambda one: one.documents)
        for small, large in pairwise(line):
            wide = math.log(large.documents / small.documents)
            ratio = large.median("cpu") / small.median("cpu")
            net = (large.median("cpu") - start) / max(1e-9, small.median("cpu") - start)
            print(
                f"| {limit} | {small.documents:,} | {large.documents:,} | {ratio:.2f} | {math.log(ratio) / wide:.3f} | "
                f"{math.log(net) / wide:.3f} |"
            )
    return good


def main() -> None:
    """Parse the command line, run everything, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--memory", nargs="+", default=["4GB", "1GB", "none"])
    parser.add_argument("--work", type=Path, required=True, help="folder for outputs and spools")
    parser.add_argument("--neardup", default="neardup")
    parser.add_argument("--command", choices=("dedup", "find"), default="dedup")
    parser.add_argument("--flags", default="", help="further flags for neardup, in one string")
    parser.add_argument("--no-workdir", action="store_true", help="do not pass --workdir; spools are then not seen")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--machine", default=platform.processor() or platform.machine())
    parser.add_argument("--json", type=Path, default=None, help="write every run there, after each")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    start = start_cost(args, args.files[0])
    settings: list[Setting] = []
    for source in args.files:
        documents = documents_in(source)
        for limit in args.memory:
            settings.append(run_setting(args, source, limit, documents))
            if args.json:
                record = [{**asdict(one), "source": one.source.name} for one in settings]
                args.json.write_text(json.dumps({"start": start, "settings": record}, indent=1), encoding="utf-8")
    print(
        f"`neardup {args.command}`, {args.threads} threads on cores {args.cores}; {time.strftime('%Y-%m-%d')}; "
        f"{args.machine}; Python {platform.python_version()}; {args.runs} run(s) each\n"
    )
    sys.exit(0 if print_tables(settings, start) else 1)


if __name__ == "__main__":
    main()
