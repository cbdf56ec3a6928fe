"""What the parameters are by default, what they may be, and the checks of single ones.

Every check returns the value, or raises InputError that names the parameter, the value and the cure.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence

from neardup.errors import InputError, did_you_mean

__all__ = [
    "AUTO",
    "BOILERPLATE",
    "CLEANING",
    "CONTAINMENT",
    "COPYING",
    "DEFAULT_ALARM",
    "DEFAULT_AUDIT",
    "DEFAULT_CROWD",
    "DEFAULT_KEEP",
    "DEFAULT_MEASURE",
    "DEFAULT_NORMALIZE",
    "DEFAULT_RECALL",
    "DEFAULT_SEED",
    "DEFAULT_SHINGLE",
    "DEFAULT_SKETCH",
    "DEFAULT_THRESHOLD",
    "DEFAULT_VERIFY",
    "DEFAULT_WEIGHTS",
    "ENGINES",
    "INPUT_FORMATS",
    "LINK_RULES",
    "LOCAL",
    "MAX_SLOTS",
    "MEASURES",
    "MIN_SLOTS",
    "NO_CROWD",
    "ON_BAD",
    "ON_DUPLICATE",
    "ON_MISSING",
    "ORDERS",
    "OVERLAP",
    "PURPOSES",
    "SIMILARITY",
    "SKETCH_FAMILIES",
    "SPARK",
    "TEXT",
    "VERIFY",
    "check_choice",
    "check_columns",
    "check_crowd",
    "check_exact",
    "check_probability",
    "check_seed",
    "check_share",
    "check_slots",
    "check_text_length",
    "check_threads",
    "check_threshold",
    "check_top",
    "parse_memory",
]

DEFAULT_THRESHOLD = 0.8
DEFAULT_RECALL = 0.99
DEFAULT_MEASURE = "jaccard"
DEFAULT_SHINGLE = "char:9"
DEFAULT_NORMALIZE = "nfc"
DEFAULT_SKETCH = "hybrid"
DEFAULT_SEED = 1
DEFAULT_KEEP = "longest"
DEFAULT_ALARM = 0.5
"""Share of a source's documents whose removal raises an alarm."""
DEFAULT_AUDIT = 1000
"""Documents that an audit draws."""
DEFAULT_CROWD = 1000
"""A bucket, or a group of copies or near-copies, of more documents than this is a crowd: it is listed as a star."""
NO_CROWD = 1 << 30
"""In a spec: more documents than any collection has, where every pair is to be listed."""

AUTO = "auto"
"""In place of True or False: let the plan decide."""
DEFAULT_WEIGHTS = (0.5, 0.5)
"""Of the areas of false positives and of false negatives, as datasketch has them."""

MIN_SLOTS, MAX_SLOTS = 2, 4096
SKETCH_FAMILIES = ("hybrid", "independent", "one-permutation", "permutation", "universal")
LINK_RULES = ("star", "connected")
PURPOSES = ("cleaning", "copying")
CLEANING, COPYING = PURPOSES
"""What the pages of a report are for."""
CONTAINMENT = "containment"
MEASURES = (DEFAULT_MEASURE, CONTAINMENT)
ENGINES = (LOCAL, SPARK) = ("local", "spark")
"""Who does the work: this machine, or a cluster."""
"""Of two sets: the share of their union that both have, and the share of the smaller one that the other has."""
OVERLAP = "overlap"
"""In a spec, in place of a measure: documents are held against protected ones by a rule of n-gram overlap."""
DEFAULT_VERIFY = "hash"
TEXT = "text"
VERIFY = (DEFAULT_VERIFY, TEXT)
"""What the shingles of a pair are compared by before it is given: their hashes, or themselves."""

INPUT_FORMATS = ("jsonl", "csv", "tsv", "parquet", "arrow", "xlsx", "warc", "text", "lines")
BOILERPLATE = ("keep", "remove")
"""What can be done with the menus, headers and footers of web pages."""
ON_BAD = ("fail", "skip")
"""What happens at a record that cannot be used: the run ends, or it is left out and counted."""
ON_DUPLICATE = ("error", "skip", "replace")
"""What happens to a document whose id is in the index."""
ON_MISSING = ("error", "skip")
"""What happens at an id to be removed that is not in the index."""

SIMILARITY = "similarity"
ORDERS = ("input", SIMILARITY)
"""In which order a table lists pairs: of the input, or the most similar first."""


def _told(value: object) -> str:
    """Return a wrong value as a message shows it. Python writes no number of more than 4,300 digits."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"a number of about {math.log10(abs(value)):,.0f} digits"
    return repr(value)


def check_text_length(value: bool | int) -> bool | int:
    """Return ``value`` when it says whether a table has texts, or how many characters of each; else InputError."""
    if isinstance(value, bool) or (isinstance(value, int) and value >= 1):
        return value
    raise InputError(f"with_text is {value!r}. Give a number of characters of at least 1, or none for whole texts.")


def check_top(value: int | None, name: str = "top", none: str = "all") -> int | None:
    """Return ``value`` when it is a number of pairs or documents to list, or None, which means ``none``."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise InputError(f"{name} is {_told(value)}. Give a whole number of at least 1, or None for {none}.")


