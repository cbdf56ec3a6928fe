"""What ``neardup passages`` says when it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neardup.cli.summary import labelled, left_out, listed_faults, preset_rows
from neardup.inputs.columns import ReadColumns
from neardup.inputs.passed import PassedOver
from neardup.shown import counted, duration, megabytes, percent, shown

WARNING = "WARNING"
"""How the line begins that says that nothing was found."""
_KINDS = (("min_bytes", "byte"), ("min_words", "word"), ("min_chars", "character"))
SHOWN = 5
"""Passages and documents that are told; groups are all told that the summary has."""


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
    rows += _change_rows(summary) + _selection_rows(summary)
    wanted = f"of {least} or more{_at_least(summary)}"
    if summary["spans"]:
        if summary["against"] is None:
            where = "stands at two or more places"
            if summary["threshold"] is not None:
                where, wanted = "is in units with a near-duplicate", f"of {least}"
            elif summary["groups"] is not None:
                where += " of its group"
            share = f"{percent(repeated, size)} of the text {where}"
            rows += [
                ("repeated", f"{share}, {percent(later, size)} stood before"),
                ("passages", f"{counted(summary['passages'], 'passage')} {wanted}, in {summary['spans']:,} spans"),
            ]
        else:
            documents = f"in {summary['documents_with_spans']:,} of {counted(summary['documents'], 'document')}"
            rows += [
                ("found", f"{percent(repeated, size)} of the text stands in the other collection, {documents}"),
                ("spans", f"{counted(summary['spans'], 'span')} {wanted}"),
            ]
        rows += [
            *_passage_rows(summary["top_passages"]),
            *_loser_rows(summary["most_repeated"]),
            *_group_rows(summary["top_groups"] or []),
        ]
        if summary["cut"] is not None:
            rows += cut_rows(summary["cut"], size)
        if summary["second_pass"] is not None:
            rows.append(("second pass", _still_repeated(summary["second_pass"])))
    else:
        stands = "stands at two places" if summary["against"] is None else "stands in the other collection"
        rows.append((WARNING, f"no passage {wanted} {stands}. {_cure(summary)}"))
    rows += preset_rows(summary["preset"])
    return labelled(rows) + listed_faults(summary["bad"], faults)


def step_rows(passages: Mapping[str, Any], *, is_spared: bool) -> list[tuple[str, str]]:
    """What a clean-up says of the passages that it cut, or, where it spares all, would cut."""
    size, found = passages["bytes"], counted(passages["passages"], "passage")
    told = f"{found} of {_least(passages)} or more in the documents that stay, {percent(passages['later_bytes'], size)}"
    rows = [("passages", f"{told} of their text stood before")]
    cuts = cut_rows(passages["cut"], size)
    return rows + ([("cut", f"none; would be cut: {cuts[0][1]}"), *cuts[1:]] if is_spared else cuts)


def _selection_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
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


def _at_least(summary: Mapping[str, Any]) -> str:
    """At how many places and in how many documents a passage is to stand, where that was given."""
    told = ""
    if (count := summary["min_count"]) is not None:
        told += f" at {count:,} or more places"
    if (documents := summary["min_docs"]) is not None:
        told += f" in {documents:,} or more documents"
    if (share := summary["min_share"]) is not None:
        told += f" in {100 * share:g} % or more of the documents{' of its group' if summary['groups'] else ''}"
    return told


def _group_rows(groups: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [
        (
            "" if i else "most in",
            f"{'(none)' if each['group'] is None else shown(each['group'])}  {each['repeated_bytes']:,} of"
            f" {each['bytes']:,} bytes ({percent(each['repeated_bytes'], each['bytes'])}),"
            f" {counted(each['documents'], 'document')}",
        )
        for i, each in enumerate(groups)
    ]


def _least(summary: Mapping[str, Any]) -> str:
    """The length of the shortest passage."""
    if summary["unit"] is not None:
        return _least_run(summary)
    length = next(counted(summary[name], unit) for name, unit in _KINDS if summary[name] is not None)
    return length if summary["normalize"] == "none" else f"{length} of normalised text"


def _least_run(summary: Mapping[str, Any]) -> str:
    """The shortest run of units."""
    unit = summary["unit"] if summary["normalize"] == "none" else f"normalised {summary['unit']}"
    runs = counted(summary["span"], unit)
    least = [counted(summary[name], kind) for name, kind in _KINDS if summary[name] is not None]
    if summary["threshold"] is not None:
        least.append(f"similarity {summary['threshold']:g}")
    return f"{runs} ({', '.join(least)} at least)" if least else runs


def _change_rows(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What passages may differ in; nothing where they are equal."""
    if summary["gaps"] is None:
        return []
    how = f"gaps of up to {summary['gaps']:,} between equal stretches of {summary['min_match']:,} or more"
    return [("changes", f"{how}, similarity of {summary['min_similarity']:g} or more")]


def _cure(summary: Mapping[str, Any]) -> str:
    if summary["unit"] is not None:
        return f"If you expected some, give fewer {summary['unit']}s with --span, or look at what --text reads."
    if summary["too_short"] == summary["documents"]:
        return "All documents are shorter than that: give a smaller length, or look at what --text reads."
    smaller = ["length", *(name for name in ("min_count", "min_docs", "min_share") if summary[name] is not None)]
    numbers = " or ".join(f"--{name.replace('_', '-')}" if "_" in name else name for name in smaller)
    return f"If you expected some, give a smaller {numbers}, or look at what --text reads."


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


def cut_rows(cut: Mapping[str, Any], size: int) -> list[tuple[str, str]]:
    """What was cut of texts of ``size`` bytes, and which documents were left out."""
    how = f"by the policy {cut['policy']}"
    if cut["snap"] not in ("char", "unit"):
        how += f", to whole {cut['snap']}s"
    rows = [
        ("cut", f"{percent(cut['bytes'], size)} of the text, out of {counted(cut['documents'], 'document')}, {how}"),
    ]
    if cut["left_out"]:
        few = f"fewer than {counted(cut['min_left'], 'character')} were left"
        listed = ", ".join(shown(name) for name in cut["left_out_ids"])
        more = ", …" if cut["left_out"] > len(cut["left_out_ids"]) else ""
        rows.append(("left out", f"{counted(cut['left_out'], 'document')} of which {few}: {listed}{more}"))
    return rows


def _still_repeated(found: Mapping[str, Any]) -> str:
    if not found["spans"]:
        return "nothing repeats in the copies any more"
    share = f"{percent(found['repeated_bytes'], found['bytes'])} of the copies still stands at two or more places"
    return f"{share}, {percent(found['later_bytes'], found['bytes'])} stood before: {found['spans']:,} spans"


def passage_closing(summary: Mapping[str, Any], files: Sequence[str]) -> str:
    """The last line on stderr."""
    written = f"; {' and '.join(files)} written" if files else ""
    found = counted(summary["passages"], "passage" if summary["against"] is None else "span")
    return f"neardup: {found} in {duration(summary['seconds'])}{written}"
