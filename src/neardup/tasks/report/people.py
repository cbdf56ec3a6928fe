"""Whose a document is: several files of one person are not compared with each other, and are shown together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from neardup.engine.pairing import Pairing
from neardup.session import Run
from neardup.tasks.grouping import GroupBy, shown_ids, told_names
from neardup.tasks.report.roles import ORIGINAL, SUBMISSION, Roles
from neardup.types import I32, U8


@dataclass(frozen=True, slots=True)
class People:
    """The people of a collection."""

    names: list[str]
    """In the order of their first documents."""
    of: I32
    """int32[n]: the number of each document's person; -1 for originals, which are nobody's."""
    role: U8
    """uint8[n]: indices into ROLES."""
    is_grouped: bool
    """Whether a person may have several documents; else each document has its own."""
    unnamed: int
    """Documents that did not tell whose they are, and stand for themselves."""

    @property
    def pairing(self) -> Pairing | None:
        """Which documents may form pairs; None: any two."""
        is_reference = self.role != SUBMISSION
        if not self.is_grouped and not is_reference.any():
            return None
        return Pairing(self.of if self.is_grouped else None, is_reference if is_reference.any() else None)

    def submitting(self) -> int:
        """How many people have a submission."""
        return int(np.unique(self.of[self.role == SUBMISSION]).size)


def find_people(run: Run, by: GroupBy | None, roles: Roles) -> People:
    """Whose each document of a run is that has read them. A document that does not tell is by itself.

    Without ``by`` each document is its own person's, by the name of its id. Two documents are of one person when they
    tell the same name, submissions and earlier ones alike.
    """
    n = len(run.provenance.ids)
    role = roles.of(run)
    rows = np.flatnonzero(role != ORIGINAL)
    ids = shown_ids(run, rows)
    of = np.full(n, -1, dtype=np.int32)
    if by is None:
        of[rows] = np.arange(rows.size, dtype=np.int32)
        return People(ids, of, role, False, 0)
    told = told_names(run, by, [*run.reader.sources, *roles.given], rows, ids)
    known: dict[tuple[bool, str], int] = {}
    keys = [(name is None, id if name is None else name) for name, id in zip(told, ids, strict=True)]
    of[rows] = [known.setdefault(key, len(known)) for key in keys]
    return People([name for _, name in known], of, role, True, sum(name is None for name in told))
