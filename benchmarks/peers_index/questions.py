"""Questions for an index: edited copies of its documents with known similarity, and texts that are not in it, in turns.

    python benchmarks/peers_index/questions.py FILE.jsonl MORE.jsonl QUESTIONS.jsonl [--number 10000] [--seed 1]

An edited copy has words replaced, one after another, by words of other documents until its exact Jaccard similarity to
the original (character 9-shingles, plain Python sets) lies in a range drawn from 0.80 to 0.95. The foreign texts are
documents of MORE whose text is not in FILE; near-copies of some may be in it, as in life. Shares no code with neardup.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from gauge import read_documents

SHINGLE = 9
LOWEST, HIGHEST = 0.80, 0.95


def shingles(text: str) -> set[str]:
    """The set of character 9-shingles."""
    return {text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)} or {text}


def jaccard(a: set[str], b: set[str]) -> float:
    """Exact similarity."""
    return len(a & b) / len(a | b)


def edited(text: str, words: list[str], rng: random.Random) -> tuple[str, float] | None:
    """Replace words until the similarity is in the range wanted; None when a step jumps over it."""
    original = shingles(text)
    highest = rng.uniform(LOWEST + 0.03, HIGHEST)
    parts = text.split(" ")
    while True:
        parts[rng.randrange(len(parts))] = rng.choice(words)
        now = " ".join(parts)
        similarity = jaccard(original, shingles(now))
        if similarity < LOWEST:
            return None
        if similarity <= highest:
            return now, similarity


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("more", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--limit", type=int, default=None, help="take originals from the first so many documents")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    known = {hash(text) for _, text in read_documents(args.file, args.limit)}
    foreign = [text for _, text in read_documents(args.more) if hash(text) not in known]
    chosen = set(rng.sample(range(len(known)), args.number))
    originals = [pair for row, pair in enumerate(read_documents(args.file, args.limit)) if row in chosen]
    rng.shuffle(originals)
    words = [word for text in foreign[-2000:] for word in text.split(" ") if word.isalpha()]
    number = 0
    with args.output.open("w", encoding="utf-8") as sink:
        for identifier, text in originals:
            made = edited(text, words, rng)
            if made is None or number == args.number // 2:
                continue
            copy = {"text": made[0], "source": identifier, "similarity": made[1]}
            stranger = {"text": foreign[number], "source": None, "similarity": None}
            sink.writelines(json.dumps(question, ensure_ascii=False) + "\n" for question in (copy, stranger))
            number += 1
    print(f"{number:,} edited copies, as many foreign texts")


if __name__ == "__main__":
    main()
