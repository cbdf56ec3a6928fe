"""What is cut of each document, and what is left of it: bytes of the texts as they were read."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from neardup.arrays import flags, numbers, strings
from neardup.engine.repeats.find import Repeats
from neardup.engine.space import Space
from neardup.inputs.names import Ids
from neardup.spool import Column, MemoryColumn
from neardup.stages.repeats.policies import Cuts, find_cuts
from neardup.stages.repeats.segments import Segments, whole_documents
from neardup.stages.repeats.surgery import Span, snap_cuts, without
from neardup.tasks.repeats.settings import Cutting

TEXT_BYTES = 4 << 20
"""Bytes of texts in a batch, about."""
MEMORY_SHARE = 0.05
"""Of the memory for data, what cuts may have before they go to a file."""
_BLOCK = 1 << 14


@dataclass(frozen=True)
class CutDocument:
    """A document of which something is cut; texts are UTF-8."""

    row: int
    before: bytes
    cuts: list[Span]
    """Bytes of ``before``, rising and apart."""

    @cached_property
    def after(self) -> bytes:
        """The text without them."""
        return without(self.before, self.cuts)

    @property
    def cut_bytes(self) -> int:
        """Bytes that are cut."""
        return sum(end - start for start, end in self.cuts)

    @property
    def left(self) -> int:
        """The number of characters that are left, 0 if all of them are white space."""
        text = self.after.decode("utf-8", "replace")
        return 0 if text.isspace() else len(text)


def unsnapped_cuts(repeats: Repeats, segments: Iterable[Segments], policy: str) -> Iterator[Cuts]:
    """What a policy cuts, in bytes, before cuts are moved inward; those of one document come together."""
    for found in whole_documents(segments):
        yield cuts_in_bytes(repeats, found, policy)


def cuts_in_bytes(repeats: Repeats, segments: Segments, policy: str) -> Cuts:
    """What a policy cuts of some documents, all of whose segments are given, in bytes of the texts as read.

    Passages that follow each other are one cut where nothing but white space stands between them. What else does, such
    as signs between two words, was not compared and is in neither, so it stays.
    """
    cuts, originals = find_cuts(segments, policy), repeats.originals
    if not len(cuts):
        return cuts
    begins, ends = originals.around(cuts.document, cuts.start, cuts.end)
    is_joined = (cuts.document[1:] == cuts.document[:-1]) & (cuts.start[1:] == cuts.end[:-1])
    parted = np.flatnonzero(is_joined & (begins[1:] > ends[:-1]))
    is_joined[parted] = originals.are_blank(cuts.document[parted], ends[parted], begins[parted + 1])
    is_first, is_last = np.append(True, ~is_joined), np.append(~is_joined, True)
    rows = cuts.document[is_first]
    return Cuts(rows, *originals.inside(rows, cuts.start[is_first], cuts.end[is_last]))


def cut_documents(
    repeats: Repeats, segments: Iterable[Segments], cutting: Cutting, spared: array[int] | None = None
) -> Iterator[CutDocument]:
    """Yield the documents of which something is cut, in the order of the input.

    If nothing would be left of a document, it is not cut, and ``spared`` receives its row; None: it is cut too.
    """
    for part in unsnapped_cuts(repeats, segments, cutting.policy):
        bounds = np.flatnonzero(np.diff(part.document, prepend=-1, append=-1))
        for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            document = int(part.document[first])
            whole = bytes_of(repeats, document)
            spans = list(zip(part.start[first:stop].tolist(), part.end[first:stop].tolist(), strict=True))
            if spans := snap_cuts(whole, spans, snap=cutting.snap, least=cutting.min_cut):
                found = CutDocument(document, whole, spans)
                if spared is None or found.left:
                    yield found
                else:
                    spared.append(document)


class KeptCuts:
    """Places of the cuts of all documents, snapped once: 24 bytes each, in memory, past a share of it in a file.

    Eight bytes more in memory for each document.
    """

    def __init__(self, repeats: Repeats, space: Space) -> None:
        """None yet."""
        self._repeats = repeats
        self._space = space
        self._most = space.budget.share(MEMORY_SHARE)
        self._column: Column = MemoryColumn(np.int64, 3)
        self._ends = array("q", [0])

    def append(self, document: CutDocument) -> None:
        """Add those of a document, which comes behind those before."""
        self._column.append(np.array([(document.row, *cut) for cut in document.cuts], dtype=np.int64))
        self._ends.append(len(self._column))
        is_large = isinstance(self._column, MemoryColumn) and self._column.nbytes > self._most
        if is_large and self._space.path is not None:
            self._column = self._space.scratch().filed("cuts", self._column)

    def __len__(self) -> int:
        """Documents that are cut."""
        return len(self._ends) - 1

    def documents(self, first: int = 0, stop: int | None = None) -> Iterator[CutDocument]:
        """These documents again, or those from the ``first`` to before ``stop``."""
        stop = len(self) if stop is None else stop
        for begin in range(first, stop, _BLOCK):
            ends = self._ends[begin : min(begin + _BLOCK, stop) + 1]
            rows = self._column.slice(ends[0], ends[-1]).tolist()
            for low, high in pairwise(ends):
                cuts = rows[low - ends[0] : high - ends[0]]
                row = cuts[0][0]
                yield CutDocument(row, bytes_of(self._repeats, row), [(start, end) for _, start, end in cuts])


def clean_texts(repeats: Repeats, documents: Iterable[CutDocument], least_left: int) -> Iterator[tuple[str, int, bool]]:
    """The text of every document without what is cut, how many bytes that was, and whether the document is kept."""
    row = 0

    def as_is(until: int) -> Iterator[tuple[str, int, bool]]:
        for document in range(row, until):
            yield bytes_of(repeats, document).decode("utf-8", "replace"), 0, True

    for each in documents:
        yield from as_is(each.row)
        yield each.after.decode("utf-8", "replace"), each.cut_bytes, each.left >= least_left
        row = each.row + 1
    yield from as_is(repeats.documents)


def text_table(ids: Ids, texts: Iterable[tuple[str, int, bool]]) -> pa.RecordBatchReader:
    """A stream of id, text, cut_bytes, is_kept of every document, from what ``clean_texts`` gives."""
    schema = pa.schema(
        [("id", ids.type), ("text", pa.large_string()), ("cut_bytes", pa.int64()), ("is_kept", pa.bool_())]
    )

    def batches() -> Iterator[pa.RecordBatch]:
        row, held, size = 0, [], 0
        for each in texts:
            held.append(each)
            size += len(each[0])
            if size >= TEXT_BYTES:
                yield batch(row, held)
                row, held, size = row + len(held), [], 0
        if held:
            yield batch(row, held)

    def batch(row: int, held: list[tuple[str, int, bool]]) -> pa.RecordBatch:
        some, gone, kept = zip(*held, strict=True)
        rows = np.arange(row, row + len(held))
        columns = [ids.take(rows), strings(some), numbers(np.array(gone, dtype=np.int64)), flags(np.array(kept))]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def bytes_of(repeats: Repeats, document: int) -> bytes:
    """The text of a document as it was read."""
    text = repeats.originals.text
    begin, end = text.offsets[document : document + 2].tolist()
    return text.piece(begin, end).tobytes()
