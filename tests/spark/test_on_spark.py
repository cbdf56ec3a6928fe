"""Clean-ups by Spark itself, with two workers: the same tables and files as those of one machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.spark.cleaning import as_jsonl, documents, on_cluster, on_one_machine, write_as

from neardup.errors import InputError


@pytest.mark.slow
def test_a_clean_up_by_spark_is_that_of_one_machine(tmp_path: Path, spark: Any) -> None:
    from neardup.spark.cluster import SparkCluster

    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(2):
        (folder / f"{i}.jsonl").write_bytes(as_jsonl(documents(21, 80)[i::2], seed=i))
    how: dict[str, Any] = {"keep": "max:worth", "on_bad": "skip", "show": 3, "protect": tmp_path / "held.parquet"}
    write_as("parquet", tmp_path / "held.parquet", documents(21, 12))
    one = on_one_machine(folder, tmp_path / "one", **how)
    assert on_cluster(folder, tmp_path / "two", cluster=SparkCluster(spark), split=6000, **how) == one
    assert {"protect", "max:worth"} <= set(one.removed["rule"].to_pylist())


@pytest.mark.slow
def test_what_goes_wrong_on_a_worker_is_told_as_on_one_machine(tmp_path: Path, spark: Any) -> None:
    from neardup.spark.cluster import SparkCluster

    path = tmp_path / "in.txt"
    write_as("lines", path, documents(21, 30))
    how: dict[str, Any] = {"input_format": "lines", "annotate": True}
    with pytest.raises(InputError, match="has no fields to add cluster, keeper and similarity to"):
        on_cluster(path, tmp_path / "out.txt", cluster=SparkCluster(spark), split=500, **how)
    assert not (tmp_path / "out.txt").exists()
    assert not list(tmp_path.glob(".*neardup-part"))
