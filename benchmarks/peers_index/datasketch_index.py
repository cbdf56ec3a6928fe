"""datasketch's MinHashLSH in memory over a JSONL file: built, asked, changed, pickled and loaded again; one thread.

    python benchmarks/peers_index/datasketch_index.py build FILE.jsonl --questions Q.jsonl --notes OUT.json
        [--bands 21x6] [--limit N] [--pickle FILE.pickle] [--more MORE.jsonl]
    python benchmarks/peers_index/datasketch_index.py load FILE.pickle --questions Q.jsonl --notes OUT.json

Its best chance within what it documents: `MinHash.generator` (what `bulk` is a list of), xxhash in place of SHA-1, no
check for repeated keys, the garbage collector off while it builds. Sketches are dropped once they are inserted, as the
index does not need them: it keeps band keys and ids, no texts and no signatures, and its answers are candidates.
Without --bands the library chooses its bands for t = 0.8. Address space is limited to --most GB, so that it fails with
MemoryError and not with the machine.
"""

from __future__ import annotations

import argparse
import gc
import os
import pickle
import resource
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import xxhash
from datasketch import MinHash, MinHashLSH
from gauge import Notes, in_batches, memory, parted, read_documents, read_questions, recall, time_each

SHINGLE = 9
SLOTS = 128


def shingles(text: str) -> set[bytes]:
    """The set of character 9-shingles in UTF-8, or the whole text when it is shorter."""
    data = text.encode("utf-8")
    if len(data) == len(text):
        return {data[i : i + SHINGLE] for i in range(len(data) - SHINGLE + 1)} or {data}
    return {text[i : i + SHINGLE].encode("utf-8") for i in range(len(text) - SHINGLE + 1)} or {data}


def sketches(texts: Iterable[str]) -> Iterator[MinHash]:
    """Sketch texts one by one."""
    return MinHash.generator(map(shingles, texts), num_perm=SLOTS, hashfunc=xxhash.xxh32_intdigest)


def sketch_of(text: str) -> MinHash:
    """Sketch one text; the permutations are those of all others."""
    sketch = BLANK.copy()
    sketch.update_batch(shingles(text))
    return sketch


BLANK = MinHash(num_perm=SLOTS, hashfunc=xxhash.xxh32_intdigest)


def fill(index: MinHashLSH, documents: Iterable[tuple[str, str]]) -> tuple[int, float, float]:
    """Insert documents; their number, and the seconds of sketches and of inserts."""
    number, sketching, inserting = 0, 0.0, 0.0
    for ids, texts in in_batches(documents, 1000):
        started = time.perf_counter()
        made = list(sketches(texts))
        sketched = time.perf_counter()
        for identifier, sketch in zip(ids, made, strict=True):
            index.insert(identifier, sketch, check_duplication=False)
        inserting += time.perf_counter() - sketched
        sketching += sketched - started
        number += len(ids)
        if number % 100_000 == 0:
            print(f"{number:,}: {sketching:.1f} s sketches, {inserting:.1f} s inserts", flush=True)
    return number, sketching, inserting


def ask(index: MinHashLSH, source: Path, notes: Notes) -> None:
    """Time questions, one by one: from the text, and from a ready sketch."""
    questions = read_questions(source)
    some = questions[:2000]
    from_text, answers = time_each(lambda question: index.query(sketch_of(question.text)), some)
    ready = [sketch_of(question.text) for question in some]
    from_sketch, _ = time_each(index.query, ready)
    notes.add(query_text=from_text, query_sketch=from_sketch, recall=recall(answers, some))
    notes.add(candidates_a_question=sum(map(len, answers)) / len(answers))
    started, cpu = time.perf_counter(), time.process_time()
    for sketch in sketches(question.text for question in questions):
        index.query(sketch)
    notes.add(batch_texts_per_s=len(questions) / (time.perf_counter() - started))
    notes.add(batch_texts_per_cpu_s=len(questions) / (time.process_time() - cpu))
    notes.add(after_questions=memory())


def change(index: MinHashLSH, more: Path, notes: Notes) -> None:
    """Add and remove batches of a thousand."""
    adding, removing, ids_added = [], [], []
    for ids, texts in in_batches(parted(list(read_documents(more)))[0], 1000):
        started = time.perf_counter()
        for identifier, sketch in zip(ids, sketches(texts), strict=True):
            index.insert(identifier, sketch)
        adding.append(time.perf_counter() - started)
        ids_added.append(ids)
    for ids in ids_added:
        started = time.perf_counter()
        for identifier in ids:
            index.remove(identifier)
        removing.append(time.perf_counter() - started)
    notes.add(adds_per_s=1000 * len(adding) / sum(adding), removes_per_s=1000 * len(removing) / sum(removing))


def build(args: argparse.Namespace) -> None:
    """Build, ask, change, pickle."""
    bands = tuple(map(int, args.bands.split("x"))) if args.bands else None
    index = MinHashLSH(threshold=0.8, num_perm=SLOTS, params=bands)
    notes = Notes(
        args.notes, program="datasketch", bands=f"{index.b}x{index.r}", before=memory(), load=os.getloadavg()[0]
    )
    gc.disable()
    started, cpu = time.perf_counter(), time.process_time()
    number, sketching, inserting = fill(index, read_documents(args.file, args.limit))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    notes.add(documents=number, build_s=seconds, build_cpu_s=cpu, sketch_s=sketching, insert_s=inserting)
    gc.freeze()
    gc.enable()
    notes.add(after_build=memory(), load_after=os.getloadavg()[0])
    ask(index, args.questions, notes)
    if args.more:
        change(index, args.more, notes)
    if args.pickle:
        started = time.perf_counter()
        with args.pickle.open("wb") as sink:
            pickle.dump(index, sink, protocol=pickle.HIGHEST_PROTOCOL)
            sink.flush()
            os.fsync(sink.fileno())
        notes.add(
            pickle_s=time.perf_counter() - started, pickle_bytes=args.pickle.stat().st_size, after_pickle=memory()
        )


def load(args: argparse.Namespace) -> None:
    """Load the pickle and ask."""
    notes = Notes(args.notes, program="datasketch pickle", before=memory(), load=os.getloadavg()[0])
    gc.disable()
    started = time.perf_counter()
    with args.file.open("rb") as source:
        index = pickle.load(source)
    loaded = time.perf_counter()
    index.query(sketch_of(read_questions(args.questions)[0].text))
    notes.add(load_s=loaded - started, first_answer_s=time.perf_counter() - started)
    gc.freeze()
    notes.add(after_load=memory())
    ask(index, args.questions, notes)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "load"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--bands", default=None, help="such as 21x6; without it the library's own choice")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--pickle", type=Path, default=None)
    parser.add_argument("--more", type=Path, default=None)
    parser.add_argument("--most", type=float, default=15.0, help="GB of address space")
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (int(args.most * 1e9),) * 2)
    {"build": build, "load": load}[args.what](args)


if __name__ == "__main__":
    main()
