"""Where outputs go, and what stands in their way, found before the run: each other, an input, the disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neardup.cli import silence_stdout
from neardup.cli.options import STDOUT
from neardup.cli.voice import say, stdout_errors, usage_errors
from neardup.inputs.addresses import GLOB_CHARACTERS, is_remote, place_of, real_place
from neardup.inputs.peek import holds_texts
from neardup.inputs.walk import SPEC_SUFFIX, glob_files, walk_folder
from neardup.outputs.atomic import check_target, output_place
from neardup.outputs.renames import finish_names
from neardup.outputs.write import Output, output_format, write_table, write_tables
from neardup.params import ListOptions

if TYPE_CHECKING:
    from neardup.outputs.atomic import AtomicFiles


@dataclass(frozen=True, slots=True)
class Target:
    """Where a table goes, and how."""

    name: str | None
    """A file, ``-`` for stdout, or None when it is not written."""
    format: str | None = None

    @property
    def is_file(self) -> bool:
        return self.name not in (None, STDOUT)

    @property
    def is_for_the_eye(self) -> bool:
        """Whether it is shown on a terminal, or as it would be."""
        return self.name == STDOUT and self.format == "table"

    @property
    def files(self) -> list[str]:
        return [str(self.name)] if self.is_file else []


def choose_tables(
    output: str | None, clusters: str | None, format: str | None, *, json: bool, cure: str
) -> tuple[Target, Target]:
    """Where the table of ``-o`` and that of ``--clusters`` go: the first to stdout, unless that is taken by --json.

    ``cure`` says what to do where several are to go to stdout.
    """
    first = output if output is not None or json else STDOUT
    if [first, clusters, STDOUT if json else None].count(STDOUT) > 1:
        raise click.UsageError(f"stdout can take one thing only. {cure}")
    file_format = None if format == "table" else format
    with usage_errors():
        return (
            Target(first, _stdout_format(format) if first == STDOUT else first and output_format(first, format)),
            Target(clusters, clusters and output_format(clusters, file_format)),
        )


def choose_beside(
    copies: str | None, tables: tuple[str | None, str | None], inputs: Iterable[Path], *, json: bool, cure: str
) -> tuple[Target, Target]:
    """Return where the two tables next to clean copies go. Raises UsageError if stdout or stdin is needed twice."""
    if [copies, *tables, STDOUT if json else None].count(STDOUT) > 1:
        raise click.UsageError(f"stdout can take one thing only. {cure}")
    if copies is not None:
        check_no_stdin(inputs)
    with usage_errors():
        first, second = (Target(name, name and output_format(name, None)) for name in tables)
    return first, second


def check_no_stdin(inputs: Iterable[Path]) -> None:
    """Raise UsageError if one of the inputs, which are read twice, is stdin."""
    if STDOUT in map(str, inputs):
        raise click.UsageError("inputs are read twice, and stdin can be read once. Save it to a file, and give that.")


def check_listing(tables: Sequence[Target], listing: ListOptions) -> None:
    """Raise UsageError where the first of some tables, or any, is asked for in a way and not written at all."""
    cure = "as --json takes stdout. Give a file with -o"
    if tables[0].name is None and (listing.sort is not None or listing.top is not None):
        raise click.UsageError(f"--sort and --top are for the table of pairs, which is not written {cure}.")
    if listing.with_text is not False and all(target.name is None for target in tables):
        raise click.UsageError(f"--with-text is for tables, and none is written {cure}.")


def _stdout_format(format: str | None) -> str:
    """The format of a table on stdout; raise UsageError for what a terminal cannot show."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    if format in ("parquet", "xlsx") and is_terminal:
        raise click.UsageError(f"{format} is not for a terminal. Give a file with -o.")
    return format or ("table" if is_terminal else "jsonl")


def check_targets(
    inputs: Iterable[Path], files: Sequence[str | None], *, glob: str | Sequence[str] | None, plot: str | None = None
) -> list[str]:
    """Refuse at once what could not be written after hours of work; returns the names of the files."""
    names = [name for name in (*files, plot) if name is not None]
    if plot is not None:
        _check_plot(plot)
    check_collisions(inputs, names, glob=glob)
    check_files(names)
    return names


def _check_plot(target: str) -> None:
    """Raise unless a figure could be drawn, and has a name that it can be written under."""
    from neardup.drawing.style import check_matplotlib, check_suffix

    if target == STDOUT:
        raise click.UsageError("a figure cannot go to stdout. Give a name that ends in .png, .svg or .pdf.")
    with usage_errors():
        check_suffix(target)
    check_matplotlib()


