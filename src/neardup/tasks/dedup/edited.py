"""A reader whose documents are not those of the inputs: some are left out, or passages are cut out of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np

from neardup.arrays import numbers
from neardup.engine.space import Budget
from neardup.inputs.batches import documents_from, gather
from neardup.inputs.names import Places
from neardup.inputs.reader import Reader
from neardup.inputs.source import Source, Task
from neardup.tasks.repeats.decided import DecidedCuts
from neardup.tasks.repeats.summary import PassageSummary
from neardup.types import I64, Alone, Batch, Documents, NeedsRoom


class EditedReader(Reader):
    """Some sources of a reader, whose batches are edited before anybody sees them."""

    def __init__(
        self, reader: Reader, parts: Sequence[Source], new_texts: Callable[[Batch], Mapping[int, bytes | None]]
    ) -> None:
        """``new_texts`` returns the new texts of a batch by their places in it; None: the document is left out."""
        vars(self).update(vars(reader))
        self.parts = list(parts)
        self.new_texts = new_texts

    def tasks(self, threads: int = 1) -> Generator[Task, None, None]:
        with closing(super().tasks(threads)) as tasks:
            for task in tasks:
                done = partial(self._batch, task)
                yield Alone(done) if isinstance(task, Alone) else done

    def _batch(self, task: Task) -> Batch:
        try:
            batch = task()
        except NeedsRoom as exc:
            raise NeedsRoom(Alone(partial(self._batch, exc.task))) from exc
        new = self.new_texts(batch)
        return _edited(batch, new) if new else batch


def _edited(batch: Batch, new: Mapping[int, bytes | None]) -> Batch:
    documents = batch.documents
    more = Documents.from_bytes(text or b"" for text in new.values())
    at = np.fromiter(new, np.int64, len(new))
    spans = np.stack([documents.offsets[:-1], documents.offsets[1:], np.zeros(len(documents), np.int64)], axis=1)
    spans[at, 0], spans[at, 1] = documents.data.size + more.offsets[:-1], documents.data.size + more.offsets[1:]
    kept = np.delete(np.arange(len(documents)), [i for i, text in new.items() if text is None])
    edited = replace(
        batch,
        documents=documents_from(gather(np.concatenate((documents.data, more.data)), spans[kept])),
        rows=batch.rows[kept],
        ids=None if batch.ids is None else batch.ids.take(numbers(kept)),
        places=None,
        pages={},
        text_bytes=documents.nbytes if batch.text_bytes is None else batch.text_bytes,
        give_back=None,
    )
    if batch.give_back is not None:
        batch.give_back()
    return edited


class CutReader(EditedReader):
    """A reader of what is left of documents whose passages are cut out."""

    def __init__(self, reader: Reader, cuts: DecidedCuts, found: PassageSummary, budget: Budget) -> None:
        """``found`` says what repeats; ``budget``: what the run that compares what is left may have of the memory."""
        super().__init__(reader, reader.parts, self._left)
        self.cuts, self.found, self.budget = cuts, found, budget

    @property
    def no_texts_later(self) -> str | None:
        return "passages were cut out of the texts, and what was cut is no longer known"

    def left_out_of(self, source: str) -> int:
        return int(np.count_nonzero(~self.cuts.rows_of(source)[1]))

    def _left(self, batch: Batch) -> dict[int, bytes | None]:
        rows = batch.rows
        least = self.cuts.cutting.least_left
        found = self.cuts.documents_of(batch.source, int(rows[0]), int(rows[-1])) if rows.size else ()
        new = {row: each.after if each.left >= least else None for row, each in found}
        return dict(zip(np.searchsorted(rows, list(new)).tolist(), new.values(), strict=True))

    def as_read(self, places: Places, rows: I64) -> dict[int, bytes]:
        """Return the texts, as they were read, of those of ``rows`` of one source that were cut, by their places."""
        if not rows.size:
            return {}
        source, local = places.locate(rows)
        found = self.cuts.documents_of(places.sources[source[0]], int(local[0]), int(local[-1]))
        before = {row: each.before for row, each in found}
        return {i: before[row] for i, row in enumerate(local.tolist()) if row in before}
