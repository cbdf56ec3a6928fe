"""What all readers share: options, a source of tasks, and the record of what was wrong.

A reader extends ``Source``. Each of its tasks is independent of the others and returns one ``Batch``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from neardup.errors import InputError
from neardup.inputs.columns import ReadColumns, check_guess, guess_text
from neardup.inputs.formats import stored_codec
from neardup.inputs.stream import ByteStream, is_regular
from neardup.spool import available_memory
from neardup.types import I64, MOST_FAULTS, Alone, Batch, Documents, Fault, Origin

BATCH_BYTES = 4 << 20
"""Input bytes that one batch holds, about: enough to keep a thread busy, little beside any memory limit."""

BATCH_DOCUMENTS = 1 << 14
"""Documents that one batch holds at most: their signatures take memory however short the texts are."""

INT64 = range(-(1 << 63), 1 << 63)
"""Ids that stay whole numbers; those beyond become their decimal text."""

Task: TypeAlias = Callable[[], Batch]

COUNT_TO = 4 << 30
"""Bytes to which a record is counted that ends the run: the rest of a bomb need not be unpacked to refuse it."""
_SHARE = 0.05
"""Of the memory that is free, what one record may have where no run has set its limit."""


class TooLarge(InputError):
    """A file that is read in one piece cannot be held in memory; ``reason`` and ``cure`` say it without its name."""

    def __init__(self, name: str, reason: str, cure: str) -> None:
        super().__init__(f"{name}: {reason}. {cure}")
        self.reason = reason
        self.cure = cure


@dataclass(frozen=True, slots=True)
class TooLargeRows:
    """Rows that can be read together only and cannot be held."""

    rows: int
    what: str
    """What of them is too large."""
    size: int

    def __len__(self) -> int:
        return self.rows


@dataclass(slots=True, eq=False)
class RecordLimit:
    """The largest record, or file that is one document, that may be held; whatever is larger is a bad record.

    One is shared by all sources of a run, which sets it before it asks for tasks. What is read without a run goes by
    the memory that is free when the first record is read.
    """

    _largest: int | None = None
    _memory: int | None = None
    _growth: float = 0.0
    _together: int | None = None
    _setting: str = "--memory (memory=)"

    def set(self, largest: int, *, memory: int, growth: float, together: int, setting: str | None = None) -> None:
        """Set what a run allows: ``largest`` and ``together`` as below, in bytes, under its limit of ``memory``.

        ``growth``: by how much that must be raised for each further byte of a record; ``setting``: what raises it.
        """
        self._largest, self._memory, self._growth, self._together = largest, memory, growth, together
        self._setting = setting or self._setting

    @property
    def largest(self) -> int:
        """Bytes of the largest record in UTF-8."""
        if self._largest is None:
            self._largest = max(BATCH_BYTES, int(_SHARE * available_memory()))
        return self._largest

    @property
    def together(self) -> int:
        """Bytes of a task that may be worked on beside others."""
        return self.largest // 4 if self._together is None else self._together

    @property
    def is_set(self) -> bool:
        """Whether a run has set it, which then works on what is too large for the threads by itself."""
        return self._memory is not None

    @property
    def whole(self) -> int:
        """Bytes that may be held of what can be read in one piece only and has many records, as a page of Parquet."""
        return 3 * self.largest

    def refusal(self, what: str, size: int, *, is_more: bool = False, most: int | None = None) -> tuple[str, str]:
        """The reason why ``what`` ("the line", "the record") of ``size`` bytes is too large, and the cure.

        ``is_more``: it has more bytes than that, and was not read to its end. ``most``: the limit for it; None: that
        for records.
        """
        most = self.largest if most is None else most
        of = "the memory that is free" if self._memory is None else f"a memory limit of {megabytes(self._memory)}"
        reason = (
            f"{what} has {'more than ' if is_more else ''}{megabytes(size)}, and {of} allows {megabytes(most)} for one"
        )
        if self._memory is None:
            return reason, "Read it where there is more memory."
        wanted = self._memory + max(0.0, size * self.largest / most - self.largest) * self._growth
        return reason, f"Raise {self._setting} to {'more than ' if is_more else ''}{wanted / 1e6 + 1:.0f}MB."


def megabytes(size: int) -> str:
    """Bytes for a message, as "15.2 MB" or "1,520 bytes"."""
    return f"{size / 1e6:,.1f} MB" if size >= 1_000_000 else f"{size:,} bytes"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How every source of one run is read: what ``open_inputs`` makes of ``InputOptions``."""

    text: str | tuple[str, ...] | None = None
    id: str | None = None
    encoding: str = "utf-8"
    on_bad: str = "fail"
    item: bool = False
    block: int | None = None
    boilerplate: str = "keep"
    column: str | tuple[str, ...] = ()
    """Further columns that are read, as ``text`` names several."""
    positions: bool = True
    """Whether values in memory without ids are named by their position."""
    limit: RecordLimit = field(default_factory=RecordLimit, compare=False)
    """No argument: set by the run."""

    @property
    def count_to(self) -> int | None:
        """Bytes of a record after which nothing behind it is read; None: all is."""
        return COUNT_TO if self.on_bad == "fail" else None


