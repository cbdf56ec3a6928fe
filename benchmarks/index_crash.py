"""kill -9 of a writer at random moments while readers read, death at every step of a change, and flipped bytes.

    python -m benchmarks.index_crash --work FOLDER [--kills 100] [--readers 2] [--most 60] [--flips 200] [--seed 1]

From the root of the repository: what is done and what must hold is what ``tests/index`` does and holds, with larger
numbers. Segments are made of a few documents (``tests.index.tiny``), so that kills fall into all that an index does.

- kills: a writer adds, replaces, removes, admits and compacts, batch by batch, and says the number of each batch that
  was acknowledged; it is killed after 0 to ``--most`` batches. Then the index is opened: it must hold exactly the
  acknowledged batches, or those and the one that was being written, whole; every query must answer so; ``verify`` must
  find nothing; no file may lie about. The next writer goes on from there. Meanwhile the readers ask all the time: each
  answer must be of one moment.
- steps: a change dies before its n-th call that touches a file or the database, for every n.
- flips: a bit or a byte of a closed index is changed; see the table for what became of it.

It ends with 1 at the first thing that does not hold.
"""

from __future__ import annotations

import argparse
import collections
import shutil
import statistics
from pathlib import Path

from tests.adversarial.command import LIMIT
from tests.index.crashing import Kill, kill_again_and_again, readers, start
from tests.index.damaging import check_flips_in_segments, check_flips_in_the_truth, make_index
from tests.index.test_crash import CHANGES
from tests.index.workload import OPTIONS

from neardup import Index


def fresh(folder: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def kills(work: Path, count: int, *, most: int, seed: int, many_readers: int) -> None:
    """Kill writers, and print what the kills left."""
    path = fresh(work / "kills") / "index"
    Index.create(path, **OPTIONS).close()
    done: list[Kill] = []
    with readers(path, many_readers) as asked:
        for kill in kill_again_and_again(path, count, seed=seed, most=most):
            done.append(kill)
            if len(done) % 10 == 0:
                print(f"{len(done)} kills", flush=True)
    print("\n| kills | batches acknowledged | lost | halves seen | unacknowledged but whole | documents at the end |")
    print("|" + "---|" * 6)
    print(
        f"| {len(done)} | {sum(kill.acknowledged for kill in done)} | 0 | 0 | {sum(kill.further for kill in done)} | "
        f"{done[-1].documents} |"
    )
    print("\n| | least | median | most |\n|---|---|---|---|")
    columns = {
        "batches before the kill": [float(kill.ran) for kill in done],
        "seconds to open again": [kill.reopened for kill in done],
        "bytes of log left": [float(kill.wal) for kill in done],
        "segments": [float(kill.segments) for kill in done],
        "segments made again": [float(kill.healed) for kill in done],
        "questions of a reader": [float(number) for number in asked],
    }
    for name, values in columns.items():
        print(f"| {name} | {min(values):.4g} | {statistics.median(values):.4g} | {max(values):.4g} |")


def steps(work: Path) -> None:
    """Die at every step of every change."""
    print("\n| change | steps at which it died | whole or never |\n|---|---|---|")
    for change in CHANGES:
        process = start("points", fresh(work / "steps"), change, 1, 1)
        out, err = process.communicate(timeout=20 * LIMIT)
        if process.returncode:
            raise SystemExit(f"{change}: {err}")
        died = out.split()[0]
        print(f"| {change} | {died} | {died} |", flush=True)


def flips(work: Path, count: int, seed: int) -> None:
    """Change bytes, and print what became of it."""
    path = fresh(work / "flips") / "index"
    whole = make_index(path)
    found: dict[str, collections.Counter[str]] = {
        "index.sqlite": collections.Counter(check_flips_in_the_truth(path, whole, count, seed=seed)),
        "segments": collections.Counter(check_flips_in_segments(path, whole, max(1, count // 20), seed=seed)),
    }
    names = ["named", "told", "healed", "same"]
    print("\n| file | flips | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 2))
    for file, counts in found.items():
        print(f"| {file} | {counts.total()} | " + " | ".join(str(counts[name]) for name in names) + " |")
    print(
        "\nnamed: an error names the file when it is met; told: verify names it, all answers were right; healed: "
        "answers right, file made again; same: a byte without a meaning, all answers right."
    )


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for indexes; emptied")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--most", type=int, default=60, help="batches before a kill, at most")
    parser.add_argument("--flips", type=int, default=200, help="about a third of the flips in the database")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.kills:
        kills(args.work, args.kills, most=args.most, seed=args.seed, many_readers=args.readers)
    steps(args.work)
    if args.flips:
        flips(args.work, args.flips, args.seed)


if __name__ == "__main__":
    main()
