"""Data of reports by the contract of the pages, made from little texts with true passages.

Slow and obvious: every pair is compared. Not here: how ``neardup.tasks.report`` gathers the same from a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from neardup.engine.results.passages import Marker, Passages
from neardup.params import Normalize, Shingle

SHINGLE, NORMALIZE, SEED = Shingle("char", 9), Normalize("nfc"), 1
Document = tuple[str, int, str]
"""id, number of the source, text"""


def marker() -> Marker:
    return Marker(shingle=SHINGLE, normalize=NORMALIZE)


def abstracts(repository: Path, *, most: int = 160) -> list[Document]:
    """The first texts of the shipped example; the year of a revision is its source."""
    documents = []
    with (repository / "examples" / "abstracts.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            documents.append((record["id"], int(record["id"].endswith("2020")), record["text"]))
    documents.sort()
    return documents[:most]


def whole(text: str) -> dict[str, Any]:
    return {"characters": len(text), "pieces": [[0, text]] if text else []}


def pair_of(passages: Passages, a: str, b: str) -> dict[str, Any]:
    common, size_a, size_b = passages.common, passages.size_a, passages.size_b
    length, place = max(((end - start, -start) for start, end in passages.a), default=(0, 0))
    there = passages.a.index((-place, -place + length)) if passages.a else 0
    return {
        "similarity": passages.jaccard,
        "jaccard": passages.jaccard,
        "a_in_b": common / size_a if size_a else 1.0,
        "b_in_a": common / size_b if size_b else 1.0,
        "sizes": [size_a, size_b, common],
        "passages": {
            "a": [list(span) for span in passages.a],
            "b": [list(span) for span in passages.b],
            "links": list(passages.links),
            "back": list(passages.back),
        },
        "runs": [len(passages.a), len(passages.b)],
        "covered": [_covered(passages.a, a), _covered(passages.b, b)],
        "longest": [length, -place, passages.b[passages.links[there]][0] if passages.a else 0],
    }


def _covered(spans: Sequence[tuple[int, int]], text: str) -> float:
    return sum(end - start for start, end in spans) / len(text) if text else 0.0


def pair_page(
    a: str, b: str, *, ids: tuple[str, str] = ("left.txt", "right.txt")
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Meta and page of ``write_pair``."""
    marks = marker()
    pair = {"a": 0, "b": 1, **pair_of(marks.shared(marks.occurrences(a), marks.occurrences(b)), a, b)}
    meta = {
        "title": f"{ids[0]} and {ids[1]}",
        "version": "neardup 0.0",
        "measure": "jaccard",
        "spec": {"shingle": "char:9", "normalize": "nfc", "seed": 1},
        "spec_id": "0123456789abcdef",
        "facts": [["documents", ", ".join(ids)]],
        "estimate": 0.5,
        "estimate_error": 0.03,
        "slots": 256,
        "probability": 0.99,
        "bands": "32x8",
        "threshold": 0.5,
    }
    members = [{"id": ids[0], "characters": len(a), "text": 0}, {"id": ids[1], "characters": len(b), "text": 1}]
    return meta, {"members": members, "texts": [whole(a), whole(b)], "pair": pair}


