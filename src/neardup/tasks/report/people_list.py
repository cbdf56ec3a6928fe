"""The list of people: how many documents and pairs each has, and the highest share of one; the highest first."""

from __future__ import annotations

from typing import Any

import numpy as np

from neardup.tasks.report.ranking import RankedPairs
from neardup.tasks.report.report_input import ReportInput

NAME = "people-0000"
"""Of the chunk."""


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
