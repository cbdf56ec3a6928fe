"""Load on `neardup serve`: queries a second and their latency, then reads and writes mixed with the memory watched.

    python benchmarks/serve_load.py INDEX TEXTS.jsonl [--seconds 10] [--connections 1,8,64] [--mixed-seconds 600]

The texts are asked for in turn over loopback by wrk (Debian package wrk), keep-alive connections, ten hits each. The
mixed run adds and removes documents of the index given: have a copy. Server and wrk share the machine's cores.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(__file__).with_suffix(".lua")
READY = re.compile(r"on (http://\S+)")
SAMPLE_SECONDS = 5.0
TEXTS = 20_000


@dataclass(frozen=True, slots=True)
class Load:
    """What wrk saw: latencies in milliseconds."""

    requests: int
    seconds: float
    median: float
    p99: float
    p999: float
    longest: float
    refused: int
    broken: int


@contextmanager
def service(index: Path) -> Iterator[tuple[str, int]]:
    """Run the service of an index; its address and process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "neardup", "serve", str(index), "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := READY.search(line):
                break
        else:
            raise RuntimeError(f"the service ended with {process.wait()}")
        yield found[1], process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        print(f"stopped with exit code {process.wait(60)}")
        process.stderr.close()


def wrk(url: str, bodies: Path, *, connections: int, seconds: int, writes: float) -> Load:
    """One run of wrk."""
    threads = min(connections, 2)
    command = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(SCRIPT), url]
    done = subprocess.run([*command, "--", str(bodies), str(writes)], capture_output=True, text=True, check=True)
    found = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout + done.stderr
    requests, micros, median, p99, p999, longest, refused, broken = map(float, found[1].split())
    return Load(int(requests), micros / 1e6, median, p99, p999, longest, int(refused), int(broken))


def cpu_seconds(pid: int) -> float:
    """Of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> tuple[float, float]:
    """Resident memory of a process in MiB: its own, and pages of files."""
    status = Path(f"/proc/{pid}/status").read_text()
    own, files = (int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024 for name in ("RssAnon", "RssFile"))  # type: ignore[index]
    return own, files


def watch(pid: int, stop: threading.Event, samples: list[tuple[float, float, float]]) -> None:
    """Sample the memory of a process."""
    started = time.perf_counter()
    while not stop.wait(SAMPLE_SECONDS):
        samples.append((time.perf_counter() - started, *memory(pid)))


def row(name: str, load: Load, cpu: float) -> str:
    """A line of the table."""
    rate = load.requests / load.seconds
    latencies = f"{load.median:.2f} | {load.p99:.2f} | {load.p999:.2f} | {load.longest:.1f}"
    return f"| {name} | {rate:,.0f} | {latencies} | {cpu / load.requests * 1e3:.2f} | {load.refused} | {load.broken} |"


def mixed(url: str, pid: int, bodies: Path, args: argparse.Namespace) -> None:
    """Reads and writes together; prints the memory of each minute."""
    samples: list[tuple[float, float, float]] = [(0.0, *memory(pid))]
    stop = threading.Event()
    watcher = threading.Thread(target=watch, args=(pid, stop, samples))
    watcher.start()
    before = cpu_seconds(pid)
    load = wrk(url, bodies, connections=args.mixed_connections, seconds=args.mixed_seconds, writes=args.writes)
    stop.set()
    watcher.join()
    name = f"mixed, {args.writes:.0%} writes, {args.mixed_connections} connections, {load.seconds:.0f} s"
    print(row(name, load, cpu_seconds(pid) - before))
    print("\n| second | own memory, MiB | mapped files, MiB |\n|---|---|---|")
    step = max(1, round(len(samples) / 12))
    for second, own, files in [*samples[:-1:step], samples[-1]]:
        print(f"| {second:.0f} | {own:.0f} | {files:.0f} |")
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        told = answer.read().decode()
    print(
        "\n"
        + "\n".join(
            line for line in told.splitlines() if re.match(r"neardup_(requests|documents|refused|.*groups)", line)
        )
    )


def main() -> None:
    """Parse the command line, run, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--connections", default="1,8,64")
    parser.add_argument("--mixed-seconds", type=int, default=0, help="length of the mixed run; 0 for none")
    parser.add_argument("--mixed-connections", type=int, default=8)
    parser.add_argument("--writes", type=float, default=0.1, help="share of its requests that write")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        bodies = Path(work, "bodies.jsonl")
        with args.texts.open(encoding="utf-8") as lines, bodies.open("w", encoding="utf-8") as sink:
            for _, line in zip(range(TEXTS), lines, strict=False):
                sink.write(json.dumps({"text": json.loads(line)["text"]}) + "\n")
        with service(args.index) as (url, pid):
            wrk(url, bodies, connections=8, seconds=3, writes=0.0)  # pages into memory
            head = "| run | requests/s | median ms | p99 ms | p99.9 ms | max ms | server CPU ms | refused | broken |"
            print(f"{head}\n|" + "---|" * 9)
            for connections in map(int, args.connections.split(",")):
                before = cpu_seconds(pid)
                load = wrk(url, bodies, connections=connections, seconds=args.seconds, writes=0.0)
                print(row(f"queries, {connections} connections", load, cpu_seconds(pid) - before), flush=True)
            if args.mixed_seconds:
                mixed(url, pid, bodies, args)


if __name__ == "__main__":
    main()
