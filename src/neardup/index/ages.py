"""Ages as people write them."""

from __future__ import annotations

import re
from datetime import timedelta

from neardup.errors import InputError

_AGE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(s|min|h|d|w)")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST = 1e12
"""Seconds that an age has at most: no document is as old."""


def parse_age(value: str | timedelta) -> timedelta:
    """An age. InputError: it is none, or not above 0.

    >>> parse_age("36h") == parse_age("1.5d") == timedelta(days=1.5)
    True
    """
    if isinstance(value, timedelta):
        age = value
    else:
        found = _AGE.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None:
            raise InputError(f"{value!r} is no age. Give a number and s, min, h, d or w, such as 30d for thirty days.")
        age = timedelta(seconds=min(float(found[1]) * _SECONDS[found[2]], _LONGEST))
    if age <= timedelta(0):
        raise InputError(f"the age is {value!r}, by which every document goes. Give one above 0.")
    return age
