"""The one entry for input: the user's inputs become a ``Reader``.

A path (file, folder, pattern, "-") is made into sources by ``resolve``; values in memory are told apart here. What
reads a kind of input is imported when such an input is there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from neardup.errors import InputError
from neardup.inputs.addresses import address_of, is_remote, place_of, real_place
from neardup.inputs.ahead import made_ahead
from neardup.inputs.columns import NoColumn, ReadColumns
from neardup.inputs.columns import together as together_columns
from neardup.inputs.formats import suffix_format, text_codec
from neardup.inputs.passed import PassedOver, together
from neardup.inputs.resolve import Resolver
from neardup.inputs.source import BATCH_DOCUMENTS, ReadOptions, RecordLimit, Source, Task
from neardup.inputs.stream import is_folder
from neardup.inputs.unread import Watch
from neardup.params import InputOptions
from neardup.shown import shown_path
from neardup.types import I64, Origin

if TYPE_CHECKING:
    from neardup.engine.space import Budget
    from neardup.inputs.remote import Facts

ONCE = "the input gives its values once (an iterator, a reader, a query or a pipe)"
_UNSTAMPED = ("limit", "column", "positions")
"""Options that do not change the documents that a resumable run reads."""
_SURE = 2
"""The first facts, size and time of modification: if one of them differs, a file was changed."""
_MASK = (1 << 63) - 1
_MISSING = -1


class Reader:
    """The sources in order, and their tasks one after another."""

    def __init__(
        self,
        sources: Sequence[Source],
        names: Sequence[str],
        settings: ReadOptions,
        value: Any = None,
        *,
        passed_over: Sequence[PassedOver] = (),
        further: Sequence[Source] = (),
        is_across: bool = False,
    ) -> None:
        self.parts = [*sources, *further]
        """The sources, in order."""
        self.sources = list(names)
        """The inputs as the user gave them."""
        self.options = settings
        self.value = value
        """The given value, if it is not a path."""
        self.written_parts = list(sources)
        """The sources to write clean copies of: not the ``further`` ones, which are only read."""
        self.found_over = tuple(passed_over)
        """The parts of folders and patterns that will not be read, as far as known before the files are read."""
        self.told_over: dict[int, Sequence[PassedOver]] = {}
        """The parts of sources that were not read, by place, if other processes have read them."""
        self.across = [source.name for source in further] if is_across else None
        """The names of the ``further`` sources, if pairs are wanted only between these and the ones before them."""
        self.budget: Budget | None = None
        """The memory budget of the run, if the reader holds some of it."""
        self._stamps: dict[str, Stamps] | None = None

    @property
    def passed_over(self) -> tuple[PassedOver, ...]:
        """The parts of folders, patterns and files that were not read; call it after reading."""
        found = list(self.found_over)
        for place, source in enumerate(self.parts):
            told = self.told_over.get(place)
            found += source.passed if told is None else told
        return together(found)

    @property
    def total_bytes(self) -> int | None:
        """The bytes of input as stored, or None if any source does not know."""
        known = [source.total_bytes for source in self.parts if source.total_bytes is not None]
        return sum(known) if len(known) == len(self.parts) else None

    @cached_property
    def base(self) -> str | None:
        """The given folder, if it was the only input."""
        return self.sources[0] if len(self.sources) == 1 and is_folder(self.sources[0]) else None

    def joined(self, more: Sequence[Source], passed_over: Sequence[PassedOver], *, is_across: bool = False) -> Reader:
        """Return this reader with further sources after its own, which get no clean copies.

        ``is_across``: pairs are wanted only between them and the sources of this reader.
        """
        passed = together([*self.found_over, *passed_over])
        given = self.parts, self.sources, self.options, self.value
        return Reader(*given, passed_over=passed, further=more, is_across=is_across)

    def shared_with(self, other: Reader) -> list[tuple[Source, list[tuple[str, Source]]]]:
        """Return each source of another reader, with its files that this reader also reads, and the source here."""
        mine = {real_place(path): source for source in self.parts for path in source.paths or []}
        found = []
        for source in other.parts:
            files = ((path, mine.get(real_place(path))) for path in source.paths or [])
            found.append((source, [(path, reading) for path, reading in files if reading is not None]))
        return found

    @property
    def settings(self) -> dict[str, Any]:
        """The way in which the sources are read, as JSON values."""
        names = [each.name for each in fields(self.options) if each.name not in _UNSTAMPED]
        values = {name: getattr(self.options, name) for name in names}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @property
    def columns(self) -> tuple[ReadColumns, ...]:
        """The columns that were read from sources with columns; call it after reading."""
        found = (source.columns or (source.looked_at if source.paths is not None else None) for source in self.parts)
        return together_columns(each for each in found if each is not None)

    @property
    def is_lasting(self) -> bool:
        """Whether a later process could read the same inputs again: all are regular files."""
        return all(source.paths is not None for source in self.parts)

    @property
    def is_rereadable(self) -> bool:
        """Whether this process can read the same inputs again."""
        return all(source.is_rereadable for source in self.parts)

    @property
    def no_texts_later(self) -> str | None:
        """The reason why texts cannot be read again after the run; None if they can."""
        return None if self.is_rereadable else ONCE

    def left_out_of(self, source: str) -> int:
        """Return the number of documents of a source that the tasks leave out."""
        return 0

    def identity(self) -> dict[str, str]:
        """Return the name, size and time of last change of each file; for many files, a digest of these."""
        found: dict[str, str] = {}
        for source in self.parts:
            files = source.paths
            if files is None:
                found[source.name] = "cannot be read again"
                continue
            stamps = _stamps(files)
            facts = [f"{path} {stamp}" for path, stamp in zip(files, stamps, strict=True)]
            digest = hashlib.blake2b("\n".join(facts).encode("utf-8", "backslashreplace"), digest_size=8)
            key = source.name if len(files) == 1 else f"{source.name} and {len(files) - 1} more"
            found[key] = stamps[0] if len(files) == 1 else digest.hexdigest()
        return found

    def stamps(self) -> dict[str, Stamps]:
        """The stamps, taken at the first call, of the files of each source that reads only files, by its name."""
        if self._stamps is None:
            self._stamps = {part.name: Stamps(paths) for part in self.parts if (paths := part.paths) is not None}
        return self._stamps

    def reopened(self, facts: Sequence[dict[str, Any]]) -> list[Origin]:
        """Return the places where records can be read again, from the ``facts`` that an interrupted run took."""
        by_name = {source.name: source for source in self.parts}
        found = [by_name[each["source"]].reopened(each) for each in facts]
        return [origin for origin in found if origin is not None]

    def tasks(self, threads: int = 1) -> Generator[Task, None, None]:
        """Yield the tasks of all sources; each returns a Batch, and they may run in parallel.

        With ``threads`` to run them in they are made in a thread of its own, which ends when this is closed. Where some
        source is no regular file, the calling thread makes them: one that waits for a pipe could not be ended.
        """
        self.check()
        watch = Watch()
        made = self._made(watch)
        with closing(made_ahead(made) if threads > 1 and self.is_lasting else made) as tasks:
            yield from tasks
        watch.finish()

    def _made(self, watch: Watch) -> Generator[Task, None, None]:
        held = None
        if sum(source.format == "text" for source in self.parts) > 1:  # else the one source holds them
            from neardup.inputs.documents.pool import shared_readers

            held = shared_readers()
        for source in self.parts:
            for task in source.first_tasks():
                yield watch.watched(task, source.role)
        del held

    def check(self) -> None:
        """Inspect every input that can be read twice, so that a missing column is found before the first text is read.

        Raises InputError as ``tasks`` does.
        """
        for source in self.parts:
            if source.paths is None:
                continue
            try:
                source.looked_at  # noqa: B018 it raises
            except NoColumn as exc:
                more = " --text and --id are for all inputs: name a column that each has, or leave the option out."
                raise type(exc)(f"{exc}{more if len(self.parts) > 1 else ''}") from exc


class Stamps:
    """Size, times, inode and device of each file: 40 bytes a file, and 2 microseconds for each look.

    Size and time of modification tell nearly every change. Who sets that time back after a change cannot set back the
    time of the last change of the inode (on Windows there is none), but that and the number of the inode also change
    where the bytes stay: by other rights, a hard link, a file moved into its place, some network file systems. So
    there are two answers: files that were changed, and files whose contents should be looked at.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        """Take the stamps of files; a missing file is not checked again."""
        self._paths = paths
        self._facts = _facts(paths)
        self.digest = hashlib.blake2b(self._facts.tobytes(), digest_size=8).hexdigest()
        self.are_doubted = False
        """Whether an interrupted run took different stamps of these files, so that any of them may have changed."""

    def look(self) -> tuple[str | None, list[int]]:
        """Take the stamps of the files again.

        Return the start of a sentence about the first file whose size or time of modification differs, or None; and the
        places of all files with any different stamp, whose contents may differ too.
        """
        is_known = self._facts[:, :1] != _MISSING
        differ = (_facts(self._paths) != self._facts) & is_known
        touched = np.flatnonzero(differ.any(axis=1) | (self.are_doubted & is_known[:, 0])).tolist()
        for i in touched:
            if differ[i, :_SURE].any():
                return self._told(i), touched
        return None, touched

    def _told(self, i: int) -> str:
        now, was = _facts(self._paths[i : i + 1])[0, 0], self._facts[i, 0]
        if now == _MISSING:
            what = "is gone, which was there"
        else:
            what = "was written to since it was looked at" if now == was else f"has {now} bytes, and had {was}"
        return f"{shown_path(self._paths[i])} {what}"


