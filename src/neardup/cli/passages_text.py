"""What ``neardup passages`` says when it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neardup.cli.summary import labelled, left_out, listed_faults
from neardup.inputs.columns import ReadColumns
from neardup.inputs.passed import PassedOver
from neardup.shown import counted, duration, megabytes, percent, shown

WARNING = "WARNING"
"""How the line begins that says that nothing was found."""
SHOWN = 5
"""Passages and documents that are told."""


def passage_lines(summary: Mapping[str, Any], *, faults: Sequence[object]) -> list[str]:
    """The summary for a person, a line an item."""
    size, repeated, later = summary["bytes"], summary["repeated_bytes"], summary["later_bytes"]
    short = summary["too_short"]
    least = _least(summary)
    documents = f"{summary['documents']:,} ({megabytes(size)})"
    rows = [
        ("documents", f"{documents}, {short:,} too short for a passage of {least}" if short else documents),
        *left_out(
            *(summary["bad"], summary["blank"], [PassedOver(**each) for each in summary["passed_over"]]),
            [ReadColumns(**each) for each in summary["columns"]],
        ),
    ]
    rows += _change_rows(summary)
    if summary["spans"]:
        share = f"{percent(repeated, size)} of the text stands at two or more places"
        rows += [
            ("repeated", f"{share}, {percent(later, size)} stood before"),
            (
                "passages",
                f"{counted(summary['passages'], 'passage')} of {least} or more, in {summary['spans']:,} spans",
            ),
            *_passage_rows(summary["top_passages"]),
            *_loser_rows(summary["most_repeated"]),
        ]
        if summary["cut"] is not None:
            rows += _cut_rows(summary["cut"], size)
    else:
        rows.append((WARNING, f"no passage of {least} or more stands at two places. {_cure(summary)}"))
    return labelled(rows) + listed_faults(summary["bad"], faults)


def _least(summary: Mapping[str, Any]) -> str:
    """The length of the shortest passage."""
    kinds = (("min_bytes", "byte"), ("min_words", "word"), ("min_chars", "character"))
    length = next(counted(summary[name], unit) for name, unit in kinds if summary[name] is not None)
    return length if summary["normalize"] == "none" else f"{length} of normalised text"


def _change_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What passages may differ in; nothing where they are equal."""
    if summary["gaps"] is None:
        return []
    how = f"gaps of up to {summary['gaps']:,} between equal stretches of {summary['min_match']:,} or more"
    return [("changes", f"{how}, similarity of {summary['min_similarity']:g} or more")]


def _cure(summary: Mapping[str, Any]) -> str:
    if summary["too_short"] == summary["documents"]:
        return "All documents are shorter than that: give a smaller length, or look at what --text reads."
    return "If you expected some, give a smaller length, or look at what --text reads."


def _passage_rows(passages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [
        ("" if i else "most weight", f"{each['count']:,} x {each['bytes']:,} bytes  {shown(each['opening'])}")
        for i, each in enumerate(passages[:SHOWN])
    ]


def _loser_rows(documents: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [
        (
            "" if i else "lose most",
            f"{shown(each['id'])}  {each['cut_bytes']:,} of {each['bytes']:,} bytes"
            f" ({percent(each['cut_bytes'], each['bytes'])})",
        )
        for i, each in enumerate(documents[:SHOWN])
    ]


def _cut_rows(cut: Mapping[str, Any], size: int) -> list[tuple[str, str]]:
    how = f"by the policy {cut['policy']}, to whole {cut['snap']}s" if cut["snap"] != "char" else cut["policy"]
    rows = [
        ("cut", f"{percent(cut['bytes'], size)} of the text, out of {counted(cut['documents'], 'document')}, {how}"),
    ]
    if cut["left_out"]:
        few = f"fewer than {counted(cut['min_left'], 'character')} were left"
        listed = ", ".join(shown(name) for name in cut["left_out_ids"])
        more = ", …" if cut["left_out"] > len(cut["left_out_ids"]) else ""
        rows.append(("left out", f"{counted(cut['left_out'], 'document')} of which {few}: {listed}{more}"))
    return rows


def passage_closing(summary: Mapping[str, Any], files: Sequence[str]) -> str:
    """The last line on stderr."""
    written = f"; {' and '.join(files)} written" if files else ""
    return f"neardup: {counted(summary['passages'], 'passage')} in {duration(summary['seconds'])}{written}"
