"""Running the command outside this process, and what must hold after every run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests import warm
from tests.warm import LIMIT, PACKAGE, environment

__all__ = ["LIMIT", "PACKAGE", "check_clean_failure", "environment", "line", "neardup", "write_jsonl"]


def neardup(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run ``neardup`` with these arguments; bytes in, bytes out."""
    return warm.run(line(*arguments)[1:], **options)


def line(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "neardup", *map(os.fspath, map(_plain, arguments))]


def _plain(value: object) -> str | os.PathLike[str]:
    return value if isinstance(value, os.PathLike) else str(value)


def write_jsonl(path: Path, documents: Iterable[tuple[Any, str]]) -> Path:
    with path.open("w", encoding="utf-8") as out:
        for name, text in documents:
            out.write(json.dumps({"id": name, "text": text}) + "\n")
    return path


def check_clean_failure(run: subprocess.CompletedProcess[bytes], code: int, *words: str) -> None:
    """The stated exit code, a message with these words, no traceback, nothing on stdout."""
    message = run.stderr.decode("utf-8", "replace")
    assert run.returncode == code, message
    assert "Traceback" not in message, message
    assert run.stdout == b"", run.stdout[:200]
    for word in words:
        assert word in message, message
