"""The heaviest passages of a run with the text around their first places."""

from __future__ import annotations

import numpy as np

from neardup.engine.repeats.text import EndToEnd
from neardup.pages.contexts import Context, Contexts, Place
from neardup.params import check_top
from neardup.shown import counted
from neardup.tasks.passages.page_census import take_census
from neardup.tasks.passages.page_places import find_places
from neardup.tasks.passages.run import Cutting, PassageRun

_NO_ROWS = np.empty(0, dtype=np.int64)


def find_contexts(run: PassageRun, most: int, places: int, characters: int) -> Contexts:
    """The ``most`` heaviest passages, some ``places`` of each, and ``characters`` before, in and behind each."""
    for value, name in ((most, "n"), (places, "places"), (characters, "characters")):
        check_top(value, name, "none")
    census = take_census(run, most=most)
    found = find_places(run, census, np.full(len(census), places), _NO_ROWS, Cutting()).places
    text = run.find().originals.text
    passages = []
    for number in range(len(census)):
        spans, documents = int(census.spans[number]), int(census.documents[number])
        where = f"at {counted(spans, 'place')} in {counted(documents, 'document')}"
        title = f"{counted(int(census.bytes[number]), 'byte')} {where}"
        passages.append(
            Context(title, tuple(_place(run, text, *place, characters=characters) for place in found.of(number)))
        )
    return Contexts(tuple(passages), max(0, run.summary().passages - len(passages)))


def _place(run: PassageRun, text: EndToEnd, row: int, start: int, end: int, *, characters: int) -> Place:
    base, stop = text.offsets[row : row + 2].tolist()

    def piece(begin: int, last: int) -> str:
        return text.piece(max(base, base + begin), min(stop, base + last)).tobytes().decode("utf-8", "ignore")

    inside = piece(start, min(end, start + 4 * characters))
    first = text.characters(np.array([base, base + start])).tolist()
    return Place(
        str(run.provenance.ids.take(np.array([row])).to_pylist()[0]),
        first[1] - first[0],
        piece(start - 4 * characters, start)[-characters:],
        inside[:characters],
        piece(end, end + 4 * characters)[:characters],
        len(inside) > characters or end - start > 4 * characters,
    )
