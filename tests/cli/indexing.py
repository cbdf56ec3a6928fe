"""Small collections for the commands of an index, and the commands run in this process or another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests import warm

from neardup.cli import main

FOX = "the quick brown fox jumps over the lazy dog"
FOXED = "the quick brown fox jumped over the lazy dog"
ELSE = "something else altogether, and nothing like it"
MORE = "a third text which shares no run of letters to speak of"
SPEC = ("-t", "0.7", "--shingle", "char:3")


def grams(text: str) -> set[str]:
    """The shingles of ``SPEC``, cut by hand."""
    return {text[i : i + 3] for i in range(len(text) - 2)}


def jaccard(a: str, b: str) -> float:
    """Exact similarity under ``SPEC``."""
    return len(grams(a) & grams(b)) / len(grams(a) | grams(b))


def index(*args: str, input: str | bytes | None = None) -> Result:
    """Run ``neardup index …`` in this process."""
    return CliRunner().invoke(main, ["index", *args], input=input, prog_name="neardup")


def good(*args: str, input: str | bytes | None = None) -> Result:
    """The same, which must end well."""
    result = index(*args, input=input)
    assert result.exit_code == 0, result.stderr
    return result


def answer(*args: str, input: str | bytes | None = None) -> dict[str, Any]:
    """What the command prints with --json."""
    found: dict[str, Any] = json.loads(good(*args, "--json", "--quiet", input=input).stdout)
    return found


def rows(text: str) -> list[dict[str, Any]]:
    """JSON Lines as values."""
    return [json.loads(line) for line in text.splitlines()]


def write_jsonl(path: str | Path, documents: Iterable[tuple[Any, str]]) -> list[bytes]:
    """Write documents as JSON Lines; returns the lines."""
    lines = [json.dumps({"id": id, "text": text}).encode() + b"\n" for id, text in documents]
    Path(path).write_bytes(b"".join(lines))
    return lines


def start(folder: Path, *args: str, **options: Any) -> subprocess.Popen[bytes]:
    """``neardup index …`` running in ``folder`` with pipes."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-m", "neardup", "index", *args], cwd=folder, env=os.environ.copy(), **{**pipes, **options}
    )


def ran(folder: Path, *args: str, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """``neardup index …`` run to its end in ``folder``."""
    return warm.run(["-m", "neardup", "index", *args], cwd=folder, input=input)
