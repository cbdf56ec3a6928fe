"""The pages of the Python names: one for each kind of them, and one that lists them all.

Sphinx reads the docstrings themselves; docs/reference/api.md, which GitHub shows, is the same on one page.
"""

from __future__ import annotations

import inspect
from pathlib import Path

from mdit_py_plugins.anchors.index import slugify

import neardup
import neardup.spark

FUNCTIONS = "Functions"
GROUPS = {
    FUNCTIONS: None,  # whatever can be called and is no class
    "Spark": (
        "spark.find", "spark.dedup", "spark.passages", "spark.ClusterResult", "spark.ClusterCleaned",
        "spark.ClusterPassages",
    ),
    "The index": (
        "Index", "IndexBatch", "IndexInfo", "IndexStatistics", "IndexPage", "Added", "Admission", "Hit", "ContainedHit",
        "Stored", "ListedDocument", "Streamed",
    ),
    "Settings": ("Spec", "Shingle", "Normalize", "Bands", "Keep", "Preset", "Hint"),
    "Errors": None,  # whatever is an exception
    "Results": None,  # all others
}  # fmt: skip
"""The sections of the list in order, with the names of those that nothing tells from others."""


def write_pages(folder: Path) -> None:
    """Write ``api.md``, the list, and ``python/SECTION.md`` into the folder of the reference."""
    named = public_names()
    (folder / "python").mkdir(parents=True)
    first = inspect.cleandoc(neardup.__doc__ or "").partition("\n")[0]
    parts = ["# Python", first, "Each name with what it is for; its page has arguments, results and errors."]
    for title, names in grouped(list(named)).items():
        page = f"python/{slugify(title)}"
        rows = [f"| [`{name}`]({page}.md#{slugify(f'neardup.{name}')}) | {_summary(named[name])} |" for name in names]
        parts += [f"## {title}", "\n".join(["| name | |", "| --- | --- |", *rows])]
        entries = [f"# {title}", *(entry(name, named[name]) for name in names)]
        (folder / f"{page}.md").write_text("\n\n".join(entries), encoding="utf-8")
    tree = ["```{toctree}", ":hidden:", "", *(f"{title} <python/{slugify(title)}>" for title in GROUPS), "```"]
    (folder / "api.md").write_text("\n\n".join([*parts, "\n".join(tree)]) + "\n", encoding="utf-8")


def public_names() -> dict[str, object]:
    """Every public name, as it is written behind ``neardup.``, and what it is."""
    own = {name: getattr(neardup, name) for name in neardup.__all__ if name != "__version__"}
    return {**own, **{f"spark.{name}": getattr(neardup.spark, name) for name in neardup.spark.__all__}}


def grouped(names: list[str]) -> dict[str, list[str]]:
    """The names by section, each in exactly one."""
    named = public_names()
    placed = {name for chosen in GROUPS.values() for name in chosen or ()}
    rest = [name for name in names if name not in placed]
    errors = [name for name in rest if inspect.isclass(named[name]) and issubclass(named[name], Exception)]
    functions = [name for name in rest if inspect.isfunction(named[name])]
    found = {FUNCTIONS: functions, "Errors": errors, "Results": [n for n in rest if n not in {*errors, *functions}]}
    return {title: list(chosen) if chosen is not None else found[title] for title, chosen in GROUPS.items()}


def entry(name: str, thing: object) -> str:
    """What the page of a section has of a name: a heading, and a directive that reads its docstring."""
    if not inspect.isclass(thing):
        lines = [f".. autofunction:: neardup.{name}"]
    elif issubclass(thing, Exception):
        lines = [f".. autoexception:: neardup.{name}", "   :show-inheritance:"]
    else:
        lines = [f".. autoclass:: neardup.{name}", "   :members:", "   :undoc-members:", "   :inherited-members: tuple"]
    return "\n".join([f"## neardup.{name}", "", "```{eval-rst}", *lines, "```", ""])


def _summary(thing: object) -> str:
    first = inspect.cleandoc(inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(first.split()).replace("``", "`").replace("|", "\\|")
