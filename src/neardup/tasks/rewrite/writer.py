"""Writing the clean copies of a run, so that they appear together or, after an interruption, can be finished.

Each copy is written as ``.NAME.TOKEN.neardup-part`` beside its target. At the end all are renamed. The token belongs
to the run and is the same when it is resumed, so that parts that are whole need not be written again. Where others
write the parts (``CleanWriter.take``), these have names of their own, which the writer is told.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice
from types import TracebackType
from typing import Any, BinaryIO, cast

import numpy as np

from neardup.errors import InputChanged, NeardupError, OutputError
from neardup.inputs.addresses import is_remote, real_place
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.source import Source
from neardup.inputs.stream import ByteStream, open_at
from neardup.outputs.atomic import AtomicFiles, output_error
from neardup.outputs.renames import Rename
from neardup.outputs.stdout import stdout_bytes
from neardup.spool.machine import sync_all
from neardup.tasks.rewrite.blocks import read_line_ends
from neardup.tasks.rewrite.copy_names import PART_SUFFIX, STDOUT, OutputSet, Target
from neardup.tasks.rewrite.files import check_annotatable, rewrite_file
from neardup.tasks.rewrite.model import Replaced, Rewrite, changed

_BUFFER = 1 << 20
_LONGEST_NAME = 120
"""Bytes of a name that its part has whole; of 255, as a rule, the rest is for the token."""
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(slots=True)
class CleanWriter:
    """Writes the targets of an ``OutputSet``; they take their names when the ``with`` block ends without an error.

    On an error, Ctrl-C included, the targets stay as they were. Parts that are whole stay where ``keep_parts`` says so,
    for a run that resumes, unless an input was changed; else all are removed, and the folders that were made for them.
    A stream is written at once.
    """

    outputs: OutputSet
    _: KW_ONLY
    token: str
    """A name for the run, letters and digits; the same when it is resumed."""
    keep_parts: bool = False
    done: Mapping[str, int] = field(default_factory=dict)
    """Size of each part that is whole from before, by the name of its target."""
    on_file_done: Callable[[str, int], None] | None = None
    """Told the name of a target and its size when its part is whole and on disk."""
    sent_from: str | None = None
    """A folder for copies that go to addresses, beside the rest of the run's work."""
    part_of: Callable[[str, str], str] | None = None
    """Where the part of a target lies, by its token, when others write the parts; None: as ``part_name`` says, or in a
    folder of this machine, from which copies are sent to addresses."""
    files: AtomicFiles | None = None
    """The copies get their names at the end of its block, with the other outputs of the run."""
    _stream: _Stream | None = field(init=False, default=None)
    _place: int = field(init=False, default=0)
    """In the stream: of the input that comes next."""
    _whole: dict[str, str] = field(init=False, default_factory=dict)
    """The token of each target's part."""
    _made: list[str] = field(init=False, default_factory=list)
    _sent_from: str | None = field(init=False, default=None)
    _copies: int = field(init=False, default=0)

    def __enter__(self) -> CleanWriter:
        outputs = self.outputs
        with self._explained(self._output_name):
            if outputs.stream is not None:
                self._stream = _Stream(outputs.stream)
            elif is_remote(outputs.output):
                if self.part_of is None:
                    self._open_sending()
            elif outputs.root is not None:
                self._make_folder(outputs.root)
        return self

    def _open_sending(self) -> None:
        """Where copies are made that are sent to addresses: a folder that lasts as the parts do."""
        if self.keep_parts and self.sent_from is not None:
            self._sent_from = self.sent_from
            self._make_folder(self.sent_from)
        else:
            self._sent_from = tempfile.mkdtemp(prefix="neardup-")
            self._made.append(self._sent_from)

    @property
    def _output_name(self) -> str:
        return "stdout" if self.outputs.stream == STDOUT else self.outputs.output

    def is_done(self, target: Target) -> bool:
        """Whether an earlier run has written the target's part, and it is still there, so that nothing is to do."""
        if target.path is None or target.name not in self.done:
            return False
        final = real_place(target.path)
        with contextlib.suppress(OSError):
            if os.path.getsize(self._part(final, self.token)) == self.done[target.name]:
                self._whole[final] = self.token
                return True
        return False

    def rewrite(self, target: Target, job: Rewrite) -> None:
        """Write the copy of an input file; see ``rewrite_file``. In a stream, call it in the order of the inputs."""
        if self._stream is not None:
            with self.continued(target, job.options.encoding) as out:
                if out is not None:
                    is_first = self._place - 1 == self.outputs.leader
                    rewrite_file(job, cast(BinaryIO, out), plain=True, head=is_first)
        else:
            with self._part_of(target) as (final, part), new_part(final, part) as out:
                rewrite_file(job, out)
            if self.on_file_done is not None:
                self.on_file_done(target.name, os.path.getsize(part))

    def copy(self, target: Target) -> None:
        """Copy an input file that is one document, with its permissions and times.

        Many small files are brought to the disk together, at the end; a run that resumes copies them again.
        """
        if self._stream is not None:
            buffer = bytearray(_BUFFER)
            with self._explained(self._output_name), ByteStream(target.source) as source:
                while got := source.fill(memoryview(buffer)):
                    self._stream.write(memoryview(buffer)[:got])
        else:
            self._copies += 1
            with self._part_of(target) as (_, part):
                copy_file(target.source, part)

    @contextmanager
    def continued(self, target: Target, encoding: str) -> Iterator[_Stream | None]:
        """The stream for the next input, behind the others, each on a line of its own; None: nothing of it goes in."""
        assert self._stream is not None
        behind = self._place - self.outputs.leader
        self._place += 1
        with self._explained(self._output_name):
            if behind > 0:
                with ByteStream(target.source) as source:
                    self._stream.end_line(read_line_ends(source, encoding).encode("\n"))
            yield self._stream if behind >= 0 else None

    def expect(self, target: Target) -> str:
        """The target of a part that somebody else will write: links followed, so that a link stays a link.

        Its folder is made.
        """
        assert target.path is not None
        final = real_place(target.path)
        if self._sent_from is None and not is_remote(final):
            with self._explained(target.name):
                self._make_folder(os.path.dirname(final))
        return final

    def take(self, final: str, token: str) -> None:
        """The part of a target that somebody else has written, under a token of its own, whole and on disk."""
        self._whole[final] = token

    @contextmanager
    def _part_of(self, target: Target) -> Iterator[tuple[str, str]]:
        """The target and the part to write; then it is whole, or gone."""
        final = self.expect(target)
        part = self._part(final, self.token)
        with self._explained(target.name):
            try:
                yield final, part
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(part)
                raise
        self.take(final, self.token)

    def _part(self, final: str, token: str) -> str:
        if self.part_of is not None:
            return self.part_of(final, token)
        if self._sent_from is not None:
            name = hashlib.blake2b(final.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
            return os.path.join(self._sent_from, f"{name}.{token}{PART_SUFFIX}")
        return part_name(final, token)

    def _make_folder(self, folder: str) -> None:
        """Make a folder and those above it, and remember which were new."""
        missing = []
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for each in reversed(missing):
            os.mkdir(each)
            self._made.append(each)

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        """Turn what the system says into OutputError with the cure."""
        try:
            yield
        except (BrokenPipeError, NeardupError):
            raise
        except OSError as exc:
            if self.keep_parts and exc.errno in _FULL:
                raise OutputError(
                    f"cannot write {name}: {exc.strerror}. Free some space, then continue with the same command and "
                    f"--resume; {len(self._whole)} of {len(self.outputs)} files are finished and kept."
                ) from exc
            raise output_error(name, exc) from exc

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            with self._explained(self._output_name) if error is None else contextlib.suppress(OSError):
                self._stream.close()
        elif error is not None:
            self._discard(error)
        else:
            with AtomicFiles() if self.files is None else contextlib.nullcontext(self.files) as files:
                files.take(self.outputs.output, self._renames, self._discard, self._tidy)
                if self._copies and self._sent_from is None:
                    sync_all()

    def _renames(self) -> Iterator[Rename]:
        for final, token in self._whole.items():
            yield Rename(self._part(final, token), final)

    def _tidy(self) -> None:
        """Take away what copies at addresses were made of."""
        if self._sent_from is not None:
            shutil.rmtree(self._sent_from, ignore_errors=True)

    def _discard(self, error: BaseException) -> None:
        if self.keep_parts and not isinstance(error, InputChanged):
            return
        for final, token in self._whole.items():
            with contextlib.suppress(OSError):
                os.unlink(self._part(final, token))
        for folder in reversed(self._made):
            with contextlib.suppress(OSError):  # it is not empty: somebody else writes there
                os.rmdir(folder)


def write_copies(
    parts: Sequence[Source],
    writer: CleanWriter,
    job_of: Callable[[Source], Rewrite],
    *,
    on_source_done: Callable[[], None],
) -> list[str]:
    """Write a copy of each source, to which happens what ``job_of`` says; the names of what was written."""
    missing: set[Target] = set()
    for part, targets in targets_of(parts, writer.outputs):
        job = job_of(part)
        if isinstance(part, FilesSource):
            stays = set(kept_files(part, targets, job))
            missing.update(set(targets) - stays)
            for number, (target, file) in enumerate(zip(targets, part.files, strict=True), start=1):
                new = [] if job.replaced is None else list(job.replaced.among(number, number + 1))
                if target not in stays or writer.is_done(target):
                    continue
                if not new:
                    writer.copy(target)
                    continue
                replaced = Replaced(file.path, np.ones(1, dtype=np.int64), iter([new[0][1:]]))
                writer.rewrite(target, Rewrite(file.path, "text", job.options, replaced=replaced))
        else:
            jobs = shards(part, job) if isinstance(part, DatasetSource) else [job]
            for target, each in zip(targets, jobs, strict=True):
                if not writer.is_done(target):
                    writer.rewrite(target, each)
        on_source_done()
    return writer.outputs.names(missing)


def targets_of(parts: Sequence[Source], outputs: OutputSet) -> Iterator[tuple[Source, list[Target]]]:
    """Each source with the targets of its files."""
    targets = iter(outputs)
    for part in parts:
        yield part, list(islice(targets, len(_files_of(part))))


def _files_of(part: Source) -> Sequence[Any]:
    if isinstance(part, FilesSource):
        return part.files
    return part.dataset.paths if isinstance(part, DatasetSource) else [part.name]


def kept_files(part: FilesSource, targets: Sequence[Target], job: Rewrite) -> list[Target]:
    """Targets of the files, one document each, that stay; not of one that could not be read, and was skipped."""
    if job.annotation is not None:
        check_annotatable(part.name, "text")
    kept = np.array([file.error is None for file in part.files], dtype=np.bool_)
    kept[job.removed - 1] = False
    return [targets[i] for i in np.flatnonzero(kept).tolist()]


def shards(part: DatasetSource, job: Rewrite) -> Iterator[Rewrite]:
    """What happens to each shard of a dataset, whose rows are numbered across all of them."""
    from neardup.tasks.rewrite.ipc import count_ipc

    note, known = job.annotation, job.known
    first = 1
    for path in part.dataset.paths:
        count = count_ipc(path, job.options.limit)
        removed = job.removed[slice(*np.searchsorted(job.removed, (first, first + count)))]
        yield replace(
            job,
            path=path,
            format="arrow",
            removed=removed - (first - 1),
            annotation=None if note is None else note.part(first, count),
            known=None if known is None else known.part(first, count),
        )
        first += count
    wanted = job.removed if note is None else note.rows
    found = int(np.searchsorted(wanted, first))
    if found != wanted.size:
        raise changed(part.name, wanted.size, found)
    if known is not None:
        known.check_count(first - 1)


def part_name(final: str, token: str) -> str:
    """The name that a target has until all are whole: no longer than a file system allows, and another for each."""
    folder, name = os.path.split(final)
    if len(os.fsencode(name)) > _LONGEST_NAME:
        digest = hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()
        name = f"{name[: _LONGEST_NAME // 4]}-{digest}"
    return os.path.join(folder, f".{name}.{token}{PART_SUFFIX}")


@contextmanager
def new_part(final: str, part: str) -> Iterator[BinaryIO]:
    """The part of a target to write into; at the end of the block it is on disk, or an object of its store."""
    if is_remote(part):
        from neardup.outputs.parts import new_object

        with new_object(part) as out:
            yield out
        return
    # A stale part may be there; a link that somebody laid in its place is not followed.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(part, flags, 0o666), "wb", buffering=_BUFFER) as out:
        with contextlib.suppress(OSError):  # a replaced file keeps its rights
            os.chmod(part, stat.S_IMODE(os.stat(final).st_mode))
        yield out
        out.flush()
        os.fsync(out.fileno())


def copy_file(source: str, target: str) -> None:
    """Copy one file, its permissions and its times, as ``shutil.copy2`` does; InputChanged where it is gone.

    ``target`` may be at an address, and gets nothing but the bytes there.
    """
    try:
        readable = open_at(source)
    except OSError as exc:
        raise InputChanged(
            f"{source} cannot be read: {exc.strerror}. It was there when the run began; run again from the start."
        ) from exc
    is_there = is_remote(target)
    with readable, new_part(target, target) if is_there else open(target, "wb") as out:
        shutil.copyfileobj(readable, out, _BUFFER)
    if not is_remote(source) and not is_there:
        shutil.copystat(source, target)


class _Stream:
    """Stdout, a pipe or a device, that remembers how the bytes so far end."""

    def __init__(self, name: str) -> None:
        self._is_own = name != STDOUT
        out = open(name, "wb", buffering=_BUFFER) if self._is_own else stdout_bytes()  # noqa: SIM115 closed by close()
        if out is None:
            raise OutputError("stdout is closed. Give a file or a folder for the output.")
        self._out, self._end = out, b""

    def write(self, data: Any) -> int:
        """Write bytes and remember the last of them."""
        view = memoryview(data).cast("B")
        self._out.write(view)
        self._end = (self._end + bytes(view[-4:]))[-4:]
        return len(view)

    def end_line(self, newline: bytes) -> None:
        """Write a newline unless the bytes so far are none or end in one."""
        if self._end and not self._end.endswith(newline):
            self.write(newline)

    def close(self) -> None:
        """Let all bytes out; stdout stays open."""
        if self._is_own:
            self._out.close()
        else:
            self._out.flush()
