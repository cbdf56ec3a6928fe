"""The page of one cluster: its members, their similarities, and the passages that pairs of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from neardup.engine.results.passages import Marker, Occurrences
from neardup.errors import InputError
from neardup.pages.pairs import Span, pair_data, text_data, union
from neardup.params import Spec
from neardup.tasks.report.clusters import KINDS, LONG

__all__ = ["Job", "Marked", "mark"]


HELD = 2_000_000
"""Characters whose occurrences are kept for a later pair; those of longer texts are found again."""


@dataclass(frozen=True, slots=True)
class Job:
    """All that the page of a cluster is made of."""

    number: int
    size: int
    ids: list[str]
    sources: list[int]
    texts: list[str | None]
    """Of each member shown, as it was written; None: not shown, for the texts of the cluster are very long."""
    characters: list[int]
    similarity: list[float]
    """To the keeper, which is the first."""
    kinds: list[int]
    similarities: list[tuple[int, int, float]]
    """Of pairs of members, rising."""
    is_full: bool
    """Whether these are all pairs."""
    pairs: list[tuple[int, int, float]]
    """Those that get a page, in order, with their similarity."""
    pairs_left_out: int
    """Found pairs, and members, that get none."""


@dataclass(frozen=True, slots=True)
class Marked:
    """The page of a cluster as JSON values; texts are numbered from 0."""

    number: int
    cluster: dict[str, Any]
    texts: list[dict[str, Any]]


@dataclass(slots=True)
class _Text:
    """One text of a cluster, however many members have it."""

    text: str
    occurrences: Occurrences | None = None
    spans: list[Sequence[Span]] = field(default_factory=list)
    """Passages of each pair that it is shown in; of long texts only."""


def mark(job: Job, spec: Spec, pairs_from: str | None) -> Marked:
    """Make the page of a cluster. O(text of each pair).

    Args:
        job: the cluster.
        spec: of the run.
        pairs_from: the file that the pairs came from, for the message.

    Raises:
        InputError: the similarity of a pair is not what the pairs say.
    """
    marker = Marker(shingle=spec.shingle, normalize=spec.normalize)
    numbers: dict[str, int] = {}
    of = [-1 if text is None else numbers.setdefault(text, len(numbers)) for text in job.texts]
    texts = [_Text(text) for text in numbers]
    known: dict[tuple[int, int], dict[str, Any]] = {}
    pairs = []
    for a, b, similarity in job.pairs:
        key = (of[a], of[b])
        if key not in known:
            known[key] = _pair(marker, texts[key[0]], texts[key[1]], spec.measure)
            _forget(texts, key[0])
        data = known[key]
        if data["similarity"] != similarity and spec.shingle.kind != "item":
            raise _other_similarity(job, a, b, similarity, data["similarity"], pairs_from)
        pairs.append({"a": a, "b": b, **data})
    shown = [text_data(each.text, union(chain.from_iterable(each.spans)), most=LONG) for each in texts]
    return Marked(job.number, _cluster(job, of, pairs), shown)


def _pair(marker: Marker, a: _Text, b: _Text, measure: str) -> dict[str, Any]:
    for each in (a, b):
        each.occurrences = each.occurrences or marker.occurrences(each.text)
    assert a.occurrences is not None
    assert b.occurrences is not None
    passages = marker.shared(a.occurrences, b.occurrences)
    for each, spans in ((a, passages.a), (b, passages.b)):
        if len(each.text) > LONG:
            each.spans.append(spans)
    return pair_data(passages, (len(a.text), len(b.text)), measure=measure)


def _forget(texts: list[_Text], first: int) -> None:
    """Drop the occurrences of long texts, except those of the text that most of the next pairs share."""
    held = [each for each in texts if each.occurrences is not None]
    if sum(len(each.text) for each in held) > HELD:
        for each in held:
            if each is not texts[first]:
                each.occurrences = None


def _other_similarity(job: Job, a: int, b: int, told: float, true: float, pairs_from: str | None) -> InputError:
    who = f"{pairs_from} says" if pairs_from is not None else "the search said"
    return InputError(
        f"the documents {job.ids[a]} and {job.ids[b]} have a similarity of {true}, and {who} {told}. Give the texts "
        "with which the pairs were found."
    )


def _cluster(job: Job, of: list[int], pairs: list[dict[str, Any]]) -> dict[str, Any]:
    members = [
        {
            "id": id,
            "source": source,
            "characters": characters,
            "similarity": similarity,
            "kind": KINDS[kind],
            "text": number,
        }
        for id, source, characters, similarity, kind, number in zip(
            job.ids, job.sources, job.characters, job.similarity, job.kinds, of, strict=True
        )
    ]
    return {
        "keeper": 0,
        "size": job.size,
        "members": members,
        "left_out": job.size - len(members),
        "similarities": [list(each) for each in job.similarities],
        "matrix_note": _note(job),
        "pairs": pairs,
    }


def _note(job: Job) -> str:
    if job.is_full:
        note = "The similarities of all members shown with each other, exact."
    else:
        note = (
            "The similarities of the keeper with each member shown, and of pairs that were found. Others were left out."
        )
    if job.pairs_left_out:
        note += f" {job.pairs_left_out:,} of these pairs have no page of their own, for want of room."
    return note
