"""Collections and what their labels say: which pairs are duplicates, and which pairs the labels judge at all.

Here: the labelled sets of the project's public data, the two releases of source code that the caller names, and the
labelled sets made by ``labels_noise.py``. Not here: finding and scoring (``labels.py``). Shares nothing with neardup.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import labels_noise as noise

I64 = NDArray[np.int64]

COPIED = ("near_copy", "light_revision", "heavy_revision")
"""Classes of answers whose authors were told to start from the source."""

NOT_DRAWN = -1
"""Group of documents that belong to every draw of the bootstrap."""

LINE_LEAST = 20
"""Characters of a line of the Declaration that is no heading."""

CODE_BYTES = 200
"""Smaller source files are left out: an empty ``__init__.py`` is no version of anything."""


@dataclass(frozen=True, slots=True)
class View:
    """One reading of the labels of a collection."""

    name: str
    truth: I64
    """Keys of the pairs that are duplicates, sorted."""
    unit: I64
    """For each document the group that the bootstrap draws as a whole."""
    side: I64 | None = None
    """Only pairs of documents of different sides are judged; None judges all."""
    among: NDArray[np.bool_] | None = None
    """Only pairs of two of these documents are judged; None judges all."""
    chosen: bool = True
    """Whether the view has a say in the choice of settings; not where the labels are incomplete or a part of others."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, and one or several views of their labels."""

    name: str
    kind: str
    labels: str
    """Who says what is a duplicate: ``human``, ``versions`` or ``synthetic``."""
    texts: list[str]
    views: tuple[View, ...]


def keys_of(left: Iterable[int], right: Iterable[int]) -> I64:
    """Pairs of rows as sorted distinct keys, the smaller row in the upper half."""
    a, b = np.asarray(list(left), dtype=np.int64), np.asarray(list(right), dtype=np.int64)
    return np.unique(np.minimum(a, b) << 32 | np.maximum(a, b))


