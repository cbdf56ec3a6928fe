"""What is at an address, read where it is: looked at, listed, streamed with pieces fetched ahead, or kept in a file.

A name is fetched by ranges, several at a time, since one request is answered slowly and many are answered at once. An
object that is replaced while it is read would give bytes of both; so its tag (ETag, or time of change) is compared
after the last bytes were read. That is done for the smallest, too, since the size and the bytes take two requests.
"""

from __future__ import annotations

import io
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.fs as pafs

from neardup.errors import InputChanged, InputError
from neardup.inputs.addresses import GLOB_CHARACTERS, fits
from neardup.inputs.stores import explained, store_of, told
from neardup.shown import shown_path

PIECE = 4 << 20
"""Bytes of a request. On S3 a connection gives 50 to 100 MB/s after some 30 ms, so this is mostly transfer."""
AHEAD = 4
"""Pieces that are on their way for one stream: 16 MB of memory."""
_FIRST = 1 << 20
"""Bytes of the first request, alone: many files are smaller, or only their beginning is looked at."""
_FETCHERS = 16
"""Requests of this process at a time."""
_CANNOT = "cannot be read"
_UNWRITTEN = b"\xc1", b"\x3e"
"""The last byte of a buffer before it is filled, for each attempt. No text in UTF-8 has the first."""


class Facts(NamedTuple):
    """By which it is known that an object is still the same."""

    size: int
    tag: str


class Found(NamedTuple):
    """One thing of a listing."""

    name: str
    """Relative to what was listed, with slashes."""
    is_folder: bool
    size: int


@cache
def fetchers() -> ThreadPoolExecutor:
    """The threads that wait for requests."""
    return ThreadPoolExecutor(_FETCHERS, thread_name_prefix="neardup-fetch")


@cache
def _movers() -> ThreadPoolExecutor:
    """Threads that wait for many requests each: were they among the fetchers, these could all be waiting."""
    return ThreadPoolExecutor(4, thread_name_prefix="neardup-part")


def look(address: str) -> Found | None:
    """What is at an address; None: nothing. Raises InputError where the store does not say."""
    with explained(address, _CANNOT, InputError):
        store = store_of(address)
        info = store.files.get_file_info(store.path(address))
    if info.type == pafs.FileType.NotFound:
        return None
    return Found("", info.type == pafs.FileType.Directory, info.size or 0)


def is_folder(address: str) -> bool:
    """Whether there is something below an address."""
    found = look(address)
    return found is not None and found.is_folder


def facts_of(address: str) -> Facts | None:
    """The facts of an object; None: there is none."""
    try:
        with explained(address, _CANNOT, InputError):
            return _opened(address)[1]
    except InputError as exc:
        if isinstance(exc.__cause__, FileNotFoundError):
            return None
        raise


def facts_of_all(addresses: Sequence[str]) -> list[Facts | None]:
    """The facts of many objects, asked for side by side."""
    return list(fetchers().map(facts_of, addresses))


def _opened(address: str) -> tuple[Any, Facts]:
    """The object as a pyarrow file, and its facts: one request, where the store tells a tag with the size."""
    store = store_of(address)
    path = store.path(address)
    file = store.files.open_input_file(path)
    said = file.metadata() or {}
    tag = said.get(b"ETag") or said.get("ETag")
    if tag is None:
        info = store.files.get_file_info(path)
        tag = str(info.mtime_ns)
    return file, Facts(file.size(), tag.decode("latin-1") if isinstance(tag, bytes) else str(tag))


def listed(address: str, *, recursive: bool) -> list[Found]:
    """What is below an address, sorted by name. Raises InputError where it cannot be listed."""
    with explained(address, "cannot be listed", InputError):
        store = store_of(address)
        path = store.path(address)
        infos = store.files.get_file_info(pafs.FileSelector(path, allow_not_found=True, recursive=recursive))
    start = len(path.rstrip("/")) + 1
    found = []
    for info in infos:
        name = info.path[start:]
        is_folder = info.type == pafs.FileType.Directory
        if name := name.rstrip("/") if is_folder else name:
            found.append(Found(name, is_folder, info.size or 0))
    return sorted(found)


