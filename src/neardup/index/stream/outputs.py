"""Where the lines go that are let through: a pipe, or a file that loses and doubles none.

A document is durable in the index before its line is written. A process that is killed between the two owes some
lines: those of one step at most. Where the lines go to a file, a note beside it holds the lines of the step while it
is worked on, and the next run pays what is owed. The table of removed documents is here too.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from neardup.errors import FormatError, InputError, OutputError
from neardup.index.outcomes import Admission
from neardup.index.stream.admitting import OpenIndex, plain, stored_texts
from neardup.inputs.formats import stored_codec
from neardup.outputs.atomic import writing
from neardup.outputs.stdout import stdout_bytes
from neardup.spool.machine import sync_folder

STDOUT = "-"
NOTE_SUFFIX = ".neardup-pending"
_COLUMNS = ("id", "match", "similarity")
REMOVED_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


def check_names(output: object, removed: str | None) -> None:
    """Refuse a name that promises compression, for lines go out as they come in, and a table that cannot grow."""
    if isinstance(output, str) and stored_codec(output) is not None:
        raise InputError(f"{output}: lines are written as they come, not compressed. Give a name without that ending.")
    if removed is not None and Path(removed).suffix.lower() not in REMOVED_FORMATS:
        raise InputError(
            f"{removed}: the table of removed documents grows with the stream. Give a name that ends in"
            f" {', '.join(REMOVED_FORMATS)}."
        )


def open_output(output: str | BinaryIO, index: OpenIndex) -> PipeOutput | FileOutput:
    """The output for a name, ``-`` for stdout, or a binary stream; a regular file, or what will be one, has a note."""
    if not isinstance(output, str) or output == STDOUT or (os.path.exists(output) and not os.path.isfile(output)):
        return PipeOutput(output, index)
    return FileOutput(output, index)


class _Joiner:
    """Lines one behind the other, also where the one before had no newline at its end."""

    def __init__(self, last: bytes = b"") -> None:
        """Go on behind a file that ends with this byte, if it has any."""
        self._is_open = last not in (b"", b"\n")

    def joined(self, lines: Iterable[bytes]) -> bytes:
        parts: list[bytes] = []
        for line in lines:
            if self._is_open:
                parts.append(b"\n")
            parts.append(line)
            self._is_open = not line.endswith(b"\n")
        return b"".join(parts)


class PipeOutput:
    """Lines to stdout, a special file or a stream, flushed after each step.

    What went into a pipe cannot be looked at again. So when it takes no more, the documents of the step are taken out
    of the index.
    """

    paid = 0

    def __init__(self, target: str | BinaryIO, index: OpenIndex) -> None:
        self._index = index
        self._joiner = _Joiner()
        self._stream: Any = target
        self._is_ours = isinstance(target, str) and target != STDOUT
        if target == STDOUT:
            self._name, self._stream = "stdout", stdout_bytes()
            if self._stream is None:
                raise OutputError("stdout is closed. Give a file for the lines with -o.")
        elif isinstance(target, str):
            self._name = target
            with writing(target):
                self._stream = open(target, "wb", buffering=0)  # noqa: SIM115 kept until close
        else:
            self._name = str(getattr(target, "name", "the output"))

    def close(self) -> None:
        """Close what was opened here; stdout and a stream that was given stay open."""
        if self._is_ours:
            self._stream.close()

    def promise(self, rows: Sequence[tuple[Any, Any, bytes]]) -> None:
        """Nothing can be promised of a pipe."""

    def write(self, lines: Sequence[bytes], ids: Sequence[Any]) -> None:
        """Write the lines of documents that are durable now; with an OutputError they are out of the index again."""
        try:
            self._stream.write(self._joiner.joined(lines))
            self._stream.flush()
        except OSError as exc:
            self._index.remove(ids, missing="skip")
            raise OutputError(
                f"cannot write {self._name}: {exc.strerror}. The documents of the lines that were to go out were taken"
                " out of the index again: give them once more, or use -o FILE, which is completed by a later run."
            ) from exc


class FileOutput:
    """Lines behind those that a file has, synced after each step; what a run that died owes is paid first."""

    def __init__(self, name: str, index: OpenIndex) -> None:
        self._name = name
        self._path = Path(os.path.realpath(name))
        self._folder = None if index.path is None else os.path.realpath(index.path)
        self._note = self._path.with_name(self._path.name + NOTE_SUFFIX)
        self._index = index
        with writing(name):
            owed = self._owed() if self._note.exists() else []
            self._stream = open(self._path, "ab")  # noqa: SIM115 kept until close
            self._joiner = _Joiner(self._last_byte())
        try:
            self.write(owed)
        except BaseException:
            self.close()
            raise
        self.paid = len(owed)
        """Lines that an earlier run owed."""

    def close(self) -> None:
        with contextlib.suppress(OSError):  # every step was flushed, or has failed and was told
            self._stream.close()

    def promise(self, rows: Sequence[tuple[Any, Any, bytes]]) -> None:
        """Note id, text and line of the documents of a step that are not there yet, before they become durable."""
        if not rows:
            return
        documents = [[id, _digest(plain(text)), len(line)] for id, text, line in rows]
        head = {"index": self._folder, "size": self._stream.tell(), "documents": documents}
        temporary = self._note.with_name(f".{self._note.name}.part")
        with writing(self._name):
            with open(temporary, "wb") as stream:
                stream.write(json.dumps(head).encode() + b"\n")
                stream.writelines(line for _, _, line in rows)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(self._note)
            sync_folder(self._note.parent)

    def write(self, lines: Sequence[bytes], ids: Sequence[Any] = ()) -> None:
        """Write the lines of documents that are durable now; then nothing is owed. Else the next run writes them."""
        with writing(self._name):
            self._stream.write(self._joiner.joined(lines))
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._note.unlink(missing_ok=True)

    def _owed(self) -> list[bytes]:
        """The lines of documents that a run that died made durable; what it wrote of them is taken away."""
        with open(self._note, "rb") as stream:
            try:
                head = json.loads(stream.readline())
                size, documents = head["size"], head["documents"]
                lines = [stream.read(length) for _, _, length in documents]
                if not {len(digest) for _, digest, _ in documents} <= {32, 64}:
                    raise ValueError
            except (ValueError, KeyError, TypeError) as exc:
                raise self._refused(f"{self._note} is damaged") from exc
        if head["index"] != self._folder:
            raise self._refused(f"{self._note} is of a run with the index {head['index']}")
        if not self._path.exists() or self._path.stat().st_size < size:
            raise self._refused(f"{self._name} is shorter than the run left it that wrote {self._note}")
        os.truncate(self._path, size)
        there = stored_texts(self._index, [id for id, _, _ in documents])
        owed: dict[str, bytes] = {}
        for (id, digest, _), line, text in zip(documents, lines, there, strict=True):
            if text is not None and _digest(text, len(digest) // 2) == digest:
                owed.setdefault(str(id), line)
        return list(owed.values())

    def _refused(self, what: str) -> FormatError:
        return FormatError(
            f"{what}: the lines that a run that was killed owes to {self._name} are not known. Delete {self._note} to"
            " go on without them."
        )

    def _last_byte(self) -> bytes:
        with open(self._path, "rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 1))
            return stream.read(1)


def _digest(text: str, size: int = 32) -> str:
    """What a note says of a text: 256 bits that nobody can find a second text for (16 bytes in notes of old)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


class RemovalTable:
    """The table id, match, similarity of documents that were not let through: rows behind those that a file has."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._format = REMOVED_FORMATS[Path(name).suffix.lower()]
        with writing(name):
            self._stream = open(name, "a", encoding="utf-8", newline="")  # noqa: SIM115 kept until close
        if self._format == "csv" and self._stream.tell() == 0:
            csv.writer(self._stream).writerow(_COLUMNS)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # every step was flushed, or has failed and was told
            self._stream.close()

    def write(self, removed: Iterable[Admission]) -> None:
        """Add a row for each document. Raises OutputError: they cannot be written."""
        rows = [(each.id, each.match and each.match.id, each.match and each.match.similarity) for each in removed]
        with writing(self._name):
            if self._format == "csv":
                csv.writer(self._stream).writerows(rows)
            else:
                for row in rows:
                    self._stream.write(json.dumps(dict(zip(_COLUMNS, row, strict=True)), ensure_ascii=False) + "\n")
            self._stream.flush()
