"""Clean copies of folders of ``datasets``, for ``datasets.load_from_disk`` to open.

A copy has the shards, ``state.json`` and ``dataset_info.json``, and nothing else that lay in the folder: caches there
are of the rows as they were. It is written into a temporary folder beside and renamed when it is whole.
"""

from __future__ import annotations

import copy
import errno
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from neardup.errors import InputError, OutputError
from neardup.inputs.datasets import (
    DICT_FILE,
    INFO_FILE,
    STATE_FILE,
    Dataset,
    batches_of,
    dataset_folders,
    open_dataset,
    read_json,
    shard_schema,
)
from neardup.outputs.atomic import AtomicFiles, output_error
from neardup.outputs.naming import Rename
from neardup.shown import shown_path
from neardup.tasks.dedup.rewrite.columnar import Editor
from neardup.tasks.dedup.rewrite.known import Known
from neardup.tasks.dedup.rewrite.model import I64, Annotation, Tally, Written

__all__ = ["rewrite_dataset", "rewrite_dataset_dict"]

_METADATA = b"huggingface"
_DTYPES = {pa.float64(): "float64"}
"""Types of added columns that ``datasets`` calls by another name than Arrow."""
_NOTHING: I64 = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Copy:
    """One split as it was written."""

    dataset: Dataset
    is_changed: bool
    kept: int
    removed: int
    rows: list[int]
    """Of each shard."""
    nbytes: int
    """Bytes of its Arrow tables, as ``datasets`` counts them."""
    features: dict[str, Any]
    """What the annotation adds to the features."""

    @property
    def split(self) -> str | None:
        """The name of the split, where one is recorded."""
        split = self.dataset.state.get("_split")
        return split if isinstance(split, str) else None


def rewrite_dataset(
    folder: str,
    out: Path,
    removed: I64,
    annotation: Annotation | None = None,
    *,
    known: Known | None = None,
    files: AtomicFiles | None = None,
) -> Written:
    """Write a copy of one split without some of its rows, or with three more columns.

    Kept: the shards with their names and order (a shard may become empty; one that loses nothing is copied as it is),
    the Arrow schema with its features, and ``state.json``. The fingerprint is that of the rows: a hash of the old one
    and of what was done; unchanged if nothing was. In ``dataset_info.json`` the numbers of this split are those of the
    copy; of other splits see ``rewrite_dataset_dict``.

    Args:
        folder: the split's folder.
        out: the folder to make; it does not exist or is empty.
        removed: int64[n], rising: rows to leave out, from 1 across the shards.
        annotation: columns to add, and then nothing is removed.
        known: what some of its documents were when they were read first; each is held against it.
        files: the copy gets its name at the end of its block; None: here.

    Raises:
        InputError: the folder cannot be read, or was changed since it was.
        OutputError: the copy cannot be written; nothing of it is left then.
    """
    with _new_folder(folder, out, files) as temporary:
        written = _write_split(open_dataset(folder), temporary, removed, annotation, known)
        _write_descriptions(written, temporary, [written], removed, annotation)
        size = _size(temporary)
    return Written(written.kept, written.removed, 0, size)


