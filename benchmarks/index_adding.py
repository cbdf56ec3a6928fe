"""What a document costs that is added to an index: alone, in a batch of one at a time, and among many at once.

    python benchmarks/index_adding.py FILE.jsonl [--work FOLDER] [--documents N] [--rounds N]

Documents are the texts of FILE (fields id and text), their numbers the ids. Each round makes an index in memory and one
in FOLDER, gives both the same start, and adds other documents of like number by `add` of all at once, by `add` in
`batch`, and one by one by `add`; all in one process, so that load of the machine meets all alike. Printed are medians
over the rounds, of the single adds the median and the 90th percentile of all calls, in microseconds a document, and
beside the index on disk what the disk takes to make 4 kB durable, which is the floor of a call that is durable.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from itertools import islice
from pathlib import Path

import neardup


def sync_seconds(folder: Path) -> float:
    """Median time of a write of 4 kB and its fsync."""
    taken = []
    with open(folder / "sync", "wb", buffering=0) as file:
        for _ in range(50):
            begin = time.perf_counter()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def one_round(path: Path | None, texts: list[str], singles: int) -> tuple[float, float, list[float]]:
    """Seconds a document of many at once, of a batch, and of each single add."""
    part = len(texts) // 3
    with neardup.Index.create(path, threshold=0.7) as index:
        index.add(range(part), texts[:part])  # a start of some size
        begin = time.perf_counter()
        index.add(range(part, 2 * part), texts[part : 2 * part])
        many = (time.perf_counter() - begin) / part
        begin = time.perf_counter()
        with index.batch() as batch:
            for number in range(2 * part, 3 * part):
                batch.add(number, texts[number])
        batched = (time.perf_counter() - begin) / part
        alone = []
        for number in range(singles):
            begin = time.perf_counter()
            index.add(f"single {number}", texts[number])
            alone.append(time.perf_counter() - begin)
        assert len(index) == 3 * part + singles
    return many, batched, alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--documents", type=int, default=9000)
    parser.add_argument("--singles", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with open(args.file, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in islice(lines, args.documents)]
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        one_round(None, texts[:300], 30)  # compiles, if need be
        sync = sync_seconds(Path(work))
        for name in ("memory", "disk"):
            rounds = [
                one_round(None if name == "memory" else Path(work) / f"{number}.index", texts, args.singles)
                for number in range(args.rounds)
            ]
            many, batched = (1e6 * statistics.median(each[at] for each in rounds) for at in (0, 1))
            alone = sorted(1e6 * one for *_, each in rounds for one in each)
            middle, high = alone[len(alone) // 2], alone[len(alone) * 9 // 10]
            floor = f"; an fsync {1e6 * sync:.0f}" if name == "disk" else ""
            print(
                f"{name}: many at once {many:.1f} us a document, in a batch {batched:.1f} ({batched / many:.1f} x),"
                f" alone {middle:.0f} ({middle / many:.0f} x; 90th percentile {high:.0f}){floor}"
            )


if __name__ == "__main__":
    main()
