"""Which column holds the text and which the id, in every format that has named columns, and what if it is not there."""

from __future__ import annotations

from collections.abc import Sequence

from neardup.errors import InputError, did_you_mean

TEXT_NAMES = ("text", "content", "body", "document", "abstract", "raw_content", "code")
"""Names of text columns, the first that exists wins."""

ID_NAMES = ("id", "doc_id", "docid", "document_id", "uuid", "key", "name")
"""Names of id columns, the first that exists wins."""

_LISTED = 20


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


def choose_text(names: Sequence[str], asked: str | None, source: str) -> str:
    """The text column: the one asked for, else the one guessed; InputError when there is none."""
    if asked is not None:
        if asked not in names:
            raise unknown_column(asked, names, source, option="text")
        return asked
    guess = guess_text(names)
    if guess is None:
        raise InputError(
            f"{source}: no column is named like a text ({', '.join(TEXT_NAMES)}). "
            f"Name it with --text COLUMN (text=); the columns are {_listed(names)}."
        )
    return guess


def choose_id(names: Sequence[str], asked: str | None, source: str) -> str | None:
    """The id column: the one asked for, which must be there, else the one guessed, else None."""
    if asked is not None and asked not in names:
        raise unknown_column(asked, names, source, option="id")
    return asked if asked is not None else guess_id(names)


def unknown_column(asked: str, names: Sequence[str], source: str, *, option: str) -> InputError:
    """The error for a column that was asked for with ``--option`` and is not there."""
    return InputError(
        f"{source}: there is no column {asked!r} for --{option} ({option}=); "
        f"the columns are {_listed(names)}.{did_you_mean(asked, names)}"
    )


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
