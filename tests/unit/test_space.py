"""Budgets, refusals in time, the order of content, and places of rows: the small parts of working within a limit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import neardup
from neardup import tuning
from neardup.cli import main
from neardup.engine import space as space_module
from neardup.engine.observe import Silent
from neardup.engine.reading import collection as collection_module
from neardup.engine.reading.collection import Collection, Rows, content_order
from neardup.engine.reading.copies import find_copies
from neardup.engine.space import Budget, Space
from neardup.errors import InputError
from neardup.inputs.names import Provenance
from neardup.params import parse_memory
from neardup.stages.bands import KEY_BYTES, counts_of
from neardup.types import Batch, Documents, Fault

PLENTY = Budget(1 << 40, 1 << 40)


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("1.5 GiB", 3 << 29), ("500mb", 500 * 10**6), ("7", 7), ("64k", 64_000), (123, 123)],
)
def test_sizes_are_read(text: str | int, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1 2GB", "1XB", 0, -5, True, 1.5])
def test_what_is_no_size_is_refused(text: object) -> None:
    with pytest.raises(InputError, match="memory is"):
        parse_memory(text)  # type: ignore[arg-type]


def test_threads_are_fewer_where_memory_is_short_and_never_none() -> None:
    assert Budget(0, 100 << 20).threads(8) == 1
    assert Budget(0, 400 << 20).threads(8) == 4
    assert Budget(0, 64 << 30).threads(8) == 8


def test_what_does_not_fit_into_memory_is_told_with_the_limit_that_would_do() -> None:
    space = Space(Budget(1_000_000_000, 700_000_000), None, {})
    space.need_memory(600_000_000, "ten documents")
    with pytest.raises(InputError, match=r"ten documents need about 700 MB .* leaves 700 MB\. Raise .* to 1079MB\."):
        space.need_memory(700_000_000, "ten documents")


def test_a_disk_without_room_is_told_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(space_module, "free_bytes", lambda path: 5_000_000_000)
    space = Space(PLENTY, tmp_path / "work", {})
    space.need(4e9, "working on disk")
    with pytest.raises(InputError, match=r"working on disk needs about 6\.0 GB in .*work and 5\.0 GB are free"):
        space.need(6e9, "working on disk")
    assert not (tmp_path / "work").exists()


def collection_of(blobs: list[bytes], prints: list[tuple[int, int]]) -> Collection:
    """Texts with the hashes that a test wants them to have."""
    spec = tuning.make_spec(bands="1x2")
    collection = Collection.new(spec, Space(PLENTY, None, {}))
    n = len(blobs)
    hashes = np.array(prints, dtype=np.uint64).reshape(n, 2)
    counts = np.array([len(blob) for blob in blobs], dtype=np.int64)
    keys = np.zeros((spec.bands.bands, n, KEY_BYTES), dtype=np.uint8)
    bits = np.zeros((n, spec.screening.words), dtype=np.uint64)
    collection.append(Rows(Documents.from_bytes(blobs), counts, hashes, keys, bits, counts_of(keys)), None, 0.0)
    return collection


HASHES = st.sampled_from([0, 1, 2, 1 << 23, 1 << 24, (1 << 24) + 1, 1 << 40, (1 << 64) - 1])


@given(st.lists(st.tuples(st.integers(0, 3), HASHES, HASHES), min_size=1, max_size=40), st.randoms())
def test_the_order_of_content_is_by_length_then_hash_then_row(facts, chosen) -> None:
    collection = collection_of([b"x" * size for size, _, _ in facts], [(one, two) for _, one, two in facts])
    rows = [row for row in range(len(facts)) if chosen.random() < 0.8]
    expected = sorted(rows, key=lambda row: (-facts[row][0], facts[row][1], facts[row][2], row))
    assert content_order(collection, np.array(rows, dtype=np.int64)).tolist() == expected


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 3)), max_size=40))
def test_copies_are_rows_of_one_hash_and_stand_behind_the_first(facts) -> None:
    blobs = [b"" if empty else b"text %d %d" % (one, two) for empty, one, two in facts]
    copies = find_copies(collection_of(blobs, [(one, two) for _, one, two in facts]))
    groups: dict[tuple[int, int], list[int]] = {}
    for row, (empty, one, two) in enumerate(facts):
        if not empty:
            groups.setdefault((one, two), []).append(row)
    weight = [0] * len(facts)
    for members in groups.values():
        weight[members[0]] = len(members)
    assert copies.weight.tolist() == weight
    assert copies.empty == sum(empty for empty, _, _ in facts)
    firsts = np.array(sorted(members[0] for members in groups.values()), dtype=np.int64)
    starts, rows = copies.spread(firsts)
    spread = [rows[a:b].tolist() for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    assert spread == sorted(groups.values())
    assert all(copies.of(members[0]).tolist() == members for members in groups.values())


def batch(source: str, rows: list[int], ids: object = None) -> Batch:
    documents = Documents.from_bytes([b"text"] * len(rows))
    faults = (Fault(source, 99, "bad"),)
    return Batch(documents, source, np.array(rows, dtype=np.int64), ids, bad=1, faults=faults, blank=2)


def test_what_is_known_of_documents_is_the_same_in_memory_in_files_and_after_a_restart(tmp_path: Path) -> None:
    import pyarrow as pa

    batches = [
        batch("a", [1, 2, 3]),
        batch("a", [5, 9]),
        batch("b", [1, 2], pa.array(["x", "y"], pa.large_string())),
        batch("b", []),
        batch("b", [4], pa.array([7], pa.int64())),
        batch("c", [2, 3]),
    ]
    names = ["a:1", "a:2", "a:3", "a:5", "a:9", "x", "y", "7", "c:2", "c:3"]
    space = Space(PLENTY, tmp_path / "work", {"spec_id": "s"}, at_once=True)
    workdir = space.open()
    provenance = Provenance()
    for i, each in enumerate(batches):
        if i == 2:
            provenance.spill(workdir)
        provenance.enter(each)
    space.checkpoint(provenance=provenance.state())
    space.close(finished=False)
    again = Space(PLENTY, tmp_path / "work", {"spec_id": "s"}, resume=True)
    restored = Provenance()
    restored.restore(again.open(), again.state["provenance"])
    plain = Provenance()
    for each in batches:
        plain.enter(each)
    everything = np.arange(len(names))[::-1]
    for one in (restored, plain):
        assert one.ids.take(everything).to_pylist() == names[::-1]
        source, local = one.places.locate(everything)
        assert [one.places.sources[i] for i in source] == list("ccbbbaaaaa")
        assert local.tolist() == [3, 2, 4, 2, 1, 9, 5, 3, 2, 1]
        assert one.places.documents().tolist() == [5, 3, 2]
        assert [one.places.span(i) for i in range(3)] == [(0, 5), (5, 8), (8, 10)]
        assert (one.bad, one.blank, len(one.faults)) == (6, 12, 6)
        assert one.ids.count_duplicates() == (0, None)
    again.close(finished=True)
    assert not (tmp_path / "work").exists()


def test_documents_are_refused_when_too_many_were_read_with_the_limit_for_all_that_are_expected() -> None:
    space = Space(Budget(400_000_000, 100_000_000), None, {})
    space.need_documents(3_750_000, 10_000_000)  # 90 MB, and others may be fewer than was thought
    message = r"About 10000000 documents \(3750001 read so far\) need about 240 MB .* Raise .* to 568MB\."
    with pytest.raises(InputError, match=message):
        space.need_documents(3_750_001, 10_000_000)
    with pytest.raises(InputError, match=r"^5000000 documents need about 120 MB"):
        space.need_documents(5_000_000, 5_000_000)


class Told(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


@pytest.mark.parametrize(
    ("left", "told"),
    [(10.0, []), (1e5, ["give at least 541MB"]), (1e9, ["give at least", "pairs can be numbered for 2147483647"])],
)
def test_what_the_size_of_the_input_foretells_is_told_and_not_refused(left: float, told: list[str]) -> None:
    collection = collection_of([b"text"] * 90, [(row, row) for row in range(90)])
    observer = Told()
    space = Space(Budget(400_000_000, 100_000_000), None, {})
    collection_module._predict(collection, space, observer, left)
    assert len(observer.notes) == len(told)
    assert all(part in note for part, note in zip(told, observer.notes, strict=True))


def test_a_run_ends_when_it_has_met_more_documents_than_the_memory_has_room_for(tmp_path, monkeypatch) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps({"text": f"text number {row:05d}"}) + "\n" for row in range(1000)))
    monkeypatch.setattr(space_module, "DOCUMENT_BYTES", 8 << 20)
    with pytest.raises(InputError, match=r"\d+ documents need about \d+ MB of memory beside the program.* Raise"):
        neardup.find(path, memory="2GB", block=100)
    result = CliRunner().invoke(main, ["dedup", str(path), "-o", str(tmp_path / "clean.jsonl"), "--memory", "2GB"])
    assert result.exit_code == 1
    assert "documents need about" in result.stderr
    assert not (tmp_path / "clean.jsonl").exists()


FREED = """
import sys, threading
from pathlib import Path
import numpy as np
from neardup.engine.space import Budget, Space
from neardup.spool import resident_memory

