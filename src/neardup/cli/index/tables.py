"""Documents that an index is asked about, a batch at a time, and the tables of what it answers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from neardup.arrays import values_of
from neardup.cli import WRITTEN
from neardup.cli.targets import Target, check_targets, choose_tables, write_targets
from neardup.inputs.passed import PassedOver
from neardup.outputs.atomic import AtomicFiles
from neardup.outputs.write import JSON_CELLS
from neardup.params import ListOptions
from neardup.types import MOST_FAULTS, Fault

if TYPE_CHECKING:
    from neardup.inputs.reader import Reader

IDS = None
"""As a type of column: ids, which are whole numbers or texts."""
TEXT = pa.large_string()
COLUMNS = "columns"
"""As a type of column: columns of documents, which become JSON. A table without any has no such column."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Documents that are asked about together."""

    ids: list[Any]
    texts: list[Any]
    """Strings; of sets, lists of their items."""
    consumed: int
    """Bytes of input that they stand for."""
    columns: Sequence[str | None] | None = None
    """What is stored beside each, as JSON."""


class Counts:
    """What was wrong with the records that were read, how many were blank, and what was passed over."""

    def __init__(self) -> None:
        self.documents = self.bad = self.blank = 0
        self.faults: list[Fault] = []
        self.passed_over: tuple[PassedOver, ...] = ()

    @property
    def left_out(self) -> dict[str, Any]:
        """The counts as plain JSON values."""
        passed = [asdict(each) for each in self.passed_over]
        return {"bad": self.bad, "blank": self.blank, "passed_over": passed}


def asked(reader: Reader, counts: Counts) -> Iterator[Asked]:
    """Yield the documents of a reader in order, and count them."""
    from neardup.index.prepared import check_columns_read  # after the checks of outputs, because these load kernels
    from neardup.index.stream.admitting import texts_of
    from neardup.inputs.names import ids_of

    for task in reader.tasks():
        batch = task()
        counts.documents += len(batch.documents)
        counts.bad += batch.bad
        counts.blank += batch.blank
        counts.faults.extend(batch.faults[: MOST_FAULTS - len(counts.faults)])
        check_columns_read(batch, reader)
        texts = texts_of(batch.documents, item=reader.options.item)
        yield Asked(ids_of(batch), texts, batch.consumed, batch.columns)
    counts.passed_over = reader.passed_over


def together(batches: Iterable[Asked]) -> Iterator[Asked]:
    """All documents in one batch, for what is asked once about all of them."""
    held = list(batches)
    ids, texts = [id for batch in held for id in batch.ids], [text for batch in held for text in batch.texts]
    yield Asked(ids, texts, sum(batch.consumed for batch in held))


def choose_targets(
    index: Path,
    inputs: Sequence[Path],
    output: str | None,
    format: str | None,
    *,
    json: bool,
    glob: str | Sequence[str] | None = None,
    clusters: str | None = None,
) -> tuple[Target, Target]:
    """Where the table of ``-o`` and that of ``--clusters`` go, as ``choose_tables`` says; all of it checked."""
    targets = choose_tables(output, clusters, format, json=json, cure="Give a file with -o.")
    check_files(index, inputs, [name for target in targets for name in target.files], glob=glob)
    return targets


def check_files(
    index: Path, inputs: Sequence[Path], outputs: Sequence[str], *, glob: str | Sequence[str] | None = None
) -> None:
    """Refuse at once outputs that meet each other, an input or the index, or that cannot be written."""
    inside = os.path.join(os.path.realpath(index), "")
    for name in outputs:
        if os.path.realpath(name).startswith(inside):
            raise click.UsageError(f"{name} is in the folder of the index. Give a file elsewhere for the output.")
    check_targets(inputs, outputs, glob=glob)


def write(
    ctx: click.Context,
    tables: Sequence[tuple[Any, Target]],
    *,
    spec: dict[str, Any],
    threshold: float,
    listing: ListOptions = ListOptions(),  # noqa: B008 - frozen
) -> list[str]:
    """Write tables: files that appear together or not at all, and stdout; returns the names of the files."""
    names = [name for _, target in tables for name in target.files]
    with AtomicFiles() as files:
        write_targets(tables, files, spec=spec, threshold=threshold, listing=listing)
    ctx.meta[WRITTEN] = [*ctx.meta.get(WRITTEN, []), *names]
    return names


def gathered(kinds: Mapping[str, Any], batches: Iterable[Mapping[str, Sequence[Any]]]) -> Any:
    """Batches of columns as one table; ``kinds`` has the type of each column, or ``IDS``."""
    parts: dict[str, list[Any]] = {name: [] for name in kinds}
    for batch in batches:
        for name, values in batch.items():
            kind = _id_type(values) if kinds[name] is IDS else kinds[name]
            if kind is COLUMNS:
                kind, values = TEXT, [None if each is None else json.dumps(each, ensure_ascii=False) for each in values]
            parts[name].append(values_of(values, kind))
    columns, fields = [], []
    for name, kind in kinds.items():
        facts = JSON_CELLS if kind is COLUMNS else None
        if kind is IDS:
            met = {part.type for part in parts[name]} - {pa.null()}
            kind = met.pop() if len(met) == 1 else pa.large_string()
        if kind is COLUMNS:
            kind = TEXT
            if all(part.null_count == len(part) for part in parts[name]):
                continue
        columns.append(pa.chunked_array([part.cast(kind) for part in parts[name]], kind))
        fields.append(pa.field(name, kind, metadata=facts))
    return pa.table(columns, schema=pa.schema(fields))


def _id_type(ids: Sequence[Any]) -> Any:
    """The type of a column of some ids: whole numbers when all are, else texts; none yet when all are None."""
    given = [each for each in ids if each is not None]
    if not given:
        return pa.null()
    return pa.int64() if all(isinstance(each, int) for each in given) else pa.large_string()
