"""What a shell offers where a word is begun: commands, words of values, columns of an input; and its scripts.

The mechanism is click's: a script of the shell calls the command with ``_NEARDUP_COMPLETE`` in the environment.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from neardup.cli import TYPED

SHELLS = ("bash", "zsh", "fish")
PLACES = {
    "bash": "share/bash-completion/completions/neardup",
    "zsh": "share/zsh/site-functions/_neardup",
    "fish": "share/fish/vendor_completions.d/neardup.fish",
}
"""Where each shell looks for the script, below the folder of an installation."""
_MOST = 1 << 20
"""Bytes of the first line of an input that are looked at."""
_ADDED = """[[ $value == *[!A-Za-z0-9_.,:/=+@%-]* ]] && value=$(printf %q "$value")
            COMPREPLY+=("$value")"""
"""How the script of bash takes a value: click's leaves a name with a space or ``*`` in it, such as that of a column, to
bash to take apart."""
Offer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def script(shell: str, command: click.Command) -> str:
    """The script that a shell reads to complete ``neardup``."""
    found = get_completion_class(shell)
    assert found is not None
    # not the method of bash's own class, which starts bash to look at its version
    source = ShellComplete.source(found(command, {}, "neardup", "_NEARDUP_COMPLETE"))
    return source.replace("COMPREPLY+=($value)", _ADDED) if shell == "bash" else source


def write_scripts(command: click.Command, root: Path) -> None:
    """Write the script of each shell to its place below a folder."""
    for shell, place in PLACES.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(script(shell, command) + "\n", "utf-8")


def words(*known: str) -> Offer:
    """Offer words; of values with commas in them, the last part."""

    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        done, comma, begun = incomplete.rpartition(",")
        return [CompletionItem(done + comma + word) for word in known if word.startswith(begun)]

    return offer


def columns(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Offer the columns, or fields, of the first table that is typed already."""
    for path in ctx.meta.get(TYPED, ()):
        try:
            names = list(_columns(Path(path)))
        except Exception:  # whatever is wrong with an input is told when the command runs
            names = []
        if names:
            return words(*names)(ctx, param, incomplete)
    return []


def _columns(path: Path) -> Iterator[str]:
    """The names in the first record, or in the head, of a file."""
    suffixes = [each.lower() for each in path.suffixes]
    kind = next((each for each in reversed(suffixes) if each != ".gz"), "")
    if kind == ".parquet":
        from pyarrow.parquet import read_schema

        yield from read_schema(path).names
        return
    if kind not in (".jsonl", ".ndjson", ".csv", ".tsv"):
        return
    with gzip.open(path) if suffixes[-1] == ".gz" else path.open("rb") as file:
        line = file.readline(_MOST).decode("utf-8-sig")
    if kind in (".csv", ".tsv"):
        yield from next(csv.reader([line], delimiter="\t" if kind == ".tsv" else ","), [])
    else:
        record = json.loads(line)
        yield from record if isinstance(record, dict) else ()


def offered(names: Sequence[tuple[str, str]], incomplete: str) -> list[Any]:
    """Commands that begin so, each with its line of help."""
    return [CompletionItem(name, help=told) for name, told in names if name.startswith(incomplete)]
