"""``neardup explain``: every step of the method on a few small documents; they are in ``neardup.tasks.explain``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from neardup import params
from neardup.cli import forms, options
from neardup.cli.voice import print_json, say, table_json, usage_errors
from neardup.errors import InputError
from neardup.shown import shown


def _whole(name: str, least: int) -> options.Checked:
    def check(value: Any) -> int:
        text = str(value).strip()
        if not text.isdecimal() or len(text) > 9 or int(text) < least:
            raise InputError(f"{name} is {value}. Give a whole number of at least {least}.")
        return int(text)

    return options.Checked("number", check)


@forms.command(
    "explain",
    "explain nadal nadia --order di,da,ia,na,ad,al",
    "explain --set 0,3 --set 2 --set 1,3,4 --set 0,2,3 --hash 'x+1 mod 5' --hash '3x+1 mod 5'",
)
@click.argument("texts", nargs=-1, metavar="[TEXT]…")
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="A UTF-8 file that is a document, - for stdin; can be given again.  [default: none]",
)
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="ITEMS",
    help="A document that is a set: items with commas between, such as a,c,d; can be given again.  [default: none]",
)
@click.option(
    "--rows",
    metavar="ROWS",
    help="In place of documents their characteristic matrix: rows of 0 and 1 with commas between, a column for each"
    " document, such as 1010,1001,0101.  [default: made from the documents]",
)
@options.preset
@click.option(
    "--shingle",
    type=options.Checked("unit:k", params.Shingle.parse),
    metavar="UNIT",
    help="What documents are compared by: char:K, word:K, byte:K, or item (a text is a set of items with white space"
    " between).  [default: char:2]",
)
@options.normalize
@click.option(
    "--permutation",
    "permutations",
    multiple=True,
    metavar="PLACES",
    help="The place of each row of the matrix, such as 2,3,1: the first row comes second, and so on. One slot each;"
    " can be given again.  [default: functions of --sketch]",
)
@click.option(
    "--order",
    "orders",
    multiple=True,
    metavar="SHINGLES",
    help="All shingles from first to last, such as b,e,a,d,c. One slot each; can be given again."
    "  [default: functions of --sketch]",
)
@click.option(
    "--hash",
    "hashes",
    multiple=True,
    metavar="FUNCTION",
    help="A function of the number x of a row, such as '3x+1 mod 5'. One slot each; can be given again."
    "  [default: functions of --sketch]",
)
@click.option(
    "--first-row",
    type=_whole("first-row", 0),
    metavar="N",
    help="Number of the first row.  [default: whole numbers number their own rows; others begin where the"
    " permutations do, else at 0]",
)
@options.defaulted(
    "--sketch",
    type=click.Choice(params.SKETCH_FAMILIES),
    default="permutation",
    help="Family of the functions when none are given; permutation: random permutations of the shingles there are.",
)
@click.option(
    "--slots",
    type=_whole("slots", 1),
    metavar="N",
    help="Functions of the family.  [default: what --bands needs, else 6]",
)
@click.option(
    "--bands",
    type=options.Checked("bxr", params.Bands.parse),
    metavar="BxR",
    help="Bands and rows, such as 3x2.  [default: of two rows when the slots are even in number, else of one]",
)
@options.seed
@click.option("--json", is_flag=True, help="Print all tables as one JSON object.")
def explain(
    *,
    texts: tuple[str, ...],
    files: tuple[Path, ...],
    sets: tuple[str, ...],
    rows: str | None,
    json: bool,
    **choices: Any,
) -> None:
    """Show every step of the method on a few small documents.

    TEXT is a document; give two or more to see pairs. The tables: the shingles of each document, the characteristic
    matrix with the place of each row under each function, the signatures as the rows build them, bands and their
    buckets, estimated and exact similarities, and the S-curve of the bands. At most 20 documents of 200 different
    shingles.
    """
    from neardup.tasks.explain.public import explain

    if sum(map(bool, (texts or files, sets, rows is not None))) > 1:
        raise click.UsageError(
            "texts, sets and a matrix exclude each other. Give TEXT and --file, or --set, or --rows."
        )
    for name in filter(os.path.isfile, texts):
        say(f"neardup: {name} is taken as a text. To explain what is in that file, give --file {name}")
    documents: dict[str, Any] = {f"D{i}": text for i, text in enumerate(texts, start=1)}
    documents.update(_read(files))
    for i, text in enumerate(sets, start=1):
        documents[f"S{i}"] = [item.strip() for item in text.split(",") if item.strip()]
    if not documents and rows is None:
        raise click.UsageError("there is nothing to explain. Give TEXT, --file, --set or --rows.")
    with usage_errors():
        seen = explain(documents, rows=() if rows is None else rows.split(","), **choices)
    if json:
        print_json(table_json(seen.as_dict()))
    else:
        say(*str(seen).split("\n"), err=False)


def _read(files: tuple[Path, ...]) -> dict[str, str]:
    """The texts of files by their names; those that share a name by their paths."""
    short = [path.name for path in files]
    found: dict[str, str] = {}
    for path in files:
        name = "stdin" if str(path) == "-" else str(path) if short.count(path.name) > 1 else path.name
        name = shown(name)
        if name in found:
            raise click.UsageError(f"{name} is given twice. Give each file once.")
        try:
            data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
            found[name] = data.decode("utf-8")
        except OSError as exc:
            raise InputError(f"cannot read {path}: {exc.strerror}.") from exc
        except UnicodeDecodeError as exc:
            raise InputError(f"{path} is not UTF-8 at byte {exc.start}. Convert it first.") from exc
    return found
