"""The collections in examples/ are what examples/README.md says they are."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

PAPERS = 300
CHAPTERS = ("1Cor.13", "1John.1", "1Tim.2", "2John.1", "3John.1", "Rev.15")
VERSIONS = ("KJVPCE", "NHEB", "NHEBME", "RWebster", "Webster")


def _records(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def abstracts(shared_data: Path) -> str:
    """examples/abstracts.jsonl: the papers whose arXiv ids have the smallest SHA-256, both versions."""
    rows = _records(shared_data / "arxiv_revisions" / "abstracts.jsonl.gz")
    papers = sorted({row["cluster"] for row in rows}, key=lambda name: hashlib.sha256(name.encode()).digest())
    chosen = set(papers[:PAPERS])
    kept = [{key: row[key] for key in ("id", "text", "cat")} for row in rows if row["cluster"] in chosen]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in kept)


def chapters(shared_data: Path) -> dict[str, str]:
    """The files of examples/chapters: name inside that folder, and text."""
    rows = _records(shared_data / "bible_nt" / "chapters.jsonl.gz")
    return {
        f"{row['cluster']}/{row['version']}.txt": row["text"] + "\n"
        for row in rows
        if row["cluster"] in CHAPTERS and row["version"] in VERSIONS
    }


@pytest.mark.shared_data
def test_abstracts_are_the_stated_choice_of_the_collection(repository: Path, shared_data: Path) -> None:
    shipped = (repository / "examples" / "abstracts.jsonl").read_text(encoding="utf-8")
    assert shipped == abstracts(shared_data)


@pytest.mark.shared_data
def test_chapters_are_the_stated_choice_of_the_collection(repository: Path, shared_data: Path) -> None:
    folder = repository / "examples" / "chapters"
    shipped = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.txt")}
    assert shipped == chapters(shared_data)


def test_examples_are_complete_and_small(repository: Path) -> None:
    path = repository / "examples" / "abstracts.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    papers = Counter(row["id"].partition("@")[0] for row in rows)
    assert len(papers) == PAPERS
    assert set(papers.values()) == {2}
    assert path.stat().st_size <= 700_000
    assert len(list((repository / "examples" / "chapters").rglob("*.txt"))) == len(CHAPTERS) * len(VERSIONS)
