"""Reading folders of ``datasets``.

A dataset is a folder with ``state.json``, which names the shards (Arrow streams, read one after the other), and
``dataset_info.json``. A folder with ``dataset_dict.json`` holds one such folder for each split.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from neardup.errors import InputError
from neardup.inputs.columnar.arrow_columns import Chosen, choose_columns
from neardup.inputs.columnar.ipc import ipc_batches, map_file
from neardup.inputs.columnar.source import Batches, ColumnarSource
from neardup.inputs.columns import ReadColumns
from neardup.inputs.formats import DATASET
from neardup.inputs.source import ReadOptions, Task
from neardup.inputs.stream import explained_as
from neardup.shown import shown_path

_STATE = "state.json"
_INFO = "dataset_info.json"
_DICT = "dataset_dict.json"
_SHARDS = "_data_files"
_INDICES = ("_indices_files", "_indices_data_files")
"""What versions of ``datasets`` before 2.0 wrote for a selection of rows; today the rows themselves are written."""
_CURE = "Write the dataset again with save_to_disk."


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder with one split."""

    folder: str
    state: dict[str, Any]
    """``state.json``."""
    paths: list[str]
    """Of the shards, in order; all are in the folder."""


def datasets_in(folder: str) -> tuple[list[Dataset], list[str]]:
    """The splits when ``folder`` was written by ``save_to_disk``, and what lies beside their files; else nothing.

    Raises InputError when a file that says what there is is damaged, or names what is not there.
    """
    folders = _folders(folder)
    splits = [_opened(each) for each in folders]
    known = {folder: {_DICT, _STATE, _INFO, *map(os.path.basename, folders)}} if folders else {}
    known |= {split.folder: {_DICT, _STATE, _INFO, *map(os.path.basename, split.paths)} for split in splits}
    beside = [os.path.join(each, entry) for each, own in known.items() for entry in {*os.listdir(each)} - own]
    return splits, beside


def _folders(folder: str) -> list[str]:
    if _is_dataset(folder):
        return [folder]
    file = os.path.join(folder, _DICT)
    if not os.path.isfile(file):
        return []
    splits = _read_json(file).get("splits")
    if not isinstance(splits, list) or not all(_is_plain(split) for split in splits):
        raise InputError(f"{shown_path(file)} has no list of splits. {_CURE}")
    found = [os.path.join(folder, split) for split in splits]
    for split, path in zip(splits, found, strict=True):
        if not _is_dataset(path):
            why = f"names the split {split!r}, and there is no dataset in {shown_path(path)}"
            raise InputError(f"{shown_path(file)} {why}. {_CURE}")
    if not found:
        raise InputError(f"{shown_path(folder)} is a dictionary of datasets without a split. Name another folder.")
    return found


def _opened(folder: str) -> Dataset:
    """What ``state.json`` says about a dataset."""
    file = os.path.join(folder, _STATE)
    state = _read_json(file)
    listed = state.get(_SHARDS)
    if not isinstance(listed, list) or not all(isinstance(each, dict) and "filename" in each for each in listed):
        raise InputError(f"{shown_path(file)} does not name the files of the dataset under {_SHARDS!r}. {_CURE}")
    for key in _INDICES:
        if state.get(key):
            raise InputError(
                f"{shown_path(folder)} is a selection of rows of its files (it has {key!r}), which is not read. "
                "Load it with the version of datasets that wrote it, call flatten_indices(), and save it again."
            )
    paths = []
    for shard in (each["filename"] for each in listed):
        if not _is_plain(shard):
            raise InputError(f"{shown_path(file)} names {shard!r}, which is no file in that folder. {_CURE}")
        paths.append(os.path.join(folder, shard))
        if not os.path.isfile(paths[-1]):
            raise InputError(f"{shown_path(file)} names {shard!r}, and there is no such file beside it. {_CURE}")
    return Dataset(folder, state, paths)


def _read_json(path: str) -> dict[str, Any]:
    try:
        value = json.loads(Path(path).read_bytes())
    except OSError as exc:
        raise InputError(f"{shown_path(path)} cannot be read: {exc.strerror}. Name a readable folder.") from exc
    except ValueError as exc:
        raise InputError(f"{shown_path(path)} is no valid JSON: {exc}. {_CURE}") from exc
    if not isinstance(value, dict):
        raise InputError(f"{shown_path(path)} holds no JSON object. {_CURE}")
    return value


def _is_dataset(folder: str) -> bool:
    return all(os.path.isfile(os.path.join(folder, name)) for name in (_STATE, _INFO))


def _is_plain(name: Any) -> bool:
    """Whether ``name`` is that of something in the folder itself: what is written goes nowhere else."""
    return isinstance(name, str) and name not in ("", ".", "..") and os.path.basename(name) == name and "\0" not in name


class DatasetSource(ColumnarSource):
    """One split as a source; its rows are numbered from 1 across the shards."""

    format = DATASET

    def __init__(self, folder: str, options: ReadOptions) -> None:
        """Look into the folder; its shards are opened by ``tasks``."""
        self.dataset = _opened(folder)
        size = sum(os.path.getsize(path) for path in self.dataset.paths)
        super().__init__(shown_path(folder), options, total_bytes=size)

    @property
    def paths(self) -> list[str]:
        """Every file that the dataset is made of."""
        about = [os.path.join(self.dataset.folder, name) for name in (_STATE, _INFO)]
        return about + self.dataset.paths

    def schema(self) -> Any:
        """The Arrow schema of the first shard, or None of a dataset without shards, which has no rows."""
        for path in self.dataset.paths[:1]:
            with _explained(path), pa.OSFile(path, "r") as file:
                return pa.ipc.open_stream(file).schema
        return None

    def tasks(self) -> Iterator[Task]:
        """Yield tasks of about 4 MB of text, without a copy: the shards are mapped into memory."""
        schema = self.schema()
        if schema is not None:
            chosen = choose_columns(schema, self._options, self.name)
            self.columns, self.names = chosen.columns(schema.names, self.name), schema.names
            rests: list[Callable[[], None]] = []
            yield from self.cut(self.batches(schema, chosen, rests), chosen.alone(), rest=lambda: rests[-1]())

    def look(self) -> ReadColumns | None:
        schema = self.schema()
        return schema and choose_columns(schema, self._options, self.name).columns(schema.names, self.name)

    def batches(self, schema: Any, chosen: Chosen, rests: list[Callable[[], None]]) -> Batches:
        """Yield the chosen columns of all shards; ``rests`` gets for each a function that lets go of its pages."""
        for path in self.dataset.paths:
            with _explained(path):
                file, rest = map_file(path)
                rests.append(rest)
                data = file.read_buffer()
                if not pa.ipc.open_stream(data).schema.equals(schema):
                    raise InputError(
                        f"{shown_path(path)} has other columns than the first file of its dataset. {_CURE}"
                    )
                yield from ipc_batches(data, shown_path(path), schema, chosen, self._options.limit, is_file=False)


def _explained(path: str) -> AbstractContextManager[None]:
    return explained_as("an Arrow stream", shown_path(path), (pa.ArrowException, OSError), _CURE)