space = Space(Budget(400_000_000, 140_000_000), Path(sys.argv[1]), {"spec_id": "x"}, at_once=True)
start = resident_memory()

def work(size, count):
    np.ones(30 << 17)  # after this the allocator would keep twice as much of what a thread frees
    held = [np.ones(size) for _ in range(count)]

for sizes in ((4 << 17, 12), (1 << 16, 90)):
    thread = threading.Thread(target=work, args=sizes)
    thread.start()
    thread.join()
print(resident_memory() - start)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator of the GNU library")
def test_memory_that_threads_freed_goes_back_to_the_system_beside_a_workdir(tmp_path: Path) -> None:
    """The kernel counts what the allocator keeps: a clean-up under 500 MB held over 100 MB of freed memory so."""
    command = [sys.executable, "-c", FREED, str(tmp_path / "work")]
    kept = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert kept < 90e6


def test_passing_work_gets_less_room_when_the_process_holds_nearly_all_of_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = Space(Budget(500_000_000, 200_000_000), None, {})
    rooms = []
    for held in (250_000_000, 480_000_000, 600_000_000):
        monkeypatch.setattr("neardup.engine.space.resident_memory", lambda held=held: held)
        rooms.append(space.room(0.25))
    assert rooms[0] == 50_000_000
    assert rooms[1] <= 10_000_000
    assert 0 < rooms[2] <= rooms[1]
