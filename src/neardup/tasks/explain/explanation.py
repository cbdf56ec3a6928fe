"""An explanation, and what it is as text: aligned tables that are cut by columns where they are wider than a page.

White space in shingles is made visible: ␣ is a space, line breaks and other controls are written as in Python.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from neardup.params import Bands, Normalize, Shingle
from neardup.tasks.explain.tables import Bucket, Document, Function, Pair, Row, Slot, Step, Value

if TYPE_CHECKING:
    from neardup.pages.notebook import Table

WIDTH = 80
MOST_FUNCTIONS = 12
"""Functions whose steps are shown; ``as_dict`` and --json have all."""
MOST_BUCKETS = 40
"""Buckets up to which those of one document are listed too."""
MOST_ROWS = 40
"""Rows of a table in a notebook; the text has all."""
EMPTY = "∞"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Every step of the method on a few documents. ``str()`` lays it out for reading, ``as_dict()`` for programs."""

    shingle: Shingle
    normalize: Normalize
    sketch: str
    """The family of the functions, or ``given`` when they were."""
    seed: int | None
    """Of the family; None when the functions were given."""
    bands: Bands
    documents: tuple[Document, ...]
    functions: tuple[Function, ...]
    rows: tuple[Row, ...]
    steps: tuple[Step, ...]
    signature: tuple[Slot, ...]
    buckets: tuple[Bucket, ...]
    pairs: tuple[Pair, ...]
    curve: tuple[tuple[float, float], ...]
    """Similarities, and the probability of becoming a candidate pair at each."""
    values: tuple[tuple[Value, ...], ...] | None
    """What ``neardup.sketch`` gives for each document; the signature above has its ranks. None when given."""
    notes: tuple[str, ...]

    @property
    def candidates(self) -> tuple[Pair, ...]:
        """The pairs that some band holds."""
        return tuple(pair for pair in self.pairs if pair.is_candidate)

    def as_dict(self) -> dict[str, Any]:
        """All tables as plain JSON values."""
        plain = asdict(self)
        plain.update(shingle=str(self.shingle), normalize=str(self.normalize), bands=str(self.bands))
        for pair, table in zip(plain["pairs"], self.pairs, strict=True):
            pair["candidate"] = table.is_candidate
        plain["curve"] = [{"similarity": s, "probability": p} for s, p in self.curve]
        return plain

    def __str__(self) -> str:
        tables = (_documents, _matrix, _steps, _signature, _bands, _pairs, _curve)
        parts = [table(self) for table in tables]
        if self.notes:
            parts.append(["Notes", *_wrapped(self.notes)])
        return "\n\n".join("\n".join(part) for part in parts if part)

    def __repr__(self) -> str:
        what = f"{_counted(len(self.documents), 'document')}, {_counted(len(self.functions), 'function')}"
        found = _counted(len(self.candidates), "candidate pair")
        return f"<neardup.Explanation: {what}, bands {self.bands}, {found}; print it for all steps>"

    def _repr_html_(self) -> str:
        return _view(self)


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of a table."""

    heads: tuple[str, ...]
    cells: Sequence[str]
    left: bool = False
    """Aligned to the left, as words are; numbers go to the right."""

    @property
    def width(self) -> int:
        return max(map(_cells, (*self.heads, *self.cells)))

    def lines(self) -> list[str]:
        """Heads and cells, all of one width."""
        return [_padded(one, self.width, left=self.left) for one in (*self.heads, *self.cells)]


def shown(text: str) -> str:
    """A shingle with its white space made visible."""
    return "".join("␣" if c == " " else c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _documents(seen: Explanation) -> list[str]:
    has_space = any(" " in one for document in seen.documents for one in document.shingles)
    lines = [f"Shingles ({seen.shingle}{', ␣ is a space' if has_space else ''})"]
    name = max(_cells(document.name) for document in seen.documents)
    for document in seen.documents:
        head = f"  {_padded(document.name, name, left=True)}  {len(document.shingles):>3}  "
        lines += _filled(map(shown, document.shingles), head)
    return lines


def _matrix(seen: Explanation) -> list[str]:
    functions = seen.functions[:MOST_FUNCTIONS]
    lead = _row_columns(seen)
    groups = [[_Column((d.name,), [str(row.members[i]) for row in seen.rows])] for i, d in enumerate(seen.documents)]
    groups += [[_Column((f.name,), [_value(row.values[i], "·") for row in seen.rows])] for i, f in enumerate(functions)]
    lines = ["Characteristic matrix, and the place of each row under each function"]
    if not seen.rows:
        return [*lines, "  no rows: no document has a shingle"]
    lines += _table(lead, groups)
    if seen.sketch == "given":
        lines += _wrapped(f"{function.name} = {function.rule}" for function in functions)
    else:
        what = "random permutations of the rows" if seen.sketch == "permutation" else "ranks of 32-bit hash values"
        dots = "; · is a row that falls into another slot" if seen.sketch == "one-permutation" else ""
        lines += _wrapped([f"h1 … h{len(seen.functions)}: {seen.sketch}, seed {seen.seed}: {what}, from 0{dots}"])
    return [*lines, *_left_out(seen)]


def _row_columns(seen: Explanation, *, start: bool = False) -> list[_Column]:
    """Number and shingle of the rows; a number alone where it is the shingle. ``start``: with a line before them."""
    blank = [""] if start else []
    heads = ("", "row") if start else ("row",)
    numbers = _Column(heads, [*(["start"] if start else []), *(str(row.number) for row in seen.rows)])
    if all(str(row.number) == row.shingle for row in seen.rows):
        return [numbers]
    names = _Column((*heads[:-1], "shingle"), [*blank, *(shown(row.shingle) for row in seen.rows)], left=True)
    return [numbers, names]


def _left_out(seen: Explanation) -> list[str]:
    count = len(seen.functions)
    if count <= MOST_FUNCTIONS:
        return []
    return [f"  the first {MOST_FUNCTIONS} of {count} functions; as_dict() and --json have all"]


def _steps(seen: Explanation) -> list[str]:
    if not seen.rows:
        return []
    groups = []
    start: tuple[Value, ...] = (None,) * len(seen.documents)
    for slot, function in enumerate(seen.functions[:MOST_FUNCTIONS]):
        states = [start, *(step.signature[slot] for step in seen.steps)]
        groups.append(_below(function.name, seen, zip(*(map(_value, state) for state in states), strict=True)))
    return [
        "Signatures, row by row: a row lowers the slots of the documents that have it to its own place",
        *_table(_row_columns(seen, start=True), groups),
        *_left_out(seen),
    ]


def _signature(seen: Explanation) -> list[str]:
    lead = [_Column(("", "slot"), [slot.function for slot in seen.signature], left=True)]
    values = zip(*(map(_value, slot.values) for slot in seen.signature), strict=True)
    kept = zip(*(map(shown, (one or "" for one in slot.shingles)) for slot in seen.signature), strict=True)
    columns = [*_below("value", seen, values), *_below("of shingle", seen, kept, left=True)]
    return ["Signatures", *_table(lead, [[column] for column in columns])]


def _below(head: str, seen: Explanation, cells: Iterable[Sequence[str]], *, left: bool = False) -> list[_Column]:
    """A column of cells for each document, with a head above the first."""
    named = enumerate(zip(seen.documents, cells, strict=True))
    return [_Column((head if i == 0 else "", document.name), column, left) for i, (document, column) in named]


def _bands(seen: Explanation) -> list[str]:
    bands, buckets = seen.bands, seen.buckets
    unused = len(seen.functions) - bands.slots
    lines = [
        f"Bands: {bands.bands} of {_counted(bands.rows, 'row')}"
        + (f"; the last {_counted(unused, 'slot')} in none" if unused else "")
    ]
    alone = sum(len(bucket.documents) == 1 for bucket in buckets)
    if len(buckets) > MOST_BUCKETS and alone:
        buckets = tuple(bucket for bucket in buckets if len(bucket.documents) > 1)
        lines[0] += f"; {_counted(alone, 'bucket')} with one document left out"
    if not buckets:
        return [*lines, "  no bucket"]
    last = range(bands.rows, bands.slots + 1, bands.rows)
    slots = [f"h{end}" if bands.rows == 1 else f"h{end - bands.rows + 1}–h{end}" for end in last]
    columns = [
        _Column(("band",), [str(bucket.band) for bucket in buckets]),
        _Column(("slots",), [slots[bucket.band - 1] for bucket in buckets], left=True),
        _Column(("bucket",), [" ".join(map(_value, bucket.key)) for bucket in buckets], left=True),
        _Column(("documents",), [" ".join(bucket.documents) for bucket in buckets], left=True),
    ]
    return [*lines, *_table(columns[:1], [[column] for column in columns[1:]])]


def _pairs(seen: Explanation) -> list[str]:
    if not seen.pairs:
        return []
    pairs = seen.pairs
    columns = [
        _Column(("", "pair"), [f"{pair.left} {pair.right}" for pair in pairs], left=True),
        _Column(("exact", "shared"), [f"{pair.shared}/{pair.union}" for pair in pairs]),
        _Column(("", "J"), [f"{pair.similarity:.4f}" for pair in pairs]),
        _Column(("estimated", "slots"), [f"{pair.agreeing}/{pair.compared}" for pair in pairs]),
        _Column(("", "J"), [f"{pair.estimate:.4f}" for pair in pairs]),
        _Column(("", "P(candidate)"), [f"{pair.probability:.5f}" for pair in pairs]),
        _Column(("", "candidate"), [_candidate(pair) for pair in pairs], left=True),
    ]
    names = ", ".join(f"{pair.left}–{pair.right}" for pair in seen.candidates) or "none"
    return [
        "Pairs: the share of equal slots beside the share of common shingles",
        *_table(columns[:1], [[column] for column in columns[1:]]),
        *_filled([names], "  candidates: "),
    ]


def _candidate(pair: Pair) -> str:
    if not pair.is_candidate:
        return "no"
    many = "s" if len(pair.bands) > 1 else ""
    more = " …" if len(pair.bands) > 5 else ""
    return f"yes, band{many} {' '.join(map(str, pair.bands[:5]))}{more}"


def _curve(seen: Explanation) -> list[str]:
    b, r = seen.bands.bands, seen.bands.rows
    lead = [_Column(("J",), ["P"], left=True)]
    groups = [[_Column((f"{s:.1f}",), [f"{p:.5f}"])] for s, p in seen.curve]
    return [f"S-curve: P(candidate) = 1 − (1 − J^{r})^{b}", *_table(lead, groups, gap=" ")]


def _table(lead: Sequence[_Column], groups: Sequence[Sequence[_Column]], *, gap: str = "  ") -> list[str]:
    """Lines of a table; groups of columns that do not fit go into further blocks, each with the leading columns."""
    taken = 2 + sum(column.width + len(gap) for column in lead)
    blocks: list[list[_Column]] = [[]]
    room = WIDTH - taken
    for group in groups:
        need = sum(column.width + len(gap) for column in group)
        if blocks[-1] and need > room:
            blocks.append([])
            room = WIDTH - taken
        blocks[-1] += group
        room -= need
    lines: list[str] = []
    for block in blocks:
        if lines:
            lines.append("")
        by_line = zip(*(column.lines() for column in (*lead, *block)), strict=True)
        lines += [f"  {gap.join(cells)}".rstrip() for cells in by_line]
    return lines


def _value(value: Value, empty: str = EMPTY) -> str:
    return empty if value is None else str(value)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _wrapped(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in _filled(text.split(" "), "  ")]


def _filled(words: Iterable[str], head: str) -> list[str]:
    """Words after a head, wrapped; the lines that follow begin below the first word."""
    room = max(20, WIDTH - _cells(head))
    lines = textwrap.wrap(" ".join(words), room, break_long_words=False, break_on_hyphens=False) or [""]
    return [(head + lines[0]).rstrip(), *(" " * _cells(head) + line for line in lines[1:])]


def _cells(text: str) -> int:
    """Places that a terminal takes for a text: two for a wide character, none for a combining one."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _padded(text: str, width: int, *, left: bool) -> str:
    blank = " " * (width - _cells(text))
    return text + blank if left else blank + text


