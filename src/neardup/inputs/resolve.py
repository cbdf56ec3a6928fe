"""From paths to sources.

    file      by its suffix, or ``input_format``; ``.gz``, ``.zst`` … behind it is unpacked
    folder    of ``datasets`` (``hf``), without ``glob`` and ``input_format``: each split one source
    folder    its files, or those that ``glob`` names, each as its suffix says: text files and documents (``*.txt``,
              ``*.pdf`` …) are one document each, files of records (``*.jsonl``, ``*.parquet`` …) many; without ``glob``
              those are passed over that turn out to have no texts
    archive   (``.zip``, ``.tar``, ``.tar.gz`` …) what it holds, as a folder
    pattern   ``data/*.jsonl``, ``**/*.parquet``: the files it names, sorted by path
    -         standard input (or a pipe by name): ``input_format``, else JSON Lines when it begins with
              ``{``; sets: lines

A file may be given only once. A link inside a folder to a file of the same folder is read once, by the
first name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from neardup.errors import InputError
from neardup.inputs import formats
from neardup.inputs.addresses import GLOB_CHARACTERS, is_remote, real_place
from neardup.inputs.passed import Passing, conversion, passed_rows, suffix_of
from neardup.inputs.peek import why_not
from neardup.inputs.source import ReadOptions, Source
from neardup.inputs.stream import ByteStream
from neardup.inputs.walk import InputFile, common_suffix, glob_files, left_out, look_at, walk_folder
from neardup.params import INPUT_FORMATS
from neardup.shown import shown_path

_STDIN = "-"
_ONE_EACH = ("text", formats.DOCUMENT)
"""Formats of files that are one document each."""


class Resolver:
    """Turns paths into sources. Text files and documents that follow each other become one source."""

    def __init__(self, options: ReadOptions, patterns: tuple[str, ...] | None, input_format: str | None) -> None:
        self._options = options
        self._patterns = patterns
        self._format = input_format
        self._given: dict[str, str] = {}
        self.passing = Passing()
        """What the folders and patterns hold and is not read."""

    def sources(self, paths: Sequence[str]) -> list[Source]:
        """The sources of all paths, in order.

        Raises InputError for a path that is missing, of no known format, given twice, or a folder or pattern without
        files.
        """
        inputs = [each for path in paths for each in self._resolve(path)]
        for file in inputs:
            if file.format == "xlsx" and file.stream is None and file.error is None:
                from neardup.inputs.columnar.xlsx import look_into

                sheet = look_into(file.path)
                for _ in range(sheet.others if sheet is not None else 0):
                    self.passing.note("further sheet", file.path)
        inputs = [each for file in inputs for each in self._opened(file)]
        sources: list[Source] = []
        for is_one_each, group in groupby(inputs, key=lambda each: each.format in _ONE_EACH):
            if is_one_each:
                files = list(group)
                sources.append(formats.FORMATS["text"].load()(shown_path(files[0].path), files, self._options))
            else:
                sources.extend(self._source(each) for each in group)
        return sources

    def _resolve(self, path: str) -> list[InputFile]:
        found = None
        if is_remote(path):
            from neardup.inputs.remote import look

            found = look(path)
            if found is not None and found.is_folder:
                return self._folder(path)
        if os.path.isdir(path):
            return self._datasets(path) or self._folder(path)
        if _is_stream(path):
            return [self._stream(path)]
        if not os.path.lexists(path) and found is None and not GLOB_CHARACTERS.isdisjoint(path):
            files = glob_files(path, self.passing)
            if not files:
                raise InputError(f"no file matches {path}. Check the pattern and the folder that it begins in.")
        else:
            files = [look_at(path, real_place(path))]
            if files[0].error is not None:
                if not is_remote(path):
                    ByteStream(path).close()  # says best what is wrong
                raise InputError(files[0].error)
        return [replace(file, format=self._format_of(file.path)) for file in self._once(files, path)]

    def _datasets(self, folder: str) -> list[InputFile]:
        """The splits of a folder of Hugging Face datasets; none of another, or when it was said what to read in it."""
        if self._patterns or self._format is not None:
            return []
        from neardup.inputs.datasets import datasets_in

        splits, beside = datasets_in(folder)
        for path in beside:
            self.passing.note("beside a dataset", path)
        for split in splits:
            self._once([look_at(path, os.path.realpath(path)) for path in split.paths], folder)
        return [InputFile(split.folder, 0, os.path.realpath(split.folder), format=formats.DATASET) for split in splits]

    def _folder(self, folder: str) -> list[InputFile]:
        patterns = self._patterns or self._format_globs()
        files = walk_folder(folder, patterns, self.passing)
        if not files:
            *others, last = patterns or ("",)
            named = f"{', '.join(others)} or {last}" if others else last
            what = f"matches {named}" if patterns else "is of a format that is read"
            raise InputError(f"{shown_path(folder)} has no file that {what}.{_other_glob(folder)}")
        if self._options.on_bad == "fail":
            for file in files:
                if file.error is not None and self._folder_format(file) != formats.DOCUMENT:
                    cure = "Fix it, or leave it out with --on-bad skip (on_bad='skip')."
                    raise InputError(f"{shown_path(file.error)} {cure}")
        files = [replace(file, format=self._folder_format(file)) for file in self._once(files, folder)]
        return files if patterns else self._of_texts(files, folder)

    def _opened(self, file: InputFile) -> list[InputFile]:
        if file.format != formats.ARCHIVE or file.error is not None:
            return [file]
        is_given = self._given.get(file.real) == file.path  # and not found in a folder, or by a pattern
        if is_given or self._options.on_bad != "skip":
            return self._unpacked(file, self._patterns or self._format_globs() if is_given else None)
        try:
            return self._unpacked(file, None)
        except InputError:
            self.passing.note("damaged", file.path)
            return []

    def _unpacked(self, file: InputFile, patterns: tuple[str, ...] | None) -> list[InputFile]:
        """What an archive holds, by the rules of a folder: its texts and documents as one, and its files of records."""
        from neardup.inputs.archives import Archive, ArchivedTexts, Member, MemberSource

        archive, passing = Archive(file.path), self.passing
        texts: dict[str, tuple[Member, InputFile]] = {}
        records: dict[str, InputFile] = {}
        errors: list[InputError] = []
        for member in archive.members():
            is_file = archive.is_mail and member.name == "."
            path = file.path if is_file else f"{file.path}/{member.path}"
            reason = None if is_file else left_out(member.name, patterns)
            if reason is None and not member.is_regular:
                reason = "no regular file"
            if reason is None and member.is_encrypted:
                reason = "encrypted"
            found = InputFile(path, member.size, f"{file.real}/{member.name}")
            found = replace(found, format=self._folder_format(found))
            is_text = found.format == "text" and formats.stored_codec(path) is None
            if archive.is_mail and (is_text or is_file or path.lower().endswith(".eml")):
                found = replace(found, format=formats.DOCUMENT, read_as="message.eml")
            if reason is None and found.format == formats.ARCHIVE:
                reason = "archive in an archive"
            if reason is None and archive.is_mail and found.format != formats.DOCUMENT:
                reason = "attached"
            if reason is not None:
                passing.note(reason, path)
                continue
            if member.name in texts or member.name in records:
                passing.note("replaced", path)
                texts.pop(member.name, None), records.pop(member.name, None)
            if found.format in _ONE_EACH:
                texts[member.name] = member, found
                continue
            source = MemberSource(archive, member, found.format, self._options)
            reason, error = why_not(source, self._options) if patterns is None else (None, None)
            if reason is not None:
                passing.note(reason, path)
                errors += [error] if error is not None else []
                continue
            records[member.name] = replace(found, source=source)
        archive.close()
        if archive.is_mail and list(texts) == ["."]:
            return [replace(file, format=formats.DOCUMENT)]
        if not texts and not records and not (archive.is_mail and not file.size):
            raise errors[0] if errors else self._nothing_read(file.path, "Unpack it to look at what it has.")
        one = ArchivedTexts(archive, list(texts.values()), self._options)
        return [*([replace(file, source=one)] if texts else []), *records.values()]

    def _of_texts(self, files: list[InputFile], folder: str) -> list[InputFile]:
        """The files of a folder but for those that turn out to be no collection of texts."""
        kept: list[InputFile] = []
        error: InputError | None = None
        for file in files:
            if file.error is None and file.format not in (*_ONE_EACH, "lines", formats.ARCHIVE):
                source = self._source(file)
                file = replace(file, source=source)  # so that it is looked at once
                reason, why = why_not(source, self._options)
                if reason is not None:
                    self.passing.note(reason, file.path)
                    error = error or why
                    continue
            kept.append(file)
        if not kept:
            raise error or self._nothing_read(folder, "Give files of documents by name.")
        return kept

    def _nothing_read(self, path: str, cure: str) -> InputError:
        """Return the error of a folder or archive in which nothing is read; ``cure`` is for those without another."""
        words, *cures = [text for _, text in passed_rows(self.passing.table())] or [""]
        only = f", only {words}" if words else ""
        return InputError(f"{shown_path(path)} holds no file that is read{only}. {'. '.join(cures) or cure}")

    def _format_globs(self) -> tuple[str, ...] | None:
        """What to look for in a folder when no pattern is given; None: what is read by default."""
        if self._format is None:
            return None
        is_text = self._format in ("text", "lines")
        suffixes = formats.FORMATS["text" if is_text else self._format].suffixes
        packings = ("",) if is_text else ("", *formats.COMPRESSIONS)
        return tuple(f"*{suffix}{packing}" for suffix in suffixes for packing in packings)

    def _folder_format(self, file: InputFile) -> str:
        """As for a file by itself, but a file of unknown suffix that was asked for is a text."""
        by_name = formats.suffix_format(file.path)
        format = by_name if by_name == formats.ARCHIVE else self._format or by_name or "text"
        if file.error is not None:
            return formats.DOCUMENT if format == formats.DOCUMENT else "text"
        return self._settled(format)

    def _format_of(self, path: str) -> str:
        by_name = formats.suffix_format(path)
        format = by_name if by_name == formats.ARCHIVE else self._format or by_name
        if format is None:
            suffix = formats.bare_suffix(path)
            said = f"the suffix {suffix!r} does not tell" if suffix else "there is no suffix to tell"
            cure = conversion(suffix_of(path) or suffix)
            if cure is not None:
                raise InputError(f"{shown_path(path)}: files that end in {suffix} are not read: {cure}.")
            raise InputError(
                f"{shown_path(path)}: {said} the format. Name it with --input-format (input_format=): "
                f"{', '.join(INPUT_FORMATS)}.{formats.near_suffix(suffix)}"
            )
        return self._settled(format)

    def _settled(self, format: str) -> str:
        """A text file of sets holds one a line, unless it was said that the file is the document."""
        return "lines" if format == "text" and self._options.item and self._format is None else format

    def _stream(self, path: str) -> InputFile:
        self._once([InputFile(path, 0, path)], path)
        format = self._format or formats.suffix_format(path) or ("lines" if self._options.item else None)
        stream = ByteStream(path)
        if format is None:
            head = stream.peek().removeprefix(b"\xef\xbb\xbf").lstrip()
            if head[:1] not in (b"{", b""):
                stream.close()
                name = "standard input" if path == _STDIN else shown_path(path)
                raise InputError(
                    f"{name} does not begin with '{{', so its format is not known. "
                    f"Name it with --input-format (input_format=): {', '.join(INPUT_FORMATS)}."
                )
            format = "jsonl"
        return InputFile(path, 0, path, format=self._settled(format), stream=stream)

    def _once(self, files: list[InputFile], given: str) -> list[InputFile]:
        """The files, none of which was given before."""
        for file in files:
            before = self._given.get(file.real)
            if before is not None:
                name = "standard input" if file.path == _STDIN else shown_path(file.path)
                ways = f"as {before!r} and {given!r}" if before != given else f"as {given!r}"
                raise InputError(f"{name} is given twice, {ways}. Give it once.")
            self._given[file.real] = given
        return files

    def _source(self, file: InputFile) -> Source:
        if file.source is not None:
            return file.source
        if file.format == formats.DATASET:
            from neardup.inputs.datasets import DatasetSource

            return DatasetSource(file.path, self._options)
        size = file.size if file.stream is None else None
        kind: type[Source] = formats.FORMATS[file.format].load()
        return kind(file.path, self._options, total_bytes=size, stream=file.stream)


def _is_stream(path: str) -> bool:
    if path == _STDIN:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _other_glob(folder: str) -> str:
    """What a folder holds instead, as a sentence with the cure."""
    common = common_suffix(folder)
    if common is None:
        return " It holds no files. Check the path."
    suffix, count = common
    kind = f"{count} file{'s' if count > 1 else ''} *{suffix}" if suffix else f"{count} without a suffix"
    cure = conversion(suffix) or f"take others with --glob, such as --glob '*{suffix}'"
    return f" It holds {kind}: {cure}."
