"""Two collections read as one, so that pairs across them can be found. The sources of the second come behind."""

from __future__ import annotations

import os
from typing import Any

from neardup.errors import InputError
from neardup.inputs.reader import Reader, files_of, open_inputs

__all__ = ["open_across"]


def open_across(inputs: Any, against: Any, **reading: Any) -> Reader:
    """Open inputs, with those that they are held against behind them.

    Args:
        inputs: as for ``open_inputs``.
        against: the same; None: the inputs are compared among themselves.
        reading: options of ``open_inputs``.

    Raises:
        InputError: something cannot be read, or a file is on both sides.
    """
    reader = open_inputs(inputs, **reading)
    if against is None:
        return reader
    other = open_inputs(against, name="against", limit=reader.options.limit, **reading)
    given = {os.path.realpath(path) for part in reader.parts for path in files_of(part) or []}
    for path in (path for part in other.parts for path in files_of(part) or []):
        if os.path.realpath(path) in given:
            raise InputError(
                f"{path} is an input, and the inputs are held against it too. Leave it out on one side; a collection "
                "is compared with itself when nothing is named to hold it against."
            )
    both = reader.joined(other.parts, other.passed_over)
    both.across = [part.name for part in other.parts]
    return both
