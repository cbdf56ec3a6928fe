"""Real collections as lists of ids and texts, or of sets.

Four small ones are in the repository (``tests/recall/collections``), so every checkout can prove what neardup promises.
The larger ones are in ``../shared/data``, which not everybody has.
"""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import os
from functools import partial
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SHIPPED = {
    name: REPOSITORY / f"tests/recall/collections/{name}.jsonl.xz"
    for name in ("chapters", "messages", "reviews", "revisions")
}
TEXTS = {
    "clough_stevenson": "clough_stevenson/docs.jsonl.gz",
    "mccormick_100": "mccormick_articles/articles_100.jsonl.gz",
    "mccormick_1000": "mccormick_articles/articles_1000.jsonl.gz",
    "mccormick_2500": "mccormick_articles/articles_2500.jsonl.gz",
    "arxiv_revisions": "arxiv_revisions/abstracts.jsonl.gz",
    "arxiv_10k": "arxiv_10k/abstracts.jsonl.gz",
    "bible_nt": "bible_nt/chapters.jsonl.gz",
    "newsgroups": "newsgroups/messages.jsonl.gz",
    "dblp_acm": "records/dblp_acm.records.jsonl.gz",
    "cora": "records/cora.records.jsonl.gz",
    "udhr": "multilingual/udhr.jsonl.gz",
    "chinese_poems": "multilingual/chinese_poems.jsonl.gz",
    "korean_reviews": "multilingual/korean_reviews.jsonl.gz",
    "thai_messages": "multilingual/thai_messages.jsonl.gz",
}
BASKETS = {name: f"baskets/{name}.txt.gz" for name in ("retail", "mushroom", "foodmart")}
WORD_PAIRS = {
    "clough_stevenson": "clough_stevenson/docs.all_pairs_w3.csv.gz",
    "arxiv_revisions": "arxiv_revisions/abstracts.all_pairs_w3.csv.gz",
    "arxiv_10k": "arxiv_10k/abstracts.all_pairs_w3.csv.gz",
    "bible_nt": "bible_nt/chapters.all_pairs_w3.csv.gz",
    "newsgroups": "newsgroups/messages.all_pairs_w3.csv.gz",
    "dblp_acm": "records/dblp_acm.all_pairs_w3.csv.gz",
    "cora": "records/cora.all_pairs_w3.csv.gz",
}


def shared_data_folder() -> Path:
    """Return the folder of the larger collections: NEARDUP_SHARED_DATA, else ../shared/data next to the checkout."""
    named = os.environ.get("NEARDUP_SHARED_DATA")
    return Path(named).resolve() if named else REPOSITORY.parent / "shared" / "data"


def at_hand(*names: str) -> list[str]:
    """Return those of the names whose collections can be read here; the shipped ones always can."""
    return [name for name in names if name in SHIPPED or shared_data_folder().is_dir()]


def path_of(name: str) -> Path:
    """Return the file of a collection of texts."""
    return SHIPPED.get(name) or shared_data_folder() / TEXTS[name]


def documents(name: str) -> tuple[list[str], list[str]]:
    """Return the ids and the texts of a collection."""
    path = path_of(name)
    with (lzma.open if path.suffix == ".xz" else gzip.open)(path, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    return [str(record["id"]) for record in records], [record["text"] for record in records]


def baskets(name: str) -> list[frozenset[str]]:
    """Return the sets of a collection, one for each line of its file."""
    with gzip.open(shared_data_folder() / BASKETS[name], "rt", encoding="utf-8") as lines:
        return [frozenset(line.split()) for line in lines]


def word_pairs(name: str) -> dict[tuple[str, str], float]:
    """Return the pairs that share half of their word triples or more, which a program independent of neardup found."""
    shipped = SHIPPED[name].with_name(f"{name}.pairs_w3.csv") if name in SHIPPED else None
    opened = shipped.open if shipped else partial(gzip.open, shared_data_folder() / WORD_PAIRS[name])
    with opened("rt", encoding="utf-8", newline="") as lines:
        return {
            (min(row["id1"], row["id2"]), max(row["id1"], row["id2"])): float(row["jaccard"])
            for row in csv.DictReader(lines)
        }