def sized(task: Task, nbytes: int, options: ReadOptions) -> Task:
    """A task for ``nbytes`` of text, marked where that is too much to be worked on beside others."""
    return task if nbytes <= 2 * BATCH_BYTES or nbytes <= options.limit.together else Alone(task)


def oversized(
    source: str, row: int, what: str, size: int, options: ReadOptions, *, consumed: int, rows: int = 1
) -> Batch:
    """The batch of ``rows`` records from ``row`` on that are too large to be held: bad ones, and nothing else."""
    faults = Faults(source, options.on_bad)
    is_more = options.on_bad == "fail" and size > COUNT_TO
    most = None if rows == 1 else options.limit.whole
    faults.add(row, *options.limit.refusal(what, size, is_more=is_more, most=most))
    faults.count = rows
    return faults.batch(Documents.from_bytes([]), np.empty(0, dtype=np.int64), consumed=consumed)


class Source:
    """One input that gives batches; most are files, which are not opened before ``tasks``."""

    format = ""
    """One of INPUT_FORMATS, of files."""
    part: range | None = None
    """What alone is read of it: the bytes in which lines begin (``is_cut_at_lines``), or some of its ``pieces``."""
    first_row = 1
    """Number of the first row that is read."""
    role = "input"
    """The argument that names it, such as "against"."""

    def __init__(
        self,
        name: str | Path,
        options: ReadOptions,
        *,
        total_bytes: int | None = None,
        stream: ByteStream | None = None,
    ) -> None:
        """Nothing is read yet.

        ``name``: the input as the user named it, such as a file, or "-"; the default id is ``name:row``.
        ``total_bytes``: of input as stored; None when unknown. ``stream``: open, where it was looked into already.
        """
        self.name = str(name)
        self.total_bytes = total_bytes
        self._options = options
        self._stream = stream
        self.columns: ReadColumns | None = None
        """What is read of it, where it has columns; known when the first task was made."""
        self.names: Sequence[str] = ()
        """The names of all columns; known with ``columns``."""

    @property
    def pipe(self) -> str | None:
        """The pipe that it reads, "-" for standard input; None: it reads none."""
        return None if self._stream is None else self.name

    @property
    def is_plain(self) -> bool:
        """Whether its bytes are in the file of its name, as they are."""
        return self._stream is None and stored_codec(self.name) is None

    @property
    def no_copy(self) -> str | None:
        """Why no clean copy can be made of it, with the cure; None: one can."""
        return None

    @property
    def passed(self) -> Sequence[Any]:
        """What it holds and does not read, as ``PassedOver``; asked for when it was read."""
        return ()

    def look(self) -> ReadColumns | None:
        """The columns that ``tasks`` will read, without reading more than tells them; None: it has no names for them.

        Raises InputError as ``tasks`` does.
        """
        return None

    @cached_property
    def looked_at(self) -> ReadColumns | None:
        """The answer of ``look``, which is called once. Raises InputError as ``first_tasks`` and its first task do."""
        read = self.look()
        for task in islice(self.first_tasks() if self._is_guess(read) else (), 1):
            task()
        return read

    def first_tasks(self) -> Generator[Task, None, None]:
        """Yield ``tasks``. The first raises NoTextColumn if the text was only guessed, and its texts are numbers."""
        for number, task in enumerate(self.tasks()):
            is_doubtful = number == 0 and not isinstance(task, Alone) and self._is_guess(self.columns)
            yield partial(self._checked, task) if is_doubtful else task

    def _is_guess(self, read: ReadColumns | None) -> bool:
        is_chosen = self._options.text is not None or self._options.item
        return not is_chosen and read is not None and guess_text(read.text) is None

    def _checked(self, task: Task) -> Batch:
        batch = task()
        check_guess(map(batch.documents.blob, range(len(batch.documents))), self.columns, self.names, self.name)
        return batch

    @property
    def paths(self) -> list[str] | None:
        """The regular files that it reads, or None when it reads something else too."""
        return [self.name] if is_regular(self.name) else None

    @property
    def is_rereadable(self) -> bool:
        """Whether it can be read once more, with the same outcome unless somebody changes it."""
        return self.paths is not None

    def opened(self) -> AbstractContextManager[ByteStream]:
        """Its bytes, unpacked."""
        return ByteStream(self.name)

    def reopened(self, facts: dict[str, Any]) -> Origin | None:
        """The origin of its records again, of which a run before this one took the ``facts``."""
        raise NotImplementedError

    def is_cut_at_lines(self) -> bool:
        """Whether the lines that begin in any range of its bytes can be read by themselves."""
        return False

    def pieces(self) -> list[tuple[int, int]]:
        """Bytes, about, and rows of each of the pieces that can be read by themselves; empty: it has none.

        Raises InputError as ``tasks`` does.
        """
        return []

    def tasks(self) -> Iterator[Task]:
        """Yield tasks in input order: cheap to make, independent to run."""
        raise NotImplementedError


