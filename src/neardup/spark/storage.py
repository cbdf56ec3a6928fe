"""Arrays and facts that the stages hand on: files of one folder that driver and workers see, by path or URI.

A file is whole or not there: it is written under another name and moved, and where there is nothing to move (object
stores) it appears when its upload is closed, which is after all of it was made. So who finds a name has its content.
"""

from __future__ import annotations

import io
import json
import os
import posixpath
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import fs

from neardup.engine.threads import in_order
from neardup.errors import SpoolError
from neardup.spool.manifest import differences
from neardup.spool.workdir import NAMED

_PIECE = 4 << 20
Arrays = dict[str, NDArray[Any]]
FILES_AT_A_TIME = 16
_RUN = "run"
_parsing = threading.Lock()
"""Held while NumPy has Python parse the headers of arrays: Python 3.11 fails now and then where several threads do."""


def packed(arrays: Arrays) -> bytes:
    """Arrays as bytes, with a checksum each: an .npz file, not compressed."""
    into = io.BytesIO()
    np.savez(into, **arrays)  # type: ignore[arg-type]
    return into.getvalue()


def unpacked(data: Any, *only: str) -> Arrays:
    """The arrays of ``packed``, or ``only`` some; ValueError where the bytes are not what was packed."""
    try:
        with _parsing, np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in only or arrays.files}
    except (BadZipFile, OSError, EOFError, KeyError) as exc:
        raise ValueError(f"damaged: {exc}") from exc


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
        files, path = self._opened[0], self._path(name)
        is_local = isinstance(files, fs.LocalFileSystem)
        try:
            if is_local:
                files.create_dir(posixpath.dirname(path))
            begun = f"{path}.{os.getpid()}-{os.urandom(4).hex()}.part" if is_local else path
            with files.open_output_stream(begun) as out:
                out.write(data)
            if is_local:
                os.replace(begun, path)
        except OSError as exc:
            raise SpoolError(f"{self.root}: {name} cannot be written: {exc}. All workers must be able to.") from exc

    def get_bytes(self, name: str) -> Any:
        """A file that is there; SpoolError where it is not, or cannot be read."""
        files, path = self._opened[0], self._path(name)
        try:
            with files.open_input_stream(path) as opened:
                return opened.read_buffer()
        except OSError as exc:
            raise SpoolError(
                f"{self.root}: {name} cannot be read: {exc}. Driver and workers must see the same folder."
            ) from exc

    @contextmanager
    def creating(self, name: str) -> Iterator[Any]:
        """A stream into a file of a name that nobody else takes, whole at the end of the block."""
        files, path = self._opened[0], self._path(name)
        try:
            if isinstance(files, fs.LocalFileSystem):
                files.create_dir(posixpath.dirname(path))
            with files.open_output_stream(path) as out:
                yield out
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
        self.put_bytes(f"{name}.npz", packed(arrays))

    def put_all(self, files: Iterable[tuple[str, Arrays]]) -> None:
        """Write many files, each with its name, some at a time: an object store takes long for each."""
        for _ in in_order(lambda file: self.put(file[0], **file[1]), files, threads=FILES_AT_A_TIME):
            pass

    def get_all(self, names: Iterable[str], *only: str) -> Iterator[Arrays]:
        """Read many files, in order, some at a time."""
        return in_order(lambda name: self.get(name, *only), names, threads=FILES_AT_A_TIME)

    def get(self, name: str, *only: str) -> Arrays:
        """Read arrays, or ``only`` some of them; SpoolError where the file is damaged."""
        try:
            return unpacked(self.get_bytes(f"{name}.npz"), *only)
        except ValueError as exc:
            raise SpoolError(f"{self.root}: {name}.npz is {exc}. Remove the folder, and run again.") from exc

    def put_facts(self, name: str, facts: dict[str, Any]) -> None:
        """Write JSON values."""
        self.put_bytes(f"{name}.json", json.dumps(facts).encode())

    def get_facts(self, name: str) -> dict[str, Any]:
        """Read JSON values."""
        found: dict[str, Any] = json.loads(bytes(self.get_bytes(f"{name}.json")))
        return found

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

    def begin(self, identity: dict[str, Any], *, resume: bool) -> None:
        """Begin a run here, or go on with one that was interrupted and had the same ``identity``, JSON values.

        Raises SpoolError: there is the work of another run here, or nothing to go on with; each difference is named.
        """
        is_there = self.has_work()
        if not resume:
            if is_there:
                raise SpoolError(
                    f"{self.root} holds the work of an interrupted run. Go on with "
                    "--resume (resume=True), or delete it."
                )
            self.put_facts(_RUN, identity)
            return
        if not is_there:
            raise SpoolError(f"{self.root} holds no work of an interrupted run. Run without --resume (resume=False).")
        found = list(differences(self.get_facts(_RUN), json.loads(json.dumps(identity))))
        if found:
            raise SpoolError(
                f"the work in {self.root} was made from something else: {'; '.join(found[:NAMED])}. Run with what it "
                f"was made from, or delete {self.root} and start again without --resume (resume=False)."
            )

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        files, path = self._opened
        if files.get_file_info(path).type != fs.FileType.NotFound:
            files.delete_dir(path)
