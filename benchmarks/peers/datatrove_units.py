"""A JSONL file without its repeated lines or sentences, with the sentence deduplication of datatrove 0.10; one process.

    python benchmarks/peers/datatrove_units.py --input FILE.jsonl --output OUT.jsonl --work FOLDER --unit line --span 1

The three stages of the library's `examples/sentence_deduplication.py` with the local executor and one worker: hashes
(64 bits, xxhash) of every run of `--span` units, equal hashes, removal. No text is compared. Its defaults drop
documents that end with fewer than 50 words or 3 sentences, and skip those of fewer units than the span; the first is
turned off here, for the comparison's sake. Numbers and diacritics are left as they are; lower case and punctuation to
spaces stay. Sentences are those of spaCy's English sentencizer.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.dedup import (
    SentDedupConfig,
    SentenceDedupFilter,
    SentenceDedupSignature,
    SentenceFindDedups,
)
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.logging import logger
from datatrove.utils.text import TextNormConfig


def main() -> None:
    """Run the three stages and move the result to its place."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--unit", choices=["line", "sentence"], required=True)
    parser.add_argument("--span", type=int, required=True)
    given = parser.parse_args()
    shutil.rmtree(given.work, ignore_errors=True)
    given.work.mkdir(parents=True)
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    config = SentDedupConfig(
        n_sentences=given.span,
        split_sentences=given.unit == "sentence",
        only_dedup_in_index=False,
        min_doc_words=0,
        min_num_sentences=0,
        norm_config=TextNormConfig(norm_numbers=False, norm_unicode_diacritics=False),
    )
    hashes, found, clean, logs = (str(given.work / name) for name in ("hashes", "found", "clean", "logs"))
    reader = JsonlReader(str(given.input.parent), glob_pattern=given.input.name, add_file_path=False)
    stages: list[list[PipelineStep]] = [
        [reader, SentenceDedupSignature(hashes, config=config)],
        [SentenceFindDedups(hashes, found, config=config)],
        [reader, SentenceDedupFilter(found, config=config), JsonlWriter(clean, compression=None)],
    ]
    for number, steps in enumerate(stages):
        LocalPipelineExecutor(pipeline=steps, tasks=1, workers=1, logging_dir=f"{logs}/{number}").run()
    (written,) = Path(clean).glob("*.jsonl")
    written.replace(given.output)


if __name__ == "__main__":
    main()
