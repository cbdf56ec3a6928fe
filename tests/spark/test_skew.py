"""Collections that are lopsided: what is far larger than the rest is shared out, or told of, and changes no answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.cleaning import documents, on_cluster, on_one_machine
from tests.spark.conftest import MEMORY, Find, assert_equal
from tests.spark.inprocess import InProcess
from tests.spark.test_search import collection, write

from neardup import tuning
from neardup.engine.observe import Silent
from neardup.errors import InputError
from neardup.inputs.reader import open_inputs
from neardup.params import RunOptions, SearchOptions
from neardup.spark.run import ClusterRun
from neardup.spark.storage import Storage

SMALL_WORKER = 360 << 20
"""A worker with this has 110 MiB for data, of which one record may have a tenth."""


class Noting(Silent):
    """Keeps what a user is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def long_text(size: int, seed: int) -> str:
    """Words, about so many bytes."""
    rng = np.random.default_rng(seed)
    return " ".join(map(str, rng.integers(0, 1 << 40, size // 12).tolist()))


def test_documents_that_no_worker_can_compare_are_named_with_the_setting(tmp_path: Path, find_both: Find) -> None:
    text = long_text(1_800_000, seed=1)
    records = [{"id": "short", "text": "a short one"}, {"id": "long", "text": text}]
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in [*records, {"id": "longer", "text": f"{text} end"}]))
    one, other = find_both(path)
    assert_equal(one, other)
    assert len(one.pairs) == 1
    with pytest.raises(
        InputError, match=r"the documents long and longer are too long .*377 MB for each task of a work"
    ) as e:
        find_both(path, worker_memory=SMALL_WORKER)
    assert "Raise spark.executor.pyspark.memory" in str(e.value)


def test_a_record_that_is_too_large_for_a_worker_is_a_bad_one(tmp_path: Path, find_both: Find) -> None:
    path = tmp_path / "in.jsonl"
    texts = ["a short one", "x" * 12_500_000, "another"]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with pytest.raises(InputError, match=r"in.jsonl:2: .*Raise spark\.executor\.pyspark\.memory .* to 38\dMB"):
        find_both(path, worker_memory=SMALL_WORKER)
    one, other = find_both(path, worker_memory=SMALL_WORKER, on_bad="skip")
    assert (one.summary.documents, other.summary.documents) == (3, 2)
    assert other.summary.bad == 1


def test_row_groups_end_where_those_of_one_machine_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neardup.tasks.dedup.run.GROUP_BYTES", 3_000)
    table = pa.Table.from_pylist(documents(5, 400))
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=200)
    with monkeypatch.context() as few:
        few.setattr("neardup.tasks.rewrite.parquet._BATCH_ROWS", 16)
        one = on_one_machine(tmp_path / "in.parquet", tmp_path / "one.parquet")
        assert on_cluster(tmp_path / "in.parquet", tmp_path / "two.parquet") == one
    assert pq.ParquetFile(tmp_path / "one.parquet").num_row_groups > 2


def frame_of(folder: Path, texts: list[str | None]) -> list[Path]:
    """Files as Spark writes a frame of three partitions."""
    files = []
    for i, part in enumerate(np.array_split(np.arange(len(texts)), 3)):
        table = pa.table({"key": [f"k{at}" for at in part], "text": pa.array([texts[at] for at in part], pa.string())})
        files.append(folder / f"part-{i:05d}-0.c000.parquet")
        pq.write_table(table, files[-1], row_group_size=2)
    return files


@pytest.mark.parametrize("split_bytes", [1, 1 << 20])
def test_bad_records_of_a_frame_are_named_by_its_rows_and_ids(tmp_path: Path, split_bytes: int) -> None:
    texts: list[str | None] = [f"text number {i}" for i in range(21)]
    texts[9] = texts[18] = None
    files = frame_of(tmp_path, texts)
    spec = tuning.make_spec(SearchOptions(threshold=0.5))

    def run(on_bad: str, name: str) -> Any:
        reader = open_inputs(files, on_bad=on_bad, id="key")
        how: dict[str, Any] = {"cluster": InProcess(), "worker_memory": MEMORY, "split_bytes": split_bytes}
        storage = Storage(str(tmp_path / name))
        with ClusterRun(reader, spec, RunOptions(threads=1), storage=storage, frames=(3,), **how) as found:
            return found.find("star").result()

    faults = run("skip", "skip").faults
    assert [(fault.source, fault.row) for fault in faults] == [("input", 10), ("input", 19)]
    assert [fault.reason.endswith(f"; its id is 'k{row}'") for fault, row in zip(faults, (9, 18), strict=True)]
    with pytest.raises(InputError, match=r"^row 10 of the frame: .*; its id is 'k9'\. ") as raised:
        run("fail", "fail")
    assert "part-" not in str(raised.value)


