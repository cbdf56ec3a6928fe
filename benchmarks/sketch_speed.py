"""The sketch alone, one core: neardup from bytes, rensa from ready token lists, the same documents.

    python benchmarks/sketch_speed.py FILE.jsonl --peer-python PYTHON [--megabytes 20] [--runs 5]
    python benchmarks/sketch_speed.py FILE.jsonl… --steps [--megabytes 4] [--runs 5]

neardup gets the UTF-8 of the texts in one buffer and cuts, hashes and sketches (128 slots, char:9). rensa
gets lists of Python strings that were cut before the clock starts, and only hashes and sketches (full
`RMinHash`, 128 slots), in three documented ways; "fresh" is a case of its own, in which each document's
list was made just before and still lies in the cache, which is the best that can happen to it. MB/s are
megabytes of text, medians of runs in turns, each in a process of its own. Short documents are told by
the time for each: most of theirs goes into slots that their few shingles leave empty.

``--steps`` measures neardup alone, for texts of several languages beside each other: normalising by some settings, and
the sketch by some shingles.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import measure

SHINGLE = 9
SLOTS = 128


def read_texts(source: Path, megabytes: float) -> list[str]:
    """Return the texts of the first lines, ``megabytes`` of UTF-8 in all."""
    texts: list[str] = []
    room = megabytes * 1e6
    with source.open("rb") as lines:
        for line in lines:
            texts.append(json.loads(line)["text"])
            room -= len(texts[-1].encode())
            if room <= 0:
                break
    return texts


def time_neardup(texts: list[str]) -> dict[str, float]:
    """Seconds of the one-pass kernel over one buffer, best of three (the first call loads the kernel)."""
    import numpy as np

    from neardup.params import Shingle
    from neardup.stages.shingle import Hasher
    from neardup.stages.sketch import count_and_sketch
    from neardup.types import Documents

    documents = Documents.from_bytes(text.encode() for text in texts)
    hasher = Hasher(Shingle.parse(f"char:{SHINGLE}"), 1)
    values = np.empty((len(documents), SLOTS), dtype=np.uint32)
    counts = np.empty(len(documents), dtype=np.int64)

    def sketch() -> None:
        count_and_sketch(documents, hasher, values=values, counts=counts)

    sketch()
    return {"neardup, from bytes": min(timed(sketch) for _ in range(3))}


SHINGLES = ("char:9", "char:3", "word:5", "word:1")
STEPS = ("nfc", "casefold,punct,space", "nfkc,casefold,punct,strip")


def time_steps(texts: list[str]) -> dict[str, float]:
    """Seconds of each step of reading a text, best of five."""
    import numpy as np

    from neardup.params import Normalize, Shingle
    from neardup.stages.shingle import Hasher
    from neardup.stages.sketch import count_and_sketch
    from neardup.stages.text import normalize_documents
    from neardup.types import Documents

    documents = Documents.from_bytes(text.encode() for text in texts)
    values = np.empty((len(documents), SLOTS), dtype=np.uint32)
    counts = np.empty(len(documents), dtype=np.int64)
    calls: dict[str, Callable[[], object]] = {}
    for steps in STEPS:
        calls[steps] = partial(normalize_documents, documents, Normalize.parse(steps))
    for shingle in SHINGLES:
        hasher = Hasher(Shingle.parse(shingle), 1)
        calls[shingle] = partial(count_and_sketch, documents, hasher, values=values, counts=counts)
    for call in calls.values():
        call()
    return {name: min(timed(call) for _ in range(5)) for name, call in calls.items()}


def timed(call: Callable[[], object]) -> float:
    """CPU seconds of one call: on a shared machine steadier than the clock, on one thread the same."""
    started = time.process_time()
    call()
    return time.process_time() - started


def time_rensa(texts: list[str]) -> dict[str, float]:
    """Seconds of three ways to sketch ready lists, best of three, and of one with each list in the cache."""
    from rensa import RMinHash

    def cut(text: str) -> list[str]:
        return [text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)] or [text]

    def update(tokens: list[str]) -> None:
        RMinHash(num_perm=SLOTS, seed=42).update(tokens)

    fresh = float("inf")
    for _ in range(3):
        total = 0.0
        for text in texts:
            tokens = cut(text)
            started = time.perf_counter()
            update(tokens)
            total += time.perf_counter() - started
        fresh = min(fresh, total)
    lists = [cut(text) for text in texts]

    def each() -> None:
        for tokens in lists:
            update(tokens)

    ways: dict[str, Callable[[], object]] = {
        "rensa RMinHash.update": each,
        "rensa RMinHash.from_token_sets": lambda: RMinHash.from_token_sets(lists, num_perm=SLOTS, seed=42),
        "rensa RMinHash.digest_matrix_from_token_sets": lambda: RMinHash.digest_matrix_from_token_sets(
            lists, num_perm=SLOTS, seed=42
        ),
    }
    best = {name: min(timed(call) for _ in range(3)) for name, call in ways.items()}
    return {**best, "rensa RMinHash.update, list fresh in the cache": fresh}


def work(args: argparse.Namespace) -> None:
    """Measure one side in this process and print its seconds as JSON."""
    texts = read_texts(args.corpora[0], args.megabytes)
    size = sum(len(text.encode()) for text in texts)
    seconds = SIDES[args.side](texts)
    print(json.dumps({name: size / 1e6 / taken for name, taken in seconds.items()}))


SIDES = {"neardup": time_neardup, "rensa": time_rensa, "steps": time_steps}


def print_steps(args: argparse.Namespace) -> None:
    """One row a file: the steps, each run in a process of its own, the files in turns."""
    speeds: dict[str, dict[str, list[float]]] = {}
    for _ in range(args.runs):
        for corpus in args.corpora:
            flags = [str(corpus), "--megabytes", str(args.megabytes), "--side", "steps"]
            run = measure([sys.executable, os.path.abspath(__file__), *flags], args.core)
            for name, speed in json.loads(run.stdout).items():
                speeds.setdefault(corpus.stem, {}).setdefault(name, []).append(speed)
    names = [*STEPS, *SHINGLES]
    print("| MB/s of CPU | " + " | ".join(names) + " |\n|---" + "|---" * len(names) + "|")
    for corpus, found in speeds.items():
        print(f"| {corpus} | " + " | ".join(f"{statistics.median(found[name]):.0f}" for name in names) + " |")


def main() -> None:
    """Start both sides in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="+")
    parser.add_argument("--steps", action="store_true", help="neardup alone: normalising and several shingles")
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--megabytes", type=float, default=20, help="of text; rensa's lists take 70 times that")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--core", default="0")
    parser.add_argument("--side", choices=tuple(SIDES), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        work(args)
        return
    if args.steps:
        print_steps(args)
        return
    (corpus,) = args.corpora
    speeds: dict[str, list[float]] = {}
    for _ in range(args.runs):
        for side, python in (("neardup", sys.executable), ("rensa", args.peer_python)):
            flags = [str(corpus), "--megabytes", str(args.megabytes), "--side", side]
            run = measure([python, os.path.abspath(__file__), *flags], args.core)
            for name, speed in json.loads(run.stdout).items():
                speeds.setdefault(name, []).append(speed)
    base = statistics.median(next(iter(speeds.values())))
    print(
        f"`{corpus.name}`, first {args.megabytes:g} MB of text, {SLOTS} slots, char:{SHINGLE}; "
        f"{time.strftime('%Y-%m-%d')}; Python {platform.python_version()}; medians of {args.runs} processes\n"
    )
    sizes = [len(text.encode()) for text in read_texts(args.corpus, args.megabytes)]
    each = sum(sizes) / len(sizes)
    print(f"{len(sizes)} documents of {each:.0f} bytes\n")
    print("| sketch | MB/s | slowest | fastest | us a document | neardup is |\n|---|---|---|---|---|---|")
    for name, found in speeds.items():
        middle = statistics.median(found)
        spread = f"{min(found):.0f} | {max(found):.0f}"
        print(f"| {name} | {middle:.0f} | {spread} | {each / middle:.2f} | {base / middle:.1f}x |")


if __name__ == "__main__":
    main()
