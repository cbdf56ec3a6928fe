"""Which repeated passages are wanted: those of another collection, at enough places, inside a group, in no template."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from neardup.engine.reading.template import passages_as_written
from neardup.errors import InputError
from neardup.inputs.names import Provenance
from neardup.inputs.reader import Reader
from neardup.params import InputOptions, Options, check_share
from neardup.params.checks import check_whole
from neardup.shown import counted
from neardup.tasks.compare.documents import read_document
from neardup.tasks.find import open_across
from neardup.tasks.grouping import GroupBy
from neardup.types import I64, Batch, Documents

TEMPLATES = "templates"
"""Source of the batch of templates, which are no documents."""
MOST_PLACES = (1 << 32) - 1
"""Places of a window are counted up to here."""


@dataclass(frozen=True, slots=True)
class Selection(Options):
    """Options of ``neardup.passages`` that say which passages are wanted."""

    against: Any = None
    ignore: Any = ()
    group_by: str | None = None
    min_count: int | None = None
    min_docs: int | None = None
    min_share: float | None = None

    def __post_init__(self) -> None:
        GroupBy.parse(self.group_by)
        object.__setattr__(self, "ignore", as_paths(self.ignore, "ignore is {!r}"))
        if self.against == ():  # none are typed as an empty tuple
            object.__setattr__(self, "against", None)
        least = 1 if self.is_across else 2
        for name, low in (("min_count", least), ("min_docs", 1)):
            if (value := getattr(self, name)) is not None:
                check_whole(value, name, low, MOST_PLACES)
        if self.min_share is not None:
            check_share(self.min_share, "min_share")
        if self.is_across and self.group_by is not None:
            raise InputError(
                "group_by looks for passages inside each group of the inputs, and against for those of another "
                "collection. Leave --group-by (group_by=) or --against (against=) out."
            )

    @property
    def is_across(self) -> bool:
        """Whether only passages of another collection are wanted."""
        return self.against is not None

    @property
    def grouping(self) -> GroupBy | None:
        return GroupBy.parse(self.group_by)

    def as_dict(self) -> dict[str, Any]:
        """The options that were given, but for inputs and files, as JSON values."""
        names = ("group_by", "min_count", "min_docs", "min_share")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    def open(self, inputs: Any, options: InputOptions) -> Reader:
        """The inputs, with the other collection behind them; InputError where something cannot be read or used."""
        by = self.grouping
        reader = open_across(inputs, self.against, options, item=False, again=by is not None and by.column is not None)
        if by is not None:
            by.check(reader)
        read = {os.path.realpath(path): path for part in reader.parts for path in part.paths or ()}
        for path in self.ignore:
            if (twice := read.get(os.path.realpath(path))) is not None:
                raise InputError(f"{twice} is an input, and a template to ignore. Keep it outside the inputs.")
        return reader

    def templates(self) -> list[Template]:
        """The templates, read from their files; InputError where one has no text."""
        # white space around a passage belongs to it: what stands in the template is what is ignored
        return [read_template(path, passages_as_written) for path in self.ignore]

    def least_count(self) -> int:
        """Places of the inputs at which a window stands, at least."""
        return self.min_count if self.min_count is not None else 1 if self.is_across else 2

    def least_documents(self, sizes: I64) -> I64:
        """int64[groups]: documents that hold a window, at least, in groups of so many (int64[groups]).

        A share is of the decimal number as it is written: 0.05 of 40 documents are 2. It asks for two at least.
        """
        least = np.full(sizes.size, self.min_docs or 1, dtype=np.int64)
        if self.min_share is None:
            return least
        share = Fraction(repr(float(self.min_share)))
        distinct, back = np.unique(sizes, return_inverse=True)
        shares = np.array([max(2, math.ceil(share * size)) for size in distinct.tolist()], dtype=np.int64)
        return np.maximum(least, shares[back])


@dataclass(frozen=True, slots=True)
class Template:
    """A file of text that is no repeat."""

    path: str
    passages: list[str]

    def check(self, units: Sequence[int], span: int, what: str, option: str, least: int) -> int:
        """How many of its passages, of so many ``units``, are too short for a window of ``span``.

        InputError where all are: the ``option`` that says how long a window is may be ``least`` or more.
        """
        short, longest = sum(size < span for size in units), max(units)
        if short < len(units):
            return short
        typed = f"--{option.replace('_', '-')}"
        cure = f"Give {typed} {longest} ({option}=) or less, or leave" if longest >= least else "Leave"
        raise InputError(
            f"{self.path}: its longest passage has {counted(longest, what)}, and passages of {counted(span, what)} or"
            f" more are looked for, so nothing would be ignored. {cure} --ignore (ignore=) out."
        )


def read_template(path: str | Path, passages_of: Callable[[str], list[str]]) -> Template:
    """Return the passages of a file; InputError where it has none."""
    content = read_document(path, InputOptions(), item=False).content
    passages = passages_of(content) if isinstance(content, str) else []
    if not passages:
        raise InputError(f"{path} holds no text that could be ignored. Give a template with text, or none.")
    return Template(os.fspath(path), passages)


class InputNames(Provenance):
    """The names of documents, less templates, which are none."""

    def enter(self, batch: Batch) -> None:
        if batch.source != TEMPLATES:
            super().enter(batch)


def batch_of(templates: Sequence[Template]) -> Batch:
    """All passages of templates as documents."""
    texts = [passage for template in templates for passage in template.passages]
    return Batch(Documents.from_texts(texts), TEMPLATES, np.arange(1, len(texts) + 1))


def as_paths(value: Any, refusal: str) -> tuple[str | os.PathLike[str], ...]:
    """Return one path or several as a tuple; InputError, which begins with ``refusal``, for anything else."""
    if isinstance(value, (str, os.PathLike)):
        return (value,)
    if isinstance(value, Sequence) and all(isinstance(each, (str, os.PathLike)) for each in value):
        return tuple(value)
    raise InputError(f"{refusal.format(value)}. Give the name of a file, or a list of names.")
