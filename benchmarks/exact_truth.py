"""All pairs with Jaccard >= t, none missed: the truth that benchmarks measure recall and precision against.

    python benchmarks/exact_truth.py FILE.jsonl TRUTH.csv [-t 0.8] [--shingle char:9]   all pairs
    python benchmarks/exact_truth.py FILE.jsonl TRUTH.csv --sample 2000                all partners of a sample

Shares no code with neardup and needs only numpy. A shingle of nine ASCII characters *is* its 63 bits, so
equality is exact; one with other characters is a 63-bit multilinear hash of its code points (with 10^8
distinct shingles the chance of any collision is below 10^-3). Texts are put into NFC, as neardup does by
default; a text shorter than k is its own single shingle; empty texts are in no pair. The quotient |A & B| /
|A | B| is compared as a float64.

`--shingle word:5` takes runs of words (of letters, marks and numbers, as neardup does), `split:5` the words
of text-dedup: what lies between two characters that are no `\\w`, empty words included, in lower case. Words
are numbered, and a shingle is a 63-bit multilinear hash of its numbers. `--casefold` folds the text first.

All pairs: equal sets are collapsed, then a prefix filter: under one order of the shingles, rare first, two
sets with Jaccard >= t share a shingle among the first |x| - ceil(t |x|) + 1 of each. Candidates are counted
exactly. Sample: N documents chosen by the hash of their id; the one-sided filter is used, in which any |x|
- ceil(t |x|) + 1 shingles of the sampled x meet *all* shingles of the other. The names of the sample go to
`TRUTH.csv.sample`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import re
import resource
import sys
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]
WIDE = np.uint64(1 << 63)
ASCII_WORD = re.compile(r"[0-9A-Za-z]+")
NO_WORD = re.compile(r"\W")
Pair = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of tokens in CSR form: set i is ``tokens[offsets[i]:offsets[i + 1]]``."""

    tokens: NDArray[np.int32]
    offsets: I64

    def __len__(self) -> int:
        return self.offsets.size - 1

    def row(self, i: int) -> NDArray[np.int32]:
        """The tokens of set i."""
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]


@dataclass(slots=True)
class Shingles:
    """What a document is compared by: ``unit`` is char, word or split, ``k`` how many of them are a shingle."""

    unit: str
    k: int
    casefold: bool
    numbers: dict[str, int] = field(default_factory=dict)
    """Number of every word seen so far, from 1."""

    @classmethod
    def parse(cls, text: str, casefold: bool) -> Shingles:
        """Read `char:9`."""
        unit, _, k = text.partition(":")
        if unit not in ("char", "word", "split") or not k.isdecimal() or int(k) < 1:
            raise SystemExit(f"--shingle is {text!r}. Give char:K, word:K or split:K.")
        return cls(unit, int(k), casefold)

    def of(self, text: str) -> U64:
        """Return the sorted distinct shingles of a text as integers."""
        if self.casefold:
            text = unicodedata.normalize("NFC", text.casefold())
        if self.unit == "char":
            return shingle_set(text, self.k)
        words = words_of(text) if self.unit == "word" else NO_WORD.split(text.lower())
        numbers = self.numbers
        found = [numbers.setdefault(word, len(numbers) + 1) for word in words]
        found += [0] * (self.k - len(found)) if found else []  # a short text: 0 is no word
        points = np.array(found, dtype=np.uint64)
        return np.unique(multilinear(points, self.k) >> np.uint64(1)) if found else points


def words_of(text: str) -> list[str]:
    """Return the runs of letters, marks and numbers (Unicode categories L, M, N)."""
    if text.isascii():
        return ASCII_WORD.findall(text)
    kept = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in text)
    return [word for word in kept.split(" ") if word]


def multilinear(points: U64, k: int) -> U64:
    """Return a 64-bit hash of every window of ``k`` numbers; only its upper 63 bits are good."""
    count = points.size - k + 1
    hashed = np.zeros(count, dtype=np.uint64)
    factors = np.random.default_rng(20261121).integers(1, 1 << 63, size=k, dtype=np.uint64) | np.uint64(1)
    for i in range(k):
        hashed += points[i : i + count] * factors[i]
    return hashed


def read(source: Path, limit: int | None) -> Iterator[tuple[str, str]]:
    """Yield (id, text in NFC), at most ``limit`` bytes of lines."""
    done = 0
    with source.open("rb") as lines:
        for line in lines:
            done += len(line)
            if limit is not None and done > limit:
                return
            fields = json.loads(line)
            yield fields["id"], unicodedata.normalize("NFC", fields["text"])


