"""Running the command in a process of its own, and what must hold after every run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGE = Path(str(import_module("neardup").__file__)).resolve().parent
LIMIT = 120
"""Seconds after which a run counts as hung."""


def neardup(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run ``neardup`` with these arguments; bytes in, bytes out."""
    return subprocess.run(
        line(*arguments), capture_output=True, timeout=LIMIT, check=False, env=environment(), **options
    )


def line(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "neardup", *map(os.fspath, map(_plain, arguments))]


def environment() -> dict[str, str]:
    """Ours, with the neardup that the tests import found first, whatever the folder the command runs in."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONUTF8": "1", "COLUMNS": "100"}


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
