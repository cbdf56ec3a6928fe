"""The end of a run, when its outputs get their names: several renames, between which the process may be killed.

Before the first of them a journal is written beside the outputs: which complete file or folder still has a temporary
name, and what it is to be called. It goes when all have their names. A later run with one of these outputs that finds
the journal, and no process at work on it, makes the renames that are left and says so. Only forward: what an output
was before is gone with its rename, and all that still waits was complete and on disk before the first.

A journal says what is to be renamed, so one that another user wrote, in a folder that several may write to, is not
looked at, and each rename stays in its folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from neardup.errors import OutputError
from neardup.spool.machine import is_running, sync_folder, this_process

_PREFIX, _SUFFIX = ".neardup-", ".names"
_FORMAT = 1
_NAMED = 5
"""Outputs that a message names."""
_writing: set[str] = set()
"""Journals that this process is working on: in a container, the next process often has the number of the last."""


class Rename(NamedTuple):
    """A complete file or folder, and the name that it gets. Both are absolute, links followed."""

    temporary: str
    final: str
    replaces_folder: bool = False
    """A folder that is not empty may be in the way, and goes: an earlier report."""


Renames = Callable[[], Iterator[Rename]]
"""Gives the renames in their order, each time from the first: there may be a million, and they are not kept."""


class UnfinishedError(OutputError):
    """Some outputs have their names and others could not get theirs; these stay complete under temporary ones."""


def give_names(renames: Renames, outputs: Sequence[str]) -> None:
    """Give complete outputs their names, in order; Ctrl-C is heard when all have them.

    Temporary names are in the same folders as the final ones. By ``outputs``, the files and folders that the user
    named, a later run knows that they are its own too.

    Raises:
        OSError: no output has its name, and no journal is left. Its ``filename`` is the one that failed.
        UnfinishedError: some have; the next run with these outputs goes on.
    """
    if not _is_several(renames()):
        _rename_all(renames)
        return
    journals = _write_journals(renames, [os.path.realpath(output) for output in outputs])
    try:
        done, failed, stopped = _rename_patiently(renames)
        if failed is not None and done:
            raise UnfinishedError(
                f"cannot write {failed.filename}: {failed.strerror or failed}. The other outputs of the run have their "
                "names. This one is complete too: free its name, and the next run with these outputs gives it."
            ) from failed
        _remove(journals)
        if failed is not None:
            raise failed
        if stopped is not None:
            raise stopped
    finally:
        _writing.difference_update(journals)


def _is_several(renames: Iterator[Rename]) -> bool:
    """Whether more than one system call is needed, so that a kill could come between."""
    first = next(renames, None)
    return first is not None and (first.replaces_folder or next(renames, None) is not None)


def _rename_patiently(renames: Renames) -> tuple[int, OSError | None, KeyboardInterrupt | None]:
    """Make all renames; how many, the first error, and the Ctrl-C that had to wait: they belong together."""
    done, stopped = 0, None
    while True:
        try:
            count, failed = _rename_all(renames, on_error="go on")
            return done + count, failed, stopped
        except KeyboardInterrupt as exc:
            done, stopped = 1, exc  # it is not known how many; one is enough to go on


def _rename_all(renames: Renames, on_error: str = "raise") -> tuple[int, OSError | None]:
    """Make the renames that are not made yet, and the names last; how many, and the first error."""
    count, first = 0, None
    folders: dict[str, None] = {}
    for rename in renames():
        if not os.path.lexists(rename.temporary):
            continue  # it has its name, from before a kill or Ctrl-C
        try:
            _rename(rename)
        except OSError as exc:
            exc.filename = rename.final
            if on_error == "raise":
                raise
            first = first or exc
            if not count:
                return 0, first  # nothing was replaced yet, and nothing need be
            continue
        count += 1
        folders[os.path.dirname(rename.final)] = None
    for folder in folders:
        _sync(folder)
    return count, first


def _rename(rename: Rename) -> None:
    temporary, final, replaces_folder = rename
    if not os.path.isdir(temporary):
        os.replace(temporary, final)
        return
    aside = None
    if os.path.isdir(final):
        try:
            os.rmdir(final)
        except OSError:
            if not replaces_folder:
                raise
            # a name that is taken away with other leftovers, should this process not come to it
            aside = f"{temporary.removesuffix('.part')[:-8]}{secrets.token_hex(4)}.part"
            os.rename(final, aside)
    try:
        os.rename(temporary, final)
    except BaseException:
        if aside is not None:
            with contextlib.suppress(OSError):
                os.rename(aside, final)
        raise
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)


def _sync(folder: str) -> None:
    with contextlib.suppress(OSError):  # some systems cannot; the files are whole in any case
        sync_folder(Path(folder))


def _write_journals(renames: Renames, outputs: list[str]) -> list[str]:
    """Write the journal into each folder that holds an output; their paths."""
    process = this_process()
    name = f"{_PREFIX}{process[0]}-{secrets.token_hex(4)}{_SUFFIX}"
    journals = [os.path.join(folder, name) for folder in dict.fromkeys(map(os.path.dirname, outputs))]
    head = {"neardup": "names", "format": _FORMAT, "process": process, "outputs": outputs, "journals": journals}
    _writing.update(journals)
    try:
        for journal in journals:
            part = f"{journal}.part"
            with open(part, "x", encoding="ascii", buffering=1 << 16) as stream:
                stream.write(json.dumps(head) + "\n")
                count = 0
                for count, rename in enumerate(renames(), start=1):  # noqa: B007 read behind the loop
                    stream.write(json.dumps(rename) + "\n")
                stream.write(f"{count}\n")
                stream.flush()
                os.fsync(stream.fileno())
            os.rename(part, journal)
            _sync(os.path.dirname(journal))
    except BaseException as exc:
        _remove([*journals, *(f"{journal}.part" for journal in journals)])
        if isinstance(exc, OSError):
            exc.filename = journal
        raise
    return journals


def _remove(paths: Iterable[str]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)


def finish_names(outputs: Iterable[str]) -> list[str]:
    """Give their names to what earlier runs with any of these outputs were killed before naming; for a new run's start.

    Returns what was done, as sentences for the user. Raises OutputError when a journal is damaged, or a name cannot be
    given.
    """
    mine = {os.path.realpath(output) for output in outputs}
    told = []
    for folder in dict.fromkeys(os.path.dirname(output) for output in sorted(mine)):
        for journal in _journals_in(folder):
            head = _head(journal)
            if head is None or mine.isdisjoint(head["outputs"]) or _is_at_work(journal, head):
                continue
            told += _finish(journal, head["journals"])
    return told


def _journals_in(folder: str) -> list[str]:
    """Journals of this user."""
    try:
        with os.scandir(folder) as entries:
            found = [e for e in entries if e.name.startswith(_PREFIX) and e.name.endswith(_SUFFIX)]
            return sorted(entry.path for entry in found if _is_own(entry))
    except OSError:
        return []  # what is wrong with the folder is said when an output is tried there


def _is_own(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file that this user wrote; Windows does not tell who did."""
    if not entry.is_file(follow_symlinks=False):
        return False
    return not hasattr(os, "geteuid") or entry.stat(follow_symlinks=False).st_uid == os.geteuid()