def shingle_set(text: str, k: int) -> U64:
    """Return the sorted distinct shingles of a text as integers, exact for nine ASCII characters."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    if points.size == 0:
        return points
    if points.size < k:  # the text is its one shingle; 2^22 + length is no code point, so it cannot equal a window
        padding = np.full(k - points.size, (1 << 22) + points.size, dtype=np.uint64)
        points = np.concatenate([points, padding])
    count = points.size - k + 1
    packed = np.zeros(count, dtype=np.uint64)
    for i in range(k):
        packed = (packed << np.uint64(7)) | points[i : i + count] if k <= 9 else packed
    if k <= 9 and int(points.max()) < 128:
        return np.unique(packed)
    high = np.zeros(count, dtype=np.uint64)
    for i in range(k):
        high |= points[i : i + count]
    hashed = (multilinear(points, k) >> np.uint64(1)) | WIDE
    return np.unique(np.where(high < 128, packed, hashed) if k <= 9 else hashed)


def at_least(size: int, threshold: float) -> int:
    """Smallest overlap with which a set of this size can reach the threshold with any partner."""
    return max(1, math.ceil(threshold * size - 1e-9))


def collapse(source: Path, cut: Shingles, limit: int | None) -> tuple[list[str], list[list[int]], list[U64]]:
    """Return the ids, the groups of documents with equal sets, and one set a group (in order of size)."""
    names: list[str] = []
    groups: dict[bytes, int] = {}
    members: list[list[int]] = []
    sets: list[U64] = []
    for row, (name, text) in enumerate(read(source, limit)):
        names.append(name)
        tokens = cut.of(text)
        if tokens.size == 0:
            continue
        key = hashlib.blake2b(tokens.tobytes(), digest_size=16).digest()
        group = groups.setdefault(key, len(members))
        if group == len(members):
            members.append([row])
            sets.append(tokens)
        else:
            members[group].append(row)
    order = sorted(range(len(sets)), key=lambda g: sets[g].size)
    return names, [members[g] for g in order], [sets[g] for g in order]


def rank(sets: list[U64]) -> tuple[Sets, int]:
    """Replace shingles by ranks, rare first; a shingle of one set only becomes -1. Consumes ``sets``.

    Returns:
        The sets, each sorted by rank, and the number of ranks.
    """
    offsets = np.concatenate([[0], np.cumsum([one.size for one in sets])]).astype(np.int64)
    flat = np.concatenate(sets) if sets else np.zeros(0, dtype=np.uint64)
    sets.clear()
    values, counts = np.unique(flat, return_counts=True)
    common = counts > 1
    values, counts = values[common], counts[common]
    ranks = np.empty(values.size, dtype=np.int32)
    ranks[np.argsort(counts, kind="stable")] = np.arange(values.size, dtype=np.int32)
    tokens = np.full(flat.size, -1, dtype=np.int32)
    step = 1 << 22
    for start in range(0, flat.size, step):
        part = flat[start : start + step]
        at = np.minimum(np.searchsorted(values, part), max(values.size - 1, 0))
        known = values[at] == part if values.size else np.zeros(part.size, dtype=bool)
        tokens[start : start + step][known] = ranks[at[known]]
    for i in range(offsets.size - 1):
        tokens[offsets[i] : offsets[i + 1]].sort()
    return Sets(tokens, offsets), int(values.size)


def lists_by_token(tokens: NDArray[np.int32], owners: I64, ranks: int) -> tuple[I64, I64]:
    """Return CSR posting lists (offsets per rank, owners in their order) of the tokens that are not -1."""
    held = tokens >= 0
    tokens, owners = tokens[held], owners[held]
    starts = np.concatenate([[0], np.cumsum(np.bincount(tokens, minlength=ranks))]).astype(np.int64)
    return starts, owners[np.argsort(tokens, kind="stable")]


def gather(starts: I64, stops: I64, data: NDArray[np.int64] | NDArray[np.int32]) -> NDArray[np.int64]:
    """Concatenate ``data[starts[i]:stops[i]]`` without a loop."""
    sizes = stops - starts
    total = int(sizes.sum())
    if total == 0:
        return np.zeros(0, dtype=np.int64)
    shift = np.repeat(starts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    return data[np.arange(total) + shift].astype(np.int64)


def overlaps(mark: NDArray[np.bool_], sets: Sets, rows: I64) -> I64:
    """Count for each row how many of its tokens are marked (``mark`` has a False at the end, for -1)."""
    starts, stops = sets.offsets[rows], sets.offsets[rows + 1]
    hits = mark[gather(starts, stops, sets.tokens)]
    return np.add.reduceat(hits, np.concatenate([[0], np.cumsum(stops - starts)[:-1]])).astype(np.int64)


def join(sets: Sets, ranks: int, threshold: float) -> Iterator[Pair]:
    """Yield (smaller row, row, similarity) of all pairs of distinct sets, which are in order of size."""
    sizes = np.diff(sets.offsets)
    prefix = np.array([int(n) - at_least(int(n), threshold) + 1 for n in sizes], dtype=np.int64)
    owners = np.repeat(np.arange(len(sets)), prefix)
    prefixes = gather(sets.offsets[:-1], sets.offsets[:-1] + prefix, sets.tokens).astype(np.int32)
    starts, postings = lists_by_token(prefixes, owners, ranks)
    mark = np.zeros(ranks + 1, dtype=bool)
    smallest = np.searchsorted(sizes, [at_least(int(n), threshold) for n in sizes])
    candidates = 0
    for i in range(len(sets)):
        own = sets.row(i)
        head = own[: prefix[i]]
        head = head[head >= 0]
        near = gather(starts[head], starts[head + 1], postings)
        near = np.unique(near[(near < i) & (near >= smallest[i])])
        if near.size == 0:
            continue
        candidates += near.size
        held = own[own >= 0]
        mark[held] = True
        shared = overlaps(mark, sets, near)
        mark[held] = False
        similarity = shared / (sizes[i] + sizes[near] - shared)
        for at in np.flatnonzero(similarity >= threshold):
            yield int(near[at]), i, float(similarity[at])
    print(f"{len(sets):,} distinct sets, {candidates:,} candidates counted", file=sys.stderr)


def all_pairs(source: Path, threshold: float, cut: Shingles, limit: int | None) -> tuple[list[str], list[Pair]]:
    """Return the ids and all pairs of rows with their similarity, equal sets included."""
    names, members, collapsed = collapse(source, cut, limit)
    sets, ranks = rank(collapsed)
    found: list[Pair] = []
    for group in members:
        found.extend((a, b, 1.0) for n, a in enumerate(group) for b in group[n + 1 :])
    for left, right, similarity in join(sets, ranks, threshold):
        found.extend((min(a, b), max(a, b), similarity) for a in members[left] for b in members[right])
    return names, sorted(found)


def sampled(names: list[str], wanted: int) -> set[int]:
    """Return the rows whose ids have the smallest hashes."""
    keys = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names]
    return set(sorted(range(len(names)), key=keys.__getitem__)[:wanted])


def sample_pairs(
    source: Path, threshold: float, cut: Shingles, limit: int | None, wanted: int
) -> tuple[list[str], list[Pair], set[int]]:
    """Return the ids, all pairs with a sampled document in them, and the sampled rows."""
    names = [name for name, _ in read(source, limit)]
    chosen = sampled(names, wanted)
    raw = {row: cut.of(text) for row, (_, text) in enumerate(read(source, limit)) if row in chosen}
    rows = [row for row in sorted(raw) if raw[row].size]
    flat = np.concatenate([raw[row] for row in rows])
    values, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True)
    offsets = np.concatenate([[0], np.cumsum([raw[row].size for row in rows])]).astype(np.int64)
    sizes = np.diff(offsets)
    prefix = np.array([int(n) - at_least(int(n), threshold) + 1 for n in sizes], dtype=np.int64)
    heads = []
    for i in range(len(rows)):  # rare in the sample first; any choice is right, this one is fast
        own = inverse[offsets[i] : offsets[i + 1]]
        heads.append(own[np.argsort(counts[own], kind="stable")[: prefix[i]]])
    starts, postings = lists_by_token(
        np.concatenate(heads).astype(np.int32), np.repeat(np.arange(len(rows)), prefix), values.size
    )
    sets = Sets(inverse.astype(np.int32), offsets)
    mark = np.zeros(values.size + 1, dtype=bool)
    found: set[Pair] = set()
    for row, (_, text) in enumerate(read(source, limit)):
        tokens = cut.of(text)
        if tokens.size == 0:
            continue
        at = np.minimum(np.searchsorted(values, tokens), values.size - 1)
        held = at[values[at] == tokens]
        near = np.unique(gather(starts[held], starts[held + 1], postings))
        fits = (sizes[near] >= threshold * tokens.size - 1) & (tokens.size >= threshold * sizes[near] - 1)
        near = near[fits]
        if near.size == 0:
            continue
        mark[held] = True
        shared = overlaps(mark, sets, near)
        mark[held] = False
        similarity = shared / (sizes[near] + tokens.size - shared)
        for hit in np.flatnonzero(similarity >= threshold):
            other = rows[int(near[hit])]
            if other != row:
                found.add((min(row, other), max(row, other), float(similarity[hit])))
    return names, sorted(found), chosen


def main() -> None:
    """Parse the command line, find the pairs, write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("-t", "--threshold", type=float, default=0.8)
    parser.add_argument("--shingle", default="char:9", help="char:K, word:K or split:K")
    parser.add_argument("--casefold", action="store_true", help="fold the text first")
    parser.add_argument("--sample", type=int, default=None, help="only the pairs of so many documents")
    parser.add_argument("--limit-bytes", type=int, default=None)
    args = parser.parse_args()
    started = time.perf_counter()
    cut = Shingles.parse(args.shingle, args.casefold)
    if args.sample is None:
        names, found = all_pairs(args.source, args.threshold, cut, args.limit_bytes)
    else:
        names, found, chosen = sample_pairs(args.source, args.threshold, cut, args.limit_bytes, args.sample)
        note = args.output.with_name(args.output.name + ".sample")
        note.write_text("".join(json.dumps(names[row]) + "\n" for row in sorted(chosen)), encoding="utf-8")
    with args.output.open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(("id_a", "id_b", "similarity"))
        writer.writerows((names[a], names[b], repr(similarity)) for a, b, similarity in found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{args.source.name}: {len(names):,} documents, {len(found):,} pairs with J >= {args.threshold}, "
        f"{time.perf_counter() - started:.0f} s, peak {peak:.0f} MiB",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
