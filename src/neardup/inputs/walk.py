"""Finding files: folders with patterns, and glob patterns. Nothing is opened here; what is not read is counted.

Hidden files and folders (a leading dot) are passed over unless the pattern itself names them, and so are the locks
that Word lays beside an open document (``~$report.docx``). A folder that holds a report of ours is always passed over.
Links are followed; a folder is entered once and a file found once, by whatever name comes first, so a loop of links
ends.
"""

from __future__ import annotations

import glob
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from neardup.inputs.addresses import fits, is_remote, place_of, real_place
from neardup.inputs.formats import DOCUMENT, suffix_format
from neardup.inputs.passed import Passing, Reason
from neardup.inputs.source import Source
from neardup.inputs.stream import ByteStream

REPORT_MARKER = "neardup-report.json"
"""A file that says that its folder is a report, which is about documents and holds none."""
SPEC_SUFFIX = ".spec.json"
"""Ending of the file that keeps the spec beside a table of ours."""
_LOCK = "~$"
_OF_MACOS = "__MACOSX"
"""Folder of a zip that macOS made, with what is no content."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read, or a folder that could not be listed."""

    path: str
    """As reached from the input."""
    size: int
    real: str
    """Without links: the same for two ways to one file."""
    error: str | None = None
    """Why it cannot be read, as a sentence."""
    format: str = ""
    """How it is to be read; set by ``resolve``."""
    source: Source | None = None
    """What reads it, where that is no file: of an archive."""
    stream: ByteStream | None = None
    """Open already: standard input or a pipe, which can be read only once."""

    read_as: str = ""
    """The name of a kind of document to read it as; empty: as ``path`` says."""

    @property
    def is_document(self) -> bool:
        """It is one of people's documents, and no plain text: its suffix says how to read it."""
        return self.format == DOCUMENT


def walk_folder(folder: str, patterns: Sequence[str] | None = None, passing: Passing | None = None) -> list[InputFile]:
    """Find the files of a folder and of those in it, sorted by path, and what kept us from finding them.

    A pattern without a slash is matched against the file's name, one with a slash against its path in the
    folder, where ``**`` stands for any folders or none. Without patterns all files are meant whose suffix tells a
    format, in capitals too (``REPORT.PDF``), but for tables of ours, which their specs beside them tell.
    ``passing`` is told of everything else that the folder holds.
    """
    passing = Passing() if passing is None else passing
    matches = [_matcher(pattern) for pattern in patterns or ()]
    hidden = any(part.startswith((".", _LOCK)) for pattern in patterns or () for part in pattern.split("/"))
    found = []
    for parts, file, is_ours in _files(folder, hidden, passing):
        if patterns is None and is_ours:
            passing.note("written by neardup", file.path)
        elif parts is None or (
            suffix_format(parts[-1]) if patterns is None else any(match(parts) for match in matches)
        ):
            found.append(file)
        else:
            passing.note("suffix" if patterns is None else "not asked for", file.path)
    return _once(found, passing)


