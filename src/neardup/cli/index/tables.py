"""Tables of an index command: where they go, checked before the work, and how they are written after it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import WRITTEN

if TYPE_CHECKING:
    from neardup.cli.targets import Target

IDS = None
"""As a type of column: ids, which are whole numbers or texts."""


def choose_targets(
    index: Path,
    inputs: Sequence[Path],
    output: str | None,
    format: str | None,
    *,
    json: bool,
    glob: str | None = None,
    clusters: str | None = None,
) -> list[Target]:
    """Where the table of ``-o`` and that of ``--clusters`` go: the first to stdout, unless that is taken by --json.

    Raises:
        click.UsageError: two outputs meet, an output is an input or in the index, or a format is unknown.
        OutputError: a folder is missing or may not be written to.
    """
    from neardup.cli.targets import choose_tables

    targets = choose_tables(output, clusters, format, json=json, cure="Give a file with -o.")
    check_files(index, inputs, [str(target.name) for target in targets if target.is_file], glob=glob)
    return list(targets)


def check_files(index: Path, inputs: Sequence[Path], outputs: Sequence[str], *, glob: str | None = None) -> None:
    """Refuse at once outputs that meet each other, an input or the index, or that cannot be written.

    Raises:
        click.UsageError: they meet.
        OutputError: a folder is missing or may not be written to.
    """
    from neardup.cli.targets import check_targets

    inside = os.path.join(os.path.realpath(index), "")
    for name in outputs:
        if os.path.realpath(name).startswith(inside):
            raise click.UsageError(f"{name} is in the folder of the index. Give a file elsewhere for the output.")
    check_targets(inputs, outputs, glob=glob)


def write(
    ctx: click.Context, written: Iterable[tuple[Any, Target]], *, spec: dict[str, Any], threshold: float
) -> list[str]:
    """Write tables: files that appear together or not at all, and stdout; returns the names of the files."""
    from neardup.cli.targets import write_targets
    from neardup.outputs.atomic import AtomicFiles

    tables = list(written)
    names = [str(target.name) for _, target in tables if target.is_file]
    with AtomicFiles() as files:
        write_targets(tables, files, spec=spec, threshold=threshold)
    ctx.meta[WRITTEN] = [*ctx.meta.get(WRITTEN, []), *names]
    return names


def gathered(kinds: Mapping[str, Any], batches: Iterable[Mapping[str, Sequence[Any]]]) -> Any:
    """Batches of columns as one table; ``kinds`` has the type of each column, or ``IDS``."""
    import pyarrow as pa

    parts: dict[str, list[Any]] = {name: [] for name in kinds}
    for batch in batches:
        for name, values in batch.items():
            kind = _id_type(values) if kinds[name] is IDS else kinds[name]
            texts = [each if each is None else str(each) for each in values] if kind == pa.large_string() else values
            parts[name].append(pa.array(texts, kind))
    columns = {}
    for name, kind in kinds.items():
        if kind is IDS:
            met = {part.type for part in parts[name]} - {pa.null()}
            kind = met.pop() if len(met) == 1 else pa.large_string()
        columns[name] = pa.chunked_array([part.cast(kind) for part in parts[name]], kind)
    return pa.table(columns)


def _id_type(ids: Sequence[Any]) -> Any:
    """The type of a column of some ids: whole numbers when all are, else texts; none yet when all are None."""
    import pyarrow as pa

    given = [each for each in ids if each is not None]
    if not given:
        return pa.null()
    return pa.int64() if all(isinstance(each, int) for each in given) else pa.large_string()
