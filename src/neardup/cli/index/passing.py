"""Where the lines go that ``dedup-stream`` lets through: stdout, or a file that loses and doubles none.

A document is durable in the index before its line is written. A process that is killed between the two owes some
lines: those of one batch at most. Where the lines go to a file, a note beside it holds the lines of the batch while it
is worked on, and the next run pays what is owed. The table of removed documents is here too.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from neardup.cli.index.admitting import plain, stored_texts
from neardup.errors import FormatError, InputError, NeardupError, OutputError

__all__ = ["FilePassing", "PipePassing", "Removals", "is_plain_file", "plain_target"]

STDOUT = "-"
NOTE_SUFFIX = ".neardup-pending"
_COLUMNS = ("id", "match", "similarity")
REMOVED_FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


def plain_target(name: str) -> None:
    """Refuse a name that promises compression: lines go out as they come in.

    Raises:
        InputError: it does.
    """
    if Path(name).suffix.lower() in (".gz", ".zst"):
        raise InputError(f"{name}: lines are written as they come, not compressed. Give a name without that ending.")


class _Lines:
    """Lines one behind the other, also where the one before had no newline at its end."""

    def __init__(self) -> None:
        self._is_open = False

    def joined(self, lines: Iterable[bytes]) -> bytes:
        parts: list[bytes] = []
        for line in lines:
            if self._is_open:
                parts.append(b"\n")
            parts.append(line)
            self._is_open = not line.endswith(b"\n")
        return b"".join(parts)

    def start_behind(self, last: bytes) -> None:
        """Go on behind a file that ends with this byte, if it has any."""
        self._is_open = last not in (b"", b"\n")


class PipePassing:
    """Lines to stdout or a special file, flushed after each batch.

    What went into a pipe cannot be looked at again. So when it takes no more, the documents of the batch are taken out
    of the index.
    """

    paid = 0

    def __init__(self, name: str, index: Any) -> None:
        self._name = name
        self._index = index
        self._lines = _Lines()
        self._stream: Any = None

    def __enter__(self) -> PipePassing:
        from neardup.outputs.atomic import output_error
        from neardup.outputs.stdout import stdout_bytes

        if self._name != STDOUT:
            try:
                self._stream = open(self._name, "wb", buffering=0)
            except OSError as exc:
                raise output_error(self._name, exc) from exc
            return self
        self._stream = stdout_bytes()
        if self._stream is None:
            raise OutputError("stdout is closed. Give a file for the lines with -o.")
        return self

    def __exit__(self, *_: object) -> None:
        if self._name != STDOUT:
            self._stream.close()

    def promise(self, rows: Sequence[tuple[Any, Any, bytes]]) -> None:
        """Nothing can be promised of a pipe."""

    def write(self, lines: Sequence[bytes], ids: Sequence[Any]) -> None:
        """Write the lines of documents that are durable now.

        Raises:
            OutputError: they cannot be written; the documents are no longer in the index.
        """
        from neardup.cli import silence_stdout

        try:
            self._stream.write(self._lines.joined(lines))
            self._stream.flush()
        except OSError as exc:
            name = "stdout" if self._name == STDOUT else self._name
            if self._name == STDOUT:
                silence_stdout()
            self._index.remove(ids, missing="skip")
            raise OutputError(
                f"cannot write {name}: {exc.strerror}. The documents of the lines that were to go out were taken out of"
                " the index again: give them once more, or use -o FILE, which is completed by a later run."
            ) from exc


def is_plain_file(name: str) -> bool:
    """Whether this is a regular file, or will be one: no device, and no pipe."""
    return not os.path.exists(name) or os.path.isfile(name)


class FilePassing:
    """Lines behind those that a file has, synced after each batch; what a run that died owes is paid first."""

    def __init__(self, name: str, folder: Path, index: Any) -> None:
        self.paid = 0
        """Lines that an earlier run owed."""
        self._name = name
        self._path = Path(os.path.realpath(name))
        self._folder = os.path.realpath(folder)
        self._note = self._path.with_name(self._path.name + NOTE_SUFFIX)
        self._index = index
        self._lines = _Lines()
        self._stream: Any = None

    def __enter__(self) -> FilePassing:
        with self._explained():
            owed = self._owed() if self._note.exists() else []
            self._stream = open(self._path, "ab")
            self._lines.start_behind(self._last_byte())
        self.write(owed)
        self.paid = len(owed)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # every batch was flushed, or has failed and was told
            self._stream.close()

    def promise(self, rows: Sequence[tuple[Any, Any, bytes]]) -> None:
        """Note id, text and line of the documents of a batch that are not there yet, before they become durable."""
        if not rows:
            return
        documents = [[id, _digest(plain(text)), len(line)] for id, text, line in rows]
        head = {"index": self._folder, "size": self._stream.tell(), "documents": documents}
        temporary = self._note.with_name(f".{self._note.name}.part")
        with self._explained():
            with open(temporary, "wb") as stream:
                stream.write(json.dumps(head).encode() + b"\n")
                stream.writelines(line for _, _, line in rows)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(self._note)
            _sync_folder(self._note.parent)

    def write(self, lines: Sequence[bytes], ids: Sequence[Any] = ()) -> None:
        """Write the lines of documents that are durable now; then nothing is owed.

        Raises:
            OutputError: they cannot be written; the next run writes them.
        """
        with self._explained():
            self._stream.write(self._lines.joined(lines))
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

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        from neardup.outputs.atomic import output_error

        try:
            yield
        except NeardupError:
            raise
        except OSError as exc:
            raise output_error(self._name, exc) from exc


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder last, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _digest(text: str, size: int = 32) -> str:
    """What a note says of a text: 256 bits that nobody can find a second text for (16 bytes in notes of old)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


class Removals:
    """The table id, match, similarity of documents that were not let through: rows behind those that a file has."""

    def __init__(self, name: str) -> None:
        """Raise InputError when the name tells no format that can grow."""
        self._name = name
        self._format = REMOVED_FORMATS.get(Path(name).suffix.lower())
        if self._format is None:
            raise InputError(
                f"{name}: the table of removed documents grows with the stream. Give a name that ends in"
                f" {', '.join(REMOVED_FORMATS)}."
            )
        self._stream: Any = None

    def __enter__(self) -> Removals:
        from neardup.outputs.atomic import output_error

        try:
            self._stream = open(self._name, "a", encoding="utf-8", newline="")
        except OSError as exc:
            raise output_error(self._name, exc) from exc
        if self._format == "csv" and self._stream.tell() == 0:
            csv.writer(self._stream).writerow(_COLUMNS)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # every batch was flushed, or has failed and was told
            self._stream.close()

    def write(self, rows: Iterable[tuple[Any, Any, float | None]]) -> None:
        """Add rows.

        Raises:
            OutputError: they cannot be written.
        """
        from neardup.outputs.atomic import output_error

        try:
            if self._format == "csv":
                csv.writer(self._stream).writerows(rows)
            else:
                for row in rows:
                    self._stream.write(json.dumps(dict(zip(_COLUMNS, row, strict=True)), ensure_ascii=False) + "\n")
            self._stream.flush()
        except OSError as exc:
            raise output_error(self._name, exc) from exc
