"""What the clean copies of a run are called; nothing is written here.

One input file gives one output file of the same name, format and compression. A single input may name its output;
several, or a folder, go into a folder, under their names relative to what they have in common. ``-`` is one stream.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from neardup.errors import InputError
from neardup.inputs.addresses import as_path, is_remote, joined, place_of, real_place
from neardup.inputs.datasets import DatasetSource
from neardup.inputs.folder import FilesSource
from neardup.inputs.formats import DOCUMENT, bare_suffix, stored_codec, suffix_format
from neardup.inputs.reader import Reader
from neardup.inputs.source import ReadOptions, Source
from neardup.inputs.stream import ByteStream, is_folder
from neardup.outputs.atomic import check_target, is_special, output_error, output_place
from neardup.shown import shown_path
from neardup.tasks.rewrite.blocks import read_line_ends
from neardup.tasks.rewrite.feed import records_of
from neardup.tasks.rewrite.model import check_rereadable

STDOUT = "-"
PART_SUFFIX = ".neardup-part"
"""Ending of the name that a copy has until it is complete."""
_LINES = ("jsonl", "lines")
_TABLES = ("csv", "tsv")
_SPLIT = re.compile(r"\w+(\.\w+)*")
"""What ``datasets`` lets a split be called."""
_UNNAMED_SPLIT = "train"
"""What ``load_dataset`` calls a split that has no name."""


@dataclass(frozen=True, slots=True)
class Target:
    """One input file and the copy of it."""

    source: str
    """The input file as it is opened."""
    path: str | None
    """The copy; None: it goes to the stream. A string, since a folder of texts may have millions."""

    @property
    def name(self) -> str:
        """The copy, for messages and for notes between runs."""
        return STDOUT if self.path is None else shown_path(self.path)


@dataclass(frozen=True, slots=True)
class OutputSet:
    """The targets of a run, in the order of its inputs."""

    output: str
    """As the user named it."""
    targets: list[Target]
    stream: str | None = None
    """Where a stream goes: "-", or a device or pipe by its path; None: into files."""
    root: str | None = None
    """The folder that holds all copies, where it is to be made first if it is not there."""
    leader: int = 0
    """In a stream, the place of the first input that has a header row, if any has; those before it are blank."""

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[Target]:
        return iter(self.targets)

    def paths(self) -> list[str]:
        """The files that are written."""
        return [target.path for target in self.targets if target.path is not None]

    def names(self, missing: Container[Target]) -> list[str]:
        """What is written, but for some ``missing`` targets, for messages."""
        if self.stream is not None:
            return [self.output]
        return [target.name for target in self.targets if target not in missing]


def plan_copies(reader: Reader, output: str) -> OutputSet:
    """Decide where the copies of all sources go that are to be written.

    Copies of the only folder among the inputs have names relative to it, and no file that is read is written over.
    ``output`` is as for ``plan_outputs``; for a folder of ``datasets`` a new folder. Either may be at an address.
    """
    place = output_place(output)
    output = f"{place}/" if is_remote(place) and output.endswith("/") else place  # the slash says that it is a folder
    parts = reader.written_parts
    datasets = [part for part in parts if isinstance(part, DatasetSource)]
    if not datasets:
        others = [path for part in reader.parts for path in part.paths or []]
        sources = [each for part in parts for each in _files(part)]
        return plan_outputs(sources, output, options=reader.options, base=reader.base, inputs=others)
    if len(datasets) < len(parts) or reader.base is None:
        raise InputError(
            "a folder of the library datasets is cleaned by itself: give it as the only input, and -o a new folder."
        )
    return _plan_dataset([(_split_of(part, reader.base), part.dataset.paths) for part in datasets], output)


def _files(part: Source) -> list[tuple[str, str]]:
    """Path and format of every file of a source, in order."""
    if isinstance(part, FilesSource):
        return [(file.path, DOCUMENT if file.is_document else "text") for file in part.files]
    return [(part.name, part.format)]


def _split_of(part: DatasetSource, base: str) -> str:
    """The name of a split: that of its folder in a dictionary of splits, else what was recorded when it was saved."""
    folder = part.dataset.folder
    if os.path.realpath(folder) != os.path.realpath(base):
        return os.path.basename(folder.rstrip(os.sep))
    recorded = part.dataset.state.get("_split")
    return recorded if isinstance(recorded, str) and recorded.isidentifier() else _UNNAMED_SPLIT


def plan_outputs(
    sources: Sequence[tuple[str, str]],
    output: str,
    *,
    options: ReadOptions,
    base: str | None = None,
    inputs: Iterable[str] = (),
) -> OutputSet:
    """Decide where each copy goes, and try whether a file could be made there; it is removed again.

    ``sources`` are path and format of each input file, in order; text files one by one, of format "text" or "document".
    ``output`` is a folder, for a single input a file, or "-" for stdout. Names are relative to ``base``, the folder
    that the user gave as the only input, else to the nearest folder that holds all inputs. ``inputs`` are further files
    that must not be written over.
    """
    if not sources:
        raise InputError("there are no input files to make clean copies of. Give files or a folder.")
    for path, _ in sources:
        check_rereadable(path)
    if output == STDOUT or is_special(output):
        targets = [Target(path, None) for path, _ in sources]
        return OutputSet(output, targets, stream=output, leader=_check_stream(sources, options))
    root = None
    if len(sources) == 1 and base is None and not (output.endswith(("/", os.sep)) or is_folder(output)):
        _check_same_kind(*sources[0], output)
        paths = [_absolute(output)]
    else:
        root = _absolute(output)
        if base is not None and as_path(real_place(root)).startswith(as_path(real_place(base)) + os.sep):
            raise InputError(
                f"{shown_path(output)} is inside the folder {shown_path(base)}, and the next run would read the copies"
                " too. Give a folder beside it."
            )
        paths = [joined(root, name) for name in _names([path for path, _ in sources], output, base)]
    targets = [Target(source, path) for (source, _), path in zip(sources, paths, strict=True)]
    outputs = OutputSet(output, targets, root=root)
    _check_places(outputs, inputs)
    return outputs


def _plan_dataset(splits: Sequence[tuple[str, Sequence[str]]], output: str) -> OutputSet:
    """Where the shards of the splits of a folder of ``datasets`` go: a folder that holds nothing but unfinished parts.

    Each is called ``data/SPLIT-00000-of-00001.arrow``, the layout of dataset repositories, which
    ``datasets.load_dataset`` takes apart into splits.
    """
    if output == STDOUT:
        raise InputError("a folder of the library datasets cannot go to stdout. Give -o a new folder.")
    if (is_folder(output) if is_remote(output) else os.path.lexists(output)) and not _is_free(output):
        raise InputError(f"{shown_path(output)} exists, and a dataset is a folder of its own. Give -o a new folder.")
    root = _absolute(output)
    targets = []
    for split, shards in splits:
        if not _SPLIT.fullmatch(split):
            raise InputError(
                f"{split!r} is no name of a split that load_dataset takes: letters, digits and _. Save the dataset "
                "again under another, or clean the split by itself."
            )
        names = (f"{split}-{i:05}-of-{len(shards):05}.arrow" for i in range(len(shards)))
        targets += [Target(shard, joined(root, f"data/{name}")) for shard, name in zip(shards, names, strict=True)]
    outputs = OutputSet(output, targets, root=root)
    _check_places(outputs, ())
    return outputs


def _is_free(folder: str) -> bool:
    """Whether this is a folder that holds no files but unfinished copies."""
    return (
        not is_remote(folder)
        and os.path.isdir(folder)
        and all(name.endswith(PART_SUFFIX) for _, _, names in os.walk(folder) for name in names)
    )


def _names(sources: list[str], output: str, base: str | None) -> Iterator[str]:
    """The paths of copies relative to the folder that they go to."""
    if os.path.lexists(output) and not os.path.isdir(output):
        many = f"{len(sources)} input files" if base is None else f"the files of {shown_path(base)}"
        raise InputError(
            f"{shown_path(output)} is a file, and {many} need a folder. Give -o a folder, or '-' for one stream."
        )
    full = [as_path(path) for path in sources]
    common = as_path(base) if base is not None else os.path.commonpath([os.path.dirname(p) for p in full])
    for path in full:
        relative = os.path.relpath(path, common)
        if relative.startswith(os.pardir):
            raise InputError(f"{shown_path(path)} is not in the folder {shown_path(common)}. Give it by itself.")
        yield relative.replace(":/", "/", 1) if common == os.sep else relative  # of several stores, or one and this


def _check_places(outputs: OutputSet, inputs: Iterable[str]) -> None:
    """Raise unless the targets differ from all inputs, and their folder is there."""
    root, paths = outputs.root, outputs.paths()
    if is_remote(root if root is not None else paths[0]):
        sources = {*(target.source for target in outputs), *inputs}
        for path in paths:
            if path in sources:
                raise _same(path, path)
        check_target(joined(root, ".neardup") if root is not None else paths[0])
        return
    parent = os.path.dirname(root if root is not None else paths[0])
    if not os.path.isdir(parent):
        raise output_error(outputs.output, OSError(errno.ENOENT, f"there is no folder {shown_path(parent)}"))
    is_new = root is not None and not os.path.lexists(root)
    check_target(os.path.join(root, ".neardup") if root and not is_new else root or paths[0])
    if is_new:
        return  # nothing is there that could be written over, and different files have different places
    read = {_identity(path): path for path in (*(target.source for target in outputs), *inputs)}
    for path in paths:
        source = read.get(_identity(path))
        if source is not None:
            raise _same(path, source)
        if os.path.isdir(path):
            raise output_error(shown_path(path), OSError(errno.EISDIR, os.strerror(errno.EISDIR)))


def _same(path: str, source: str) -> InputError:
    return InputError(
        f"the output {shown_path(path)} is the input {shown_path(source)}. Give -o another place; clean copies can be "
        "moved over the inputs when the run is done."
    )


def _absolute(output: str) -> str:
    return place_of(output) if is_remote(output) else os.path.abspath(output)


def _identity(path: str) -> tuple[int, int] | str:
    """The same for all names of one file, hard links too."""
    try:
        info = os.stat(path)
    except OSError:
        return real_place(path)
    return info.st_dev, info.st_ino


def _check_same_kind(source: str, format: str, output: str) -> None:
    """Raise InputError when the name of the output says another format or compression than the input has."""
    codec = stored_codec(source)
    if stored_codec(output) != codec:
        suffix = Path(source).suffix
        cure = f"End its name in {suffix}" if codec else f"End its name without {Path(output).suffix}"
        raise InputError(
            f"the output {shown_path(output)} would be {stored_codec(output) or 'not'} compressed where the input "
            f"{shown_path(source)} is {codec or 'not'}. {cure}, or give a folder."
        )
    if format == "text":
        return  # whatever a text is called, it is one
    other = suffix_format(output)
    if bare_suffix(output) != bare_suffix(source) and other is not None and (other != format or format == DOCUMENT):
        raise InputError(
            f"the output {shown_path(output)} is named as {other}, and a clean copy of {shown_path(source)} is "
            f"{format} as the input is. Give it the suffix of the input, or give a folder."
        )


def _check_stream(sources: Sequence[tuple[str, str]], options: ReadOptions) -> int:
    """The place of the first file that is not blank; InputError where the files cannot follow each other as one."""
    if len(sources) == 1:
        return 0
    formats = {format for _, format in sources}
    first = sources[0][0]
    if len(formats) > 1 or not formats <= {*_LINES, *_TABLES}:
        raise InputError(
            f"{len(sources)} inputs of format {' and '.join(sorted(formats))} cannot be one stream; only JSONL, lines, "
            "CSV and TSV can follow each other, each with its own kind. Give -o a folder."
        )
    common = _encoding(first, options)
    for path, _ in sources:
        if _encoding(path, options) != common:
            raise InputError(
                f"{shown_path(path)} has another byte order than {shown_path(first)}, so they cannot be one stream. "
                "Give -o a folder."
            )
    if not formats <= set(_TABLES):
        return 0
    kinds = [_kind(path, format, options) for path, format in sources]
    leader = next((i for i, kind in enumerate(kinds) if kind is not None), 0)
    for (path, _), kind in zip(sources, kinds, strict=True):
        if kind is not None and kind != kinds[leader]:
            raise InputError(
                f"{shown_path(path)} has another header, delimiter or number of fields than "
                f"{shown_path(sources[leader][0])}, so they cannot be one stream. Give -o a folder."
            )
    return leader


def _encoding(path: str, options: ReadOptions) -> str:
    """With its byte order."""
    with ByteStream(path) as stream:
        return read_line_ends(stream, options.encoding).codec


def _kind(path: str, format: str, options: ReadOptions) -> tuple[int, int, tuple[str, ...]] | None:
    """Delimiter, number of fields and header of a delimited file; None where it has no row."""
    for records in records_of(path, format, options):
        layout = records.block.layout
        return None if layout.width == 0 else (layout.delimiter, layout.width, layout.names)
    return None
