"""Pages of a report taken apart: what a person may read of one, and digests of the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from neardup import __version__

_PARTS = re.compile(r"(<style[^>]*>)(.*?)(</style>)|(<script[^>]*>)(.*?)(</script>)", re.DOTALL)
_HASHES = re.compile(r"sha256-[A-Za-z0-9+/]+=*")
_LONG_FLOAT = re.compile(r"\d+\.\d{9,}(e-?\d+)?")
_SECONDS = re.compile(r'("(?:\w+_)?seconds":)[\d.e-]+')
_DURATION = re.compile(r"\b(\d+ h \d\d min|\d+ min \d\d s|\d+(\.\d+)? s)(?![\w/])")
LONGEST = 100
"""Characters of a text that the outline of data shows."""


def _plain(text: str) -> str:
    text = _LONG_FLOAT.sub(lambda found: f"{float(found[0]):.9g}", text)
    text = _DURATION.sub("# s", _SECONDS.sub(r"\1#", text))
    return text.replace(f"neardup {__version__}", "neardup VERSION").replace(f'"{__version__}"', '"VERSION"')


def page_parts(html: str) -> Iterator[tuple[str, bytes]]:
    """The markup, the style and each script of a page, one by one: a digest of each says which of them changed."""
    yield "markup", markup(html).encode()
    for found in _PARTS.finditer(html):
        start = found[1] or found[4]
        body = found[2] if found[1] else found[5]
        yield start, _plain(body).encode()


def markup(html: str) -> str:
    """A page without its styles, scripts and data, and without their hashes."""
    bare = _PARTS.sub(lambda found: f"{found[1] or found[4]}…{found[3] or found[6]}", html)
    return _plain(_HASHES.sub("sha256-…", bare))


def data_of(html: str) -> list[Any]:
    """What the script elements of JSON hold."""
    found = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    return [json.loads(_SECONDS.sub(r'\1"#"', text)) for text in found]


def outline(value: Any, indent: str = "") -> Iterator[str]:
    """What data holds, a line a name; of lists the number of items and the first, long texts and lists are cut."""
    items = value.items() if isinstance(value, dict) else [("0", value[0])] if value else []
    for name, each in items:
        if isinstance(each, dict) or (isinstance(each, list) and each and isinstance(each[0], (dict, list))):
            yield f"{indent}{name}: {len(each)} {'names' if isinstance(each, dict) else 'items'}"
            yield from outline(each, indent + "  ")
        else:
            text = _plain(json.dumps(each, ensure_ascii=False))
            yield f"{indent}{name}: {text if len(text) <= LONGEST else text[:LONGEST] + '…'}"
