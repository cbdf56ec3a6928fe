"""What a report stands on: the documents, their pairs and clusters, from a search or from the pairs of an earlier one.

The pairs of a file name documents by their ids; their rows are looked up in the collection, which is read without
being sketched. Copies are known from the texts. A file does not say which documents led crowds, so those are taken for
leaders that have as many pairs as a crowd has members.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup import tuning
from neardup.errors import InputError
from neardup.formats.filed import FiledPairs
from neardup.formats.folder import shown_path
from neardup.pipeline import run as pipeline
from neardup.pipeline.check import Checker
from neardup.pipeline.collect import collect
from neardup.pipeline.copies import Copies, find_copies
from neardup.pipeline.expand import Speakers, spell_clusters
from neardup.pipeline.link import link
from neardup.pipeline.observe import Silent, Stopwatch
from neardup.pipeline.pairs import PairStore
from neardup.pipeline.run import Found, Search, Tally
from neardup.result import Summary
from neardup.runs import Run, make_summary
from neardup.types import F64, I32, I64

__all__ = ["Ground", "from_pairs", "from_search"]

PIECE = 1 << 16
"""Rows whose ids are looked up at a time."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A run that has found its pairs."""

    run: Run
    search: Search
    """Pairs of representatives."""
    found: Found
    """Pairs and clusters of all rows."""
    rule: str
    """How pairs make clusters."""
    pairs_from: str | None = None
    """The file that the pairs were read from; None: they were searched."""

    def names(self, rows: I64) -> list[str]:
        """The ids of documents as the pages show them: files of the one folder that was given from that folder on."""
        names = map(str, self.run.ledger.ids.take(rows).to_pylist())
        base = self.run.reader.base
        if base is None:
            return list(names)
        folder = os.path.join(shown_path(base), "")
        return [name.removeprefix(folder) for name in names]

    def summary(self, pairs: int) -> Summary:
        """What was read and found, ``pairs`` pairs of documents."""
        found = self.found
        return make_summary(
            self.run,
            found.tally,
            pairs=pairs,
            clusters=int(np.unique(found.members.label).size),
            crowds=found.crowd_leaders.size,
            crowd_documents=int(found.crowd_documents.sum()),
            link=self.rule,
        )


def from_search(run: Run, search: Search, rule: str) -> Ground:
    """The ground of a search, linked by ``rule``."""
    return Ground(run, search, pipeline.find(search, rule=rule), rule)


def from_pairs(run: Run, filed: FiledPairs, rule: str) -> Ground:
    """The ground of pairs that were written by an earlier run over the same documents.

    Args:
        run: entered; its spec is that of the pairs.
        filed: the pairs.
        rule: how they make clusters.

    Raises:
        InputError: an id is no document's, or that of several, or a similarity is below the threshold.
    """
    spec, space, watch = run.spec, run.space, Stopwatch()
    threads = space.budget.threads(run.threads)
    with watch.measure("read"):
        run.observer.stage("read", run.reader.total_bytes, "bytes")
        collection = collect(
            run.reader.tasks(),
            tuning.as_exact(spec),  # which is sketched no more than counting takes
            total_bytes=run.reader.total_bytes,
            threads=threads,
            ledger=run.ledger,
            observer=run.observer,
            space=space,
        )
    copies = find_copies(collection)
    rows = _rows_of(run, filed)
    similarity = filed.table.column("similarity").combine_chunks().to_numpy(zero_copy_only=False)
    _check_similarity(filed, similarity, spec.threshold)
    n = len(collection)
    pairs = PairStore("filed", n, space, part=0.15)
    pairs.add(*rows, similarity)
    leaders, kept = _between_leaders(rows, copies, n)
    store = PairStore("filed-leaders", n, space, part=0.15)
    store.add(leaders[0][kept], leaders[1][kept], similarity[kept])
    crowd = _crowds(leaders, kept, copies, spec.crowd, n)
    weight = np.minimum(copies.weight, 1) if spec.collapse_exact else copies.weight
    check = Checker(collection, threads=threads, observer=Silent())
    tally = Tally(
        documents=n,
        read_bytes=collection.read_bytes,
        empty=copies.empty,
        short=collection.short,
        exact_copies=copies.documents,
        threads=threads,
        seconds=watch.seconds,
    )
    search = Search(collection, copies, weight, store, crowd, check, tally, watch, space, run.ledger)
    links = link(store, pipeline.keeping_order(search), n, space, rule=rule, check=check)
    members = spell_clusters(links, copies, Speakers(search.leads, copies, run.ledger.first_of))
    nothing = np.empty(0, dtype=np.int64)
    return Ground(run, search, Found(pairs, members, nothing, nothing, tally), rule, filed.name)


