"""A page of repeated passages: what it shows, as JSON values, within the bytes that it may have.

Everything is chosen by counts and lengths before a text is looked at; texts come when their chunk is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neardup._version import __version__
from neardup.inputs.columns import ReadColumns, column_words
from neardup.pages.pairs import SNAP, text_data, union
from neardup.pages.site.render import passages_page
from neardup.pages.site.write import WrittenPage, check_site, is_page, write_site
from neardup.shown import by_cause, counted, cut_text, megabytes
from neardup.tasks.passages.page_census import Grouping, Losses, count_groups, count_losses, marks_of
from neardup.tasks.repeats.census import Census, take_census
from neardup.tasks.repeats.phrases import change_rows, cut_how, selection_rows, shortest, wanted, where
from neardup.tasks.repeats.places import Spans, read_spans
from neardup.tasks.repeats.run import PassageRun
from neardup.tasks.repeats.settings import Cutting
from neardup.types import I64, Mask

FOLDER_BYTES, SINGLE_BYTES = 200_000_000, 20_000_000
"""Of a page as a folder and as one file, which a browser reads as a whole."""
FRAME_BYTES = 300_000
"""What a page takes without data."""
MOST_LISTED, MOST_DOCUMENTS, MOST_GROUPS = 100_000, 20_000, 40
ROW_BYTES = 70
"""Of a passage or a document in a list, beside names and words."""
SAMPLE = 500
"""Names by which their length is estimated."""
LIST_SHARE, DOCUMENT_LIST_SHARE, PLACES_SHARE = 0.25, 0.05, 0.4
"""Of the bytes of a page: the list of passages, that of documents, and pages of passages; the rest are documents."""
CHUNK_BYTES, CHUNK_ROWS = 480_000, 2000
FIRST_PLACES, MOST_PLACES = 3, 100
"""Places of a passage that its page has: as many of all passages, and more of the heaviest while there is room."""
FIRST_SHARE = 0.7
"""Of the bytes of these pages, what the first places of passages may have."""
CONTEXT, ENDS = 120, 80
"""Bytes of text on each side of a place, and of the beginning and the end of the passage there."""
PLACE_BYTES = 2 * CONTEXT + 2 * ENDS + 100
HEAD, TAIL = 3000, 800
"""Bytes of a passage that its page has, where it is longer than both."""
CHARACTERS = 20_000
"""Of a document that its page has; of a longer one the parts around what is repeated."""
DOCUMENT_BYTES = 400
"""Of a document's page beside its text, about."""
OPENING = 90
"""Characters of a passage that a row shows."""
TOP = 10
NUMBERS = ("min_count", "min_docs", "min_share")
"""Of the selection: least numbers that are told where they were given."""
FAULTS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class PassageView:
    """What a page shows of a run, to be taken by its templates and scripts."""

    meta: dict[str, Any]
    """Counts, the first rows and what is left out."""
    run: PassageRun
    cutting: Cutting
    spans: Spans
    census: Census
    places: tuple[I64, I64]
    """As ``Census.places`` gives them."""
    losses: Losses
    """Documents that are listed, in the order of their list; those behind the ones that lose something lose nothing."""
    page: I64
    """int64[listed]: the chunk with the page of each passage, or -1."""
    document_page: I64
    """int64[documents listed]: the same of documents."""

    def chunks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and contents of each chunk; texts are read as they come."""
        for number, first in enumerate(range(0, len(self.census), CHUNK_ROWS)):
            yield f"repeats-{number:04d}", self.passage_rows(first, min(first + CHUNK_ROWS, len(self.census)))
        for number, first in enumerate(range(0, len(self.losses), CHUNK_ROWS)):
            yield f"losses-{number:04d}", self.document_rows(first, min(first + CHUNK_ROWS, len(self.losses)))
        numbers = self._numbers()
        for number, rows in _by_chunk(self.page):
            yield f"places-{number:04d}", {"passages": {str(i): self._passage(i, numbers) for i in rows}}
        for number, rows in _by_chunk(self.document_page):
            yield f"documents-{number:04d}", {"documents": {str(i): self._document(i) for i in rows}}

    @property
    def number_of_chunks(self) -> int:
        lists = -(-len(self.census) // CHUNK_ROWS) - (-len(self.losses) // CHUNK_ROWS)
        return lists + int(self.page.max(initial=-1)) + int(self.document_page.max(initial=-1)) + 2

    def passage_rows(self, first: int, last: int) -> dict[str, Any]:
        """Some rows of the list of passages, by columns; id and start are of the first place, also elsewhere."""
        part, census = slice(first, last), self.census
        rows = census.rows[part]
        begin, end, origin = self.spans.low[rows], self.spans.high[rows], self.spans.origin[rows]
        text = self.run.find().originals.text
        document = np.searchsorted(text.offsets, origin, side="right") - 1
        start = text.characters(origin) - text.characters(text.offsets[document])
        return {
            "first": first,
            "id": self._names(document),
            "start": start.tolist(),
            "spans": census.spans[part].tolist(),
            "documents": census.documents[part].tolist(),
            "bytes": (end - begin).tolist(),
            "weight": census.weight[part].tolist(),
            "most": census.most[part].tolist(),
            "opening": [self._opening(*ends) for ends in zip(begin.tolist(), end.tolist(), strict=True)],
            "page": self.page[part].tolist(),
        }

    def document_rows(self, first: int, last: int) -> dict[str, Any]:
        """Some rows of the list of documents, by columns."""
        part = slice(first, last)
        rows, offsets = self.losses.rows[part], self.run.find().originals.text.offsets
        return {
            "first": first,
            "id": self._names(rows),
            "bytes": (offsets[rows + 1] - offsets[rows]).tolist(),
            "lost": self.losses.lost[part].tolist(),
            "left": self.losses.left[part].tolist(),
            "page": self.document_page[part].tolist(),
        }

    def top(self) -> list[dict[str, Any]]:
        """The heaviest passages with their first places."""
        rows = self.passage_rows(0, min(TOP, len(self.census)))
        numbers = self._numbers()
        return [
            {
                "number": i,
                **{name: rows[name][i] for name in ("spans", "documents", "bytes", "weight", "opening", "page")},
                "places": [self._place(row, numbers) for row in self._places(i)[:FIRST_PLACES]],
            }
            for i in range(len(rows["id"]))
        ]

    def _places(self, number: int) -> list[int]:
        """The rows of the spans that are shown of a passage."""
        begins, rows = self.places
        found: list[int] = rows[slice(*begins[number : number + 2].tolist())].tolist()
        return found

    def _numbers(self) -> dict[int, int]:
        """The number in the list of each document that has a page, by row."""
        paged = np.flatnonzero(self.document_page >= 0)
        return dict(zip(self.losses.rows[paged].tolist(), paged.tolist(), strict=True))

    def _passage(self, number: int, numbers: dict[int, int]) -> dict[str, Any]:
        row, text = self.census.rows[number], self.run.find().originals.text
        begin, end = int(self.spans.low[row]), int(self.spans.high[row])
        first, last = text.characters(np.array([begin, end])).tolist()
        if text.goes_on_at(np.array([end]))[0]:
            last -= 1
        pieces = [[0, self._text(begin, end)]]
        if end - begin > HEAD + TAIL:
            tail = self._text(end - TAIL, end)
            pieces = [[0, self._text(begin, begin + HEAD)], [last - first - len(tail), tail]]
        return {
            "text": {"characters": last - first, "pieces": pieces},
            "places": [self._place(row, numbers) for row in self._places(number)],
        }

    def _place(self, span: int, numbers: dict[int, int]) -> dict[str, Any]:
        """A place of a passage: whose, where in characters, and the words before, in and behind it."""
        text = self.run.find().originals.text
        row, first, last = (int(column[span]) for column in (self.spans.document, self.spans.low, self.spans.high))
        base, stop = text.offsets[row : row + 2].tolist()
        begins = text.characters(np.array([base, first, last])).tolist()
        is_short = last - first <= 2 * ENDS
        return {
            "id": self._names(np.array([row]))[0],
            "document": numbers.get(row, -1),
            "start": begins[1] - begins[0],
            "end": begins[2] - begins[0] - int(last < stop and text.goes_on_at(np.array([last]))[0]),
            "before": self._before(base, first),
            "opening": self._text(first, last if is_short else first + ENDS),
            "closing": "" if is_short else self._text(last - ENDS, last),
            "behind": self._behind(last, stop),
        }

    def _before(self, base: int, at: int) -> str:
        """The words before a place of a document that begins at ``base``."""
        words = self._text(max(base, at - CONTEXT), at)
        if at - CONTEXT <= base:
            return words
        gap = next((i for i, char in enumerate(words[:SNAP]) if char.isspace()), 0)
        return "…" + words[gap:].lstrip()

    def _behind(self, at: int, stop: int) -> str:
        """The words behind a place of a document that ends at ``stop``."""
        words = self._text(at, min(stop, at + CONTEXT))
        if at + CONTEXT >= stop:
            return words
        gap = next((i for i, char in enumerate(words[: -SNAP - 1 : -1]) if char.isspace()), 0)
        return words[: len(words) - gap].rstrip() + "…"

    def _document(self, number: int) -> dict[str, Any]:
        """A document with its marks and what is cut, in characters."""
        row = int(self.losses.rows[number])
        text = self.run.find().originals.text
        base, stop = text.offsets[row : row + 2].tolist()
        content = text.piece(base, stop).tobytes()
        marked = marks_of(self.run, self.spans, self.census.passage, row, content, self.cutting)
        cuts = np.array([[start, end] for start, end, _ in marked.cuts], dtype=np.int64).reshape(-1, 2)
        places = np.concatenate((marked.marks[:, :2].reshape(-1), cuts.reshape(-1)))
        characters = (text.characters(base + places) - text.characters(np.array([base]))).reshape(-1, 2)
        marks, cuts = characters[: len(marked.marks)], characters[len(marked.marks) :]
        kept = marks[:, 0] < marks[:, 1]
        whole = content.decode("utf-8", "replace")
        spans = [(start, end) for start, end in marks[kept].tolist()]
        return {
            "text": text_data(whole, union(spans), most=CHARACTERS),
            "marks": [[*span, *about] for span, about in zip(spans, marked.marks[kept, 2:].tolist(), strict=True)],
            "cuts": [[*cut, joint] for cut, (_, _, joint) in zip(cuts.tolist(), marked.cuts, strict=True)],
            "left_out": marked.left_out,
        }

    def _opening(self, begin: int, end: int) -> str:
        return cut_text(" ".join(self._text(begin, min(end, begin + 6 * OPENING)).split()), OPENING)

    def _text(self, begin: int, end: int) -> str:
        """The characters that are whole between two bytes of the texts end to end."""
        return self.run.find().originals.text.piece(begin, end).tobytes().decode("utf-8", "ignore")

    def _names(self, rows: I64) -> list[str]:
        return [str(name) for name in self.run.provenance.ids.take(rows).to_pylist()]


def _by_chunk(page: I64) -> Iterator[tuple[int, list[int]]]:
    """The numbers whose pages are in each chunk; chunks rise with the numbers that have one."""
    numbers = np.flatnonzero(page >= 0)
    bounds = np.flatnonzero(np.diff(page[numbers], prepend=-1, append=-1))
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield int(page[numbers[first]]), numbers[first:last].tolist()


def view_of(
    run: PassageRun, cutting: Cutting, *, size: int, is_cut: bool = False, grouping: Grouping | None = None
) -> PassageView:
    """Choose what a page of about ``size`` bytes shows of a run. Walks over its segments.

    ``is_cut``: the cuts were made, and are not a proposal. ``grouping``: groups of documents that get a table; where
    it is None those of the selection, or the input files, if there are several.
    """
    summary, grouping = run.summary(), grouping or _by_group(run) or _by_source(run)
    text = run.find().originals.text
    name = _name_bytes(run)
    letter = text.size / max(1, int(text.characters(np.array([text.size]))[0]))
    row, document_row = ROW_BYTES + name + int(OPENING * letter), ROW_BYTES + name
    spans = read_spans(run)
    listed = min(MOST_LISTED, max(TOP, int(LIST_SHARE * size) // row))
    census, losses = take_census(spans, most=listed, least=run.length.least_bytes), count_losses(run, cutting)
    groups = [] if grouping is None else count_groups(run, grouping, losses)
    losers = losses.most(min(MOST_DOCUMENTS, max(TOP, int(DOCUMENT_LIST_SHARE * size) // document_row)))
    left = size - FRAME_BYTES - row * len(census) - document_row * len(losers)
    sizes = spans.bytes[census.rows]
    quotas, page, spent = _passage_pages(census, sizes, PLACE_BYTES + name, int(PLACES_SHARE * size))
    documents, document_page = _document_pages(run, spans.document[census.rows], losers, left - spent)
    view = PassageView({}, run, cutting, spans, census, census.places(quotas), documents, page, document_page)
    first = view.document_rows(0, min(TOP, len(losers)))
    names, told = ("id", "bytes", "lost", "left", "page"), summary.as_dict()
    top_losers = zip(*(first[name] for name in names), strict=True)
    view.meta.update(
        {
            "shortest": shortest(told),
            "wanted": wanted(told),
            "where": where(told),
            "is_across": run.selection.is_across,
            "counts": {
                "documents": summary.documents,
                "bytes": summary.bytes,
                "repeated": summary.repeated_bytes,
                "later": summary.later_bytes,
                "passages": spans.heads.size,
                "spans": summary.spans,
            },
            "total": spans.heads.size,
            "listed": len(census),
            "chunk": CHUNK_ROWS,
            "chunks": -(-len(census) // CHUNK_ROWS),
            "documents": {
                "total": len(losses),
                "listed": len(documents),
                "chunk": CHUNK_ROWS,
                "chunks": -(-len(documents) // CHUNK_ROWS),
            },
            "cut": {
                **asdict(cutting),
                "how": cut_how(cutting.policy, cutting.snap, summary.unit),
                "documents": len(losses),
                "bytes": int(losses.lost.sum()),
                "is_made": is_cut,
            },
            "top": view.top(),
            "losers": [dict(zip(names, row, strict=True)) for row in top_losers],
            "lengths": census.lengths,
            "groups": None if grouping is None else _groups(grouping.label, groups),
            "limits": _limits(view, spans.heads.size, summary.spans, len(losses), len(losers)),
        }
    )
    return view


def _by_group(run: PassageRun) -> Grouping | None:
    """The groups inside which passages were looked for, if there are any."""
    run.find()
    if run.groups is None:
        return None
    return Grouping("Group", [name or "(none)" for name in run.groups.names], run.groups.of.astype(np.int64))


def _by_source(run: PassageRun) -> Grouping | None:
    """The input files as groups, if there are several."""
    documents, places = run.find().documents, run.provenance.places
    of = places.locate(np.arange(documents))[0].astype(np.int64)
    if not of.size or of[-1] == 0:
        return None
    return Grouping("Source", places.sources, of)


def _groups(label: str, rows: Sequence[tuple[str, int, int, int, int]]) -> dict[str, Any]:
    shown = [list(row) for row in rows[:MOST_GROUPS]]
    return {"label": label, "rows": shown, "left_out": len(rows) - len(shown)}


def _name_bytes(run: PassageRun) -> int:
    """Bytes of the name of a document, of some names the mean."""
    documents = len(run.provenance.ids)
    rows = np.unique(np.linspace(0, documents - 1, min(SAMPLE, documents)).astype(np.int64))
    names = run.provenance.ids.take(rows).to_pylist()
    return sum(len(str(name).encode("utf-8", "replace")) for name in names) // max(1, len(names))


def _passage_pages(census: Census, size: I64, place: int, room: int) -> tuple[I64, I64, int]:
    """How many places of each passage are shown, the chunk of its page, -1 where there is no room, and their bytes.

    ``place`` are the bytes of one.
    """
    spans = census.spans
    bare = 300 + np.minimum(size, HEAD + TAIL) * 5 // 4
    least = bare + np.minimum(spans, FIRST_PLACES) * place
    has_page = np.cumsum(least) <= FIRST_SHARE * room
    has_page[:TOP] = True
    left = room - int(least[has_page].sum())
    more = (np.minimum(spans, MOST_PLACES) - np.minimum(spans, FIRST_PLACES)) * place
    has_more = has_page & (np.cumsum(more) <= left)
    quotas = np.where(has_page, np.minimum(spans, np.where(has_more, MOST_PLACES, FIRST_PLACES)), 0)
    costs = least + np.where(has_more, more, 0)
    return quotas, _chunked(has_page, costs), int(costs[has_page].sum())


def _document_pages(run: PassageRun, firsts: I64, losers: Losses, room: int) -> tuple[Losses, I64]:
    """The documents of the list and the chunk of the page of each.

    Those that lose something come first; behind them are those of ``firsts``, where passages stand first, the heaviest
    ahead, which have up to half of the room.
    """
    text = run.find().originals.text
    rows, at = np.unique(firsts, return_index=True)
    rows = rows[np.argsort(at, kind="stable")]
    others = rows[~np.isin(rows, losers.rows)]

    def costs(of: I64) -> I64:
        size = text.offsets[of + 1] - text.offsets[of]
        found: I64 = np.minimum(size * 5 // 4, 3 * CHARACTERS) + DOCUMENT_BYTES
        return found

    mine, others_cost = costs(losers.rows), costs(others)
    is_paged = np.cumsum(others_cost) <= max(room // 2, room - int(mine.sum()))
    others, others_cost = others[is_paged], others_cost[is_paged]
    has_page = np.cumsum(mine) <= room - int(others_cost.sum())
    has_page[:TOP] = True
    zero = np.zeros(others.size, dtype=np.int64)
    begins, ends = text.offsets[others], text.offsets[others + 1]
    together = Losses(
        np.concatenate((losers.rows, others)),
        np.concatenate((losers.lost, zero)),
        np.concatenate((losers.left, text.characters(ends) - text.characters(begins))),
    )
    both = np.concatenate((has_page, np.ones(others.size, dtype=np.bool_)))
    return together, _chunked(both, np.concatenate((mine, others_cost)))


def _chunked(has_page: Mask, costs: I64) -> I64:
    """The chunk of each page, of about CHUNK_BYTES; -1 where there is none."""
    spent = np.cumsum(np.where(has_page, costs, 0)) - costs
    chunk = np.where(has_page, np.maximum(spent, 0) // CHUNK_BYTES, -1)
    numbers, back = np.unique(chunk, return_inverse=True)
    return (back - int(numbers.size > 0 and numbers[0] < 0)).astype(np.int64)


def _limits(view: PassageView, passages: int, spans: int, losing: int, listed_losers: int) -> list[str]:
    """What the page leaves out, as sentences."""
    census = view.census
    paged = int(np.count_nonzero(view.page >= 0))
    told = []
    if passages > len(census):
        told.append(
            f"{counted(passages - len(census), 'passage')} of {passages:,}, the lightest, are not listed. The table of"
            " spans has all."
        )
    if len(census) > paged:
        told.append(f"{len(census) - paged:,} of the listed passages have no page of their own.")
    missing = (census.spans - np.diff(view.places[0]))[view.page >= 0]
    if missing.any():
        told.append(
            f"{int(missing.sum()):,} of {spans:,} places are not shown: of a passage up to {MOST_PLACES} are, and where"
            f" there is little room {FIRST_PLACES}."
        )
    if losing > listed_losers:
        told.append(f"{counted(losing - listed_losers, 'document')} that lose something are not listed.")
    paged_documents = int(np.count_nonzero(view.document_page[:listed_losers] >= 0))
    if listed_losers > paged_documents:
        told.append(f"{counted(listed_losers - paged_documents, 'listed document')} have no page with their text.")
    return told


def write_page(
    run: PassageRun,
    cutting: Cutting,
    target: str | os.PathLike[str],
    *,
    title: str | None = None,
    single_file: bool = False,
    is_cut: bool = False,
) -> WrittenPage:
    """Write the page of a run: one file where ``single_file`` or the name says so, else a folder.

    OutputError where it cannot be written, or something else is there.
    """
    name = os.fspath(target)
    single_file = single_file or is_page(name)
    check_site(name, single_file=single_file)
    observer = run.observer
    observer.stage("pages", None, "")
    size = SINGLE_BYTES if single_file else FOLDER_BYTES
    view = view_of(run, cutting, size=size, is_cut=is_cut)
    faults = by_cause(run.provenance.faults)[:FAULTS_SHOWN]
    meta = {
        "title": title if title is not None else _title(run),
        "version": f"neardup {__version__}",
        "passages": view.meta,
        "facts": _facts(run, view.meta),
        "faults": [line for line, _ in faults],
        "faults_left_out": run.provenance.bad - sum(count for _, count in faults),
    }
    observer.stage("report", view.number_of_chunks, "files")

    def chunks() -> Iterator[tuple[str, dict[str, Any]]]:
        for chunk in view.chunks():
            yield chunk
            observer.advance(1)

    return write_site(Path(name), meta, chunks(), single_file=single_file, page=passages_page)


def _title(run: PassageRun) -> str:
    names = (os.path.basename(name.rstrip("/\\")) or name for name in run.reader.sources)
    return f"Repeated passages in {', '.join(names)}"


def _facts(run: PassageRun, meta: dict[str, Any]) -> list[list[str]]:
    """What was read, and how: labels and values."""
    counts, columns = meta["counts"], [each for each in run.reader.columns if isinstance(each, ReadColumns)]
    cut, normalize, summary = meta["cut"], str(run.normalize), run.summary().as_dict()
    told = [
        ["inputs", ", ".join(run.reader.sources)],
        ["documents", f"{counts['documents']:,} ({megabytes(counts['bytes'])})"],
        ["columns", column_words(columns) if columns else ""],
        ["shortest passage", meta["shortest"]],
        ["compared", "texts as they are" if normalize == "none" else f"texts after {normalize}"],
        *(list(row) for row in (*change_rows(summary), *selection_rows(summary))),
        ["passages", "" if all(summary[name] is None for name in NUMBERS) else f"those {meta['wanted']}"],
        ["cut", cut["how"] + (f", {cut['min_cut']:,} bytes or more" if cut["min_cut"] else "")],
        ["bad records", f"{run.provenance.bad:,}" if run.provenance.bad else ""],
    ]
    return [row for row in told if row[1]]
