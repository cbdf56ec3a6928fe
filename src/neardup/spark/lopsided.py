"""What all tasks may wait for: files that cannot be cut, and are much larger than what a task should have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neardup.inputs.formats import stored_codec
from neardup.inputs.source import Source
from neardup.inputs.splits import Split
from neardup.shown import counted, megabytes, shown_path

TOO_MUCH = 2
"""How many times larger than it should be a task must be to be told of."""
_NAMED = 3


def uncut_notes(sources: Sequence[Source], splits: Sequence[Split], most: int) -> Iterator[str]:
    """One sentence for the user, where tasks have far more than ``most`` bytes to read."""
    large = [split for split in splits if split.nbytes > TOO_MUCH * most]
    if not large:
        return
    large.sort(key=lambda split: -split.nbytes)
    told = [
        f"{shown_path(sources[split.place].name)} ({megabytes(split.nbytes)}, {_why(sources[split.place])})"
        for split in large[:_NAMED]
    ]
    more = f" and {counted(len(large) - _NAMED, 'other')}" if len(large) > _NAMED else ""
    yield (
        f"one task each reads what cannot be cut: {', '.join(told)}{more}. All others may have to wait for it. Give "
        "several files, plain JSONL, or Parquet in row groups of about 64 MB, to have it shared out."
    )


def _why(source: Source) -> str:
    """Why a source, or a piece of it, is in one piece."""
    if stored_codec(source.name) is not None:
        return "compressed"
    if source.format == "parquet":
        return "one row group"
    if source.format == "arrow":
        return "one batch, or a stream"
    if source.format in ("jsonl", "lines"):
        return "not in UTF-8"
    return f"a file of format {source.format}"
