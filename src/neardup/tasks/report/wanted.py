"""What is asked of a report beside its search: one form for Python and the command line, checked when it is made."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

from neardup.engine.reading.template import Template, passages_of
from neardup.errors import InputError
from neardup.params import (
    CLEANING,
    DEFAULT_CROWD,
    PURPOSES,
    Options,
    SearchOptions,
    Spec,
    check_choice,
    parse_memory,
)
from neardup.params.checks import check_whole
from neardup.tasks.grouping import GroupBy
from neardup.tasks.repeats.selection import as_paths, read_template
from neardup.tasks.report.origins import check_pattern

DEFAULT_SIZE, SINGLE_SIZE = 200_000_000, 20_000_000
"""Limit of the bytes of a report, as a folder and as one file, which a browser reads as a whole."""
LEAST_SIZE = 2_000_000
LEAST_PASSAGE, MOST_PASSAGE = 16, 1 << 16
"""Bytes of the shortest repeated passage that may be asked for, as ``neardup.passages`` has them."""


@dataclass(frozen=True, slots=True)
class Wanted(Options):
    """Options of ``report``, which says what each means."""

    title: str | None = None
    single_file: bool = False
    sources: str | None = None
    audit: int | None = None
    size: int | str | None = None
    purpose: str = CLEANING
    ignore: Any = ()
    originals: Any = None
    against: Any = None
    group_by: str | None = None
    pseudonyms: str | os.PathLike[str] | None = None
    verdicts: Any = ()
    passages: int | None = None

    def __post_init__(self) -> None:
        check_choice(self.purpose, PURPOSES, "purpose")
        check_size(self.size, single_file=self.single_file)
        check_pattern(self.sources)
        GroupBy.parse(self.group_by)
        _check_passages(self.passages, is_hidden=self.pseudonyms is not None)
        for name in ("ignore", "verdicts"):
            object.__setattr__(self, name, as_paths(getattr(self, name), "{!r} is no path and no list of paths"))
        for name in ("originals", "against"):  # none are typed as an empty tuple
            if getattr(self, name) == ():
                object.__setattr__(self, name, None)

    @property
    def limit(self) -> int:
        """Bytes that the report may have."""
        return check_size(self.size, single_file=self.single_file)

    @property
    def grouping(self) -> GroupBy | None:
        return GroupBy.parse(self.group_by)

    def check_filed(self) -> None:
        """Raise InputError for what is about a search, where pairs are read from a file."""
        for name in ("ignore", "originals", "against", "group_by"):
            if getattr(self, name):
                option = name.replace("_", "-")
                raise InputError(
                    f"{name} decides which pairs are found, and with pairs they are read from a file. Leave --{option} "
                    f"({name}=) out, or let the report search."
                )

    def adapted(self, search: SearchOptions) -> SearchOptions:
        """The options of the search, as they have to be for what is wanted; InputError where both cannot be.

        Where only some documents may form pairs, every pair is listed: the leader of a crowd may be of the same person
        as its members, and the first of several copies too.
        """
        if self.ignore and search.candidates_by is not None:
            raise InputError("ignore takes shingles away, and candidates_by others. Leave one of them out.")
        if self.originals is None and self.against is None and self.group_by is None:
            return search
        named = next(name for name in ("originals", "against", "group_by") if getattr(self, name) is not None)
        if search.collapse_exact:
            raise InputError(
                f"collapse_exact lists no pairs of copies, and with {named} each counts. Leave --collapse-exact "
                "(collapse_exact=) out."
            )
        if search.crowd not in (0, DEFAULT_CROWD):
            raise InputError(
                f"crowd is {search.crowd}, and with {named} every pair is listed. Leave --crowd (crowd=) out."
            )
        return replace(search, crowd=0)

    def template(self, spec: Spec) -> Template | None:
        """What does not count, read from its files; InputError where one holds no text."""
        if not self.ignore:
            return None
        if spec.shingle.kind == "item":
            raise InputError("ignore is about passages of texts, and documents are sets here. Leave --ignore out.")
        passages = [part for path in self.ignore for part in read_template(path, passages_of).passages]
        return Template(passages, spec.shingle, spec.normalize)


def _check_passages(value: Any, *, is_hidden: bool) -> None:
    if value is None:
        return
    check_whole(value, "passages", LEAST_PASSAGE, MOST_PASSAGE)
    if is_hidden:
        raise InputError(
            "passages are shown with the names of their documents, and pseudonyms hide these. Leave --passages"
            " (passages=) out, or --pseudonyms (pseudonyms=)."
        )


def check_size(size: int | str | None, *, single_file: bool) -> int:
    """The limit of a report's bytes; InputError where it is no size, or too small for a report."""
    if size is None:
        return SINGLE_SIZE if single_file else DEFAULT_SIZE
    number = parse_memory(size, "size")
    assert number is not None
    if number < LEAST_SIZE:
        raise InputError(
            f"size is {size}. Give {LEAST_SIZE // 1_000_000}MB or more, which an empty report almost takes."
        )
    return number
