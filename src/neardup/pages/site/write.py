"""Pages put on disk, whole or not at all.

A folder is made beside the target under a temporary name and renamed when it is complete. What stands in the way is
replaced only when we made it: a report has a marker, and a folder with anything else in it is left alone.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neardup.errors import OutputError
from neardup.inputs.walk import REPORT_MARKER
from neardup.outputs.atomic import AtomicFiles, remove_parts, temporary_name, writing
from neardup.outputs.renames import Rename, give_names
from neardup.pages.site.render import CHUNKS, json_bytes, pair_page, report_page

_MARK = {"kind": "neardup report", "format": 1}
_NAME = re.compile(r"[a-z]+-[0-9]{4,}")
_GENERATOR = b'<meta name="generator" content="neardup '
_HEAD = 4096
"""Bytes of a file in which the generator stands, when it is a page of ours."""

Chunk = Mapping[str, Any] | bytes


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A report on disk."""

    path: Path
    """The page to open."""
    files: int
    bytes: int


def write_site(
    target: str | Path,
    meta: dict[str, Any],
    chunks: Iterable[tuple[str, Chunk]],
    *,
    single_file: bool,
    page: Callable[[Mapping[str, Any]], bytes] = report_page,
) -> WrittenPage:
    """Write a report: a folder with ``index.html`` and its data, or one HTML file that holds all.

    Appears whole or not at all, in place of an earlier report; the same data gives the same bytes. Chunks, by names
    such as ``clusters-0000``, are written as they come: plain JSON values, or what ``json_bytes`` makes of them.
    ``page`` makes ``index.html`` of ``meta``.

    Raises:
        OutputError: the target is something else than a report, or cannot be written.
    """
    check_site(target, single_file=single_file)
    made = page(meta)
    if single_file:
        before, _, behind = made.partition(CHUNKS.encode())
        return _write_file(target, _inline(before, chunks, behind))
    index = made.replace(CHUNKS.encode(), b"")
    final = Path(os.path.realpath(target))
    temporary = temporary_name(final)
    remove_parts(final)
    try:
        files, size = _fill(temporary, target, index, chunks)
        with writing(target):
            give_names(lambda: iter((Rename(str(temporary), str(final), replaces_folder=True),)), [str(target)])
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return WrittenPage(final / "index.html", files, size)


def write_pair(target: str | Path, meta: dict[str, Any], page: dict[str, Any]) -> WrittenPage:
    """Write the view of one pair as one HTML file, whole or not at all, in place of an earlier page of ours.

    Raises:
        OutputError: the target is something else, or cannot be written.
    """
    check_file(target)
    return _write_file(target, [pair_page(meta, page)])


def is_page(target: str | Path) -> bool:
    """Whether a report of this name is one file, whose name says so, and not a folder."""
    return is_named_page(target) and not os.path.isdir(target)


def is_named_page(target: str | Path) -> bool:
    """Whether a name is that of a page."""
    return Path(target).suffix.lower() in (".html", ".htm")


def check_site(target: str | Path, *, single_file: bool) -> None:
    """Raise OutputError unless a report could be written to ``target``: to be asked before a long run."""
    if single_file:
        check_file(target)
        return
    final = Path(os.path.realpath(target))
    with writing(target):
        _refuse_foreign_folder(target, final)
        probe = temporary_name(final)
        probe.mkdir()
        probe.rmdir()


def check_file(target: str | Path) -> None:
    """Raise OutputError unless a page could be written to the file ``target``."""
    final = Path(os.path.realpath(target))
    if final.is_dir():
        raise OutputError(f"cannot write {target}: it is a folder. Give the name of an .html file.")
    if final.is_file() and final.stat().st_size:
        with final.open("rb") as stream:
            if _GENERATOR not in stream.read(_HEAD):
                raise OutputError(
                    f"cannot write {target}: it exists and is not a page that neardup made. Give another name, or "
                    "remove it first."
                )
    if not final.parent.is_dir():
        raise OutputError(f"cannot write {target}: there is no folder {final.parent}. Make it first.")


def _refuse_foreign_folder(target: str | Path, final: Path) -> None:
    if final.is_file():
        why = "it is a file, and a report is a folder. Give a folder, or ask for a single file."
        raise OutputError(f"cannot write {target}: {why}")
    if not final.exists():
        return
    names = {entry.name for entry in final.iterdir()}
    foreign = sorted(names - {REPORT_MARKER, "index.html", "data"})
    if (final / "data").is_dir():
        kept = re.compile(_NAME.pattern + r"\.js")
        foreign += sorted(f"data/{e.name}" for e in (final / "data").iterdir() if not kept.fullmatch(e.name))
    if foreign or (names and REPORT_MARKER not in names):
        why = "is not empty and not a report that neardup made"
        if foreign:
            why = f"holds {foreign[0]!r}, which no report has"
        raise OutputError(f"cannot write {target}: the folder {why}. Give a new or an empty folder.")


def _fill(folder: Path, target: str | Path, index: bytes, chunks: Iterable[tuple[str, Chunk]]) -> tuple[int, int]:
    """Write all files of a report; how many, and how many bytes."""
    files, size = 0, 0

    def put(name: str, data: bytes) -> None:
        nonlocal files, size
        with writing(target), open(folder / name, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        files, size = files + 1, size + len(data)

    with writing(target):
        (folder / "data").mkdir(parents=True)
    for name, value in chunks:  # outside of any `with`: what goes wrong in their making is not about the target
        put(f"data/{name}.js", b'neardup.take("%s", %s);\n' % _packed(name, value))
    put("index.html", index)
    put(REPORT_MARKER, json_bytes(_MARK) + b"\n")
    return files, size


def _packed(name: str, value: Chunk) -> tuple[bytes, bytes]:
    """The name and the bytes of a chunk."""
    assert _NAME.fullmatch(name), f"{name!r} is no name of a chunk"
    return name.encode("ascii"), value if isinstance(value, bytes) else json_bytes(value)


def _inline(before: bytes, chunks: Iterable[tuple[str, Chunk]], behind: bytes) -> Iterator[bytes]:
    yield before
    for name, value in chunks:
        yield b'<script type="application/json" id="%s">%s</script>\n' % _packed(name, value)
    yield behind


def _write_file(target: str | Path, parts: Iterable[bytes]) -> WrittenPage:
    final = Path(os.path.realpath(target))
    remove_parts(final)
    size = 0
    with AtomicFiles() as files:
        stream = files.open(target)
        for part in parts:
            stream.write(part)
            size += len(part)
    return WrittenPage(final, 1, size)
