"""Spark works on tasks: one row for each in, one row for each answer out, and blobs as rows of a shuffle between."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from neardup import errors
from neardup._version import __version__
from neardup.engine.observe import Observer, Silent
from neardup.errors import NeardupError
from neardup.spark.exchange import Blob, Blobs, Facts, Failed
from neardup.spark.faults import explained
from neardup.spark.jobs import followed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANSWER = pa.schema([("task", pa.int32()), ("facts", pa.string())])
BLOB = pa.schema([*((name, pa.int32()) for name in ("part", "task", "number", "at")), ("data", pa.binary())])
Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
PIECE_BYTES = 192 << 10
"""Bytes of a blob in one row. The JVM doubles a buffer until a row fits, and marks its whole heap for arrays of half a
megabyte and more: with rows of 16 MB it did so all the time, for a fifth of its CPU."""
BATCH_BYTES = 8 << 20
"""Bytes of a blob in one batch of rows, which Spark holds several times."""
_FAILED = "neardup-failed:"


class SparkCluster:
    """Tasks as the partitions of Spark jobs. Scheduling, the shuffle and retries are Spark's."""

    def __init__(self, session: SparkSession, observer: Observer | None = None) -> None:
        """``observer`` is told of each task that is done."""
        self._session = session
        self._observer = observer or Silent()
        self.master = str(session.sparkContext.master)
        self.sent: dict[str, int] = {}

    def map(self, name: str, tasks: Sequence[int], work: Callable[[int], Facts]) -> list[Facts]:
        """See ``exchange.Cluster``."""
        numbers = list(tasks)

        def do(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for place in batch.column(0).to_pylist():
                    yield _answer(place, _tried(partial(work, numbers[place])))

        rows = _mapped(self._rows(len(numbers)), do, "task int, facts string")
        found = self._collected(name, rows, len(numbers))
        return [_facts(numbers[place], found[place]) for place in range(len(numbers))]

    def exchange(
        self,
        name: str,
        tasks: Sequence[int],
        give: Callable[[int], Iterator[Blob]],
        parts: int,
        take: Callable[[int, Blobs], Facts],
    ) -> list[Facts]:
        """See ``exchange.Cluster``. A blob is a row; a partition gets its rows in any order, and sorts them."""
        numbers = list(tasks)

        def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for place in batch.column(0).to_pylist():
                    try:
                        for number, (part, blob) in enumerate(give(numbers[place])):
                            yield from _pieces(part, numbers[place], number, blob)
                    except NeardupError as exc:
                        raise RuntimeError(f"{_FAILED}{json.dumps([numbers[place], *_told(exc)])}") from None

        def receive(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            part = context.partitionId()
            blobs = _blobs(batches)
            sent = sum(len(data) for _, data in blobs)
            yield _answer(part, {"sent": sent, **_tried(partial(take, part, blobs))})

        given = _mapped(self._rows(len(numbers)), send, "part int, task int, number int, at int, data binary")
        answers = _mapped(given.repartitionById(parts, "part"), receive, "task int, facts string")
        found = self._collected(name, answers, len(numbers) + parts)
        self.sent[name] = self.sent.get(name, 0) + sum(answer["sent"] for answer in found.values())
        return [_facts(part, found[part]) for part in range(parts)]

    def _rows(self, count: int) -> Any:
        """One row in each of so many partitions."""
        return self._session.range(0, count, 1, max(1, count))

    def _collected(self, name: str, rows: Any, tasks: int) -> dict[int, Any]:
        """Answers by task; the observer is told of all ``tasks``, as far as they are done."""
        told = 0

        def tell(done: int) -> None:
            nonlocal told
            new = max(0, min(done, tasks) - told)  # a task may be done twice, and some that were done be lost
            told += new
            self._observer.advance(new)  # of none, too: a run that was stopped ends there

        try:
            found = followed(self._session.sparkContext, name, rows.collect, tell)
            tell(tasks)
            return {row.task: json.loads(row.facts) for row in found}
        except Exception as exc:
            message = str(exc)
            at = message.find(_FAILED)
            if at < 0:
                known = explained(exc, name, self._session.sparkContext)
                if known is None:
                    raise
                raise known from exc
            task, *error = json.JSONDecoder().raw_decode(message[at + len(_FAILED) :])[0]
            raise Failed(task, _error(*error)) from exc


def _mapped(rows: Any, work: Work, schema: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a pandas that is newer than Spark; it is not used
        return rows.mapInArrow(shipped(work), schema)


def shipped(work: Work) -> Work:
    """Work as it goes to workers: one whose neardup is another, or that has none, says so and does nothing.

    So the function that they get must ask for nothing of neardup before that is known: it holds the other one pickled.
    """
    from pyspark import cloudpickle

    data, version = cloudpickle.dumps(work), __version__  # type: ignore[no-untyped-call]
    cure = "Install this version there, or send it: 'Standalone, YARN, Kubernetes' in the documentation has the ways."

    def do(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import json
        import pickle
        import sys

        try:
            from neardup._version import __version__ as theirs
        except ImportError as exc:
            told = "MissingDependency", f"the Python of the workers, {sys.executable}, has no neardup ({exc}). {cure}"
            raise RuntimeError(f"{_FAILED}{json.dumps([0, *told])}") from None
        if theirs != version:
            found = f"the workers have neardup {theirs} ({sys.executable}), and the driver has {version}"
            raise RuntimeError(f"{_FAILED}{json.dumps([0, 'NeardupError', f'{found}. {cure}'])}")
        yield from pickle.loads(data)(batches)

    return do


def _pieces(part: int, task: int, number: int, blob: bytes) -> Iterator[pa.RecordBatch]:
    """A blob as rows, one for each piece."""
    data = pa.py_buffer(blob)
    for first in range(0, max(1, data.size), BATCH_BYTES):
        size = min(BATCH_BYTES, data.size - first)
        at = np.arange(0, max(1, size), PIECE_BYTES, dtype=np.int32)
        numbers = (np.full(at.size, value, dtype=np.int32) for value in (part, task, number))
        # not by pa.array, which copies, and never lets go of the memory of a memoryview (pyarrow 26)
        buffers = [None, pa.py_buffer(np.append(at, np.int32(size))), data.slice(first, size)]
        columns = [*map(pa.array, numbers), pa.array(at + first), pa.Array.from_buffers(pa.binary(), at.size, buffers)]
        yield pa.RecordBatch.from_arrays(columns, schema=BLOB)


def _blobs(batches: Iterator[pa.RecordBatch]) -> Blobs:
    """The blobs of a partition, in order, from rows in any order."""
    found: list[tuple[int, int, int, Any]] = []
    for batch in batches:
        task, number, at = (batch.column(i).to_pylist() for i in (1, 2, 3))
        data = batch.column(4)
        found += [(task[i], number[i], at[i], data[i].as_buffer()) for i in range(batch.num_rows)]
    found.sort(key=lambda row: row[:3])
    blobs: Blobs = []
    for (of, _), rows in groupby(found, key=lambda row: row[:2]):
        pieces = [row[3] for row in rows]
        blobs.append((of, pieces[0] if len(pieces) == 1 else b"".join(pieces)))
    return blobs


def _answer(task: int, facts: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([task], pa.int32()), pa.array([json.dumps(facts)])], schema=ANSWER)


def _tried(work: Callable[[], Facts]) -> Any:
    """The answer, or what went wrong, where doing it again cannot mend it."""
    try:
        return {"done": work()}
    except NeardupError as exc:
        return {"failed": _told(exc)}


def _told(error: NeardupError) -> tuple[str, str]:
    return type(error).__name__, str(error.args[0] if error.args else error)


def _error(kind: str, message: str) -> NeardupError:
    found: NeardupError = getattr(errors, kind, errors.InputError)(message)
    return found


def _facts(task: int, answer: Any) -> Facts:
    if "failed" in answer:
        raise Failed(task, _error(*answer["failed"]))
    facts: Facts = answer["done"]
    return facts
