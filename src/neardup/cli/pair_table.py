"""A table of pairs, or of hits, for the eye: on a terminal, of its width, the first rows of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neardup.params import ListOptions
from neardup.shown import CUT, shown, similarity_text, whole_before

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

ROWS = 50
"""Pairs that are shown, unless so many of the most similar are asked for."""
TEXT_LENGTH = 200
"""Characters of a text that are looked at to show a line of it."""
BLANK = "  "
TEXTS = {"text_a": "id_a", "text_b": "id_b", "query_text": "query", "text": "id"}
"""Columns of texts, and those of the ids that they belong to."""


def fit_listing(listing: ListOptions) -> ListOptions:
    """What of each text a table takes that shows one line of it, where no number of characters is given."""
    return replace(listing, with_text=TEXT_LENGTH) if listing.with_text is True else listing


def rows_shown(listing: ListOptions) -> int:
    """Pairs that are shown, at most."""
    return listing.top or ROWS


def print_pairs(batches: Any, *, threshold: float, listing: ListOptions) -> None:
    """Print the first rows of a table, or of a stream of Arrow batches, to stdout; reads all of it."""
    from rich.console import Console

    most, count, rows = rows_shown(listing), 0, []
    for batch in batches.to_batches() if hasattr(batches, "to_batches") else batches:
        rows += batch.slice(0, max(0, most - count)).to_pylist()
        count += batch.num_rows
    console = Console(highlight=False)
    if rows:
        has_texts = not TEXTS.keys().isdisjoint(rows[0])
        is_cut = listing.with_text is True
        table = _with_texts(rows, console, threshold, is_cut=is_cut) if has_texts else _plain(rows, threshold)
        with console.capture() as drawn:
            console.print(table)
        # rich fills every line up to the width
        console.file.write("\n".join(line.rstrip() for line in drawn.get().split("\n")))
    if count > most:
        # not by rich, which ends the process where the pipe behind stdout is closed
        console.file.write(f"{CUT} and {count - most:,} more; -o FILE writes all\n")
    console.file.flush()  # a closed pipe is met here, where it is expected


def _head(row: dict[str, Any], name: str) -> str:
    return "containment" if "contained" in row and name == "similarity" else name


def _plain(rows: list[dict[str, Any]], threshold: float) -> Table:
    """A row for each pair."""
    table = _table()
    for name in rows[0]:
        table.add_column(_head(rows[0], name), **_manner(name))
    _fill(table, ([_cell(value, threshold) for value in row.values()] for row in rows))
    return table


def _with_texts(rows: list[dict[str, Any]], console: Console, threshold: float, *, is_cut: bool) -> Table:
    """Two rows for each pair, one for each document with its text, and a blank one between pairs.

    ``is_cut``: of each text what fits into its line; else all of it, in as many lines as it takes.
    """
    from rich.cells import cell_len

    ids = {text: id for text, id in TEXTS.items() if text in rows[0]}
    others = [name for name in rows[0] if name not in ids and name not in ids.values()]
    cells: list[list[str]] = []
    for row in rows:
        facts = [_cell(row[name], threshold) for name in others]
        for text, id in ids.items():
            cells.append([*facts, _cell(row[id], threshold), _cell(row[text], threshold)])
            facts = [""] * len(others)
        cells.append([""] * (len(others) + 2))
    heads = [*(_head(rows[0], name) for name in others), "id"]
    widths = [max(cell_len(line[i]) for line in [heads, *cells]) for i in range(len(heads))]
    widths[-1] = min(widths[-1], console.width // 3)
    room = max(20, console.width - sum(widths) - len(BLANK) * len(widths))
    table = _table()
    for name, head in zip([*others, "id"], heads, strict=True):
        table.add_column(head, **{**_manner(name), "width": widths[-1]} if name == "id" else _manner(name))
    table.add_column("text", overflow="fold")
    _fill(table, ([*line[:-1], one_line(line[-1], room) if is_cut else line[-1]] for line in cells[:-1]))
    return table


def _table() -> Table:
    from rich.table import Table

    return Table(box=None, pad_edge=False, header_style="bold", padding=(0, len(BLANK), 0, 0))


def _manner(name: str) -> dict[str, Any]:
    return {"no_wrap": True} if name in ("similarity", "contained") else {"overflow": "fold"}


def _fill(table: Table, rows: Iterable[Iterable[str]] | Iterator[Iterable[str]]) -> None:
    from rich.text import Text

    for row in rows:
        table.add_row(*map(Text, row))


def _cell(value: object, threshold: float) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return similarity_text(value, threshold)
    return str(value).lower() if isinstance(value, bool) else shown(value)


def one_line(text: str, width: int) -> str:
    """As much of a text, which has no controls any more, as fits into ``width`` places, with ``…`` where it is cut."""
    from rich.cells import cell_len

    if cell_len(text) <= width:
        return text
    room = width - cell_len(CUT)
    for at, char in enumerate(text):
        room -= cell_len(char)
        if room < 0:
            return text[: whole_before(text, at)].rstrip() + CUT
    return text
