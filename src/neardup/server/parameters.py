"""The parameters in the address of a request: those that are known, each given once and usable; else 422 names one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from neardup.errors import InputError
from neardup.index.ages import parse_age
from neardup.params import ON_DUPLICATE
from neardup.server.exchange import Exchange
from neardup.server.jobs import AddOptions
from neardup.server.problems import Problem
from neardup.server.wire import MOST_ID, RemovedDocuments, read_where

if TYPE_CHECKING:
    from neardup.index.store import Index


BOOLEANS = ("false", "true")
ORDERS = ("oldest", "newest")
PAGE_NUMBERS = {"after": (0, 2**53 - 1, None), "size": (1, 200, 50), "opening": (0, 1000, 200)}
"""Parameters of a page of documents that are numbers: least, most, and what they are when absent."""
_NUMBER = re.compile(r"[0-9]{1,19}")


def add_options(exchange: Exchange) -> AddOptions:
    """The parameters of ``POST /documents``."""
    given = _given(exchange, ("on_duplicate", "if_new"))
    on_duplicate = _choice(given, "on_duplicate", ON_DUPLICATE)
    return AddOptions(on_duplicate, _choice(given, "if_new", BOOLEANS) == "true")


def removal(exchange: Exchange) -> Callable[[Index], Any]:
    """Read the parameters of ``DELETE /documents``, and return what removes: without an age or a filter it is 422."""
    given = _given(exchange, ("older_than", "dry_run", "where"))
    if ("older_than" in given) == ("where" in given):
        fault = "either older_than is needed, the age from which on documents are removed, such as 30d, or where."
        raise Problem(422, fault, field="older_than")
    if "where" in given:
        if "dry_run" in given:
            raise Problem(422, "dry_run is for older_than. Leave it out.", field="dry_run")
        where = read_where(given["where"])
        return lambda index: RemovedDocuments(removed=index.remove(where=where))
    try:
        age = parse_age(given["older_than"])
    except InputError as exc:
        raise Problem(422, f"older_than: {exc}", field="older_than") from exc
    dry_run = _choice(given, "dry_run", BOOLEANS) == "true"
    return lambda index: index.remove_older_than(age, dry_run=dry_run)


def page_options(exchange: Exchange) -> dict[str, Any]:
    """The parameters of ``GET /documents``, as arguments of ``Index.page``."""
    given = _given(exchange, (*PAGE_NUMBERS, "prefix", "order", "where"))
    where = read_where(given["where"]) if "where" in given else None
    prefix = given.get("prefix", "")
    if len(prefix) > MOST_ID:
        raise Problem(422, f"prefix has {len(prefix)} characters; {MOST_ID} are allowed.", field="prefix")
    numbers = {name: _number(given, name, *reach) for name, reach in PAGE_NUMBERS.items()}
    return {**numbers, "prefix": prefix, "newest": _choice(given, "order", ORDERS) == "newest", "where": where}


def _given(exchange: Exchange, known: Collection[str]) -> dict[str, str]:
    """The parameters as text."""
    given: dict[str, str] = {}
    try:
        pairs = parse_qsl(exchange.query_string.decode("ascii"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as exc:
        raise Problem(422, "the parameters are not percent-encoded UTF-8.") from exc
    for name, value in pairs:
        if name not in known:
            raise Problem(422, f"{name} is no parameter. Known are {' and '.join(known)}.", field=name)
        if name in given:
            raise Problem(422, f"{name} is given twice.", field=name)
        given[name] = value
    return given


def _choice(given: dict[str, str], name: str, known: Sequence[str]) -> str:
    """One of some words; the first when absent."""
    value = given.get(name, known[0])
    if value not in known:
        raise Problem(422, f"{name} is {value!r}. Give {', '.join(known[:-1])} or {known[-1]}.", field=name)
    return value


def _number(given: dict[str, str], name: str, least: int, most: int, absent: int | None) -> int | None:
    value = given.get(name)
    if value is None:
        return absent
    if _NUMBER.fullmatch(value) is None or not least <= int(value) <= most:
        raise Problem(422, f"{name} is {value!r}. Give a whole number from {least} to {most}.", field=name)
    return int(value)
