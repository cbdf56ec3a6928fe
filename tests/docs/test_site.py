"""The site of the documentation: what it is made from, what it refuses, and what is looked for in what was built.

The whole site is built by ``.ci/run site``; here a small one is, and each part is looked at by itself.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from docs.site import __main__ as site
from docs.site import checking, notebooks, python_pages, results, sources
from tests import warm
from tests.docs.blocks import blocks_of

import neardup

TUTORIALS = sorted((Path(__file__).resolve().parents[2] / "docs" / "tutorial").glob("*.md"))
_BUILD = """
import sys
from pathlib import Path
from docs.site import __main__ as site, python_pages
python_pages.write_pages = lambda folder: None  # they take seconds, and `.ci/run site` makes them
print(*site.build(Path(sys.argv[1]), Path(sys.argv[2])), sep="\\n")
"""
HOME = """# Home

## Tutorials

| page | for |
| --- | --- |
| [First](tutorial/first.md) | to begin with |
| [Help](../CONTRIBUTING.md#how) | to go on |
"""
FIRST = """# First

See [how to help](../../CONTRIBUTING.md#how), [a section](#second-part) and [a file](../../data.csv).

## Second part

```console
$ neardup --version
neardup 1
```
"""


def repository_of(folder: Path, first: str = FIRST) -> Path:
    """A small repository: a first page, a tutorial, a page outside of docs/, and a file that is none."""
    files = {
        "docs/README.md": HOME, "docs/tutorial/first.md": first, "data.csv": "a,b\n",
        "CONTRIBUTING.md": "# Contributing\n\n## How\n\nWith [the first page](docs/tutorial/first.md).\n",
    }  # fmt: skip
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def built(repository: Path, small: Path, out: Path) -> tuple[str, str]:
    """Build the site of a small repository; the faults, and what Sphinx said."""
    env = {**warm.environment(), "PYTHONWARNINGS": "default"}
    done = warm.run(["-c", _BUILD, str(out), str(small)], cwd=repository, env=env, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def test_a_site_is_built_and_its_dead_links_are_named(repository: Path, tmp_path: Path) -> None:
    """One build for both, since each starts Sphinx; that a site without faults has none is seen in ``.ci/run site``."""
    wrong = FIRST + "\n[No page](nowhere.md), [no section](#third-part).\n"
    out = tmp_path / "out"
    faults, said = built(repository, repository_of(tmp_path / "small", wrong), out)
    assert "errors" in faults
    assert [line for line in said.splitlines() if "WARNING" in line and "Warning:" not in line] == [
        line for line in said.splitlines() if "nowhere.md" in line or "third-part" in line
    ]
    assert "nowhere.md" in said
    assert "third-part" in said
    page = (out / "tutorial" / "first.html").read_text(encoding="utf-8")
    assert 'href="../project/contributing.html#how"' in page
    assert "versions.js" in page
    assert (out / "searchindex.js").exists()
    assert '["howto/questions", 4]' in (out / "_static" / "language_data.js").read_text(encoding="utf-8")
    assert list((out / "_downloads").rglob("first.ipynb"))
    assert list((out / "_downloads").rglob("data.csv"))
    assert checking.faults_of(out) == [
        f"tutorial/first.html: the link #{anchor} leads to no place of that page"
        for anchor in ("nowhere.md", "third-part")
    ]


def test_the_search_weighs_pages_that_there_are(repository: Path) -> None:
    docs = repository / "docs"
    places = [*sources.PLACES.values(), *(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))]
    weighed = re.findall(
        r'^ +\["(.+)", -?\d\],$', (docs / "site" / "scorer.js").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(weighed) == 9
    assert [start for start in weighed if not any(place.startswith(start) for place in places)] == []


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_notebook_of_a_tutorial_has_every_block_that_runs(page: Path, repository: Path) -> None:
    made = notebooks.notebook_of(page.read_text(encoding="utf-8"), page.stem)
    nbformat.validate(made)
    code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
    blocks = [block for block in blocks_of(page, repository) if block.info[0] in ("console", "python")]
    assert len(code) == len(blocks)
    for source, block in zip(code, blocks, strict=True):
        assert source.startswith("%%bash\n") == (block.info[0] == "console")
        assert not re.search(r"^(\$|>>>|\.\.\.) ", source, re.MULTILINE)
    told = "\n".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert not re.search(r"\]\((?!https?:)", told)


def test_sessions_and_commands_become_cells() -> None:
    text = "# T\n\n```python\n>>> a = 1\n>>> a\n1\n```\n\n```console\n$ b \\\n    c\nout\n$ d\n```\n"
    made = notebooks.notebook_of(text, "t")
    code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
    assert code == ["a = 1\na", "%%bash\nb \\\n    c\nd"]


def test_every_page_is_named_on_the_first_one(repository: Path) -> None:
    named = {
        (repository / "docs" / target).resolve()
        for target in re.findall(r"\]\(([^)\s#]+)", (repository / sources.HOME).read_text(encoding="utf-8"))
    }
    pages = {*(repository / "docs").rglob("*.md"), *(repository / page for page in sources.PLACES)}
    assert {page.relative_to(repository) for page in pages - named} == {Path(sources.HOME)}


def test_every_public_name_has_its_place() -> None:
    placed = [name for names in python_pages.grouped(list(python_pages.public_names())).values() for name in names]
    assert len(placed) == len(set(placed))
    assert set(neardup.__all__) - set(placed) == {"__version__"}
    assert {"find", "Index", "InputError", "spark.dedup"} <= set(placed)


def test_the_charts_have_their_tables(repository: Path) -> None:
    sections = (repository / sources.RESULTS).read_text(encoding="utf-8").split("\n## ")
    for chart in results.CHARTS:
        bars = results.bars_of(chart, results._section(chart, sections))
        assert len(bars) >= 2, chart.heading


def test_a_figure_has_the_values_of_its_table() -> None:
    rows = ["| program | MB/s |", "|---|---:|", "| neardup | 1,054.5 |", "| … of it | 3 |", "| <peer> | 210.9 (to 9) |"]
    text = "\n".join(["Heading", "", *rows, ""])
    chart = results.Chart("Heading", ("MB/s",), ("program",), only="^[^…]")
    drawn = results.figure(chart, text)
    assert re.findall(r"<dt>(.*)</dt>", drawn) == ["neardup", "&lt;peer&gt;"]
    assert re.findall(r'<dd class="(\w+)"><span style="width: ([\d.]+)%"></span>(.*)</dd>', drawn) == [
        ("own", "60.0", "1,054.5"),
        ("other", "12.0", "210.9"),
    ]


def test_a_chart_without_its_table_is_an_error() -> None:
    with pytest.raises(results.NoSuchTable, match="has the columns program, MB/s"):
        results.bars_of(
            results.Chart("Heading", ("MB/s",), ("program",)), "Heading\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
        )
    with pytest.raises(results.NoSuchTable, match="no heading 'Gone'"):
        results._section(results.Chart("Gone", ("MB/s",), ("program",)), ["Heading\n"])


def site_of(folder: Path, **pages: str) -> Path:
    """A built site with these pages: ``name__inner`` is name/inner.html, and each text is that of an article."""
    for name, text in pages.items():
        path = folder / f"{name.replace('__', '/')}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<html><body><article>{text}</article></body></html>", encoding="utf-8")
    return folder


def test_nothing_is_wrong_with_pages_that_lead_to_each_other(tmp_path: Path) -> None:
    made = site_of(
        tmp_path, index='<a href="a/b.html#x">b</a> <a href="https://example.org">away</a>',
        a__b='<p id="x"><a href="../c.html">c</a><img src="../p.png"></p>', c='<a href="#">top</a>',
    )  # fmt: skip
    (tmp_path / "p.png").write_bytes(b"")
    assert checking.faults_of(made) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('<a href="gone.html">', "leads to no file"),
        ('<a href="index.html#gone">', "leads to no place"),
        ('<a href="#gone">', "leads to no place"),
        ('<script src="https://cdn.example/x.js"></script>', "asks the network"),
        ('<link rel="stylesheet" href="//fonts.example/x.css">', "asks the network"),
        ('<img src="http://example.org/x.png">', "asks the network"),
        ('<img src="gone.png">', "is not there"),
        ('<p style="background: url(https://example.org/x.png)">', "asks the network"),
    ],
)
def test_a_fault_of_a_page_is_found(text: str, fault: str, tmp_path: Path) -> None:
    (found,) = checking.faults_of(site_of(tmp_path, index=text))
    assert fault in found


def test_a_font_from_elsewhere_is_found_in_a_style(tmp_path: Path) -> None:
    (site_of(tmp_path, index="") / "s.css").write_text('@import "https://fonts.example/css"; a { top: 0 }')
    assert checking.faults_of(tmp_path) == ["s.css: loads https://fonts.example/css, which asks the network"]


def test_a_page_three_clicks_away_is_found_though_the_navigation_has_it(tmp_path: Path) -> None:
    made = site_of(
        tmp_path, index='<a href="a.html">a</a></article><a href="c.html">c</a><article>',
        a='<a href="b.html">b</a>', b='<a href="c.html">c</a>', c="",
    )  # fmt: skip
    assert checking.faults_of(made) == ["c.html: more than 2 clicks from index.html"]


def test_each_version_lists_all_as_seen_from_itself(tmp_path: Path) -> None:
    names = ["", "v1"]
    for name in names:
        (tmp_path / name).mkdir(exist_ok=True)
        site.write_versions(tmp_path / name, names, name)
    listed = [
        json.loads((tmp_path / name / site.VERSIONS).read_text().partition("= ")[2].rstrip(";\n")) for name in names
    ]
    assert [[one["path"] for one in version] for version in listed] == [["", "v1/"], ["../", ""]]
    assert [[one["current"] for one in version] for version in listed] == [[True, False], [False, True]]


def test_a_folder_with_other_files_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(site.SiteError, match="Name another folder"):
        site.make_room(tmp_path)
    assert (tmp_path / "thesis.txt").exists()
