"""What ``neardup passages`` says when it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neardup.cli.summary import below_label, closing, labelled, left_out_of, listed_faults, preset_rows
from neardup.shown import counted, megabytes, percent, shown
from neardup.tasks.repeats.phrases import KINDS, change_rows, cut_how, selection_rows, shortest, wanted, where

WARNING = "WARNING"
"""How the line begins that says that nothing was found."""
SHOWN = 5
"""Passages and documents that are told; groups are all told that the summary has."""


def passage_lines(summary: Mapping[str, Any], *, faults: Sequence[object]) -> list[str]:
    """Return the summary for a person, one line for each item."""
    size, repeated, later = summary["bytes"], summary["repeated_bytes"], summary["later_bytes"]
    short = summary["too_short"]
    least = shortest(summary)
    documents = f"{summary['documents']:,} ({megabytes(size)})"
    rows = [
        ("documents", f"{documents}, {short:,} too short for a passage of {least}" if short else documents),
        *left_out_of(summary),
        *change_rows(summary),
        *selection_rows(summary),
    ]
    if summary["spans"]:
        share = f"{percent(repeated, size)} of the text {where(summary)}"
        spans = counted(summary["spans"], "span")
        if summary["against"] is None:
            rows += [
                ("repeated", f"{share}, {percent(later, size)} stood before"),
                ("passages", f"{counted(summary['passages'], 'passage')} {wanted(summary)}, in {spans}"),
            ]
        else:
            documents = f"in {summary['documents_with_spans']:,} of {counted(summary['documents'], 'document')}"
            rows += [("found", f"{share}, {documents}"), ("spans", f"{spans} {wanted(summary)}")]
        heaviest = (f"{_weight(each)}  {shown(each['opening'])}" for each in summary["top_passages"][:SHOWN])
        losers = (f"{shown(each['id'])}  {_part(each, 'cut_bytes')}" for each in summary["most_repeated"][:SHOWN])
        groups = (
            f"{'(none)' if each['group'] is None else shown(each['group'])}  {_part(each, 'repeated_bytes')},"
            f" {counted(each['documents'], 'document')}"
            for each in summary["top_groups"] or ()
        )
        rows += below_label("most weight", heaviest) + below_label("lose most", losers) + below_label("most in", groups)
        if summary["cut"] is not None:
            rows += cut_rows(summary["cut"], size, summary["unit"])
        if summary["second_pass"] is not None:
            rows.append(("second pass", _still_repeated(summary["second_pass"], summary)))
    else:
        stands = "stands at two places" if summary["against"] is None else "stands in the other collection"
        rows.append((WARNING, f"no passage {wanted(summary)} {stands}. {_cure(summary)}"))
    rows += preset_rows(summary["preset"])
    return labelled(rows) + listed_faults(summary["bad"], faults)


def step_rows(passages: Mapping[str, Any], *, is_spared: bool) -> list[tuple[str, str]]:
    """What a clean-up says of the passages that it cut, or, where it spares all, would cut."""
    size, found = passages["bytes"], counted(passages["passages"], "passage")
    where = (
        "the documents before these are compared" if passages["cut"]["policy"] == "none" else "the documents that stay"
    )
    share = f"{percent(passages['later_bytes'], size)} of their text stood before"
    rows = [("passages", f"{found} of {shortest(passages)} or more in {where}, {share}")]
    cuts = cut_rows(passages["cut"], size, None)
    return rows + ([("cut", f"none; would be cut: {cuts[0][1]}"), *cuts[1:]] if is_spared else cuts)


def _part(each: Mapping[str, Any], name: str) -> str:
    """Return how many of the bytes of a document or a group a field of it counts."""
    return f"{each[name]:,} of {each['bytes']:,} bytes ({percent(each[name], each['bytes'])})"


def _cure(summary: Mapping[str, Any]) -> str:
    length = "length" if summary["unit"] is None else "--span"
    if summary["too_short"] == summary["documents"] and summary["span"] != 1:
        return f"All documents are shorter than that: give a smaller {length}, or look at what --text reads."
    names: tuple[str, ...] = ("min_count", "min_docs", "min_share")
    if summary["unit"] is not None:
        names = (*(name for name, _ in KINDS), *names)
    smaller = [] if summary["span"] == 1 else [length]
    smaller += [f"--{name.replace('_', '-')}" for name in names if summary[name] is not None]
    cure = f"give a smaller {' or '.join(smaller)}, or look" if smaller else "look"
    return f"If you expected some, {cure} at what --text reads."


def _weight(passage: Mapping[str, Any]) -> str:
    """Places and their bytes together, since places may have a part of a passage; of a span its own bytes."""
    if passage["bytes_in_all"] is None:
        return f"{passage['count']:,} x {passage['bytes']:,} bytes"
    return f"{counted(passage['count'], 'place')}, {passage['bytes_in_all']:,} bytes"


def cut_rows(cut: Mapping[str, Any], size: int, unit: str | None) -> list[tuple[str, str]]:
    """What was cut of texts of ``size`` bytes, whole ones of a ``unit`` if it is not None; which documents went."""
    out_of = f"out of {counted(cut['documents'], 'document')}, {cut_how(cut['policy'], cut['snap'], unit)}"
    rows = [("cut", f"{percent(cut['bytes'], size)} of the text, {out_of}")]
    few = cut["min_left"] or 1
    least = "nothing was left" if few == 1 else f"fewer than {counted(few, 'character')} were left"
    for kind, why in (("left out", least), ("left whole", "nothing would be left")):
        name = kind.replace(" ", "_")
        if count := cut[name]:
            ids = ", ".join(map(shown, cut[f"{name}_ids"])) + (", …" if count > len(cut[f"{name}_ids"]) else "")
            cure = ". Give --min-left 1 to leave such documents out" if name == "left_whole" else ""
            rows.append((kind, f"{counted(count, 'document')} of which {why}: {ids}{cure}"))
    return rows


def _still_repeated(found: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    if not found["spans"]:
        if summary["against"] is not None:
            return "nothing of the copies stands in the other collection any more"
        return "nothing repeats in the copies any more"
    share = f"{percent(found['repeated_bytes'], found['bytes'])} of the copies still {where(summary)}"
    before = "" if summary["against"] is not None else f", {percent(found['later_bytes'], found['bytes'])} stood before"
    return f"{share}{before}: {counted(found['spans'], 'span')}"


def passage_closing(summary: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return the last line on stderr."""
    found = counted(summary["passages"], "passage" if summary["against"] is None else "span")
    return closing(found, files, summary["seconds"])
