"""A million real short documents for the index: texts of other collections, cut where their authors cut them.

    python benchmarks/index_data.py OUT.jsonl SOURCE.jsonl[.gz]... [--documents 1000000] [--more 60000]
        [--shortest 200] [--longest 800]

A text is cut at empty lines; what is longer than --longest at line ends, then at ends of sentences. Neighbouring
pieces are joined, with what stood between them, until --shortest characters are reached and as long as --longest is not
passed. What is left over is dropped: no sentence or line is cut, nothing is made up, nothing is repeated. Sources are
taken whole in the order given; of the last one whole texts are taken in the order of the hash of their id until there
are enough. The documents are written in the order of the hash of their id, so that the first n of them are a fair
sample. Ids are SOURCE:ID#NUMBER. The last --more of them go to OUT.more.jsonl: what is added later, and what is asked
for in vain.

Shares no code with neardup. Counts of every source are printed; how many copies are in the file, `neardup find` says.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CUTS = (re.compile(r"\n[ \t\r]*\n\s*"), re.compile(r"\n"), re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])"))
"""Where a text may be cut, the best places first."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Characters of a document."""

    shortest: int
    longest: int


def order_of(name: str) -> bytes:
    """Place of a name in a fixed random order."""
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def pieces(text: str, longest: int, level: int = 0) -> Iterator[tuple[int, int]]:
    """Yield start and end of pieces of at most ``longest`` characters, cut at the best places that are there."""
    start = 0
    for cut in (*CUTS[level].finditer(text), None):
        end = len(text) if cut is None else cut.start()
        if 0 < end - start <= longest:
            yield start, end
        elif end > start and level + 1 < len(CUTS):
            for a, b in pieces(text[start:end], longest, level + 1):
                yield start + a, start + b
        start = end if cut is None else cut.end()


def documents(text: str, limits: Limits) -> Iterator[str]:
    """Yield the documents of a text."""
    start = end = -1
    for a, b in pieces(text, limits.longest):
        if start >= 0 and (b - start > limits.longest or end - start >= limits.shortest):
            if end - start >= limits.shortest:
                yield text[start:end]
            start = -1
        start, end = (a if start < 0 else start), b
    if start >= 0 and end - start >= limits.shortest:
        yield text[start:end]


def texts(source: Path) -> Iterator[tuple[str, str]]:
    """Yield id and text of every line of a file."""
    opener: Any = gzip.open if source.suffix == ".gz" else open
    with opener(source, "rt", encoding="utf-8") as lines:
        for line in lines:
            fields = json.loads(line)
            yield str(fields["id"]), fields["text"]


def cut_source(source: Path, name: str, limits: Limits) -> Iterator[tuple[str, str]]:
    """Yield id and text of every document of a source."""
    for identifier, text in texts(source):
        for number, document in enumerate(documents(text, limits)):
            yield f"{name}:{identifier}#{number}", document


def filled(source: Path, name: str, limits: Limits, room: int) -> Iterator[tuple[str, str]]:
    """Yield documents of whole texts, in the order of the hash of their id, until ``room`` is used up."""
    held = sorted(texts(source), key=lambda entry: order_of(entry[0]))
    for identifier, text in held:
        for number, document in enumerate(documents(text, limits)):
            if room == 0:
                return
            room -= 1
            yield f"{name}:{identifier}#{number}", document


def gather(sources: list[Path], limits: Limits, wanted: int) -> list[tuple[str, str]]:
    """All documents of all sources, at most ``wanted``."""
    found: list[tuple[str, str]] = []
    for source in sources:
        name = source.parent.name if source.suffix == ".gz" else source.name.removesuffix(".jsonl")
        before = len(found)
        room = wanted - before
        if source == sources[-1]:
            found.extend(filled(source, name, limits, room))
        else:
            found.extend(list(cut_source(source, name, limits))[:room])
        characters = sum(len(text) for _, text in found[before:])
        print(f"{source.name} ({name}): {len(found) - before:,} documents, {characters:,} characters", file=sys.stderr)
    return found


def describe(output: Path, found: list[tuple[str, str]]) -> None:
    """Write the documents and say what they are."""
    with output.open("w", encoding="utf-8") as sink:
        for identifier, text in found:
            sink.write(json.dumps({"id": identifier, "text": text}, ensure_ascii=False) + "\n")
    lengths = sorted(len(text) for _, text in found)
    copies = sum(count - 1 for count in Counter(order_of(text) for _, text in found).values())
    print(
        f"{output.name}: {len(found):,} documents, {output.stat().st_size:,} bytes, {sum(lengths):,} characters "
        f"(median {lengths[len(lengths) // 2]}, {lengths[0]} to {lengths[-1]}); {copies:,} are copies of another's text"
    )


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--more", type=int, default=60_000)
    parser.add_argument("--shortest", type=int, default=200)
    parser.add_argument("--longest", type=int, default=800)
    args = parser.parse_args()
    found = gather(args.sources, Limits(args.shortest, args.longest), args.documents + args.more)
    found.sort(key=lambda entry: order_of(entry[0]))
    if len({identifier for identifier, _ in found}) != len(found):
        raise SystemExit("two documents have one id: give sources with distinct names")
    describe(args.output, found[: args.documents])
    describe(args.output.with_suffix(".more.jsonl"), found[args.documents :])


if __name__ == "__main__":
    main()
