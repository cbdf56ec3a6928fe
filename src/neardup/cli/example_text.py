"""Examples of removed documents beside those kept for them, for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neardup.cli.pair_table import one_line
from neardup.cli.summary import LABEL_WIDTH
from neardup.shown import shown, similarity_text

WIDTH = 100
"""Columns where stderr is no terminal."""


def example_lines(examples: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], *, width: int | None) -> list[str]:
    """Lines for some rows of ``Cleaning.examples`` and the summary of their run; a text has one line."""
    gap = " " * LABEL_WIDTH
    if not examples:
        return [f"{'examples':<{LABEL_WIDTH}}none: no document is removed", ""]
    would = "would be" if summary["dry_run"] or summary["annotated"] else "were"
    share = f"{len(examples):,} of {summary['removed']:,} that {would} removed"
    lines = [f"{'examples':<{LABEL_WIDTH}}{share}", ""]
    for each in examples:
        removed, kept = (one_line(shown(each[name]), (width or WIDTH) - len(gap)) for name in ("text", "keeper_text"))
        is_same = each["text"] == each["keeper_text"]
        reason = f", by the rule {shown(each['rule'])}{', the same text' if is_same else ''}"
        lines += [
            f"{similarity_text(each['similarity'], summary['threshold']):<{LABEL_WIDTH}}removed  {shown(each['id'])}",
            *([] if is_same else [gap + removed]),
            f"{gap}kept     {shown(each['keeper'])}{reason}",
            gap + kept,
            "",
        ]
    return lines
