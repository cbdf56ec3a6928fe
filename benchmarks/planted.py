"""A collection of many short documents with planted copies and near-copies of known similarity.

    python benchmarks/planted.py FOLDER SOURCE.jsonl... --documents 100000 1000000 10000000

`planted_check.py` measures a run against it. Written are `planted_N.jsonl`, one {"id", "text"} a line, about
280 bytes of text each, `planted_N.truth.csv` (id_a, id_b, similarity), all planted pairs with J >= 0.5,
siblings of one original included, and `planted_N.json`, the counts that are also printed. Ids are the number
of the line from 0 after a letter: d a document of its own, x an exact copy, n a near-copy. By default 80 % are
d, 10 % x and 10 % n, in a random order, so that a copy lies a third of the file from its original on average.

The documents are made, not found: there is no open collection of ten million *distinct* real texts of this
size here. Real text (of the JSONL files given) is cut into pieces of 45 to 105 characters; a piece is
accepted only if most of its 9-grams are new, so that no two are much alike. A document is four pieces joined
by spaces: number (x, y) takes piece x of the first quarter of them, y of the second, x + y of the third and
x + 2y of the fourth (modulo their number p, which is odd). Two documents therefore never share two pieces, and
their similarity stays far below 0.5 (about 0.15 if they share one); `exact_truth.py -t 0.5` finds the planted
pairs of the collection of 100,000 and no other. As p is under a hundred thousand, each
piece stands in about a hundred documents of the largest collection: boilerplate, in small.

A near-copy has one to four words changed, dropped or inserted, at random places; similarities come out
between 0.5 and 1, most in 0.7 to 0.95. A quarter of the copies have one of 1 % of the documents for original:
clusters of about six. Similarity is exact: plain Python sets of 9-grams of code points of the NFC text.
Nothing here is shared with neardup. Everything follows from --seed; sizes are made one by one from the same
pieces.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import random
import resource
import sys
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from multiprocessing.pool import AsyncResult
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
U64 = NDArray[np.uint64]
T = TypeVar("T")
K = 9
SHORTEST, LONGEST = 45, 105
QUARTERS = 4
SEEN_BITS = 29
LOCAL_BITS = 22
BATCH = 1 << 18
MOST_SEEN = 0.4
"""A piece is accepted if at most this share of its 9-grams occurred in the pieces before it."""
LOWEST = 0.5
"""Planted pairs below this similarity are not written."""
EDITS, EDIT_WEIGHTS = (1, 2, 3, 4), (25, 40, 25, 10)
CHUNK = 20_000


def cut(text: str, rng: random.Random) -> Iterator[str]:
    """Yield the pieces of a text: white space collapsed, cut between words, of SHORTEST to LONGEST characters."""
    held: list[str] = []
    length = 0
    wanted = rng.randint(SHORTEST, LONGEST - 15)
    for word in text.split():
        if len(word) > 15 or not word.isprintable():  # long tokens are hex, URLs, rules of dashes
            held, length = [], 0
            continue
        held.append(word)
        length += len(word) + 1
        if length > wanted:
            yield " ".join(held)
            held, length = [], 0
            wanted = rng.randint(SHORTEST, LONGEST - 15)


def batches(sources: list[Path], seed: int) -> Iterator[list[bytes]]:
    """Yield batches of pieces, about BATCH bytes each, of one source after the other."""
    held: list[bytes] = []
    size = 0
    for source in sources:
        rng = random.Random(f"{seed} {source.name}")
        with source.open("rb") as lines:
            for line in lines:
                for piece in cut(json.loads(line)["text"], rng):
                    held.append(piece.encode())
                    size += len(held[-1])
                if size >= BATCH:
                    yield held
                    held, size = [], 0
    if held:
        yield held


def grams(batch: list[bytes]) -> tuple[U64, NDArray[np.int32]]:
    """Return a hash of every 9-gram of bytes within a piece, and the number of the piece it is in."""
    data = np.frombuffer(b"".join(batch), dtype=np.uint8).astype(np.uint64)
    sizes = np.array([len(piece) for piece in batch], dtype=np.int64)
    count = data.size - K + 1
    hashed = np.zeros(count, dtype=np.uint64)
    for i in range(K):
        hashed = hashed * np.uint64(0x9E3779B97F4A7C15) + data[i : i + count]
    hashed ^= hashed >> np.uint64(32)
    hashed *= np.uint64(0xD6E8FEB86659FD93)
    owner = np.repeat(np.arange(len(batch), dtype=np.int32), sizes)
    inside = owner[:count] == owner[K - 1 :]
    return hashed[inside], owner[:count][inside]


def collect_pieces(sources: list[Path], seed: int, wanted: int) -> list[bytes]:
    """Return at most ``wanted`` pieces of which each is mostly new beside those before it.

    The 9-grams seen are a table of 2^29 flags (512 MiB) under a hash: a gram may pass for seen that is not,
    never the other way, so that the filter errs towards rejecting. Within a batch every piece counts as
    before the next, accepted or not.
    """
    seen = np.zeros(1 << SEEN_BITS, dtype=bool)
    local = np.zeros(1 << LOCAL_BITS, dtype=np.int32)
    accepted: list[bytes] = []
    tried = 0
    for batch in batches(sources, seed):
        hashed, owner = grams(batch)
        at = (hashed >> np.uint64(64 - SEEN_BITS)).astype(np.int64)
        near = (hashed & np.uint64((1 << LOCAL_BITS) - 1)).astype(np.int64)
        local[near[::-1]] = owner[::-1]  # the last one written stays: the first piece that has the gram
        known = seen[at] | (local[near] < owner)
        share = np.bincount(owner, weights=known, minlength=len(batch)) / np.bincount(owner, minlength=len(batch))
        fine = share <= MOST_SEEN
        seen[at[fine[owner]]] = True
        tried += len(batch)
        accepted += [piece for piece, good in zip(batch, fine, strict=True) if good]
        if len(accepted) >= wanted:
            break
    print(f"{len(accepted):,} pieces of {tried:,} accepted", file=sys.stderr)
    return accepted[:wanted]


@dataclass(frozen=True, slots=True)
class Pieces:
    """All pieces, one after the other: piece i is ``data[offsets[i]:offsets[i + 1]]``, in four equal quarters."""

    data: bytes
    offsets: list[int]
    p: int
    """Pieces in a quarter; odd."""

    @classmethod
    def of(cls, pieces: list[bytes], seed: int) -> Pieces:
        """Shuffle the pieces into four quarters."""
        random.Random(f"{seed} pieces").shuffle(pieces)
        p = len(pieces) // QUARTERS
        p -= 1 - p % 2
        chosen = pieces[: p * QUARTERS]
        offsets = np.concatenate([[0], np.cumsum([len(piece) for piece in chosen])])
        return cls(b"".join(chosen), offsets.tolist(), p)

    def piece(self, number: int) -> bytes:
        """One piece."""
        return self.data[self.offsets[number] : self.offsets[number + 1]]


@dataclass(frozen=True, slots=True)
class Layout:
    """Who is what in one collection: numbers below ``base`` are documents of their own, then copies follow."""

    seed: int
    base: int
    exact: int
    originals: NDArray[np.uint32]
    """Original of every copy, exact ones first."""
    number_at: NDArray[np.uint32]
    """Document number at each line."""
    step: int
    """Document j is made of the pair number j * step modulo p^2."""

    @classmethod
    def of(cls, documents: int, args: argparse.Namespace, p: int) -> Layout:
        """Draw the copies and the order."""
        exact, near = round(documents * args.exact), round(documents * args.near)
        base = documents - exact - near
        if base > p * p:
            raise SystemExit(f"{p:,} pieces a quarter make at most {p * p:,} documents, {base:,} are wanted")
        rng = np.random.default_rng([args.seed, documents])
        popular = rng.integers(0, base, max(1, base // 100))
        originals = rng.integers(0, base, exact + near)
        chosen = rng.random(exact + near) < 0.25
        originals[chosen] = popular[rng.integers(0, popular.size, int(chosen.sum()))]
        step = int(p * p * (math.sqrt(5) - 1) / 2)
        while math.gcd(step, p) != 1:
            step += 1
        order = rng.permutation(documents).astype(np.uint32)
        return cls(args.seed, base, exact, originals.astype(np.uint32), order, step)

    def original(self, number: int) -> int:
        """The document that this one is a copy of; itself for one of its own."""
        return number if number < self.base else int(self.originals[number - self.base])

    def letter(self, number: int) -> str:
        """What the document is, for its id."""
        return "d" if number < self.base else "x" if number < self.base + self.exact else "n"


def original_text(number: int, layout: Layout, pieces: Pieces) -> str:
    """The text of document ``number``, one of its own."""
    p = pieces.p
    y, x = divmod(number * layout.step % (p * p), p)
    chosen = (x, p + y, 2 * p + (x + y) % p, 3 * p + (x + 2 * y) % p)
    return b" ".join([pieces.piece(one) for one in chosen]).decode()


def edited(text: str, number: int, layout: Layout, pieces: Pieces) -> str:
    """The near-copy ``number`` of a text: one to four words changed, dropped or inserted."""
    rng = random.Random(layout.seed << 40 | number)
    words = text.split(" ")
    for _ in range(rng.choices(EDITS, EDIT_WEIGHTS)[0]):
        at = rng.randrange(len(words))
        act = rng.random()
        if act < 1 / 3:
            del words[at]
            continue
        other = rng.choice(pieces.piece(rng.randrange(pieces.p * QUARTERS)).decode().split(" "))
        words[at : at + (act < 2 / 3)] = [other]
    return " ".join(words)


def text_of(number: int, layout: Layout, pieces: Pieces) -> str:
    """The text of any document."""
    text = original_text(layout.original(number), layout, pieces)
    return text if number < layout.base + layout.exact else edited(text, number, layout, pieces)


def lines_of(chunk: range, layout: Layout, pieces: Pieces) -> bytes:
    """The lines ``chunk`` of the collection."""
    lines = []
    for line, number in zip(chunk, layout.number_at[chunk.start : chunk.stop].tolist(), strict=True):
        text = json.dumps(text_of(number, layout, pieces), ensure_ascii=False)
        lines.append(f'{{"id": "{layout.letter(number)}{line}", "text": {text}}}\n')
    return "".join(lines).encode()


@dataclass(frozen=True, slots=True)
class Families:
    """Copies grouped by their original, in CSR form: family i is ``copies[starts[i]:starts[i + 1]]``."""

    starts: I64
    copies: I64
    """Document numbers, by original, then by number."""
    line_of: NDArray[np.uint32]
    """Line of every document."""

    @classmethod
    def of(cls, layout: Layout) -> Families:
        """Group them."""
        order = np.argsort(layout.originals, kind="stable")
        sorted_originals = layout.originals[order]
        first = np.flatnonzero(np.diff(sorted_originals, prepend=np.uint32(0xFFFFFFFF)))
        starts = np.append(first, order.size).astype(np.int64)
        line_of = np.empty_like(layout.number_at)
        line_of[layout.number_at] = np.arange(line_of.size, dtype=np.uint32)
        return cls(starts, order + layout.base, line_of)

    def __len__(self) -> int:
        return self.starts.size - 1


def gram_set(text: str) -> set[str]:
    """The set of character 9-grams of the NFC text; of a shorter one, the text itself."""
    text = unicodedata.normalize("NFC", text)
    return {text[i : i + K] for i in range(len(text) - K + 1)} or {text}


def truth_of(chunk: range, layout: Layout, pieces: Pieces, families: Families) -> tuple[str, list[int]]:
    """The rows of the truth for the families ``chunk``, and a histogram of their similarities in 0.05."""
    rows = []
    histogram = [0] * 21
    for family in chunk:
        copies = families.copies[families.starts[family] : families.starts[family + 1]].tolist()
        numbers = [layout.original(copies[0]), *copies]
        sets: dict[str, set[str]] = {}
        texts = [text_of(number, layout, pieces) for number in numbers]
        known: dict[tuple[str, str], float] = {}
        for a, b in combinations(range(len(numbers)), 2):
            key = (texts[a], texts[b])
            if key not in known:
                left, right = (sets.get(text) or sets.setdefault(text, gram_set(text)) for text in key)
                shared = len(left & right)
                known[key] = shared / (len(left) + len(right) - shared)
            similarity = known[key]
            if similarity >= LOWEST:
                names = (f"{layout.letter(n)}{families.line_of[n]}" for n in (numbers[a], numbers[b]))
                rows.append(f"{','.join(names)},{similarity!r}\n")
                histogram[int(similarity * 20)] += 1
    return "".join(rows), histogram


_TASK: list[Callable[[range], object]] = []
"""The work of the forked processes, which find it where their parent put it: it need not be pickled."""


def _run_task(chunk: range) -> object:
    """Run it."""
    return _TASK[-1](chunk)


def spread(task: Callable[[range], T], count: int, processes: int) -> Iterator[T]:
    """Yield ``task`` of ranges that cover ``count``, in order, from forked processes; few results wait unread."""
    chunks = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    if processes == 1:
        yield from map(task, chunks)
        return
    _TASK.append(task)
    waiting: deque[AsyncResult[T]] = deque()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for chunk in chunks:
            if len(waiting) == 2 * processes:
                yield waiting.popleft().get()
            waiting.append(pool.apply_async(_run_task, (chunk,)))  # type: ignore[arg-type]
        while waiting:
            yield waiting.popleft().get()
    _TASK.pop()


def write_collection(documents: int, pieces: Pieces, args: argparse.Namespace) -> dict[str, object]:
    """Write one collection and its truth, return what is in them."""
    layout = Layout.of(documents, args, pieces.p)
    output = args.folder / f"planted_{documents}.jsonl"
    with output.open("wb") as sink:
        for lines in spread(lambda chunk: lines_of(chunk, layout, pieces), documents, args.processes):
            sink.write(lines)
    families = Families.of(layout)
    histogram = np.zeros(21, dtype=np.int64)
    with (args.folder / f"planted_{documents}.truth.csv").open("w", encoding="utf-8", newline="") as sink:
        sink.write("id_a,id_b,similarity\n")
        task = lambda chunk: truth_of(chunk, layout, pieces, families)  # noqa: E731 - it is short
        for rows, counts in spread(task, len(families), args.processes):
            sink.write(rows)
            histogram += counts
    at, home = families.line_of[families.copies], families.line_of[layout.originals[families.copies - layout.base]]
    apart = np.abs(at.astype(np.int64) - home)
    return {
        "documents": documents,
        "of their own": layout.base,
        "exact copies": layout.exact,
        "near-copies": documents - layout.base - layout.exact,
        "bytes": output.stat().st_size,
        "pieces": pieces.p * QUARTERS,
        "originals with copies": len(families),
        "most copies of one": int(np.diff(families.starts).max()),
        "median lines between copy and original": int(np.median(apart)),
        "copies within 1 % of the file of their original": round(float(np.mean(apart < documents / 100)), 4),
        "planted pairs": int(histogram.sum()),
        "planted pairs by similarity": {f"{n / 20:.2f}": int(histogram[n]) for n in range(10, 21)},
    }


def main() -> None:
    """Parse the command line, make the pieces, write the collections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("sources", type=Path, nargs="+", help="JSONL with real texts, in the field text")
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000])
    parser.add_argument("--exact", type=float, default=0.1, help="share of exact copies")
    parser.add_argument("--near", type=float, default=0.1, help="share of near-copies")
    parser.add_argument("--pieces", type=int, default=2_000_000, help="at most so many")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    pieces = Pieces.of(collect_pieces(args.sources, args.seed, args.pieces), args.seed)
    print(f"pieces made in {time.perf_counter() - started:.0f} s", file=sys.stderr)
    for documents in args.documents:
        started = time.perf_counter()
        facts = write_collection(documents, pieces, args)
        (args.folder / f"planted_{documents}.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(facts, indent=1))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{documents:,}: {time.perf_counter() - started:.0f} s, peak {peak:.0f} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
