"""All pairs of a collection with Jaccard >= t, none missed, with SetSimilaritySearch 1.0; one thread.

    python benchmarks/peers/setsimilaritysearch_join.py --input FILE --output PAIRS.csv --threshold 0.8

The library's one call for this: `all_pairs(sets, "jaccard", t)`, the All-Pairs algorithm of Bayardo and others with a
position filter. FILE is JSONL with id and text, or with `--shingle item` a text file (plain or .gz) with a set of
items a line, named FILE:LINE as neardup does. Texts are put into NFC; a text shorter than K is its own single
shingle; empty ones are in no pair.

It gets its best chance: shingles are numbered before the call (a dictionary over the collection; the library counts,
sorts and compares whatever it is given, and does so faster with integers), sets are lists of distinct integers, the
dictionary is thrown away before the call, and the garbage collector is off. `--tokens strings` gives it Python sets
of strings instead, as its documentation does. The seconds and CPU seconds of reading with numbering, of the call, and
of writing are printed on stdout as JSON.
"""

from __future__ import annotations

import argparse
import csv
import gc
import gzip
import json
import resource
import time
import unicodedata
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from SetSimilaritySearch import all_pairs


def opened(source: Path) -> IO[str]:
    """Open a text file, plain or gzip."""
    if source.suffix == ".gz":
        return gzip.open(source, "rt", encoding="utf-8")
    return source.open(encoding="utf-8")


def baskets(source: Path) -> Iterator[tuple[str, set[str]]]:
    """Yield (FILE:LINE, items) of every line that is not blank."""
    with opened(source) as lines:
        for number, line in enumerate(lines, 1):
            if items := line.split():
                yield f"{source}:{number}", set(items)


def texts(source: Path, k: int) -> Iterator[tuple[str, set[str]]]:
    """Yield (id, set of character k-shingles of the text in NFC); an empty text has none."""
    with opened(source) as lines:
        for line in lines:
            fields = json.loads(line)
            text = unicodedata.normalize("NFC", fields["text"])
            whole = {text} if text else set()
            yield fields["id"], {text[i : i + k] for i in range(len(text) - k + 1)} or whole


def load(args: argparse.Namespace) -> tuple[list[str], list[Collection[str] | Collection[int]]]:
    """Return the ids and the sets, whose shingles are numbered unless strings are wanted."""
    unit, _, k = args.shingle.partition(":")
    documents = baskets(args.input) if unit == "item" else texts(args.input, int(k))
    names: list[str] = []
    sets: list[Collection[str] | Collection[int]] = []
    numbers: dict[str, int] = {}
    for name, found in documents:
        names.append(name)
        if args.tokens == "strings":
            sets.append(found)
        else:
            sets.append([numbers.setdefault(shingle, len(numbers)) for shingle in found])
    return names, sets


def join(args: argparse.Namespace) -> dict[str, float]:
    """Read, find all pairs, write them; return what it took."""
    clocks = [(time.perf_counter(), time.process_time())]
    names, sets = load(args)
    clocks.append((time.perf_counter(), time.process_time()))
    found = list(all_pairs(sets, similarity_func_name="jaccard", similarity_threshold=args.threshold))
    clocks.append((time.perf_counter(), time.process_time()))
    with args.output.open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(("id_a", "id_b", "similarity"))
        writer.writerows((names[b], names[a], repr(float(similarity))) for a, b, similarity in found)
    clocks.append((time.perf_counter(), time.process_time()))
    took: dict[str, float] = {"documents": len(names), "pairs": len(found)}
    for step, before, after in zip(("read", "join", "write"), clocks, clocks[1:], strict=False):
        took[step] = after[0] - before[0]
        took[f"{step}_cpu"] = after[1] - before[1]
    took["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return took


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--shingle", default="char:9", help="char:K, or item: a set of items a line")
    parser.add_argument("--tokens", choices=("ints", "strings"), default="ints", help="what the sets are made of")
    args = parser.parse_args()
    gc.disable()
    print(json.dumps(join(args)))


if __name__ == "__main__":
    main()
