"""Checks that several commands make: options that exclude each other, and what stdout can take.

What stands in the way of output files is found in ``targets``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from neardup.params import AUTO, CONTAINMENT, DEFAULT_SKETCH, Bands, SearchOptions

__all__ = ["check_banding", "check_search", "check_voices", "stdout_errors", "stdout_format"]


def check_voices(*, quiet: bool, verbose: bool) -> None:
    """Raise UsageError when silence and details are both asked for."""
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other. Give one of them.")


def check_search(
    search: SearchOptions, *, against: Sequence[Path] = (), audit: int | None = None, dry_run: bool = False
) -> None:
    """Raise UsageError for options of a search that exclude each other."""
    check_banding(search.slots, search.bands)
    is_containment = search.measure == CONTAINMENT
    if search.exact is True or against or is_containment:
        _check_no_signatures(search, against)
    if against and search.collapse_exact:
        raise click.UsageError("--collapse-exact is for one collection, --against compares two. Give one of them.")
    if not is_containment:
        return
    if search.exact == AUTO:
        raise click.UsageError("--measure containment is always exact: nothing is to be decided. Leave --exact out.")
    if audit is not None:
        raise click.UsageError("--measure containment misses no pair: there is nothing to measure. Leave --audit out.")
    if dry_run:
        raise click.UsageError("--dry-run plans for Jaccard similarity only. Leave --measure containment out.")


def check_banding(slots: int | None, bands: str | Bands | None) -> None:
    """Raise UsageError when the bands need more slots than there are to be."""
    if slots is not None and bands is not None and Bands.parse(bands).slots > slots:
        raise click.UsageError(
            f"--bands {bands} needs {Bands.parse(bands).slots} slots and --slots is {slots}. Leave --slots out, or "
            "raise it."
        )


def _check_no_signatures(search: SearchOptions, against: Sequence[Path]) -> None:
    """Raise UsageError when options of banding are given for a join, which has none."""
    asked, how = "--against" if against else "--exact", "the exact join"
    if search.measure == CONTAINMENT:
        asked, how = "--measure containment", "a join of its own"
    for name in ("slots", "bands"):
        if getattr(search, name) is not None:
            raise click.UsageError(f"{asked} takes {how}, which has no {name}. Leave --{name} out.")
    if search.sketch != DEFAULT_SKETCH:
        raise click.UsageError(f"{asked} takes {how}, which has no sketch. Leave --sketch out.")


def stdout_format(format: str | None) -> str:
    """The format of a table on stdout; raise UsageError for what a terminal cannot show."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    if format == "parquet" and terminal:
        raise click.UsageError("Parquet is not for a terminal. Give a file with -o.")
    return format or ("table" if terminal else "jsonl")


@contextmanager
def stdout_errors() -> Iterator[None]:
    """Turn a system error met while printing into an OutputError; a closed pipe stays what it is."""
    from neardup.outputs.atomic import output_error

    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise output_error("stdout", exc) from exc