def _rows_of(run: Run, filed: FiledPairs) -> tuple[I64, I64]:
    """Rows of the documents of each pair."""
    ids, table = run.ledger.ids, filed.table
    columns = [table.column(name).combine_chunks() for name in ("id_a", "id_b")]
    as_text = not (pa.types.is_integer(ids.type) and all(pa.types.is_integer(each.type) for each in columns))
    if as_text:
        columns = [each.cast(pa.large_string()) for each in columns]
    wanted = pc.unique(pa.chunked_array(columns))
    row = np.full(len(wanted), -1, dtype=np.int64)
    for first in range(0, len(ids), PIECE):
        rows = np.arange(first, min(first + PIECE, len(ids)))
        names = ids.take(rows)
        at = pc.index_in(names.cast(pa.large_string()) if as_text else names, value_set=wanted)
        here = np.flatnonzero(at.is_valid().to_numpy(zero_copy_only=False))
        place = at.drop_null().to_numpy().astype(np.int64)
        twice = row[place] >= 0
        twice |= np.bincount(place, minlength=row.size)[place] > 1 if place.size else twice
        if twice.any():
            name = wanted[int(place[np.argmax(twice)])].as_py()
            raise InputError(
                f"the id {name!r} in {filed.name} is that of several documents. Give each its own, and find the pairs "
                "again; --id COLUMN (id=) says where ids are."
            )
        row[place] = rows[here]
    if row.size and int(row.min()) < 0:
        name = wanted[int(np.argmin(row))].as_py()
        raise InputError(
            f"{filed.name} names the document {name!r}, which is not in the inputs. Give the inputs, and options of "
            "reading, with which the pairs were found."
        )
    left, right = (row[_place(each, wanted)] for each in columns)
    if (left == right).any():
        raise InputError(f"{filed.name} has a pair of a document with itself. Give pairs that neardup find wrote.")
    return left, right


def _place(column: pa.Array, wanted: pa.Array) -> I64:
    place: I64 = pc.index_in(column, value_set=wanted).to_numpy().astype(np.int64)
    return place


def _check_similarity(filed: FiledPairs, similarity: F64, threshold: float) -> None:
    if similarity.size and not (float(similarity.min()) >= threshold and float(similarity.max()) <= 1.0):
        raise InputError(
            f"{filed.name} has similarities from {similarity.min():g} to {similarity.max():g}, and was found at "
            f"{threshold:g}. Give the file as neardup find wrote it."
        )


def _between_leaders(rows: tuple[I64, I64], copies: Copies, n: int) -> tuple[tuple[I64, I64], I64]:
    """The representatives of the two documents of each pair, and which pairs are of two."""
    of = np.arange(n, dtype=np.int32)
    of[copies.members] = np.repeat(copies.several, np.diff(copies.starts))
    left, right = (of[each].astype(np.int64) for each in rows)
    return (left, right), np.flatnonzero(left != right)


def _crowds(leaders: tuple[I64, I64], kept: I64, copies: Copies, most: int, n: int) -> I32:
    """int32[n]: itself for each representative that has so many copies or neighbours that it led a crowd, else -1."""
    near = copies.weight.astype(np.int64)
    left, right = leaders[0][kept], leaders[1][kept]
    keys = np.unique(np.minimum(left, right) * n + np.maximum(left, right))
    left, right = np.divmod(keys, n)
    np.add.at(near, left, copies.weight[right])
    np.add.at(near, right, copies.weight[left])
    crowd = np.full(n, -1, dtype=np.int32)
    leads = np.flatnonzero(near > most)
    crowd[leads] = leads
    return crowd
