"""The plain design: signatures in an SQLite table with one row a band, beside a table of ids and texts; one thread.

    python benchmarks/peers_index/sqlite_index.py build FILE.jsonl FOLDER --questions Q.jsonl --notes OUT.json
        [--sorted] [--limit N] [--more MORE.jsonl]
    python benchmarks/peers_index/sqlite_index.py open FOLDER --questions Q.jsonl --notes OUT.json

Signatures are those of `neardup.sketch`, so that only what stores and finds them differs. Durable batches of a
thousand (WAL, synchronous=FULL), rows of a batch in the order of the key; 64 MB of page cache. `--sorted` is the
quickest load that SQLite has: all keys in memory, sorted once, written in order in one transaction. Candidates are
checked with Python sets of shingles of the stored texts.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from gauge import Notes, in_batches, memory, parted, read_documents, read_questions, recall, time_each
from numpy.typing import NDArray

import neardup

BANDS, ROWS = 21, 6
SHINGLE = 9
THRESHOLD = 0.8
SCHEMA = """
create table document (doc integer primary key, id text not null unique, text text not null);
create table posting (band integer, key integer, doc integer, primary key (band, key, doc)) without rowid;
"""
FIND = "select doc from posting where band = ? and key = ?"


def connect(folder: Path) -> sqlite3.Connection:
    """Open the database as the plain design has it."""
    link = sqlite3.connect(folder / "plain.sqlite", isolation_level=None)
    link.execute("pragma journal_mode = wal")
    link.execute("pragma synchronous = full")
    link.execute("pragma cache_size = -65536")
    return link


def keys_of(texts: list[str]) -> NDArray[np.int64]:
    """Key of every band of every text, int64[texts, bands]."""
    values = neardup.sketch(texts).signatures.values[:, : BANDS * ROWS].astype(np.uint64)
    values = values.reshape(len(texts), BANDS, ROWS)
    keys = np.zeros(values.shape[:2], dtype=np.uint64)
    for row in range(ROWS):
        keys = (keys ^ values[:, :, row]) * np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(29)
    return keys.view(np.int64)


def rows_of(keys: NDArray[np.int64], first: int) -> Iterable[tuple[int, int, int]]:
    """Rows of the posting table in the order of its key; documents are numbered from ``first``."""
    documents = np.arange(first, first + keys.shape[0])
    for band in range(BANDS):
        order = np.argsort(keys[:, band], kind="stable")
        yield from zip([band] * order.size, keys[order, band].tolist(), documents[order].tolist(), strict=True)


def shingles(text: str) -> set[str]:
    """The set of character 9-shingles, or the whole text when it is shorter."""
    return {text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)} or {text}


class Plain:
    """The index."""

    def __init__(self, folder: Path) -> None:
        self.link = connect(folder)
        self.next = 0
        self.sketching = 0.0

    def add(self, ids: list[str], texts: list[str]) -> None:
        """Add a durable batch."""
        started = time.perf_counter()
        keys = keys_of(texts)
        self.sketching += time.perf_counter() - started
        self.link.execute("begin immediate")
        numbered = zip(range(self.next, self.next + len(ids)), ids, texts, strict=True)
        self.link.executemany("insert into document values (?, ?, ?)", numbered)
        self.link.executemany("insert into posting values (?, ?, ?)", rows_of(keys, self.next))
        self.link.execute("commit")
        self.next += len(ids)

    def load_sorted(self, documents: Iterable[tuple[str, str]]) -> None:
        """Load everything in one transaction, postings in their order."""
        self.link.execute("begin immediate")
        held = []
        for ids, texts in in_batches(documents, 10_000):
            started = time.perf_counter()
            held.append(keys_of(texts))
            self.sketching += time.perf_counter() - started
            numbered = zip(range(self.next, self.next + len(ids)), ids, texts, strict=True)
            self.link.executemany("insert into document values (?, ?, ?)", numbered)
            self.next += len(ids)
        keys = np.concatenate(held)
        for band in range(BANDS):
            order = np.argsort(keys[:, band], kind="stable")
            rows = zip([band] * order.size, keys[order, band].tolist(), order.tolist(), strict=True)
            self.link.executemany("insert into posting values (?, ?, ?)", rows)
        self.link.execute("commit")
        self.link.execute("pragma wal_checkpoint(truncate)")

    def remove(self, ids: list[str]) -> None:
        """Remove a durable batch; the keys are made of the stored text again."""
        marks = ",".join("?" * len(ids))
        found = self.link.execute(f"select doc, text from document where id in ({marks})", ids).fetchall()
        keys = keys_of([text for _, text in found])
        self.link.execute("begin immediate")
        rows = (
            (band, key, doc) for (doc, _), row in zip(found, keys.tolist(), strict=True) for band, key in enumerate(row)
        )
        self.link.executemany("delete from posting where band = ? and key = ? and doc = ?", rows)
        self.link.executemany("delete from document where doc = ?", ((doc,) for doc, _ in found))
        self.link.execute("commit")

    def candidates(self, keys: list[int]) -> set[int]:
        """Documents that agree in a band."""
        found: set[int] = set()
        for band, key in enumerate(keys):
            found.update(doc for (doc,) in self.link.execute(FIND, (band, key)))
        return found

    def query(self, text: str) -> list[tuple[str, float]]:
        """Verified hits."""
        mine = shingles(text)
        hits = []
        for doc in self.candidates(keys_of([text])[0].tolist()):
            identifier, stored = self.link.execute("select id, text from document where doc = ?", (doc,)).fetchone()
            other = shingles(stored)
            similarity = len(mine & other) / len(mine | other)
            if similarity >= THRESHOLD:
                hits.append((identifier, similarity))
        return sorted(hits, key=lambda hit: -hit[1])


def ask(index: Plain, source: Path, notes: Notes) -> None:
    """Time questions, one by one."""
    questions = read_questions(source)
    some = questions[:2000]
    hits, answers = time_each(lambda question: index.query(question.text), some)
    ready = keys_of([question.text for question in some]).tolist()
    stored, candidates = time_each(index.candidates, ready)
    notes.add(query_hits=hits, query_keys=stored, candidates_a_question=sum(map(len, candidates)) / len(candidates))
    notes.add(recall=recall([{name for name, _ in found} for found in answers], some))
    started, cpu = time.perf_counter(), time.process_time()
    rest = questions[2000:] or questions
    for question in rest:
        index.query(question.text)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    many = len(rest)
    notes.add(one_by_one_texts_per_s=many / seconds, one_by_one_texts_per_cpu_s=many / cpu, after_questions=memory())


def change(index: Plain, more: Path, notes: Notes) -> None:
    """Add and remove batches of a thousand, and single documents."""
    adding, removing, ids_added = [], [], []
    documents = list(read_documents(more))
    many, few = parted(documents)
    for ids, texts in in_batches(many, 1000):
        started = time.perf_counter()
        index.add(ids, texts)
        adding.append(time.perf_counter() - started)
        ids_added.append(ids)
    for ids in ids_added[:5]:
        started = time.perf_counter()
        index.remove(ids)
        removing.append(time.perf_counter() - started)
    notes.add(adds_per_s=1000 * len(adding) / sum(adding), removes_per_s=1000 * len(removing) / sum(removing))
    started = time.perf_counter()
    for identifier, text in few:
        index.add([identifier], [text])
    notes.add(single_adds_per_s=len(few) / (time.perf_counter() - started))


def build(args: argparse.Namespace) -> None:
    """Build, ask, change."""
    args.folder.mkdir(parents=True)
    link = connect(args.folder)
    link.executescript(SCHEMA)
    link.close()
    keys_of(["kernels are loaded"])
    index = Plain(args.folder)
    name = "SQLite, sorted load" if args.sorted else "SQLite"
    notes = Notes(args.notes, program=name, before=memory(), load=os.getloadavg()[0])
    started, cpu = time.perf_counter(), time.process_time()
    documents: Any = read_documents(args.file, args.limit)
    if args.sorted:
        index.load_sorted(documents)
    else:
        for ids, texts in in_batches(documents, 1000):
            index.add(ids, texts)
            if index.next % 50_000 == 0:
                notes.add(documents=index.next, build_s=time.perf_counter() - started)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    notes.add(documents=index.next, build_s=seconds, build_cpu_s=cpu, sketch_s=index.sketching, after_build=memory())
    index.link.execute("pragma wal_checkpoint(truncate)")
    notes.add(file_bytes=(args.folder / "plain.sqlite").stat().st_size, load_after=os.getloadavg()[0])
    ask(index, args.questions, notes)
    if args.more:
        change(index, args.more, notes)


def reopen(args: argparse.Namespace) -> None:
    """Open in a fresh process and ask."""
    notes = Notes(args.notes, program="SQLite, opened", before=memory(), load=os.getloadavg()[0])
    text = read_questions(args.questions)[0].text
    started = time.perf_counter()
    index = Plain(args.folder)
    index.query(text)
    notes.add(first_answer_s=time.perf_counter() - started)
    ask(index, args.questions, notes)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "open"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--sorted", action="store_true")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--more", type=Path, default=None)
    args = parser.parse_args()
    args.file, args.folder = args.files[0], args.files[-1]
    {"build": build, "open": reopen}[args.what](args)


if __name__ == "__main__":
    main()
