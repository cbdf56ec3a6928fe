"""Tables of an index command: where they go, checked before the work, and how they are written after it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from neardup.cli import WRITTEN, silence_stdout
from neardup.cli.working import STDOUT
from neardup.errors import InputError

__all__ = ["IDS", "Target", "check_files", "choose_targets", "gathered", "write"]

IDS = None
"""As a type of column: ids, which are whole numbers or texts."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a table goes, and how."""

    name: str | None
    """A file, ``-`` for stdout, or None when it is not written."""
    format: str | None

    @property
    def is_file(self) -> bool:
        """Whether it goes to a file."""
        return self.name not in (None, STDOUT)


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
    from neardup.cli.checks import stdout_format
    from neardup.outputs.write import output_format

    first = output if output is not None or json else STDOUT
    if [first, clusters, STDOUT if json else None].count(STDOUT) > 1:
        raise click.UsageError("stdout can take one thing only. Give a file with -o.")
    file_format = None if format == "table" else format
    try:
        targets = [
            Target(first, stdout_format(format) if first == STDOUT else first and output_format(first, format)),
            Target(clusters, clusters and output_format(clusters, file_format)),
        ]
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    check_files(index, inputs, [str(target.name) for target in targets if target.is_file], glob=glob)
    return targets


def check_files(index: Path, inputs: Sequence[Path], outputs: Sequence[str], *, glob: str | None = None) -> None:
    """Refuse at once outputs that meet each other, an input or the index, or that cannot be written.

    Raises:
        click.UsageError: they meet.
        OutputError: a folder is missing or may not be written to.
    """
    from neardup.cli.targets import check_collisions
    from neardup.cli.targets import check_files as check_each

    inside = os.path.join(os.path.realpath(index), "")
    for name in outputs:
        if os.path.realpath(name).startswith(inside):
            raise click.UsageError(f"{name} is in the folder of the index. Give a file elsewhere for the output.")
    try:
        check_collisions(inputs, outputs, glob=glob)
    except InputError as exc:
        raise click.UsageError(str(exc)) from exc
    check_each(outputs)


def write(
    ctx: click.Context, written: Iterable[tuple[Any, Target]], *, spec: dict[str, Any], threshold: float
) -> list[str]:
    """Write tables: files that appear together or not at all, and stdout; returns the names of the files."""
    from neardup.cli.checks import stdout_errors
    from neardup.cli.summary import print_pairs
    from neardup.outputs.atomic import AtomicFiles
    from neardup.outputs.write import Output, write_table, write_tables

    tables = list(written)
    files = [Output(table, str(target.name), target.format) for table, target in tables if target.is_file]
    names = [str(file.target) for file in files]
    with AtomicFiles() as together:
        write_tables(files, spec=spec, files=together)
        try:
            for table, target in tables:
                if target.name == STDOUT and target.format == "table":
                    with stdout_errors():
                        print_pairs(table.to_batches(), threshold=threshold)
                elif target.name == STDOUT:
                    write_table(table, STDOUT, format=target.format, spec=spec)
        except BrokenPipeError:
            silence_stdout()  # the reader has seen enough; the files are complete, the summary follows
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
