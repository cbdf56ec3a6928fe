"""Segment files: a run of postings that never changes, laid out to be mapped and used as it lies.

    page 0 …    header: magic, version, sizes, spec id, checksum of all this, row starts, checksums of the pages below
    then        directory | hashes of texts | postings, each from a page boundary on

All numbers are little-endian. A file is written under a temporary name, synced and renamed. Opening reads the header
alone; every other page is held against its checksum when a lookup first touches it (``kernels.postings``), so opening
takes no longer for a large file and no damage goes unseen. A segment is derived: what is damaged or missing is made
again from the documents (``core``).
"""

from __future__ import annotations

import contextlib
import mmap
import os
import secrets
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from neardup.errors import FormatError, OutputError
from neardup.kernels.postings import PAGE, page_sums
from neardup.spool.machine import sync_folder
from neardup.stages.postings import Run, directory_bits, fill_directory, make_run, merged_row, sorted_row, without
from neardup.types import I64, U64

SUFFIX = ".bands"
PART = ".part"
MAGIC = b"NDBANDS\x00"
VERSION = 1
_HEAD = struct.Struct("<8sIIIIqqqq16s")
"""Magic, version, header pages, rows, bits, base, span, postings, pages of data, spec id; behind it a checksum."""
_CHECK_BYTES = 4
_SUMMED_PAGES = 1 << 14


def fresh_name(base: int, end: int) -> str:
    """A name for the segment of documents ``base`` to ``end``; never the same twice."""
    return f"{base:012d}-{end:012d}-{secrets.token_hex(4)}{SUFFIX}"


