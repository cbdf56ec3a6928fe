"""How the name of a file says that its bytes are compressed. By itself, so that asking it loads no library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["stored_codec"]

_CODECS: dict[str, Any] = {".gz": "gzip", ".zst": "zstd"}


def stored_codec(path: str | Path) -> Any:
    """How the bytes of a file are compressed by its name: "gzip", "zstd" or None."""
    return _CODECS.get(Path(path).suffix.lower())
