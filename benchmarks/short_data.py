"""Collections of very short documents, made of the project's public data sets by small edits.

    python benchmarks/short_data.py FOLDER DATA [reviews titles verses]

DATA is the folder of the public data sets (../shared/data). Written are `reviews.jsonl`, 712,383 Korean and Thai
messages of about 50 characters; `titles.jsonl`, 712,383 English titles of about 23 characters, of which three in ten
are near-copies of others; `verses.jsonl`, 3.4 million sentences of about 100 characters from eleven translations of the
New Testament, each again and again with ever more words changed. Everything follows from fixed seeds.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

REVIEWS = TITLES = 712_383
VERSES = 3_400_000
LETTERS = "abcdefghijklmnopqrstuvwxyz "


def texts_of(data: Path, pattern: str) -> list[str]:
    """The texts of the data sets whose file names match."""
    found = []
    for path in sorted(data.rglob(pattern)):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            found += [json.loads(line)["text"] for line in lines]
    if not found:
        raise SystemExit(f"{data} has no {pattern}. Name the folder of the public data sets.")
    return found


def edited(text: str, alphabet: str | list[str], draw: random.Random, edits: int) -> str:
    """A text with letters changed, dropped and put in at random places."""
    letters = list(text)
    for _ in range(edits):
        if letters:
            at, kind = draw.randrange(len(letters)), draw.random()
            if kind < 0.4:
                letters[at] = draw.choice(alphabet)
            elif kind < 0.7:
                del letters[at]
            else:
                letters.insert(at, draw.choice(alphabet))
    return "".join(letters)


def reviews(data: Path) -> Iterator[str]:
    """Messages with edits, and messages put together from two, with edits."""
    draw = random.Random(7)
    base = [text for text in texts_of(data, "korean_reviews*") + texts_of(data, "thai_messages*") if text.strip()]
    alphabet = sorted(set("".join(base)))
    words = [text.split() for text in base]
    for i in range(REVIEWS):
        text = draw.choice(base)
        if draw.random() >= 0.3:
            one, two = draw.choice(words), draw.choice(words)
            both = one[draw.randrange(len(one)) :][:6] + two[draw.randrange(len(two)) :][:4]
            text = " ".join(both)[:60] or base[i % len(base)]
        yield edited(text, alphabet, draw, draw.choice([1, 1, 2, 3, 5]))


def titles(data: Path) -> Iterator[str]:
    """Runs of words from the titles of papers, cut anywhere, and near-copies of them."""
    draw = random.Random(5)
    words = [word for text in texts_of(data, "*.records.jsonl.gz") for word in text.split()]
    base: list[str] = []
    for _ in range(TITLES):
        if base and draw.random() < 0.3:
            yield edited(draw.choice(base[:20_000]), LETTERS, draw, draw.choice([1, 1, 2]))
            continue
        at = draw.randrange(len(words) - 8)
        base.append(" ".join([*words[at : at + 3], draw.choice(words)])[: draw.randrange(12, 44)])
        yield base[-1]


def verses(data: Path) -> Iterator[str]:
    """Sentences, then the same with one word in 24 changed, two in 24, and so on to fourteen."""
    draw = random.Random(3)
    whole = texts_of(data, "chapters*.jsonl.gz")
    base = [part.strip() for text in whole for part in re.split(r"(?<=[.;:?!])\s+", text) if len(part.strip()) > 20]
    known = sorted({word for text in base for word in text.split()})
    for i in range(VERSES):
        words, turn = base[i % len(base)].split(), min(i // len(base), 14)
        for _ in range(max(1, len(words) * turn // 24) if turn else 0):
            words[draw.randrange(len(words))] = draw.choice(known)
        yield " ".join(words)


def write(path: Path, texts: Iterable[str]) -> None:
    """One {"id", "text"} a line."""
    with path.open("w", encoding="utf-8") as file:
        for i, text in enumerate(texts):
            file.write(json.dumps({"id": i, "text": text}, ensure_ascii=False) + "\n")
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB", file=sys.stderr)


MAKERS = {"reviews": reviews, "titles": titles, "verses": verses}


def main() -> None:
    """Write those that are named, or all."""
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    folder, data = Path(sys.argv[1]), Path(sys.argv[2])
    for name in sys.argv[3:] or MAKERS:
        write(folder / f"{name}.jsonl", MAKERS[name](data))


if __name__ == "__main__":
    main()
