"""Repeated passages beside a suffix array, on one core: MB per CPU second, and the peak of memory beside the texts.

    python benchmarks/passages.py FILE… [--span 50 100 200] [--megabytes 100] [--recombined phrases|paragraphs]
        [--suffixes] [--program dedup_dataset] [--memory 40]
    python benchmarks/passages.py --hard [--span 100]

FILE is JSONL with a field `text`, also .gz, or a .whl or .zip, of which each text file is a document; with
`--recombined`, documents are made of phrases or of paragraphs of these. Each measure is in a process of its own,
after a small run that loads the kernels. Of the CPU seconds those of the system are told apart: on a virtual machine
it takes seconds to touch half a gigabyte for the first time, and none a minute later.

`--suffixes`: the same texts go through pydivsufsort (suffix array, and LCP by Kasai in C) and a scan with NumPy that
marks every repeated window, and the marks must be the same. `--program`: through google's deduplicate-text-datasets,
which text-dedup runs: the texts end to end in a file, sorted whole, `self-similar` and `collect`, one thread each;
its repeats may reach beyond a document. `--memory` gives neardup so many MB for its data in place of what is needed;
texts go to disk then. `--hard`: one passage 100,000 times, exact and with one byte in 20 % changed; runs, periods,
Thue-Morse, noise; documents that are short runs; 20 exact copies of 1,000 documents.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from harness import measure

SUFFIXES = (".py", ".po", ".js", ".html", ".txt", ".css", ".md", ".rst")
HARD = ("hot", "hot, 20 % changed", "spaces", "period 3", "Thue-Morse", "noise", "short runs", "copies")


def read(files: list[str], megabytes: float) -> list[bytes]:
    """The documents of files, up to a size."""
    texts: list[bytes] = []
    room = megabytes * 1e6
    for text in (text for file in files for text in read_one(file)):
        room -= len(text)
        if room < 0:
            break
        texts.append(text)
    return texts


def read_one(file: str) -> Iterator[bytes]:
    """The documents of one file."""
    if file.endswith((".whl", ".zip")):
        with zipfile.ZipFile(file) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(SUFFIXES):
                    yield archive.read(name).decode("utf-8", "replace").encode()
        return
    with gzip.open(file) if file.endswith(".gz") else open(file, "rb") as lines:
        for line in lines:
            yield json.loads(line)["text"].encode()


def given_texts(arguments: argparse.Namespace) -> list[bytes]:
    """The documents that are asked for."""
    texts = read(arguments.files, arguments.megabytes)
    if arguments.recombined is None:
        return texts
    draw, texts = random.Random(1), [text for text in texts if text.strip()]
    documents = phrases(texts, draw) if arguments.recombined == "phrases" else paragraphs(texts, draw)
    made: list[bytes] = []
    room = arguments.megabytes * 1e6
    while room > 0:
        made.append(next(documents))
        room -= len(made[-1])
    return made


def phrases(texts: list[bytes], draw: random.Random) -> Iterator[bytes]:
    """Documents of about 900 bytes: three to eight words of a random text in turn, in 2 % of all turns a sentence."""
    words = [text.split() for text in texts]
    sentences = [text.split(b". ") for text in texts]
    while True:
        parts, size = [], 0
        while size < 900:
            of = draw.randrange(len(words))
            at = draw.randrange(len(words[of]))
            is_sentence = draw.random() < 0.02
            parts.append(
                draw.choice(sentences[of]) if is_sentence else b" ".join(words[of][at : at + draw.randint(3, 8)])
            )
            size += len(parts[-1]) + 1
        yield b" ".join(parts)


def paragraphs(texts: list[bytes], draw: random.Random) -> Iterator[bytes]:
    """Documents of one to twelve paragraphs, drawn from those of all texts."""
    known = [part for text in texts for part in text.split(b"\n\n") if part.strip()]
    while True:
        yield b"\n\n".join(draw.choices(known, k=draw.randint(1, 12)))


def make(name: str) -> list[bytes]:
    """A hard collection."""
    draw = np.random.default_rng(1)

    def noise(size: int) -> bytes:
        return bytes(draw.integers(97, 123, size, dtype=np.uint8))

    if name.startswith("hot"):
        passage, texts = np.frombuffer(noise(420), np.uint8), []
        for i in range(100_000):
            copy = passage.copy()
            if i % 5 == 0 and name != "hot":
                copy[draw.integers(420)] ^= 7
            texts.append(noise(125) + bytes(copy) + noise(125))
        return texts
    if name == "Thue-Morse":
        thue = np.zeros(1, np.uint8)
        while thue.size < 20_000_000:
            thue = np.concatenate((thue, 1 - thue))
        return [(thue[:20_000_000] + 97).tobytes()]
    made: dict[str, Callable[[], list[bytes]]] = {
        "spaces": lambda: [b" " * 20_000_000],
        "period 3": lambda: [b"abc" * 6_666_666],
        "noise": lambda: [noise(20_000_000)],
        "short runs": lambda: [b"%d" % i + b"0" * 125 for i in range(160_000)],
        "copies": lambda: [noise(1400) for _ in range(1000)] * 20,
    }
    return made[name]()


def resident(label: str) -> int:
    """Bytes that the system says of this process's memory."""
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(label))


