"""A find of more documents than any test has, on a cluster, by the functions of `neardup plan --engine spark`.

    python benchmarks/spark_on_paper.py [--documents 1e9 1e11] [--sizes 300 5000] [--piece 64MiB]
    python benchmarks/spark_on_paper.py --break-even

Prints the tables of docs/howto/spark.md. Nothing is read: the collection is one of numbers, and the speeds are those of
the machine of RESULTS.md. What is assumed is printed below the table, and stands below as constants. When a measured
exponent or constant changes, change it in src/neardup/tasks/plan/cluster.py and run this again.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from neardup import tuning
from neardup.engine.space import PROGRAM, Budget
from neardup.params import SearchOptions, parse_memory
from neardup.shown import megabytes
from neardup.stages.numbering import most_documents
from neardup.tasks.plan.beside import break_even, fits_one_machine
from neardup.tasks.plan.cluster import (
    KNOWN_BYTES,
    ClusterEstimate,
    Pieces,
    Shape,
    predict_cluster,
)
from neardup.tasks.plan.costs import Profile, Setting, Speeds, predict

COPIES, COPIED, NEAR = 0.10, 0.08, 0.15
"""Shares of the documents that are copies of another, texts that these copy, and distinct texts with a near-duplicate:
those of the made-up collection of 10 million documents."""
PAIRS_EACH = 0.17
"""Pairs at 0.9 for each distinct text."""
SLOTS_SEEN, NEAR_AT, FAR_AT = 512, 0.9, 0.005
"""Similarity of near-duplicates, and of any two texts: unrelated abstracts share 0.5 % of their shingles of nine."""
STORED = 1.12
"""Bytes of JSON Lines for each of text."""
ID_BYTES = 22
SPEEDS = Speeds(read=1.0e-9, enter=30e-9, sketch={128: (2.4e-9, 0.53e-6)}, key=1.0e-9, group=35e-9, build=17e-9)
"""CPU seconds as `plan` measured them on a million documents of 300 bytes."""
MEMORY = 8_000_000_000
"""For each core."""
PER_NODE, DISK_RATE, NETWORK_RATE = 16, 1e9, 1.25e9
"""Cores of a node, and what its disks and its network (10 Gb/s) move in a second."""
TARGET_HOURS = {1e9: 1.0, 1e11: 24.0}
"""In which a run is to be done; other numbers of documents: in an hour for each billion."""
RARE = 0.001
"""The share of known documents of a collection that was cleaned of near-duplicates before."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A run on paper."""

    documents: float
    size: float
    profile: Profile
    pieces: Pieces
    shape: Shape
    estimate: ClusterEstimate


def setting() -> Setting:
    """What `find` takes without being told."""
    spec = tuning.make_spec(SearchOptions())
    return Setting(spec.slots, spec.bands, spec.min_matches, 0.998)


def profile(documents: float, size: float, share: float = 1.0) -> Profile:
    """A collection of so many documents of so many bytes; ``share`` of the usual copies and near-duplicates."""
    n = int(documents)
    copies = int(COPIES * share * n)
    distinct = n - copies
    pairs = np.zeros(SLOTS_SEEN + 1)
    pairs[round(NEAR_AT * SLOTS_SEEN)] = PAIRS_EACH * share * distinct
    # signatures of two texts of similarity s agree in about a Poisson number of slots
    mean, total = FAR_AT * SLOTS_SEEN, distinct * (distinct - 1) / 2
    for agreeing in range(40):
        pairs[agreeing] += total * math.exp(-mean) * mean**agreeing / math.factorial(agreeing)
    partnered = np.zeros(SLOTS_SEEN + 1)
    partnered[: round(NEAR_AT * SLOTS_SEEN) + 1] = NEAR * share * distinct
    shingles = max(1.0, size - 8)
    return Profile(
        threshold=0.8,
        documents=n,
        distinct=distinct,
        bytes=int(n * size),
        kept_bytes=0,
        long_documents=0,
        id_bytes=ID_BYTES * n,
        copies=copies,
        copy_pairs=copies,
        shingles=int(distinct * shingles),
        slots=SLOTS_SEEN,
        pairs=pairs,
        squares=pairs,
        pair_shingles=pairs * 2 * shingles,
        partnered=partnered,
        scale=1.0,
        document_pairs=float(pairs[round(0.8 * SLOTS_SEEN) :].sum()) + copies,
        crowds=0,
        crowd_texts=0.0,
        crowd_documents=0.0,
        copied=int(COPIED * share * n),
    )


