"""The collections of ../shared/data as lists of (id, text) or of sets."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

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


def documents(folder: Path, name: str) -> tuple[list[str], list[str]]:
    """The ids and the texts of a collection."""
    with gzip.open(folder / TEXTS[name], "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    return [str(record["id"]) for record in records], [record["text"] for record in records]


def baskets(folder: Path, name: str) -> list[frozenset[str]]:
    """One set a line."""
    with gzip.open(folder / BASKETS[name], "rt", encoding="utf-8") as lines:
        return [frozenset(line.split()) for line in lines]


def word_pairs(folder: Path, name: str) -> dict[tuple[str, str], float]:
    """The pairs of w3 >= 0.5 that an independent program found."""
    with gzip.open(folder / WORD_PAIRS[name], "rt", encoding="utf-8", newline="") as lines:
        return {
            (min(row["id1"], row["id2"]), max(row["id1"], row["id2"])): float(row["jaccard"])
            for row in csv.DictReader(lines)
        }
