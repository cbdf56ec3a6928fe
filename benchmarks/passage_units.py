"""Repeated lines, sentences and paragraphs beside a dictionary of Python, on one core: MB per CPU second, and the peak.

    python benchmarks/passage_units.py FILE… [--unit line sentence] [--span 1 3] [--megabytes 100]

FILE is as for `passages.py`. Each measure is in a process of its own, after a small run that loads the kernels. The
dictionary counts tuples of the texts of units (`dict`), or the first 64 bits of their SHA-1, as CCNet keeps them
(`hashes`). Units are those of one splitter, whose time is counted for all; the number of places that are repeated
must be the same. Beside datatrove, whole processes are measured by `passage_units_compare.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator

from harness import measure
from passages import read

WAYS = ("neardup", "dict", "hashes")


def units_of(texts: list[bytes], unit: str) -> Iterator[list[bytes]]:
    """The units of each text."""
    from neardup.stages.repeats.splitting import split
    from neardup.types import Documents

    for first in range(0, len(texts), 1000):
        documents = Documents.from_bytes(texts[first : first + 1000])
        bounds, counts = split(documents, unit)
        data, places = documents.data.tobytes(), iter(bounds.tolist())
        for count in counts.tolist():
            yield [data[begin:end] for begin, end in (next(places) for _ in range(count))]


def by_dictionary(texts: list[bytes], unit: str, span: int, *, is_hashed: bool) -> int:
    """Places of runs that stand at two or more."""
    places: dict[object, int] = defaultdict(int)
    for units in units_of(texts, unit):
        for i in range(len(units) - span + 1):
            run = units[i : i + span]
            places[hashlib.sha1(b"\n".join(run)).digest()[:8] if is_hashed else tuple(run)] += 1
    return sum(count for count in places.values() if count > 1)


def by_neardup(texts: list[bytes], unit: str, span: int) -> int:
    """The same by neardup: a segment of n units has n - span + 1 runs."""
    from neardup.inputs.reader import open_inputs
    from neardup.params import InputOptions, RunOptions
    from neardup.tasks.repeats.run import PassageRun
    from neardup.tasks.repeats.unit_runs import UnitRuns

    reader = open_inputs([text.decode() for text in texts], InputOptions.of({}))
    with PassageRun(reader, UnitRuns(unit, span), RunOptions.of({"threads": 1, "resume": False})) as run:
        return sum(int((part.end - part.start - span + 1).sum()) for part in run.segments())


def one(way: str, files: list[str], unit: str, span: int, megabytes: float) -> None:
    """Measure one way in this process, and print it as JSON."""
    texts = read(files, megabytes)
    for some in (texts[:20], texts):
        begin = time.process_time()
        if way == "neardup":
            found = by_neardup(some, unit, span)
        else:
            found = by_dictionary(some, unit, span, is_hashed=way == "hashes")
        cpu = time.process_time() - begin
    print(json.dumps({"bytes": sum(map(len, texts)), "cpu": cpu, "found": found}))


def main() -> None:
    """Measure what is asked for, each in a process of its own, and print a line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--unit", nargs="+", default=["line", "sentence"])
    parser.add_argument("--span", nargs="+", type=int, default=[1, 3])
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--core", default="0")
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        one(given.one, given.files, given.unit[0], given.span[0], given.megabytes)
        return
    print(f"{'unit':9} {'span':>4} {'way':7} {'MB':>6} {'MB/CPU s':>8} {'peak MiB':>8} {'repeated places':>15}")
    for unit in given.unit:
        for span in given.span:
            counts = set()
            for way in WAYS:
                what = ["--unit", unit, "--span", str(span), "--megabytes", str(given.megabytes), "--one", way]
                run = measure([sys.executable, __file__, *given.files, *what], given.core)
                told = json.loads(run.stdout)
                counts.add(told["found"])
                size = told["bytes"] / 1e6
                row = f"{unit:9} {span:4} {way:7} {size:6.1f} {size / told['cpu']:8.1f} {run.peak_mib:8.0f}"
                print(f"{row} {told['found']:15,}", flush=True)
            if len(counts) > 1:
                raise SystemExit(f"{unit}, span {span}: the ways disagree")


if __name__ == "__main__":
    main()
