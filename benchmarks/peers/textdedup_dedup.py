"""A JSONL file without its near-duplicates, with text-dedup 0.4 as its documentation shows; one process.

    python benchmarks/peers/textdedup_dedup.py --input FILE.jsonl --output CLEAN.jsonl --work FOLDER

Runs the library's own program (`python -m text_dedup.minhash`) and writes the data set that it saves as
JSONL, which it does not do itself: one call of `datasets`, a few per cent of the time. The hash is xxh3, "faster"
by its help than the default, SHA-1; `--hash-bits 32` takes an eighth less time than its default of 64, and joins more
documents that are not alike. Its cache is put under --work and is empty at the start: a second run would
otherwise find the sketches of the first.

What it does, from its source: lower case, split at every single character that is no `\\w` (so that ", "
leaves an empty word between two others), runs of `--ngram` words; bands that it chooses itself for the
threshold (`optimal_param`, where false positives and false negatives weigh the same), or `--bands` and
`--rows`; every two documents that share a band are joined, none is checked, and of each component of the
joined the first document is kept. Documents with fewer than `--min-length` words are dropped by default: one
here, so that none is.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path


def dedup(args: argparse.Namespace) -> None:
    """Run the library's command in this process, then write what it saved as JSONL."""
    shutil.rmtree(args.work, ignore_errors=True)
    args.work.mkdir(parents=True)
    os.environ["HF_HOME"] = str(args.work / "home")
    os.environ["HF_DATASETS_CACHE"] = str(args.work / "cache")
    os.environ["HF_HUB_OFFLINE"] = "1"  # set before the library is imported; nothing is on a hub
    import datasets
    from text_dedup import minhash

    saved = args.work / "saved"
    files = ["--path", "json", "--data_files", str(args.input), "--split", "train", "--output", str(saved)]
    flags = ["--cache_dir", str(args.work / "cache"), "--column", "text", "--num_proc", "1", "--hash_func", "xxh3"]
    flags += ["--ngram", str(args.ngram), "--min_length", str(args.min_length)]
    flags += ["--hash_bits", str(args.hash_bits), "--threshold", str(args.threshold), "--num_perm", str(args.slots)]
    if args.bands:
        flags += ["--b", str(args.bands), "--r", str(args.rows)]
    started = time.perf_counter()
    minhash.main.main([*files, *flags], standalone_mode=False)
    found = time.perf_counter()
    kept = datasets.load_from_disk(str(saved))
    kept.to_json(str(args.output), lines=True, force_ascii=False)
    ended = time.perf_counter()
    print(
        f"text-dedup: {len(kept):,} documents kept, {found - started:.1f} s, writing JSONL {ended - found:.1f} s",
        file=sys.stderr,
    )


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for its cache; emptied first")
    parser.add_argument("--threshold", type=float, default=0.8)
    parser.add_argument("--ngram", type=int, default=5)
    parser.add_argument("--min-length", type=int, default=1)
    parser.add_argument("--slots", type=int, default=250, help="its default")
    parser.add_argument("--hash-bits", type=int, choices=(32, 64), default=64)
    parser.add_argument("--bands", type=int, default=None, help="default: its own choice")
    parser.add_argument("--rows", type=int, default=None)
    dedup(parser.parse_args())


if __name__ == "__main__":
    main()
