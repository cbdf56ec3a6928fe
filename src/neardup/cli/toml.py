"""Values as TOML writes them."""

from __future__ import annotations

import json
from typing import Any


def as_toml(value: Any) -> str:
    r"""A text, number, boolean, list, table or time as TOML has it, on one line.

    >>> print(as_toml(["a\"b", 0.5, True]))
    ["a\"b", 0.5, true]
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # what JSON escapes is what TOML wants escaped, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{as_toml(name)} = {as_toml(each)}' for name, each in value.items())}}}"
    return str(value)