def on_paper(documents: float, size: float, shape: Shape, *, share: float = 1.0, piece: int | None = None) -> Paper:
    """A run on a cluster, with inputs in pieces of so many bytes."""
    found, stored = profile(documents, size, share), documents * size * STORED
    pieces = Pieces(math.ceil(stored / piece), stored, min(stored, piece)) if piece else Pieces.even(stored)
    return Paper(documents, size, found, pieces, shape, predict_cluster(found, SPEEDS, setting(), pieces, shape))


def sized(documents: float, size: float, *, share: float, piece: int | None) -> Paper:
    """A run on as many nodes as do what is not done by the driver alone in the hours that are wanted."""
    hours = TARGET_HOURS.get(documents, documents / 1e9)
    one = on_paper(documents, size, Shape(PER_NODE, MEMORY), share=share, piece=piece)
    alone = {"start", "cluster", "write"}
    shared = sum(stage.cpu_seconds for stage in one.estimate.stages if stage.name not in alone)
    nodes = max(1, math.ceil(shared / (3600 * hours * PER_NODE)))
    return on_paper(documents, size, Shape(nodes * PER_NODE, MEMORY), share=share, piece=piece)


def rows(papers: list[Paper], name: str) -> Iterator[list[str]]:
    """The table of a name, a row for each figure."""
    yield [name, *(f"{_count(each.documents)} × {_bytes(each.size)}" for each in papers)]
    nodes = [each.shape.cores // PER_NODE for each in papers]
    stages = [{stage.name: stage for stage in each.estimate.stages} for each in papers]
    yield ["text", *(megabytes(each.profile.bytes) for each in papers)]
    yield [f"nodes of {PER_NODE} cores (A)", *(f"{number:,}" for number in nodes)]
    yield ["hours, all of it (B)", *(_hours(each.estimate.seconds.expected) for each in papers)]
    yield ["of it the driver alone (C)", *(_hours(each["cluster"].seconds + each["write"].seconds) for each in stages)]
    yield ["hours of a core (D)", *(f"{each.estimate.cpu_seconds.expected / 3600:,.0f}" for each in papers)]
    yield ["tasks, all stages (E)", *(f"{each.estimate.tasks:,}" for each in papers)]
    yield ["shuffled (F)", *(megabytes(each.estimate.shuffled.expected) for each in papers)]
    yield ["of it keys (G)", *(megabytes(each["keys"].shuffled) for each in stages)]
    yield ["blobs of keys (H)", *(_count(each["keys"].tasks * each["keys"].partitions) for each in stages)]
    disk = (each.estimate.shuffled.expected / number for each, number in zip(papers, nodes, strict=True))
    yield ["local disk of a node (I)", *map(megabytes, disk)]
    moved = (
        each.estimate.shuffled.expected / number * (2 / DISK_RATE + 1 / NETWORK_RATE) / 3600
        for each, number in zip(papers, nodes, strict=True)
    )
    yield ["hours of its disk and network (J)", *(f"{hours:.2f}" for hours in moved)]
    yield ["workdir (K)", *(megabytes(each.estimate.workdir.expected) for each in papers)]
    yield ["Python process of a core (L)", *(megabytes(each.estimate.worker_memory) for each in papers)]
    yield ["documents that the driver knows (M)", *(_count(each.estimate.known.expected) for each in papers)]
    yield ["memory of the driver (N)", *(megabytes(each.estimate.driver_memory.expected) for each in papers)]
    most = most_documents(setting().bands.bands + 1)
    yield ["done (O)", *("yes" if each.estimate.known.expected <= most else "**no**" for each in papers)]


def _count(number: float) -> str:
    if number >= 1e6:
        exponent = math.floor(math.log10(number))
        lead = f"{number / 10**exponent:.2g}"
        return f"10^{exponent}" if lead == "1" else f"{lead}·10^{exponent}"
    return f"{number:,.0f}"


def _bytes(size: float) -> str:
    return f"{size / 1000:g} KB" if size >= 1000 else f"{size:g} B"


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2g}" if seconds < 36_000 else f"{seconds / 3600:,.0f}"


