"""What a notebook shows of a result: a title, figures, tables and remarks in one frame, of a size that is bounded.

Values in, HTML out; which values, each result knows. The frame, its styles and what is done with hostile text are
those of ``fragments``. Pairs of texts side by side are in ``beside``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

from neardup.pages.fragments import facts_part, framed, seen_line, table_part
from neardup.shown import cut_text, shown_path

MOST_BYTES = 200_000
"""Of what is shown of one result. A notebook is a file, and is saved with all that it shows."""
INLINE_BYTES = 4_000_000
"""Of a page that is shown inside a notebook: its bytes are saved with the notebook, which is asked for."""
_BASE = '<base href="about:srcdoc">'
"""Without it a link to a place of the page leads to the notebook; it must come before the policy of the page."""
CELLS = (160, 40, 8)
"""Characters of a cell, at most: fewer where it is too much otherwise, since some take fifty bytes to be named."""
ROWS = 100
"""Of a table, at most."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; cells as in ``fragments.table_part``."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""
    left_out: int = 0
    """Rows that there are beside these."""
    together: int = 1
    """Rows that belong together."""

    def part(self, most: int) -> str:
        """The markup, with cells of at most ``most`` characters."""
        rows = [[clipped(cell, most) for cell in row] for row in self.rows[:ROWS]]
        left_out = self.left_out + len(self.rows) - len(rows)
        return table_part(self.columns, rows, caption=self.caption, left_out=left_out, together=self.together)


def view(
    title: str,
    *,
    facts: Iterable[tuple[str, object]] = (),
    tables: Iterable[Table] = (),
    notes: Iterable[str] = (),
) -> str:
    """A result as HTML of at most ``MOST_BYTES``; a table without rows is left out.

    >>> view("neardup.Audit", notes=["<kept>"]).endswith('<p class="note">&lt;kept&gt;</p></div>')
    True
    """
    facts, tables, notes = list(facts), [table for table in tables if table.rows], list(notes)
    made = ""
    for most in CELLS:
        parts = [
            f'<p class="title">{seen_line(cut_text(title, 10 * most))}</p>',
            facts_part((label, str(clipped(str(value), most))) for label, value in facts),
            *(table.part(most) for table in tables),
            *(f'<p class="note">{seen_line(cut_text(note, 5 * most))}</p>' for note in notes[:20]),
        ]
        made = framed("".join(parts))
        if len(made.encode("utf-8", "replace")) <= MOST_BYTES:
            break
    return made


def page_view(title: str, path: Path, *, facts: Iterable[tuple[str, str]], is_whole: bool, size: int) -> str:
    """A page that was written: the page itself where it is one file of at most ``INLINE_BYTES``, and a link to it.

    The link is relative to the folder that Python works in, which is the notebook's as a rule.
    """
    head = f'<p class="title">{seen_line(title)}</p>{facts_part(facts)}'
    place = os.path.relpath(path) if path.is_relative_to(Path.cwd()) else os.fspath(path)
    link = f'<p class="note"><a href="{quote(place)}" target="_blank">{seen_line(shown_path(place))}</a></p>'
    page = ""
    if is_whole and size <= INLINE_BYTES:
        try:
            text = path.read_text("utf-8")
        except OSError:  # moved or deleted since
            text = ""
        if text:
            own = text.replace("<head>", f"<head>{_BASE}", 1)
            page = f'<iframe sandbox="allow-scripts" loading="lazy" title="report" srcdoc="{escape(own)}"></iframe>'
    return framed(head + page + link)


def clipped(cell: object, most: int) -> object:
    """A cell whose text, if it is one, has at most so many characters."""
    return cut_text(cell, most) if isinstance(cell, str) else cell


def opening(text: str | None) -> str | None:
    """The first words of a text, on one line."""
    return None if text is None else cut_text(" ".join(text[: 4 * CELLS[0]].split()), CELLS[0])
