"""What a person waits for before a command begins to work: its start, and what the first run on a machine costs more.

    python benchmarks/startup.py FILE.jsonl --work FOLDER [--neardup "neardup"] [--runs 7]

The first hundred lines of the file are the documents. "First" is the run of somebody who has just installed neardup:
no home, no cache, and folders of the package that take nothing, so that machine code comes with the package or is made
in that run. Give --neardup the command of an environment into which a wheel was installed; of a checkout "first" says
what compiling costs. `serve` is measured from its start to its first answer. CPU seconds are medians, on one core; the
program ends with 1 where a first run takes more than twice a warm one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

from harness import measure

MOST = 2.0
"""Times the CPU of a warm run that a first one may take."""


def commands(small: Path, work: Path) -> dict[str, list[str]]:
    """What is measured, without the word neardup."""
    out = str(work / "startup.out.jsonl")
    return {
        "--help": ["--help"],
        "find, a file that is not there": ["find", "nowhere.jsonl"],
        "find": ["find", str(small), "-o", out, "--quiet"],
        "find, containment": ["find", str(small), "--measure", "containment", "-o", out, "--quiet"],
        "dedup": ["dedup", str(small), "-o", out, "--quiet"],
        "report": ["report", str(small), "-o", str(work / "startup.report"), "--quiet"],
        "index query": ["index", "query", str(work / "startup.index"), str(small), "-o", out, "--quiet"],
    }


def environment(nowhere: Path) -> dict[str, str]:
    """Variables by which nothing can be kept."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    return {**kept, "HOME": str(nowhere / "no home"), "XDG_CACHE_HOME": str(nowhere / "no cache")}


def run(command: list[str], core: str, variables: dict[str, str]) -> float:
    """CPU seconds of a command, which may fail."""
    try:
        return measure(command, core, environment=variables).cpu_seconds
    except RuntimeError:
        begin = os.times()
        subprocess.run(["taskset", "-c", core, *command], env=variables, capture_output=True, check=False)
        end = os.times()
        return end.children_user + end.children_system - begin.children_user - begin.children_system


def serve(base: list[str], index: Path, core: str, variables: dict[str, str]) -> float:
    """CPU seconds of the service from its start to its first answer."""
    command = ["taskset", "-c", core, *base, "serve", str(index), "--port", "0"]
    process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://[^\s/]+", line):
            break
    else:
        raise RuntimeError("the service did not start")
    body = json.dumps({"text": "a text that nobody has seen"}).encode()
    request = urllib.request.Request(f"{found[0]}/query", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        answer.read()
    process.terminate()
    process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Parse the command line, run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="folder for small files")
    parser.add_argument("--neardup", default="neardup")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--core", default="0")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    small, base, index = args.work / "startup.jsonl", shlex.split(args.neardup), args.work / "startup.index"
    with args.corpus.open("rb") as lines, small.open("wb") as sink:
        for _, line in zip(range(100), lines, strict=False):
            sink.write(line)
    if not index.exists():
        subprocess.run([*base, "index", "build", str(index), str(small), "--quiet"], check=True)
    with tempfile.TemporaryDirectory() as nowhere:
        bare = environment(Path(nowhere))
        os.chmod(nowhere, 0o500)
        asked: dict[str, Callable[[dict[str, str]], float]] = {}
        for name, words in commands(small, args.work).items():
            asked[name] = lambda variables, words=words: run([*base, *words], args.core, variables)
        asked["serve, to its first answer"] = lambda variables: serve(base, index, args.core, variables)
        print("| command | first, CPU s | warm, CPU s | fastest | times |\n|" + "---|" * 5)
        is_within = True
        for name, ask in asked.items():
            first = ask(bare)
            warm = sorted(ask(dict(os.environ)) for _ in range(args.runs))
            times = first / statistics.median(warm)
            is_within = is_within and times <= MOST
            print(f"| {name} | {first:.2f} | {statistics.median(warm):.2f} | {warm[0]:.2f} | {times:.2f} |", flush=True)
    sys.exit(0 if is_within else 1)


if __name__ == "__main__":
    main()
