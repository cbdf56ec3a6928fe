"""The second reading of a clean-up on a cluster: as ``tasks.dedup.again``, by pieces of the inputs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from neardup.engine.state import Gathered
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import Source
from neardup.session import Run
from neardup.spark.reread import Piece, check_again, check_files_again, parts_from, read_values
from neardup.spark.rewriting import write_copies
from neardup.spark.work import ClusterWork
from neardup.tasks.columns.values import joined
from neardup.tasks.dedup.again import Again, JobOf
from neardup.tasks.rewrite.writer import CleanWriter
from neardup.types import I64


class ClusterAgain(Again):
    """The second reading of a run whose inputs are read by a cluster."""

    def __init__(self, run: Run, work: ClusterWork, search: Gathered) -> None:
        """``work`` has done the ``search``."""
        super().__init__(run, search)
        self._work = work
        self._pieces: dict[str, list[Piece]] = {}
        last, before, rows = "", 0, 0
        for split, (each, facts) in enumerate(zip(work.job.splits, work.facts, strict=True)):
            name = work.job.source_of(split).name
            before = before + rows if name == last else 0
            rows, last = facts["records"], name
            piece = Piece(split, each.kind, before, rows, facts["documents"] + facts["bad"], each.nbytes)
            self._pieces.setdefault(name, []).append(piece)

    def pieces_of(self, source: Source) -> list[Piece]:
        """The pieces of a source, in order."""
        return self._pieces[source.name]

    def has_text(self, sources: Collection[str]) -> bool:
        job = self._work.job
        mine = (facts for split, facts in enumerate(self._work.facts) if job.source_of(split).name in sources)
        return any(facts["documents"] > facts["empty"] for facts in mine)

    def values(self, column: str, wanted: Mapping[str, I64]) -> Any:
        work, sources = self._work, {source.name: source for source in self._run.reader.parts}
        name, tasks = work.next_name("column"), 0
        for source, local in wanted.items():
            pieces = self._pieces[source]
            is_cut = pieces[0].is_lines or sources[source].format == "parquet"
            for piece in pieces if is_cut else pieces[:1]:
                some = local[piece.among(local)] if is_cut else local
                if some.size:
                    work.job.storage.put(
                        f"{name}-asked/{tasks:06d}", rows=some, at=np.array([piece.split, piece.before])
                    )
                    tasks += 1
        found = work.map("column", range(tasks), partial(read_values, work.job, self._run.reader.options, column, name))
        parts = [part for task in range(tasks) for part in parts_from(work.job, f"{name}/{task:06d}", found[task])]
        return joined(parts, column)

    def check(self, part: Source, rows: I64) -> None:
        known = self.known(part.name, rows)
        local, name = known.rows, self._work.next_name("again")
        splits = []
        for piece in self.pieces_of(part):
            some = piece.among(local)
            if some.stop > some.start:
                asked = {"rows": local[some], "prints": known.prints(some), "before": np.array(piece.before)}
                self._work.job.storage.put(f"{name}/{piece.split:06d}", **asked)
                splits.append(piece.split)
        self._work.map("check again", splits, partial(check_again, self._work.job, self._run.reader.options, name))

    def check_files(self, part: FilesSource, touched: Sequence[int]) -> None:
        local, name = np.array(touched, dtype=np.int64) + 1, self._work.next_name("again")
        splits = []
        for piece in self.pieces_of(part):
            some = piece.among(local)
            facts = self._work.facts[piece.split]
            if some.stop > some.start and facts["documents"]:
                self._work.job.storage.put(f"{name}/{piece.split:06d}", rows=local[some])
                places = {key: facts[key] for key in ("documents", "first", "before")}
                self._work.job.storage.put_facts(f"{name}/{piece.split:06d}", places)
                splits.append(piece.split)
        how = self._work.job, self._run.reader.options, name
        self._work.map("check again", splits, partial(check_files_again, *how))

    def write(self, parts: Sequence[Source], writer: CleanWriter, job_of: JobOf) -> list[str]:
        how: dict[str, Any] = {"options": self._run.reader.options, "pieces_of": self.pieces_of}
        return write_copies(self._work, parts, writer, job_of, **how)
