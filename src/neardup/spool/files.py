"""One spool file: a header that says what it is, then records of a fixed width, only ever appended to.

bytes 0..7      b"NEARDUP\\0"
bytes 8..19     format version, length of the JSON, crc32 of the whole header with this field zero (uint32 each)
bytes 20..4095  JSON {name, spec_id, dtype, width, count, crc32, neardup}, then zeros
from 4096       the records, little-endian
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neardup._version import __version__
from neardup.cutting import starts_of
from neardup.errors import SpoolError
from neardup.spool.positions import read_at, write_at
from neardup.types import I64, U8

MAGIC = b"NEARDUP\0"
VERSION = 1
HEADER = 4096
BUFFER = 1 << 18
"""Bytes gathered before a write. A run has a column a band: at a megabyte each they would hold 100 MB."""
STAGE = 4 << 20
"""Bytes that are read into one place at a time, and about the largest single read."""

_CURES = {
    errno.ENOSPC: "Free space, then continue with the same command and --resume (resume=True).",
    errno.EDQUOT: "Free some of your quota, then continue with the same command and --resume (resume=True).",
    errno.EFBIG: "The file size is limited here (ulimit -f); raise the limit and continue with --resume (resume=True).",
    errno.EMFILE: "Too few files may be open here (ulimit -n); raise that, and continue with --resume (resume=True).",
    errno.ENOENT: "Make the folder first, or name another one with --workdir (workdir=).",
    errno.ENOTDIR: "A part of the path is a file; name another folder with --workdir (workdir=).",
    errno.EACCES: "Name a folder that you may write to with --workdir (workdir=).",
    errno.EPERM: "Name a folder that you may write to with --workdir (workdir=).",
    errno.EROFS: "The file system is read-only; name a folder elsewhere with --workdir (workdir=).",
    errno.EIO: "The disk fails; name a folder on another one with --workdir (workdir=) and start again.",
}


@contextlib.contextmanager
def at_work(path: Path) -> Iterator[None]:
    """Raise a system error met at ``path`` inside of this as a SpoolError: path, reason and cure."""
    try:
        yield
    except OSError as exc:
        reason = exc.strerror or str(exc)
        cure = _CURES.get(exc.errno or 0, "Name another folder with --workdir (workdir=).")
        raise SpoolError(f"cannot work in {path}: {reason}. {cure}") from exc


def damaged(path: Path, fact: str) -> SpoolError:
    """Return the SpoolError for a file that is not what was written."""
    return SpoolError(
        f"{path} is damaged: {fact}. Delete {path.parent} and start again without --resume (resume=False)."
    )


@dataclass(frozen=True, slots=True)
class Label:
    """What a spool file says of itself."""

    name: str
    spec_id: str
    dtype: str
    """NumPy's name with the byte order, as ``<u8``."""
    width: int
    """Values in a record."""

    @property
    def record(self) -> int:
        """Bytes of a record."""
        return np.dtype(self.dtype).itemsize * self.width


def _header(label: Label, count: int, crc: int) -> bytes:
    facts = json.dumps({**asdict(label), "count": count, "crc32": crc, "neardup": __version__}).encode("ascii")
    body = facts.ljust(HEADER - 20, b"\0")
    check = zlib.crc32(MAGIC + struct.pack("<III", VERSION, len(facts), 0) + body)
    return MAGIC + struct.pack("<III", VERSION, len(facts), check) + body


def _parse(path: Path, head: bytes) -> dict[str, Any]:
    """The facts of a header. Raises SpoolError unless every byte is as it was written."""
    if len(head) < HEADER or head[:8] != MAGIC:
        raise damaged(path, "it does not begin with the header of a spool file")
    version, length, check = struct.unpack("<III", head[8:20])
    if zlib.crc32(head[:16] + bytes(4) + head[20:]) != check:
        raise damaged(path, "the checksum of its header is wrong")
    if version != VERSION:
        raise damaged(path, f"its format version is {version} and this neardup reads {VERSION}")
    facts: dict[str, Any] = json.loads(head[20 : 20 + length])
    return facts


