"""Near-duplicate pairs of a JSONL file with rensa 0.5, as its documentation shows; one thread.

    python benchmarks/peers/rensa_find.py --input FILE.jsonl --output PAIRS.csv --threshold 0.8

The full `RMinHash` (every token counts), not the rho pipeline, which samples token positions and loses most
pairs that differ by one inserted word. Two documented ways to make a sketch:

- default: one `RMinHash(...).update(tokens)` a document, the shingles as a list (RMinHash is idempotent, so
  repeats need not be removed). Measured to be the fastest, as the tokens of one document stay in the cache;
- `--batch N`: `RMinHash.from_token_sets` on N documents at a time, the README's call.

`--sets` builds Python sets of shingles in place of lists, as the definition of Jaccard similarity has it;
slower. The index takes all sketches with `insert_many` and is asked with `query_all`, the fastest calls
that give pairs rather than flags. `num_bands` is what the library's own deduplicator takes for a threshold
when it is not told (8 bands of 16 at 0.8; its benchmark takes the same).

Every pair that the index returns is written with the sketch's estimate: the deduplicator of the library drops
those under the threshold, which `compare.py` reports as a row of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # before the library starts its pool

from rensa import RMinHash, RMinHashLSH

SHINGLE = 9
SEED = 42
QUERIES = 1000
BANDS_OF_THRESHOLD = ((0.9, 4), (0.8, 8), (0.7, 16), (0.0, 32))
"""The table of the library's deduplicator: the first row whose threshold is reached."""


def read(source: Path, limit: int | None) -> Iterator[tuple[str, str]]:
    """Yield (id, text), at most ``limit`` bytes of lines."""
    done = 0
    with source.open("rb") as lines:
        for line in lines:
            done += len(line)
            if limit is not None and done > limit:
                return
            fields = json.loads(line)
            yield fields["id"], fields["text"]


def shingle_list(text: str) -> list[str]:
    """Return the character 9-shingles in order, or the whole text when it is shorter."""
    return [text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)] or [text]


def shingle_set(text: str) -> set[str]:
    """Return the distinct character 9-shingles, or the whole text when it is shorter."""
    return {text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)} or {text}


def make_sketches(documents: Iterator[tuple[str, str]], args: argparse.Namespace) -> tuple[list[str], list[RMinHash]]:
    """Return the ids and the sketches of all documents."""
    cut = shingle_set if args.sets else shingle_list
    names: list[str] = []
    sketches: list[RMinHash] = []
    if args.batch:
        while batch := list(islice(documents, args.batch)):
            names.extend(name for name, _ in batch)
            tokens = [cut(text) for _, text in batch]
            sketches.extend(RMinHash.from_token_sets(tokens, num_perm=args.slots, seed=SEED))
    else:
        for name, text in documents:
            sketch = RMinHash(num_perm=args.slots, seed=SEED)
            sketch.update(cut(text))
            names.append(name)
            sketches.append(sketch)
    return names, sketches


def write_pairs(index: RMinHashLSH, names: list[str], sketches: list[RMinHash], output: Path) -> int:
    """Ask the index for every document, write each pair once with its estimate, return how many."""
    count = 0
    with output.open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(("id_a", "id_b", "similarity"))
        for start in range(0, len(sketches), QUERIES):
            part = sketches[start : start + QUERIES]
            for left, partners in enumerate(index.query_all(part), start):
                for right in partners:
                    if left < right:
                        writer.writerow((names[left], names[right], sketches[left].jaccard(sketches[right])))
                        count += 1
    return count


def find(args: argparse.Namespace, bands: int) -> None:
    """Read, sketch, index, query and write the pairs."""
    started = time.perf_counter()
    names, sketches = make_sketches(read(args.input, args.limit_bytes), args)
    sketched = time.perf_counter()
    index = RMinHashLSH(threshold=args.threshold, num_perm=args.slots, num_bands=bands)
    index.insert_many(sketches)
    count = write_pairs(index, names, sketches, args.output)
    ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"rensa ({bands} bands): {len(names):,} documents, {count:,} pairs, "
        f"sketch {sketched - started:.1f} s, index+query+write {ended - sketched:.1f} s, peak {peak:.0f} MiB",
        file=sys.stderr,
    )


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--limit-bytes", type=int, default=None)
    parser.add_argument("--slots", type=int, default=128)
    parser.add_argument("--bands", type=int, default=None, help="default: the library's own table")
    parser.add_argument("--batch", type=int, default=0, help="documents per from_token_sets; 0: update() each")
    parser.add_argument("--sets", action="store_true", help="sets of shingles, not lists")
    args = parser.parse_args()
    bands = args.bands or next(b for t, b in BANDS_OF_THRESHOLD if args.threshold >= t)
    find(args, bands)


if __name__ == "__main__":
    main()
