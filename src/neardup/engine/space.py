"""Where a run keeps its data: in memory, and past a limit in the files of a workdir.

``Budget`` says how much each stage may hold; ``Space`` opens the workdir when it is needed, or at once, and knows how
far an interrupted run had come. What goes into the files is each stage's business; how files look is in ``spool``.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike

from neardup.errors import InputError
from neardup.native.declare import is_ready
from neardup.spool import Column, MemoryColumn, Sorter, Workdir, available_memory, free_bytes, resident_memory
from neardup.spool.partitions import Partitions

PROGRAM = 250 << 20
"""Resident memory of the interpreter, the libraries and the loaded kernels before the first document."""
COMPILING = 130 << 20
"""What compiling the kernels, once on a machine, takes beside."""
LEAST_WORK = 96 << 20
CHECKPOINT_SECONDS = 10.0
"""After which the work of a long stage is made to last."""
RECORD_SHARE = 0.1
"""Of the memory for data, what one document may have: beside six times as much there is room for the store."""
DOCUMENT_BYTES = 24
"""Memory for each document that no limit can spare: weights, crowds, parents, ranks."""
DEFAULT_SHARE = 0.5
"""Share of the memory that is free at the start which a run may use when no limit was set."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Settings of the GNU allocator, by their numbers for ``mallopt``."""
_MOST_FREED = 64 << 20
"""The largest trim threshold that the allocator sets for itself; its threshold for ``mmap`` is half of that then."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes that data may take, and how the stages share them."""

    limit: int
    """Of the whole process, as set."""
    work: int
    """What is left of it for data."""
    record_share: float = field(default_factory=lambda: RECORD_SHARE)
    """What one document may have of that; less where the work on it takes more than six times its bytes."""

    @classmethod
    def of(cls, limit: int | None) -> Budget:
        """The budget under a limit in bytes; None: a share of the memory that is free now.

        Raises InputError where the limit leaves no room beside the program itself.
        """
        floor = max(resident_memory(), PROGRAM) + (0 if is_ready() else COMPILING)
        if limit is None:
            limit = max(int(DEFAULT_SHARE * available_memory()), floor + 2 * LEAST_WORK)
        if limit < floor + LEAST_WORK:
            raise InputError(
                f"a memory limit of {limit / 1e6:.0f} MB is too small: the program itself takes {floor / 1e6:.0f} MB "
                f"here. Give at least {(floor + LEAST_WORK) / 1e6 + 1:.0f}MB."
            )
        return cls(limit, limit - floor)

    @property
    def store(self) -> int:
        """Documents, signatures and ids kept in memory before they go to disk."""
        return int(0.4 * self.work)

    def threads(self, wanted: int, each: int = 40 << 20) -> int:
        """Threads that can work at a time, where the blocks of documents that one holds take ``each`` bytes."""
        return max(1, min(wanted, int(0.4 * self.work / each)))

    @property
    def record(self) -> int:
        """The largest record that may be read. Measured: 4 to 6 times its bytes are held while it is worked on."""
        return int(self.record_share * self.work)

    def together(self, threads: int) -> int:
        """Bytes of a block of documents that may be worked on beside others."""
        return self.record // (self.threads(threads) + 2)

    def share(self, part: float) -> int:
        """A part of the memory for data, in bytes."""
        return int(part * self.work)