def _facts(paths: Sequence[str]) -> I64:
    """int64[n, 5]: the facts of files; for an object its size, and twice a hash of its tag."""
    facts = np.full((len(paths), 5), _MISSING, dtype=np.int64)
    for i, found in _remote_facts(paths):
        if found is not None:
            tag = int.from_bytes(hashlib.blake2b(found.tag.encode(), digest_size=8).digest(), "big") & _MASK
            facts[i] = found.size, tag, 0, 0, 0
    for i, path in enumerate(paths):
        if is_remote(path):
            continue
        try:
            told = os.stat(path)
        except OSError:
            continue
        facts[i] = (told.st_size, told.st_mtime_ns, told.st_ctime_ns, told.st_ino & _MASK, told.st_dev & _MASK)
    return facts


def _remote_facts(paths: Sequence[str]) -> list[tuple[int, Facts | None]]:
    """Return the places of the addresses among some paths, with the facts of each object or file."""
    places = [i for i, path in enumerate(paths) if is_remote(path)]
    if not places:
        return []
    from neardup.inputs.remote import facts_of_all

    return list(zip(places, facts_of_all([paths[i] for i in places]), strict=True))


def _stamps(paths: Sequence[str]) -> list[str]:
    remote = dict(_remote_facts(paths))
    return [_told(remote[i]) if i in remote else _stamp(path) for i, path in enumerate(paths)]


