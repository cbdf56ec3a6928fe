"""What an index keeps for the exact check: texts, or sorted sets of shingle hashes? Bytes a document, time a check.

    python benchmarks/peers_index/texts_or_sets.py FILE.jsonl FOLDER [--limit 200000] [--notes OUT.json]

Two SQLite tables of the same documents, read in random order in calls of 1, 10 and 100 candidates, all pages in memory.
Texts: fetched, normalised, cut, hashed, put into sets (the kernels of neardup). Sets: fetched as raw uint64,
which any shorter coding can only be slower than; the bytes of one are counted for Rice-coded differences, about the
shortest that sets of random numbers can be. Both then go through the same kernel of the exact check.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from gauge import Notes, in_batches, read_documents
from numpy.typing import NDArray

from neardup.kernels import verify
from neardup.params import Normalize, Shingle
from neardup.stages.shingle import Hasher, build_rows
from neardup.stages.text import normalize_documents
from neardup.types import Documents, PaddedSets

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
HASHER = Hasher(Shingle.parse("char:9"), 1)
NORMALIZE = Normalize.parse("nfc")


def sets_of(blobs: list[bytes]) -> PaddedSets:
    """Sets of texts in UTF-8."""
    documents = normalize_documents(Documents.from_bytes(blobs), NORMALIZE)
    counts = np.diff(documents.offsets)
    starts = np.zeros(len(blobs) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    sizes = np.zeros(len(blobs), dtype=np.int64)
    room = np.empty(int(starts[-1]), dtype=np.uint64)
    build_rows(documents, np.arange(len(blobs)), counts, HASHER, starts, sizes, room)
    return PaddedSets(starts, sizes, room)


def stored_sets(blobs: list[bytes]) -> PaddedSets:
    """Sets as they were stored."""
    sizes = np.array([len(blob) // 8 for blob in blobs], dtype=np.int64)
    starts = np.zeros(len(blobs), dtype=np.int64)
    np.cumsum(sizes[:-1], out=starts[1:])
    return PaddedSets(starts, sizes, np.frombuffer(b"".join(blobs), dtype=np.uint64))


def rice_bits(values: U64) -> int:
    """Bits of a sorted set as Rice-coded differences."""
    differences = np.diff(values, prepend=np.uint64(0))
    low = max(0, int(np.log2(float(differences.mean()) * 0.69 + 1)))
    return values.size * (low + 1) + int((differences >> np.uint64(low)).sum())


def make(source: Path, folder: Path, limit: int, notes: Notes) -> int:
    """Write both tables; returns the number of documents."""
    link = sqlite3.connect(folder / "texts_or_sets.sqlite")
    link.executescript(
        "create table texts (doc integer primary key, body blob);"
        "create table sets (doc integer primary key, body blob);"
    )
    first = bits = bytes_of_texts = bytes_of_sets = 0
    for _, texts in in_batches(read_documents(source, limit), 1000):
        blobs = [text.encode("utf-8") for text in texts]
        starts, sizes, hashes = sets_of(blobs)
        sets = [hashes[a : a + n] for a, n in zip(starts.tolist(), sizes.tolist(), strict=True)]
        link.executemany("insert into texts values (?, ?)", enumerate(blobs, first))
        link.executemany("insert into sets values (?, ?)", enumerate((one.tobytes() for one in sets), first))
        bits += sum(map(rice_bits, sets))
        bytes_of_texts += sum(map(len, blobs))
        bytes_of_sets += 8 * int(sizes.sum())
        first += len(texts)
    link.commit()
    link.close()
    notes.add(text_bytes=bytes_of_texts / first, raw_set_bytes=bytes_of_sets / first, rice_set_bytes=bits / 8 / first)
    return first


def time_checks(
    link: sqlite3.Connection, table: str, to_sets: Callable[[list[bytes]], PaddedSets], calls: list[list[int]]
) -> tuple[float, float]:
    """Microseconds a call, all of it and its fetching alone, median."""
    whole, fetching = [], []
    for candidates in calls:
        query = f"select body from {table} where doc in ({','.join('?' * len(candidates))})"
        started = time.perf_counter()
        blobs = [body for (body,) in link.execute(query, candidates)]
        fetched = time.perf_counter()
        sets = to_sets(blobs)
        left = np.zeros(len(blobs), dtype=np.int64)
        similarity = np.empty(len(blobs))
        verify.check_pairs(left, np.arange(len(blobs)), sets, sets, 0.8, False, similarity)
        whole.append(time.perf_counter() - started)
        fetching.append(fetched - started)
    return 1e6 * statistics.median(whole), 1e6 * statistics.median(fetching)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=200_000)
    parser.add_argument("--notes", type=Path, required=True)
    args = parser.parse_args()
    args.folder.mkdir(parents=True)
    notes = Notes(args.notes, program="texts or sets")
    number = make(args.file, args.folder, args.limit, notes)
    link = sqlite3.connect(args.folder / "texts_or_sets.sqlite")
    rng = np.random.default_rng(1)
    for size in (1, 10, 100):
        calls = rng.integers(0, number, size=(max(100, 10_000 // size), size)).tolist()
        for table, to_sets in (("texts", sets_of), ("sets", stored_sets)):
            time_checks(link, table, to_sets, calls)
            call, fetch = time_checks(link, table, to_sets, calls)
            notes.add(**{f"{table}_{size}": {"us_a_check": call / size, "fetch_us": fetch / size}})


if __name__ == "__main__":
    main()
