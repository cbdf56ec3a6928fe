"""What reading a file in splits costs beside reading it whole: CPU of the readers alone, and the same documents.

    python benchmarks/read_splits.py FILE [--bytes 8388608] [--runs 15]

Both in turns in one process, after a first reading of each. The program ends with 1 where the documents differ.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import statistics
import sys
from collections.abc import Iterator

from neardup.inputs.reader import open_inputs
from neardup.inputs.source import Task
from neardup.inputs.splits import plan_splits, read_split


def whole(path: str, most: int) -> Iterator[Task]:
    """The tasks of the file."""
    return open_inputs(path).tasks()


def splits(path: str, most: int) -> Iterator[Task]:
    """The same of its splits; to plan them counts too."""
    reader = open_inputs(path)
    for split in plan_splits(reader, most):
        reading = read_split(reader.parts[split.place], split)
        yield from reading.tasks()


def documents(tasks: Iterator[Task]) -> str:
    """A digest of all texts."""
    digest = hashlib.sha256()
    for task in tasks:
        batch = task()
        for i in range(len(batch.documents)):
            digest.update(batch.documents.blob(i) + b"\xff")
    return digest.hexdigest()


def seconds(tasks: Iterator[Task]) -> float:
    """CPU seconds, of user and system, that the reading takes."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    for task in tasks:
        batch = task()
        if batch.give_back is not None:
            batch.give_back()
        del task, batch
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--bytes", type=int, default=8 << 20)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    ways = {"whole": whole, "splits": splits}
    digests = {documents(way(args.file, args.bytes)) for way in ways.values()}
    took: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(args.runs):
        for name, way in ways.items():
            took[name].append(seconds(way(args.file, args.bytes)))
    for name, each in took.items():
        print(f"{name}: {statistics.median(each):.4f} s of CPU (median of {args.runs}; the least {min(each):.4f})")
    print("the same documents" if len(digests) == 1 else "DIFFERENT DOCUMENTS")
    return 0 if len(digests) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