def _view(seen: Explanation) -> str:
    """The matrix, the signatures, the buckets and the pairs as tables for a notebook, of which long ones are cut."""
    from neardup.pages.notebook import Table, view

    names, functions = [each.name for each in seen.documents], seen.functions[:MOST_FUNCTIONS]
    what = [[each.name, len(each.shingles), " · ".join(map(shown, each.shingles[:60]))] for each in seen.documents]
    matrix = [
        [str(row.number), shown(row.shingle), *map(str, row.members), *(_value(value, "·") for value in row.values)]
        for row in seen.rows
    ]
    signature = [[slot.function, *map(_value, slot.values)] for slot in seen.signature]
    shared = [each for each in seen.buckets if len(each.documents) > 1]
    buckets = [[str(each.band), " ".join(map(_value, each.key)), " ".join(each.documents)] for each in shared]
    pairs = [
        [
            f"{pair.left} {pair.right}",
            f"{pair.shared}/{pair.union}",
            pair.similarity,
            f"{pair.agreeing}/{pair.compared}",
            pair.estimate,
            pair.probability,
            _candidate(pair),
        ]
        for pair in seen.pairs
    ]
    columns = ["pair", "shared", "similarity", "equal slots", "estimate", "P(candidate)", "candidate"]
    heads = ["row", "shingle", *names, *(each.name for each in functions)]
    chances = [["probability", *(f"{p:.4f}" for _, p in seen.curve)]]
    tables = [
        Table(["document", "shingles", ""], what, "Shingles"),
        _cut(heads, [row[: len(heads)] for row in matrix], "Characteristic matrix, and the place of each row"),
        _cut(["slot", *names], signature, "Signatures"),
        _cut(["band", "values", "documents"], buckets, "Buckets of two documents and more"),
        _cut(columns, pairs, "Pairs: the share of equal slots beside the share of common shingles"),
        Table(["similarity", *(f"{s:.1f}" for s, _ in seen.curve)], chances, "S-curve: the chance to be a candidate"),
    ]
    facts = [("shingle", seen.shingle), ("normalize", seen.normalize), ("sketch", seen.sketch), ("bands", seen.bands)]
    return view(repr(seen).strip("<>"), facts=facts, tables=tables, notes=seen.notes)


def _cut(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str) -> Table:
    from neardup.pages.notebook import Table

    return Table(columns, rows[:MOST_ROWS], caption, max(0, len(rows) - MOST_ROWS))
