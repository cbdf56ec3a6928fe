"""Members of zip and tar archives, each read as what it is; nothing is unpacked to the disk but a document at a time.

Texts and documents of an archive are one source, in the order of the archive; each file of records is a source of its
own. A tar that is compressed can be read from its beginning only: it stays open, and what follows the last member that
was read is read without beginning again.

No name of a member is ever used as a path, so ``../`` and absolute names do no harm. What unpacks to far more than any
archive of people's does is given up. Archives in archives are not read.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO, Self

from neardup.errors import InputChanged, InputError
from neardup.inputs.addresses import is_remote
from neardup.inputs.columns import ReadColumns
from neardup.inputs.documents import MOST_BYTES
from neardup.inputs.documents.pool import shared_readers
from neardup.inputs.folder import FilesSource
from neardup.inputs.formats import FORMATS, MAIL, archive_codec, bare_suffix, stored_codec
from neardup.inputs.mailbox import as_zip
from neardup.inputs.packed import Borrowed
from neardup.inputs.source import BATCH_BYTES, ReadOptions, Source, Task, oversized, sized
from neardup.inputs.stream import ByteStream, explained_as, open_whole, size_of
from neardup.inputs.walk import InputFile
from neardup.shown import shown_path

UNSUSPICIOUS, MOST_TIMES = 1 << 30, 1000
"""Bytes that any archive may unpack to, and how many times its size. Deflate packs 1,032 zeros into one byte."""
_FILE_BYTES = 512
_PIECE = 1 << 20
_IS_ENCRYPTED = 1
_METHODS = {9: "Deflate64", 93: "Zstandard", 95: "xz", 98: "PPMd", 99: "AES encryption"}
"""Methods of other programs for members of zip archives, by number."""
_DAMAGED = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
    *(EOFError, OSError, RuntimeError, ValueError, NotImplementedError),
)


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive."""

    name: str
    size: int
    """Bytes, as the archive says."""
    place: int
    """Among all entries of the archive, from 0."""
    is_regular: bool = True
    """It is no link, device or sparse file."""
    is_encrypted: bool = False

    @property
    def path(self) -> str:
        """Its name as it is shown: tar often writes ``./`` before it."""
        return self.name.removeprefix("./")


