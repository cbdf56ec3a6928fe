"""Run one index in a process of its own for `index_compare.py`: reads commands as lines of JSON and writes replies.

python benchmarks/peers_index/worker.py PROGRAM FOLDER
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import traceback
from itertools import islice
from pathlib import Path
from typing import Any

from gauge import cpu_seconds, in_batches, memory, read_documents, read_questions
from programs import PROGRAMS, Program


class Worker:
    """The commands. Every time is the CPU time of all threads of the process that does the work, in µs."""

    def __init__(self, program: Program) -> None:
        self.program, self.documents = program, 0

    def cpu(self) -> float:
        """Return the CPU seconds used so far."""
        return cpu_seconds(self.program.pid)

    def build(self, source: str) -> dict[str, Any]:
        """Build the index; from here on the garbage collector is off."""
        program = self.program
        found: dict[str, Any] = {"version": program.version(), "says": program.says, "keeps": program.keeps}
        program.warm_up()
        gc.collect()
        gc.disable()
        before = self.cpu()
        self.documents = program.build(Path(source))
        spent = self.cpu() - getattr(program, "before", before)
        gc.freeze()
        found |= {"documents": self.documents, "build_us": 1e6 * spent / self.documents}
        return found | {"disk_b": program.disk() / self.documents}

    def memory(self) -> dict[str, Any]:
        """Return the memory of the process now."""
        return memory(self.program.pid)

    def ask(self, source: str, way: int, kind: int, seconds: float) -> dict[str, Any]:
        """Ask the edited copies (0) or the foreign texts (1), for at most ``seconds``, and return the median."""
        name, ask = [*self.program.ways().items(), *self.program.writes().items()][way]
        took: list[float] = []
        for question in read_questions(Path(source))[kind::2]:
            before = self.cpu()
            ask(question.text)
            took.append(1e6 * (self.cpu() - before))
            if sum(took) > 1e6 * seconds:
                break
        return {"way": name, "p50_us": statistics.median(took), "asked": len(took)}

    def ask_together(self, source: str, kind: int) -> dict[str, Any]:
        """Ask the questions of one kind in one call, which takes a list."""
        texts = [question.text for question in read_questions(Path(source))[kind::2]]
        before = self.cpu()
        next(iter(self.program.ways().values()))(texts)
        return {"us": 1e6 * (self.cpu() - before) / len(texts)}

    def ways(self) -> dict[str, Any]:
        """Return the names of the ways to ask: those that only read, and those that may write."""
        return {"ways": list(self.program.ways()), "writes": list(self.program.writes())}

    def check(self, source: str, seconds: float) -> dict[str, Any]:
        """Compare all matches with the truth, question by question, until the seconds are spent."""
        began, asked, sources, copies, pairs = self.cpu(), 0, 0, 0, 0
        seen: list[bool] = []
        found: dict[str, list[int]] = {}
        for question in read_questions(Path(source)):
            if self.cpu() - began > seconds:
                break
            true = {key: similarity for *keys, similarity in question.true if keys[0] < self.documents for key in keys}
            asked, pairs = asked + 1, pairs + len(true) // 2
            copies += question.source is not None
            if (is_there := self.program.seen(question.text)) is not None:
                seen.append(is_there == bool(true))
            for kind, hits in self.program.everything(question.text).items():
                counts = found.setdefault(kind, [0, 0, 0])
                counts[0] += len(hits)
                counts[1] += sum(name in true for name, _ in hits)
                counts[2] += sum(given is not None and given != true.get(name) for name, given in hits)
                if kind == self.program.says and question.source is not None:
                    row = next(row for row, name, _ in question.true if name == question.source)
                    sources += any(name in (row, question.source) for name, _ in hits)
        kinds = {
            kind: {
                "recall": right / max(1, pairs),
                "precision": right / max(1, hits),
                "false": hits - right,
                "differs": odd,
            }
            for kind, (hits, right, odd) in found.items()
        }
        counted = {"asked": asked, "pairs": pairs, "sources": sources, "copies": copies}
        return counted | {"kinds": kinds, "seen": [sum(seen), len(seen)]}

    def change(self, source: str, one: int, many: int) -> dict[str, Any]:
        """Remove documents one by one and in one call, then add the first ones again."""
        documents = list(islice(read_documents(Path(source)), one + many))
        rows, ids = list(range(len(documents))), [name for name, _ in documents]
        removed, added = [], []
        for row in range(one):
            before = self.cpu()
            self.program.remove([row], [ids[row]])
            removed.append(1e6 * (self.cpu() - before))
        before = self.cpu()
        self.program.remove(rows[one:], ids[one:])
        together = 1e6 * (self.cpu() - before) / len(rows[one:])
        for row in range(one):
            before = self.cpu()
            self.program.add([row], [ids[row]], [documents[row][1]])
            added.append(1e6 * (self.cpu() - before))
        return {
            "remove_us": statistics.median(removed),
            "remove_many_us": together,
            "add_us": statistics.median(added),
        }

    def grow(self, source: str, step: int) -> dict[str, Any]:
        """Add all documents in durable batches of 10,000, and return µs a document for each ``step`` of them."""
        self.program.warm_up()
        self.program.create()  # type: ignore[attr-defined]
        steps, number, before = [], 0, self.cpu()
        for ids, texts in in_batches(Path(source), 10_000):
            self.program.add([], ids, texts)
            number += len(ids)
            if number % step == 0:
                steps.append(1e6 * (self.cpu() - before) / step)
                before = self.cpu()
        return {"us": steps}


def main() -> None:
    """Run commands until the input ends."""
    worker = Worker(PROGRAMS[sys.argv[1]](Path(sys.argv[2])))
    try:
        for line in sys.stdin:
            what, words = json.loads(line)
            try:
                reply = getattr(worker, what)(**words)
            except ImportError as error:
                reply = {"missing": str(error)}
            except Exception:
                reply = {"failed": traceback.format_exc()}
            print(json.dumps(reply), flush=True)
    finally:
        worker.program.close()


if __name__ == "__main__":
    main()
