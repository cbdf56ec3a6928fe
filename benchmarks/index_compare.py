"""neardup.Index beside Lance, gaoya, rensa, datasketch and PostgreSQL's pg_trgm, on the same documents; one table.

    python benchmarks/index_compare.py FILE.jsonl --work FOLDER --peer-python PEERS [--limit N] [--only STEP...]
    python benchmarks/index_compare.py --work FOLDER --show

Takes N documents of a seeded shuffle of FILE, which has `id` and `text` in each line, and makes questions with their
true answers (`peers_index/questions.py`). Each program is used as its documentation says (`peers_index/programs.py`),
in a process of its own (`peers_index/worker.py`). Queries are timed in turns: a round of the peer, then a round of
neardup with the same questions. The ratio is the median over --rounds. All times are the CPU time of all threads; for
PostgreSQL, that of its backend. A program that is not installed is named and skipped.

The figures of each step are kept in FOLDER as JSON. `--only` runs the named steps again; `--show` prints the figures.
The steps are `data`, the names of the programs, and `own`, `growth`, `sizes` and `server`, which concern neardup alone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import ONE_THREAD

HERE = Path(__file__).resolve().parent
PEERS = ("lance", "gaoya", "rensa", "datasketch", "datasketch-own", "pg_trgm")
STEPS = ("data", "neardup", *PEERS, "own", "growth", "sizes", "server")
TITLES = {"datasketch-own": "datasketch, its own bands", "rensa": "rensa `RMinHashLSH`", "lance": "Lance `MINHASHLSH`"}
COLUMNS = (
    "program", "build µs/doc", "memory MB (own)", "disk B/doc", "query µs planted / foreign", "÷ neardup's, in turns",
    "what it answers", "pair recall", "precision", "on disk", "remove µs: one / of 1,000", "add one, µs", "crowd ms",
)  # fmt: skip
PATIENCE = 30.0
"""The CPU seconds that a program may spend on one list of questions."""
Figures = dict[str, Any]


class Missing(Exception):
    """A program is not installed."""


class Worker:
    """A process with one index."""

    def __init__(self, args: argparse.Namespace, program: str, folder: str) -> None:
        """Remove the folder of an earlier process and start a new one."""
        place = args.work / folder
        shutil.rmtree(place, ignore_errors=True)
        python = sys.executable if program == "neardup" else args.peer_python
        command = [python, str(HERE / "peers_index" / "worker.py"), program, str(place)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.work = args.work
        with (args.work / "errors.log").open("ab") as errors:
            self.process = subprocess.Popen(
                command, env={**os.environ, **ONE_THREAD}, text=True, stderr=errors, **pipes
            )

    def __enter__(self) -> Worker:
        """Return the worker."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process and wait for it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def do(self, what: str, **words: Any) -> Figures:
        """Send one command and return the reply; ``source`` is a file of the work folder."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        whole = {
            key: str(self.work / value) if str(value).endswith(".jsonl") else value for key, value in words.items()
        }
        print(json.dumps([what, whole]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended with {self.process.wait()}; see {self.work / 'errors.log'}")
        reply: Figures = json.loads(line)
        if "missing" in reply:
            raise Missing(reply["missing"])
        if "failed" in reply:
            raise RuntimeError(reply["failed"])
        return reply


def in_turns(one: Worker, other: Worker, rounds: int, way: int = 0) -> Figures:
    """Ask both the same questions, one after the other. The first round does not count.

    Returns:
        The median of both, and the median of the ratios, for edited copies and for foreign texts.
    """
    found: Figures = {}
    for kind, name in enumerate(("planted", "foreign")):
        mine, theirs = [], []
        for _ in range(rounds + 1):
            reply = one.do("ask", source="questions.jsonl", way=way, kind=kind, seconds=PATIENCE / 10)
            mine.append(reply["p50_us"])
            theirs.append(other.do("ask", source="questions.jsonl", way=0, kind=kind, seconds=PATIENCE / 10)["p50_us"])
        ratios = [a / b for a, b in zip(mine[1:], theirs[1:], strict=True)]
        found |= {f"{name}_us": statistics.median(mine[1:]), f"{name}_base_us": statistics.median(theirs[1:])}
        found |= {f"{name}_ratio": statistics.median(ratios), f"{name}_spread": [min(ratios), max(ratios)]}
        found["way"] = reply["way"]
    return found


def crowd(args: argparse.Namespace, program: str) -> Figures:
    """Ask for texts with 50,000 near-copies among 150,000 texts, in each way, and return CPU ms a query."""
    with Worker(args, program, f"{program}.crowd") as worker:
        worker.do("build", source="crowd.jsonl")
        found, ways = {}, worker.do("ways")
        for number, name in enumerate(ways["ways"] + ways["writes"]):
            worker.do("ask", source="crowd_questions.jsonl", way=number, kind=1, seconds=0)
            reply = worker.do("ask", source="crowd_questions.jsonl", way=number, kind=0, seconds=PATIENCE / 4)
            found[name] = reply["p50_us"] / 1000
        return found


def peer(args: argparse.Namespace, program: str, ours: Worker) -> Figures:
    """Measure one program in turns with neardup, which is built already."""
    with Worker(args, program, program) as worker:
        found = worker.do("build", source="documents.jsonl")
        found |= in_turns(worker, ours, args.rounds) | worker.do("memory")
        found["check"] = worker.do("check", source="questions.jsonl", seconds=PATIENCE)
        found |= worker.do("change", source="documents.jsonl", one=20, many=1000)
    return found | {"crowd": crowd(args, program)}


def own(args: argparse.Namespace, ours: Worker) -> Figures:
    """Measure the other ways to ask neardup, each in turns with a query."""
    ways = range(1, len(ours.do("ways")["ways"]))
    together = [ours.do("ask_together", source="questions.jsonl", kind=kind)["us"] for kind in (0, 1)]
    return {"ways": [in_turns(ours, ours, args.rounds, way) for way in ways], "together_us": together}


def growth(args: argparse.Namespace, documents: int) -> Figures:
    """Grow an index from nothing to three times the documents, in durable batches of 10,000."""
    with Worker(args, "neardup", "grown") as worker:
        return worker.do("grow", source="large.jsonl", step=documents)


def sizes(args: argparse.Namespace) -> Figures:
    """Build a small and a large index, ask both in turns, and compare the large one with the truth."""
    with Worker(args, "neardup", "small") as small, Worker(args, "neardup", "large") as large:
        few = small.do("build", source="tenth.jsonl")
        found = large.do("build", source="large.jsonl") | {"few": few["documents"], "few_us": few["build_us"]}
        found |= in_turns(large, small, args.rounds) | large.do("memory")
        return found | {"check": large.do("check", source="questions.jsonl", seconds=10 * PATIENCE)}


def server(args: argparse.Namespace) -> Figures:
    """Ask the service with wrk, and return its CPU µs a query for 1, 8 and 32 clients."""
    if not shutil.which("wrk"):
        raise Missing("there is no wrk")
    from serve_load import cpu_seconds, service, wrk

    bodies, found = args.work / "bodies.jsonl", {}
    with (args.work / "questions.jsonl").open(encoding="utf-8") as lines, bodies.open("w", encoding="utf-8") as sink:
        sink.writelines(json.dumps({"text": json.loads(line)["text"]}) + "\n" for line in lines)
    with service(args.work / "neardup") as (url, pid):
        wrk(url, bodies, connections=8, seconds=3, writes=0.0)
        for clients in (1, 8, 32):
            runs = []
            for _ in range(3):
                before = cpu_seconds(pid)
                load = wrk(url, bodies, connections=clients, seconds=4, writes=0.0)
                runs.append(1e6 * (cpu_seconds(pid) - before) / load.requests)
            found[str(clients)] = statistics.median(runs)
    return found


def run(args: argparse.Namespace) -> None:
    """Run the wanted steps in the order of STEPS and keep the figures of each."""
    known = json.loads(args.kept.read_text()) if args.kept.exists() else {}

    def step(name: str, work: Callable[[], Figures]) -> None:
        load, began = os.getloadavg()[0], time.perf_counter()
        try:
            known[name] = work() | {"load": load}
        except Missing as error:
            print(f"{name}: skipped, {error}", file=sys.stderr, flush=True)
            return
        args.kept.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {time.perf_counter() - began:.0f} s, load {load:.1f}", file=sys.stderr, flush=True)

    wanted = [name for name in STEPS if not args.only or name in args.only]
    if "data" in wanted:
        words = [str(args.file), str(args.work), "--documents", str(args.limit), "--number", str(args.questions)]
        subprocess.run([sys.executable, HERE / "peers_index" / "questions.py", *words], check=True)
        known.clear()
        known["data"] = {"file": args.file.name}
    if set(wanted) & {"neardup", *PEERS, "own", "server"}:
        with Worker(args, "neardup", "neardup") as ours:
            built = ours.do("build", source="documents.jsonl")
            for name in PEERS:
                if name in wanted:
                    step(name, lambda name=name: peer(args, name, ours))  # type: ignore[misc]
            if "own" in wanted:
                step("own", lambda: own(args, ours))
            if "neardup" in wanted:
                built |= in_turns(ours, ours, args.rounds) | ours.do("memory")
                built["check"] = ours.do("check", source="questions.jsonl", seconds=10 * PATIENCE)
                built |= ours.do("change", source="documents.jsonl", one=20, many=1000)
                step("neardup", lambda: built | {"crowd": crowd(args, "neardup")})
    if "growth" in wanted:
        step("growth", lambda: growth(args, known["neardup"]["documents"]))
    if "sizes" in wanted:
        step("sizes", lambda: sizes(args))
    if "server" in wanted:
        step("server", lambda: server(args))


def number(value: float | None, places: int | None = None) -> str:
    """Return a number with three digits or more, or with ``places`` after the point; a dash for None."""
    if not value:
        return "–"
    if places is None:
        places = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{places}f}"


def both(figures: Figures, key: str) -> str:
    """Return a figure of edited copies and of foreign texts."""
    return " / ".join(number(figures[f"{kind}_{key}"]) for kind in ("planted", "foreign"))


def row(cells: dict[str, str]) -> str:
    """Return a line of the table; a column that is not named is empty."""
    return "| " + " | ".join(cells.get(column, "") for column in COLUMNS) + " |"


def rows(name: str, one: Figures, asked: int) -> list[str]:
    """Return the lines of one program: a line for it, and one for each further kind of answer that was checked."""
    kinds = dict(one["check"]["kinds"])
    partly = "" if one["check"]["asked"] == asked else f" ({one['check']['asked']} asked)"
    found = {
        kind: {"pair recall": f"{figures['recall']:.4f}{partly}", "precision": f"{figures['precision']:.4f}"}
        for kind, figures in kinds.items()
    }
    first = {
        "program": TITLES.get(name, name),
        "build µs/doc": number(one["build_us"]),
        "memory MB (own)": f"{number(one['memory_mb'], 0)} ({number(one['own_mb'], 0)})",
        "disk B/doc": number(one["disk_b"], 0),
        "query µs planted / foreign": both(one, "us"),
        "÷ neardup's, in turns": both(one, "ratio"),
        "what it answers": one["says"],
        "on disk": one["keeps"],
        "remove µs: one / of 1,000": f"{number(one['remove_us'])} / {number(one['remove_many_us'])}",
        "add one, µs": number(one["add_us"]),
        "crowd ms": number(next(iter(one["crowd"].values()))),
    } | found.pop(one["says"])
    return [row(first), *(row({"program": kind} | figures) for kind, figures in found.items())]


def table(known: Figures) -> list[str]:
    """Return the table."""
    everybody = [name for name in ("neardup", *PEERS) if name in known]
    asked = max((known[name]["check"]["asked"] for name in everybody), default=0)
    found = [row(dict(zip(COLUMNS, COLUMNS, strict=True))), "|---|" + "---:|" * (len(COLUMNS) - 1)]
    for name in everybody:
        found += rows(name, known[name], asked)
    for way in known.get("own", {}).get("ways", []):
        crowds = known.get("neardup", {}).get("crowd", {})
        cells = {"program": f"neardup, {way['way']}", "crowd ms": number(crowds.get(way["way"]))}
        cells |= {"query µs planted / foreign": both(way, "us"), "÷ neardup's, in turns": both(way, "ratio")}
        found.append(row(cells))
    return found


def truths(one: Figures) -> str:
    """Return the line about recall and precision of one index of neardup."""
    check = one["check"]
    kind, (right, asked) = check["kinds"][one["says"]], check.get("seen", [0, 0])
    seen = f"; `seen` is right on {right:,} of {asked:,}" if asked else ""
    return (
        f"recall / precision over {check['asked']:,} questions at {one['documents']:,}: {kind['recall']:.4f} / "
        f"{kind['precision']:.4f} ({check['pairs']:,} pairs; {kind['false']} false; {kind['differs']} similarities "
        f"differ; {check['sources']} of {check['copies']} originals found{seen})"
    )


def lines(known: Figures) -> list[str]:
    """Return the lines below the table, as far as their steps have run."""
    found = []
    ours, large, steps = known.get("neardup"), known.get("sizes"), known.get("growth", {}).get("us", [])
    if ours and "lance" in known:
        beside = number(known["lance"]["build_us"])
        found.append(f"index build, µs a document: {number(ours['build_us'])} (Lance {beside})")
    if len(steps) == 3:
        found.append(f"durable batches of 10,000, µs a document in each third: {', '.join(map(number, steps))}")
        found.append(f"last third ÷ first: {number(steps[2] / steps[0])}")
    for name in ("gaoya", "rensa"):
        if name in known:
            ratios = " / ".join(number(1 / known[name][f"{kind}_ratio"]) for kind in ("planted", "foreign"))
            found.append(f"one query, planted / foreign, as a multiple of {name}'s: {ratios}")
    if "own" in known:
        together = " / ".join(map(number, known["own"]["together_us"]))
        found.append(f"a query in one call with all others, planted / foreign, µs: {together}")
    if large:
        ratio, sizes = both(large, "ratio"), f"{large['documents']:,} as built ÷ at {large['few']:,}"
        found.append(f"p50, planted / foreign, at {sizes}: {ratio}")
        found.append(f"index build at {large['documents']:,}, µs a document: {number(large['build_us'])}")
    if "server" in known:
        clients = " / ".join(number(known["server"][name], 0) for name in ("1", "8", "32"))
        found.append(f"server CPU µs a query, 1 / 8 / 32 clients: {clients}")
    if ours:
        crowds = "; ".join(f"{way} {number(ms)}" for way, ms in ours["crowd"].items())
        found.append(f"a query against 50,000 near-copies, ms: {crowds}")
    return found + [truths(one) for one in (ours, large) if one]


def show(known: Figures) -> None:
    """Print the table and the lines below it."""
    versions = sorted({one["version"] for one in known.values() if "version" in one})
    loads = [one["load"] for one in known.values() if "load" in one]
    load = f"load {min(loads):.1f} to {max(loads):.1f}" if loads else "no step has run"
    print(f"`{known['data']['file']}`; {', '.join(versions)}; Python {platform.python_version()}; {load}\n")
    print("\n".join(table(known)), "", *(f"- {line}" for line in lines(known)), sep="\n")


def main() -> None:
    """Parse the command line, run, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--peer-python", default=sys.executable, help="Python of the environment with the peers")
    parser.add_argument("--only", nargs="*", default=[], metavar="STEP", choices=STEPS)
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--limit", type=int, default=1_000_000, help="documents")
    parser.add_argument("--questions", type=int, default=1_000, help="edited copies, and as many foreign texts")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    args.kept = args.work / "figures.json"
    args.work.mkdir(parents=True, exist_ok=True)
    if not args.show:
        if args.file is None and (not args.only or "data" in args.only):
            parser.error("give the file of the documents")
        run(args)
    show(json.loads(args.kept.read_text(encoding="utf-8")))


if __name__ == "__main__":
    main()