def _head(journal: str) -> dict[str, Any] | None:
    """The first line of a journal; None when it is gone."""
    try:
        with open(journal, encoding="ascii") as stream:
            head = json.loads(stream.readline())
        lists = (head["process"], head["outputs"], head["journals"])
        if (head["neardup"], head["format"]) != ("names", _FORMAT) or not all(isinstance(each, list) for each in lists):
            raise ValueError
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError) as exc:
        raise _damaged(journal) from exc
    found: dict[str, Any] = head
    return found


def _damaged(journal: str) -> OutputError:
    return OutputError(
        f"{journal} says which outputs of a run that was killed have no name yet, and cannot be read. Delete it, and "
        "run again from the start: what is in its folder may be of two runs."
    )


def _is_at_work(journal: str, head: dict[str, Any]) -> bool:
    pid, born = head["process"]
    return journal in _writing if pid == this_process()[0] else is_running(pid, born)


def _finish(journal: str, copies: list[str]) -> list[str]:
    """Make the renames that a journal has and nobody made."""

    def renames() -> Iterator[Rename]:
        with open(journal, encoding="ascii") as stream:
            next(stream)
            for line in stream:
                entry = json.loads(line)
                if isinstance(entry, list):
                    rename = Rename(*entry)
                    if os.path.dirname(rename.temporary) != os.path.dirname(rename.final):
                        raise ValueError("a rename leads to another folder")
                    yield rename

    try:
        with open(journal, "rb") as stream:
            lines = sum(1 for _ in stream)
            stream.seek(max(0, stream.tell() - 32))
            if stream.read().split(b"\n")[-2:] != [b"%d" % (lines - 2), b""]:
                raise ValueError("it is cut short")
        left = [rename.final for rename in renames() if os.path.lexists(rename.temporary)]
    except (OSError, ValueError, TypeError) as exc:
        raise _damaged(journal) from exc
    try:
        _rename_all(renames)
    except OSError as exc:
        raise OutputError(
            f"an earlier run was stopped while its outputs got their names, and {exc.filename} cannot get its own: "
            f"{exc.strerror or exc}. Free the name, or delete {journal} to leave the outputs as they are."
        ) from exc
    _remove([*(copy for copy in copies if os.path.basename(copy) == os.path.basename(journal)), journal])
    if not left:
        return []
    more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return [
        f"an earlier run was stopped while its outputs got their names; those that were left have them now: "
        f"{', '.join(left[:_NAMED])}{more}"
    ]
