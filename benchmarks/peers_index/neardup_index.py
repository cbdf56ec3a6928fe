"""neardup.Index over a JSONL file: built, opened, asked, changed, compacted, healed; what `index_compare.py` runs.

    python benchmarks/peers_index/neardup_index.py build FILE.jsonl FOLDER --notes OUT.json [--threads N]
    python benchmarks/peers_index/neardup_index.py batches FILE.jsonl FOLDER --notes OUT.json
    python benchmarks/peers_index/neardup_index.py ask FOLDER --questions Q.jsonl --notes OUT.json
    python benchmarks/peers_index/neardup_index.py change FOLDER --more MORE.jsonl --questions Q.jsonl --notes OUT.json
    python benchmarks/peers_index/neardup_index.py heal FOLDER --questions Q.jsonl --notes OUT.json

Each is a process of its own. `ask` opens for reading only; its first figure counts from the call of `Index.open` to
the first answer, libraries loaded but kernels and files not. Every hit is held against a similarity that is computed
here from the two texts with Python sets.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
import unicodedata
from pathlib import Path

from gauge import (
    Notes,
    Question,
    in_batches,
    memory,
    parted,
    read_documents,
    read_questions,
    recall,
    time_each,
)

import neardup

SHINGLE = 9


def shingles(text: str) -> set[str]:
    """The set of character 9-shingles in NFC, or the whole text when it is shorter."""
    text = unicodedata.normalize("NFC", text)
    return {text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)} or {text}


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of every kind of file."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            found[path.suffix or path.name] = found.get(path.suffix or path.name, 0) + path.stat().st_size
    return found


def warm_up(folder: Path) -> None:
    """Compile or load the kernels on a few documents."""
    warm = folder.with_name(folder.name + ".warm")
    words = "a few words to compile with"
    warm.mkdir()
    neardup.Index.build(warm / "built", [("a", words), ("b", words)], threads=1).close()
    with neardup.Index.create(warm / "made") as index:
        index.add(["a", "b"], [words, words])
        index.query(words)


def noted(args: argparse.Namespace, program: str) -> Notes:
    """The file of the figures."""
    return Notes(args.notes, program=program, before=memory(), load=os.getloadavg()[0])


def finish(args: argparse.Namespace, notes: Notes, index: neardup.Index, started: float, cpu: float) -> None:
    """Note what building took."""
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    notes.add(documents=len(index), build_s=seconds, build_cpu_s=cpu, after_build=memory())
    closing = time.perf_counter()
    segments = index.info().segments
    index.close()
    notes.add(close_s=time.perf_counter() - closing, segments=segments, files=sizes(args.folder))
    notes.add(load_after=os.getloadavg()[0])


def build(args: argparse.Namespace) -> None:
    """`Index.build`."""
    warm_up(args.folder)
    notes = noted(args, "neardup, build")
    started, cpu = time.perf_counter(), time.process_time()
    index = neardup.Index.build(args.folder, args.file, threads=args.threads)
    finish(args, notes, index, started, cpu)


def batches(args: argparse.Namespace) -> None:
    """Durable batches of a thousand."""
    warm_up(args.folder)
    notes = noted(args, "neardup, batches")
    worst = 0.0
    started, cpu = time.perf_counter(), time.process_time()
    index = neardup.Index.create(args.folder, threads=args.threads)
    for ids, texts in in_batches(read_documents(args.file, args.limit), 1000):
        before = time.perf_counter()
        index.add(ids, texts)
        worst = max(worst, time.perf_counter() - before)
    notes.add(worst_batch_s=worst)
    finish(args, notes, index, started, cpu)


def precision(index: neardup.Index, questions: list[Question], answers: list[list[neardup.Hit]]) -> dict[str, float]:
    """Hits, and those whose similarity is not the one that Python sets give."""
    number = wrong = 0
    for question, hits in zip(questions, answers, strict=True):
        mine = shingles(question.text)
        for hit in hits:
            stored = index.get(hit.id)
            assert stored is not None
            other = shingles(stored.text)
            number += 1
            wrong += hit.similarity != len(mine & other) / len(mine | other) or hit.similarity < 0.8
    return {"hits": number, "wrong_hits": wrong}


def ask(args: argparse.Namespace) -> None:
    """Open, ask one by one and in calls of many."""
    questions = read_questions(args.questions)
    notes = noted(args, "neardup, opened")
    some = questions[:2000]
    started = time.perf_counter()
    index = neardup.Index.open(args.folder, read_only=True, threads=args.threads)
    opened = time.perf_counter()
    index.query(questions[-1].text)
    notes.add(open_s=opened - started, first_answer_s=time.perf_counter() - started)
    gc.disable()
    hits, answers = time_each(lambda question: index.query(question.text), some)
    loose, candidates = time_each(lambda question: index.query(question.text, exact=False, top=None), some)
    gc.enable()
    every = index.query([question.text for question in some], top=None)
    notes.add(query_hits=hits, query_candidates=loose)
    notes.add(recall=recall([{hit.id for hit in found} for found in every], some))
    notes.add(candidates_a_question=sum(map(len, candidates)) / len(candidates))
    strangers = [bool(found) for found, question in zip(answers, some, strict=True) if question.source is None]
    notes.add(foreign_with_hit=sum(strangers) / len(strangers))
    for name, size in (("1000", 1000), ("all", len(questions))):
        rates, cpu = [], time.process_time()
        for first in range(0, len(questions), size):
            texts = [question.text for question in questions[first : first + size]]
            before = time.perf_counter()
            answers = index.query(texts)
            rates.append(len(texts) / (time.perf_counter() - before))
        cpu = time.process_time() - cpu
        rate = {"texts_per_s": sorted(rates)[len(rates) // 2], "texts_per_cpu_s": len(questions) / cpu}
        notes.add(**{f"batch_{name}_{key}": value for key, value in rate.items()})
    notes.add(after_questions=memory())
    # everything that is asked for in the checks below is beside the point of the figures above
    edited = [question for question in questions if question.source is not None]
    full = index.query([question.text for question in edited], top=None)
    notes.add(edited=len(edited), recall_all=recall([{hit.id for hit in found} for found in full], edited))
    notes.add(**precision(index, questions, answers))
    index.close()


def change(args: argparse.Namespace) -> None:
    """Add and remove batches of a thousand and single documents, compact."""
    notes = noted(args, "neardup, changed")
    index = neardup.Index.open(args.folder, threads=args.threads)
    index.query("libraries and kernels are loaded")
    some, few = parted(list(read_documents(args.more)))
    adding, removing = [], []
    for ids, texts in in_batches(some, 1000):
        started = time.perf_counter()
        index.add(ids, texts)
        adding.append(time.perf_counter() - started)
    notes.add(adds_per_s=1000 * len(adding) / sum(adding), worst_add_s=max(adding))
    single, _ = time_each(lambda pair: index.add([pair[0]], [pair[1]]), few, runs=1)
    notes.add(single_add=single, single_adds_per_s=1e6 / single["mean_us"])
    for ids, _ in in_batches(some, 1000):
        started = time.perf_counter()
        index.remove(ids)
        removing.append(time.perf_counter() - started)
    notes.add(removes_per_s=1000 * len(removing) / sum(removing), worst_remove_s=max(removing), after_changes=memory())
    started = time.perf_counter()
    index.compact()
    notes.add(compact_s=time.perf_counter() - started, after_compact=memory())
    some_questions = read_questions(args.questions)[:2000]
    hits, _ = time_each(lambda question: index.query(question.text), some_questions)
    notes.add(query_after_compact=hits)
    index.close()
    notes.add(files=sizes(args.folder))


def heal(args: argparse.Namespace) -> None:
    """Take the largest segment away and ask."""
    notes = noted(args, "neardup, healed")
    questions = read_questions(args.questions)
    segments = sorted(args.folder.rglob("*.bands"), key=lambda path: path.stat().st_size)
    lost = segments[-1].stat().st_size
    segments[-1].unlink()
    started = time.perf_counter()
    index = neardup.Index.open(args.folder, threads=args.threads)
    index.query(questions[0].text)
    notes.add(lost_bytes=lost, first_answer_s=time.perf_counter() - started)
    verified = index.verify()
    notes.add(healed_s=time.perf_counter() - started, ok=verified.ok, faults=list(verified.faults))
    index.close()


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    does = {"build": build, "batches": batches, "ask": ask, "change": change, "heal": heal}
    parser.add_argument("what", choices=tuple(does))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--questions", type=Path, default=None)
    parser.add_argument("--more", type=Path, default=None)
    parser.add_argument("--notes", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=int, default=None)
    args = parser.parse_args()
    args.file, args.folder = args.files[0], args.files[-1]
    does[args.what](args)


if __name__ == "__main__":
    main()
