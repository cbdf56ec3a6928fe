"""Output files that appear whole or not at all, and, before a long run, whether an output could be written."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO

from neardup.errors import InputError, OutputError
from neardup.inputs.addresses import address_of, is_reached, is_remote, place_of
from neardup.outputs.renames import Rename, Renames, UnfinishedError, give_names
from neardup.shown import shown_path
from neardup.spool.machine import is_running, this_process

if TYPE_CHECKING:
    from neardup.outputs.uploads import Uploads

_CURES = {
    errno.ENOSPC: "Free some space or give a file on another disk.",
    errno.EDQUOT: "Free some of your quota or give a file on another disk.",
    errno.EFBIG: "The file size is limited here (ulimit -f); raise the limit or write elsewhere.",
    errno.ENOENT: "Make the folder first, or give another file.",
    errno.ENOTDIR: "A part of the path is a file; give another one.",
    errno.EACCES: "Give a file in a folder that you may write to.",
    errno.EPERM: "Give a file in a folder that you may write to.",
    errno.EROFS: "The file system is read-only; give a file elsewhere.",
    errno.EISDIR: "It is a folder; give the name of a file.",
}


def output_error(target: str | Path, exc: OSError) -> OutputError:
    """Return the OutputError for a system error met while writing ``target``: path, reason and cure."""
    address = address_of(str(target))
    if address is not None:
        return OutputError(
            f"cannot write {address}: it is an address, and this output is written to folders of this machine only. "
            "Give a folder here, and copy it when the run is done."
        )
    reason = exc.strerror or str(exc)
    cure = _CURES.get(exc.errno or 0, "Give another file.")
    return OutputError(f"cannot write {target}: {reason}. {cure}")


@contextlib.contextmanager
def writing(target: str | Path) -> Iterator[None]:
    """Turn a system error met while writing ``target`` into an OutputError; a closed pipe stays what it is."""
    try:
        yield
    except (BrokenPipeError, OutputError):
        raise
    except OSError as exc:
        raise output_error(target, exc) from exc


def output_place(target: str | Path) -> str:
    """The path or the address that an output is to go to. OutputError for an address that cannot be written."""
    address = address_of(os.fspath(target))
    if address is not None and not is_reached(address):
        raise OutputError(
            f"cannot write {address}: it is an address that is not reached from here. Give a file or a folder, and "
            "copy it when the run is done."
        )
    try:
        return place_of(os.fspath(target))
    except InputError as exc:
        raise OutputError(f"cannot write there: {exc}") from exc


def check_target(target: str | Path) -> None:
    """Raise OutputError unless ``target`` could be written now: its folder exists and takes new files."""
    place = output_place(target)
    if is_remote(place):
        from neardup.outputs.uploads import check_writable

        check_writable(place)
        return
    final = Path(os.path.realpath(place))
    with writing(target):
        if is_special(final):
            if not os.access(final, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        if final.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        temporary = temporary_name(final)
        # Trying is the only honest test: rights, quotas and read-only mounts all speak here.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        temporary.unlink()


def remove_parts(target: str | Path) -> None:
    """Remove temporary files and folders of ``target`` whose processes are gone: killed before they could do it."""
    with contextlib.suppress(OSError):
        for left in left_behind(target):
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)


def left_behind(target: str | Path, suffix: str = ".part") -> list[Path]:
    """Temporary files and folders of ``target`` whose processes are gone."""
    final = Path(os.path.realpath(target))
    pattern = re.compile(
        rf"\.{re.escape(final.name[:100])}\.([0-9a-f]+)(?:\.([0-9]+))?-[0-9a-f]{{8}}{re.escape(suffix)}"
    )
    try:
        found = [(pattern.fullmatch(name), final.parent / name) for name in os.listdir(final.parent)]
    except OSError:
        return []
    return [path for match, path in found if match and not is_running(int(match[1], 16), match[2] or "")]


def temporary_name(final: Path) -> Path:
    """A name beside ``final`` for what is not complete yet, with the process in it and when that began."""
    pid, born = this_process()
    process = f"{int(pid):x}.{born}" if born else f"{int(pid):x}"
    return final.with_name(f".{final.name[:100]}.{process}-{secrets.token_hex(4)}.part")


def is_special(path: str | Path) -> bool:
    """Whether ``path`` is a device, a pipe or a socket: such a thing is written in place, never replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@dataclass(slots=True)
class _Taken:
    target: str | Path
    """As the caller named it, for messages."""
    renames: Renames
    discard: Callable[[BaseException], None]
    finished: Callable[[], None] | None


@dataclass(slots=True)
class _Held:
    target: str | Path
    final: Path | str
    """With symbolic links followed, so that a link stays a link; or an address."""
    temporary: Path | None
    """None for a special file, which is written in place."""
    stream: BinaryIO

    def renames(self) -> Iterator[Rename]:
        if self.temporary is not None:
            yield Rename(str(self.temporary), str(self.final))

    def complete(self) -> None:
        with writing(self.target):
            self.stream.flush()
            if self.temporary is not None:
                os.fsync(self.stream.fileno())
            self.stream.close()

    def discard(self, _: BaseException | None) -> None:
        with contextlib.suppress(OSError):
            self.stream.close()
        with contextlib.suppress(OSError):
            if self.temporary is not None:
                self.temporary.unlink(missing_ok=True)