def matching(pattern: str) -> Iterator[tuple[str, Found]]:
    """The addresses that a pattern stands for, with what is there; ``**`` stands for any folders or none.

    Only those folders are listed that the pattern leads to. Hidden names match only what names them.
    """
    scheme, _, rest = pattern.partition("://")
    host, *parts = rest.split("/")
    yield from _matching(f"{scheme}://{host}", parts)


def _matching(folder: str, parts: list[str]) -> Iterator[tuple[str, Found]]:
    fixed = 0
    while fixed < len(parts) and GLOB_CHARACTERS.isdisjoint(parts[fixed]):
        fixed += 1
    folder = "/".join([folder, *parts[:fixed]])
    if fixed == len(parts):
        found = look(folder)
        if found is not None:
            yield folder, found
        return
    part, behind = parts[fixed], parts[fixed + 1 :]
    if part == "**":
        yield from _below(folder, behind or ["*"])
        return
    for each in listed(folder, recursive=False):
        if not fits([each.name], [part]):
            continue
        if not behind:
            yield f"{folder}/{each.name}", each
        elif each.is_folder:
            yield from _matching(f"{folder}/{each.name}", behind)


def _below(folder: str, behind: list[str]) -> Iterator[tuple[str, Found]]:
    for each in listed(folder, recursive=True):
        if fits(each.name.split("/"), ["**", *behind]):
            yield f"{folder}/{each.name}", each


class RemoteFile:
    """An object as it was when it was opened; its ranges may be asked for by several threads."""

    def __init__(self, address: str) -> None:
        """Raises InputError where it cannot be opened."""
        self.address = address
        with explained(address, _CANNOT, InputError):
            file, self.facts = _opened(address)
        self._free = deque([file])

    @property
    def size(self) -> int:
        return self.facts.size

    def range(self, start: int, size: int) -> bytearray:
        """Read the bytes of a range. Raises InputChanged if the object is no longer the same.

        The client of S3 says that it got all that it asked for, however short the answer was. So this looks whether
        the last byte was written, a second time if the object may have just the byte that stood there.
        """
        data = bytearray(size)
        for last in _UNWRITTEN:
            data[-1:] = last
            try:
                got = self._fill(data, start)
            except Exception as exc:  # what went wrong is less than what became of the object
                self.check()
                raise InputError(told(self.address, _CANNOT, exc)) from exc
            if got == size and data[-1:] != last:
                return data
        self.check()
        raise InputError(
            f"{shown_path(self.address)} gave fewer than the {size:,} bytes that start at {start:,}. Run again. If "
            "that does not help, look for a proxy or a gateway that answers in its place."
        )

    def _fill(self, data: bytearray, start: int) -> int:
        """Read into a buffer, by a file of its own for each request under way. Return how many bytes were read."""
        try:
            file = self._free.pop()
        except IndexError:
            file = _opened(self.address)[0]
        file.seek(start)
        got = int(file.readinto(data))
        self._free.append(file)
        return got

    def check(self) -> None:
        """Raise InputChanged unless the object is still what it was."""
        now = facts_of(self.address)
        if now != self.facts:
            what = "was removed" if now is None else "was replaced by another"
            raise InputChanged(
                f"{shown_path(self.address)} {what} while it was read. Start again when nobody writes to it."
            )

    def fetch(self, start: int, stop: int, into: BinaryIO) -> None:
        """Write the bytes of a range to the same place of a file, several requests at a time."""
        asked: deque[tuple[int, Future[Any]]] = deque()
        try:
            while start < stop or asked:
                while start < stop and len(asked) < 2 * AHEAD:
                    size = min(PIECE, stop - start)
                    asked.append((start, fetchers().submit(self.range, start, size)))
                    start += size
                at, future = asked.popleft()
                data = future.result()
                into.seek(at)
                into.write(data)
            into.flush()
        except OSError as exc:
            raise InputError(
                f"{shown_path(self.address)} cannot be kept in {tempfile.gettempdir()} while it is read: "
                f"{exc.strerror or exc}. Make room, or name another folder by the variable TMPDIR."
            ) from exc
        finally:
            for _, future in asked:
                future.cancel()


