"""Near-duplicate pairs of a JSONL file with datasketch 2.0, as its documentation shows; one thread.

    python benchmarks/peers/datasketch_find.py --input FILE.jsonl --output PAIRS.csv --threshold 0.8

Sketches come from `MinHash.generator`, the documented way to make many (`bulk` is a list of it), and go
into `MinHashLSH(threshold, num_perm=128)`, whose bands the library chooses itself (9 bands of 13 at 0.8).
The hash is the default, SHA-1; the documentation says that another hash function is faster, so `--hash
xxh32` runs the same with xxhash. Every pair that the index returns is written with the sketch's estimate:
the documentation leaves filtering by it to the caller, and `compare.py` reports both.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from datasketch import MinHash, MinHashLSH

SHINGLE = 9


def read(source: Path, limit: int | None, names: list[str]) -> Iterator[str]:
    """Yield the texts and note their ids in ``names``, at most ``limit`` bytes of lines."""
    done = 0
    with source.open("rb") as lines:
        for line in lines:
            done += len(line)
            if limit is not None and done > limit:
                return
            fields = json.loads(line)
            names.append(fields["id"])
            yield fields["text"]


def shingles(text: str) -> set[bytes]:
    """Return the set of character 9-shingles in UTF-8, or the whole text when it is shorter."""
    return {text[i : i + SHINGLE].encode("utf-8") for i in range(len(text) - SHINGLE + 1)} or {text.encode("utf-8")}


def hash_function(name: str) -> Callable[[bytes], int] | None:
    """Return the hash function to give to MinHash; None is the library's default."""
    if name == "sha1":
        return None
    import xxhash

    digest: Callable[[bytes], int] = xxhash.xxh32_intdigest
    return digest


def find(source: Path, output: Path, threshold: float, limit: int | None, slots: int, hash_name: str) -> None:
    """Read, sketch, index, query and write the pairs."""
    started = time.perf_counter()
    names: list[str] = []
    sets = (shingles(text) for text in read(source, limit, names))
    sketches = list(MinHash.generator(sets, num_perm=slots, hashfunc=hash_function(hash_name)))
    sketched = time.perf_counter()
    index = MinHashLSH(threshold=threshold, num_perm=slots)
    for row, sketch in enumerate(sketches):
        index.insert(row, sketch)
    count = 0
    with output.open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(("id_a", "id_b", "similarity"))
        for left, sketch in enumerate(sketches):
            for right in index.query(sketch):
                if left < right:
                    writer.writerow((names[left], names[right], sketch.jaccard(sketches[right])))
                    count += 1
    ended = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"datasketch ({hash_name}, {index.b}x{index.r}): {len(names):,} documents, {count:,} pairs, "
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
    parser.add_argument("--hash", choices=("sha1", "xxh32"), default="sha1")
    args = parser.parse_args()
    find(args.input, args.output, args.threshold, args.limit_bytes, args.slots, args.hash)


if __name__ == "__main__":
    main()