def rewrite_dataset_dict(
    folder: str,
    out: Path,
    removed: Mapping[str, I64],
    annotations: Mapping[str, Annotation] | None = None,
    *,
    known: Mapping[str, Known] | None = None,
    files: AtomicFiles | None = None,
) -> dict[str, Written]:
    """Write a copy of a dictionary of datasets, each split as ``rewrite_dataset`` does it.

    Every split's ``dataset_info.json`` tells the sizes of all of them, and all are adjusted.

    Args:
        folder: the folder with ``dataset_dict.json``.
        out: the folder to make; it does not exist or is empty.
        removed: rows to leave out, by the name of the split; a split that is not named loses none.
        annotations: columns to add, by the name of the split. Give all splits the same ones, or none, so that they
            keep one set of features.
        known, files: as for ``rewrite_dataset``, the first by the name of the split.

    Returns:
        What was written, by the name of the split, in the order of ``dataset_dict.json``.

    Raises:
        InputError: the folder cannot be read, or was changed since it was.
        OutputError: the copy cannot be written; nothing of it is left then.
    """
    splits = {os.path.basename(path): path for path in dataset_folders(folder)}
    notes = annotations or {}
    unknown = sorted((removed.keys() | notes.keys()) - splits.keys())
    if unknown:
        raise InputError(f"{shown_path(folder)} has no split {unknown[0]!r}; there are {', '.join(map(repr, splits))}.")
    copies: dict[str, _Copy] = {}
    sizes: dict[str, int] = {}
    with _new_folder(folder, out, files) as temporary:
        for name, path in splits.items():
            (temporary / name).mkdir()
            cut = removed.get(name, _NOTHING)
            held = (known or {}).get(name)
            copies[name] = _write_split(open_dataset(path), temporary / name, cut, notes.get(name), held)
        for name, written in copies.items():
            cut = removed.get(name, _NOTHING)
            _write_descriptions(written, temporary / name, list(copies.values()), cut, notes.get(name))
            sizes[name] = _size(temporary / name)
        _save(temporary / DICT_FILE, Path(folder, DICT_FILE).read_bytes())
    return {name: Written(each.kept, each.removed, 0, sizes[name]) for name, each in copies.items()}


@contextmanager
def _new_folder(source: str, out: Path, files: AtomicFiles | None) -> Iterator[Path]:
    """A temporary folder that becomes ``out`` at the end of the block, or of ``files``; on any error it goes."""
    final = Path(os.path.realpath(out))
    origin = Path(os.path.realpath(source))
    if final == origin or origin in final.parents or final in origin.parents:
        raise OutputError(
            f"cannot write {out}: it is, or holds, or lies in {source}, which is read. Give another folder."
        )
    temporary = final.with_name(f".{final.name[:100]}.{os.getpid():x}-{secrets.token_hex(4)}.part")
    try:
        if final.exists() and not (final.is_dir() and not any(final.iterdir())):
            raise FileExistsError(errno.EEXIST, "it exists, and a dataset is a folder of its own")
        temporary.mkdir()
    except OSError as exc:
        raise output_error(out, exc) from exc

    def discard(error: BaseException) -> None:
        shutil.rmtree(temporary, ignore_errors=True)

    try:
        yield temporary
        with AtomicFiles() if files is None else nullcontext(files) as held:
            held.take(out, lambda: iter((Rename(str(temporary), str(final)),)), discard)
    except BaseException as exc:
        discard(exc)
        if isinstance(exc, OSError) and not isinstance(exc, OutputError):
            raise output_error(out, exc) from exc
        raise


def _write_split(
    dataset: Dataset, folder: Path, removed: I64, annotation: Annotation | None, known: Known | None
) -> _Copy:
    removed = np.ascontiguousarray(removed, dtype=np.int64)
    schema = shard_schema(dataset)
    editor = Editor(dataset.name, pa.schema([]) if schema is None else schema, removed, annotation, known)
    added = list(editor.schema)[len(schema or ()) :]
    features = {field.name: {"dtype": _DTYPES.get(field.type, str(field.type)), "_type": "Value"} for field in added}
    if features:
        editor.schema = editor.schema.with_metadata(_with_features(editor.schema.metadata, features))
    rows: list[int] = []
    nbytes = before = 0
    for shard, path in zip(dataset.shards, dataset.paths, strict=True):
        count = sum(len(batch) for batch, _ in batches_of(path, schema))
        low, high = np.searchsorted(removed, [before + 1, before + count + 1])
        before += count
        edited = (editor.edit(batch) for batch, _ in batches_of(path, schema))
        if annotation is None and low == high:
            nbytes += sum(batch.nbytes for batch in edited)
            _copy_file(path, folder / shard)
        else:
            nbytes += _write_shard(folder / shard, editor.schema, edited)
        rows.append(count - int(high - low))
    editor.check()
    if known is not None:
        known.check_end(Tally(editor.kept, editor.removed))
    changed = annotation is not None or removed.size > 0
    return _Copy(dataset, changed, editor.kept, editor.removed, rows, nbytes, features)


