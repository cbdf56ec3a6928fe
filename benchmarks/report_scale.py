"""A report of a large collection: time, peak memory and size on disk, with and without a very large cluster.

    python benchmarks/report_scale.py SOURCE.jsonl --work FOLDER [--documents 100000] [--clusters 23000]
        [--crowd 50000] [--memory 500] [--neardup "neardup"] [--only plain exact near]

Three collections are made of the source's real texts, a document a line with "id" and "text" of 200 to 2,000
characters. *plain* has --clusters clusters of 2 to 12 documents, three on average: a text and edited copies of it, in
which runs of 1 to 6 words were put in place of others, dropped or doubled at 1 to 6 places. Some copies are too far
off, so that of the 23,000 clusters 20,600 are found. The rest of --documents are texts by themselves. *exact* and
*near* have --crowd further documents: one text copied, and one text with one run of words changed in each copy.
Everything follows from --seed, and nothing is shared with neardup.

For each there is one run of `neardup report -t 0.7` as it comes and one with --memory (in MB). The promise is two
minutes; the program ends with 1 when a run takes longer, or needs more memory than it was given.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from harness import measure

KINDS = ("plain", "exact", "near")
LIMIT = 120.0
SHORTEST, LONGEST = 200, 2000
THRESHOLD = "0.7"
MIB = 1 << 20


def texts_of(source: Path) -> Iterator[str]:
    """Yield the texts of a file of JSON lines that are neither short nor long."""
    with source.open(encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            if SHORTEST <= len(text) <= LONGEST:
                yield text


def edited(text: str, places: int, other: list[str], rng: random.Random) -> str:
    """A copy of a text with some runs of words put in place of others, dropped or doubled."""
    words = text.split(" ")
    for _ in range(places):
        at, run = rng.randrange(len(words)), rng.randint(1, 6)
        how = rng.randrange(3)
        if how == 0:
            words[at : at + run] = rng.sample(other, min(run, len(other)))
        elif how == 1 and len(words) > 4 * run:
            del words[at : at + run]
        else:
            words[at:at] = words[at : at + run]
    return " ".join(words)


def make(kind: str, args: argparse.Namespace, out: Path) -> None:
    """Write one collection, its documents in a random order."""
    rng = random.Random(args.seed)
    source = texts_of(args.source)
    other = next(source).split(" ")
    documents: list[tuple[str, str]] = []
    for cluster in range(args.clusters):
        text = next(source)
        documents.append((f"c{cluster}", text))
        copies = min(11, 1 + int(rng.expovariate(0.67)))
        documents += [(f"c{cluster}-{i}", edited(text, rng.randint(1, 6), other, rng)) for i in range(copies)]
    documents += [(f"s{i}", next(source)) for i in range(args.documents - len(documents))]
    if kind != "plain":
        text = max((next(source) for _ in range(100)), key=len)
        copies_ = (text if kind == "exact" else edited(text, 1, other, rng) for _ in range(args.crowd))
        documents += [(f"{kind}{i}", copy) for i, copy in enumerate(copies_)]
    rng.shuffle(documents)
    with out.open("w", encoding="utf-8") as sink:
        for name, text in documents:
            sink.write(json.dumps({"id": name, "text": text}, ensure_ascii=False) + "\n")


def size_of(folder: Path) -> tuple[int, int, int]:
    """Files of a report, their bytes, and those of the largest."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes), max(sizes)


def main() -> None:
    """Parse the command line, make the collections, run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="folder for collections and reports")
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--clusters", type=int, default=23_000)
    parser.add_argument("--crowd", type=int, default=50_000)
    parser.add_argument("--memory", type=int, default=500, help="MB")
    parser.add_argument("--neardup", default="neardup")
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    passed = True
    print("| collection | memory | s | CPU s | peak MiB | files | MB | largest file MB |\n|" + "---|" * 8)
    for kind in args.only:
        collection = args.work / f"{kind}.jsonl"
        if not collection.exists():
            make(kind, args, collection)
        for memory in (None, args.memory):
            report = args.work / f"report-{kind}"
            shutil.rmtree(report, ignore_errors=True)
            command = [*shlex.split(args.neardup), "report", str(collection), "-t", THRESHOLD, "-o", str(report)]
            run = measure([*command, *(["--memory", f"{memory}MB"] if memory else []), "--quiet"], args.cores)
            files, total, largest = size_of(report)
            passed = passed and run.seconds <= LIMIT and (memory is None or run.peak_mib * MIB <= memory * 1e6)
            cells = (
                kind,
                f"{memory} MB" if memory else "free",
                f"{run.seconds:.1f}",
                f"{run.cpu_seconds:.1f}",
                f"{run.peak_mib:.0f}",
                files,
            )
            print("", *cells, f"{total / 1e6:.1f}", f"{largest / 1e6:.2f}", sep="| ", end=" |\n", flush=True)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
