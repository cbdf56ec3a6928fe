"""Inputs made to hurt, at n and 2n: the time must grow like the input, not like its square.

    python benchmarks/adversarial.py --work FOLDER [--neardup "neardup"] [--cases copies hot ...] [--scale
    1.0]

Cases (at 2n, --scale 1):

- copies: 200,000 copies of one page;
- boilerplate: 200,000 documents that share one long boilerplate and differ by a line (every pair has J of
  about 0.95, one bucket holds all);
- hot: the same with a longer line of its own, so that every pair has J just below t (0.78): hot buckets
  without a pair, but for 200 planted pairs with J of about 0.95, whose found share is printed;
- giant: one document of 200 MB beside 10,000 small ones, three of them planted pairs;
- empty-lines: a million empty lines, read as lines;
- blank-jsonl: a million blank lines in a JSONL file with 100 documents.

The files are made under --work from a seeded generator and removed after their run. Each run is one thread
on one core and is ended after --limit seconds, which the table shows as "over". A ratio of 2 is linear.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness import Run, measure

THRESHOLD = 0.8
SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]


@dataclass(frozen=True, slots=True)
class Made:
    """A generated input: the file, flags it needs, and the pairs that must be found."""

    file: Path
    flags: list[str] = field(default_factory=list)
    planted: list[tuple[str, str]] = field(default_factory=list)


def prose(characters: int, rng: random.Random) -> str:
    """Return about so many characters of words that no two calls share in order."""
    words: list[str] = []
    length = 0
    while length < characters:
        word = "".join(rng.choices(SYLLABLES, k=rng.randint(1, 4)))
        words.append(word)
        length += len(word) + 1
    return " ".join(words)


def line(identifier: str, text: str) -> str:
    """One line of JSONL."""
    return json.dumps({"id": identifier, "text": text}) + "\n"


def copies(file: Path, scale: float, rng: random.Random) -> Made:
    """Copies of one page of 2,000 characters."""
    page = prose(2000, rng)
    with file.open("w") as sink:
        sink.writelines(line(f"copy{n}", page) for n in range(int(200_000 * scale)))
    return Made(file)


def boilerplate(file: Path, scale: float, rng: random.Random) -> Made:
    """A shared text of 1,950 characters and a line of 50 of each document's own."""
    shared = prose(1950, rng)
    with file.open("w") as sink:
        sink.writelines(line(f"page{n}", f"{shared} {prose(45, rng)}") for n in range(int(200_000 * scale)))
    return Made(file)


