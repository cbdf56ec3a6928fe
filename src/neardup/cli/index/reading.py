"""Inputs as ids and texts, a batch at a time, for the commands that ask the index about each document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neardup.inputs.passed import PassedOver
    from neardup.inputs.reader import Reader
    from neardup.types import Batch, Fault


@dataclass(frozen=True, slots=True)
class Asked:
    """Documents that are asked about together."""

    ids: list[Any]
    texts: list[Any]
    """Strings; of sets, lists of their items."""
    consumed: int
    """Bytes of input that they stand for."""


class Counts:
    """What was wrong with the records that were read, how many were blank, and what was passed over."""

    @property
    def left_out(self) -> dict[str, Any]:
        """The counts as plain JSON values."""
        passed = [asdict(each) for each in self.passed_over]
        return {"bad": self.bad, "blank": self.blank, "passed_over": passed}

    def __init__(self) -> None:
        self.documents = self.bad = self.blank = 0
        self.faults: list[Fault] = []
        self.passed_over: tuple[PassedOver, ...] = ()

    def note(self, batch: Batch) -> None:
        """Count a batch."""
        from neardup.types import MOST_FAULTS

        self.documents += len(batch.documents)
        self.bad += batch.bad
        self.blank += batch.blank
        self.faults.extend(batch.faults[: MOST_FAULTS - len(self.faults)])


def open_reader(inputs: Sequence[Path], options: Mapping[str, Any], *, item: bool) -> Reader:
    """Open inputs as ``find`` does; ``item``: documents are sets of items."""
    from neardup.inputs.reader import open_inputs
    from neardup.params import InputOptions

    return open_inputs(list(inputs), InputOptions.of(options), item=item)


def asked(reader: Reader, counts: Counts) -> Iterator[Asked]:
    """Yield the documents of a reader in order, and count them."""
    from neardup.index.stream.admitting import texts_of
    from neardup.inputs.names.ids import ids_of

    counts.passed_over = reader.passed_over
    for task in reader.tasks():
        batch = task()
        counts.note(batch)
        yield Asked(ids_of(batch), texts_of(batch.documents, item=reader.options.item), batch.consumed)


def together(batches: Iterable[Asked]) -> Iterator[Asked]:
    """All documents in one batch, for what is asked once about all of them."""
    ids: list[Any] = []
    texts: list[Any] = []
    consumed = 0
    for batch in batches:
        ids += batch.ids
        texts += batch.texts
        consumed += batch.consumed
    yield Asked(ids, texts, consumed)
