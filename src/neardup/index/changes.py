"""Changes of an index: documents stored, removed, admitted if they are new. Each call is one transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from neardup.errors import InputError
from neardup.index import answers
from neardup.index.answers import find_ids, hits
from neardup.index.columns import Where, matching
from neardup.index.core import Core
from neardup.index.outcomes import Admission, Hit
from neardup.index.prepared import EMPTY, PreparedDocuments, original_id, tail_row
from neardup.index.retention import note_added
from neardup.index.statements import State, Writing
from neardup.index.views import View, names_of, with_run
from neardup.stages import postings as stage
from neardup.stages.verify import check_pairs
from neardup.types import I64

ADMIT_AT_ONCE = 1024
"""Documents that are held against each other at a time; more come one block after the other."""
Stored = dict[str, tuple[int, int]]
"""Number and kind of documents that are there, by their ids."""


@dataclass(slots=True)
class _BlockPlan:
    """What is to become of each document of a block."""

    status: list[str]
    kept: dict[str, int] = field(default_factory=dict)
    """Position in the block of the document that will have each id."""
    gone: Stored = field(default_factory=dict)
    """Those whose place is taken."""

    def decide(self, position: int, id: str, there: Stored, on_duplicate: str) -> None:
        """Decide on one more document."""
        if id not in there and id not in self.kept:
            self.status[position] = "added"
        elif on_duplicate == "replace":
            self.status[position] = "replaced"
            if id in there:
                self.gone[id] = there[id]
        else:
            self.status[position] = "skipped" if on_duplicate == "skip" else "duplicate"
            return
        self.kept[id] = position


def store(core: Core, prepared: PreparedDocuments, on_duplicate: str, *, strict: bool) -> list[str]:
    """Store documents; returns added, replaced, skipped or duplicate for each. ``strict``: a duplicate is an error."""

    def work(writing: Writing, view: View) -> tuple[list[str], View | None]:
        there = find_ids(writing, view, core.id_row, prepared.ids, prepared.keys[-1:])
        if not there and len(set(prepared.ids)) == len(prepared):
            return ["added"] * len(prepared), _put(core, writing, view, prepared, None, {})
        plan = _BlockPlan(["skipped"] * len(prepared))
        for position, id in enumerate(prepared.ids):
            plan.decide(position, id, there, on_duplicate)
            if strict and plan.status[position] == "duplicate":
                raise _taken(core, prepared, position)
        places = np.array(sorted(plan.kept.values()), dtype=np.int64)
        return plan.status, _put(core, writing, view, prepared, places, plan.gone)

    return core.change(work)


def _taken(core: Core, prepared: PreparedDocuments, position: int) -> InputError:
    id = original_id(prepared.ids[position], int(prepared.kinds[position]))
    return InputError(
        f"the id {id!r} is there already, in {core.name} or earlier in the same input. Give another id, or "
        "on_duplicate='skip' or 'replace' (--on-duplicate)."
    )


def _put(
    core: Core, writing: Writing, view: View, prepared: PreparedDocuments, places: I64 | None, gone: Stored
) -> View | None:
    """Write documents (all, or those at ``places``) in place of ``gone``; the view after it."""
    chosen = prepared if places is None else prepared.at(places)
    n = len(chosen)
    if n == 0 and not gone:
        return None
    has_shingles = chosen.has_shingles
    after = _take_away(writing, gone, added=n, empty=int(np.count_nonzero(~has_shingles)))
    first = after.next - n
    if n:
        writing.insert(chosen.rows(first))
        note_added(writing, first)
    if core.folder is not None:
        writing.insert_tail(tail_row(first, chosen.keys, chosen.prints, ~has_shingles))
    run = stage.make_run(first, chosen.keys, chosen.prints, has_shingles)
    return replace(view, generation=after.generation, tail=with_run(view.tail, run))


def _take_away(writing: Writing, gone: Stored, *, added: int = 0, empty: int = 0) -> State:
    """Remove documents and set the counters, also for those that are added next, ``empty`` of them empty."""
    if gone:
        writing.delete([number for number, _ in gone.values()])
    lost = sum(1 for _, kind in gone.values() if kind & EMPTY)
    return writing.note_change(documents=added - len(gone), empty=empty - lost, numbers=added)


def remove(core: Core, ids: Sequence[str] | None, where: Where, missing: str) -> int:
    """Remove documents, and return how many were there. Nothing is removed if one is missing and that is an error.

    Without ids, all that match a filter; a document of an id that does not match it is missing.
    """
    wanted = list(dict.fromkeys(ids or ()))

    def work(writing: Writing, view: View) -> tuple[int, View | None]:
        there = find_ids(writing, view, core.id_row, wanted)
        if where is not None:
            numbers = matching(writing, None if ids is None else [number for number, _ in there.values()], where)
            if ids is None:
                named = names_of(writing.names(sorted(numbers)), writing.path)
                there = {id: (number, kind) for number, id, kind in named}
            there = {id: found for id, found in there.items() if found[0] in numbers}
        if missing == "error" and len(there) < len(wanted):
            absent = next(id for id in wanted if id not in there)
            unmatched = "" if where is None else " that has the columns of where"
            raise InputError(
                f"there is no document {absent!r}{unmatched} in {core.name}. Leave the id out, or give missing='skip' "
                "(--missing skip)."
            )
        if not there:
            return 0, None
        return len(there), replace(view, generation=_take_away(writing, there).generation)

    return core.change(work)


def admit(core: Core, prepared: PreparedDocuments, threshold: float, on_duplicate: str) -> list[Admission]:
    """Add each document, in order, unless one that is there or was added before it is as similar as the threshold.

    One transaction for every ADMIT_AT_ONCE documents; a document that replaces another has its own.
    """
    found: list[Admission] = []
    while len(found) < len(prepared):
        begin = len(found)
        block = prepared.at(slice(begin, min(begin + ADMIT_AT_ONCE, len(prepared))))
        found += _admit(core, block, threshold, on_duplicate)
    return found


def _admit(core: Core, prepared: PreparedDocuments, threshold: float, on_duplicate: str) -> list[Admission]:
    """Admit the first documents of a block: all, or those before one that replaces another, or that one."""
    groups = _Groups(core, prepared, threshold, is_upsert=on_duplicate == "replace")

    def work(writing: Writing, view: View) -> tuple[list[Admission], View | None]:
        there = find_ids(writing, view, core.id_row, prepared.ids, prepared.keys[-1:])
        same = _empty_again(writing, prepared, there)
        best = groups.in_index(writing, view)
        plan = _BlockPlan(["skipped"] * len(prepared))
        admitted: dict[int, int] = {}  # group -> position of its document that was added
        found: list[Admission] = []
        for position, id in enumerate(prepared.ids):
            if position in same:
                found.append(Admission(original_id(id, int(prepared.kinds[position])), False, None))
                continue
            match = groups.match(position, best, admitted)
            replaces = match is None and on_duplicate == "replace" and (id in there or id in plan.kept)
            if replaces and position > 0:
                break  # what was found in the index may be the very document that goes: look again without it
            if match is None:
                plan.decide(position, id, there, on_duplicate)
                if plan.status[position] == "duplicate":
                    raise _taken(core, prepared, position)
            is_new = match is None and plan.status[position] != "skipped"
            if is_new:
                admitted.setdefault(groups.of[position], position)
            found.append(Admission(original_id(id, int(prepared.kinds[position])), is_new, match))
            if replaces:
                break
        places = np.array(sorted(plan.kept.values()), dtype=np.int64)
        return found, _put(core, writing, view, prepared, places, plan.gone)

    return core.change(work)


def _empty_again(writing: Writing, prepared: PreparedDocuments, there: Stored) -> set[int]:
    """Positions of empty documents that are stored already, under the same id and with the same text."""
    asked = {
        there[prepared.ids[at]][0]: at
        for at in np.flatnonzero(~prepared.has_shingles).tolist()
        if prepared.ids[at] in there
    }
    rows = writing.rows(sorted(asked)) if asked else []
    return {asked[row[0]] for row in rows if row[4] == prepared.documents.blob(asked[row[0]])}


class _Groups:
    """Documents of a block by their texts, and which texts are alike."""

    def __init__(self, core: Core, prepared: PreparedDocuments, threshold: float, *, is_upsert: bool) -> None:
        """With ``is_upsert``, a document is not compared with the version of it that it replaces."""
        self._core, self._prepared, self._threshold, self._is_upsert = core, prepared, threshold, is_upsert
        firsts: dict[bytes, int] = {}
        self.of = [
            firsts.setdefault(prepared.normal.blob(at), at) if has_shingles else at
            for at, has_shingles in enumerate(prepared.has_shingles.tolist())
        ]
        """For each document the first one with the same text; an empty one is only like itself."""
        self._firsts = np.unique(np.array(self.of, dtype=np.int64))
        self._distinct = prepared.at(self._firsts)
        self._near: dict[int, list[tuple[int, float, int]]] = {}
        if self._firsts.size > 1:
            self._compare()

    def _compare(self) -> None:
        """Similarities among the distinct texts of the block."""
        distinct, firsts = self._distinct, self._firsts.tolist()
        keys, shingled = distinct.keys, distinct.has_shingles
        run = stage.make_run(0, keys, distinct.prints, shingled)
        found = stage.lookup([run], run.fields.reshape(1, -1), keys[:-1], shingled, first_row=0)
        query = np.repeat(np.arange(len(distinct)), np.diff(found.ends, prepend=0))
        once = found.numbers < query
        left, right, bands = found.numbers[once], query[once], found.bands[once]
        if left.size == 0:
            return
        used, inside = np.unique(np.concatenate((left, right)), return_inverse=True)
        compared = distinct.at(used)
        sets = self._core.sketcher.sets(compared.normal)
        ends = inside[: left.size], inside[left.size :]
        similarity = check_pairs(*ends, sets, sets, threshold=self._threshold)
        for i in np.flatnonzero(similarity >= 0).tolist():
            a, b = firsts[left[i]], firsts[right[i]]
            for one, other in ((a, b), (b, a)):
                self._near.setdefault(one, []).append((other, float(similarity[i]), int(bands[i])))

    def in_index(self, writing: Writing, view: View) -> dict[int, list[Hit]]:
        """Return the first matches in the index of each group: one, and another if the first may be replaced."""
        how = partial(hits, sketcher=self._core.sketcher, threshold=self._threshold, limit=answers.FIRST_POSTINGS)
        best = how(writing, view, prepared=self._distinct, top=2 if self._is_upsert else 1)
        return {int(first): found for first, found in zip(self._firsts, best, strict=True)}

    def match(self, position: int, best: dict[int, list[Hit]], admitted: dict[int, int]) -> Hit | None:
        """The document that is most like this one: of the index, or of the block and admitted."""
        prepared, group = self._prepared, self.of[position]
        replaced = prepared.ids[position] if self._is_upsert else None
        match = next((hit for hit in best.get(group, []) if str(hit.id) != replaced), None)
        near = self._near.get(group, [])
        if prepared.has_shingles[position]:
            near = [*near, (group, 1.0, self._core.spec.bands.bands)]
        there = sorted((admitted[other], similarity, bands) for other, similarity, bands in near if other in admitted)
        for place, similarity, bands in there:  # of equals the first
            if prepared.ids[place] == replaced:
                continue
            if match is None or similarity > (match.similarity or 0.0):
                columns = prepared.columns[place] if prepared.columns else None
                id = original_id(prepared.ids[place], int(prepared.kinds[place]))
                match = Hit(id, similarity, bands, json.loads(columns) if columns else None)
        return match