def left_out(name: str, patterns: Sequence[str] | None = None) -> Reason | None:
    """Why a member of an archive is passed over by its name, by the rules of ``walk_folder``; else None."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if not parts:
        return "suffix"
    hidden = any(part.startswith((".", _LOCK)) for pattern in patterns or () for part in pattern.split("/"))
    if not hidden and parts[-1].startswith(_LOCK):
        return "lock file"
    if not hidden and (parts[0] == _OF_MACOS or any(part.startswith(".") and part != ".." for part in parts)):
        return "hidden file"
    if patterns is None:
        return None if suffix_format(parts[-1]) else "suffix"
    return None if any(_matcher(pattern)(parts) for pattern in patterns) else "not asked for"


def glob_files(pattern: str, passing: Passing | None = None) -> list[InputFile]:
    """Find the files, not folders, that a glob pattern names, sorted by path.

    ``passing`` is told of links to one file, and of folders that the pattern names and in which it names no file.
    """
    passing = Passing() if passing is None else passing
    found: list[tuple[str, InputFile | None]]  # None: a folder
    if is_remote(pattern):
        from neardup.inputs.remote import matching

        places = matching(place_of(pattern))
        found = [(path, None if each.is_folder else remote_file(path, each.size)) for path, each in places]
    else:
        paths = glob.iglob(pattern, recursive=True)
        found = [(path, None if os.path.isdir(path) else look_at(path, os.path.realpath(path))) for path in paths]
    entered = {folder for path, file in found if file is not None for folder in _above(path)}
    for path, file in found:
        if file is None and path.rstrip(os.sep) not in entered:
            passing.note("folder", path)
    return _once([file for _, file in found if file is not None], passing)


def _above(path: str) -> Iterator[str]:
    """The folders that a path leads through."""
    while (above := os.path.dirname(path)) not in ("", path):
        yield above
        path = above


def common_suffix(folder: str) -> tuple[str, int] | None:
    """The commonest suffix of the files below a folder, and how many have it; None without files."""
    found = _files(folder, False, Passing())
    suffixes = Counter(Path(file.path).suffix for parts, file, _ in found if parts is not None)
    return max(suffixes.items(), key=lambda item: (item[1], item[0]), default=None)


def look_at(path: str, real: str) -> InputFile:
    """The size of a file, or why it cannot be read."""
    if is_remote(path):
        from neardup.inputs.remote import look

        found = look(path)
        if found is None:
            return InputFile(path, 0, real, f"{path} does not exist. Check the bucket and the name.")
        return remote_file(path, found.size)
    try:
        info = os.stat(path)
    except OSError as exc:
        return InputFile(path, 0, real, f"{path} cannot be read: {exc.strerror}.")
    if not stat.S_ISREG(info.st_mode):
        return InputFile(path, 0, real, f"{path} is no regular file.")
    return InputFile(path, info.st_size, real)


def _once(found: list[InputFile], passing: Passing) -> list[InputFile]:
    first: dict[str, InputFile] = {}
    for file in sorted(found, key=lambda file: file.path):
        if first.setdefault(file.real, file) is not file:
            passing.note("file linked twice", file.path)
    return list(first.values())


def _files(folder: str, hidden: bool, passing: Passing) -> Iterator[tuple[list[str] | None, InputFile, bool]]:
    """All files below a folder, the parts of their path in it (None: a folder that cannot be listed), whether ours."""
    listing = _remote_entries(folder) if is_remote(folder) else _entries
    entered: set[str] = set()
    pending: list[tuple[str, list[str], str]] = [(folder, [], real_place(folder))]
    while pending:
        path, parts, real = pending.pop()
        if real in entered:
            passing.note("folder linked twice", path)
            continue
        entered.add(real)
        try:
            entries = sorted(listing(path, real), key=lambda entry: entry.name)
        except OSError as exc:
            yield None, InputFile(path, 0, real, f"{path} cannot be listed: {exc.strerror}."), False
            continue
        if any(entry.name == REPORT_MARKER for entry in entries):
            passing.note("report", path)
            continue
        folders = []
        names = {entry.name for entry in entries}
        for entry in entries:
            if entry.name.startswith(_LOCK) and not hidden:
                passing.note("lock file", entry.path)
                continue
            if entry.name.startswith(".") and not hidden:
                passing.note("hidden folder" if entry.is_folder else "hidden file", entry.path)
                continue
            if entry.is_folder:
                folders.append((entry.path, [*parts, entry.name], entry.real))
            else:
                file = entry.file or look_at(entry.path, entry.real)
                yield [*parts, entry.name], file, _is_ours(entry.name, names)
        pending.extend(reversed(folders))


class _Entry(NamedTuple):
    """One name in a folder."""

    name: str
    path: str
    real: str
    is_folder: bool
    file: InputFile | None = None
    """Where it need not be looked at any more."""


def _entries(path: str, real: str) -> list[_Entry]:
    """What is in a folder of this machine; OSError where it cannot be listed."""
    with os.scandir(path) as listing:
        return [
            _Entry(
                entry.name,
                entry.path,
                os.path.realpath(entry.path) if entry.is_symlink() else os.path.join(real, entry.name),
                _leads_to_folder(entry),
            )
            for entry in listing
        ]


def _remote_entries(folder: str) -> Callable[[str, str], list[_Entry]]:
    """Gives what is in each folder below an address, all of which is listed at once."""
    from neardup.inputs.remote import listed

    tree: dict[str, dict[tuple[str, bool], _Entry]] = {}
    for found in listed(folder, recursive=True):
        path = f"{folder}/{found.name}"
        file = None if found.is_folder else remote_file(path, found.size)
        above, _, name = (folder, "", found.name) if file is not None and file.error else path.rpartition("/")
        entry = _Entry(name, path, path, found.is_folder, file)
        while (entry.name, entry.is_folder) not in tree.setdefault(above, {}):
            tree[above][entry.name, entry.is_folder] = entry
            if above == folder:
                break
            path = above  # of which not every store tells
            above, _, name = path.rpartition("/")
            entry = _Entry(name, path, path, True)
    return lambda path, _: list(tree.get(path, {}).values())


def remote_file(address: str, size: int) -> InputFile:
    """An object of a listing; one whose name no client can be asked for has an error."""
    parts = address.partition("://")[2].split("/")
    if "" in parts[1:]:
        why = "its name has two slashes in a row, and cannot be asked for. Copy it to another."
        return InputFile(address, 0, address, f"{address} cannot be read: {why}")
    return InputFile(address, size, address)


def _is_ours(name: str, names: set[str]) -> bool:
    """Whether a file is a table of ours with its spec beside it, or that spec."""
    return name + SPEC_SUFFIX in names or (name.endswith(SPEC_SUFFIX) and name.removesuffix(SPEC_SUFFIX) in names)


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads round to itself; what it is called decides, as with other broken links


def _matcher(pattern: str) -> Callable[[list[str]], bool]:
    wanted = pattern.removeprefix("./").split("/") if "/" in pattern else ["**", pattern]
    if wanted[-1] == "**":
        wanted.append("*")
    return lambda parts: fits(parts, wanted)
