"""Make the documents, the questions with their true answers, and the crowd for `index_compare.py`; seeded.

    python benchmarks/peers_index/questions.py FILE.jsonl FOLDER --documents 1000000 [--number 1000] [--seed 1]

Writes four collections to FOLDER. `documents.jsonl` has the first N lines of a shuffle of FILE. `tenth.jsonl` has a
tenth of them, and `large.jsonl` three times as many if FILE has them. `crowd.jsonl` has 100,000 documents and 50,000
versions of one order mail, shuffled. `questions.jsonl` has edited copies of documents of the tenth and texts that are
in no collection, in turns. `crowd_questions.jsonl` has further versions of the mail.

In an edited copy, words are replaced by words of other documents, one after another, until its exact Jaccard similarity
to the original is in a range drawn from 0.80 to 0.96. The truth is exact: the program counts the shingles that each
document of the largest collection shares with each question, in plain Python. It shares no code with neardup.
"""

from __future__ import annotations

import argparse
import json
import random
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from gauge import THRESHOLD, read_documents, shingles

HIGHEST = 0.96
SHORTEST = 80
HELD_OUT = 20_000
CROWD, AMONG = 50_000, 100_000
MAIL = (
    "Dear customer, your order number {} of {} has been shipped today by our partner and will arrive at {} within "
    "three working days. Please keep this message until you have received the parcel, and contact our service if "
    "anything is missing. Thank you for shopping with us, {} and the whole team."
)
GOODS = ["books", "shoes", "lamps", "tools"]
CITIES = ["Berlin", "Paris", "London", "Rome", "Madrid", "Vienna", "Prague", "Oslo"]
NAMES = "Anna Bob Carla Dieter Emil Frieda Gustav Hanna Ida Jan Karl Lena Max Nora Otto Paul"


def jaccard(a: set[str], b: set[str]) -> float:
    """Return the exact similarity of two sets."""
    return len(a & b) / len(a | b)


def edited(text: str, words: list[str], rng: random.Random) -> str | None:
    """Replace words until the similarity is in the wanted range; None if one replacement jumps over the range."""
    original = shingles(text)
    highest = rng.uniform(THRESHOLD + 0.03, HIGHEST)
    parts = text.split(" ")
    while True:
        parts[rng.randrange(len(parts))] = rng.choice(words)
        now = " ".join(parts)
        similarity = jaccard(original, shingles(now))
        if similarity < THRESHOLD:
            return None
        if similarity <= highest:
            return now


def shuffled(source: Path, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield the documents of a file in shuffled order, without keeping them in memory."""
    with source.open("rb") as lines:
        starts, position = array("q"), 0
        for line in lines:
            starts.append(position)
            position += len(line)
        rng.shuffle(starts)
        for start in starts:
            lines.seek(start)
            fields = json.loads(lines.readline())
            yield {"id": str(fields["id"]), "text": fields["text"]}


def documents(source: Path) -> Iterator[dict[str, Any]]:
    """Yield the documents of a collection as rows."""
    return ({"id": identifier, "text": text} for identifier, text in read_documents(source))


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows as JSONL."""
    with path.open("w", encoding="utf-8") as sink:
        sink.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def mail(rng: random.Random) -> str:
    """Return one version of the order mail."""
    return MAIL.format(rng.randrange(10**6), rng.choice(GOODS), rng.choice(CITIES), rng.choice(NAMES.split()))


def add_truth(questions: list[dict[str, Any]], source: Path) -> None:
    """Add to each question the row, id and similarity of every document of ``source`` that is similar to it."""
    sets = [shingles(question["text"]) for question in questions]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, members in enumerate(sets):
        for shingle in members:
            holders[shingle].append(number)
    asked = set(holders)
    for row, (identifier, text) in enumerate(read_documents(source)):
        mine = shingles(text)
        shared = Counter(number for shingle in mine & asked for number in holders[shingle])
        for number, common in shared.items():
            similarity = common / (len(mine) + len(sets[number]) - common)
            if similarity >= THRESHOLD:
                questions[number]["true"].append((row, identifier, similarity))


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, required=True)
    parser.add_argument("--number", type=int, default=1_000, help="questions of each kind")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with args.file.open("rb") as lines:
        there = sum(1 for _ in lines) - HELD_OUT
    if there < args.documents:
        parser.error(f"{args.file} has {there + HELD_OUT:,} lines. Give --limit {max(0, there)} or less.")
    large = args.folder / "large.jsonl"
    rows = shuffled(args.file, rng)
    write(large, islice(rows, min(there, 3 * args.documents)))
    for name, number in (("documents", args.documents), ("tenth", args.documents // 10)):
        with (
            large.open(encoding="utf-8") as source,
            (args.folder / f"{name}.jsonl").open("w", encoding="utf-8") as sink,
        ):
            sink.writelines(islice(source, number))
    known = {hash(text) for _, text in read_documents(large)}
    strangers = [row["text"] for row in islice(rows, HELD_OUT) if hash(row["text"]) not in known]
    words = [word for text in strangers[-2000:] for word in text.split(" ") if word.isalpha()]
    originals = [pair for pair in read_documents(args.folder / "tenth.jsonl") if len(pair[1]) >= SHORTEST]
    rng.shuffle(originals)
    copies = ((identifier, edited(text, words, rng)) for identifier, text in originals)
    planted = islice(((identifier, text) for identifier, text in copies if text), args.number)
    questions: list[dict[str, Any]] = []
    for (identifier, text), stranger in zip(planted, strangers, strict=False):
        questions.append({"text": text, "source": identifier, "true": []})
        questions.append({"text": stranger, "source": None, "true": []})
    add_truth(questions, large)
    write(args.folder / "questions.jsonl", questions)
    mails = [{"id": f"mail {number}", "text": mail(rng)} for number in range(CROWD)]
    crowd = [*islice(documents(large), AMONG), *mails]
    rng.shuffle(crowd)
    write(args.folder / "crowd.jsonl", crowd)
    write(args.folder / "crowd_questions.jsonl", [{"text": mail(rng), "source": None, "true": []} for _ in range(20)])
    print(f"{len(questions):,} questions, {sum(len(question['true']) for question in questions):,} true pairs")


if __name__ == "__main__":
    main()