def pairs_within(groups: Sequence[object]) -> I64:
    """The keys of all pairs of documents with the same group."""
    rows: dict[object, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    left, right = [], []
    for members in rows.values():
        for i, a in enumerate(members):
            for b in members[i + 1 :]:
                left.append(a)
                right.append(b)
    return keys_of(left, right)


def numbered(groups: Sequence[object]) -> I64:
    """The groups as numbers from 0."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=np.int64)


def joined(count: int, truth: I64) -> I64:
    """The connected groups of documents under the pairs of ``truth``, numbered from 0."""
    parent = list(range(count))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    for key in truth.tolist():
        parent[root(key >> 32)] = root(key & 0xFFFFFFFF)
    return numbered([root(row) for row in range(count)])


def records_of(path: Path) -> list[dict[str, str]]:
    """The records of a gzipped JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def listed(records: Sequence[dict[str, str]], path: Path) -> I64:
    """The keys of the pairs of ids that a CSV file lists."""
    row_of = {str(record["id"]): row for row, record in enumerate(records)}
    pairs = rows_of(path)
    return keys_of([row_of[pair["id1"]] for pair in pairs], [row_of[pair["id2"]] for pair in pairs])


def texts_of(records: Sequence[dict[str, str]]) -> list[str]:
    """Their texts."""
    return [record["text"] for record in records]


def by_cluster(
    folder: Path, file: str, *, name: str, kind: str, field: str = "cluster", chosen: bool = True
) -> Collection:
    """A collection whose records carry their group."""
    records = records_of(folder / file)
    groups = [record[field] for record in records]
    view = View(name, pairs_within(groups), numbered(groups), chosen=chosen)
    return Collection(name, kind, "human", texts_of(records), (view,))


def mccormick(folder: Path, size: int) -> Collection:
    """Shuffled sentences of news wires with planted copies."""
    records = records_of(folder / f"mccormick_articles/articles_{size}.jsonl.gz")
    truth = listed(records, folder / f"mccormick_articles/articles_{size}.pairs.csv")
    # the smaller file is a part of the larger one, so only one of them has a say
    view = View(f"mccormick_{size}", truth, joined(len(records), truth), chosen=size == 2500)
    return Collection(f"mccormick_{size}", "articles", "human", texts_of(records), (view,))


def clough_stevenson(folder: Path) -> Collection:
    """Short answers beside their sources; a view for each class, against answers written without the source.

    Two answers to one question are not judged: nobody labelled them.
    """
    records = records_of(folder / "clough_stevenson/docs.jsonl.gz")
    row_of = {record["id"]: row for row, record in enumerate(records)}
    pairs = rows_of(folder / "clough_stevenson/pairs.csv")
    sources = {pair["id2"] for pair in pairs}
    side = np.array([record["id"] in sources for record in records], dtype=np.int64)
    unit = np.where(side == 1, NOT_DRAWN, np.arange(len(records)))
    label_of = {pair["id1"]: pair["label"] for pair in pairs}
    labels = [label_of.get(record["id"], "source") for record in records]
    views = []
    for name, classes in {"all that was copied": COPIED, **{each: (each,) for each in COPIED}}.items():
        own = [(row_of[pair["id1"]], row_of[pair["id2"]]) for pair in pairs if pair["label"] in classes]
        among = np.isin(labels, [*classes, "non_plagiarised", "source"])
        truth = keys_of([answer for answer, _ in own], [source for _, source in own])
        views.append(View(f"clough, {name}", truth, unit, side, among, chosen=False))
    return Collection("clough_stevenson", "revised", "human", texts_of(records), tuple(views))


def dblp_acm(folder: Path) -> Collection:
    """Records of papers from two sources. Labels link the two, so pairs inside one source are not judged at first."""
    records = records_of(folder / "records/dblp_acm.records.jsonl.gz")
    truth = listed(records, folder / "records/dblp_acm.pairs.csv")
    unit = joined(len(records), truth)
    side = np.array([record["id"].startswith("acm") for record in records], dtype=np.int64)
    linked = View("dblp_acm", truth, unit, side)
    every = View("dblp_acm, pairs inside a source counted as false", truth, unit, chosen=False)
    return Collection("dblp_acm", "records", "human", texts_of(records), (linked, every))


def human(folder: Path) -> list[Collection]:
    """All collections with labels that people made.

    Reposts among the newsgroups carry no label, so that precision is a lower bound there.
    """
    return [
        by_cluster(folder, "arxiv_revisions/abstracts.jsonl.gz", name="arxiv_revisions", kind="articles"),
        by_cluster(folder, "bible_nt/chapters.jsonl.gz", name="bible_nt", kind="articles"),
        mccormick(folder, 1000),
        mccormick(folder, 2500),
        by_cluster(folder, "newsgroups/messages.jsonl.gz", name="newsgroups", kind="messages", chosen=False),
        clough_stevenson(folder),
        dblp_acm(folder),
        by_cluster(folder, "records/cora.records.jsonl.gz", name="cora", kind="records", field="label"),
    ]


def paired(name: str, kind: str, base: list[str], made: noise.Copies) -> Collection:
    """Base texts and their altered copies: a view of all, and one for each grade by itself."""
    count = len(base)
    of = np.array(made.of, dtype=np.int64)
    unit = np.concatenate([np.arange(count), of])
    views = [View(name, keys_of(of, np.arange(count, count + of.size)), unit)]
    for grade in sorted(set(made.grades)):
        own = np.flatnonzero(np.array(made.grades) == grade)
        among = np.isin(np.arange(count + of.size), np.concatenate([of[own], count + own]))
        views.append(View(f"{name}, {100 * grade:g} %", keys_of(of[own], count + own), unit, None, among, chosen=False))
    return Collection(name, kind, "synthetic", base + made.texts, tuple(views))


def scanned(folder: Path) -> list[Collection]:
    """Real texts of three lengths beside copies with the errors of a scan."""
    abstracts = texts_of(records_of(folder / "arxiv_10k/abstracts.jsonl.gz"))[:3000]
    chapters = [r["text"] for r in records_of(folder / "bible_nt/chapters.jsonl.gz") if r["version"] == "ASV"]
    # columns and prefaces have one title in many years: near-duplicates that no label tells from the scans
    repeated = _near(folder / "records/dblp_acm.all_pairs_w3.csv.gz", "dblp")
    records = records_of(folder / "records/dblp_acm.records.jsonl.gz")
    lines = [r["text"] for r in records if r["id"].startswith("dblp") and r["id"] not in repeated]
    named = {"ocr_abstracts": abstracts, "ocr_chapters": chapters, "ocr_titles": lines}
    return [paired(name, "ocr", base, noise.scans(base, seed=name)) for name, base in named.items()]


def _near(path: Path, start: str) -> set[str]:
    """The ids in listed pairs of which both begin with ``start``."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        pairs = [(row["id1"], row["id2"]) for row in csv.DictReader(lines)]
    return {each for pair in pairs for each in pair if all(own.startswith(start) for own in pair)}


def unsegmented(folder: Path) -> list[Collection]:
    """Texts in scripts without spaces between words, beside edited copies."""
    own = folder / "multilingual"
    records = records_of(own / "udhr.jsonl.gz")
    named = {
        "chinese_poems": [texts_of(records_of(own / "chinese_poems.jsonl.gz"))],
        "thai_messages": [texts_of(records_of(own / "thai_messages.jsonl.gz"))],
        "udhr_lines": [lines_of(record["text"]) for record in records if record["id"] in noise.UDHR],
    }
    made = []
    for name, languages in named.items():
        base: list[str] = []
        copies = noise.Copies([], [], [])
        for number, lines in enumerate(languages):
            texts = [line for line in lines if len(line.strip()) >= noise.LEAST]
            copies = copies.with_more(noise.edits(texts, seed=f"{name} {number}"), shift=len(base))
            base += texts
        made.append(paired(name, "unsegmented", base, copies))
    return made


def lines_of(text: str) -> list[str]:
    """The lines of a translation of the Declaration, without the headings, which differ by a number only."""
    return [line for line in text.splitlines() if len(line) >= LINE_LEAST]


def releases(name: str, old: Path, new: Path, pattern: str = "*.py") -> Collection:
    """The files of two releases: a file and that of the same path in the other release are versions of one thing.

    A file that did not change is in it once: any setting finds it, and thousands of them would hide the rest.
    Boilerplate under two paths counts as no duplicate, and a file that was moved as none: precision and recall are
    lower bounds.
    """
    both = [_sources(folder, pattern) for folder in (old, new)]
    texts, paths = list(both[0].values()), list(both[0])
    for path, text in both[1].items():
        if both[0].get(path) != text:
            texts.append(text)
            paths.append(path)
    return Collection(name, "code", "versions", texts, (View(name, pairs_within(paths), numbered(paths)),))


def _sources(folder: Path, pattern: str) -> dict[str, str]:
    """The text of every file by its path in the folder, in order of the paths."""
    files = sorted(path for path in folder.rglob(pattern) if path.is_file() and path.stat().st_size >= CODE_BYTES)
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace") for path in files}
