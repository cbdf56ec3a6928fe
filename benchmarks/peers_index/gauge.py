"""What the programs of this folder share: reading documents and questions, times, memory. Standard library only."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A text to ask for; an edited copy names the document that it was made of and its similarity to it."""

    text: str
    source: str | None
    similarity: float | None


class Notes:
    """Figures, written to a file as soon as each is known, so that a run that is ended has told what it had."""

    def __init__(self, path: Path, **known: Any) -> None:
        self.path, self.figures = path, dict(known)

    def add(self, **figures: Any) -> None:
        """Note some figures."""
        self.figures.update(figures)
        self.path.write_text(json.dumps(self.figures, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(figures), flush=True)


def read_documents(source: Path, limit: int | None = None) -> Iterator[tuple[str, str]]:
    """Yield id and text of the first ``limit`` documents."""
    with source.open(encoding="utf-8") as lines:
        for row, line in enumerate(lines):
            if row == limit:
                return
            fields = json.loads(line)
            yield fields["id"], fields["text"]


def in_batches(documents: Iterable[tuple[str, str]], size: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield ids and texts of ``size`` documents at a time."""
    ids: list[str] = []
    texts: list[str] = []
    for identifier, text in documents:
        ids.append(identifier)
        texts.append(text)
        if len(ids) == size:
            yield ids, texts
            ids, texts = [], []
    if ids:
        yield ids, texts


def parted(documents: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What is added later: at most 20 batches of a thousand, and at most 500 documents one by one."""
    many = min(20_000, len(documents) * 4 // 5 // 1000 * 1000)
    return documents[:many], documents[many : many + 500]


def read_questions(source: Path) -> list[Question]:
    """Read what `index_compare.py` asks: edited copies and foreign texts in turns."""
    with source.open(encoding="utf-8") as lines:
        return [Question(**json.loads(line)) for line in lines]


def memory() -> dict[str, float]:
    """MiB of this process after a collection of garbage: now, of it no pages of files, and the most there ever was."""
    gc.collect()
    with open("/proc/self/status", encoding="ascii") as lines:
        found = {
            line.split(":")[0]: line.split()[1] for line in lines if line.startswith(("VmRSS", "VmHWM", "RssAnon"))
        }
    names = {"VmRSS": "rss_mib", "RssAnon": "anonymous_mib", "VmHWM": "peak_mib"}
    return {names[name]: int(kib) / 1024 for name, kib in found.items()}


def spread(seconds: list[float], cpu_seconds: list[float]) -> dict[str, float]:
    """Median, 99th percentile and mean in microseconds; also of the CPU time, which other programs disturb less."""
    found: dict[str, float] = {}
    for name, values in (("", seconds), ("cpu_", cpu_seconds)):
        ranked = sorted(values)
        found[f"{name}median_us"] = 1e6 * ranked[len(ranked) // 2]
        found[f"{name}p99_us"] = 1e6 * ranked[int(0.99 * (len(ranked) - 1))]
        found[f"{name}mean_us"] = 1e6 * sum(ranked) / len(ranked)
    return found


def time_each(ask: Callable[[Any], Any], items: Iterable[Any], runs: int = 3) -> tuple[dict[str, Any], list[Any]]:
    """Time every call, in several runs over all items, of which the quickest counts. Also the answers.

    Every other item is an edited copy, so the halves are told apart: they differ, and a median of all would stand in
    the gap between the two.
    """
    best: dict[str, Any] = {}
    answers: list[Any] = []
    items = list(items)
    for _ in range(runs):
        seconds, cpu_seconds, answers = [], [], []
        for item in items:
            cpu_started, started = time.thread_time(), time.perf_counter()
            answer = ask(item)
            ended, cpu_ended = time.perf_counter(), time.thread_time()
            seconds.append(ended - started)
            cpu_seconds.append(cpu_ended - cpu_started)
            answers.append(answer)
        figures: dict[str, Any] = spread(seconds, cpu_seconds)
        if not best or figures["cpu_mean_us"] < best["cpu_mean_us"]:
            halves = {"edited": slice(0, None, 2), "foreign": slice(1, None, 2)}
            best = figures | {name: spread(seconds[part], cpu_seconds[part]) for name, part in halves.items()}
    return best, answers


def recall(answers: list[Iterable[str]], questions: list[Question]) -> float:
    """Share of the edited copies whose original is among the answers."""
    edited = [(found, asked) for found, asked in zip(answers, questions, strict=True) if asked.source is not None]
    return sum(asked.source in found for found, asked in edited) / max(1, len(edited))