def check_share(value: float, name: str) -> float:
    """Return ``value`` as a float when it is a share from 0 to 1, else raise InputError naming ``name``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise InputError(f"{name} is {_told(value)}. Give a share from 0 to 1.")
    return float(value)


def parse_memory(value: int | str | None, name: str = "memory") -> int | None:
    """Bytes of a size such as ``2GB``, ``500 MB`` or ``1.5GiB`` (GB: 10**9, GiB: 2**30), or of a number of bytes.

    >>> parse_memory("1.5GB")
    1500000000
    """
    if value is None:
        return None
    size: float = 0
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif isinstance(value, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", value, re.IGNORECASE)
        if found:
            base = 1024 if found[3] else 1000
            size = float(found[1]) * base ** " kmgt".index(found[2].lower() or " ")
    if 0 < size < 2**63:
        return int(size)
    raise InputError(f"{name} is {_told(value)}. Give a size such as 2GB, 500MB or 1.5GiB.")


def check_columns(value: str | Sequence[str] | None, name: str = "text") -> str | tuple[str, ...] | None:
    """Return the name of a column, or several as a tuple, else raise InputError. ``name``: of the argument."""
    if value is None or isinstance(value, str):
        return value
    names = tuple(value) if isinstance(value, Sequence) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{name} is {value!r}. Give the name of a column, or a list of names.")
    return names


def check_exact(value: bool | str, measure: str = DEFAULT_MEASURE) -> bool:
    """Return whether the exact join is asked for outright; ``auto`` leaves it to the plan, but not for containment."""
    if value == AUTO and measure == CONTAINMENT:
        raise InputError(f"exact is {AUTO!r}, and containment is always exact. Leave exact out.")
    if value != AUTO and not isinstance(value, bool):
        raise InputError(f"exact is {value!r}. Give True, False, or {AUTO!r} to let the plan decide.")
    return value is True


def check_threshold(value: float) -> float:
    """Return ``value`` as a float when 0 < value <= 1, else raise InputError."""
    return _number(value, "threshold", cure="Give a Jaccard similarity above 0 and at most 1.")


def check_probability(value: float, name: str) -> float:
    """Return ``value`` as a float when 0 < value < 1, else raise InputError naming ``name``."""
    number = _number(value, name, cure=f"Give a {name} above 0 and below 1, such as 0.99.")
    if number >= 1.0:
        raise InputError(
            f"{name} is {value}: no banding finds every pair for certain. Give a {name} below 1, such as 0.99."
        )
    return number


def _number(value: float, name: str, *, cure: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as exc:
        raise InputError(f"{name} is {_told(value)}, not a number. {cure}") from exc
    except OverflowError as exc:
        raise InputError(f"{name} is {_told(value)}. {cure}") from exc
    if not (0.0 < number <= 1.0):
        raise InputError(f"{name} is {value}. {cure}")
    return number


def check_slots(value: int) -> int:
    """Return ``value`` when it is a usable number of signature slots, else raise InputError."""
    if not isinstance(value, int) or isinstance(value, bool) or not MIN_SLOTS <= value <= MAX_SLOTS:
        raise InputError(f"slots is {_told(value)}. Give a whole number from {MIN_SLOTS} to {MAX_SLOTS}.")
    return value


def check_whole(value: object, name: str, least: int, most: int | None = None) -> None:
    """Raise InputError unless ``value`` is a whole number from ``least`` to ``most``; None: of any size."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        reach = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise InputError(f"{name} is {value!r}. Give a whole number {reach}.")


def check_choice(value: str, known: Sequence[str], name: str) -> str:
    """Return ``value`` when it is one of the known names, else raise InputError that lists them."""
    if value not in known:
        raise InputError(f"{name} is {value!r}; known are {', '.join(known)}.{did_you_mean(str(value), known)}")
    return value


def check_crowd(crowd: object) -> int:
    """The number of documents above which a group is a crowd; 0: none is."""
    if not isinstance(crowd, int) or isinstance(crowd, bool) or (crowd < 2 and crowd != 0):
        raise InputError(
            f"crowd is {crowd!r}. Give a whole number of at least 2, such as {DEFAULT_CROWD}, or 0 to list every pair."
        )
    return crowd


def check_seed(value: int) -> int:
    """Return ``value`` when it is a seed of hash functions, else raise InputError."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise InputError(f"seed is {_told(value)}. Give a whole number from 0 to 2**63 - 1.")
    return value


def check_threads(value: int | None) -> int:
    """Threads to work with, at least 1, else raise InputError; None: one for each processor this process may use."""
    if value is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"threads is {_told(value)}. Give a whole number of at least 1.")
    return value
