"""Measure what neardup found or removed in a collection of planted.py: recall, precision, and who stands for whom.

    python benchmarks/planted_check.py FOLDER/planted_1000000.jsonl [-t 0.8] [--pairs PAIRS.parquet]
        [--removed REMOVED.jsonl] [--clean CLEAN.jsonl]

Recall is the share of planted pairs with J >= t that were reported (`--pairs`), or of which at least one
document was removed (`--removed`). A reported pair that was not planted is not wrong for that: its similarity
is computed here from the two texts, with sets of strings, and it is wrong if that is below t. The same holds
for each removed document and its keeper. Keepers must be kept, no reported pair may have both documents kept
(both files given), and the clean file must be the collection without the removed lines, byte for byte.

Tables may be Parquet, JSONL or CSV. Ends with 1 when anything is wrong, or recall is below `--recall`.
Needs pyarrow; shares nothing with neardup.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv, parquet
from pyarrow import json as arrow_json

from planted import gram_set

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
SHOWN = 5
"""Examples printed of each kind of fault."""


def read_table(path: Path) -> pa.Table:
    """Read a table by its suffix."""
    if path.suffix == ".parquet":
        return parquet.read_table(path)
    return csv.read_csv(path) if path.suffix == ".csv" else arrow_json.read_json(path)


def lines_of(column: pa.ChunkedArray) -> I64:
    """The line numbers that the ids of planted.py tell."""
    numbers = pc.cast(pc.utf8_slice_codeunits(column, 1), pa.int64())
    return np.asarray(numbers.to_numpy(), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of lines as sorted keys, smaller line first in the upper half, and their similarity."""

    keys: I64
    similarity: F64

    @classmethod
    def of(cls, left: I64, right: I64, similarity: F64) -> Pairs:
        """Order them."""
        keys = np.minimum(left, right) << 32 | np.maximum(left, right)
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], similarity[order])

    @classmethod
    def read(cls, path: Path, left: str = "id_a", right: str = "id_b") -> Pairs:
        """Read a table of pairs."""
        table = read_table(path)
        similarity = np.asarray(table["similarity"].to_numpy(), dtype=np.float64)
        return cls.of(lines_of(table[left]), lines_of(table[right]), similarity)

    def find(self, keys: I64) -> tuple[I64, NDArray[np.bool_]]:
        """Where each key is, and whether it is there."""
        at = np.minimum(np.searchsorted(self.keys, keys), max(self.keys.size - 1, 0))
        return at, (self.keys[at] == keys) if self.keys.size else np.zeros(keys.size, dtype=bool)

    def ends(self) -> tuple[I64, I64]:
        """The two lines of every pair."""
        return self.keys >> 32, self.keys & 0xFFFFFFFF


@dataclass(slots=True)
class Report:
    """What is printed, and whether anything was wrong."""

    wrong: bool = False

    def say(self, name: str, value: object) -> None:
        """A figure."""
        print(f"{name:<62} {value:,}" if isinstance(value, int) else f"{name:<62} {value}")

    def fault(self, name: str, examples: list[object], count: int) -> None:
        """A count that must be 0."""
        self.say(name, count)
        for one in examples[:SHOWN]:
            print(f"    {one}")
        self.wrong = self.wrong or count > 0


def exact(collection: Path, keys: I64) -> F64:
    """Compute the similarity of pairs of lines from their texts; one pass over the file."""
    ends = np.unique(np.concatenate([keys >> 32, keys & 0xFFFFFFFF]))
    wanted = set(ends.tolist())
    sets: dict[int, set[str]] = {}
    if wanted:
        with collection.open("rb") as lines:
            for number, line in enumerate(lines):
                if number in wanted:
                    sets[number] = gram_set(json.loads(line)["text"])
    found = []
    for key in keys.tolist():
        left, right = sets[key >> 32], sets[key & 0xFFFFFFFF]
        found.append(len(left & right) / len(left | right))
    return np.array(found, dtype=np.float64)


