"""Templates, styles and scripts put together to pages, and JSON that is safe inside them.

Styles and scripts stand inside the page and are named by their hashes in its policy: nothing else runs, nothing is
fetched but the report's own data, and a browser that opens the page from disk has no say in what a file's origin is.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from neardup._version import __version__
from neardup.pages.assets import PAIR_SCRIPTS, PAIR_STYLES, SIDES_SCRIPTS, scripts, styles
from neardup.pages.fragments import seen_line
from neardup.shown import megabytes, percent

CHUNKS = "<!--chunks-->"
"""Where the data of a single file goes. No text can hold it: ``<`` is escaped in markup and in JSON."""

_STYLES = (*PAIR_STYLES, "views", "repeats")
_SCRIPTS = (
    *PAIR_SCRIPTS,
    *("data", "parts", "list", "download", "pairs", "charts", "summary", "histogram", "tables", "graph", "matrix"),
    *("cluster", "sources", "verdicts", "people", "repeats", "losses", "routes"),
)
_PASSAGES_SCRIPTS = ("dom", "text", "pane", "data", "parts", "list", "download", "repeats", "losses", "routes")

_ESCAPES = {char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_FAULTS = 200
_LONG_PATH = 32
"""Characters of a path from which on its end stands for it."""


def json_bytes(value: object) -> bytes:
    """A value as JSON in UTF-8 that may stand inside a script element: no ``<``, ``>``, ``&`` and no line separators.

    Half of a surrogate pair, which UTF-8 cannot say, is escaped as JSON allows.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for char, escaped in _ESCAPES.items():
        text = text.replace(char, escaped)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8")


def report_page(meta: Mapping[str, Any]) -> bytes:
    """``index.html`` of a report, with ``CHUNKS`` where a single file has its data."""
    return _page("report.html", _STYLES, _SCRIPTS, meta=meta, spec=_spec(meta), **_faults(meta))


def passages_page(meta: Mapping[str, Any]) -> bytes:
    """``index.html`` of a page of repeated passages, with ``CHUNKS`` as that of a report."""
    return _page("passages.html", _STYLES, _PASSAGES_SCRIPTS, meta=meta, **_faults(meta))


def _faults(meta: Mapping[str, Any]) -> dict[str, Any]:
    faults = list(meta["faults"][:_MOST_FAULTS])
    return {"faults": faults, "more_faults": int(meta["faults_left_out"]) + len(meta["faults"]) - len(faults)}


def pair_page(meta: Mapping[str, Any], page: Mapping[str, Any]) -> bytes:
    """The pair view alone, with its texts."""
    spec = _spec(meta)
    return _page("pair.html", PAIR_STYLES, (*PAIR_SCRIPTS, "compare"), meta=meta, spec=spec, page=page)


def asking_page() -> bytes:
    """The page on which pairs are judged; it asks the server that it comes from for them, and for nothing else."""
    scripts_, styles_ = (*SIDES_SCRIPTS, "tune"), (*PAIR_STYLES, "tune")
    return _page("tune.html", styles_, scripts_, connect="connect-src 'self'; ", meta={"title": "neardup tune"})


def _page(
    template: str, style_names: Sequence[str], script_names: Sequence[str], *, connect: str = "", **values: Any
) -> bytes:
    # A line break of its own before and behind, as the template has: the hash is of all that the element holds.
    style, script = "\n" + styles(style_names), "\n" + scripts(script_names)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' 'strict-dynamic'; style-src '{_hash(style)}'; "
        f"img-src data:; {connect}base-uri 'none'; form-action 'none'"
    )
    made = _environment().get_template(template)
    text = made.render(
        policy=policy, style=Markup(style), script=Markup(script), generator=f"neardup {__version__}", **values
    )
    return text.encode("utf-8", "replace")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("neardup.pages.site", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        counted="{:,}".format,
        cut=_cut,
        exact="{:.10g}".format,  # a threshold as it was given
        brief=lambda name: Markup(seen_line(_end_of_path(name))),  # as the scripts tell it
        thousandths=lambda value: f"{value / 10:.1f}%",
        of=_of,
        bytes=megabytes,
        share=lambda value: f"{float(_cut(value)) * 100:.1f}%",
        seen=lambda text: Markup(seen_line(text)),
        data=lambda value: Markup(json_bytes(value).decode("utf-8")),
    )
    return made


def _cut(value: float, digits: int = 3) -> str:
    """A similarity or a probability, cut: what is less than 1 never reads 1. The first digit may lie just below it."""
    scale = 10**digits
    kept = math.floor(value * scale + 1e-9)
    return f"{(min(kept, scale - 1) if value < 1 else kept) / scale:.{digits}f}"


def _of(part: int, whole: int) -> str:
    """A share of something counted, rounded as the summary of the command tells it."""
    return percent(part, whole).replace(" %", "%")


def _spec(meta: Mapping[str, Any]) -> dict[str, str]:
    """The spec as text, without its own id and version, which stand elsewhere."""
    return {name: _told(value) for name, value in meta["spec"].items() if name not in ("id", "version")}


def _told(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _cut(value, 6).rstrip("0").rstrip(".")
    return str(value)


def _end_of_path(name: str) -> str:
    """The host of an address, if there is one, and as many last parts of a path as ``_LONG_PATH`` characters take."""
    if len(name) <= _LONG_PATH:
        return name
    scheme = re.match(r"[a-z][a-z0-9+.-]*://", name, re.IGNORECASE)
    path = re.sub(r"[/\\]+$", "", name[scheme.end() if scheme else 0 :])
    if len(path) <= _LONG_PATH:
        return path or name
    host = path[: path.find("/") + 1] if scheme else ""
    starts = [found.end() for found in re.finditer(r"[/\\]", path) if found.end() > len(host)]
    if not starts:
        return path
    start = next((start for start in starts if len(host) + len(path) - start <= _LONG_PATH), starts[-1])
    return f"{host}…{path[start - 1 :]}"