def check_page(
    inputs: Sequence[Path], page: str, files: Sequence[str], *, glob: str | Sequence[str] | None
) -> list[str]:
    """Refuse at once a page, a file or a folder, that could not be written, or would replace an input or an output."""
    from neardup.pages.site.write import check_site, is_page

    if page == STDOUT:
        raise click.UsageError("a page cannot go to stdout. Give a name that ends in .html, or that of a folder.")
    check_collisions(inputs, [page, *files], glob=glob)
    check_site(page, single_file=is_page(page))
    mend_and_tell([page])
    return [page]


def check_collisions(inputs: Iterable[Path], outputs: Sequence[str], *, glob: str | Sequence[str] | None) -> None:
    """Raise UsageError when two outputs are one file, or when an output is read as an input."""
    real = [real_place(output_place(name)) for name in outputs]
    if len({_same_for_all_cases(path) for path in real}) < len(outputs):
        raise click.UsageError(f"{outputs[0]} is named for two outputs. Give each a file of its own.")
    for path, name in zip(real, outputs, strict=True):
        if path.endswith(SPEC_SUFFIX) and path.removesuffix(SPEC_SUFFIX) in real:
            raise click.UsageError(f"{name} is the name of the spec of another output. Give another name.")
        for source in inputs:
            if _reads(source, path, glob):
                raise click.UsageError(f"{name} is an input too ({source}). Give another file for the output.")


def _reads(source: Path, path: str, glob: str | Sequence[str] | None) -> bool:
    """Whether reading ``source`` would read the existing file ``path`` (its real path)."""
    if str(source) == "-":
        return False
    if is_remote(str(source)) or is_remote(path):
        return is_remote(path) and _reads_object(place_of(str(source)), path, glob)
    if not os.path.isfile(path):
        return False
    if source.is_dir():
        if not path.casefold().startswith(os.path.join(os.path.realpath(source), "").casefold()):
            return False  # saves a walk; a link that leads out of the folder is not followed here
        found = walk_folder(str(source), (glob,) if isinstance(glob, str) else tuple(glob or ()) or None)
        return any(_is_file(file.real, path) for file in found) and (glob is not None or holds_texts(path))
    if source.exists():
        return os.path.samefile(source, path)
    return any(_is_file(file.real, path) for file in glob_files(str(source)))


def _is_file(real: str, path: str) -> bool:
    """Whether two real paths lead to one file; some file systems take a name in any capitals."""
    return real == path or (real.casefold() == path.casefold() and os.path.samefile(real, path))


def _same_for_all_cases(path: str) -> str:
    """The same for all names of a file, there or not, also in a folder that takes a name in any capitals."""
    if is_remote(path):
        return path
    folder = os.path.dirname(path)
    other = os.path.join(os.path.dirname(folder), os.path.basename(folder).swapcase())
    try:
        ignores_case = folder != other and os.path.samefile(folder, other)
    except OSError:
        ignores_case = False  # no such folder
    return path.casefold() if ignores_case else os.path.normcase(path)


def _reads_object(source: str, path: str, glob: str | Sequence[str] | None) -> bool:
    """Whether reading ``source`` would read the object at the address ``path``, where there is one."""
    from neardup.inputs.remote import is_folder, look

    if source == path or not is_remote(source):
        return source == path
    is_pattern = not GLOB_CHARACTERS.isdisjoint(source)
    if look(path) is None or not (is_pattern or (path.startswith(f"{source}/") and is_folder(source))):
        return False
    patterns = (glob,) if isinstance(glob, str) else tuple(glob or ()) or None
    found = glob_files(source) if is_pattern else walk_folder(source, patterns)
    return any(file.real == path for file in found) and (is_pattern or glob is not None or holds_texts(path))


def check_files(outputs: Sequence[str]) -> None:
    """Raise OutputError when a file could not be written; first, what a killed run has left of them is finished."""
    mend_and_tell(outputs)
    for name in outputs:
        check_target(name)


def mend_and_tell(outputs: Sequence[str]) -> None:
    """Finish the outputs of earlier runs that were killed while they got their names, and say so on stderr."""
    for line in finish_names(map(output_place, outputs)):
        say(f"note: {line}")


def write_targets(
    tables: Sequence[tuple[Any, Target]],
    files: AtomicFiles,
    *,
    spec: dict[str, Any],
    threshold: float,
    listing: ListOptions = ListOptions(),  # noqa: B008 - frozen
) -> None:
    """Write Arrow tables, or streams of them: first what goes to files, then what goes to stdout.

    Where stdout is closed, its reader has seen enough: what is said afterwards, to a person, still follows.
    """
    from neardup.cli.pair_table import print_pairs

    named = [(table, target) for table, target in tables if target.is_file]
    write_tables([Output(table, str(target.name), target.format) for table, target in named], spec=spec, files=files)
    try:
        for table, target in tables:
            if target.is_for_the_eye:
                with stdout_errors():
                    print_pairs(table, threshold=threshold, listing=listing)
            elif target.name == STDOUT:
                write_table(table, STDOUT, format=target.format, spec=spec)
    except BrokenPipeError:
        silence_stdout()