def test_a_file_that_cannot_be_cut_is_named(tmp_path: Path) -> None:
    texts = collection(3, [4, 9])
    write(tmp_path / "in", texts)
    (tmp_path / "in" / "large.jsonl.gz").write_bytes(
        gzip.compress(b"".join(json.dumps({"text": long_text(300, i)}).encode() + b"\n" for i in range(200)))
    )
    (tmp_path / "in" / "plain.jsonl").write_text(
        "".join(json.dumps({"text": long_text(300, i)}) + "\n" for i in range(200))
    )
    observer = Noting()
    reader = open_inputs(tmp_path / "in")
    how: dict[str, Any] = {"cluster": InProcess(), "worker_memory": MEMORY, "split_bytes": 9000, "observer": observer}
    spec = tuning.make_spec(SearchOptions())
    with ClusterRun(reader, spec, RunOptions(threads=1), storage=Storage(str(tmp_path / "work")), **how) as run:
        run.find("star").result()
    (note,) = (note for note in observer.notes if "cannot be cut" in note)
    assert "large.jsonl.gz (" in note
    assert "compressed" in note
    assert "plain.jsonl" not in note


@pytest.mark.parametrize("how", [{}, {"annotate": True}, {"keep": "none"}])
def test_a_parquet_file_is_rewritten_in_pieces_to_the_bytes_of_one_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    monkeypatch.setattr("neardup.spark.parts.JOIN_BYTES", 1024)
    table = pa.Table.from_pylist(documents(7, 300)).append_column("more", pa.array([i / 7 for i in range(300)]))
    table = table.append_column("tags", pa.array([["a", "b"][: i % 3] for i in range(300)]))
    pq.write_table(table.replace_schema_metadata({"of": "a test"}), tmp_path / "in.parquet", row_group_size=20)
    cluster = InProcess(backwards=True, twice=True)
    one = on_one_machine(tmp_path / "in.parquet", tmp_path / "one.parquet", **how)
    assert on_cluster(tmp_path / "in.parquet", tmp_path / "two.parquet", cluster=cluster, **how) == one
    assert "join" in cluster.stages
    found = pq.ParquetFile(tmp_path / "two.parquet")
    assert found.num_row_groups > 3
    assert found.read().equals(pq.read_table(tmp_path / "one.parquet"))


class Watching(InProcess):
    """Looks into the storage when the texts of hot buckets are asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(twice=True)
        self.folder = folder
        self.behind: list[str] = []

    def map(self, name: str, tasks: Any, work: Any) -> Any:
        if name == "crowd texts":
            self.behind = [path.name for path in self.folder.glob("work-*/**/hot-keys/*")]
        return super().map(name, tasks, work)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("crowd", [20, 300])
def test_documents_of_a_key_that_is_hot_where_they_were_read_stay_there(
    tmp_path: Path, find_both: Find, crowd: int
) -> None:
    path = write(tmp_path / "in", collection(9, [400, 120, 30, 2]), files=4)
    cluster = Watching(tmp_path)
    one, other = find_both(path, threshold=0.5, crowd=crowd, cluster=cluster)
    assert_equal(one, other)
    assert len(one.crowds)
    assert bool(cluster.behind) == (crowd == 20)  # 300 documents of a family are in several splits


def test_copies_of_one_text_weigh_a_few_bytes_each_in_the_partition_of_their_print(
    tmp_path: Path, find_both: Find
) -> None:
    texts = ["one text that comes again and again"] * 4_000 + collection(2, [3, 5])
    cluster = InProcess()
    one, other = find_both(
        write(tmp_path / "in", texts, ids="none"), threshold=0.6, cluster=cluster, split_bytes=60_000
    )
    assert_equal(one, other)
    assert one.summary.exact_copies >= 3_999
    blobs = 6 * 2  # one for each split and partition, with names, types and checksums
    assert cluster.sent["prints"] < 4 * len(texts) + 600 * blobs + 24 * 100
