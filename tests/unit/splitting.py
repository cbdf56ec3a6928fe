"""What the tests of splits share: an input read in one go and in splits, as another process would read them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

from tests.unit.reading import Everything, batches_of, gathered

from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.inputs.source import RecordLimit, Source
from neardup.inputs.splits import FaultInSplit, Split, lines_before, numbered, plan_splits, read_split
from neardup.types import Batch


def limited(largest: int) -> RecordLimit:
    """Records of ``largest`` bytes at most."""
    limit = RecordLimit()
    limit.set(largest, memory=1 << 30, growth=1.0, together=1 << 20)
    return limit


def places(batches: Iterable[Batch]) -> list[tuple[int, int]]:
    """Where each record lies that can be read again."""
    told = [batch.places for batch in batches if batch.places is not None]
    return [place for each in told for place in zip(each.starts.tolist(), each.stops.tolist(), strict=True)]


def in_one_go(inputs: Any, **options: Any) -> tuple[Everything | str, list[Any]]:
    """All that is read of an input, or the error, and the columns of its sources."""
    reader = open_inputs(inputs, **options)
    try:
        return gathered(batches_of(reader)), [source.columns for source in reader.parts]
    except InputError as exc:
        return str(exc), []


def in_splits(inputs: Any, most: int, **options: Any) -> tuple[Everything | str, list[Any], list[Split]]:
    """The same, each split by a source that came by pickle and a split that came as JSON, and the splits."""
    reader = open_inputs(inputs, **options)
    splits = plan_splits(reader, most)
    sent = pickle.dumps(reader.parts)
    columns: dict[int, Any] = dict.fromkeys(range(len(reader.parts)))
    try:
        every = gathered(_batches(splits, pickle.loads(sent), columns))
    except InputError as exc:
        return str(exc), [], splits
    return every, list(columns.values()), splits


def _batches(splits: list[Split], sources: list[Source], columns: dict[int, Any]) -> Iterator[Batch]:
    before = [0] * len(sources)
    for split in splits:
        assert pickle.loads(pickle.dumps(split)) == split
        split = Split(**json.loads(json.dumps(asdict(split))))
        source, lines = sources[split.place], before[split.place]
        assert split.before in (None, lines)
        reading = read_split(source, split)
        rows: list[int] = []
        for task in reading.tasks():
            try:
                batch = task()
            except FaultInSplit as exc:
                raise pickle.loads(pickle.dumps(exc)).absolute(lines) from exc
            batch = numbered(batch, lines) if reading.is_relative else batch
            rows += batch.rows.tolist()
            yield batch
        if split.nbytes > 1 and reading.records:
            assert lines_before(source, split) == lines
            again = read_split(source, replace(split, before=lines))
            assert [row for task in again.tasks() for row in task().rows.tolist()] == rows
            assert again.records == reading.records
        assert [each.reason for each in pickle.loads(pickle.dumps(reading.passed))] == [
            each.reason for each in sources[split.place].passed
        ]
        before[split.place] += reading.records
        columns[split.place] = reading.columns or columns[split.place]


def assert_same(inputs: Any, most: int, *, has_documents: bool = False, **options: Any) -> list[Split]:
    """Assert that splits give what the input gives, and return them.

    ``has_documents``: files that are no plain texts, beside which others are read again or not, batch by batch.
    """
    whole, columns = in_one_go(inputs, **options)
    parts, told, splits = in_splits(inputs, most, **options)
    if isinstance(whole, str) or isinstance(parts, str):
        assert parts == whole
        return splits
    assert told == columns
    for name in ("blobs", "rows", "ids", "faults", "bad", "blank", "consumed"):
        assert getattr(parts, name) == getattr(whole, name), name
    assert has_documents or places(parts.batches) == places(whole.batches)
    return splits
