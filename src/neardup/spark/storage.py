"""Arrays and facts that the stages hand on: files of one folder that driver and workers see, by path or URI.

A file is whole or not there: it is written under another name and moved, and where there is nothing to move (object
stores) it appears when its upload is closed, which is after all of it was made. So who finds a name has its content, if
the machine that wrote it did not fail before its disk had it all: sizes and checksums tell that.

The files of a run are in a folder of its own in the workdir: what is still at work for another run, such as a worker
that has not heard of the end of its driver, does not write there, and makes no folder that is gone.
"""

from __future__ import annotations

import json
import os
import posixpath
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from neardup.engine.threads import in_order
from neardup.errors import SpoolError
from neardup.spark.packing import Arrays, packed, unpacked
from neardup.spool.manifest import differences
from neardup.spool.workdir import NAMED

_PIECE = 4 << 20
FILES_AT_A_TIME = 16
_RUN = "run"
_here = threading.local()
"""``files``: names and bytes of what this thread writes, where somebody asks for it."""


@contextmanager
def files_written() -> Iterator[dict[str, int]]:
    """Names and bytes of the files that this thread writes in the block; what another such block in it tells, not."""
    before = getattr(_here, "files", None)
    found: dict[str, int] = {}
    _here.files = found
    try:
        yield found
    finally:
        _here.files = before


def _note(name: str, size: int) -> None:
    if (files := getattr(_here, "files", None)) is not None:
        files[name] = size


