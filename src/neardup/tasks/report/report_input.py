"""What a report stands on: the documents, their pairs and clusters, from a search or from the pairs of an earlier one.

A file of pairs does not say which documents led crowds, so those are taken for leaders that have as many pairs as a
crowd has members.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from neardup import tuning
from neardup.arrays import as_numpy, numbers
from neardup.cutting import ROWS_AT_A_TIME
from neardup.engine import run as engine
from neardup.engine.pairing import Pairing
from neardup.engine.reading.copies import Copies
from neardup.engine.results.expand import expand_clusters
from neardup.engine.results.pairs import PairStore
from neardup.engine.state import FoundRows, SearchState
from neardup.errors import InputError
from neardup.result import Summary
from neardup.session import Finding, Run
from neardup.tasks.audit.outcome import Audit
from neardup.tasks.audit.public import audit_search
from neardup.tasks.grouping import GroupBy, shown_ids
from neardup.tasks.report.earlier_pairs import EarlierPairs
from neardup.tasks.report.people import People, find_people
from neardup.tasks.report.pseudonyms import KeyFile, Pseudonyms
from neardup.tasks.report.roles import Roles
from neardup.types import F64, I32, I64


@dataclass(frozen=True, slots=True)
class ReportInput:
    """A run that has found its pairs."""

    run: Run
    search: SearchState
    """Pairs of representatives."""
    found: FoundRows
    """Pairs and clusters of all rows."""
    rule: str
    """How pairs make clusters."""
    people: People
    """Whose the documents are."""
    pairs_from: str | None = None
    """The file that the pairs were read from; None: they were searched."""
    pseudonyms: Pseudonyms | None = None
    """The names that stand for those of people and documents."""

    def names(self, rows: I64) -> list[str]:
        """The ids of documents as the pages show them: files of the one folder that was given from that folder on."""
        return shown_ids(self.run, rows) if self.pseudonyms is None else self.pseudonyms.documents(rows)

    def summary(self, pairs: int) -> Summary:
        """What was read and found, ``pairs`` pairs of documents."""
        return Finding(self.run, self.found, self.rule).summary(pairs)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for beside a search."""

    filed: EarlierPairs | None = None
    """Pairs that are shown in place of a search."""
    link: str = "star"
    audit: int | None = None
    """Documents of the audit."""
    group_by: GroupBy | None = None
    roles: Roles = field(default_factory=Roles)
    keys: KeyFile | None = None
    """Of pseudonyms."""


def report_input(run: Run, asked: Asked) -> tuple[ReportInput, Audit | None]:
    """What a report shows: found by an entered run, or the pairs that are ``filed``; and the audit."""
    known: list[People] = []

    def pairing(run: Run) -> Pairing | None:
        known.append(find_people(run, asked.group_by, asked.roles))
        return known[0].pairing

    audited = None
    if asked.filed is not None:
        search, found = _from_pairs(run, asked.filed, asked.link)
        pairing(run)
    else:
        run.pairing = pairing
        search = run.search()
        audited = audit_search(run, search, documents=asked.audit) if asked.audit is not None else None
        found = engine.find(search, rule=asked.link)
    people = known[0]
    names = None if asked.keys is None else asked.keys.name_all(people, shown_ids(run, np.arange(people.of.size)))
    name = None if asked.filed is None else asked.filed.name
    return ReportInput(run, search, found, asked.link, people, name, names), audited


def _from_pairs(run: Run, filed: EarlierPairs, rule: str) -> tuple[SearchState, FoundRows]:
    """A report of pairs that were written by an earlier run over the same documents, under the spec of ``run``."""
    gathered = run.gather(tuning.as_exact(run.spec))  # which is sketched no more than counting takes
    copies, n = gathered.copies, len(gathered.collection)
    pairs = PairStore("filed", n, run.space, part=0.15)
    store = PairStore("filed-leaders", n, run.space, part=0.15)
    leader = np.arange(n, dtype=np.int32)
    leader[copies.members] = np.repeat(copies.several, np.diff(copies.starts))
    for left, right, similarity in _pieces(filed, _rows_of(run, filed)):
        pairs.add(left, right, similarity)
        left, right = leader[left].astype(np.int64), leader[right].astype(np.int64)
        kept = left != right
        store.add(left[kept], right[kept], similarity[kept])
    search = SearchState.of(gathered, store, _crowds(store, copies, run.spec.crowd, n))
    members = expand_clusters(engine.link_rows(search, rule), copies, search.listed_leaders())
    nothing = np.empty(0, dtype=np.int64)
    return search, FoundRows(pairs, members, nothing, nothing, search.tally)


def _rows_of(run: Run, filed: EarlierPairs) -> I64:
    """int64: the row of the document of each of ``filed.ids``."""
    ids = run.provenance.ids
    as_text = not (pa.types.is_integer(ids.type) and pa.types.is_integer(filed.ids.type))
    wanted = filed.ids.cast(pa.large_string()) if as_text else filed.ids
    row = np.full(len(wanted), -1, dtype=np.int64)
    for first in range(0, len(ids), ROWS_AT_A_TIME):
        rows = np.arange(first, min(first + ROWS_AT_A_TIME, len(ids)))
        names = ids.take(rows)
        at = pc.index_in(names.cast(pa.large_string()) if as_text else names, value_set=wanted)
        here = np.flatnonzero(as_numpy(at.is_valid()))
        place = as_numpy(at.drop_null()).astype(np.int64)
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
    return row


def _pieces(filed: EarlierPairs, row: I64) -> Iterator[tuple[I64, I64, F64]]:
    """Rows and similarities of the pairs, some at a time; ``row`` is that of each of ``filed.ids``."""
    threshold = filed.spec.threshold
    for batch in filed.batches():
        left, right = (
            row[as_numpy(pc.index_in(batch.column(name).cast(filed.ids.type), value_set=filed.ids)).astype(np.int64)]
            for name in ("id_a", "id_b")
        )
        if (left == right).any():
            raise InputError(f"{filed.name} has a pair of a document with itself. Give pairs that neardup find wrote.")
        similarity = as_numpy(pc.fill_null(batch.column("similarity"), numbers(np.full(1, np.nan))[0]))
        if similarity.size and not (float(similarity.min()) >= threshold and float(similarity.max()) <= 1.0):
            raise InputError(
                f"{filed.name} has similarities from {similarity.min():g} to {similarity.max():g}, and was found at "
                f"{threshold:g}. Give the file as neardup find wrote it."
            )
        yield left, right, similarity


def _crowds(leaders: PairStore, copies: Copies, most: int, n: int) -> I32:
    """int32[n]: itself for each representative that has so many copies or neighbours that it led a crowd, else -1."""
    near = copies.weight.astype(np.int64)
    for piece in leaders.pieces():
        np.add.at(near, piece.left, copies.weight[piece.right])
        np.add.at(near, piece.right, copies.weight[piece.left])
    crowd = np.full(n, -1, dtype=np.int32)
    leads = np.flatnonzero(near > most)
    crowd[leads] = leads
    return crowd