def _write_shard(path: Path, schema: Any, batches: Iterator[Any]) -> int:
    """Write batches as an Arrow stream, the empty ones left out; return the bytes of their columns."""
    nbytes = 0
    with open(path, "xb", buffering=1 << 20) as file:
        with pa.ipc.new_stream(file, schema) as writer:
            for batch in batches:
                if len(batch):
                    writer.write_batch(batch)
                    nbytes += batch.nbytes
        file.flush()
        os.fsync(file.fileno())
    return nbytes


def _write_descriptions(
    written: _Copy, folder: Path, copies: list[_Copy], removed: I64, annotation: Annotation | None
) -> None:
    """Write ``state.json`` and ``dataset_info.json`` beside the shards; as they are where nothing changed."""
    source = written.dataset.folder
    info = read_json(os.path.join(source, INFO_FILE))
    told = _adjusted(info, written, copies)
    if told == info:
        _save(folder / INFO_FILE, Path(source, INFO_FILE).read_bytes())
    else:
        _save(folder / INFO_FILE, json.dumps(told, indent=2).encode())
    if written.is_changed:
        state = dict(written.dataset.state)
        state["_fingerprint"] = _fingerprint(state.get("_fingerprint"), removed, annotation)
        _save(folder / STATE_FILE, json.dumps(state, indent=2, sort_keys=True).encode())
    else:
        _save(folder / STATE_FILE, Path(source, STATE_FILE).read_bytes())


def _adjusted(info: dict[str, Any], written: _Copy, copies: list[_Copy]) -> dict[str, Any]:
    """The description of a dataset with the features and the sizes of its copy, and the sizes of the other splits."""
    told = copy.deepcopy(info)
    if isinstance(told.get("features"), dict):
        told["features"].update(written.features)
    splits = told.get("splits")
    if not isinstance(splits, dict):
        return told
    for each in copies:
        entry = splits.get(each.split) if each.is_changed else None
        if not isinstance(entry, dict):  # a part of a split, such as "train[:10%]": the whole is as it was
            continue
        entry["num_examples"], entry["num_bytes"] = sum(each.rows), each.nbytes
        if entry.get("shard_lengths"):
            entry["shard_lengths"] = each.rows
        entry.pop("original_shard_lengths", None)  # of the files that the split was made from
    if splits != info["splits"] and told.get("dataset_size") is not None:
        told["dataset_size"] = sum(entry.get("num_bytes") or 0 for entry in splits.values())
        if told.get("size_in_bytes") is not None:
            told["size_in_bytes"] = told["dataset_size"] + (told.get("download_size") or 0)
    return told


def _with_features(metadata: dict[bytes, bytes] | None, features: dict[str, Any]) -> dict[bytes, bytes] | None:
    """The metadata of a schema, with more features where it lists them."""
    if metadata is None or _METADATA not in metadata:
        return metadata
    told = json.loads(metadata[_METADATA])
    listed = (told.get("info") or {}).get("features")
    if isinstance(listed, dict):
        listed.update(features)
    return {**metadata, _METADATA: json.dumps(told).encode()}


def _fingerprint(old: Any, removed: I64, annotation: Annotation | None) -> str:
    """16 hexadecimal digits, as ``datasets`` has them."""
    digest = hashlib.blake2b(json.dumps(old).encode(), digest_size=8)
    digest.update(np.ascontiguousarray(removed, dtype="<i8").tobytes())
    if annotation is not None:
        digest.update(b"annotated")
        for numbers in (annotation.rows, annotation.cluster, annotation.similarity):
            digest.update(np.ascontiguousarray(numbers).astype(numbers.dtype.newbyteorder("<")).tobytes())
        digest.update(json.dumps(annotation.keeper.to_pylist()).encode())
    return digest.hexdigest()


def _copy_file(source: str, target: Path) -> None:
    with open(source, "rb", buffering=0) as stream, open(target, "xb") as file:
        shutil.copyfileobj(stream, file, 4 << 20)
        file.flush()
        os.fsync(file.fileno())


def _save(path: Path, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _size(folder: Path) -> int:
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries)
