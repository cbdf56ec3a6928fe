"""Documents, questions, CPU and memory, for the programs of this folder. Uses the standard library only."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHINGLE = 9
THRESHOLD = 0.8


@dataclass(frozen=True, slots=True)
class Question:
    """A text to ask for, and every document that is similar to it."""

    text: str
    source: str | None
    """The id of the document that the text is an edited copy of; None if the text is foreign."""
    true: list[tuple[int, str, float]]
    """Row, id and exact similarity of every document with a similarity of 0.8 or more."""


def shingles(text: str) -> set[str]:
    """Return the set of character 9-shingles of a text in NFC, or the whole text if it is shorter."""
    text = unicodedata.normalize("NFC", text)
    return {text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)} or {text}


def read_documents(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the id and the text of every document of a JSONL file."""
    with source.open(encoding="utf-8") as lines:
        for line in lines:
            fields = json.loads(line)
            yield fields["id"], fields["text"]


def in_batches(source: Path, size: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the ids and texts of ``size`` documents at a time."""
    ids: list[str] = []
    texts: list[str] = []
    for identifier, text in read_documents(source):
        ids.append(identifier)
        texts.append(text)
        if len(ids) == size:
            yield ids, texts
            ids, texts = [], []
    if ids:
        yield ids, texts


def read_questions(source: Path) -> list[Question]:
    """Read what `questions.py` wrote: edited copies and foreign texts in turns."""
    with source.open(encoding="utf-8") as lines:
        return [Question(**json.loads(line)) for line in lines]


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of a process, to the nanosecond (Linux)."""
    return time.clock_gettime((~pid << 3) | 2)


def memory(pid: int | str) -> dict[str, float]:
    """Return the memory of a process in MB: all of it, and the part that does not belong to files."""
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        found = {line.split(":")[0]: int(line.split()[1]) * 1024 / 1e6 for line in lines if line.endswith("kB\n")}
    return {"memory_mb": found["VmRSS"], "own_mb": found["RssAnon"], "peak_mb": found["VmHWM"]}
