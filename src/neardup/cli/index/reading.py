"""Inputs as ids and texts, a batch at a time, for the commands that ask the index about each document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neardup.inputs.passed import PassedOver
    from neardup.inputs.reader import Reader
    from neardup.types import Batch, Documents, Fault

__all__ = ["Asked", "Counts", "asked", "id_column", "joined", "open_reader", "texts_of", "together"]


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
    from neardup.cli.working import READING
    from neardup.inputs.reader import open_inputs

    return open_inputs(list(inputs), **{name: options[name] for name in READING}, item=item)


def asked(reader: Reader, counts: Counts) -> Iterator[Asked]:
    """Yield the documents of a reader in order, and count them."""
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


def texts_of(documents: Documents, *, item: bool) -> list[Any]:
    """The texts of a block as strings; of sets, the lists of their items."""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(documents.offsets), pa.py_buffer(documents.data)]
    kind = pa.large_binary() if item else pa.large_string()
    values = pa.Array.from_buffers(kind, len(documents), buffers).to_pylist()
    if not item:
        return values  # type: ignore[no-any-return]
    from neardup.inputs.items import ITEM_SEPARATOR

    return [[part.decode() for part in value.split(ITEM_SEPARATOR)] if value else [] for value in values]


def id_column(ids: Sequence[Any]) -> Any:
    """Some ids as a column: whole numbers when all are, else texts; of no type yet when all are None."""
    import pyarrow as pa

    given = [each for each in ids if each is not None]
    if not given:
        return pa.nulls(len(ids))
    if all(isinstance(each, int) for each in given):
        return pa.array(ids, pa.int64())
    return pa.array([each if each is None else str(each) for each in ids], pa.large_string())


def joined(columns: Iterable[Any]) -> Any:
    """Columns of ids as one: whole numbers when all of them are, else texts."""
    import pyarrow as pa

    parts = list(columns)
    kinds = {part.type for part in parts} - {pa.null()}
    kind = kinds.pop() if len(kinds) == 1 else pa.large_string()
    return pa.chunked_array([part.cast(kind) for part in parts], kind)
