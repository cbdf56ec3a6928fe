"""A Comparison as the values that the pair view shows: the arguments of ``neardup.pages.site.write.write_pair``."""

from __future__ import annotations

from typing import Any

from neardup._version import __version__
from neardup.pages.pairs import LISTED, pair_data, text_data
from neardup.tasks.compare.model import Comparison

__all__ = ["PAGE_CHARACTERS", "pair_page"]

PAGE_CHARACTERS = 400_000
"""Characters of each text on a page, at most; of a longer one its windows."""


def pair_page(found: Comparison, names: tuple[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What ``write_pair`` is given: the facts, and the two texts with their passages.

    Args:
        found: the comparison.
        names: of the two documents.
    """
    size_a, size_b, common = found.sizes
    meta = {
        "title": " and ".join(_short(names)),
        "version": f"neardup {__version__}",
        "measure": "jaccard",
        "spec": found.spec.as_dict(),
        "spec_id": found.spec.id,
        "facts": [
            ["shingles", f"{size_a:,} and {size_b:,}, {common:,} in both ({found.spec.shingle})"],
            ["normalised by", str(found.spec.normalize)],
            ["bands that agree", f"{found.agreeing_bands:,} of {found.bands.bands:,}"],
            ["a search checks this pair", "yes" if found.found else "no"],
        ],
        "estimate": found.estimate,
        "estimate_error": found.estimate_error,
        "slots": found.spec.slots,
        "probability": found.probability,
        "bands": str(found.bands),
        "threshold": found.spec.threshold,
    }
    spans = found.passages.a[:LISTED], found.passages.b[:LISTED]
    page = {
        "members": [
            {"id": name, "characters": len(text), "text": place}
            for place, (name, text) in enumerate(zip(names, found.texts, strict=True))
        ],
        "texts": [text_data(text, marks, most=PAGE_CHARACTERS) for text, marks in zip(found.texts, spans, strict=True)],
        "pair": {
            "a": 0,
            "b": 1,
            **pair_data(found.passages, (len(found.texts[0]), len(found.texts[1])), measure="jaccard"),
        },
    }
    return meta, page


def _short(names: tuple[str, str]) -> tuple[str, str]:
    """The names of files without their folders, where that tells them apart."""
    first, second = (name.rstrip("/").rpartition("/")[2] for name in names)
    return (first, second) if first != second and first and second else names
