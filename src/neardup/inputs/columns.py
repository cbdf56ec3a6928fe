"""Which column holds the text and which the id, in every format that has named columns, and what if it is not there."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from neardup.errors import InputError, did_you_mean
from neardup.shown import shown

TEXT_NAMES = ("text", "content", "body", "document", "abstract", "raw_content", "code", "title")
"""Names of text columns, the first that exists wins."""

ID_NAMES = ("id", "doc_id", "docid", "document_id", "uuid", "key", "name")
"""Names of id columns, the first that exists wins."""

_LISTED = 20
_EXPONENT = re.compile(r"(?<=\d)[eE](?=[-+]?\d)")
_TOLD = 3
"""Kinds of columns that the words tell."""


class NoColumn(InputError):
    """There is no column of the name that was given."""


class NoTextColumn(NoColumn):
    """There is no column of the name that was given for the text; or none was given, and none can be guessed."""


@dataclass(frozen=True, slots=True)
class ReadColumns:
    """The columns that were read of one file or more."""

    text: tuple[str, ...]
    """Those that make the text, joined by newlines."""
    id: str | None
    sources: int = 1
    """Files, or other inputs, of which these were read."""
    example: str = ""
    """The first of them."""

    @property
    def is_plain(self) -> bool:
        """Whether the columns are named as nobody would doubt, so that a summary for a person need not tell."""
        return self.text == TEXT_NAMES[:1] and self.id in (ID_NAMES[0], None)


def together(read: Iterable[ReadColumns]) -> tuple[ReadColumns, ...]:
    """The same columns of several inputs as one, in the order in which they first came."""
    found: dict[tuple[tuple[str, ...], str | None], ReadColumns] = {}
    for each in read:
        before = found.get((each.text, each.id))
        sources, example = (before.sources, before.example) if before is not None else (0, each.example)
        found[each.text, each.id] = ReadColumns(each.text, each.id, sources + each.sources, example)
    return tuple(found.values())


def column_words(read: Sequence[ReadColumns]) -> str:
    """What was read of tables in one line: the most frequent columns; nothing where all are plain."""
    if all(each.is_plain for each in read):
        return ""
    most = sorted(read, key=lambda each: -each.sources)
    told = []
    for each in most[:_TOLD]:
        of = f" ({each.sources:,} inputs)" if each.sources > 1 else f" ({os.path.basename(each.example)})"
        id = f", id from {shown(each.id)}" if each.id is not None else ", no id"
        told.append(f"text from {' and '.join(map(shown, each.text))}{id}{of if len(read) > 1 else ''}")
    rest = sum(each.sources for each in most[_TOLD:])
    return "; ".join([*told, *([f"others in {rest:,} more"] if rest else [])])


def asked_columns(asked: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """The columns that ``text`` names: the one of exactly that name, else those between its commas.

    A name that has a comma itself stands in double quotes among others, as in CSV: ``"last, first",title``.
    """
    if not isinstance(asked, str):
        return list(asked)
    if asked in names or "," not in asked:
        return [asked]
    return [name.strip() for name in next(csv.reader([asked], skipinitialspace=True))]


def guess_text(names: Sequence[str]) -> str | None:
    """The column that holds the text by its name, or None.

    The order of TEXT_NAMES decides, not that of the columns; an exact match goes before one in another case.
    """
    return _guess(names, TEXT_NAMES)


def guess_id(names: Sequence[str]) -> str | None:
    return _guess(names, ID_NAMES)


def _guess(names: Sequence[str], known: Sequence[str]) -> str | None:
    for name in known:
        if name in names:
            return name
    folded = {name.casefold(): name for name in reversed(names)}
    return next((folded[name] for name in known if name in folded), None)


def choose_text(
    names: Sequence[str], asked: str | Sequence[str] | None, source: str, *, texts: Sequence[str] = ()
) -> tuple[str, ...]:
    """The columns that make the text: those asked for, else the one known by its name, else the only one of ``texts``.

    ``texts``: the columns that hold texts, but for that of the id. Raises InputError where a column that was asked for
    is not there, NoTextColumn where none can be guessed.
    """
    if asked is not None:
        return _there(names, asked, source, option="text")
    guess = guess_text(names) or (texts[0] if len(texts) == 1 else None)
    if guess is None:
        raise NoTextColumn(
            f"{source}: no column is named like a text ({', '.join(TEXT_NAMES)}). "
            f"Name it with --text COLUMN (text=); the columns are {_listed(names)}."
        )
    return (guess,)


def check_guess(texts: Iterable[bytes], read: ReadColumns | None, names: Sequence[str], source: str) -> None:
    """Raise NoTextColumn if a column was read as the text for want of others, and its first texts are numbers."""
    first = [text for text in islice(texts, _LISTED) if text]
    if read is not None and first and all(map(_is_number, first)):
        raise NoTextColumn(
            f"{source}: no column is named like a text ({', '.join(TEXT_NAMES)}), and {read.text[0]!r} holds numbers. "
            f"Name the text with --text COLUMN (text=); the columns are {_listed(names)}."
        )


def _is_number(text: bytes) -> bool:
    """Return whether a text has digits and no letters, as 12.50, 1,234 €, 2020-01-31 and 1e-5 have."""
    plain = _EXPONENT.sub("", text.decode("utf-8", "replace"))
    return any(map(str.isdigit, plain)) and not any(map(str.isalpha, plain))


def choose_id(names: Sequence[str], asked: str | None, source: str) -> str | None:
    """The id column: the one asked for, which must be there, else the one guessed, else None."""
    if asked is not None and asked not in names:
        raise unknown_column(asked, names, source, option="id")
    return asked if asked is not None else guess_id(names)


def unknown_column(asked: str, names: Sequence[str], source: str, *, option: str) -> InputError:
    """The error for a column that was asked for with ``--option`` and is not there."""
    kind = NoTextColumn if option == "text" else NoColumn
    return kind(
        f"{source}: there is no column {asked!r} for --{option.replace('_', '-')} ({option}=); "
        f"the columns are {_listed(names)}.{did_you_mean(asked, names)}"
    )


def choose_more(names: Sequence[str], asked: str | Sequence[str], source: str) -> tuple[str, ...]:
    """Choose the further columns that are stored. Raises InputError if one is not there."""
    return tuple(dict.fromkeys(_there(names, asked, source, option="column"))) if asked else ()


def _there(names: Sequence[str], asked: str | Sequence[str], source: str, *, option: str) -> tuple[str, ...]:
    """Return the columns that an option asks for. Raises InputError if one is not there."""
    chosen = asked_columns(asked, names)
    for name in chosen:
        if name not in names:
            raise unknown_column(name, names, source, option=option)
    return tuple(chosen)


def column_place(names: Sequence[str], name: str, source: str) -> int:
    """Where the column ``name``, which is there, is; InputError when it is there twice."""
    if names.count(name) > 1:
        raise InputError(f"{source}: {names.count(name)} columns are named {name!r}. Give each its own name.")
    return names.index(name)


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none"
    shown = ", ".join(repr(name) for name in names[:_LISTED])
    return shown + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