def print_table(table: Iterator[list[str]]) -> None:
    """As Markdown."""
    for number, row in enumerate(table):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("| --- |" + " ---: |" * (len(row) - 1))


ASSUMED = f"""
- the collection: {COPIES:.0%} of the documents are copies, {NEAR:.0%} of the texts have a near-duplicate, any two
  texts agree in {FAR_AT:.1%} of their shingles; *few*: {RARE:.1%} of these copies and near-duplicates. JSON Lines that
  are not compressed, ids of {ID_BYTES} bytes, 21 bands;
- A: as many as do what tasks do in {TARGET_HOURS[1e9]:g} hour (10^9) or {TARGET_HOURS[1e11]:g} hours (10^11); cores as
  fast as that of `benchmarks/RESULTS.md`, which do nothing else, with {MEMORY / 1e9:g} GB each;
- B: D over all cores, the driver's part in full, and 0.7 s a stage; no task fails, storage keeps up;
- C: 1.4 µs a known document, 1.5 µs a pair, 0.5 ms a file; measured up to 10^6 documents, and taken as linear;
- D: seconds of each stage in one process, 20 ns a byte between processes, 40 ms a task (assumed), 3.3 µs for each piece
  that a task is told of, 0.12 ms a blob;
- E, H: pieces of 64 MiB, of more than 134 GB larger ones, up to 256 MiB; partitions of 8 million keys, but no more
  than 65,536;
- F, G: 9 bytes a band and document, 32 for prints and ids, 32 and the text for each that is sent, 370 a blob of keys;
- I: F over all nodes; Spark keeps it until the run ends, packs it a little, and clears what is no longer needed;
- J: written, read and sent once, at {DISK_RATE / 1e9:g} GB/s of disk and {8 * NETWORK_RATE / 1e9:g} Gb/s: beside B, \
not in it;
- L: a piece of the input, 8 million keys or 48 MB of texts at a time, with what Arrow and Spark hold of them;
- M: all that have a copy or are in a candidate pair; N: {KNOWN_BYTES} bytes and an id for each, measured up to 4·10^5;
- O: the driver numbers the pairs of at most 1.29 billion known documents with 21 bands."""


def print_break_even() -> None:
    """From how many documents on a cluster takes less time than one machine of as many cores as a node has."""
    print("| cores of the cluster | 300 B a document | 5 KB a document |")
    print("| ---: | ---: | ---: |")
    budget = Budget(64_000_000_000, 64_000_000_000 - PROGRAM)
    for cores in (16, 32, 64, 256, 1024):
        told = []
        for size in (300, 5000):
            base = on_paper(1e6, size, Shape(cores, MEMORY))
            even = break_even(base.profile, SPEEDS, setting(), base.pieces, base.shape, budget=budget, threads=PER_NODE)
            assert even is not None
            why = "; one machine takes no more" if even.is_limit else ""
            told.append(f"{_count(even.documents)} ({megabytes(even.bytes)}{why})")
        print(f"| {cores:,} | " + " | ".join(told) + " |")
    for size in (300, 5000):
        one = profile(1e9, size)
        assert fits_one_machine(one, setting(), budget)
        hours = predict(one, SPEEDS, setting(), budget=budget, threads=PER_NODE).total_seconds / 3600
        print(f"\n10^9 documents of {_bytes(size)} on one machine of {PER_NODE} cores and 64 GB: {hours:.1f} hours")


def main() -> None:
    """See the head of the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=float, nargs="+", default=[1e9, 1e11])
    parser.add_argument("--sizes", type=float, nargs="+", default=[300, 5000])
    parser.add_argument("--piece", type=parse_memory, help="bytes of input of a task")
    parser.add_argument("--break-even", action="store_true", help="the other table")
    args = parser.parse_args()
    if args.break_even:
        print_break_even()
        return
    for share, name in ((1.0, ""), (RARE, "few")):
        papers = [sized(n, size, share=share, piece=args.piece) for n in args.documents for size in args.sizes]
        print_table(rows(papers, name))
        print()
    print(ASSUMED)


if __name__ == "__main__":
    main()