@dataclass(frozen=True)
class Storage:
    """The folder of one run."""

    root: str
    """A path, or a URI that pyarrow knows (s3://, gs://, abfs://, hdfs://)."""

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        if "://" in self.root:
            found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(self.root)
            return found
        return fs.LocalFileSystem(), os.path.abspath(self.root)

    def _path(self, name: str) -> str:
        return posixpath.join(self._opened[1], name)

    def put_bytes(self, name: str, data: bytes) -> None:
        """Write a file, whole or not at all; what two write under one name at the same time must be equal."""
        with self.writing(name) as out:
            out.write(data)

    @contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """A stream into a file that has its name when it is whole; what two write so at the same time must be equal."""
        files, path = self._opened[0], self._path(name)
        is_local = isinstance(files, fs.LocalFileSystem)
        try:
            if is_local:
                files.create_dir(posixpath.dirname(path), recursive=False)
            begun = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.part" if is_local else path
            with files.open_output_stream(begun) as out:
                yield out
                size = out.tell()
            if is_local:
                os.replace(begun, path)
        except OSError as exc:
            raise SpoolError(f"{self.root}: {name} cannot be written: {exc}. All workers must be able to.") from exc
        _note(name, size)

    def opened(self, name: str) -> Any:
        """A file that is there, to be read at any place; SpoolError as ``get_bytes``."""
        files, path = self._opened[0], self._path(name)
        try:
            return files.open_input_file(path)
        except OSError as exc:
            raise self._unread(name, exc) from exc

    def _unread(self, name: str, exc: OSError) -> SpoolError:
        return SpoolError(f"{self.root}: {name} cannot be read: {exc}. Driver and workers must see the same folder.")

    def get_bytes(self, name: str) -> Any:
        """A file that is there; SpoolError where it is not, or cannot be read."""
        files, path = self._opened[0], self._path(name)
        try:
            with files.open_input_stream(path) as opened:
                return opened.read_buffer()
        except OSError as exc:
            raise self._unread(name, exc) from exc

    @contextmanager
    def creating(self, name: str) -> Iterator[Any]:
        """A stream into a file of a name that nobody else takes, whole at the end of the block."""
        files, path = self._opened[0], self._path(name)
        try:
            if isinstance(files, fs.LocalFileSystem):
                files.create_dir(posixpath.dirname(path), recursive=False)
            with files.open_output_stream(path) as out:
                yield out
                _note(name, out.tell())
        except OSError as exc:
            raise SpoolError(f"{self.root}: {name} cannot be written: {exc}. All workers must be able to.") from exc

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a file, some at a time; SpoolError as ``get_bytes``."""
        files, path = self._opened[0], self._path(name)
        try:
            with files.open_input_stream(path) as opened:
                while piece := opened.read(_PIECE):
                    yield piece
        except OSError as exc:
            raise SpoolError(f"{self.root}: {name} cannot be read: {exc}.") from exc

    def put(self, name: str, /, **arrays: NDArray[Any]) -> None:
        """Write arrays."""
        self.put_bytes(f"{name}.arrays", packed(arrays))

    def put_all(self, files: Iterable[tuple[str, Arrays]]) -> None:
        """Write many files, each with its name, some at a time: an object store takes long for each."""
        for _ in in_order(lambda file: self.put(file[0], **file[1]), files, threads=FILES_AT_A_TIME):
            pass

    def get_all(self, names: Iterable[str], *only: str) -> Iterator[Arrays]:
        """Read many files, in order, some at a time."""
        return in_order(lambda name: self.get(name, *only), names, threads=FILES_AT_A_TIME)

    def get(self, name: str, *only: str) -> Arrays:
        """Read arrays, or ``only`` some of them; SpoolError where the file is damaged: it is removed then."""
        try:
            return unpacked(self.get_bytes(f"{name}.arrays"), *only)
        except ValueError as exc:
            raise self._removed(f"{name}.arrays", str(exc)) from exc

    def put_facts(self, name: str, facts: dict[str, Any]) -> None:
        """Write JSON values."""
        self.put_bytes(f"{name}.json", json.dumps({"crc32": _crc32(facts), "facts": facts}).encode())

    def get_facts(self, name: str) -> dict[str, Any]:
        """Read JSON values; SpoolError as ``get``."""
        try:
            found = json.loads(bytes(self.get_bytes(f"{name}.json")))
            facts: dict[str, Any] = found["facts"]
            if found["crc32"] != _crc32(facts):
                raise ValueError("damaged: its checksum is wrong")
        except (ValueError, LookupError, TypeError) as exc:
            raise self._removed(f"{name}.json", str(exc)) from exc
        return facts

    def _removed(self, name: str, why: str) -> SpoolError:
        """Take a damaged file away, so that a run that goes on has it written once more; the error that tells it."""
        files, path = self._opened
        with suppress(OSError):
            files.delete_file(posixpath.join(path, name))
        return SpoolError(
            f"{self.root}: {name} is {why}. It was removed: with --resume (resume=True) what was lost with it is done "
            "again."
        )

    def are_there(self, sizes: Mapping[str, int]) -> bool:
        """Whether files are there in the sizes that they had."""
        files, root = self._opened
        for folder in {posixpath.dirname(name) for name in sizes}:
            at = posixpath.join(root, folder)
            found = files.get_file_info(fs.FileSelector(at, allow_not_found=True))
            there = {posixpath.join(folder, each.base_name): each.size for each in found}
            mine = (name for name in sizes if posixpath.dirname(name) == folder)
            if any(there.get(name) != sizes[name] for name in mine):
                return False
        return True

    def has_facts(self, name: str) -> bool:
        """Whether there are some of this name."""
        files = self._opened[0]
        return bool(files.get_file_info(self._path(f"{name}.json")).type == fs.FileType.File)

    def has_work(self) -> bool:
        """Whether a run has begun here, and was not finished."""
        return self.has_facts(_RUN)

    def has(self, name: str) -> bool:
        """Whether there is a file, or a folder, of this name."""
        files = self._opened[0]
        return bool(files.get_file_info(self._path(name)).type != fs.FileType.NotFound)

    def files(self, folder: str) -> list[str]:
        """Paths, or addresses, of the files in a folder, by name."""
        files, root = self._opened
        found = files.get_file_info(fs.FileSelector(self._path(folder)))
        names = sorted(each.base_name for each in found if each.type == fs.FileType.File)
        at = self.root.rstrip("/") if "://" in self.root else root
        return [f"{at}/{folder}/{name}" for name in names]

    def put_table(self, name: str, batches: pa.RecordBatchReader) -> None:
        """Write a table, as a folder of one Parquet file, which Spark reads."""
        files, path = self._opened[0], self._path(f"{name}/part-00000.parquet")
        try:
            files.create_dir(posixpath.dirname(path))
            with files.open_output_stream(path) as out, pq.ParquetWriter(out, batches.schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        except OSError as exc:
            raise SpoolError(f"{self.root}: {name} cannot be written: {exc}.") from exc

    def begin(self, identity: dict[str, Any], *, resume: bool) -> Storage:
        """Begin a run here, or go on with one that was interrupted and had the same ``identity``, JSON values.

        Gives the folder of its files. Raises SpoolError: there is the work of another run here, or nothing to go on
        with; each difference is named.
        """
        is_there = self.has_work()
        if not resume:
            if is_there:
                raise SpoolError(
                    f"{self.root} holds the work of an interrupted run. Go on with "
                    "--resume (resume=True), or delete it."
                )
            run = f"run-{os.urandom(6).hex()}"
            found = Storage(f"{self.root.rstrip('/')}/{run}")
            if isinstance(self._opened[0], fs.LocalFileSystem):
                self._opened[0].create_dir(found._opened[1])
            self.put_facts(_RUN, {"run": run, "identity": identity})
            return found
        if not is_there:
            raise SpoolError(f"{self.root} holds no work of an interrupted run. Run without --resume (resume=False).")
        try:
            begun = self.get_facts(_RUN)
        except SpoolError as exc:
            raise SpoolError(
                f"{self.root} cannot be gone on with, since its {_RUN}.json cannot be read or is damaged. Delete the "
                "folder, and run without --resume (resume=False)."
            ) from exc
        unlike = list(differences(begun["identity"], json.loads(json.dumps(identity))))
        if unlike:
            raise SpoolError(
                f"the work in {self.root} was made from something else: {'; '.join(unlike[:NAMED])}. Run with what it "
                f"was made from, or delete {self.root} and start again without --resume (resume=False)."
            )
        return Storage(f"{self.root.rstrip('/')}/{begun['run']}")

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        files, path = self._opened
        if files.get_file_info(path).type != fs.FileType.NotFound:
            files.delete_dir(path)


def _crc32(facts: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(facts).encode())
