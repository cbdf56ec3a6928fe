"""Frames of Spark: written once as Parquet files, which a run reads, and read back, whole or without some rows.

A frame may give other rows, or another order, each time that it is worked out. Its files do not, so all stages, a run
that goes on and ``without_rows`` see the same.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from neardup.arrays import as_numpy
from neardup.errors import InputError
from neardup.spark.faults import explained
from neardup.spark.jobs import followed
from neardup.spark.storage import Storage
from neardup.types import I64, Mask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PART = re.compile(r"part-(\d+)-.*?(?:-c(\d+))?(?:\.\w+)*\.parquet")
"""The files of a frame that was written: partition, and number of the file in it."""
_REMOVED = "removed"


class Place(os.PathLike[str]):
    """A path or an address, as it is."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __fspath__(self) -> str:
        return self._place


def session_of(frame: DataFrame) -> SparkSession:
    """The session of a frame; InputError where that is on another machine."""
    session = frame.sparkSession
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise InputError(
            "the frame is one of Spark Connect, whose session runs on another machine. Run where the driver of Spark "
            "is: by spark-submit, or with a session of SparkSession.builder.master(…)."
        )
    return session


def write_frame(
    frame: DataFrame, storage: Storage, name: str, *, go_on: bool, on_done: Callable[[int], None]
) -> list[Place]:
    """Write a frame as Parquet; its files, in the order of its partitions.

    ``go_on``: a frame that is there, whole, is the one. ``on_done`` is as for ``followed``.
    """
    from pyspark.errors import AnalysisException

    session = session_of(frame)
    if not (go_on and storage.has(f"{name}/_SUCCESS")):
        folder = _for_spark(session, storage, name)
        try:
            followed(session.sparkContext, name, lambda: frame.write.mode("overwrite").parquet(folder), on_done)
        except AnalysisException as exc:
            why = (str(exc).splitlines() or [""])[0].rstrip(".")
            raise InputError(
                f"the frame cannot be written as Parquet: {why}. Rename, cast or drop the columns that it names."
            ) from exc
        except Exception as exc:
            known = explained(exc, f"write the {name}", session.sparkContext)
            if known is None:
                raise
            raise known from exc
    return [Place(path) for path in sorted(storage.files(name), key=_order) if path.endswith(".parquet")]


def _order(path: str) -> tuple[int, int, str]:
    name = path.rpartition("/")[2]
    found = _PART.fullmatch(name)
    return (int(found[1]), int(found[2] or 0), name) if found else (0, 0, name)


def read_frame(session: SparkSession, storage: Storage, name: str, schema: Any = None) -> DataFrame:
    """Parquet files of a folder as a frame; ``schema`` where it is known."""
    reader = session.read if schema is None else session.read.schema(schema)
    return reader.parquet(_as_pattern(_for_spark(session, storage, name)))


def read_files(session: SparkSession, paths: list[str]) -> DataFrame:
    """Parquet files that were not written here as a frame."""
    return session.read.parquet(*(_as_pattern(_scheme_of_spark(session, path)) for path in paths))


def _for_spark(session: SparkSession, storage: Storage, name: str) -> str:
    return _scheme_of_spark(session, f"{storage.root.rstrip('/')}/{name}")


def _scheme_of_spark(session: SparkSession, path: str) -> str:
    """A path or an address as Spark calls it: a path may be one of HDFS there, and s3 is a store of its own."""
    if "://" not in path:
        return f"file://{os.path.abspath(path)}"
    scheme, _, rest = path.partition("://")
    settings = session.sparkContext._jsc.hadoopConfiguration()
    return f"s3a://{rest}" if scheme == "s3" and settings.get("fs.s3.impl") is None else path


def _as_pattern(path: str) -> str:
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)


def without_rows(frame: DataFrame, storage: Storage, removed: Iterator[tuple[str, I64]]) -> DataFrame:
    """The rows of a frame that was read of Parquet files, but for some; columns of any type stay as they are.

    Only names of files and numbers of rows go to Python, so no text is moved. ``removed``: path, and the rows, rising,
    from 0, that go, of each file; they go to the storage, from which the workers read them.
    """
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
    from pyspark.sql.types import BooleanType

    names: dict[str, str | None] = {}
    run = os.urandom(6).hex()  # a worker lives on, and remembers rows by these names
    for number, (path, rows) in enumerate(removed):
        name = f"{_REMOVED}/{run}-{number:06d}" if rows.size else None
        names[_bare(path)] = name
        if name is not None:
            storage.put(name, rows=rows)
    if not any(names.values()):
        return frame
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a pandas that is newer than Spark; it is not used
        stays = arrow_udf(_staying(storage, names), BooleanType())
    origin = frame.metadataColumn("_metadata")
    return frame.where(stays(origin["file_path"], origin["row_index"]))


def _bare(path: str) -> str:
    """A path, or an address, without what Spark and Arrow write differently."""
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/+", path)
    return path[scheme.end() :] if scheme else os.path.abspath(path).lstrip("/")


@lru_cache(maxsize=4)
def _rows_gone(storage: Storage, name: str | None) -> I64:
    return np.empty(0, dtype=np.int64) if name is None else storage.get(name)["rows"]


def _staying(storage: Storage, names: Mapping[str, str | None]) -> Callable[[Any, Any], Any]:
    """Tells of rows, by addresses of files, as Spark writes them, and numbers in them, whether they stay.

    A file that is not known would keep what is to go: KeyError.
    """

    def stay(paths: pa.Array, rows: pa.Array) -> pa.Array:  # Spark looks at the types
        coded, at = paths.dictionary_encode(), as_numpy(rows)
        codes, found = as_numpy(coded.indices), np.ones(len(rows), dtype=np.bool_)
        for code, path in enumerate(coded.dictionary.to_pylist()):
            mine = codes == code
            found[mine] = ~_is_among(at[mine], _rows_gone(storage, names[_bare(unquote(path))]))
        return pa.array(found)

    return stay


def _is_among(rows: I64, sorted_rows: I64) -> Mask:
    if not sorted_rows.size:
        return np.zeros(rows.size, dtype=np.bool_)
    place = np.minimum(np.searchsorted(sorted_rows, rows), sorted_rows.size - 1)
    found: Mask = sorted_rows[place] == rows
    return found