def ours(texts: list[bytes], span: int, memory: int | None) -> tuple[Callable[[], dict[str, float]], np.ndarray]:
    """A run of neardup's engine over texts in memory, and the marks that it makes: 1 where a repeated window begins."""
    from neardup.engine.observe import Silent
    from neardup.engine.repeats.find import find_repeats
    from neardup.engine.repeats.units import Units, Window
    from neardup.engine.space import Budget, Space
    from neardup.inputs.names import Provenance
    from neardup.params import Normalize
    from neardup.types import Batch, Documents

    documents = Documents.from_bytes(texts)
    begins = np.array(documents.offsets)
    marks = np.full(int(begins[-1]) + 1, 0, dtype=np.int8)  # touched now, so that it is not counted
    texts.clear()
    step = max(1, len(documents) // 64)

    def go() -> dict[str, float]:
        def task(first: int) -> Batch:
            some = documents.slice(first, min(first + step, len(documents)))
            return Batch(some, "texts", np.arange(len(some)), consumed=some.nbytes)

        with tempfile.TemporaryDirectory() as folder:
            work = 8 << 30 if memory is None else memory * 1_000_000
            space = Space(Budget(work + (1 << 28), work), Path(folder) / "work", {})
            before, system = time.process_time(), os.times().system
            tasks = iter([lambda first=first: task(first) for first in range(0, len(documents), step)])
            found = find_repeats(
                tasks,
                Window(span),
                units=Units("byte", Normalize("none"), space),
                total_bytes=documents.nbytes,
                threads=1,
                names=Provenance(),
                observer=Silent(),
                space=space,
            )
            segments = 0
            for some in found.segments():
                segments += len(some)
                np.add.at(marks, begins[some.document] + some.start, 1)
                np.add.at(marks, begins[some.document] + some.end - span + 1, -1)
            took, system = time.process_time() - before, os.times().system - system
            disk = space.workdir.peak_bytes if space.workdir is not None else 0
            space.close(finished=True)
            return {"cpu": took, "system": system, "segments": segments, "disk": disk}

    return go, marks


def suffixes(texts: list[bytes], span: int) -> tuple[Callable[[], dict[str, float]], np.ndarray]:
    """The same marks by a suffix array: windows whose suffix shares ``span`` bytes with a neighbour of its own rank.

    Documents are told apart by where they end: a window that reaches beyond is none.
    """
    from pydivsufsort import divsufsort, kasai

    ends = np.cumsum([len(text) for text in texts])
    data = b"".join(texts)
    room = np.repeat(ends, [len(text) for text in texts]) - np.arange(len(data))
    marks = np.full(len(data) + 1, 0, dtype=np.int8)

    def go() -> dict[str, float]:
        before, system = time.process_time(), os.times().system
        order = divsufsort(data)
        sorting = time.process_time() - before
        same = kasai(data, order)
        is_window = room[order] >= span
        # windows of one kind follow each other, with suffixes between them whose window reaches beyond its document
        group = np.cumsum(np.concatenate(([0], same[: order.size - 1] < span)))
        windows = np.bincount(group[is_window], minlength=group[-1] + 1)
        repeated = order[is_window & (windows[group] > 1)]
        level = np.zeros(len(data) + 1, dtype=np.int8)
        level[repeated] = 1
        marks[:] = np.diff(level, prepend=0)
        told = {"cpu": time.process_time() - before, "system": os.times().system - system}
        return {**told, "sorting": sorting, "segments": 0, "disk": 0}

    return go, marks


def program(path: str, arguments: argparse.Namespace, span: int) -> str:
    """What google's program takes for the same texts, as a line."""
    texts = given_texts(arguments)
    with tempfile.TemporaryDirectory() as folder:
        file, cache = os.path.join(folder, "texts"), os.path.join(folder, "cache")
        os.mkdir(cache)
        size = Path(file).write_bytes(b"".join(texts))
        texts.clear()
        length = ["--length-threshold", str(span), "--cache-dir", cache]
        steps = (["make"], ["self-similar", *length, "--num-threads", "1"], ["collect", *length])
        runs = [measure([path, *step, "--data-file", file], arguments.core) for step in steps]
        disk = sum(each.stat().st_size for each in Path(folder).rglob("*") if each.is_file()) - size
    ranges = [line.split() for line in runs[-1].stdout.partition("out\n")[2].splitlines()]
    covered = sum(int(end) - int(begin) for begin, end in ranges)
    cpu, peak = sum(run.cpu_seconds for run in runs), max(run.peak_mib for run in runs) * (1 << 20)
    return (
        f"span {span}, dedup_dataset: {size / 1e6:.1f} MB, {size / 1e6 / cpu:.1f} MB/s, extra {peak / size - 1:.2f},"
        f" disk {disk / size:.2f}, {len(ranges):,} ranges with {100 * covered / size:.2f} % of the bytes, sorting alone"
        f" {size / 1e6 / runs[0].cpu_seconds:.1f} MB/s"
    )


def one(arguments: argparse.Namespace) -> None:
    """One measure, in this process."""
    texts = make(arguments.files[0]) if arguments.hard else given_texts(arguments)
    size, span = sum(map(len, texts)), arguments.span[0]
    if arguments.suffixes:
        go, marks = suffixes(texts, span)
    else:
        ours([b"a small run, to load the kernels. " * 9] * 3, span, None)[0]()
        go, marks = ours(texts, span, arguments.memory)
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    told = go()
    told |= {"bytes": size, "extra": resident("VmHWM") - before}
    covered = np.cumsum(marks[:-1], dtype=np.int64) > 0
    told |= {"windows": int(np.count_nonzero(covered)), "digest": hash(covered.tobytes())}
    print(json.dumps(told))


def main() -> None:
    """Measure what is asked for, each in a process of its own, and print a line each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--span", type=int, nargs="+", default=[100])
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--memory", type=int)
    parser.add_argument("--suffixes", action="store_true")
    parser.add_argument("--program", metavar="PATH")
    parser.add_argument("--recombined", choices=("phrases", "paragraphs"))
    parser.add_argument("--hard", action="store_true")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--core", default="0")
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments)
        return
    print(f"load {os.getloadavg()[0]:.1f}; MB per CPU second; extra: peak bytes beside the texts given, per byte")
    for name in HARD if arguments.hard else ["the files"]:
        for span in arguments.span:
            given = [name, "--hard"] if arguments.hard else [*arguments.files, "--megabytes", str(arguments.megabytes)]
            given += ["--recombined", arguments.recombined] if arguments.recombined else []
            command = [sys.executable, __file__, "--one", *given, "--span", str(span)]
            limited = [] if arguments.memory is None else ["--memory", str(arguments.memory)]
            digests = set()
            for how in ([], ["--suffixes"]) if arguments.suffixes else ([],):
                run = measure([*command, *(how or limited)], arguments.core, environment={"PYTHONHASHSEED": "0"})
                told = json.loads(run.stdout)
                digests.add(told["digest"])
                size = told["bytes"]
                own = 0 if how or told["disk"] else 1  # neardup's own copy of the texts
                print(
                    f"{name}, span {span}, {'suffix array' if how else 'neardup'}: {size / 1e6:.1f} MB,"
                    f" {size / 1e6 / told['cpu']:.1f} MB/s ({told['system']:.1f} of {told['cpu']:.1f} s the system's),"
                    f" extra {told['extra'] / size - own:.2f},"
                    f" disk {told['disk'] / size:.2f},"
                    f" {told['segments']:,} segments, {100 * told['windows'] / size:.2f} % of windows repeated"
                    + (f", sorting alone {size / 1e6 / told['sorting']:.1f} MB/s" if how else ""),
                    flush=True,
                )
            if len(digests) > 1:
                raise SystemExit(f"{name}, span {span}: the two disagree")
            if arguments.program and not arguments.hard:
                print(program(arguments.program, arguments, span), flush=True)


if __name__ == "__main__":
    main()