class UnusableRecord(InputError):
    """A record that cannot be used, in a run that is to fail at it."""

    def __init__(self, fault: Fault, cure: str) -> None:
        """``cure``: a sentence, or empty."""
        self.fault = fault
        self.cure = cure
        words = f"{cure} Or" if cure else "Fix it, or"
        super().__init__(f"{fault}. {words} leave out bad records with --on-bad skip (on_bad='skip').")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.fault, self.cure)


class BadRecord(ValueError):
    """A line or a value that is no record; the message is the reason, ``cure`` a sentence or empty."""

    def __init__(self, reason: str, cure: str = "") -> None:
        super().__init__(reason)
        self.cure = cure


@dataclass(slots=True)
class Faults:
    """What was wrong in one task: raises at the first bad record under ``fail``, counts under ``skip``."""

    source: str
    on_bad: str
    count: int = 0
    first: list[Fault] = field(default_factory=list)

    def batch(self, documents: Documents, rows: I64, ids: Any = None, **more: Any) -> Batch:
        """What could be read, with what could not; ``more``: further fields of it."""
        return Batch(documents, self.source, rows, ids, bad=self.count, faults=tuple(self.first), **more)

    def add(self, row: int, reason: str, cure: str = "", *, source: str | None = None) -> None:
        """Note that the record at 1-based ``row`` cannot be used; UnusableRecord where that is to fail the run.

        ``reason`` says what is wrong, with the value; ``cure``, a sentence, comes before "--on-bad skip"; ``source`` is
        the file, where the batch's source has several.
        """
        if self.on_bad != "skip":
            raise UnusableRecord(Fault(source or self.source, int(row), reason), cure)
        self.note(row, reason, source=source)

    def note(self, row: int, reason: str, *, source: str | None = None) -> None:
        """Note a record that is left out whatever ``on_bad`` says."""
        self.count += 1
        if len(self.first) < MOST_FAULTS:  # as many as a run tells, which are the same however it was cut
            self.first.append(Fault(source or self.source, int(row), reason))
