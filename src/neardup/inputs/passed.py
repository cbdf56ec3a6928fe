"""What a folder holds and a run does not read: counted by reason and suffix, with what to do about it, and in words.

Finding it is in ``walk`` and ``resolve``. Everything in a folder is a document, a bad record, or here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from neardup.inputs.formats import COMPRESSIONS
from neardup.shown import counted, shown_path

Reason: TypeAlias = Literal[
    "suffix", "not asked for", "hidden file", "hidden folder", "lock file", "file linked twice", "folder linked twice",
    "report", "folder", "beside a dataset", "written by neardup", "no text column", "no records", "needs openpyxl",
    "further sheet", "no regular file", "encrypted", "replaced", "archive in an archive",
    "needs warcio", "no page", "damaged", "no clean copy", "attached",
]  # fmt: skip

_BY_SUFFIX = {
    "suffix": "",
    "not asked for": " not asked for",
    "beside a dataset": " beside a dataset",
    "written by neardup": " written by neardup",
    "no text column": " without a column that is known for a text",
    "no records": " that is not one object a line",
    "needs openpyxl": ", which openpyxl reads",
    "needs warcio": ", which warcio reads",
    "damaged": " that cannot be read",
    "encrypted": " protected by a password",
    "archive in an archive": " in an archive",
    "no clean copy": " of which no clean copy is made",
    "attached": " attached to mail",
}
"""Reasons for which files are counted by suffix, and how their numbers are told."""
_KINDS = 5
"""Suffixes that the words name; all are in the table."""
_CURES = 5
"""Cures that the words give."""

_PACKED = (".gz", ".zst", ".bz2", ".xz", ".lz4", ".br", ".z")
_SUFFIX = re.compile(r"\.(?=[^\W_]*[^\W\d_])[^\W_]{1,12}")
"""What tells a kind of file: letters, perhaps with digits. In ``notes.2019`` and ``Mr. Smith`` nothing does."""

_OFFICE = "(LibreOffice: soffice --headless --convert-to {kind} {{files}})"
_TO_DOCX = f"save them as .docx {_OFFICE.format(kind='docx')}"
_TO_PDF = f"save them as .pdf {_OFFICE.format(kind='pdf')}"
_TEXT = "read them as text with --glob {globs}"
_ANY = "read them as text with --glob '*', which takes all other files too"
_CURE_OF = {
    suffix: cure
    for suffixes, cure in (
        (".doc .dot .docm .dotm .dotx .wpd .wps .pages .sxw .fodt .abw", _TO_DOCX),
        (".ppt .pptx .pptm .pps .ppsx .odp .key", _TO_PDF),
        (
            ".xls .xlsm .xlsb .xltx .ods .numbers",
            "save them as .xlsx (LibreOffice: soffice --headless --convert-to xlsx {files})",
        ),
        (".emlx .msg .pst", "save the messages as .eml or .mbox with the program for mail"),
        (".mht .mhtml .webarchive", "save them as .html with a browser"),
        (".mobi .azw .azw3 .fb2 .lit", "save them as .epub (Calibre: ebook-convert FILE FILE.epub)"),
        (".djvu .djv", "save them as .pdf (DjVuLibre: ddjvu -format=pdf FILE FILE.pdf)"),
        (".ps", "save them as .pdf (Ghostscript: ps2pdf FILE)"),
        (".7z .rar .cab .iso .lha .ace", "unpack them, and give the folder"),
        (".text .markdown .rst .adoc .org .tex .log .srt .vtt .xml .sgml .sgm .yaml .yml", _TEXT),
    )
    for suffix in suffixes.split()
}


_CURE_OF_REASON = {
    "no text column": "name the column with --text COLUMN",
    "no records": "write one object a line (jq -c '.[]' FILE.json > FILE.jsonl)",
    "no clean copy": "unpack them into the folder, and take them away",
    "encrypted": "unpack the archive with its password, and give the folder",
    "attached": "save the attachments that are tables or compressed, and give their folder",
    "archive in an archive": "unpack the outer one, and give the folder",
    "needs openpyxl": "pip install 'neardup[xlsx]'",
    "needs warcio": "pip install 'neardup[warc]'",
    "damaged": "name the file by itself to see why",
    "further sheet": "save each sheet as a file of its own: the first that is shown is read",
}


@dataclass(frozen=True, slots=True)
class PassedOver:
    """Files or folders that were found and not read, alike in reason and suffix."""

    reason: str
    """``suffix``: not of a kind that is read; ``not asked for``: left out by the patterns or the input
    format that were given; ``hidden file``, ``hidden folder`` (one, whatever is in it), ``lock file`` (of an open
    document), ``file linked twice`` and ``folder linked twice`` (read under another name), ``report`` (a folder that
    holds a report of ours), ``folder`` (matched by a pattern that was given for files), ``beside a dataset``,
    ``written by neardup`` (a table, or the spec beside it), ``no text column`` (a table in which no column is known for
    a text), ``no records`` (JSON that is not an object a line), ``needs openpyxl`` (a spreadsheet, and the library is
    missing), ``further sheet`` (of a spreadsheet, beside the one that is read); in archives also ``no regular file``,
    ``encrypted``, ``replaced`` (by a later one of its name) and ``archive in an archive``; of web archives ``no page``
    (a record of what was fetched that is no page, was not found, or has no page of its own) and ``needs warcio``;
    ``damaged`` (it cannot be opened as what its name says, and what is bad is to be skipped); ``no clean copy`` (an
    archive, which ``dedup`` does not write); ``attached`` (to a message, as a table or compressed)."""
    suffix: str
    """In small letters, with that of a compression; empty where none tells a kind, and for folders."""
    count: int
    example: str
    """The first of them by path."""
    cure: str | None = None
    """What to do so that they are read, where there is something."""

    @property
    def is_folder(self) -> bool:
        """Whether these are folders, not files."""
        return self.reason in ("hidden folder", "folder linked twice", "report", "folder")


class Passing:
    """Counts what is passed over."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], tuple[int, str]] = {}

    def note(self, reason: Reason, path: str) -> None:
        """Count a file or a folder."""
        tells_kind = reason in _BY_SUFFIX
        key = reason, suffix_of(path) if tells_kind else ""
        count, example = self._found.get(key, (0, path))
        self._found[key] = count + 1, min(example, path)

    def table(self) -> tuple[PassedOver, ...]:
        """What was counted, the most frequent first."""
        return together(
            PassedOver(reason, suffix, count, shown_path(path), _cure(reason, suffix))
            for (reason, suffix), (count, path) in self._found.items()
        )