class AtomicFiles:
    """Outputs that take their names together, when the ``with`` block ends without an error.

    Each is written under a temporary name in the folder of its target; on a clean exit all are flushed and
    synced to disk first and renamed after that, in the order in which they were opened and taken; see ``renames`` for
    a kill in between. On any error, Ctrl-C included, the temporary files are removed, the targets stay as they were,
    and a system error (disk full, no right) is raised as OutputError. Special files such as /dev/stdout are written
    in place.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> with AtomicFiles() as files:
        ...     _ = files.open(folder / "a.txt").write(b"whole")
        >>> (folder / "a.txt").read_bytes()
        b'whole'
    """

    def __init__(self) -> None:
        self._held: list[_Held | _Taken] = []
        self._checks: list[Callable[[], None]] = []
        self.are_named = False
        """Whether the outputs have their names."""

    def __enter__(self) -> AtomicFiles:
        return self

    def open(self, target: str | Path) -> BinaryIO:
        """Return a binary stream whose bytes become ``target`` at the end of the block."""
        place = output_place(target)
        final = Path(os.path.realpath(place))
        with writing(target):
            if is_remote(place):
                from neardup.outputs.uploads import new_file

                made = Path(new_file())
                held = _Held(target, place, made, open(made, "wb", buffering=1 << 20))  # noqa: SIM115 closed in __exit__
            elif is_special(final):
                held = _Held(target, final, None, open(final, "wb"))  # noqa: SIM115 closed in __exit__
            else:
                held = self._open_temporary(target, final)
        self._held.append(held)
        return held.stream

    def take(
        self,
        target: str | Path,
        renames: Renames,
        discard: Callable[[BaseException], None],
        finished: Callable[[], None] | None = None,
    ) -> None:
        """Let what the caller has written under temporary names take part: it is complete and on disk.

        ``discard`` removes the temporary files, told the error that made them useless; ``finished`` is called when all
        outputs have their names.
        """
        self._held.append(_Taken(target, renames, discard, finished))

    def check_before(self, check: Callable[[], None]) -> None:
        """Have ``check`` called when all is complete, right before the names are given; what it raises is an error."""
        self._checks.append(check)

    def _open_temporary(self, target: str | Path, final: Path) -> _Held:
        if final.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        temporary = temporary_name(final)
        stream = open(temporary, "xb", buffering=1 << 20)  # noqa: SIM115 closed in __exit__
        with contextlib.suppress(OSError):
            temporary.chmod(stat.S_IMODE(final.stat().st_mode))  # a replaced file keeps its rights
        return _Held(target, final, temporary, stream)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._discard(error)
            if isinstance(error, OSError) and not isinstance(error, BrokenPipeError | OutputError):
                named = ", ".join(str(held.target) for held in self._held) or "the output"
                raise output_error(named, error) from error
            return
        try:
            for held in self._held:
                if isinstance(held, _Held):
                    held.complete()
            for check in self._checks:
                check()
            with self._sent() as uploads:
                self._name(uploads)
        except UnfinishedError:
            raise
        except BaseException as exc:
            if not self.are_named:
                self._discard(exc)
            raise

    @contextlib.contextmanager
    def _sent(self) -> Iterator[Uploads | None]:
        """What goes to addresses, on its way there but for the end; None: nothing does."""
        if next(self._renames(to_addresses=True), None) is None:
            yield None
            return
        from neardup.outputs.uploads import Uploads

        uploads = Uploads(partial(self._renames, to_addresses=True))
        try:
            uploads.begin()
            yield uploads
        finally:
            uploads.abandon()
            for held in self._held:
                if isinstance(held, _Held) and is_remote(str(held.final)):
                    held.discard(None)  # what was made here of an object is of no use any more

    def _name(self, uploads: Uploads | None) -> None:
        """Give the outputs their names: those here and those at addresses, first those among which the first is."""
        first = next((rename for held in self._held for rename in held.renames()), None)
        stopped = None
        if uploads is not None and first is not None and is_remote(first.final):
            stopped = uploads.finish()
            self._rename()
        else:
            self._rename()
            stopped = uploads.finish() if uploads is not None else None
        self.are_named = True
        for held in self._held:
            if isinstance(held, _Taken) and held.finished is not None:
                held.finished()
        if stopped is not None:
            raise stopped

    def _rename(self) -> None:
        """Give the outputs of this machine their names."""
        held = [each for each in self._held if isinstance(each, _Taken) or each.temporary is not None]
        outputs = [str(each.target if isinstance(each, _Taken) else each.final) for each in held]
        try:
            give_names(self._renames, [name for name in outputs if not is_remote(name)])
        except OutputError:
            raise
        except KeyboardInterrupt:
            self.are_named = not any(os.path.lexists(rename.temporary) for rename in self._renames())
            raise
        except OSError as exc:
            named = {str(held.final): held.target for held in self._held if isinstance(held, _Held)}
            raise output_error(named.get(exc.filename, shown_path(exc.filename)), exc) from exc

    def _renames(self, *, to_addresses: bool = False) -> Iterator[Rename]:
        """Those on this machine, or those to addresses."""
        for held in self._held:
            for rename in held.renames():
                if is_remote(rename.final) == to_addresses:
                    yield rename

    def _discard(self, error: BaseException) -> None:
        for held in self._held:
            held.discard(error)
