"""Copies at addresses that the workers of a cluster write: the same bytes, whole or not at all, nothing left beside."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from tests.remote.conftest import Bucket
from tests.spark.cleaning import HOW, as_jsonl, documents, write_as
from tests.spark.inprocess import InProcess

import neardup
from neardup import tuning
from neardup.errors import OutputError
from neardup.outputs import parts
from neardup.outputs.atomic import AtomicFiles
from neardup.params import InputOptions, Keep, RunOptions, SearchOptions
from neardup.spark import rewriting
from neardup.spark.run import ClusterRun
from neardup.spark.storage import Storage
from neardup.tasks.dedup.policy import Policy, open_protected
from neardup.tasks.dedup.run import clean


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that are cut, files that are not, and files that are one document each."""
    into = tmp_path / "in"
    (into / "texts").mkdir(parents=True)
    records = documents(31, 90)
    (into / "a.jsonl").write_bytes(as_jsonl(records[:40], seed=1))
    write_as("parquet", into / "b.parquet", records[40:60])
    write_as("csv", into / "c.csv", records[60:])
    for number, record in enumerate(records[:9]):
        (into / "texts" / f"{number}.txt").write_text(record["text"])
    return into


def clean_by_workers(inputs: Path, output: str, work: str, *, cluster: InProcess) -> None:
    spec = tuning.make_spec(SearchOptions(threshold=HOW["threshold"], shingle=HOW["shingle"]))
    reader, _ = open_protected(inputs, None, InputOptions(on_bad="skip"), item=False)
    how: dict[str, Any] = {"cluster": cluster, "storage": Storage(work), "worker_memory": 600 << 20}
    with ClusterRun(reader, spec, RunOptions(threads=1), split_bytes=1500, **how) as run, AtomicFiles() as files:
        clean(run, Policy(Keep.parse("longest"))).write(output, files)


def objects_of(bucket: Bucket) -> dict[str, bytes]:
    """What is seen, but for the folder of the work."""
    found = bucket.objects().items()
    return {key.removeprefix("out/"): data for key, data in found if not key.startswith("work")}


@pytest.mark.parametrize(("is_work_there", "most_copied"), [(False, 0), (True, parts.MOST_COPIED), (True, 10)])
def test_what_workers_write_to_a_store_is_what_files_get(
    folder: Path, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_work_there: bool, most_copied: int
) -> None:
    monkeypatch.setattr(parts, "MOST_COPIED", most_copied)
    neardup.dedup(folder, output=tmp_path / "one", keep="longest", on_bad="skip", **HOW)
    cluster = InProcess(backwards=True, twice=True)
    work = f"s3://{bucket.name}/work" if is_work_there else str(tmp_path / "work")
    clean_by_workers(folder, f"s3://{bucket.name}/out/", work, cluster=cluster)
    assert {"write", "join"} <= set(cluster.stages)
    here = {path.relative_to(tmp_path / "one").as_posix(): path for path in (tmp_path / "one").rglob("*.*")}
    assert objects_of(bucket) == {name: path.read_bytes() for name, path in here.items()}
    assert len(here) >= 5


def test_a_task_that_ends_in_the_middle_of_a_copy_leaves_nothing(
    folder: Path, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = rewriting.rewrite_file

    def half(job: Any, out: Any, **how: Any) -> int:
        if job.path.endswith("b.parquet"):
            out.write(b"half of it")
            raise OSError(28, "No space left on device")
        return whole(job, out, **how)

    bucket.put("out/a.jsonl", b"what was there before")
    work = f"s3://{bucket.name}/work"
    with monkeypatch.context() as broken:
        broken.setattr(rewriting, "rewrite_file", half)
        with pytest.raises((OutputError, OSError)):
            clean_by_workers(folder, f"s3://{bucket.name}/out/", work, cluster=InProcess())
    gc.collect()
    assert objects_of(bucket) == {"a.jsonl": b"what was there before"}
