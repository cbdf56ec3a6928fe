"""The pages of the benchmarks: RESULTS.md cut into a page for each of its sections, with figures of its tables.

No figure is typed here. A chart names a heading and columns; when RESULTS.md has them no more, the build fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from docs.site.sources import with_links
from mdit_py_plugins.anchors.index import slugify

PAGE = "benchmarks/results.md"
FOLDER = "results"


class NoSuchTable(Exception):
    """A chart names what RESULTS.md does not have."""


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars made from the first table below a heading that has all its columns; a panel for each column."""

    heading: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    """Columns whose cells, together, name a bar. An empty cell repeats the one above it."""
    together: str = ""
    """If given, the columns share one panel, with this below its axis."""
    only: str = ""
    """A pattern that the name of a bar must match."""
    is_on_front: bool = False


CHARTS = (
    *(
        Chart(heading, ("MB/s", "recall", "precision"), ("program",), only="^[^…]", is_on_front=number == 0)
        for number, heading in enumerate(
            (
                "Linux sources, 801 MB", "Abstracts with synthetic edits, 520 MB", "Linux sources, 100 MB",
                "Paragraphs, 100 MB",
            )
        )
    ),
    Chart(
        "From JSONL to clean JSONL, beside text-dedup and datatrove", ("MB/s", "recall", "precision (of)"),
        ("program",), only="^[^…]", is_on_front=True,
    ),
    Chart(
        "Ten million short documents under a memory limit", ("s", "peak RSS, GB"), ("documents", "`--memory`"),
        only="^10,000,000",
    ),
    Chart(
        "The exact join beside SetSimilaritySearch", ("neardup CPU s", "peer CPU s"), ("collection",),
        together="CPU seconds, whole process",
    ),
    Chart(
        "The index beside Lance, gaoya, rensa, datasketch and pg_trgm", ("build µs/doc", "pair recall", "precision"),
        ("program",), only="^(?!…|neardup, )", is_on_front=True,
    ),
    Chart("The service under load", ("requests a second", "p99 ms"), ("run",)),
    Chart(
        "Repeated passages beside a suffix array", ("neardup", "suffix array"), ("collection", "span"),
        together="MB of text per CPU second, by length of a passage in characters", is_on_front=True,
    ),
    Chart("A Spark cluster beside one machine", ("one machine", "cluster"), ("",), together="CPU seconds"),
)  # fmt: skip


def split_results(stage: Path) -> None:
    """Cut the page of results in ``stage`` into pages, put figures in, and lead all links to its parts to them."""
    whole = stage / PAGE
    if not whole.exists():
        return
    head, *sections = re.split(r"^## ", whole.read_text(encoding="utf-8"), flags=re.MULTILINE)
    (folder := whole.parent / FOLDER).mkdir()
    titles = [section.partition("\n")[0] for section in sections]
    places = _places(titles, sections)
    for title, section in zip(titles, sections, strict=True):
        text = with_links(re.sub(r"^###", "##", "# " + section, flags=re.MULTILINE), _one_deeper)
        (folder / f"{slugify(title)}.md").write_text(_with_figures(text), encoding="utf-8")
    rows = [f"- [{title}]({FOLDER}/{slugify(title)}.md)" for title in titles]
    tree = ["```{toctree}", ":hidden:", "", *(f"{title} <{FOLDER}/{slugify(title)}>" for title in titles), "```"]
    front = [
        f"## {chart.heading}\n\n{figure(chart, _section(chart, sections))}\n\n"
        f"[The whole table, and how it was measured]({places[slugify(chart.heading)]})"
        for chart in CHARTS
        if chart.is_on_front
    ]
    whole.write_text(
        "\n\n".join([head.strip(), *front, "## All results", "\n".join(rows), "\n".join(tree)]) + "\n", encoding="utf-8"
    )
    for page in stage.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        led = re.sub(r"\]\(([^)\s#]*)results\.md#([^)\s]+)\)", lambda found: _led(found[1], found[2], places), text)
        if led != text:
            page.write_text(led, encoding="utf-8")