class SpoolFile:
    """Records in one file. Appends are gathered in a buffer; a read of what is still in it writes it out first.

    One thread may append; any number may read at a time, but not while one appends. A failed append leaves the
    count as it was: what the disk took of it lies past the end and is written over, or cut off when a run goes on.
    """

    def __init__(self, path: Path, label: Label, grew: Callable[[int], None]) -> None:
        """Describe a file; ``create`` makes it and ``resume`` goes on with it. ``grew`` hears of bytes written."""
        self.path = path
        self.label = label
        self._grew = grew
        self._lock = threading.Lock()
        self._fd: int | None = None
        self._buffer = memoryview(b"")
        self._used = 0
        self._written = 0
        self._size = 0
        self._crc = 0
        self._stated = (-1, 0)

    @property
    def nbytes(self) -> int:
        """Bytes of records, those in the buffer included; the same while a thread that reads writes the buffer out."""
        return self._size

    @property
    def count(self) -> int:
        """Records."""
        return self.nbytes // self.label.record

    @property
    def disk_bytes(self) -> int:
        """Bytes of the file now."""
        return HEADER + self._written

    @property
    def facts(self) -> dict[str, Any]:
        """What the manifest says of this file: true once it was settled."""
        return {"dtype": self.label.dtype, "width": self.label.width, "count": self.count, "crc32": self._crc}

    def create(self) -> None:
        """Make the file, which must not exist."""
        with at_work(self.path):
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            try:
                self._pwrite(memoryview(_header(self.label, 0, 0)), 0)
            except OSError:
                self._close()
                self.path.unlink(missing_ok=True)
                raise
        self._grew(HEADER)

    def resume(self, count: int, crc: int) -> None:
        """Check the file down to the last byte that counts and cut off what follows.

        Raises SpoolError where it is missing, cut short, changed, or another file than the label says.
        """
        size = count * self.label.record
        with at_work(self.path):
            try:
                fd = self._descriptor()
            except FileNotFoundError as exc:
                raise damaged(self.path, "it is missing") from exc
            head = memoryview(bytearray(HEADER))
            facts = _parse(self.path, bytes(head[: read_at(fd, head, 0)]))
            for key, value in asdict(self.label).items():
                if facts.get(key) != value:
                    raise damaged(self.path, f"its {key} is {facts.get(key)!r} and should be {value!r}")
            there = os.fstat(fd).st_size - HEADER
            if there < size or facts["count"] < count:
                have = min(there // self.label.record, facts["count"])
                raise damaged(self.path, f"it has {have} records and should have {count}")
            found, at = 0, 0
            block = memoryview(bytearray(min(STAGE, size)))
            while at < size:
                got = read_at(fd, block[: size - at], HEADER + at)
                if not got:
                    raise damaged(self.path, f"it ends at byte {HEADER + at}")
                found, at = zlib.crc32(block[:got], found), at + got
            if found != crc or (facts["count"] == count and facts["crc32"] != crc):
                raise damaged(self.path, f"the checksum of its {count} records is wrong")
            if there > size:
                os.ftruncate(fd, HEADER + size)
        self._written, self._size, self._crc, self._stated = size, size, crc, (facts["count"], facts["crc32"])
        self._grew(HEADER + size)
        self.rest()

    def append(self, data: memoryview) -> None:
        """Add whole records, given as bytes."""
        size = data.nbytes
        with self._lock:
            if self._used + size > BUFFER:
                self._flush()
            if size >= BUFFER:
                self._write(data)
            else:
                if len(self._buffer) == 0:
                    self._buffer = memoryview(bytearray(BUFFER))
                self._buffer[self._used : self._used + size] = data
                self._used += size
            self._size += size

    def read(self, start: int, into: memoryview) -> None:
        """Fill ``into`` with the bytes of the records from byte ``start`` on."""
        self._written_out(start + into.nbytes)
        with at_work(self.path):
            self._read(self._open(), start, into)

    def gather(self, starts: I64, sizes: I64, into: U8) -> None:
        """Read ranges, rising, one behind the other into one place; a few system calls where they are near."""
        if not starts.size:
            return
        from neardup.kernels.reading import read_pieces  # imported here, because checking output names needs no kernels

        self._written_out(int(starts[-1] + sizes[-1]))
        places = starts_of(sizes)
        with at_work(self.path):
            fd = self._open()
            for left in range(read_pieces(fd, starts + HEADER, sizes, into, places), starts.size):
                self._read(fd, int(starts[left]), into[places[left] : places[left + 1]].data)

    def _written_out(self, end: int) -> None:
        """Let nothing before byte ``end`` be in the buffer only."""
        if end > self._written:
            with self._lock:
                self._flush()

    def _open(self) -> int:
        if self._fd is not None:
            return self._fd
        with self._lock:
            return self._descriptor()

    def _read(self, fd: int, start: int, into: memoryview) -> None:
        done = 0
        while done < into.nbytes:
            more = read_at(fd, into[done:], HEADER + start + done)
            if more == 0:
                raise damaged(self.path, f"it ends before byte {HEADER + start + into.nbytes}")
            done += more

    def settle(self) -> None:
        """Make all records last: written, header true, synced to the disk."""
        with self._lock:
            self._flush()
            stated = (self.count, self._crc)
            if stated == self._stated:
                return
            with at_work(self.path):
                self._pwrite(memoryview(_header(self.label, *stated)), 0)
                os.fsync(self._descriptor())
            self._stated = stated

    def rest(self) -> None:
        """Write the buffer out and give back its memory and the file descriptor until the next use."""
        with self._lock:
            self._flush()
            self._buffer = memoryview(b"")
            self._close()

    def close(self) -> None:
        """Close the file; what is in the buffer is lost."""
        with self._lock:
            self._buffer, self._used, self._size = memoryview(b""), 0, self._written
            self._close()

    def _close(self) -> None:
        if self._fd is not None:
            fd, self._fd = self._fd, None
            with contextlib.suppress(OSError):
                os.close(fd)

    def _descriptor(self) -> int:
        if self._fd is None:
            self._fd = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        return self._fd

    def _flush(self) -> None:
        if self._used:
            self._write(self._buffer[: self._used])
            self._used = 0

    def _write(self, data: memoryview) -> None:
        with at_work(self.path):
            self._pwrite(data, HEADER + self._written)
        self._crc = zlib.crc32(data, self._crc)
        self._written += data.nbytes
        self._grew(data.nbytes)

    def _pwrite(self, data: memoryview, at: int) -> None:
        fd = self._descriptor()
        while data.nbytes:
            done = write_at(fd, data, at)
            data, at = data[done:], at + done