def _pages(size: int) -> int:
    return -(-size // PAGE)


@dataclass(frozen=True, slots=True)
class Keys:
    """All that a run of documents is made from."""

    first: int
    blocks: Sequence[Any]
    """uint32[bands + 1, n] each: an array, or something with a shape that gives one row at a time."""
    numbers: I64
    """int64: places of the documents from ``first`` on, rising; removed ones are left out."""
    prints: U64
    """uint64, for every place."""
    has_shingles: NDArray[np.bool_]

    def run(self) -> Run:
        whole = np.concatenate(self.blocks, axis=1)
        return make_run(self.first, whole, self.prints, self.has_shingles, numbers=self.numbers)


def write_new(path: Path, keys: Keys, spec_id: str) -> None:
    """Write the segment of documents whose keys are at hand, a row at a time."""
    rows = keys.blocks[0].shape[0]
    everyone = keys.numbers.view(np.uint64)
    shingled = everyone if keys.has_shingles.all() else everyone[keys.has_shingles]

    def row(number: int) -> U64:
        whole = np.concatenate([block[number] for block in keys.blocks])
        if number < rows - 1:
            return sorted_row(whole[keys.has_shingles], shingled)
        return sorted_row(whole, everyone)

    _write(path, keys.first, keys.prints, rows, row, directory_bits(everyone.size), spec_id)


def write_merged(
    path: Path, runs: Sequence[Run], removed: I64, spec_id: str, *, check: Callable[[], None] | None = None
) -> None:
    """Write one segment in place of runs that follow each other, without the postings of ``removed`` documents.

    ``check`` is called before each row. If it raises, nothing is left.
    """
    gone, prints = without(runs, removed)
    live = prints.size - (0 if gone is None else int(np.count_nonzero(gone)))

    def row(number: int) -> U64:
        if check is not None:
            check()
        return merged_row(runs, number, gone)

    _write(path, runs[0].base, prints, runs[0].starts.size - 1, row, directory_bits(live), spec_id)


def _write(path: Path, base: int, prints: U64, rows: int, row: Callable[[int], U64], bits: int, spec_id: str) -> None:
    """Write rows one after the other, so that one row is in memory at a time, then what depends on all of them."""
    directory = np.empty((rows, (1 << bits) + 1), dtype=np.uint32)
    directory_pages, prints_pages = _pages(directory.nbytes), _pages(prints.nbytes)
    most = _pages(prints.size * rows * 8)
    header_pages = _pages(_HEAD.size + _CHECK_BYTES + 8 * (rows + 1) + 8 * (directory_pages + prints_pages + most))
    starts = np.zeros(rows + 1, dtype=np.int64)
    temporary = path.with_name(path.name + PART)
    try:
        path.parent.mkdir(exist_ok=True)
        with open(temporary, "wb") as file:
            # every byte is written, none left a hole: on a full disk a hole that is mapped ends the process
            _write_zeros(file, (header_pages + directory_pages) * PAGE)
            file.write(prints.data)
            _write_zeros(file, prints_pages * PAGE - prints.nbytes)
            for number in range(rows):
                postings = row(number)
                starts[number + 1] = starts[number] + postings.size
                directory[number] = fill_directory(postings, np.array([0, postings.size]), bits)[0]
                file.write(postings.data)
            data_pages = directory_pages + prints_pages + _pages(8 * int(starts[-1]))
            _write_zeros(file, -8 * int(starts[-1]) % PAGE)
            file.seek(header_pages * PAGE)
            file.write(directory.data)
            file.flush()
            sums = _sums(temporary, header_pages, data_pages)
            facts = (VERSION, header_pages, rows, bits, base, prints.size, int(starts[-1]), data_pages)
            body = starts.tobytes() + sums.tobytes()
            head = _HEAD.pack(MAGIC, *facts, spec_id.encode().ljust(16))
            file.seek(0)
            file.write(head + _checked(head, body) + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except BaseException as exc:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if not isinstance(exc, OSError):
            raise
        raise OutputError(f"cannot write {path}: {exc.strerror or exc}. Free some space; nothing is lost.") from exc


def _write_zeros(file: BinaryIO, size: int) -> None:
    for start in range(0, size, 1 << 20):
        file.write(bytes(min(1 << 20, size - start)))


def _checked(head: bytes, body: bytes) -> bytes:
    """The checksum of a header."""
    return zlib.crc32(body, zlib.crc32(head + bytes(_CHECK_BYTES))).to_bytes(_CHECK_BYTES, "little")


def _sums(path: Path, header_pages: int, data_pages: int) -> U64:
    sums = np.zeros(data_pages, dtype=np.uint64)
    for begin in range(0, data_pages, _SUMMED_PAGES):  # so that few pages are mapped at a time
        part = sums[begin : begin + _SUMMED_PAGES]
        pages = np.memmap(path, np.uint8, "r", (header_pages + begin) * PAGE, (part.size * PAGE,))
        page_sums(pages.view(np.ndarray), part)
    return sums


def open_segment(path: Path, base: int, span: int, rows: int, spec_id: str) -> Run:
    """Map a segment that is to cover ``span`` documents from ``base`` on; ``rows``: bands and one.

    FormatError: it is missing, cut short, damaged in its header, or another than was expected.
    """
    try:
        with open(path, "rb") as file:
            head, check = file.read(_HEAD.size), file.read(_CHECK_BYTES)
            if len(check) < _CHECK_BYTES or not head.startswith(MAGIC):
                raise FormatError(f"{path} is no segment of an index")
            _, version, header_pages, n_rows, bits, first, covers, count, data_pages, its_spec = _HEAD.unpack(head)
            size = os.fstat(file.fileno()).st_size
            body_size = 8 * (n_rows + 1) + 8 * data_pages
            if version != VERSION or size != (header_pages + data_pages) * PAGE or body_size > header_pages * PAGE:
                raise FormatError(f"{path} is cut short or of another version")
            body = file.read(body_size)
            if _checked(head, body) != check:
                raise FormatError(f"{path} is damaged in its header")
            if (first, covers, n_rows, its_spec) != (base, span, rows, spec_id.encode().ljust(16)):
                raise FormatError(f"{path} is of another index, or covers other documents than it should")
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError as exc:
        raise FormatError(f"{path} is missing") from exc
    except OSError as exc:
        raise FormatError(f"{path} cannot be read: {exc.strerror or exc}") from exc
    starts = np.frombuffer(body, np.int64, rows + 1)
    sums = np.frombuffer(body, np.uint64, data_pages, 8 * (rows + 1))
    at = header_pages * PAGE
    entries = rows * ((1 << bits) + 1)
    directory = np.frombuffer(data, np.uint32, entries, at).reshape(rows, -1)
    prints = np.frombuffer(data, np.uint64, span, at + _pages(4 * entries) * PAGE)
    postings = np.frombuffer(data, np.uint64, count, at + (_pages(4 * entries) + _pages(8 * span)) * PAGE)
    seen = np.zeros(data_pages, dtype=np.uint8)
    checks = (sums, seen, np.frombuffer(data, np.uint8)[at:])
    return Run(base, span, postings, starts, prints, bits, directory, checks, path.name)


def bad_pages(run: Run) -> int:
    """Pages of a mapped segment that are not as they were written. Reads the whole file."""
    assert run.checks is not None
    sums, seen, pages = run.checks
    now = np.empty_like(sums)
    page_sums(pages, now)
    good = now == sums
    seen[good] = 1
    return int(np.count_nonzero(~good))