def hot(file: Path, scale: float, rng: random.Random) -> Made:
    """J = s / (s + 2 u) of about 0.78 for all pairs but the planted ones, which share most of their line."""
    shared = prose(1600, rng)
    count = int(200_000 * scale)
    planted = []
    twins = {n: n + count // 2 for n in range(0, count // 2, max(1, count // 400))}
    partner = {late: early for early, late in twins.items()}
    kept: dict[int, str] = {}
    with file.open("w") as sink:
        for n in range(count):
            own = prose(222, rng)
            if n in twins:
                kept[n] = own
            elif n in partner:
                own = kept[partner[n]][:200] + own[:22]
                planted.append((f"page{partner[n]}", f"page{n}"))
            sink.write(line(f"page{n}", f"{shared} {own}"))
    return Made(file, planted=planted)


def giant(file: Path, scale: float, rng: random.Random) -> Made:
    """One huge document among 10,000 small ones."""
    block = [prose(1000, rng) for _ in range(2000)]
    wanted = int(200_000_000 * scale)
    with file.open("w") as sink:
        small = [prose(1000, rng) for _ in range(10_000)]
        for n, text in enumerate(small):
            sink.write(line(f"small{n}", text))
            if n == 5000:
                parts = []
                length = 0
                while length < wanted:
                    parts.append(f"{rng.getrandbits(64):x} {block[rng.randrange(2000)]}")
                    length += len(parts[-1]) + 1
                sink.write(line("giant", " ".join(parts)))
        for n in range(3):
            sink.write(line(f"twin{n}", small[n * 3000] + " again"))
    return Made(file, planted=[(f"small{n * 3000}", f"twin{n}") for n in range(3)])


def empty_lines(file: Path, scale: float, _: random.Random) -> Made:
    """Nothing but line ends; each line is an empty document."""
    file.write_bytes(b"\n" * int(1_000_000 * scale))
    return Made(file, flags=["--input-format", "lines"])


def blank_jsonl(file: Path, scale: float, rng: random.Random) -> Made:
    """A hundred documents between runs of blank lines, each document twice."""
    gap = "\n" * int(1_000_000 * scale / 100)
    texts = [prose(500, rng) for _ in range(50)]
    with file.open("w") as sink:
        sink.writelines(gap + line(f"{half}{n}", text) for half in "ab" for n, text in enumerate(texts))
    return Made(file, planted=[(f"a{n}", f"b{n}") for n in range(50)])


CASES: dict[str, Callable[[Path, float, random.Random], Made]] = {
    "copies": copies,
    "boilerplate": boilerplate,
    "hot": hot,
    "giant": giant,
    "empty-lines": empty_lines,
    "blank-jsonl": blank_jsonl,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One size of one case: the run (None when it was ended), the summary, the planted pairs found."""

    megabytes: float
    run: Run | None
    summary: dict[str, object]
    found: str


def found_share(made: Made, pairs: Path) -> str:
    """How many of the planted pairs are in the pairs file, as `found/planted`."""
    if not made.planted:
        return "–"
    with pairs.open(encoding="utf-8") as lines:
        records = [json.loads(one) for one in lines]
    known = {frozenset((str(one["id_a"]), str(one["id_b"]))) for one in records}
    return f"{sum(frozenset(pair) in known for pair in made.planted)}/{len(made.planted)}"


def run_case(name: str, scale: float, args: argparse.Namespace) -> Outcome:
    """Make the input, find its pairs, remove it."""
    suffix = ".txt" if name == "empty-lines" else ".jsonl"
    made = CASES[name](args.work / f"{name}{suffix}", scale, random.Random(f"{name} {args.seed}"))
    pairs = args.work / f"{name}.pairs.jsonl"
    flags = ["-t", str(THRESHOLD), "-o", str(pairs), "--threads", "1", "--quiet", "--json"]
    command = [*shlex.split(args.neardup), "find", str(made.file), *flags, *made.flags]
    megabytes = made.file.stat().st_size / 1e6
    try:
        run = measure(command, args.core, limit=args.limit)
        return Outcome(megabytes, run, json.loads(run.stdout), found_share(made, pairs))
    except TimeoutError as over:
        print(over, file=sys.stderr)
        return Outcome(megabytes, None, {}, "–")
    finally:
        for file in (made.file, pairs, pairs.with_name(pairs.name + ".spec.json")):
            file.unlink(missing_ok=True)


def row(name: str, half: Outcome, full: Outcome) -> str:
    """One row of the table: seconds at n and 2n, their ratio, and what was found at 2n."""
    seconds = [f"{one.run.seconds:.1f}" if one.run else "over" for one in (half, full)]
    ratio = f"{full.run.seconds / half.run.seconds:.2f}" if half.run and full.run else "–"
    cpu = f"{full.run.cpu_seconds / half.run.cpu_seconds:.2f}" if half.run and full.run else "–"
    peak = f"{full.run.peak_mib:.0f}" if full.run else "–"
    keys = ("documents", "empty", "blank", "checked", "pairs", "crowds")
    counts = [str(full.summary.get(key, "–")) for key in keys]
    return (
        f"| {name} | {full.megabytes:.1f} | {seconds[0]} | {seconds[1]} | {ratio} | {cpu} | {peak} | "
        + " | ".join(counts)
        + f" | {full.found} |"
    )


def main() -> None:
    """Parse the command line, run the cases, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for the inputs, up to 1 GB at a time")
    parser.add_argument("--neardup", default="neardup")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a run is ended")
    parser.add_argument("--core", default="0")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    print(
        "| case | MB at 2n | s at n | s at 2n | ratio | CPU ratio | peak MiB | documents | empty | blank | "
        "checked | pairs | crowds | planted found |\n|" + "---|" * 14
    )
    for name in args.cases:
        half, full = (run_case(name, args.scale * part, args) for part in (0.5, 1.0))
        print(row(name, half, full), flush=True)


if __name__ == "__main__":
    main()
