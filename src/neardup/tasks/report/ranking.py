"""The list of pairs: every found pair that has a page, the most similar first, in chunks of columns.

A row names its documents, how much of each is in the other, and the beginning of their longest shared passage. Rows are
gathered while pages are made, cluster by cluster, and ranked when all are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from neardup.engine.space import Space
from neardup.tasks.report.originals import BlobStore, Originals, beginning
from neardup.tasks.report.origins import Origins
from neardup.tasks.report.report_input import ReportInput
from neardup.tasks.report.verdicts import text_hash
from neardup.types import F64, I64

PEOPLE = "people-0000"
"""The name of the chunk with the list of people."""
PAIRS_CHUNK = 2000
"""Pairs of a chunk."""
FIRST_PAIRS = 10
"""Pairs that the summary shows."""
SNIPPET = 90
"""Characters of a shared passage that a row shows."""
_LOOKED_AT = 4 * SNIPPET
"""Characters that are looked at for them: white space is made single spaces."""
_ROW_BYTES = 130
"""Bytes of a row beside its names and its snippet: its numbers, and what stands between them."""


class PairRow(NamedTuple):
    """A found pair that has a page."""

    cluster: int
    place: int
    """Of the pair among those of its cluster's page."""
    a: int
    """The row of the document."""
    b: int
    similarity: float
    contained: float
    """Share of the smaller one's shingles that the larger one has."""
    share_a: int
    """Thousandths of the characters of ``a`` that passages of both cover, cut."""
    share_b: int
    longest: int
    """Characters of the longest passage."""


def thousandths(share: float) -> int:
    """A share in thousandths, cut as the pages cut it: what is less than all never reads all."""
    kept = int(share * 1000 + 1e-9)
    return min(kept, 999) if share < 1.0 else kept


def snippet(text: str, longest: Sequence[int]) -> bytes:
    """The beginning of the longest passage of a text, ``[characters, start]``; of the text if that is white space."""
    length, start = longest[0], longest[1]
    words = beginning(text[start : start + min(length, _LOOKED_AT)], SNIPPET, is_cut=length > _LOOKED_AT)
    words = words or beginning(text[:_LOOKED_AT], SNIPPET, is_cut=len(text) > _LOOKED_AT)
    return words.encode("utf-8", "surrogatepass")


@dataclass(slots=True)
class PairList:
    """The rows of pairs, as they come; ``rank`` puts them in their order."""

    snippets: BlobStore
    """Of each row."""
    _rows: list[tuple[I64, F64]] = field(default_factory=list)
    """For some rows each: int64[p, 7] of the whole numbers of PairRow, float64[p, 2] of similarity and contained."""

    def __len__(self) -> int:
        return len(self.snippets)

    @classmethod
    def empty(cls, space: Space) -> PairList:
        """No pairs; what is kept of each waits in memory or in the workdir."""
        return cls(BlobStore("snippets", space, part=0.05))

    def add(self, rows: Sequence[PairRow], snippets: list[bytes]) -> None:
        """Add some rows."""
        if rows:
            whole = [
                (each.cluster, each.place, each.a, each.b, each.share_a, each.share_b, each.longest) for each in rows
            ]
            self._rows.append(
                (np.array(whole, dtype=np.int64), np.array([(each.similarity, each.contained) for each in rows]))
            )
            self.snippets.add(snippets)

    def rank(self, *, by_share: bool = False) -> RankedPairs:
        """The rows by falling similarity, or ``by_share`` of the smaller document that is in the larger.

        Those that are equal by falling length of their longest passage, cluster and place. O(pairs log pairs).
        """
        whole = np.concatenate([np.empty((0, 7), np.int64), *(whole for whole, _ in self._rows)])
        shares = np.concatenate([np.empty((0, 2)), *(shares for _, shares in self._rows)])
        order = np.lexsort((whole[:, 1], whole[:, 0], -whole[:, 6], -shares[:, int(by_share)]))
        return RankedPairs(whole[order], shares[order, 0], shares[order, 1], by_share, order, self.snippets)


def row_bytes(names: Sequence[str], snippets: Sequence[bytes]) -> int:
    """Bytes that rows with these names of documents, two a row, and these snippets take, at most about."""
    return (
        _ROW_BYTES * len(snippets)
        + sum(len(name.encode("utf-8", "replace")) + 4 for name in names)
        + sum(len(each) for each in snippets)
    )