class Archive:
    """A zip or a tar archive, for one thread at a time."""

    def __init__(self, path: str) -> None:
        """Nothing is opened yet."""
        self._zip: zipfile.ZipFile | None = None
        self._tar: tarfile.TarFile | None = None
        self._below: ByteStream | None = None
        """What a compressed tar is unpacked from."""
        self._whole: BinaryIO | None = None
        self.path = path
        self._stored = size_of(path)
        self._unpacked = 0
        self._entry: tarfile.TarInfo | None = None
        self._at = -1
        """Of a tar: the place of ``_entry``."""
        self._is_read = False
        """Some of ``_entry`` was read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Archive, (self.path,)  # what is open stays here

    @property
    def is_zip(self) -> bool:
        return self.is_mail or bare_suffix(self.path) == ".zip"

    @property
    def is_mail(self) -> bool:
        """Whether it holds messages, which are read out of a zip archive made of them."""
        return bare_suffix(self.path) in MAIL

    def members(self) -> Iterator[Member]:
        """All files in the order of the archive. Between two of them ``opened`` may open the one just given."""
        with self._explained(self.path):
            if self.is_zip:
                for place, info in enumerate(self._opened_zip().infolist()):
                    if not info.is_dir():
                        mode = info.external_attr >> 16
                        is_link = mode & 0o170000 == 0o120000
                        encrypted = bool(info.flag_bits & _IS_ENCRYPTED)
                        yield Member(info.filename, info.file_size, place, not is_link, encrypted)
                return
            self._rewind()
            while (entry := self._step()) is not None:
                if not entry.isdir():
                    yield Member(entry.name, entry.size, self._at, entry.isreg() and not entry.issparse())

    @property
    def no_copy(self) -> str:
        """Why no clean copy is made of it, and the cure."""
        if self.is_mail:
            cure = "Save its messages and their attachments as files, or leave it out."
            return f"{self.path} is mail with attachments or a mailbox, of which no clean copy is made. {cure}"
        how = f"unzip {self.path} -d FOLDER" if self.is_zip else f"tar -xf {self.path} -C FOLDER"
        return f"{self.path} is an archive, of which no clean copy is made. Unpack it ({how}), and give the folder."

    @contextmanager
    def opened(self, member: Member) -> Iterator[ByteStream]:
        """The bytes of a member, unpacked where its own name ends in that of a compression."""
        with self._raw(member) as raw, ByteStream(f"{self.path}/{member.path}", file=raw) as stream:
            yield stream

    def stored(self, member: Member, most: int) -> bytes:
        """Read the bytes of a member as they are, at most ``most``."""
        with self._raw(member) as raw:
            return raw.read(min(most, member.size))

    @contextmanager
    def _raw(self, member: Member) -> Iterator[_Counted]:
        with self._explained(f"{self.path}/{member.path}", "a member of an archive"):
            if self.is_zip:
                raw: Any = self._opened_member(member)
            else:
                if self._tar is None or member.place < self._at or (member.place == self._at and self._is_read):
                    self._rewind()
                while self._at < member.place and self._step() is not None:
                    pass
                self._is_read = True
                is_same = self._entry is not None and self._entry.name == member.name
                raw = self._tar.extractfile(self._entry) if is_same and self._tar and self._entry else None
            if raw is None:
                raise InputChanged(f"{self.path} was changed since it was looked at. Run again from the start.")
            with raw:
                yield _Counted(raw, self)

    def _opened_member(self, member: Member) -> Any:
        """Open a member of a zip; None if the archive has changed. InputError for a method that Python lacks."""
        entries = self._opened_zip().infolist()
        if member.place >= len(entries) or entries[member.place].filename != member.name:
            return None
        try:
            return self._opened_zip().open(entries[member.place])
        except NotImplementedError as exc:
            number = entries[member.place].compress_type
            method = f"{number} ({_METHODS[number]})" if number in _METHODS else str(number)
            raise InputError(
                f"{self.path}/{member.path} is packed by the method {method}, which is not read. Unpack the archive "
                f"with another program (7z x {self.path} -oFOLDER), and give the folder."
            ) from exc

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        for each in (self._zip, self._tar, self._below):
            if each is not None:
                each.close()
        self._zip = self._tar = self._below = self._entry = None
        self._unpacked = 0

    def __del__(self) -> None:
        self.close()
        if self._whole is not None:
            self._whole.close()

    def count(self, size: int) -> None:
        """Note that so many bytes more were unpacked; InputError where that is beyond all measure."""
        self._unpacked += size
        if self._unpacked > max(UNSUSPICIOUS, MOST_TIMES * self._stored):
            raise InputError(
                f"{self.path} has {self._stored:,} bytes and unpacks to more than {self._unpacked:,}, which is not "
                "read. Unpack it by hand if it is to be trusted, and give the folder."
            )

    def _searched(self) -> BinaryIO | None:
        """What is at an address, in a file that stays as long as this does; None: the archive is a file itself."""
        if self._whole is None and self.is_mail:
            self._whole = as_zip(self.path)
        elif self._whole is None and is_remote(self.path):
            self._whole = open_whole(self.path)
        if self._whole is not None:
            self._whole.seek(0)
        return self._whole

    def _opened_zip(self) -> zipfile.ZipFile:
        if self._zip is None:
            self._zip = zipfile.ZipFile(self._searched() or self.path)
        return self._zip

    def _rewind(self) -> None:
        self.close()
        if archive_codec(self.path) is None:
            self._tar = tarfile.open(self.path, "r:", self._searched(), tarinfo=_Head)  # noqa: SIM115 - closed by close()
        else:
            self._below = ByteStream(self.path, codec=archive_codec(self.path))
            below: Any = self._below
            self._tar = tarfile.open(fileobj=below, mode="r|", tarinfo=_Head)  # noqa: SIM115 - closed by close()
        self._entry, self._at, self._is_read = None, -1, False

    def _step(self) -> tarfile.TarInfo | None:
        assert self._tar is not None
        self._entry = self._tar.next()
        self._tar.members = []  # type: ignore[attr-defined] # it keeps all that it has seen
        self._at += 1
        self._is_read = False
        while self._entry is None and (piece := self._tar.fileobj.read(_PIECE)):
            self.count(len(piece))
            if piece.strip(b"\0"):
                why = "more bytes follow the zeros that end it, as in several archives joined (tar --ignore-zeros)"
                raise tarfile.ReadError(why)
        return self._entry

    def _explained(self, path: str, kind: str = "an archive") -> AbstractContextManager[None]:
        """Turn the errors of the libraries into InputError with the cure."""
        cure = "Fetch it again, or unpack by hand what can be saved and give the folder."
        return explained_as(kind, path, _DAMAGED, cure)


class _Head(tarfile.TarInfo):
    """The head of a member of a tar. One that is damaged or cut is an error, where tarfile would end in silence."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        try:
            found = super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined] # a block of zeros, with which a tar ends
            raise
        except tarfile.HeaderError as exc:
            raise tarfile.ReadError(f"{exc} at the byte {archive.offset:,}, where a member or its end is due") from exc
        if found.size < 0:  # which tarfile would look for backwards, and for ever
            raise tarfile.ReadError(f"a member has the size {found.size:,}")
        return found


