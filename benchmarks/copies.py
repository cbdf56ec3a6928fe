"""What it costs to be sure of exact copies: comparing texts, beside a keyed cryptographic print of every text.

    python benchmarks/copies.py DATA/paragraphs.jsonl [blake3]

Prints CPU nanoseconds a document and a byte of the whole collection, the least of five turns: the print that neardup
makes, comparing byte for byte what shares it (in memory and from a spool), and BLAKE2b (hashlib) or BLAKE3 (PyPI) of
every text. The last two are what would take the place of both.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from neardup.spool import MemoryTexts, Workdir
from neardup.stages.sketch import fingerprints
from neardup.types import Documents

BLOCK = 4096


def least(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of five turns."""
    found = []
    for _ in range(5):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def main(path: str, *names: str) -> None:
    with open(path, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    blocks = [Documents.from_texts(texts[i : i + BLOCK]) for i in range(0, len(texts), BLOCK)]
    size = sum(block.nbytes for block in blocks)
    prints = np.concatenate([fingerprints(block) for block in blocks])
    _, first, group = np.unique(prints, axis=0, return_index=True, return_inverse=True)
    of = first[group.ravel()]
    copies = np.flatnonzero(of != np.arange(of.size))
    copies = copies[np.argsort(of[copies], kind="stable")]
    print(f"{len(texts):,} documents, {size / 1e6:.0f} MB, {copies.size / len(texts):.0%} of them exact copies")
    resident = MemoryTexts()
    for block in blocks:
        resident.append(block)
    key = os.urandom(32)

    def blake2b() -> list[bytes]:
        return [hashlib.blake2b(b.blob(i), digest_size=16, key=key).digest() for b in blocks for i in range(len(b))]

    ways: dict[str, Callable[[], object]] = {
        "print": lambda: [fingerprints(block) for block in blocks],
        "compare, in memory": lambda: resident.same(of[copies], copies, 1 << 24),
        "blake2b": blake2b,
    }
    if "blake3" in names:
        from blake3 import blake3

        ways["blake3"] = lambda: [blake3(b.blob(i), key=key).digest(16) for b in blocks for i in range(len(b))]
    with tempfile.TemporaryDirectory() as folder:
        workdir = Workdir.create(Path(folder) / "work", {})
        spooled = workdir.texts("texts")
        for block in blocks:
            spooled.append(block)
        ways["compare, from a spool"] = lambda: spooled.same(of[copies], copies, 1 << 24)
        for name, work in ways.items():
            seconds = least(work)
            print(f"{name:22} {seconds / len(texts) * 1e9:8.0f} ns a document {seconds / size * 1e9:8.3f} ns a byte")
        workdir.remove()


if __name__ == "__main__":
    main(*sys.argv[1:])
