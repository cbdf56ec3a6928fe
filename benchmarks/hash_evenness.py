"""How evenly three hashes spread the shingles of real texts over 256 bins: that of the search, and two poor ones.

    python benchmarks/hash_evenness.py examples/abstracts.jsonl [--shingle char:9] [--documents 2000]

The poor ones are what small programs take: djb2a (D. Bernstein) cut to 16 bits, and one multiplication, whose trailing
bits know only the last letters. A χ² of the counts against even ones, by degrees of freedom, is 1 by chance with a
standard error of √(2/255) = 0.089. Bins are named by the leading or by the trailing 8 bits of a hash.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

BINS = 256
FACTOR = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio (Knuth, The Art of Computer Programming, 6.4)."""


def djb2a(word: bytes) -> int:
    """h = 5381, then h = 33 h XOR byte for each byte, modulo 2**32; b"he" gives 5861128."""
    state = 5381
    for byte in word:
        state = (33 * state ^ byte) % 2**32
    return state


def ratio(hashes: np.ndarray, shift: int) -> float:
    """χ² by degrees of freedom of hashes in the bins that 8 bits from ``shift`` on name."""
    counts = np.bincount(((hashes >> np.uint64(shift)) & np.uint64(BINS - 1)).astype(np.int64), minlength=BINS)
    even = counts.sum() / BINS
    return float(((counts - even) ** 2 / even).sum() / (BINS - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path, help="JSONL with a field text")
    parser.add_argument("--shingle", default="char:9")
    parser.add_argument("--documents", type=int, default=2000)
    args = parser.parse_args()
    import neardup

    texts = [json.loads(line)["text"] for line in args.input.read_text("utf-8").splitlines()[: args.documents]]
    words = sorted({each.encode() for text in texts for each in neardup.shingle(text, args.shingle)})
    families = [
        ("the search's", search_hashes(words, args.shingle), 64),
        ("djb2a mod 2^16", np.array([djb2a(word) & 0xFFFF for word in words], dtype=np.uint64), 16),
        ("a·x mod 2^64", np.array([int.from_bytes(w[-8:], "big") * FACTOR % 2**64 for w in words], np.uint64), 64),
    ]
    print(f"{len(words):,} distinct shingles\n")
    print("| hash | leading 8 bits: χ²/df | trailing 8 bits: χ²/df |")
    print("|---|---:|---:|")
    for name, hashes, bits in families:
        print(f"| {name} | {ratio(hashes, bits - 8):,.2f} | {ratio(hashes, 0):,.2f} |")


def search_hashes(words: list[bytes], shingle: str) -> np.ndarray:
    """uint64[m]: the hash of each shingle, with the default seed."""
    from neardup.params import DEFAULT_SEED, Shingle
    from neardup.stages.shingle import Hasher, build_sets
    from neardup.types import Documents

    hasher = Hasher(Shingle.parse(shingle), DEFAULT_SEED)
    return build_sets(Documents.from_bytes(words), hasher, np.ones(len(words), dtype=np.int64)).hashes


if __name__ == "__main__":
    main()