@dataclass(frozen=True, slots=True)
class RankedPairs:
    """The list of pairs in its order."""

    whole: I64
    """int64[p, 7]: cluster, place, a, b, share_a, share_b, longest."""
    similarity: F64
    contained: F64
    by_share: bool
    """Whether the order is that of ``contained``, and the pages are about copying."""
    numbers: I64
    """int64[p]: of each row's snippet."""
    snippets: BlobStore

    def __len__(self) -> int:
        return self.similarity.size

    @property
    def key(self) -> F64:
        """float64[p]: what the order is of."""
        return self.contained if self.by_share else self.similarity

    @property
    def most(self) -> float:
        """The highest share of a smaller document that is in the larger."""
        return float(self.contained.max(initial=0.0))

    def about(self, basis: ReportInput, origins: Origins | None, originals: Originals, total: int) -> dict[str, Any]:
        """What the pages know before a chunk is loaded: how many pairs, the rank of each chunk's first, the first rows.

        ``total`` are the pairs that were found.
        """
        starts = range(0, len(self), PAIRS_CHUNK)
        return {
            "total": total,
            "listed": len(self),
            "chunk": PAIRS_CHUNK,
            "chunks": len(starts),
            "starts": [[float(self.key[i]), *self.whole[i, [6, 0, 1]].tolist()] for i in starts],
            "first": self._columns(basis, origins, originals, 0, FIRST_PAIRS),
        }

    def chunks(
        self, basis: ReportInput, origins: Origins | None, originals: Originals
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and columns of each chunk."""
        for number, first in enumerate(range(0, len(self), PAIRS_CHUNK)):
            yield f"pairs-{number:04d}", self._columns(basis, origins, originals, first, first + PAIRS_CHUNK)

    def _columns(
        self, basis: ReportInput, origins: Origins | None, originals: Originals, first: int, last: int
    ) -> dict[str, Any]:
        """Some rows by columns; documents, each once, are named by their place in ``documents``."""
        whole = self.whole[first:last]
        rows, place = np.unique(whole[:, 2:4].reshape(-1), return_inverse=True)
        ends = place.reshape(-1, 2)
        about_copying: dict[str, Any] = {}
        if self.by_share:
            about_copying = {
                "contained": self.contained[first:last].tolist(),
                "people": basis.people.of[rows].tolist(),
                "roles": basis.people.role[rows].tolist(),
                "hashes": [text_hash(text) for text in originals.texts(rows)],
            }
        return {
            "first": first,
            "documents": basis.names(rows),
            "sources": origins.of[rows].tolist() if origins is not None else [],
            **about_copying,
            "a": ends[:, 0].tolist(),
            "b": ends[:, 1].tolist(),
            "similarity": self.similarity[first:last].tolist(),
            "share_a": whole[:, 4].tolist(),
            "share_b": whole[:, 5].tolist(),
            "longest": whole[:, 6].tolist(),
            "cluster": whole[:, 0].tolist(),
            "pair": whole[:, 1].tolist(),
            "snippet": [each.decode("utf-8", "surrogatepass") for each in self.snippets.get(self.numbers[first:last])],
        }


def list_people(basis: ReportInput, ranked: RankedPairs) -> dict[str, Any]:
    """The people who have listed pairs, by columns; a person's pairs are found in the list of pairs by the number.

    O(pairs + documents).
    """
    people = basis.people
    names = people.names if basis.pseudonyms is None else basis.pseudonyms.people
    size = len(names)
    documents = np.bincount(people.of[people.of >= 0], minlength=size)
    pairs, highest = np.zeros(size, dtype=np.int64), np.zeros(size)
    for rows in (ranked.whole[:, 2], ranked.whole[:, 3]):
        mine = people.of[rows]
        some = mine >= 0
        np.add.at(pairs, mine[some], 1)
        np.maximum.at(highest, mine[some], ranked.contained[some])
    order = np.lexsort((np.arange(size), -pairs, -highest))
    order = order[pairs[order] > 0]
    return {
        "number": order.tolist(),
        "name": [names[number] for number in order.tolist()],
        "documents": documents[order].tolist(),
        "pairs": pairs[order].tolist(),
        "highest": highest[order].tolist(),
    }