class _Counted(Borrowed):
    """The file of a member, whose bytes count for its archive."""

    def __init__(self, file: Any, archive: Archive) -> None:
        super().__init__(file)
        self._archive = archive

    def read(self, size: int = -1) -> bytes:
        piece = super().read(size)
        self._archive.count(len(piece))
        return piece


class _Archived(Source):
    """Something in an archive."""

    archive: Archive

    @property
    def no_copy(self) -> str:
        return self.archive.no_copy

    @property
    def paths(self) -> list[str]:
        return [self.archive.path]


class MemberSource(_Archived):
    """A file of records in an archive."""

    def __init__(self, archive: Archive, member: Member, format: str, options: ReadOptions) -> None:
        super().__init__(shown_path(f"{archive.path}/{member.path}"), options, total_bytes=member.size)
        self.archive, self.member, self.format = archive, member, format
        self._read: Source | None = None

    @property
    def passed(self) -> Sequence[Any]:
        """As of the source that it was read by."""
        if self._read is not None:
            return self._read.passed
        with self.archive.opened(self.member) as stream:
            return self._inner(stream).passed

    def tasks(self) -> Iterator[Task]:
        with self.archive.opened(self.member) as stream:
            inner = self._read = self._inner(stream)
            for task in inner.tasks():
                self.columns, self.names = inner.columns, inner.names
                yield task

    def look(self) -> ReadColumns | None:
        with self.archive.opened(self.member) as stream:
            return self._inner(stream).look()

    def opened(self) -> AbstractContextManager[ByteStream]:
        return self.archive.opened(self.member)

    def _inner(self, stream: ByteStream) -> Source:
        kind: type[Source] = FORMATS[self.format].load()
        return kind(self.name, self._options, total_bytes=self.total_bytes, stream=stream)


class ArchivedTexts(_Archived):
    """The texts and documents of an archive, a document each; their rows are their places among them, from 1."""

    format = "text"

    def __init__(self, archive: Archive, files: Sequence[tuple[Member, InputFile]], options: ReadOptions) -> None:
        super().__init__(shown_path(archive.path), options, total_bytes=sum(member.size for member, _ in files))
        self.archive, self._files = archive, files

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB; the bytes are taken out of the archive here, and read to texts in the tasks."""
        readers = shared_readers()
        reading = FilesSource(self.name, (), self._options)
        held: list[InputFile] = []
        size = 0
        for row, (member, file) in enumerate(self._files, start=1):
            most = MOST_BYTES if file.is_document else self._options.limit.largest
            if member.size > most and not file.is_document and stored_codec(member.name) is None:
                if held:
                    yield sized(partial(reading.read_files, held, row - len(held), readers), size, self._options)
                    held, size = [], 0
                what = f"{shown_path(file.path)}: the file"
                yield partial(oversized, self.name, row, what, member.size, self._options, consumed=member.size)
                continue
            try:
                data = self.archive.stored(member, most + 1)
                held.append(replace(file, stream=ByteStream(file.read_as or file.path, file=io.BytesIO(data))))
            except InputError as exc:
                # After damage the rest of a tar is lost, too. In a zip the fault is that of one document.
                if not self.archive.is_zip or not isinstance(exc.__cause__, _DAMAGED):
                    raise
                data = b""
                held.append(replace(file, error=str(exc)))
            size += len(data) + _FILE_BYTES
            if size >= BATCH_BYTES or len(held) == self._options.block or row == len(self._files):
                first = row - len(held) + 1
                yield sized(partial(reading.read_files, held, first, readers), size, self._options)
                held, size = [], 0
