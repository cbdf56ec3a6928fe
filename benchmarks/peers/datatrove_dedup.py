"""A JSONL file without its near-duplicates, with the MinHash pipeline of datatrove 0.10; one process.

    python benchmarks/peers/datatrove_dedup.py --input FILE.jsonl --output CLEAN.jsonl --work FOLDER

The four stages of the library's `examples/minhash_deduplication.py` with the local executor, one worker and
one task (the second stage has one task a band, as it must), its defaults for the hash (64 bits, xxhash) and
for the words (spaCy's English tokenizer, which is most of its time). Numbers and diacritics are left as they
are, for the comparison's sake (by default every number becomes 0); lower case and punctuation to spaces stay.

What it does, from its source: runs of `--ngram` words; 14 bands of 8 by default, whatever the threshold
(0.5 at similarity 0.72, 0.92 at 0.8), or `--bands` and `--rows`; documents that share a band are joined, none
is checked, and one document of each component is kept. A document of fewer than `--ngram` words has no
shingle and is always kept.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.dedup import MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig, MinhashDedupBuckets
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.logging import logger
from datatrove.utils.text import TextNormConfig


def reader(source: Path) -> JsonlReader:
    """The reader of the one input file."""
    return JsonlReader(str(source.parent), glob_pattern=source.name, add_file_path=False)


def run_stage(steps: list[PipelineStep], logs: Path, tasks: int = 1) -> float:
    """Run one stage, return its seconds."""
    started = time.perf_counter()
    LocalPipelineExecutor(pipeline=steps, tasks=tasks, workers=1, logging_dir=str(logs)).run()
    return time.perf_counter() - started


def dedup(args: argparse.Namespace) -> None:
    """Run the four stages and move the result to its place."""
    shutil.rmtree(args.work, ignore_errors=True)
    args.work.mkdir(parents=True)
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    plain = TextNormConfig(norm_numbers=False, norm_unicode_diacritics=False)
    config = MinhashConfig(n_grams=args.ngram, num_buckets=args.bands, hashes_per_bucket=args.rows, norm_config=plain)
    sketches, matches, remove, clean, logs = (
        args.work / name for name in ("signatures", "buckets", "remove", "clean", "logs")
    )
    seconds = [
        run_stage([reader(args.input), MinhashDedupSignature(str(sketches), config=config)], logs / "1"),
        run_stage([MinhashDedupBuckets(str(sketches), str(matches), config=config)], logs / "2", args.bands),
        run_stage([MinhashDedupCluster(str(matches), str(remove), config=config)], logs / "3"),
        run_stage(
            [reader(args.input), MinhashDedupFilter(str(remove)), JsonlWriter(str(clean), compression=None)],
            logs / "4",
        ),
    ]
    shutil.move(next(clean.glob("*.jsonl")), args.output)
    print("datatrove: seconds of the stages " + ", ".join(f"{one:.1f}" for one in seconds), file=sys.stderr)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder for its files; emptied first")
    parser.add_argument("--ngram", type=int, default=5)
    parser.add_argument("--bands", type=int, default=14, help="its default")
    parser.add_argument("--rows", type=int, default=8, help="its default")
    dedup(parser.parse_args())


if __name__ == "__main__":
    main()