def _told(found: Facts | None) -> str:
    return "missing" if found is None else f"{found.size} bytes, tag {found.tag}"


def _stamp(path: str) -> str:
    try:
        facts = os.stat(path)
    except OSError:
        return "missing"
    return f"{facts.st_size} bytes, changed {facts.st_mtime_ns}"


def open_inputs(
    inputs: Any,
    options: InputOptions | None = None,
    *,
    item: bool = False,
    name: str = "input",
    limit: RecordLimit | None = None,
    again: bool = False,
    positions: bool = True,
    **fields: Any,
) -> Reader:
    """Resolve inputs into a reader; files are looked at here and read by its tasks.

    Args:
        inputs: a str or Path (file, folder, glob pattern, "-"), a list of Path, a list of str (the documents
            themselves), an iterable of (id, text), a mapping of id to text, a record or a list of records (dicts with
            the fields that a line of JSONL has), or an object with Arrow data.
        options: how they are read.
        item: documents are sets of items.
        name: what values in memory are called.
        limit: of the size of records, shared with another reader of the same run.
        again: they may be read twice, so that of what gives its values once the values are held.
        positions: values in memory without ids are named by their position; without it they have no ids.
        fields: those of ``options`` by name, in its place.

    Raises:
        InputError: an input is missing, unknown, unreadable, given twice, or not of a kind that can be read.
    """
    given = options or InputOptions(**fields)
    text_codec(given.encoding)
    settings = read_options(given, item=item, positions=positions, limit=limit or RecordLimit())
    paths = _paths(inputs)
    if paths is None:
        return _in_memory(inputs, settings, name, again)
    patterns = (given.glob,) if isinstance(given.glob, str) else tuple(given.glob) if given.glob is not None else None
    resolver = Resolver(settings, patterns, given.input_format)
    sources = resolver.sources(paths)
    for source in sources:
        source.role = name
    return Reader(sources, [shown_path(path) for path in paths], settings, passed_over=resolver.passing.table())