def check_similarities(what: str, pairs: Pairs, truth: Pairs, args: argparse.Namespace, report: Report) -> None:
    """Compare each pair's similarity with the exact one, planted or computed here."""
    at, planted = truth.find(pairs.keys)
    real = np.zeros(pairs.keys.size, dtype=np.float64)
    real[planted] = truth.similarity[at[planted]] if truth.keys.size else 0.0
    real[~planted] = exact(args.collection, pairs.keys[~planted])
    report.say(f"{what}: number", int(pairs.keys.size))
    report.say(f"{what}: of them not planted (computed here)", int((~planted).sum()))
    low = np.flatnonzero(real < args.threshold)
    ends = [(int(key >> 32), int(key & 0xFFFFFFFF)) for key in pairs.keys[low[:SHOWN]]]
    report.fault(f"{what}: exact similarity below {args.threshold}", list(ends), low.size)
    report.say(f"{what}: precision", f"{1 - low.size / max(1, pairs.keys.size):.6f}")
    error = float(np.abs(real - pairs.similarity).max(initial=0.0))
    report.say(f"{what}: largest error of a reported similarity", f"{error:.1e}")
    report.fault(f"{what}: similarities off by more than 1e-6", [], int((np.abs(real - pairs.similarity) > 1e-6).sum()))
    repeated = int((np.diff(pairs.keys) == 0).sum())
    report.fault(f"{what}: listed twice", [], repeated)


def say_recall(what: str, truth: Pairs, hit: NDArray[np.bool_], args: argparse.Namespace, report: Report) -> None:
    """Recall of all planted pairs at or above t, and in slices of 0.05."""
    t = args.threshold
    due = truth.similarity >= t
    recall = float(hit[due].mean()) if due.any() else 1.0
    report.say(f"{what}: planted pairs with J >= {t}", int(due.sum()))
    report.say(f"{what}: recall", f"{recall:.6f}")
    for low in np.arange(t, 1.0, 0.05):
        inside = (truth.similarity >= low - 1e-9) & (truth.similarity < low + 0.05 - 1e-9) & due
        if inside.any():
            shown = f"{float(hit[inside].mean()):.6f} of {int(inside.sum()):,}"
            report.say(f"{what}: recall, {low:.2f} <= J < {low + 0.05:.2f}", shown)
    report.wrong = report.wrong or recall < args.recall


def check_removed(
    removed: Path, truth: Pairs, count: int, args: argparse.Namespace, report: Report
) -> NDArray[np.bool_]:
    """Check the removal table, return which lines it removes."""
    table = read_table(removed)
    gone_lines, keepers = lines_of(table["id"]), lines_of(table["keeper"])
    gone = np.zeros(count, dtype=bool)
    gone[gone_lines] = True
    report.fault("removed: named twice", [], gone_lines.size - int(gone.sum()))
    orphans = np.flatnonzero(gone[keepers])
    report.fault("removed: their keeper is removed too", gone_lines[orphans[:SHOWN]].tolist(), orphans.size)
    similarity = np.asarray(table["similarity"].to_numpy(), dtype=np.float64)
    check_similarities("removed", Pairs.of(gone_lines, keepers, similarity), truth, args, report)
    left, right = truth.ends()
    say_recall("removed", truth, gone[left] | gone[right], args, report)
    return gone


def check_clean(gone: NDArray[np.bool_], args: argparse.Namespace, report: Report) -> None:
    """Compare the clean file with the lines that were not removed."""
    different = extra = 0
    with args.collection.open("rb") as lines, args.clean.open("rb") as kept:
        for removed, line in zip(gone.tolist(), lines, strict=True):
            if not removed:
                different += next(kept, b"") != line
        extra = sum(1 for _ in kept)
    report.fault("clean file: lines that differ from the lines kept", [], different)
    report.fault("clean file: lines too many", [], extra)


def main() -> None:
    """Parse the command line, check, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--truth", type=Path, default=None, help="default: beside the collection")
    parser.add_argument("--pairs", type=Path, default=None)
    parser.add_argument("--removed", type=Path, default=None)
    parser.add_argument("--clean", type=Path, default=None, help="needs --removed")
    parser.add_argument("-t", "--threshold", type=float, default=0.8)
    parser.add_argument("--recall", type=float, default=0.99, help="least recall that is right")
    args = parser.parse_args()
    report = Report()
    truth = Pairs.read(args.truth or args.collection.with_suffix(".truth.csv"))
    count = int(json.loads(args.collection.with_suffix(".json").read_text(encoding="utf-8"))["documents"])
    report.say("documents", count)
    pairs = None
    if args.pairs:
        pairs = Pairs.read(args.pairs)
        check_similarities("pairs", pairs, truth, args, report)
        say_recall("pairs", truth, pairs.find(truth.keys)[1], args, report)
    if args.removed:
        gone = check_removed(args.removed, truth, count, args, report)
        if pairs:
            left, right = pairs.ends()
            report.fault("pairs of which both documents were kept", [], int((~gone[left] & ~gone[right]).sum()))
        if args.clean:
            check_clean(gone, args, report)
    print("WRONG" if report.wrong else "right")
    sys.exit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()
