"""One run over a stream: lines read, their new documents added, and the lines of these let through."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO

from neardup import logs
from neardup.errors import InputError
from neardup.index.outcomes import Streamed
from neardup.index.stream.admitting import OpenIndex, admit, steps, texts_of
from neardup.index.stream.lines import Chunk, LineReader, chunks
from neardup.index.stream.outputs import RemovalTable, check_names, open_output
from neardup.inputs.names import ids_of
from neardup.inputs.source import ReadOptions


class DedupStream:
    """Lets the new lines of a stream through; to be used in a ``with``. ``Index.dedup_stream`` says what it promises.

    ``chunks`` waits for input, ``take`` works on what has come: so the two can be done in different threads.
    """

    def __init__(
        self,
        index: OpenIndex,
        inputs: Sequence[str | Iterable[bytes]],
        output: str | BinaryIO,
        *,
        removed: str | None,
        reading: ReadOptions,
        input_format: str | None,
        threshold: float | None,
        on_duplicate: str,
    ) -> None:
        """Nothing is opened yet. Raises InputError: a format or a name does not fit, or an input is given twice."""
        check_names(output, removed)
        self.done = Streamed()
        """What became of the documents so far."""
        self._index, self._output, self._removed, self._reading = index, output, removed, reading
        self._how = {"threshold": threshold, "on_duplicate": on_duplicate}
        self._readers = [LineReader(source, reading, input_format) for source in inputs]
        if len({reader.name for reader in self._readers}) < len(self._readers):
            raise InputError("an input is given twice. Give each once.")

    def __enter__(self) -> DedupStream:
        for reader in self._readers:
            reader.check()
        with ExitStack() as stack:
            self._lines = open_output(self._output, self._index)
            stack.callback(self._lines.close)
            self._table = None if self._removed is None else RemovalTable(self._removed)
            if self._table is not None:
                stack.callback(self._table.close)
            self._close = stack.pop_all().close
        self.done += Streamed(paid=self._lines.paid)
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def chunks(self) -> Iterator[Chunk]:
        """Yield lines as they come, for ``take``."""
        return chunks(self._readers, self._reading)

    def take(self, chunk: Chunk) -> Iterator[Streamed]:
        """Read a chunk of lines, add its new documents, and let their lines through; yields after each step."""
        batch, lines = chunk.reader.read(chunk)
        logs.skipped(batch.faults)
        self.done += Streamed(len(batch.documents), bad=batch.bad, blank=batch.blank, faults=tuple(batch.faults))
        texts = texts_of(batch.documents, item=self._reading.item)
        names = ids_of(batch, hashed=True)
        for part, step in steps(self._index, names, texts, batch.columns, made=batch.ids is None):
            mine = lines[part]
            self._lines.promise([(step.ids[place], step.texts[place], mine[place]) for place in step.unknown])
            admissions = admit(self._index, step, self._how)
            fresh = [(line, each.id) for line, each in zip(mine, admissions, strict=True) if each.is_new]
            self._lines.write([line for line, _ in fresh], [id for _, id in fresh])
            old = [each for each in admissions if not each.is_new]
            near = sum(each.match is not None for each in old)
            self.done += Streamed(new=len(fresh), near=near, skipped=len(old) - near)
            if self._table is not None:
                self._table.write(old)
            yield self.done


def as_sources(inputs: Any) -> list[str | Iterable[bytes]]:
    """The inputs of ``Index.dedup_stream`` one by one: names as strings, and what else gives bytes as it is."""
    if isinstance(inputs, (str, os.PathLike)):
        return [os.fspath(inputs)]
    if isinstance(inputs, (list, tuple)) and all(isinstance(each, (str, os.PathLike)) for each in inputs):
        return [os.fspath(each) for each in inputs]
    if isinstance(inputs, (bytes, bytearray, memoryview)) or not isinstance(inputs, Iterable):
        raise InputError(f"inputs are of type {type(inputs).__name__}. Give names of files, or lines as bytes.")
    return [inputs]
