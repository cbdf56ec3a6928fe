"""A report read back from disk as plainly as its format says, and what it should say, counted by loops."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

_TAKE = re.compile(r'neardup\.take\("([a-z]+-\d+)", (.*)\);\s*', re.DOTALL)
_SCRIPT = re.compile(r'<script type="application/json" id="([a-z]+(?:-\d+)?)">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True)
class Read:
    """What is in the pages."""

    meta: dict[str, Any]
    chunks: dict[str, dict[str, Any]]
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The list of clusters, a record each."""
    pairs: list[dict[str, Any]] = field(default_factory=list)
    """The list of pairs, a record each; ``a`` and ``b`` are ids, ``source_a`` and ``source_b`` numbers or None."""

    def page(self, number: int) -> tuple[dict[str, Any], list[str]]:
        """A cluster, and the text of each of its members, gaps of long ones left out."""
        chunk = self.chunks[f"pages-{self.rows[number]['page']:04d}"]
        cluster = chunk["clusters"][str(number)]
        texts = [chunk["texts"][member["text"]] for member in cluster["members"]]
        return cluster, ["".join(text for _, text in each["pieces"]) for each in texts]

    @property
    def facts(self) -> dict[str, str]:
        """The rows of the summary."""
        return dict(self.meta["facts"])


def read_report(path: Path) -> Read:
    """Read ``index.html`` of a folder and the files beside it, or a single file."""
    found = dict(_SCRIPT.findall(path.read_text("utf-8")))
    meta = json.loads(found.pop("meta"))
    chunks = {name: json.loads(text) for name, text in found.items()}
    folder = path.parent / "data"
    if path.name == "index.html":
        for file in sorted(folder.iterdir()):
            match = _TAKE.fullmatch(file.read_text("utf-8"))
            assert match is not None, file
            assert match[1] == file.stem
            chunks[match[1]] = json.loads(match[2])
    read = Read(meta, chunks)
    columns = ("keeper", "size", "least", "mean", "highest", "source", "opening", "page")
    for name in sorted(name for name in chunks if name.startswith("clusters-")):
        chunk = chunks[name]
        assert chunk["first"] == len(read.rows)
        read.rows.extend(
            dict(zip(columns, row, strict=True)) for row in zip(*(chunk[each] for each in columns), strict=True)
        )
    for name in sorted(name for name in chunks if name.startswith("pairs-")):
        chunk = chunks[name]
        assert chunk["first"] == len(read.pairs)
        read.pairs.extend(pair_rows(chunk))
    return read


def pair_rows(chunk: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a chunk of the list of pairs."""
    rows = []
    for i in range(len(chunk["a"])):
        by_document = ("first", "documents", "sources", "people", "roles", "hashes", "a", "b")
        row = {name: chunk[name][i] for name in chunk if name not in by_document}
        for side in ("a", "b"):
            number = chunk[side][i]
            row[side] = chunk["documents"][number]
            row[f"source_{side}"] = chunk["sources"][number] if chunk["sources"] else None
        rows.append(row)
    return rows


def bins(similarities: Sequence[float], edges: Sequence[float]) -> tuple[list[int], int]:
    """How many lie from each edge up to the next, and how many are 1."""
    counts = [sum(low <= each < high for each in similarities if each < 1.0) for low, high in pairwise(edges)]
    return counts, sum(each == 1.0 for each in similarities)


def between(pairs: Mapping[tuple[Hashable, Hashable], float], source_of: Mapping[Hashable, str]) -> dict[Any, int]:
    """Pairs of each two sources, both ways round, and inside each."""
    found: dict[Any, int] = {}
    for a, b in pairs:
        one, other = source_of[a], source_of[b]
        for key in {(one, other), (other, one)}:
            found[key] = found.get(key, 0) + 1
    return found
