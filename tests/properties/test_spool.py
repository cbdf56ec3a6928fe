"""Work on disk is the work in memory, whatever is asked of it and whenever it is killed."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from neardup.spool import MemoryColumn, MemoryTexts, Sorter, Workdir
from neardup.spool import sorter as sorter_module
from neardup.types import Documents

IDENTITY = {"spec_id": "s"}
BLOBS = st.lists(st.one_of(st.binary(max_size=40), st.binary(min_size=200, max_size=400)), max_size=30)


class Killed(RuleBasedStateMachine):
    """A column, texts and a sorter, against plain lists; a kill takes the lists back to the last checkpoint.

    A copy of the folder without its lock is what a killed process leaves.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.generation = 0
        self.numbers: list[int] = []
        self.blobs: list[bytes] = []
        self.records: list[tuple[int, int]] = []
        self.kept: tuple[int, int, int] = (0, 0, 0)
        self._use(Workdir.create(self.folder / "0", IDENTITY))
        self.workdir.checkpoint()

    def _use(self, workdir: Workdir) -> None:
        self.workdir = workdir
        self.column = workdir.column("numbers", np.int64, 2)
        self.texts = workdir.texts("texts")
        self.sorter = Sorter("keys", payload=np.uint64, budget=1, workdir=workdir)

    @rule(start=st.integers(-5, 5), count=st.sampled_from([0, 1, 7, 500, 40_000]))
    def append_numbers(self, start: int, count: int) -> None:
        values = np.arange(start, start + count)
        self.column.append(np.stack((values, -values), axis=1))
        self.numbers += values.tolist()

    @rule(blobs=BLOBS)
    def append_texts(self, blobs: list[bytes]) -> None:
        self.texts.append(Documents.from_bytes(blobs))
        self.blobs += blobs

    @rule(keys=st.lists(st.integers(0, 9), max_size=20), times=st.sampled_from([1, 100]))
    def add_keys(self, keys: list[int], times: int) -> None:
        first = len(self.records)
        arrival = np.arange(first, first + len(keys) * times, dtype=np.uint64)
        self.sorter.add(np.tile(np.array(keys, dtype=np.uint64), times), arrival)
        self.records += list(zip(keys * times, arrival.tolist(), strict=True))

    @precondition(lambda self: self.numbers)
    @rule(data=st.data())
    def take_numbers(self, data: st.DataObject) -> None:
        rows = data.draw(st.lists(st.integers(0, len(self.numbers) - 1), max_size=50))
        taken = self.column.take(np.array(rows, dtype=np.int64))
        assert taken.tolist() == [[self.numbers[row], -self.numbers[row]] for row in rows]

    @rule(data=st.data())
    def read_texts(self, data: st.DataObject) -> None:
        rows = sorted(data.draw(st.sets(st.integers(0, len(self.blobs) - 1), max_size=40))) if self.blobs else []
        found = [
            documents.blob(i) for documents, local, _ in self.texts.parts(np.array(rows, dtype=np.int64)) for i in local
        ]
        assert found == [self.blobs[row] for row in rows]

    @rule(unique=st.booleans(), rows=st.sampled_from([1, 64, 10_000]))
    def merge_keys(self, unique: bool, rows: int) -> None:
        found = [
            record
            for keys, data in self.sorter.merged(rows, unique)
            for record in zip(keys.tolist(), data.tolist(), strict=True)
        ]
        wanted = sorted(self.records)  # arrival is the second value, so this is the stable order
        if unique:
            wanted = [record for i, record in enumerate(wanted) if i == 0 or record[0] != wanted[i - 1][0]]
        assert found == wanted

    @rule()
    def checkpoint(self) -> None:
        self.sorter.flush()
        self.kept = len(self.numbers), len(self.blobs), len(self.records)
        self.workdir.checkpoint(kept=list(self.kept))

    @rule()
    def kill(self) -> None:
        self.generation += 1
        left = self.folder / str(self.generation)
        shutil.copytree(self.workdir.path, left, ignore=shutil.ignore_patterns("neardup.lock"))
        self.workdir.remove()
        self._use(Workdir.reopen(left, IDENTITY))
        numbers, blobs, records = self.kept
        assert self.workdir.state.get("kept", [0, 0, 0]) == list(self.kept)
        del self.numbers[numbers:], self.blobs[blobs:], self.records[records:]
        assert (len(self.column), len(self.texts), len(self.sorter)) == self.kept

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.workdir.remove()
        shutil.rmtree(self.folder)


TestKilled = Killed.TestCase
TestKilled.settings = settings(max_examples=40, stateful_step_count=25)


@given(
    parts=st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), max_size=60), max_size=12),
    fan_in=st.integers(2, 5),
    run=st.integers(1, 40),
    block=st.integers(1, 20),
    unique=st.booleans(),
)
def test_a_merge_of_any_runs_in_blocks_of_any_size_is_the_stable_sort(parts, fan_in, run, block, unique):
    keys = np.array([key for part in parts for key in part], dtype=np.uint64)
    arrival = np.arange(keys.size, dtype=np.uint64)
    before = sorter_module.FAN_IN, sorter_module.BLOCK
    with tempfile.TemporaryDirectory() as folder:
        workdir = Workdir.create(Path(folder) / "w", IDENTITY)
        sorter = Sorter("s", payload=np.uint64, budget=1, workdir=workdir)
        sorter._capacity = run
        sorter_module.FAN_IN, sorter_module.BLOCK = fan_in, block
        try:
            at = 0
            for part in parts:
                sorter.add(keys[at : at + len(part)], arrival[at : at + len(part)])
                at += len(part)
            blocks = list(sorter.merged(17, unique))
        finally:
            sorter_module.FAN_IN, sorter_module.BLOCK = before
            workdir.remove()
    order = np.unique(keys, return_index=True)[1] if unique else np.argsort(keys, kind="stable")
    assert [row for _, data in blocks for row in data.tolist()] == arrival[order].tolist()
    assert [key for found, _ in blocks for key in found.tolist()] == keys[order].tolist()


@given(
    st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), max_size=8),
    st.lists(st.floats(0, 1e4), min_size=8, max_size=8),
)
def test_no_guess_of_what_is_to_come_changes_a_column_in_memory(parts, guesses):
    column = MemoryColumn(np.int64)
    for part, more in zip(parts, guesses, strict=False):
        column.append(np.array(part, dtype=np.int64), more)
    assert column.array.tolist() == [value for part in parts for value in part]


@given(st.lists(BLOBS, max_size=6), st.data())
def test_texts_in_memory_are_read_by_row_across_blocks(blocks, data):
    texts = MemoryTexts()
    for block in blocks:
        texts.append(Documents.from_bytes(block))
    blobs = [blob for block in blocks for blob in block]
    rows = sorted(data.draw(st.sets(st.integers(0, len(blobs) - 1)))) if blobs else []
    found = [d.blob(i) for d, local, _ in texts.parts(np.array(rows, dtype=np.int64)) for i in local]
    assert found == [blobs[row] for row in rows]