class Space:
    """The workdir of a run, if it has one."""

    def __init__(
        self,
        budget: Budget,
        path: Path | None,
        identity: dict[str, Any],
        *,
        at_once: bool = False,
        resume: bool = False,
    ) -> None:
        """Name the folder, which is made when it is needed, or ``at_once``; None: everything must stay in memory.

        With ``resume`` an interrupted run's work is gone on with, if its ``identity`` is equal.
        """
        self.budget = budget
        self.path = path
        self.workdir: Workdir | None = None
        """None while everything is in memory."""
        self.is_lasting = False
        """Whether a later run can go on from the workdir: not where it was opened for pairs only."""
        self.identity = identity
        self.lasting: dict[str, Any] = {}
        """Facts that every checkpoint keeps."""
        self._last = time.monotonic()
        if resume and path is not None:
            self.workdir, self.is_lasting = Workdir.reopen(path, identity), True
            self._keep_little_freed()
        elif at_once:
            self.open()

    def open(self) -> Workdir:
        """The workdir, made now if it was not yet, for work that a later run can go on with."""
        is_new = self.workdir is None
        workdir = self.scratch()
        self.is_lasting |= is_new
        return workdir

    def scratch(self) -> Workdir:
        """The workdir, made now if it was not yet, for what outgrows the memory while the documents stay there."""
        if self.workdir is None:
            if self.path is None:
                raise InputError(
                    f"the collection does not fit into the memory limit of {self.budget.limit / 1e6:.0f} MB. "
                    "Raise the limit (memory=), or name a folder for the work on disk (workdir=)."
                )
            self.workdir = Workdir.create(self.path, self.identity)
            self._keep_little_freed()
        return self.workdir

    def column(self, name: str, dtype: DTypeLike, width: int = 1) -> Column:
        """A column where the rest of the data is: of the workdir, if there is one, else in memory."""
        return MemoryColumn(dtype, width) if self.workdir is None else self.workdir.column(name, dtype, width)

    def partitions(self, name: str, *, width: int, parts: int, share: float) -> Partitions:
        """Return partitions that go to files if they outgrow a ``share`` of the memory for data."""
        spill = None if self.path is None else self.scratch
        return Partitions(name, width=width, parts=parts, budget=self.budget.share(share), spill=spill)

    def sorter(self, name: str, *, payload: np.dtype[Any] | None, part: float, is_lasting: bool = False) -> Sorter:
        """A sorter that goes to files where it outgrows a ``part`` of the memory for data, wherever the rest is.

        ``is_lasting``: a later run can go on with its records even if everything else is in memory.
        """
        spill = None if self.path is None else self.open if is_lasting else self.scratch
        return Sorter(name, payload=payload, budget=self.budget.share(part), workdir=self.workdir, spill=spill)

    def delete(self, name: str) -> None:
        """Delete the columns whose names begin with ``name``, if there is a workdir that has any."""
        if self.workdir is not None:
            for each in self.workdir.names(name):
                self.workdir.delete(each)

    def need(self, size: float, what: str) -> None:
        """Raise unless the disk of the workdir has room for ``size`` bytes."""
        if self.path is None:
            return
        free = free_bytes(self.path)
        if size > free:
            raise InputError(
                f"{what} needs about {size / 1e9:.1f} GB in {self.path} and {free / 1e9:.1f} GB are free. "
                "Make room, name a folder on another disk with --workdir (workdir=), or raise --memory (memory=)."
            )

    def room(self, part: float) -> int:
        """Return the bytes that passing work may take now: a ``part`` of the memory for data, less if memory is short.

        What the kernel says that the process holds counts here, and so all that no estimate knows of.
        """
        free = self.budget.limit - resident_memory()
        return max(self.budget.share(part / 8), min(self.budget.share(part), int(2 * part * free)))

    def need_memory(self, size: int, what: str) -> None:
        """Raise unless data of ``size`` bytes fits beside the program, with a tenth to spare."""
        if size > 0.9 * self.budget.work:
            cure = ", and continue with --resume (resume=True)" if self.is_lasting and self.state else ""
            raise InputError(
                f"{what} need about {size / 1e6:.0f} MB of memory beside the program, and the limit of "
                f"{self.budget.limit / 1e6:.0f} MB leaves {self.budget.work / 1e6:.0f} MB. Raise --memory (memory=) to "
                f"{self.limit_for(size)}{cure}."
            )

    def limit_for(self, size: float) -> str:
        """The smallest limit, as the option takes it, beside which data of ``size`` bytes fits in memory."""
        return f"{(self.budget.limit - self.budget.work + size / 0.9) / 1e6 + 1:.0f}MB"

    def need_documents(self, count: int, expected: int) -> None:
        """Raise as soon as ``count`` documents were read that do not fit, of about ``expected`` that there will be.

        They may turn out to be others than were expected: so only what was read is refused.
        """
        if DOCUMENT_BYTES * count > 0.9 * self.budget.work:
            what = f"{count} documents" if expected <= count else f"About {expected} documents ({count} read so far)"
            self.need_memory(DOCUMENT_BYTES * max(count, expected), what)

    @property
    def state(self) -> dict[str, Any]:
        """What an interrupted run had finished; empty without a workdir."""
        return self.workdir.state if self.workdir is not None else {}

    @property
    def is_due(self) -> bool:
        """Whether there is a workdir that lasts and its last checkpoint was some time ago."""
        return self.is_lasting and time.monotonic() - self._last >= CHECKPOINT_SECONDS

    def checkpoint(self, **changes: Any) -> None:
        """Make all that was written so far, and these facts, last; nothing to do without a workdir that lasts."""
        if self.workdir is not None and self.is_lasting:
            self.workdir.checkpoint(**self.lasting, **changes)
            self._last = time.monotonic()

    def release_memory(self, *, at_once: bool = False) -> None:
        """Give memory that was freed, and that allocators keep, back where there is a workdir: it is short then.

        ``at_once``: also where there is none, because much was freed and more is about to be used.
        """
        if self.workdir is None and not at_once:
            return
        pa.default_memory_pool().release_unused()
        _allocator("malloc_trim", 0)

    def _keep_little_freed(self) -> None:
        """Let the GNU allocator keep little of the memory that is freed, for each thread.

        Else it keeps up to 64 MB for each: a check of pairs under 500 MB held 150 MB so, also after ``malloc_trim``.
        """
        _allocator("mallopt", _MMAP_THRESHOLD, _MOST_FREED // 2)
        _allocator("mallopt", _TRIM_THRESHOLD, min(_MOST_FREED, self.budget.share(0.02)))

    def close(self, *, finished: bool, refused: bool = False) -> None:
        """Remove the workdir if the run has finished, or no later run can continue from it; else leave it.

        A run that was ``refused`` for its inputs leaves no workdir without work, since it never continues.
        """
        if self.workdir is not None:
            if finished or not self.is_lasting or (refused and not self.state):
                self.workdir.remove()
            else:
                self.workdir.close()
            self.workdir = None
            _allocator("mallopt", _TRIM_THRESHOLD, _MOST_FREED)


def _allocator(function: str, *values: int) -> None:
    """Call a function of the GNU allocator; elsewhere do nothing."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library than GNU's
            getattr(ctypes.CDLL(None), function)(*values)
