"""Looking around in an index: what it is, some of its documents, and what it holds in numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neardup.errors import InputError
from neardup.index import folders
from neardup.index.answers import find_ids
from neardup.index.columns import Where, check_columns, matching, read_columns
from neardup.index.core import Core
from neardup.index.folders import SEGMENTS
from neardup.index.outcomes import IndexInfo, IndexPage, IndexStatistics, ListedDocument, Stored
from neardup.index.prepared import original_id
from neardup.index.retention import as_text, times_of
from neardup.index.segments import bad_pages
from neardup.index.statements import Name, Reading, Row
from neardup.index.views import DamagedError, View, documents_of, names_of
from neardup.inputs.source import BATCH_BYTES
from neardup.params import Bands
from neardup.stages.postings import merged_row, without
from neardup.tuning import s_curve
from neardup.types import I64, U64, Mask

SCANNED = 50_000
"""Numbers of documents that one page looks through for ids with a prefix: there is no order of ids to look it up in."""
MOST_POSTINGS = 1 << 25
"""Postings of an index up to which the documents that share a band are counted: 1 s at most."""
SHARES = [step / 20 for step in range(21)]
"""The similarities for which the probability of being found is told."""
_LOW = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)


def info(core: Core, trouble: str | None) -> IndexInfo:
    """Tell what an index is and holds; ``trouble``: why its upkeep fails, if it does."""
    spec, recall = core.spec, core.spec.recall
    assert recall is not None  # an index finds candidates by the shingles that it checks by

    def work(reading: Reading, view: View) -> IndexInfo:
        state = reading.state()
        sizes = folders.sizes(core.folder) if core.folder is not None else {}
        return IndexInfo(
            path=None if core.folder is None else str(core.folder),
            documents=state.documents,
            empty=state.empty,
            threshold=spec.threshold,
            recall=recall,
            bands=str(spec.bands),
            shingle=str(spec.shingle),
            normalize=str(spec.normalize),
            spec=spec.as_dict(),
            spec_id=spec.id,
            format=reading.format(),
            created_by=core.created_by,
            generation=state.generation,
            segments=len(view.segments),
            segment_documents=view.covered,
            removed=reading.removed().size,
            bytes=sizes,
            total_bytes=sum(sizes.values()),
            healed=core.repaired,
            trouble=trouble,
        )

    return core.ask(work)


def get_many(core: Core, names: list[str]) -> list[Stored | None]:
    """Return the documents of some ids, or None for each that is not there, as of one moment."""

    def work(reading: Reading, view: View) -> list[Stored | None]:
        there = find_ids(reading, view, core.id_row, names)
        found: dict[str, Stored] = {}
        for rows in reading.row_blocks(sorted(number for number, _ in there.values())):
            documents_of(rows, reading.path)
            columns = read_columns(reading, rows)
            for number, id, kind, _, blob in rows:
                found[id] = Stored(original_id(id, kind), core.sketcher.text(blob), columns.get(number))
        return [found.get(name) for name in names]

    return core.ask(work)


def blocks(core: Core) -> Iterator[tuple[list[Row], dict[int, str]]]:
    """Yield all documents, and the columns of those that have any as JSON, as of one moment.

    In memory they are listed first: nothing is locked while they are used.
    """
    with core.database.reading() as reading:
        found = ((rows, dict(check_columns(reading, [row[0] for row in rows]))) for rows in reading.blocks())
        if core.folder is not None:
            yield from found
            return
        held = list(found)
    yield from held


def page(
    core: Core, after: int | None, *, size: int, prefix: str, newest: bool, opening: int, where: Where
) -> IndexPage:
    """List some documents in order of addition; see ``Index.page``."""
    for name, value, least, most in (("size", size, 1, 1000), ("opening", opening, 0, None)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least or (most and value > most):
            reach = f"from {least} to {most}" if most else f"of at least {least}"
            raise InputError(f"{name} is {value!r}. Give a whole number {reach}.")
    if after is not None and (isinstance(after, bool) or not isinstance(after, int) or after < 0):
        raise InputError(f"after is {after!r}. Give what the page before says as next, or nothing.")

    def work(reading: Reading, view: View) -> IndexPage:
        end = reading.state().next
        begin = (end if newest else -1) if after is None else max(-1, min(after, end))
        most = size if where is None else SCANNED
        names, last = reading.names_after(begin, prefix, most=most, scanned=SCANNED, newest=newest)
        if where is not None:
            wanted = matching(reading, [name[0] for name in names], where)
            names = [name for name in names if name[0] in wanted]
            names, last = names[:size], names[size - 1][0] if len(names) >= size else last
        names_of(names, reading.path)
        listed = _listed(core, reading, names, opening)
        if len(listed) < len(names):
            last = names[len(listed) - 1][0]
        is_end = last <= 0 if newest else last >= end - 1
        return IndexPage(tuple(listed), None if is_end else last)

    return core.ask(work)


def _listed(core: Core, reading: Reading, names: list[Name], opening: int) -> list[ListedDocument]:
    """List the documents of a page, up to some megabytes of text, and at least one."""
    times = [None if at is None else as_text(at) for at in times_of(reading, [name[0] for name in names])]
    columns = read_columns(reading, names)
    listed: list[ListedDocument] = []
    nbytes, size, begin = 0, None, None
    for (number, id, kind, _), at in zip(names, times, strict=True):
        if opening:
            rows = reading.rows([number])
            nbytes += len(rows[0][4])
            if listed and nbytes > BATCH_BYTES:
                break
            documents_of(rows, reading.path)
            text = core.sketcher.text(rows[0][4])
            size, begin = len(text), text[:opening]
        listed.append(ListedDocument(original_id(id, kind), size, begin, at, columns.get(number)))
    return listed


def statistics(core: Core) -> IndexStatistics:
    """What an index holds in numbers; see ``Index.statistics``."""

    def work(reading: Reading, view: View) -> IndexStatistics:
        state, bands = reading.state(), core.spec.bands
        numbers, prints, gone = _living(core, reading, view)
        sizes = _group_sizes(np.sort(prints[numbers]))
        files = {} if core.folder is None else folders.sizes(core.folder)
        return IndexStatistics(
            documents=state.documents,
            empty=state.empty,
            distinct=sizes.size,
            copied=int(sizes[sizes > 1].sum()),
            largest_group=int(sizes.max(initial=0)),
            sharing=_sharing(view, prints, gone, bands),
            segments=tuple((run.span, files.get(f"{SEGMENTS}/{run.name}", 0)) for run in view.segments),
            tail_documents=max(0, state.next - view.covered),
            total_bytes=sum(files.values()),
            recall_curve=tuple((share, s_curve(share, bands.bands, bands.rows)) for share in SHARES),
        )

    return core.ask(work)


def _living(core: Core, reading: Reading, view: View) -> tuple[I64, U64, Mask | None]:
    """Numbers of the documents of a transaction, the hashes of all texts by number, and which documents are gone."""
    if not view.runs:
        return np.empty(0, np.int64), np.empty(0, np.uint64), None
    for run in view.segments:
        if run.checks is not None and bad_pages(run):  # what is read here passes by the check of a lookup
            raise DamagedError(run.base, run.span, run.name or "", "a segment is damaged")
    later = np.arange(reading.state().next, view.runs[-1].end)  # a view may be later than the transaction
    gone, prints = without(view.runs, np.concatenate((reading.removed(), later)))
    numbers = (merged_row(view.runs, core.id_row, gone) & _LOW).astype(np.int64)
    return numbers, prints, gone


def _group_sizes(rising: U64) -> I64:
    """How many values there are of each of rising values."""
    if rising.size == 0:
        return np.empty(0, np.int64)
    starts = np.flatnonzero(np.concatenate(([True], rising[1:] != rising[:-1])))
    return np.diff(starts, append=rising.size)


def _sharing(view: View, prints: U64, gone: Mask | None, bands: Bands) -> int | None:
    """Documents that share a band with one of another text; None where there are too many postings to count them.

    O(postings): each band is put in order, and each bucket asked whether it has more than one text.
    """
    if sum(int(run.postings.size) for run in view.runs) > MOST_POSTINGS:
        return None
    is_sharing = np.zeros(prints.size, dtype=np.bool_)
    for band in range(bands.bands if view.runs else 0):
        postings = merged_row(view.runs, band, gone)
        sizes = _group_sizes(postings >> _S32)
        if sizes.size == 0:
            continue
        members = (postings & _LOW).astype(np.int64)
        texts = prints[members]
        starts = np.cumsum(sizes) - sizes
        is_mixed = np.minimum.reduceat(texts, starts) != np.maximum.reduceat(texts, starts)
        is_sharing[members[np.repeat(is_mixed, sizes)]] = True
    return int(np.count_nonzero(is_sharing))
