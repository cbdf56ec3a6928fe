"""Checks that several commands make: options that exclude each other, and what stdout can take.

What stands in the way of output files is found in ``targets``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from neardup.cli import options
from neardup.params import CONTAINMENT, DEFAULT_SKETCH, Bands

__all__ = ["check_banding", "check_exact", "check_measure", "check_voices", "stdout_errors", "stdout_format"]


def check_voices(*, quiet: bool, verbose: bool) -> None:
    """Raise UsageError when silence and details are both asked for."""
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose exclude each other. Give one of them.")


def check_banding(slots: int | None, bands: Bands | None) -> None:
    """Raise UsageError when the bands need more slots than there are to be."""
    if slots is not None and bands is not None and bands.slots > slots:
        raise click.UsageError(
            f"--bands {bands} needs {bands.slots} slots and --slots is {slots}. Leave --slots out, or raise it."
        )


def check_exact(search: dict[str, Any], against: tuple[Path, ...] = ()) -> None:
    """Raise UsageError when options of banding are given for the exact join, which has none."""
    asked, how = "--against" if against else "--exact", "the exact join"
    is_containment = search.get("measure") == CONTAINMENT
    if is_containment:
        asked, how = "--measure containment", "a join of its own"
    if search["exact"] == options.EXACT_YES or against or is_containment:
        for name in ("slots", "bands"):
            if search[name] is not None:
                raise click.UsageError(f"{asked} takes {how}, which has no {name}. Leave --{name} out.")
        if search["sketch"] != DEFAULT_SKETCH:
            raise click.UsageError(f"{asked} takes {how}, which has no sketch. Leave --sketch out.")
    if against and search["collapse_exact"]:
        raise click.UsageError("--collapse-exact is for one collection, --against compares two. Give one of them.")


def check_measure(search: dict[str, Any], *, audit: int | None = None, dry_run: bool = False) -> None:
    """Raise UsageError for what is of Jaccard similarity only, where containment is asked for."""
    if search["measure"] != CONTAINMENT:
        return
    if search["exact"] == options.EXACT_AUTO:
        raise click.UsageError("--measure containment is always exact: nothing is to be decided. Leave --exact out.")
    if audit is not None:
        raise click.UsageError("--measure containment misses no pair: there is nothing to measure. Leave --audit out.")
    if dry_run:
        raise click.UsageError("--dry-run plans for Jaccard similarity only. Leave --measure containment out.")


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