class _Reading(io.RawIOBase):
    """An object that is read as a file."""

    def __init__(self, remote: RemoteFile, first: int = 0) -> None:
        super().__init__()
        self._file = remote
        self._at = min(first, remote.size)

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at


class RemoteStream(_Reading):
    """The bytes of an object from an offset to its end, fetched ahead. Close it before its end if no more is wanted."""

    def __init__(self, address: str, first: int = 0) -> None:
        """Raises InputError if there is no such object, or it cannot be read."""
        super().__init__(RemoteFile(address), first)
        self._asked = self._at
        self._pieces: deque[Future[Any]] = deque()
        self._piece = memoryview(b"")
        self._is_first = True
        self._is_checked = False

    def readinto(self, view: Any, /) -> int:
        """Fill ``view``, with fewer bytes only where a piece ends."""
        if not self._piece and not self._next():
            return 0
        into = memoryview(view).cast("B")
        size = min(len(into), len(self._piece))
        into[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        self._at += size
        return size

    def _next(self) -> bool:
        """Take the next piece; False at the end."""
        if self._pieces or self._asked < self._file.size:
            is_first = self._is_first
            self._ask()
            self._piece = memoryview(self._pieces.popleft().result())
            if not is_first:  # after which it is not known yet whether more is wanted
                self._ask()
            return True
        if not self._is_checked:
            self._file.check()
            self._is_checked = True
        return False

    def _ask(self) -> None:
        most, piece = (1, _FIRST) if self._is_first else (AHEAD, PIECE)
        self._is_first = False
        while len(self._pieces) < most and self._asked < self._file.size:
            size = min(piece, self._file.size - self._asked)
            self._pieces.append(fetchers().submit(self._file.range, self._asked, size))
            self._asked += size

    def close(self) -> None:
        while self._pieces:
            self._pieces.popleft().cancel()
        super().close()


class _Searched(_Reading):
    """An object that is read here and there: a request each time."""

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        return self._at

    def readinto(self, view: Any, /) -> int:
        into = memoryview(view).cast("B")
        size = min(len(into), max(0, self._file.size - self._at))
        if size:
            into[:size] = self._file.range(self._at, size)
            self._at += size
        return size


class ArrowFile(pa.PythonFile):  # type: ignore[misc] # pyarrow has no types
    """An object as a file of pyarrow, for what reads little of it, such as a footer."""

    remote: RemoteFile

    def __new__(cls, address: str) -> ArrowFile:
        """Raises InputError where it cannot be opened."""
        remote = RemoteFile(address)
        file: ArrowFile = super().__new__(cls, _Searched(remote), mode="r")
        file.remote = remote
        return file

    def __init__(self, address: str) -> None:
        """It was opened when it was made: pyarrow does it there."""

    def part(self, ranges: Sequence[tuple[int, int]]) -> Future[Any]:
        """Fetch ranges into a file of this machine as pyarrow has it, at their places, with holes between them.

        It has no name any more, where the system allows that, and goes when nobody has it.
        """
        return _movers().submit(self._part, ranges)

    def _part(self, ranges: Sequence[tuple[int, int]]) -> Any:
        with temporary(self.remote.address, partial(tempfile.NamedTemporaryFile, prefix="neardup-")) as file:
            file.truncate(self.remote.size)
            for start, stop in ranges:
                self.remote.fetch(start, stop, file)
            self.remote.check()
            return pa.OSFile(file.name)


def kept(address: str) -> BinaryIO:
    """All of an object in a temporary file that has no name and goes when it is closed, for what must be searched."""
    remote = RemoteFile(address)
    file: BinaryIO = temporary(address)
    try:
        remote.fetch(0, remote.size, file)
        remote.check()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def temporary(address: str, opened: Callable[[], Any] = tempfile.TemporaryFile) -> Any:
    """A temporary file; InputError where none can be made."""
    try:
        return opened()
    except OSError as exc:
        raise InputError(
            f"{shown_path(address)} is kept in a temporary file while it is read, and none can be made: "
            f"{exc.strerror or exc}. Name a folder by the variable TMPDIR."
        ) from exc
