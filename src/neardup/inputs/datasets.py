"""Reading folders of ``datasets``.

A dataset is a folder with ``state.json``, which names the shards (Arrow streams, read one after the other), and
``dataset_info.json``. A folder with ``dataset_dict.json`` holds one such folder for each split.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.errors import InputError
from neardup.inputs.columnar.arrow_columns import Chosen, choose_columns
from neardup.inputs.columnar.ipc import ipc_batches, map_file
from neardup.inputs.columnar.source import Batches, ColumnarSource, first_line
from neardup.inputs.formats import DATASET
from neardup.inputs.source import ReadOptions, Task
from neardup.shown import shown_path

__all__ = [
    "CURE",
    "DICT_FILE",
    "INFO_FILE",
    "STATE_FILE",
    "Dataset",
    "DatasetSource",
    "dataset_folders",
    "explained_shard",
    "open_dataset",
    "read_json",
    "shard_schema",
]

STATE_FILE = "state.json"
INFO_FILE = "dataset_info.json"
DICT_FILE = "dataset_dict.json"

CURE = "Write the dataset again with save_to_disk."
"""For a folder that is damaged."""

_SHARDS = "_data_files"
_INDICES = ("_indices_files", "_indices_data_files")
"""What versions of ``datasets`` before 2.0 wrote for a selection of rows; today the rows themselves are written."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder with one split."""

    folder: str
    state: dict[str, Any]
    """``state.json``."""
    shards: tuple[str, ...]
    """Names of the files, in order; all are in the folder."""

    @property
    def name(self) -> str:
        """The folder as shown to the user; the default ids are ``name:row``."""
        return shown_path(self.folder)

    @property
    def paths(self) -> list[str]:
        """Paths of the shards."""
        return [os.path.join(self.folder, shard) for shard in self.shards]

    @property
    def total_bytes(self) -> int:
        """Bytes of the shards."""
        return sum(os.path.getsize(path) for path in self.paths)


def dataset_folders(folder: str) -> list[str]:
    """The folders of the splits when ``folder`` was written by ``save_to_disk``; else nothing.

    Raises:
        InputError: it is a dictionary of datasets, and its list of splits is damaged or one of them is missing.
    """
    if _has(folder, STATE_FILE) and _has(folder, INFO_FILE):
        return [folder]
    if not _has(folder, DICT_FILE):
        return []
    file = os.path.join(folder, DICT_FILE)
    splits = read_json(file).get("splits")
    if not isinstance(splits, list) or not all(_is_plain(split) for split in splits):
        raise InputError(f"{shown_path(file)} has no list of splits. {CURE}")
    found = [os.path.join(folder, split) for split in splits]
    for path in found:
        if not (_has(path, STATE_FILE) and _has(path, INFO_FILE)):
            raise InputError(
                f"{shown_path(file)} names the split {os.path.basename(path)!r}, and there is no dataset in "
                f"{shown_path(path)}. {CURE}"
            )
    if not found:
        raise InputError(f"{shown_path(folder)} is a dictionary of datasets without a split. Name another folder.")
    return found


def open_dataset(folder: str) -> Dataset:
    """Read what ``state.json`` says about a dataset.

    Raises:
        InputError: the file is damaged, names a file that is missing or outside the folder, or is of a selection of
            rows as versions of ``datasets`` before 2.0 wrote it.
    """
    file = os.path.join(folder, STATE_FILE)
    state = read_json(file)
    listed = state.get(_SHARDS)
    if not isinstance(listed, list) or not all(isinstance(each, dict) and "filename" in each for each in listed):
        raise InputError(f"{shown_path(file)} does not name the files of the dataset under {_SHARDS!r}. {CURE}")
    for key in _INDICES:
        if state.get(key):
            raise InputError(
                f"{shown_path(folder)} is a selection of rows of its files (it has {key!r}), which is not read. "
                "Load it with the version of datasets that wrote it, call flatten_indices(), and save it again."
            )
    shards = tuple(each["filename"] for each in listed)
    for shard in shards:
        if not _is_plain(shard):
            raise InputError(f"{shown_path(file)} names {shard!r}, which is no file in that folder. {CURE}")
        if not _has(folder, shard):
            raise InputError(f"{shown_path(file)} names {shard!r}, and there is no such file beside it. {CURE}")
    return Dataset(folder, state, shards)


