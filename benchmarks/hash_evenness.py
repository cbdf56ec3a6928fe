"""How evenly three hashes spread the shingles of real texts over 256 bins: the hash of the search, and two poor ones.

    python benchmarks/hash_evenness.py examples/abstracts.jsonl [--shingle char:9] [--documents 2000]

``neardup figures --only hashes`` draws the leading bits; this prints the trailing ones too. χ² of the counts, divided
by the degrees of freedom, is 1 by chance with a standard error of √(2/255) = 0.089.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path, help="JSONL with a field text")
    parser.add_argument("--shingle", default="char:9")
    parser.add_argument("--documents", type=int, default=2000)
    args = parser.parse_args()
    from neardup.params import DEFAULT_SEED, Shingle
    from neardup.tasks.figures import trials

    trials.SHINGLES = 1 << 62
    texts = [json.loads(line)["text"] for line in args.input.read_text("utf-8").splitlines()[: args.documents]]
    shingle = Shingle.parse(args.shingle)
    words = trials.distinct_shingles(texts, shingle)
    print(f"{len(words):,} distinct shingles\n")
    print("| hash | leading 8 bits: χ²/df | trailing 8 bits: χ²/df |")
    print("|---|---:|---:|")
    for name, (hashes, bits) in trials.hash_families(words, shingle, DEFAULT_SEED).items():
        leading, trailing = (trials.evenness(hashes, shift)[1] for shift in (bits - 8, 0))
        print(f"| {name} | {leading:,.2f} | {trailing:,.2f} |")


if __name__ == "__main__":
    main()
