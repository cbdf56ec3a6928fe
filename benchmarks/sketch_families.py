"""The five sketch families side by side: bias, variance, bands and speed; prints Markdown.

    python benchmarks/sketch_families.py [--trials 1000] [--only FAMILY …] [--text FILE.jsonl]

Pairs of sets with a union of 1 to 100,000 elements and a Jaccard similarity of exactly J are sketched through
``neardup.sketch`` (128 slots), each pair under several seeds:

- *bias*: mean estimate less J, in standard errors of that mean (beyond 5 it is no accident);
- *variance*: of the estimate, in multiples of J (1 - J)/128, that of independent permutations;
- *bands*: share of the pairs that agree in some of 16 bands of 8 rows, beside 1 - (1 - J^8)^16.

Elements are consecutive integers, the most structured sets there are. Of large unions fewer pairs are sketched, so that
a cell has at most five million elements, but never fewer than 50 pairs. Speed is that of ``neardup.sketch`` from texts
in memory to signatures, CPU time of one thread, best of five, over the abstracts in ``examples``; ``--trials 0``
measures nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

import neardup

FAMILIES = ("hybrid", "independent", "universal", "permutation", "one-permutation")
SLOTS, BANDS, ROWS = 128, 16, 8
EMPTY = np.uint32(0xFFFFFFFF)
UNIONS = (2, 10, 100, 1_000, 10_000, 100_000)
SIMILARITIES = (Fraction(1, 10), Fraction(1, 2), Fraction(7, 10))
ELEMENTS = 100_000
"""Elements that are sketched at a time: the permutations of ``permutation`` are over all of them."""


def table_of(union: int, shared: int, pairs: int, first: int) -> pa.Table:
    """Pairs of sets without a common element between pairs; what a pair does not share is split evenly."""
    left = union - (union - shared) // 2
    whole = first + np.arange(pairs * union, dtype=np.int64).reshape(pairs, union)
    a, b = whole[:, :left], whole[:, left - shared :]
    sizes = np.tile([a.shape[1], b.shape[1]], pairs)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(np.hstack((a, b)).ravel()))
    return pa.table({"id": np.arange(2 * pairs), "text": lists})


def trials_of(family: str, union: int, shared: int, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """For each trial the estimate, and whether some band agrees."""
    pairs = max(1, min(trials, ELEMENTS // union))
    estimates, hits = [], []
    for seed in range(1, -(-trials // pairs) + 1):
        table = table_of(union, shared, pairs, first=seed * 10**7)
        values = neardup.sketch(table, shingle="item", sketch=family, slots=SLOTS, seed=seed).signatures.values
        a, b = values[0::2], values[1::2]
        told = (a != EMPTY) | (b != EMPTY)
        same = (a == b) & told
        estimates.append(same.sum(axis=1) / told.sum(axis=1))
        hits.append((a == b).reshape(pairs, BANDS, ROWS).all(axis=2).any(axis=1))
    return np.concatenate(estimates)[:trials], np.concatenate(hits)[:trials]


def measured(family: str, trials: int) -> list[dict[str, object]]:
    """One record for each size of the union and each similarity that it can have."""
    records = []
    for union in UNIONS:
        for similarity in SIMILARITIES:
            shared = similarity * union
            if shared.denominator > 1:
                continue
            number = min(trials, max(50, 5_000_000 // union))
            estimates, hits = trials_of(family, union, int(shared), number)
            j = float(similarity)
            spread = float(estimates.std(ddof=1))
            records.append(
                {
                    "family": family,
                    "union": union,
                    "J": j,
                    "trials": number,
                    "bias": (float(estimates.mean()) - j) / (spread / math.sqrt(number)) if spread else 0.0,
                    "variance": spread**2 / (j * (1 - j) / SLOTS),
                    "bands": float(hits.mean()),
                    "curve": 1 - (1 - j**ROWS) ** BANDS,
                }
            )
    return records


def ends(family: str) -> str:
    """What sets of one element each give: 1 and 0 where they are equal and unequal."""
    made = neardup.sketch([[1], [1], [2]], shingle="item", sketch=family, slots=SLOTS)
    return f"{made.estimate(0, made, 1):g} and {made.estimate(0, made, 2):g}"


def speed(family: str, texts: list[str]) -> tuple[float, float]:
    """MB/s and nanoseconds a shingle from texts to signatures, by CPU time, best of five after a first call."""
    size = sum(len(text.encode()) for text in texts)
    shingles = sum(max(1, len(text) - 8) for text in texts)
    neardup.sketch(texts[:2], sketch=family)
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        neardup.sketch(texts, sketch=family, slots=SLOTS)
        best = min(best, time.process_time() - start)
    return size / 1e6 / best, best * 1e9 / shingles


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, numbers to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def report(records: list[dict[str, object]], families: list[str]) -> str:
    """Bias, variance and bands, a column for each family."""
    parts = []
    cells = {(r["family"], r["union"], r["J"]): r for r in records}
    keys = list(dict.fromkeys((r["union"], r["J"]) for r in records))
    for name, form in (("bias", "{:+.1f}"), ("variance", "{:.2f}"), ("bands", "{:.3f}")):
        header = ["union, J", "pairs", *(["1 − (1 − J^8)^16"] if name == "bands" else []), *families]
        rows = []
        for union, j in keys:
            of = [cells[family, union, j] for family in families]
            curve = [f"{of[0]['curve']:.3f}"] if name == "bands" else []
            rows.append([f"{union:,}, {j}", f"{of[0]['trials']}", *curve, *(form.format(r[name]) for r in of)])
        parts.append(f"{name}\n\n{table(header, rows)}")
    return "\n\n".join(parts)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="The sketch families side by side, as Markdown.")
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--text", type=Path, default=Path(__file__).parents[1] / "examples" / "abstracts.jsonl")
    args = parser.parse_args()
    print(f"{platform.machine()}, CPython {platform.python_version()}, numpy {np.__version__}\n")
    if args.trials:
        records = [record for family in args.only for record in measured(family, args.trials)]
        print(report(records, args.only))
    with args.text.open("rb") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    rows = []
    for family in args.only:
        megabytes, nanoseconds = speed(family, texts)
        rows.append([family, ends(family), f"{megabytes:.1f}", f"{nanoseconds:.0f}"])
    print(f"\nspeed, {len(texts):,} documents of {args.text.name}, char:9, 128 slots\n")
    print(table(["family", "one element: equal, unequal", "MB/s", "ns a shingle"], rows))


if __name__ == "__main__":
    main()