def together(passed: Iterable[PassedOver]) -> tuple[PassedOver, ...]:
    """Several tables as one, the most frequent first."""
    found: dict[tuple[str, str], PassedOver] = {}
    for each in passed:
        before = found.setdefault((each.reason, each.suffix), each)
        if before is not each:
            total = replace(before, count=before.count + each.count, example=min(before.example, each.example))
            found[each.reason, each.suffix] = total
    return tuple(sorted(found.values(), key=lambda each: (-each.count, each.reason, each.suffix)))


def suffix_of(path: str) -> str:
    """The suffix that tells the kind of a file, in small letters and with that of a compression; empty without one."""
    stem, last = os.path.splitext(os.path.basename(path).lower())
    inner = os.path.splitext(stem)[1]
    if last in _PACKED and _SUFFIX.fullmatch(inner):
        return inner + last
    return last if _SUFFIX.fullmatch(last) else ""


def conversion(suffix: str) -> str | None:
    """What to do with files of a suffix that no option makes readable; None for others."""
    template = _template("suffix", suffix.lower())
    return None if template in (None, _TEXT, _ANY) else _filled(template or "", [suffix])


def _cure(reason: str, suffix: str) -> str | None:
    if reason == "folder":
        return "name it to read what is in it"
    template = _template(reason, suffix)
    return template and _filled(template, [suffix])


def _template(reason: str, suffix: str) -> str | None:
    if reason != "suffix":
        return _CURE_OF_REASON.get(reason)
    if not suffix:
        return _ANY
    if suffix in _CURE_OF:
        return _CURE_OF[suffix]
    packed = os.path.splitext(suffix)[1]
    if packed in COMPRESSIONS:
        return None
    return "unpack them" if packed in _PACKED or suffix in _PACKED else None


def _filled(template: str, suffixes: Sequence[str]) -> str:
    files = " ".join(f"*{suffix}" for suffix in suffixes)
    return template.format(files=files, globs=" or --glob ".join(f"'*{suffix}'" for suffix in suffixes))


def passed_rows(passed: Sequence[PassedOver]) -> list[tuple[str, str]]:
    """What was passed over as labelled rows for a person: one line, and one for each cure; none where nothing was."""
    if not passed:
        return []
    by_cure: dict[str, list[PassedOver]] = {}
    for each in passed:
        template = _template(each.reason, each.suffix)
        if template is not None:
            by_cure.setdefault(template, []).append(each)
    cures = [
        f"{_listed(group)}: {_filled(template, [each.suffix for each in group[:_KINDS]])}"
        for template, group in list(by_cure.items())[:_CURES]
    ]
    return [("passed over", passed_words(passed)), *(("", cure) for cure in cures)]


def passed_words(passed: Sequence[PassedOver]) -> str:
    """What was passed over in one line: the most frequent suffixes first, then the other reasons."""
    parts = []
    for reason, told in _BY_SUFFIX.items():
        if group := [each for each in passed if each.reason == reason]:
            count = sum(each.count for each in group)
            name = f" ({os.path.basename(group[0].example)})" if count == 1 and reason in _CURE_OF_REASON else ""
            in_kinds = reason in ("suffix", *_CURE_OF_REASON)
            parts.append(f"{_listed(group) if in_kinds else counted(count, 'file')}{told}{name}")
    for reason, one, many in (
        *((name, name, f"{name}s") for name in ("hidden file", "hidden folder", "lock file")),
        ("file linked twice", "link to a file read by another name", "links to files read by another name"),
        ("folder linked twice", "link to a folder read by another name", "links to folders read by another name"),
        ("report", "folder with a report of neardup", "folders with a report of neardup"),
        ("no regular file", "link or device in an archive", "links or devices in archives"),
        (
            "replaced",
            "file of an archive that a later one of its name replaces",
            "files of archives that later ones replace",
        ),
        ("no page", "record of a web archive that is no page", "records of web archives that are no pages"),
        ("further sheet", "further sheet of a spreadsheet", "further sheets of spreadsheets"),
        ("folder", "folder that a pattern matched, not entered", "folders that a pattern matched, not entered"),
    ):
        for each in passed:
            if each.reason == reason:
                name = f" ({os.path.basename(each.example)})" if each.count == 1 else ""
                parts.append(f"{each.count:,} {one if each.count == 1 else many}{name}")
    return "; ".join(parts)


def _listed(group: Sequence[PassedOver]) -> str:
    """Numbers of files by suffix, the most frequent of them."""
    listed = [f"{each.count:,} {each.suffix or 'without a suffix'}" for each in group[:_KINDS]]
    rest = group[_KINDS:]
    more = f" and {sum(each.count for each in rest):,} more of {counted(len(rest), 'kind')}" if rest else ""
    return ", ".join(listed) + more