def read_options(given: InputOptions, **more: Any) -> ReadOptions:
    """Return the options for reading sources, with ``more`` fields that users cannot set."""
    return ReadOptions(
        text=given.text if given.text is None or isinstance(given.text, str) else tuple(given.text),
        id=given.id,
        encoding=given.encoding,
        on_bad=given.on_bad,
        block=min(given.block or BATCH_DOCUMENTS, BATCH_DOCUMENTS),
        boilerplate=given.boilerplate,
        column=given.column if isinstance(given.column, str) else tuple(given.column or ()),
        **more,
    )


def _paths(inputs: Any) -> list[str] | None:
    """Return the inputs as paths, or None if they are not paths."""
    if isinstance(inputs, (str, os.PathLike)):
        return [_checked_path(inputs)]
    if isinstance(inputs, (list, tuple)) and any(isinstance(value, os.PathLike) for value in inputs):
        for position, value in enumerate(inputs):
            if not isinstance(value, os.PathLike):
                raise InputError(
                    f"input {position} (counted from 0) is of type {type(value).__name__} among paths. "
                    "Give only Path objects, or only texts."
                )
        return [_checked_path(value) for value in inputs]
    return None


def _checked_path(value: str | os.PathLike[Any]) -> str:
    path = os.fsdecode(value)
    is_text = isinstance(value, str) and "\n" in path and not os.path.lexists(path)
    if is_text or "\0" in path or len(path) > 4096:
        raise InputError(
            f"the input is a string of {len(path)} characters that is no path. "
            "To give one text, put it in a list: [text]."
        )
    path = place_of(path)
    if not path:
        raise InputError("the input is an empty string. Give a file, a folder or a pattern, or texts in a list.")
    return path


def _in_memory(inputs: Any, options: ReadOptions, name: str, again: bool) -> Reader:
    from neardup.inputs.columnar.objects import ObjectSource, is_arrow_object, record_table, records_of, rereadable
    from neardup.inputs.python import PythonSource

    value = rereadable(inputs) if again else inputs
    if not is_arrow_object(value) and (records := records_of(value, options)) is not None:
        return Reader([ObjectSource(record_table(records), options, name, records)], [name], options, value)
    if is_arrow_object(value):
        return Reader([ObjectSource(value, options, name)], [name], options, value)
    if isinstance(value, (bytes, bytearray)) or not isinstance(value, Iterable):
        raise InputError(
            f"the input is of type {type(value).__name__}, which cannot be read. Give a path, a list of "
            "texts, pairs (id, text), a mapping of id to text, or a frame."
        )
    first = value[0] if isinstance(value, (list, tuple)) and value else None
    path = first if isinstance(first, str) and len(first) < 256 and suffix_format(first) else None
    if path is not None and (os.path.isfile(path) or address_of(path) is not None):
        raise InputError(
            f"the list begins with {first!r}, which is a file, and a list of strings is a list of texts. "
            "Give Path objects to read files, or pairs (id, text) if it is a text."
        )
    return Reader([PythonSource(value, options, name)], [name], options, value)
