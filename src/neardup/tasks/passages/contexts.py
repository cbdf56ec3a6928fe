"""The heaviest passages of a run with the text around their first places."""

from __future__ import annotations

import numpy as np

from neardup.engine.repeats.text import EndToEnd
from neardup.pages.contexts import Context, Contexts, Place
from neardup.params import check_top
from neardup.shown import counted
from neardup.tasks.repeats.census import take_census
from neardup.tasks.repeats.places import Spans, read_spans
from neardup.tasks.repeats.run import PassageRun


def find_contexts(run: PassageRun, most: int, places: int, characters: int) -> Contexts:
    """The ``most`` heaviest passages, some ``places`` of each, and ``characters`` before, in and behind each."""
    for value, name in ((most, "n"), (places, "places"), (characters, "characters")):
        check_top(value, name, "none")
    spans, text = read_spans(run), run.find().originals.text
    census = take_census(spans, most=most, least=run.length.least_bytes)
    begins, rows = census.places(np.full(len(census), places))
    passages = []
    for number in range(len(census)):
        at, documents = int(census.spans[number]), int(census.documents[number])
        size = int(spans.bytes[census.rows[number]])
        title = f"{counted(size, 'byte')} at {counted(at, 'place')} in {counted(documents, 'document')}"
        shown = rows[slice(*begins[number : number + 2].tolist())].tolist()
        passages.append(Context(title, tuple(_place(run, text, spans, row, characters) for row in shown)))
    return Contexts(tuple(passages), max(0, spans.heads.size - len(passages)))


def _place(run: PassageRun, text: EndToEnd, spans: Spans, span: int, most: int) -> Place:
    row, low, high = (int(column[span]) for column in (spans.document, spans.low, spans.high))
    base, stop = text.offsets[row : row + 2].tolist()

    def piece(begin: int, end: int) -> str:
        return text.piece(max(base, begin), min(stop, end)).tobytes().decode("utf-8", "ignore")

    inside = piece(low, min(high, low + 4 * most))
    begins = text.characters(np.array([base, low])).tolist()
    return Place(
        str(run.provenance.ids.take(np.array([row])).to_pylist()[0]),
        begins[1] - begins[0],
        piece(low - 4 * most, low)[-most:],
        inside[:most],
        piece(high, high + 4 * most)[:most],
        len(inside) > most or high - low > 4 * most,
    )
