"""Files that are one document each: texts, and people's documents; the id of a document is the path of its file.

Files are read inside the tasks, so that many small ones are read in parallel; documents in processes that end with the
last task. A document (a PDF, say) that cannot be read is noted and left out whatever ``on_bad`` says: in a folder of
such files some are protected, damaged or scanned, and that is no mistake in the data. A bad text file is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from neardup.arrays import strings
from neardup.errors import InputError
from neardup.inputs.again import WholeFiles
from neardup.inputs.batches import undecodable
from neardup.inputs.blocks import read_all
from neardup.inputs.documents import PagedText, Unreadable
from neardup.inputs.documents.pool import Readers, shared_readers
from neardup.inputs.formats import stored_codec
from neardup.inputs.items import split_items
from neardup.inputs.source import BATCH_BYTES, Faults, ReadOptions, Source, Task, TooLarge, sized
from neardup.inputs.stream import is_regular
from neardup.inputs.walk import InputFile
from neardup.shown import shown, shown_path
from neardup.types import Alone, Batch, Documents, NeedsRoom, Origin, Places

_FILE_BYTES = 512
"""What a file counts for beside its bytes when batches are cut: opening one takes its time."""
_DOCUMENT_BYTES = 256 << 10
"""The same of a document, which takes as long to read as a text of this size or more."""


class FilesSource(Source):
    """Files in the order given."""

    format = "text"

    def __init__(self, name: str, files: Sequence[InputFile], options: ReadOptions) -> None:
        super().__init__(name, options, total_bytes=sum(file.size for file in files))
        self.files = files
        self._origin = WholeFiles(name, files, partial(_read_again, name, options))

    @property
    def pipe(self) -> str | None:
        return next((file.path for file in self.files if file.stream is not None), None)

    @property
    def paths(self) -> list[str] | None:
        """As of every source. What is known to be unreadable, such as a broken link, is not read, now or later."""
        are_regular = all(file.error is not None or is_regular(file.path) for file in self.files)
        return [file.path for file in self.files] if are_regular else None

    def tasks(self) -> Iterator[Task]:
        """Yield a task for at most ``block`` files, about 4 MB; a compressed text, of unknown size, has its own."""
        readers = shared_readers()
        part = range(len(self.files)) if self.part is None else self.part
        start, size = part.start, 0
        for i in range(part.start + 1, part.stop + 1):
            file = self.files[i - 1]
            if _is_packed(file) and start < i - 1:
                yield sized(partial(self.read, start, i - 1, readers), size, self._options)
                start, size = i - 1, 0
            size += _cost(file)
            is_full = size >= BATCH_BYTES or i - start == self._options.block
            if is_full or _is_packed(file) or i == part.stop:
                yield sized(partial(self.read, start, i, readers), size, self._options)
                start, size = i, 0

    def pieces(self) -> list[tuple[int, int]]:
        """What each file counts for, in bytes; its row is one."""
        return [(_cost(file), 1) for file in self.files]

    def read(self, start: int, stop: int, readers: Readers | None = None, is_alone: bool = False) -> Batch:
        """Read the files at some places, counted from 0; without ``readers`` documents get some for this call.

        ``is_alone``: nothing else is being worked on, so that there is room for the largest text.

        Raises:
            InputError: a text cannot be read, and that is to fail the run.
            NeedsRoom: a text is too large to be worked on beside others.
        """
        files = self.files[start:stop]
        batch = self.read_files(files, start + 1, readers or Readers(), is_alone)
        if not WholeFiles.can_be_read(files):
            return batch
        return replace(batch, places=Places(self._origin, batch.rows - 1, batch.rows))

    def reopened(self, facts: dict[str, Any]) -> Origin | None:
        return self._origin

    def read_files(self, files: Sequence[InputFile], first: int, readers: Readers, is_alone: bool = False) -> Batch:
        """As ``read``, of files whose rows begin with ``first``."""

        def on_large() -> None:
            raise NeedsRoom(Alone(partial(self.read_files, files, first, readers, True)))

        can_wait = self._options.limit.is_set and not is_alone
        faults = Faults(self.name, self._options.on_bad)
        blobs: list[bytes] = []
        rows: list[int] = []
        ids: list[str] = []
        pages: dict[int, tuple[int, ...]] = {}
        for row, file in enumerate(files, start=first):
            if file.is_document:
                text, starts = self._document(readers, file, faults)
                if starts:
                    pages[len(blobs)] = starts
            else:
                text = self._text(file, faults, on_large if can_wait and _is_packed(file) else None)
            if text is not None:
                blobs.append(text)
                rows.append(row)
                ids.append(shown_path(file.path))
        consumed = sum(file.size for file in files)
        documents, places = Documents.from_bytes(blobs), np.array(rows, dtype=np.int64)
        return faults.batch(documents, places, strings(ids), consumed=consumed, pages=pages)

    def _document(self, readers: Readers, file: InputFile, faults: Faults) -> tuple[bytes | None, tuple[int, ...]]:
        """The text of a document, or None when it cannot be read, which is a fault and never an error.

        And where its pages begin, if it has pages.
        """
        path = shown_path(file.path)
        options = self._options
        try:
            if file.error is not None:
                raise Unreadable(shown_path(file.error).removeprefix(f"{path} ").rstrip("."), "")
            how = {"encoding": options.encoding, "boilerplate": options.boilerplate}
            text = readers.read(file.read_as or file.path, stream=file.stream, **how)
        except Unreadable as exc:
            faults.note(0, str(exc), source=path)
            return None, ()
        blob = split_items(text) if options.item else text.encode("utf-8")
        if len(blob) > options.limit.largest:
            faults.note(0, " ".join(options.limit.refusal("its text", len(blob))), source=path)
            return None, ()
        return blob, text.starts if isinstance(text, PagedText) and not options.item else ()

    def _text(self, file: InputFile, faults: Faults, on_large: Callable[[], None] | None) -> bytes | None:
        """The text of a text file, or None when it is a fault; ``on_large`` as for ``read_all``."""
        path = shown_path(file.path)
        try:
            if file.error is not None:
                raise InputError(file.error)
            source, options = file.stream or file.path, self._options
            text = read_all(source, encoding=options.encoding, limit=options.limit, on_large=on_large)
        except TooLarge as exc:
            faults.add(0, exc.reason, exc.cure, source=path)
            return None
        except InputError as exc:
            if self._options.on_bad != "skip":
                raise
            faults.add(1, str(exc).removeprefix(f"{shown(path)} "), source=path)
            return None
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as exc:
            line = text.count(b"\n", 0, exc.start) + 1
            faults.add(line, *undecodable(exc, "file", self._options.encoding), source=path)
            return None
        return split_items(text.decode("utf-8")) if self._options.item else text


def _read_again(name: str, options: ReadOptions, files: Sequence[InputFile]) -> Batch:
    """Read some plain texts of a source by themselves."""
    return FilesSource(name, files, options).read_files(files, 1, Readers(), is_alone=True)


def _cost(file: InputFile) -> int:
    """Bytes that a file counts for."""
    return file.size + (_DOCUMENT_BYTES if file.is_document else _FILE_BYTES)


def _is_packed(file: InputFile) -> bool:
    return not file.is_document and file.stream is None and stored_codec(file.path) is not None
