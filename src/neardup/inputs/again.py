"""Records read a second time, each by its place in a file, so that a run need not keep the texts of all of them.

Only of plain files: of what is compressed, transcoded, in an archive or comes through a pipe a part cannot be read
without all that is before it. Whether a file is still what it was is asked twice: by its size and time whenever it is
opened here, and by the hashes of the texts where they are compared (``engine.reading.again``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from neardup.cutting import starts_of
from neardup.errors import InputChanged, InputError
from neardup.inputs.blocks import NEWLINE, LineBlock, LineSource
from neardup.inputs.walk import InputFile
from neardup.kernels.reading import read_pieces
from neardup.shown import shown_path
from neardup.types import I64, SLACK, Batch, Documents


def _changed(path: str, what: str = "was changed") -> InputChanged:
    return InputChanged(
        f"{shown_path(path)} {what} while the run went on, and its texts are read again where they are compared. Start "
        "again when nobody writes to it, or give a copy."
    )


class PlainFile:
    """A regular file that is read again at places, for as long as it is what it was when this was made."""

    def __init__(self, path: str) -> None:
        """It must stay as it is now: as large, and changed no later."""
        self.path = path
        self._stamp = self._now(os.stat(path))

    @staticmethod
    def _now(facts: os.stat_result) -> tuple[int, int]:
        return facts.st_size, facts.st_mtime_ns

    def changed(self, what: str = "was changed") -> InputChanged:
        """The error to raise: the file is not what it was."""
        return _changed(self.path, what)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the file; InputChanged where it is another one now."""
        try:
            # a pipe that was put in its place would wait for somebody to write
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError as exc:
            raise self.changed("was removed") from exc
        except OSError as exc:
            raise InputError(f"{shown_path(self.path)} cannot be read again: {exc.strerror or exc}.") from exc
        try:
            if self._now(os.fstat(fd)) != self._stamp:
                raise self.changed()
            yield fd
        finally:
            os.close(fd)

    def read(self, fd: int, start: int, into: memoryview) -> None:
        """Read one piece; InputChanged where the file ends before it does, InputError where it cannot be read."""
        done = 0
        while done < into.nbytes:
            try:
                got = os.pread(fd, into.nbytes - done, start + done)
            except OSError as exc:
                raise InputError(f"{shown_path(self.path)} cannot be read again: {exc.strerror or exc}.") from exc
            if not got:
                raise self.changed("was cut short")
            into[done : done + len(got)] = got
            done += len(got)


class LineRecords:
    """Records of a plain file that are lines, or whole runs of lines."""

    def __init__(self, file: PlainFile, parse: Callable[[LineBlock], Batch], facts: dict[str, Any]) -> None:
        """``parse`` reads a block of records as it was read the first time; ``facts`` say how."""
        self._file = file
        self._parse = parse
        self.facts = facts
        """JSON values from which ``Reader.reopened`` makes it again."""

    @classmethod
    def of(cls, source: LineSource, parse: Callable[[LineBlock], Batch], **facts: Any) -> Self | None:
        """Those of a source that is about to be read; None where they cannot be read again."""
        if not (hasattr(os, "pread") and source.is_plain_utf8 and os.path.isfile(source.name)):
            return None
        return cls(PlainFile(source.name), parse, {"source": source.name, **facts})

    def changed(self, start: int) -> InputChanged:
        return self._file.changed()

    def read(self, starts: I64, stops: I64) -> Documents:
        """The documents of records by their bytes in the file; see ``types.Origin``."""
        sizes = stops - starts
        places = starts_of(sizes)
        size = int(places[-1])
        data = np.empty(size + SLACK, dtype=np.uint8)
        with self._file.opened() as fd:
            for left in range(read_pieces(fd, starts, sizes, data, places), sizes.size):
                self._file.read(fd, int(starts[left]), data[places[left] : places[left + 1]].data)
        data[size:] = NEWLINE
        try:
            batch = self._parse(LineBlock(data, size, starts.size, 1, 0))
        except InputError as exc:  # what could be read before is no record now
            raise self._file.changed() from exc
        if len(batch.documents) != starts.size or batch.bad:
            raise self._file.changed()
        return batch.documents


class WholeFiles:
    """Text files of which each is one document: a record is a file, and its place the number of it."""

    def __init__(self, source: str, files: Sequence[InputFile], read: Callable[[Sequence[InputFile]], Batch]) -> None:
        """``read`` reads some of ``files``, as it did the first time."""
        self.facts = {"source": source}
        self._files = files
        self._read = read

    @staticmethod
    def can_be_read(files: Sequence[InputFile]) -> bool:
        """Whether each is plain text in a regular file: what is made from a document takes too long to make twice."""
        return not any(file.is_document or file.stream or file.error or not os.path.isfile(file.path) for file in files)

    def changed(self, start: int) -> InputChanged:
        path = self._files[start].path
        return _changed(path, "was changed" if os.path.exists(path) else "was removed")

    def read(self, starts: I64, stops: I64) -> Documents:
        """The documents of files by their numbers; see ``types.Origin``."""
        some = starts.tolist()
        try:
            batch = self._read([self._files[place] for place in some])
        except InputError as exc:
            gone = next((place for place in some if not os.path.isfile(self._files[place].path)), None)
            raise exc if gone is None else self.changed(gone) from exc
        if len(batch.documents) != len(some):
            left = set(some) - set((batch.rows - 1).tolist())
            raise self.changed(min(left, default=some[0]))
        return batch.documents