def _places(titles: Sequence[str], sections: Sequence[str]) -> dict[str, str]:
    """Where each heading of the results stands now, by its anchor in RESULTS.md, seen from the page of results."""
    places = {}
    for title, section in zip(titles, sections, strict=True):
        page = f"{FOLDER}/{slugify(title)}.md"
        inner = [slugify(found) for found in re.findall(r"^### (.*)$", section, re.MULTILINE)]
        places |= {slugify(title): page, **{anchor: f"{page}#{anchor}" for anchor in inner}}
    return places


def _led(before: str, anchor: str, places: dict[str, str]) -> str:
    return f"]({before}{places.get(anchor, f'results.md#{anchor}')})"


def _one_deeper(target: str) -> str:
    return target if "://" in target else f"../{target}"


def _section(chart: Chart, sections: Sequence[str]) -> str:
    """The text below the heading of a chart, up to the next heading."""
    for section in sections:
        for part in re.split(r"^#+ ", section, flags=re.MULTILINE):
            if part.partition("\n")[0] == chart.heading:
                return part
    raise NoSuchTable(
        f"benchmarks/RESULTS.md has no heading {chart.heading!r}, of which docs/site/results.py makes a figure"
    )


def _with_figures(text: str) -> str:
    """A page with the figures of its charts, each above the first table below its heading."""
    parts = re.split(r"^(?=#+ )", text, flags=re.MULTILINE)
    for number, part in enumerate(parts):
        title = part.partition("\n")[0].lstrip("# ")
        made = [figure(chart, part) for chart in CHARTS if chart.heading == title]
        if made:
            before, table, rest = part.partition("\n| ")
            parts[number] = before + "\n" + "\n\n".join(made) + "\n" + table + rest
    return "".join(parts)


# ---- tables


def table_of(text: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of the first table of a text that has all these columns.

    Raises:
        NoSuchTable: none has.
    """
    for found in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        names, _, *rows = [_cells(line) for line in found.strip().split("\n")]
        if set(columns) <= set(names):
            return [dict(zip(names, row, strict=True)) for row in rows]
    raise NoSuchTable(
        f"no table of benchmarks/RESULTS.md below {text.partition(chr(10))[0]!r} has the columns {', '.join(columns)}"
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number_of(cell: str) -> float | None:
    """The first number of a cell; None where there is none."""
    found = re.search(r"\d[\d,]*(?:\.\d+)?", cell)
    return float(found[0].replace(",", "")) if found else None


def bars_of(chart: Chart, text: str) -> list[tuple[str, list[float]]]:
    """The name of each bar of a chart, and its value in each column; rows without one of the values are left out."""
    bars = []
    above = dict.fromkeys(chart.labels, "")
    for row in table_of(text, (*chart.labels, *chart.columns)):
        above = {label: row[label] or above[label] for label in chart.labels}
        name = ", ".join(above.values()).replace("`", "")
        values = [number_of(row[column]) for column in chart.columns]
        if re.search(chart.only, name) and None not in values:
            bars.append((name, [value for value in values if value is not None]))
    if not bars:
        raise NoSuchTable(f"no row below {chart.heading!r} in benchmarks/RESULTS.md has {' and '.join(chart.columns)}")
    return bars


# ---- figures


def figure(chart: Chart, text: str) -> str:
    """A chart as HTML, which fits each width and takes the colours of the page: bars, each with its value beside it."""
    bars = bars_of(chart, text)
    panels = [chart.columns] if chart.together else [(column,) for column in chart.columns]
    lines = ['<figure class="bars">']
    for columns in panels:
        places = [chart.columns.index(column) for column in columns]
        longest = max(values[place] for _, values in bars for place in places)
        lines += [f"<figcaption>{escape(chart.together or columns[0])}</figcaption>", "<dl>"]
        for name, values in bars:
            lines.append(f"<dt>{escape(name)}</dt>")
            for place, column in zip(places, columns, strict=True):
                kind = "own" if "neardup" in f"{name} {column}" or column == "one machine" else "other"
                said = f"{column}: " if len(columns) > 1 else ""
                length = f'<span style="width: {_LONGEST * values[place] / longest:.1f}%"></span>'
                lines.append(f'<dd class="{kind}">{length}{escape(said)}{values[place]:,.10g}</dd>')
        lines += ["</dl>"]
    return "\n".join([*lines, "</figure>"])


_LONGEST = 60
"""Length of the longest bar in percent, so that its value has room beside it."""
