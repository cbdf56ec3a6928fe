"""A comparison for a terminal: the facts, and both texts with their shared passages marked.

How one text becomes rows is in ``compare_rows``; what is shared and which words changed are in
``neardup.tasks.compare``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, islice, zip_longest
from typing import TYPE_CHECKING

from neardup.cli.compare_rows import Mark, Piece, Row, rows_of
from neardup.cli.summary import labelled
from neardup.shown import NARROW, counted, percent, shown, similarity_text

if TYPE_CHECKING:
    from rich.console import Console

    from neardup.tasks.compare.comparison import Comparison

SHOWN = 4000
"""Characters of each text that are shown, at most, unless all are asked for."""
WIDE = 100
"""Columns from which on the texts stand side by side."""
DRIFT = 2
"""Rows that a passage and its partner may be apart before one of the columns waits."""
NARROWEST = 24
"""Columns of a text, at least; in a narrower terminal rows are broken by it."""
_AT_ONCE = 500
"""Rows printed together."""
_MARGIN, _BETWEEN = " ", " │ "
_COLOURS = ("yellow", "cyan", "green", "magenta", "bright_blue", "bright_red")
RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")

Line = list[tuple[str, str]]
"""Parts of a printed line, each with its style."""


def facts(found: Comparison, names: tuple[str, str]) -> list[str]:
    """The measures of a comparison, a line an item."""
    size_a, size_b, common = found.sizes
    union, spec = size_a + size_b - common, found.spec
    below = "" if found.jaccard >= spec.threshold else f"; below the threshold {spec.threshold:g}"
    length, start_a, start_b = found.longest
    far = f"; the longest has {counted(length, 'character')}, from {start_a:,} in A and {start_b:,} in B"
    covered_a, covered_b = (_share(share) for share in (found.covered_a, found.covered_b))
    here = _bands(found)
    rows = [
        *(
            (name, f"{given}: {counted(len(text), 'character')}, {counted(size, 'distinct shingle')}")
            for name, given, text, size in zip("AB", names, found.texts, (size_a, size_b), strict=True)
        ),
        ("Jaccard", f"{similarity_text(found.jaccard, spec.threshold)}, {common:,} of {union:,} shingles{below}"),
        ("contained", f"{_share(found.containment_a_in_b)} of A in B, {_share(found.containment_b_in_a)} of B in A"),
        ("estimate", f"{similarity_text(found.estimate, 0.0)} ± {found.estimate_error:.4f} by {spec.slots} slots"),
        ("bands", f"{found.bands}: {_share(found.probability)} of pairs this similar agree in some band; {here}"),
        ("passages", f"{len(found.passages.a):,} in A, {len(found.passages.b):,} in B{far if length else ''}"),
        ("covered", f"{covered_a} of A, {covered_b} of B"),
        ("compared by", f"{spec.shingle}, normalised by {spec.normalize}"),
    ]
    return labelled(rows)


def _bands(found: Comparison) -> str:
    """Whether a search meets this very pair, and why not."""
    if not found.agreeing_bands:
        return "this one in none: not found"
    met = f"this one in {found.agreeing_bands:,}"
    return f"{met}: found" if found.found else f"{met}, too few bits: not found"


def _share(value: float) -> str:
    """A share in percent; not rounded to all or to none."""
    return percent(*value.as_integer_ratio())


def print_texts(found: Comparison, names: tuple[str, str], *, is_full: bool) -> None:
    """Print both texts to stdout, side by side where there is room; parts of long ones, unless ``is_full``."""
    from rich.console import Console

    from neardup.pages.pairs import windows
    from neardup.tasks.compare.gaps import chain, changed_words

    console = Console(highlight=False)
    is_plain = console.color_system is None or console.no_color
    spans = found.passages.a, found.passages.b
    shown_parts = [
        windows(text, own, most=len(text) if is_full else SHOWN) for text, own in zip(found.texts, spans, strict=True)
    ]
    until = max((end for _, end in shown_parts[0]), default=0)
    *changed, left_alone = changed_words(found.texts, found.passages, until=until)
    marks = _marks(found, changed)
    is_wide = console.width >= WIDE and not any(map(RIGHT_TO_LEFT.search, found.texts))
    gutter = max(3, *(len(f"{text.count(chr(10)) + 1}") for text in found.texts))
    room = (console.width - len(_BETWEEN)) // 2 if is_wide else console.width
    width = max(NARROWEST, room - gutter - len(_MARGIN))
    sides = [
        rows_of(text, shown, own, width=width, is_plain=is_plain) or [Row([Piece("(empty)", 7, "note")], None)]
        for text, shown, own in zip(found.texts, shown_parts, marks, strict=True)
    ]
    titles = [[(f"{name}  {shown(given)}", "bold")] for name, given in zip("AB", names, strict=True)]
    if is_wide:
        lines = _beside(sides, chain(found.passages), titles, gutter=gutter, width=width)
        lines = (_trimmed(line, is_plain) for line in lines)
    else:
        lines = _below(sides, titles, gutter=gutter)
    print_lines(console, lines)
    print_lines(console, iter([[(note, "dim")] for note in _notes(found, shown_parts, left_alone)]))


def _marks(found: Comparison, changed: Sequence[Sequence[tuple[int, int]]]) -> list[list[Mark]]:
    """Passages and changed words of either text, in order."""
    from neardup.stages.passages import groups

    spans = found.passages.a, found.passages.b
    return [
        sorted(
            [
                *(Mark(*span, number, run) for run, (span, number) in enumerate(zip(own, numbers, strict=True))),
                *(Mark(*span, 0) for span in words),
            ],
            key=lambda mark: mark.start,
        )
        for own, numbers, words in zip(spans, groups(found.passages), changed, strict=True)
    ]


def _notes(found: Comparison, windows: Sequence[Sequence[tuple[int, int]]], left_alone: int) -> Iterator[str]:
    """What is not shown, and how to see it."""
    hidden = [
        (name, len(text) - sum(end - start for start, end in shown))
        for name, text, shown in zip("AB", found.texts, windows, strict=True)
    ]
    parts = [f"{counted(characters, 'character')} of {name}" for name, characters in hidden if characters]
    if parts:
        yield ""
        yield f"{' and '.join(parts)} are left out; --full shows all"
    if left_alone:
        yield f"changed words are not marked in {counted(left_alone, 'gap')}: the texts have too many"


def _below(sides: Sequence[Sequence[Row]], titles: Sequence[Line], *, gutter: int) -> Iterator[Line]:
    for rows, title in zip(sides, titles, strict=True):
        yield []
        yield title
        for row in rows:
            yield _line(row, gutter)


def _beside(
    sides: Sequence[Sequence[Row]],
    linked: Sequence[tuple[int, int]],
    titles: Sequence[Line],
    *,
    gutter: int,
    width: int,
) -> Iterator[Line]:
    column = gutter + len(_MARGIN) + width
    yield []
    left_title, right_title = (_fitted(title[-1][0], column) for title in titles)
    yield [(left_title, "bold"), (_BETWEEN, "dim"), (right_title, "bold")]
    for left, right in _aligned(sides[0], sides[1], linked):
        line = _line(left, gutter) if left else []
        used = gutter + len(_MARGIN) + sum(piece.cells for piece in left.pieces) if left else 0
        yield [*line, (" " * (column - used), ""), (_BETWEEN.rstrip() if right is None else _BETWEEN, "dim")] + (
            _line(right, gutter) if right else []
        )


def _trimmed(line: Line, is_plain: bool) -> Line:
    """Without the spaces at its end that show nothing."""
    while line and (is_plain or line[-1][1] in ("", "dim", "bold")):
        *line, (shown, style) = line
        if shown := shown.rstrip(" "):
            return [*line, (shown, style)]
    return line


def _fitted(title: str, width: int) -> str:
    """A title as wide as its column; of a long path the end is told from others."""
    from rich.cells import cell_len, set_cell_size

    while cell_len(title) > width:
        title = f"{title[:3]}…{title[5:]}" if title[3] == "…" else f"{title[:3]}…{title[4:]}"
    return set_cell_size(title, width)


def _aligned(
    left: Sequence[Row], right: Sequence[Row], linked: Sequence[tuple[int, int]]
) -> Iterator[tuple[Row | None, Row | None]]:
    """Rows beside each other; where linked passages have drifted apart, the side that is ahead waits."""
    in_left, in_right = _anchored(left), _anchored(right)
    at_left = at_right = 0
    for i, j in linked:
        if i not in in_left or j not in in_right:
            continue
        to_left, to_right = in_left[i], in_right[j]
        if abs((to_left - at_left) - (to_right - at_right)) > DRIFT and to_left >= at_left and to_right >= at_right:
            yield from zip_longest(left[at_left:to_left], right[at_right:to_right])
            at_left, at_right = to_left, to_right
    yield from zip_longest(left[at_left:], right[at_right:])


def _anchored(rows: Sequence[Row]) -> dict[int, int]:
    """The first row of each run that is shown."""
    found: dict[int, int] = {}
    for at, row in enumerate(rows):
        for run in row.anchors:
            found.setdefault(run, at)
    return found


def _line(row: Row, gutter: int) -> Line:
    number = "" if row.line is None else str(row.line)
    line = [(f"{number:>{gutter}}{_MARGIN}", "dim")]
    for style, alike in groupby(row.pieces, key=style_of):
        line.append(("".join(piece.shown for piece in alike), style))
    return line


def style_of(piece: Piece) -> str:
    """Passages have a background, changed words a line below; what stands for a character is slanted."""
    if piece.kind == "note":
        return "dim"
    slant = "italic " if piece.kind == "hidden" else ""
    if piece.mark is None:
        return f"{slant}dim" if slant else ""
    if not piece.mark.number:
        return f"{slant}red underline"
    weight = "bold " if piece.kind == "label" else ""
    return f"{weight}{slant}black on {_COLOURS[(piece.mark.number - 1) % len(_COLOURS)]}"


def print_lines(console: Console, lines: Iterator[Line]) -> None:
    """Print lines as they come, some at a time; characters that the terminal's encoding lacks are replaced.

    They go where the console writes to.
    """
    import click
    from rich.segment import Segment, Segments
    from rich.style import Style

    stream = console.file
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
    while part := list(islice(lines, _AT_ONCE)):
        segments: list[Segment] = []
        for line in part:
            segments += [Segment(words, Style.parse(style) if style else None) for words, style in line]
            segments.append(Segment.line())
        with console.capture() as captured:
            console.print(Segments(segments), soft_wrap=True, end="")
        text = captured.get()
        if not encoding.startswith("utf"):
            text = text.encode(encoding, NARROW).decode(encoding)
        click.echo(text, file=stream, nl=False, color=True)
