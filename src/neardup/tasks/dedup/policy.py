"""Which document of a cluster is kept, as the user says it: the policy, what it asks of inputs, protected inputs."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neardup.errors import InputError
from neardup.inputs.reader import Reader, open_inputs
from neardup.params import InputOptions, Keep

__all__ = ["Policy", "check_policy", "is_source", "open_protected"]


@dataclass(frozen=True, slots=True)
class Policy:
    """Which document of a cluster is kept."""

    keep: Keep
    prefer: tuple[str, ...] = ()
    """Sources whose documents are kept rather than others, the first first: a file, a folder, or a pattern."""
    protected: frozenset[str] = frozenset()
    """Names of sources none of whose documents goes."""

    def facts(self) -> dict[str, Any]:
        """What a later run must be told alike to go on, as JSON values."""
        return {"keep": str(self.keep), "prefer": list(self.prefer), "protected": sorted(self.protected)}


def open_protected(inputs: Any, protect: Any, options: InputOptions, *, item: bool) -> tuple[Reader, frozenset[str]]:
    """Open inputs, with those that are protected behind them, or among them.

    Args:
        inputs: as for ``open_inputs``.
        protect: the same; None: nothing. A file that is among the inputs too is read once.
        options: how both are read.
        item: documents are sets of items.

    Returns:
        One reader, and the names of its sources that are protected.

    Raises:
        InputError: something cannot be read, or text files of a folder are protected in part.
    """
    reader = open_inputs(inputs, options, item=item, again=True)
    if protect is None or (isinstance(protect, Sequence) and not isinstance(protect, str) and not len(protect)):
        return reader, frozenset()
    other = open_inputs(protect, options, item=item, name="protect", limit=reader.options.limit)
    protected: set[str] = set()
    more = []
    for part, shared in reader.shared_with(other):
        twice = {id(source): source for _, source in shared}
        if not twice:
            more.append(part)
            protected.add(part.name)
            continue
        (first, *others) = twice.values()
        if others or len(first.paths or []) != len(part.paths or []):
            raise InputError(
                f"{os.path.realpath(shared[0][0])} is both an input and protected, and other files beside it are only "
                "one of the two. Give separate folders."
            )
        protected.add(first.name)
    return reader.joined(more, other.passed_over), frozenset(protected)


def check_policy(reader: Reader, policy: Policy) -> None:
    """Say before a long run whether the inputs have what the policy asks for.

    Raises:
        InputError: no input is a source that is to be preferred, or one lacks the column that decides.
    """
    paths = [path for part in reader.parts for path in (part.paths or [part.name])]
    for source in policy.prefer:
        if not any(is_source(path, source) for path in paths):
            raise InputError(
                f"no input is {source!r}, which is to be preferred. Inputs are {', '.join(paths[:5])}; name one, "
                "a folder, or a pattern."
            )
    if policy.keep.column is not None:
        from neardup.tasks.dedup.deciding_column import check_column

        check_column(reader, policy.keep.column, without=policy.protected)


def is_source(path: str, source: str) -> bool:
    """Whether a file is a source: by its name, by a folder that it is in, or by a pattern."""
    mine, other = os.path.abspath(path), os.path.abspath(source)
    return path == source or mine == other or mine.startswith(other + os.sep) or fnmatch.fnmatch(path, source)