def read_json(path: str) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        InputError: it cannot be read or is something else.
    """
    try:
        value = json.loads(Path(path).read_bytes())
    except OSError as exc:
        raise InputError(f"{shown_path(path)} cannot be read: {exc.strerror}. Name a readable folder.") from exc
    except ValueError as exc:
        raise InputError(f"{shown_path(path)} is no valid JSON: {exc}. {CURE}") from exc
    if not isinstance(value, dict):
        raise InputError(f"{shown_path(path)} holds no JSON object. {CURE}")
    return value


class DatasetSource(ColumnarSource):
    """One split as a source; its rows are numbered from 1 across the shards."""

    format = DATASET

    def __init__(self, folder: str, options: ReadOptions) -> None:
        """Look into the folder; its shards are opened by ``tasks``.

        Raises:
            InputError: as ``open_dataset``.
        """
        self.dataset = open_dataset(folder)
        super().__init__(self.dataset.name, options, self.dataset.total_bytes)

    @property
    def files(self) -> list[str]:
        """Every file that the dataset is made of."""
        names = (STATE_FILE, INFO_FILE, *self.dataset.shards)
        return [os.path.join(self.dataset.folder, name) for name in names]

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text, without a copy: the shards are mapped into memory."""
        schema = shard_schema(self.dataset)
        if schema is not None:
            chosen = choose_columns(schema, self._options, self.name)
            rests: list[Callable[[], None]] = []
            yield from self.cut(self.batches(schema, chosen, rests), chosen.alone(), rest=lambda: rests[-1]())

    def batches(self, schema: Any, chosen: Chosen, rests: list[Callable[[], None]]) -> Batches:
        """Yield the chosen columns of all shards; ``rests`` gets for each a function that lets go of its pages.

        Raises:
            InputError: a shard is damaged, or its columns are not those of the first.
        """
        for path in self.dataset.paths:
            with explained_shard(path):
                file, rest = map_file(path)
                rests.append(rest)
                data = file.read_buffer()
                _check_schema(pa.ipc.open_stream(data).schema, schema, path)
                yield from ipc_batches(data, shown_path(path), schema, chosen, self._options.limit, is_file=False)


def shard_schema(dataset: Dataset) -> Any:
    """The Arrow schema of the first shard, or None of a dataset without shards, which has no rows.

    Raises:
        InputError: the shard is damaged.
    """
    for path in dataset.paths[:1]:
        with explained_shard(path), pa.OSFile(path, "r") as file:
            return pa.ipc.open_stream(file).schema
    return None


def _check_schema(schema: Any, first: Any, path: str) -> None:
    if not schema.equals(first):
        raise InputError(f"{shown_path(path)} has other columns than the first file of its dataset. {CURE}")


@contextmanager
def explained_shard(path: str) -> Iterator[None]:
    """Turn what pyarrow and the system say about a shard into InputError with the cure."""
    try:
        yield
    except (pa.ArrowException, OSError) as exc:
        raise InputError(f"{shown_path(path)} cannot be read as an Arrow stream: {first_line(exc)}. {CURE}") from exc


def _has(folder: str, name: str) -> bool:
    return os.path.isfile(os.path.join(folder, name))


def _is_plain(name: Any) -> bool:
    """Whether ``name`` is that of something in the folder itself: what is written goes nowhere else."""
    return isinstance(name, str) and name not in ("", ".", "..") and os.path.basename(name) == name and "\0" not in name
