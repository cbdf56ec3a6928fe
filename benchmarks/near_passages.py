"""Passages with changes beside truth that is known: what ``neardup.passages(gaps=…)`` finds and misses.

    python benchmarks/near_passages.py DATA [--only reprints editions essays cost]

DATA is the folder of the project's public data sets. ``reprints``: 100 stories cut out of abstracts of arXiv, printed
five times each between other abstracts, every copy with errors of a scanner of its own (characters changed, lost and
put in; words broken by a soft hyphen, or by a hyphen and a line end), in a small collection and behind 7,800 other
abstracts. Precision and recall count characters in reported places; recall of pairs counts pairs of copies of one story
that have one number, precision of pairs the pairs of reported places of one number that are copies of one story.
``editions``: eleven translations of the New Testament; ``essays``: answers that were copied from an article or not.
``cost``: work a character as copies grow. Beside it stands ``by_pairs``: our reading of how passim is published to work
(Smith, Cordell and Mullen 2015; its defaults n = 25, max df = 100, min match = 5, gap = 600), without its alignment.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import neardup

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Place(NamedTuple):
    """A stretch of a document, in characters, and the number of its passage or story."""

    document: int
    start: int
    end: int
    number: int


Finder = Callable[[list[str]], list[Place]]


def neardup_with(**how: Any) -> Finder:
    """Passages of neardup with these options."""

    def find(texts: list[str]) -> list[Place]:
        table = neardup.passages(texts, threads=1, **how).spans
        number = "passage"
        if number not in table.column_names:  # exact ones have a source in its place
            number = "number"
            sources = (table[name].to_pylist() for name in ("source_id", "source_start"))
            table = table.append_column(number, [[a << 24 | b for a, b in zip(*sources, strict=True)]])
        columns = (table[name].to_pylist() for name in ("id", "start", "end", number))
        return list(itertools.starmap(Place, zip(*columns, strict=True)))

    return find


def by_pairs(texts: list[str], *, n: int = 25, most: int = 100, least: int = 5, gap: int = 600) -> list[Place]:
    """Pairs of documents with enough rare n-grams of letters and digits in rising order; overlapping places joined."""
    index: dict[int, list[tuple[int, int]]] = defaultdict(list)
    places = []
    for d, text in enumerate(texts):
        at = [i for i, c in enumerate(text) if c.isalnum()]
        folded = "".join(text[i] for i in at).lower()
        places.append(at)
        for i in range(len(folded) - n + 1):
            index[hash(folded[i : i + n])].append((d, i))
    shared: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for found in index.values():
        if 2 <= len({d for d, _ in found}) <= most:
            for (a, i), (b, j) in itertools.combinations(found, 2):
                if a != b:
                    shared[a, b].append((i, j))
    nodes: list[Place] = []
    edges = []
    for (a, b), matches in shared.items():
        for run in _runs(sorted(matches), gap):
            if len(run) >= least:
                (i, j), (k, m) = run[0], run[-1]
                for d, first, last in ((a, i, k), (b, j, m)):
                    nodes.append(Place(d, places[d][first], places[d][last + n - 1] + 1, 0))
                edges.append((len(nodes) - 2, len(nodes) - 1))
    return _together(nodes, edges)


def _runs(matches: list[tuple[int, int]], gap: int) -> Iterator[list[tuple[int, int]]]:
    run: list[tuple[int, int]] = []
    for i, j in matches:
        if run and not (i - run[-1][0] <= gap and 0 <= j - run[-1][1] <= gap):
            yield run
            run = []
        run.append((i, j))
    if run:
        yield run


def _together(nodes: list[Place], edges: list[tuple[int, int]]) -> list[Place]:
    """Places that overlap by half, or are an edge, are one passage; of one document they are one place."""
    parent = list(range(len(nodes)))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    merged: list[list[int]] = []
    last = -1
    for i in sorted(range(len(nodes)), key=lambda i: nodes[i][:3]):
        d, start, end, _ = nodes[i]
        if merged and nodes[last].document == d:
            over = min(end, merged[-1][2]) - start
            if 2 * over > min(end - start, merged[-1][2] - merged[-1][1]):
                merged[-1][2] = max(merged[-1][2], end)
                parent[find(i)] = find(last)
                continue
        merged.append([d, start, end, i])
        last = i
    for a, b in edges:
        parent[find(a)] = find(b)
    return [Place(d, start, end, find(i)) for d, start, end, i in merged]


def scanned(text: str, rate: float, draw: random.Random) -> str:
    """A text as a bad scanner reads it: ``rate`` of its characters are wrong; one word in 50 is broken."""
    out = []
    for i, c in enumerate(text):
        x = draw.random()
        if x < 0.7 * rate:
            out.append(draw.choice(LETTERS))
        elif x < 0.85 * rate:
            continue
        else:
            out.append(c)
            if x < rate:
                out.append(draw.choice(LETTERS))
        if c.isalpha() and text[i + 1 : i + 2].isalpha() and draw.random() < 0.004:
            out.append(draw.choice(["\u00ad", "-\n"]))
    return "".join(out)


def abstracts(data: Path) -> list[str]:
    """Abstracts of arXiv, in a random order."""
    with gzip.open(data / "arxiv_10k" / "abstracts.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [" ".join(json.loads(line)["text"].split()) for line in lines]
    random.Random(1).shuffle(texts)
    return texts


def reprints(texts: list[str], rate: float, *, stories: int = 100, copies: int = 5) -> tuple[list[str], list[Place]]:
    """Documents of two copies each between other text, out of 1,600 abstracts; and where the copies are."""
    draw = random.Random(2)
    ground, filling = " ".join(texts[:600]), iter(" ".join(texts[600:1600]))
    cuts = np.cumsum([draw.randint(300, 900) for _ in range(stories + 1)]).tolist()
    jobs = [story for story in range(stories) for _ in range(copies)]
    draw.shuffle(jobs)
    documents, truth = [], []
    for first in range(0, len(jobs), 2):
        text = ""
        for story in jobs[first : first + 2]:
            text += "".join(itertools.islice(filling, draw.randint(200, 1200)))
            copy = scanned(ground[cuts[story] : cuts[story + 1]], rate, draw)
            truth.append(Place(len(documents), len(text), len(text) + len(copy), story))
            text += copy
        documents.append(text + "".join(itertools.islice(filling, draw.randint(200, 1200))))
    return documents, truth


def judge(texts: list[str], truth: list[Place], found: list[Place]) -> str:
    """Precision and recall of characters and of pairs, in the documents from the first with a true place on."""
    first = min(each.document for each in truth)
    found = [each for each in found if each.document >= first]
    size = max(map(len, texts)) + 1
    story, number = (np.full((len(texts), size), -1) for _ in range(2))
    for into, places in ((story, truth), (number, found)):
        for each in places:
            into[each.document, each.start : each.end] = each.number
    both = np.count_nonzero((story >= 0) & (number >= 0))
    precision, recall = both / max(1, np.count_nonzero(number >= 0)), both / np.count_nonzero(story >= 0)

    def same(places: list[Place], labels: np.ndarray) -> float:
        groups: dict[int, list[int]] = defaultdict(list)
        for i, each in enumerate(places):
            inside = labels[each.document, each.start : each.end]
            name, count = Counter(inside[inside >= 0].tolist()).most_common(1)[0] if (inside >= 0).any() else (0, 0)
            groups[each.number].append(name if 2 * count > inside.size else -1 - i)
        pairs = [a == b for group in groups.values() for a, b in itertools.combinations(group, 2)]
        return sum(pairs) / max(1, len(pairs))

    return (
        f"characters: precision {precision:.3f}, recall {recall:.3f}; pairs: precision {same(found, story):.3f},"
        f" recall {same(truth, number):.3f}; {len(found):,} places"
    )


CHARACTERS = {"min_chars": 100, "normalize": "casefold,space"}
FINDERS: dict[str, Finder] = {
    "exact, 32 characters": neardup_with(min_chars=32, normalize="casefold,space"),
    "gaps=60": neardup_with(gaps=60, **CHARACTERS),
    "gaps=100": neardup_with(gaps=100, **CHARACTERS),
    "gaps=200": neardup_with(gaps=200, **CHARACTERS),
    "gaps=200, min_match=20": neardup_with(gaps=200, min_match=20, **CHARACTERS),
    "words, gaps=20": neardup_with(gaps=20, min_words=20, min_similarity=0.3, normalize="casefold"),
    "pairs of documents": by_pairs,
}


def tell_reprints(data: Path) -> None:
    """Stories at four rates of errors, alone and behind other texts."""
    texts = abstracts(data)
    for name, before in (("alone", []), ("behind 7,800 others", texts[1600:9400])):
        for rate in (0.01, 0.03, 0.05, 0.1):
            documents, truth = reprints(texts, rate)
            moved = [each._replace(document=each.document + len(before)) for each in truth]
            for how, find in FINDERS.items():
                if before and how not in ("gaps=100", "gaps=200"):
                    continue
                begin = time.process_time()
                found = find(before + documents)
                took = time.process_time() - begin
                told = judge(before + documents, moved, found)
                print(f"{name}, {rate:.0%} errors, {how}: {told}; {took:.1f} CPU s", flush=True)


def tell_editions(data: Path) -> None:
    """What share of two chapters is in passages of one number, by their similarity in words."""
    with gzip.open(data / "bible_nt" / "chapters.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    with gzip.open(data / "bible_nt" / "chapters.all_pairs_w3.csv.gz", "rt") as lines:
        near = [(row["id1"], row["id2"], float(row["jaccard"])) for row in csv.DictReader(lines)]
    for how in ({"min_chars": 100, "gaps": 100}, {"min_words": 20, "gaps": 10}, {"min_words": 20, "gaps": 20}):
        begin = time.process_time()
        table = neardup.passages([row["text"] for row in rows], normalize="casefold,punct,space", threads=1, **how)
        took = time.process_time() - begin
        shares: dict[str, Counter[int]] = defaultdict(Counter)
        inside = total = 0
        for row in table.spans.to_pylist():
            name, size = rows[row["id"]]["id"], row["end"] - row["start"]
            shares[name][row["passage"]] += size
            if not row["first"]:
                total += size
                inside += size * (rows[row["id"]]["cluster"] == rows[row["source_id"]]["cluster"])
        sizes = {row["id"]: len(row["text"]) for row in rows}

        def common(a: str, b: str, shares: Any = shares, sizes: Any = sizes) -> float:
            return min(1.0, sum((shares[a] & shares[b]).values()) / min(sizes[a], sizes[b]))

        told = []
        for low, high in ((0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 1.01)):
            some = [common(a, b) for a, b, similarity in near if low <= similarity < high]
            told.append(f"{low}: {np.mean(some):.3f}")
        print(
            f"editions, {how}: share of two chapters found, from a Jaccard similarity of word 3-grams of"
            f" {', '.join(told)}; {inside / total:.3f} of the copied text has its source in the same chapter;"
            f" {len(table.spans):,} places; {took:.1f} CPU s",
            flush=True,
        )


def tell_essays(data: Path) -> None:
    """Of which answers something is found in the article, and how much of them."""
    with gzip.open(data / "clough_stevenson" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {row["id"]: row["text"] for row in map(json.loads, lines)}
    with open(data / "clough_stevenson" / "pairs.csv") as lines:
        pairs = list(csv.DictReader(lines))
    names = sorted(texts, key=lambda name: (not name.startswith("orig"), name))
    for how in ({"min_words": 8}, {"min_words": 8, "gaps": 6}, {"min_words": 12, "gaps": 8}):
        table = neardup.passages([texts[name] for name in names], normalize="casefold", threads=1, **how).spans
        copied: Counter[str] = Counter()
        for row in table.to_pylist():
            if not row["first"]:
                copied[names[row["id"]]] += row["end"] - row["start"]
        shares: dict[str, list[float]] = defaultdict(list)
        for pair in pairs:
            answer = next(pair[key] for key in ("id1", "id2") if not pair[key].startswith("orig"))
            shares[pair["label"]].append(min(1.0, copied[answer] / len(texts[answer])))
        told = "; ".join(
            f"{label}: {sum(share > 0.1 for share in some)} of {len(some)}, share {np.mean(some):.2f}"
            for label, some in sorted(shares.items())
        )
        print(f"essays, {how}: more than a tenth copied: {told}", flush=True)


def tell_cost(data: Path) -> None:
    """CPU seconds and places as the copies of one story grow, each with changes of its own."""
    story = " ".join(abstracts(data))[:600]
    neardup.passages([story] * 3, min_chars=100, gaps=60)
    for copies in (1000, 4000, 16000):
        draw = random.Random(3)
        texts = [scanned(story, 0.02, draw) for _ in range(copies)]
        begin = time.process_time()
        found = neardup.passages(texts, min_chars=100, gaps=60, threads=1)
        print(
            f"cost, {copies:,} copies of one story, 2 % errors: {time.process_time() - begin:.2f} CPU s,"
            f" {len(found.spans):,} places of {len(set(found.spans['passage'].to_pylist()))} passages",
            flush=True,
        )


TOLD = {"reprints": tell_reprints, "editions": tell_editions, "essays": tell_essays, "cost": tell_cost}


def main() -> None:
    """Tell what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(TOLD), default=list(TOLD))
    arguments = parser.parse_args()
    for name in arguments.only:
        TOLD[name](arguments.data)


if __name__ == "__main__":
    main()
