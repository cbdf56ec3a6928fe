"""What was looked for, in words for a person: how long a passage is, where it stands, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neardup.shown import counted, megabytes, percent, shown

KINDS = (("min_bytes", "byte"), ("min_words", "word"), ("min_chars", "character"))


def shortest(summary: Mapping[str, Any]) -> str:
    """The length of the shortest passage; of units the shortest run, and what a unit must be."""
    plain = summary["normalize"] == "none"
    given = [counted(summary[name], kind) for name, kind in KINDS if summary[name] is not None]
    if summary["unit"] is None:
        return given[0] if plain else f"{given[0]} of normalised text"
    runs = counted(summary["span"], summary["unit"] if plain else f"normalised {summary['unit']}")
    if summary["threshold"] is not None:
        given.append(f"similarity {summary['threshold']:g}")
    return f"{runs} ({', '.join(given)} at least)" if given else runs


def wanted(summary: Mapping[str, Any]) -> str:
    """Which passages were looked for: of what length, at how many places and in how many documents."""
    told = f"of {shortest(summary)}"
    if summary["threshold"] is None:
        told += " or more"
    if (count := summary["min_count"]) is not None:
        told += f" at {count:,} or more places"
    if (documents := summary["min_docs"]) is not None:
        told += f" in {documents:,} or more documents"
    if (share := summary["min_share"]) is not None:
        told += f" in {100 * share:g} % or more of the documents{' of its group' if summary['groups'] else ''}"
    return told


def where(summary: Mapping[str, Any]) -> str:
    """Where all stands that was found."""
    if summary["against"] is not None:
        return "stands in the other collection"
    if summary["threshold"] is not None:
        return "is in units with a near-duplicate"
    return f"stands at two or more places{'' if summary['groups'] is None else ' of its group'}"


def selection_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the inputs were held against, what was ignored, and by what groups."""
    rows = []
    if (other := summary["against"]) is not None:
        rows.append(("against", f"{counted(other['documents'], 'document')} ({megabytes(other['bytes'])})"))
    if (ignored := summary["ignored"]) is not None:
        told = f"{percent(ignored['bytes'], summary['bytes'])} of the text, which stands in a template"
        if ignored["too_short"]:
            told += f"; {ignored['too_short']:,} of its {ignored['passages']:,} passages are too short to be looked for"
        rows.append(("ignored", told))
    if (groups := summary["groups"]) is not None:
        told = f"{counted(groups['count'], 'group')} by {shown(summary['group_by'])}"
        if groups["untold"]:
            told += f"; {counted(groups['untold'], 'document')} without one, each by itself"
        rows.append(("groups", told))
    return rows


def change_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What passages may differ in; nothing where they are equal."""
    if summary["gaps"] is None:
        return []
    how = f"gaps of up to {summary['gaps']:,} between equal stretches of {summary['min_match']:,} or more"
    return [("changes", f"{how}, similarity of {summary['min_similarity']:g} or more")]


def cut_how(policy: str, snap: str, unit: str | None) -> str:
    """By what policy something is cut, and to what cuts are moved."""
    whole = unit if snap == "unit" else snap
    return f"by the policy {policy}" + ("" if whole == "char" else f", to whole {whole}s")
