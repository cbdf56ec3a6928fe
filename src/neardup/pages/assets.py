"""Scripts and styles of pages, put together from the files in ``site/assets``.

The report puts them inside its pages; the service, which has no templates and no jinja2, sends them beside its own.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Iterable

from neardup.shown import NAMES, UNSEEN

SIDES_STYLES = ("base", "common", "texts", "sides")
SIDES_SCRIPTS = ("dom", "text", "pane", "together", "differ", "sides")
"""What shows two texts side by side, wherever that is: in a report, a comparison, the service, the page of ``tune``."""
PAIR_STYLES = (*SIDES_STYLES, "pair")
PAIR_SCRIPTS = (*SIDES_SCRIPTS, "template", "passages", "pair")
"""And what makes the page of a pair of it."""


def scripts(names: Iterable[str]) -> str:
    """JavaScript files in their order, behind the table of unseen characters; each adds to ``window.neardup``."""
    unseen = {"ranges": UNSEEN, "names": NAMES}
    table = f"window.neardup = {{ unseen: {json.dumps(unseen, separators=(',', ':'))} }};\n"
    return table + _joined(names, "js")


def styles(names: Iterable[str]) -> str:
    """CSS files in their order."""
    return _joined(names, "css")


def _joined(names: Iterable[str], kind: str) -> str:
    folder = importlib.resources.files(__package__).joinpath("site", "assets")
    return "\n".join(folder.joinpath(f"{name}.{kind}").read_text("utf-8") for name in names)
