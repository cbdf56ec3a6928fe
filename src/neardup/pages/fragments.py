"""Parts of pages that stand by themselves: a pair of texts, or a table, as HTML for a notebook.

A fragment brings its styles, which reach nothing outside of it, and needs no script: marks, colours and the names of
characters that are not seen are those of the pages (``site/assets``). It is light or dark as the system says, or as
JupyterLab does. Whoever has the base install can make one. Whole pages are made in ``site``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from neardup.pages.assets import styles
from neardup.pages.pairs import text_data, union
from neardup.shown import UNSEEN, is_unseen, name_of, percent, similarity_text
from neardup.stages.passages import Passages, Span, groups

CHARACTERS = 4000
"""Of each text of a pair, at most; of a longer one its beginning and the parts around its passages."""
COLOURS = 6
"""Of passages, after which they begin anew; as in ``site/assets/text.js``."""
_LIGHT = '[data-jp-theme-light="true"], body.vscode-light, body.notebook_app, html[theme="light"], [data-theme="light"]'
_DARK = '[data-jp-theme-light="false"], body.vscode-dark, html[theme="dark"], [data-theme="dark"]'
"""Where JupyterLab, VS Code, Colab and pages made of notebooks say that they are light or dark, and the classic
notebook, which is light on any system."""
_LONG = 40
"""Characters from which on a cell may be broken anywhere, and has a width of its own."""
_JOINERS = "\u200c\u200d"
"""Which of them shape what is seen, only the scripts of a page can tell: they stay as they are."""
_HIDDEN = re.compile("([{}])\\1*".format("".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in UNSEEN)))


def pair_part(
    texts: tuple[str, str],
    passages: Passages,
    *,
    names: tuple[str, str] = ("A", "B"),
    facts: Iterable[tuple[str, str]] = (),
    most: int = CHARACTERS,
) -> str:
    """Return two texts side by side with the passages that they share marked. O(characters shown + runs).

    Args:
        texts: as they were written.
        passages: of these texts, as ``stages.passages`` finds them.
        names: of the texts, such as their ids; they may hold anything.
        facts: further facts about the pair, by label and value.
        most: characters shown of each text.

    >>> from neardup.engine.results.passages import shared_passages
    >>> from neardup.params import Normalize, Shingle
    >>> texts = "I love chocolate.", "You love <b>chocolate!"
    >>> found = shared_passages(*texts, shingle=Shingle("char", 6), normalize=Normalize("nfc"))
    >>> '<mark class="mark k0"> love </mark>&lt;b&gt;' in pair_part(texts, found)
    True
    """
    sides = (passages.a, passages.b)
    columns = "".join(
        _side(letter, name, text, spans, numbers, most)
        for letter, name, text, spans, numbers in zip("AB", names, texts, sides, groups(passages), strict=True)
    )
    return f'{facts_part(facts)}<div class="texts">{columns}</div>'


def facts_part(facts: Iterable[tuple[str, str]]) -> str:
    """Labels and values in a row; nothing where there are none."""
    told = "".join(f"<div><dt>{seen_line(label)}</dt><dd>{seen_line(value)}</dd></div>" for label, value in facts)
    return f'<dl class="facts">{told}</dl>' if told else ""


def table_part(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    caption: str = "",
    left_out: int = 0,
    together: int = 1,
) -> str:
    """Return a table with a heading for each of ``columns``, and how many rows were ``left_out``.

    A float is a similarity or a share, and is cut to four places, as the command does; a whole number has its
    thousands parted; None is an empty cell. So many rows ``together`` have one line below them.

    >>> "<td class=no>1,234</td><td class=no>0.5000</td>" in table_part(["a", "b"], [[1234, 0.5]])
    True
    """
    cells = [list(map(_cell, row)) for row in rows]
    are_numbers = [
        all(cell.startswith(("<td class=no>", "<td></td>")) for cell in column) for column in zip(*cells, strict=True)
    ]
    kinds = [" class=no" if is_number else "" for is_number in are_numbers] or [""] * len(columns)
    named = zip(columns, kinds, strict=True)
    head = "".join(f'<th scope="col"{kind}>{seen_line(name)}</th>' for name, kind in named)
    lines = [f"<tr>{''.join(row)}</tr>" for row in cells]
    groups = ["".join(lines[at : at + together]) for at in range(0, len(lines), together)] or [""]
    body = "".join(f"<tbody>{group}</tbody>" for group in groups)
    above = f"<caption>{seen_line(caption)}</caption>" if caption else ""
    below = f'<p class="soft">… and {left_out:,} more.</p>' if left_out else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead>{body}</table>{below}"


def seen(text: str) -> str:
    """Text as markup in which the characters that are not seen, but for joiners, have their names."""
    out, at = [], 0
    for found in _HIDDEN.finditer(text):
        run, char = found.group(), found[1]
        if char in _JOINERS or (run == "\r" and text[found.end() : found.end() + 1] == "\n"):
            continue
        out += [escape(text[at : found.start()]), _hidden(char, len(run))]
        at = found.end()
    return "".join([*out, escape(text[at:])])


def seen_line(text: object) -> str:
    """One line of text as markup: tabs and line breaks too are named, each by itself."""
    return "".join(
        _hidden(char, 1) if (is_unseen(char) and char not in _JOINERS) or char in "\t\n" else escape(char)
        for char in str(text)
    )


def _hidden(char: str, times: int) -> str:
    name = name_of(char) + (f" ×{times:,}" if times > 1 else "")
    return f'<span class="hidden" data-name="{name}"></span>'


def _side(letter: str, name: str, text: str, spans: Sequence[Span], numbers: Sequence[int], most: int) -> str:
    shown = text_data(text, union(spans), most=most)
    body, at = [], 0
    for start, piece in shown["pieces"]:
        body += [_gap(start - at), *_marked(piece, start, spans, numbers)]
        at = start + len(piece)
    body.append(_gap(len(text) - at))
    title = f' <bdi class="id">{seen_line(name)}</bdi>' if name != letter else ""
    share = percent(sum(end - start for start, end in spans), len(text))
    return (
        f'<section class="side" aria-label="Text {letter}">'
        f'<p class="side-name"><span class="letter">{letter}</span>{title}</p>'
        f'<p class="about">{share} of {letter} stands in {"B" if letter == "A" else "A"}</p>'
        f'<div class="text" dir="auto">{"".join(body)}</div></section>'
    )


def _marked(piece: str, first: int, spans: Sequence[Span], numbers: Sequence[int]) -> Iterator[str]:
    """Markup of a piece that begins at ``first``; spans are rising and apart."""
    at, last = first, first + len(piece)
    for (start, end), number in zip(spans, numbers, strict=True):
        low, high = max(start, at), min(end, last)
        if low < high:
            yield seen(piece[at - first : low - first])
            yield f'<mark class="mark k{(number - 1) % COLOURS}">{seen(piece[low - first : high - first])}</mark>'
            at = high
    yield seen(piece[at - first :])


def _gap(characters: int) -> str:
    many = f"{characters:,} character{'s' * (characters != 1)}"
    return f'<span class="gap is-left-out">… {many} not shown …</span>' if characters else ""


def _cell(value: object) -> str:
    if value is None:
        return "<td></td>"
    if isinstance(value, float):
        return f"<td class=no>{similarity_text(value, 0.0)}</td>"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"<td class=no>{value:,}</td>"
    return f"<td{' class=long' * (len(str(value)) > _LONG)}>{seen_line(value)}</td>"


def framed(body: str) -> str:
    """Markup in a frame with the styles; what it is made of must be escaped."""
    return f'<div class="neardup-fragment"><style>{_styles()}</style>{body}</div>'


@functools.cache
def _styles() -> str:
    """The styles, nested so that they reach the fragment only.

    It is named three times, for the styles that a notebook has for tables and lists name up to three classes.
    """
    light, dark, printed = re.findall(r":root \{(.*?)\}", styles(("common",)), re.DOTALL)
    nested = styles(("common", "texts", "fragment")).replace(":root", "&")
    themes = (
        f":is({_LIGHT}) & {{{light}color-scheme: light;}}"
        f":is({_DARK}) & {{{dark}color-scheme: dark;}}"
        f"@media print {{ :is({_LIGHT}, {_DARK}) & {{{printed}}} }}"
    )
    sheet = re.sub(r"/\*.*?\*/", "", nested + themes, flags=re.DOTALL)
    sheet = re.sub(r"([\d.]+)rem", lambda size: f"{16 * float(size[1]):g}px", sheet)  # some notebooks have a small rem
    return f"{'.neardup-fragment' * 3} {{{' '.join(sheet.split())}}}"