def report(
    documents: Sequence[Document],
    *,
    threshold: float = 0.5,
    sources: Sequence[str] = ("2019", "2020"),
    title: str = "Abstracts",
    chunk: int = 3,
) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """Meta and chunks of a report of a few documents; ``chunk`` clusters in a chunk, so that there are several."""
    marks = marker()
    seen = [marks.occurrences(text) for _, _, text in documents]
    shared = {
        (i, j): marks.shared(seen[i], seen[j])
        for j in range(len(documents))
        for i in range(j)
        if not set(seen[i].hashes.tolist()).isdisjoint(seen[j].hashes.tolist())
    }
    exact = {pair: passages.jaccard for pair, passages in shared.items()}
    found = {pair: s for pair, s in exact.items() if s >= threshold}
    groups = _clusters(len(documents), found)
    chunks: list[tuple[str, dict[str, Any]]] = []
    for first in range(0, len(groups), chunk):
        part = groups[first : first + chunk]
        chunks.append((f"clusters-{first // chunk:04}", _rows(first, first // chunk, part, documents, exact)))
        chunks.append((f"pages-{first // chunk:04}", _pages(first, part, documents, exact, shared)))
    curve = _curve(len(documents), found, threshold)
    rows = _listed(groups, found, documents, shared)
    starts = range(0, len(rows), 2 * chunk)
    chunks += [(f"pairs-{i // (2 * chunk):04}", _pair_columns(i, rows[i : i + 2 * chunk])) for i in starts]
    best = sorted(range(len(groups)), key=lambda number: (-_highest(groups[number], exact), number))
    meta = {
        **_meta(title, threshold, documents, len(found), len(groups), curve),
        "highest": max(found.values(), default=0.0),
        "pairs": {
            "total": len(found),
            "listed": len(rows),
            "chunk": 2 * chunk,
            "chunks": len(starts),
            "starts": [[rows[i][name] for name in ("similarity", "longest", "cluster", "pair")] for i in starts],
            "first": _pair_columns(0, rows[:10]),
        },
        "bins": _bins(found.values(), threshold),
        "sources": _sources(documents, found, sources) if len(sources) > 1 else None,
        "clusters": {
            "total": len(groups),
            "listed": len(groups),
            "chunk": chunk,
            "chunks": -(-len(groups) // chunk),
            "best": [
                {
                    "number": number,
                    "keeper": documents[groups[number][0]][0],
                    "size": len(groups[number]),
                    "highest": _highest(groups[number], exact),
                    "opening": documents[groups[number][0]][2][:80],
                }
                for number in best[:6]
            ],
        },
    }
    return meta, chunks


def _highest(group: Sequence[int], exact: dict[tuple[int, int], float]) -> float:
    return max(exact.get((i, j), 0.0) for i in group for j in group if i < j)


def _cut_share(part: float) -> int:
    """Thousandths, cut: the largest whole number that is not above, and 1000 for all only."""
    return min(int(part * 1000 + 1e-9), 999) if part < 1 else 1000


def _listed(
    groups: Sequence[Sequence[int]],
    found: dict[tuple[int, int], float],
    documents: Sequence[Document],
    shared: dict[tuple[int, int], Passages],
) -> list[dict[str, Any]]:
    """The rows of the list of pairs, the most similar first."""
    rows: list[dict[str, Any]] = []
    for number, group in enumerate(groups):
        here = [(i, j) for x, i in enumerate(group) for j in group[x + 1 :] if (i, j) in shared]
        for place, (i, j) in enumerate(here):
            if (i, j) not in found:
                continue
            pair = pair_of(shared[i, j], documents[i][2], documents[j][2])
            length, start, _ = pair["longest"]
            rows.append(
                {
                    "ends": (documents[i], documents[j]),
                    "similarity": found[i, j],
                    "share_a": _cut_share(pair["covered"][0]),
                    "share_b": _cut_share(pair["covered"][1]),
                    "longest": length,
                    "cluster": number,
                    "pair": place,
                    "snippet": documents[i][2][start : start + min(length, 90)],
                }
            )
    return sorted(rows, key=lambda row: (-row["similarity"], -row["longest"], row["cluster"], row["pair"]))


def _pair_columns(first: int, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    documents = sorted({document for row in rows for document in row["ends"]})
    names = ("similarity", "share_a", "share_b", "longest", "cluster", "pair", "snippet")
    return {
        "first": first,
        "documents": [id for id, _, _ in documents],
        "sources": [source for _, source, _ in documents],
        "a": [documents.index(row["ends"][0]) for row in rows],
        "b": [documents.index(row["ends"][1]) for row in rows],
        **{name: [row[name] for row in rows] for name in names},
    }


def _meta(
    title: str, threshold: float, documents: Sequence[Document], pairs: int, clusters: int, curve: dict[str, Any]
) -> dict[str, Any]:
    characters = sum(len(text) for _, _, text in documents)
    return {
        "title": title,
        "purpose": "cleaning",
        "version": "neardup 0.0",
        "measure": "jaccard",
        "threshold": threshold,
        "recall": 0.95,
        "spec_id": "0123456789abcdef",
        "spec": {"shingle": "char:9", "normalize": "nfc", "sketch": "doph", "slots": 256, "bands": "32x8", "seed": 1},
        "words": {
            "keeper": "representative",
            "removed": "Documents removed",
            "outcome": f"{curve['removed'][0]:,} documents would be removed.",
        },
        "facts": [["characters", f"{characters:,}"], ["bad records", "2"]],
        "faults": ["abstracts.jsonl line 12: no field 'text'", "abstracts.jsonl line 40: not JSON"],
        "faults_left_out": 0,
        "audit": {
            "recall": 0.9987,
            "low": 0.991,
            "high": 1.0,
            "pairs": 412,
            "documents": len(documents),
            "precision": 1.0,
        },
        "counts": {
            "documents": len(documents),
            "pairs": pairs,
            "clusters": clusters,
            "clustered": clusters + curve["removed"][0],
            "removed": curve["removed"][0],
            "characters": characters,
        },
        "curve": curve,
        "passages": None,
        "curve_note": "Clusters are the connected parts of the graph of pairs.",
        "limits": ["Texts of more than 20,000 characters are shown in windows around what they share."],
    }


def _clusters(size: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    label = list(range(size))
    for i, j in pairs:
        low, high = sorted((label[i], label[j]))
        label = [low if one == high else one for one in label]
    groups = [[i for i in range(size) if label[i] == one] for one in sorted(set(label))]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


def _to_keeper(group: Sequence[int], exact: dict[tuple[int, int], float]) -> list[float]:
    return [exact.get((group[0], i), 0.0) for i in group[1:]]


def _rows(
    first: int,
    page: int,
    groups: Sequence[Sequence[int]],
    documents: Sequence[Document],
    exact: dict[tuple[int, int], float],
) -> dict[str, Any]:
    near = [_to_keeper(group, exact) for group in groups]
    return {
        "first": first,
        "keeper": [documents[group[0]][0] for group in groups],
        "size": [len(group) for group in groups],
        "least": [min(one) for one in near],
        "mean": [sum(one) / len(one) for one in near],
        "highest": [_highest(group, exact) for group in groups],
        "source": [documents[group[0]][1] for group in groups],
        "opening": [documents[group[0]][2][:80] for group in groups],
        "page": [page for _ in groups],
    }


def _pages(
    first: int,
    groups: Sequence[Sequence[int]],
    documents: Sequence[Document],
    exact: dict[tuple[int, int], float],
    shared: dict[tuple[int, int], Passages],
) -> dict[str, Any]:
    texts: list[dict[str, Any]] = []
    clusters = {}
    for number, group in enumerate(groups, first):
        base = len(texts)
        texts += [whole(documents[i][2]) for i in group]
        members = [
            {
                "id": documents[i][0],
                "source": documents[i][1],
                "characters": len(documents[i][2]),
                "similarity": exact.get((group[0], i), 1.0),
                "kind": "all" if i != group[0] else "keeper",
                "text": base + place,
            }
            for place, i in enumerate(group)
        ]
        ties = [
            [x, y, exact.get((group[x], group[y]), 0.0)] for x in range(len(group)) for y in range(x + 1, len(group))
        ]
        pairs = [
            {
                "a": x,
                "b": y,
                **pair_of(shared[group[x], group[y]], documents[group[x]][2], documents[group[y]][2]),
            }
            for x, y, _ in ties
            if (group[x], group[y]) in shared
        ]
        clusters[str(number)] = {
            "keeper": 0,
            "size": len(group),
            "members": members,
            "left_out": 0,
            "similarities": ties,
            "matrix_note": "",
            "pairs": pairs,
        }
    return {"clusters": clusters, "texts": texts}


def _curve(size: int, pairs: dict[tuple[int, int], float], threshold: float) -> dict[str, Any]:
    steps = 40
    curve: dict[str, Any] = {"t": [], "pairs": [], "clusters": [], "removed": []}
    for k in range(steps + 1):
        t = threshold + (1 - threshold) * k / steps
        kept = [pair for pair, s in pairs.items() if s >= t]
        groups = _clusters(size, kept)
        curve["t"].append(t)
        curve["pairs"].append(len(kept))
        curve["clusters"].append(len(groups))
        curve["removed"].append(sum(len(group) - 1 for group in groups))
    return curve


def _bins(similarities: Iterable[float], threshold: float) -> dict[str, Any]:
    parts = 25
    edges = [threshold + (1 - threshold) * k / parts for k in range(parts + 1)]
    counts = [0] * parts
    identical = 0
    for s in similarities:
        if s == 1:
            identical += 1
        else:
            counts[min(parts - 1, int((s - threshold) / (1 - threshold) * parts))] += 1
    return {"edges": edges, "counts": counts, "identical": identical}


def _sources(documents: Sequence[Document], pairs: Iterable[tuple[int, int]], names: Sequence[str]) -> dict[str, Any]:
    pairs = list(pairs)
    table = [[0] * len(names) for _ in names]
    met = {(i, documents[j][1]) for i, j in pairs} | {(j, documents[i][1]) for i, j in pairs}
    sharing = [
        [sum(documents[i][1] == k and source == other for i, source in met) for other in range(len(names))]
        for k in range(len(names))
    ]
    for i, j in pairs:
        a, b = documents[i][1], documents[j][1]
        table[a][b] += 1
        if a != b:
            table[b][a] += 1
    return {
        "names": list(names),
        "documents": [sum(source == k for _, source, _ in documents) for k in range(len(names))],
        "pairs": table,
        "sharing": sharing,
        "inside": "",
        "left_out": 0,
    }


def _large_pairs(first: int, size: int, total: int) -> dict[str, Any]:
    """Some rows of a long list of pairs, a cluster each, of which nothing else is there."""
    rows = range(first, first + size)
    return {
        "first": first,
        "documents": [f"document-{i}-{side}" for i in rows for side in "ab"],
        "sources": [],
        "a": [2 * k for k in range(size)],
        "b": [2 * k + 1 for k in range(size)],
        "similarity": [1 - i / (2 * total) for i in rows],
        "share_a": [1000 - i * 7 % 900 for i in rows],
        "share_b": [1000 - i * 11 % 900 for i in rows],
        "longest": [20 + i * 7919 % 3001 for i in rows],
        "cluster": list(rows),
        "pair": [0] * size,
        "snippet": [f"What the pair {i} has in both of its texts, as many words as a row shows" for i in rows],
    }


def large(
    clusters: int, *, pairs: int = 0, chunk: int = 2000
) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """A report with very many clusters, of which only the rows are there."""
    t = [0.5 + k / 1000 for k in range(501)]
    falling = [clusters - k * clusters // 600 for k in range(501)]
    curve = {"t": t, "pairs": falling, "clusters": falling, "removed": falling}
    meta = _meta("Large", 0.5, [], clusters, clusters, curve)
    meta["counts"]["documents"] = 5 * clusters
    meta["bins"] = {"edges": t, "counts": [k % 97 for k in range(500)], "identical": clusters}
    meta["sources"] = None
    meta["highest"] = 1.0
    meta["clusters"] = {
        "total": clusters,
        "listed": clusters,
        "chunk": chunk,
        "chunks": -(-clusters // chunk),
        "best": [],
    }
    made = [_large_pairs(first, min(chunk, pairs - first), pairs) for first in range(0, pairs, chunk)]
    meta["pairs"] = {
        "total": max(clusters, pairs),
        "listed": pairs,
        "chunk": chunk,
        "chunks": len(made),
        "starts": [[each["similarity"][0], each["longest"][0], each["cluster"][0], 0] for each in made],
        "first": _large_pairs(0, min(10, pairs), pairs),
    }
    chunks: list[tuple[str, dict[str, Any]]] = [(f"pairs-{i:04}", each) for i, each in enumerate(made)]
    for first in range(0, clusters, chunk):
        rows = range(first, min(first + chunk, clusters))
        chunks.append(
            (
                f"clusters-{first // chunk:04}",
                {
                    "first": first,
                    "keeper": [f"document-{i * 7919 % 1000003}" for i in rows],
                    "size": [max(2, 50_000 // (1 + i)) for i in rows],
                    "least": [0.5 + i * 31 % 499 / 1000 for i in rows],
                    "mean": [0.75 + i * 17 % 249 / 1000 for i in rows],
                    "highest": [0.8 + i * 13 % 199 / 1000 for i in rows],
                    "source": [-1 for _ in rows],
                    "opening": [f"The opening words of cluster {i}, as many as a row has room for" for i in rows],
                    "page": [-1 for _ in rows],
                },
            )
        )
    return meta, chunks
