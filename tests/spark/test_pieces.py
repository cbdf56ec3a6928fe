"""Texts of a split that are asked for again: few of a plain file by themselves, others by reading the split through."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neardup import tuning
from neardup.errors import InputChanged, InputError
from neardup.inputs.splits import plan_splits
from neardup.params import InputOptions, SearchOptions
from neardup.session import Budget, limit_records
from neardup.spark import pieces, reading
from neardup.spark.pieces import Job
from neardup.spark.storage import Storage
from neardup.spark.texts import bring, brought_texts, collected
from neardup.tasks.find import open_across

TEXTS = [f"text {i} \\ \u00e9 " + "x" * (i % 37) for i in range(400)]


def job_of(path: Path, work: Path) -> Job:
    """The job of a search whose splits were read."""
    reader = open_across(path, None, InputOptions(), item=False)
    limit_records(reader, Budget.of(None), 1)
    (work / "run").mkdir(parents=True)
    splits = plan_splits(reader, 6000)
    spec = tuning.make_spec(SearchOptions())
    job = Job(Storage(str(work / "run")), tuple(reader.parts), tuple(splits), 10**9, spec=spec)
    counts = [reading.read(job, split)["documents"] for split in range(len(splits))]
    return replace(job, bases=np.cumsum([0, *counts]))


def written(path: Path) -> Path:
    lines = [json.dumps({"id": i, "n": {"text": "no"}, "text": text}) for i, text in enumerate(TEXTS)]
    lines.insert(7, "")
    data = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def asked(job: Job, split: int, wanted: list[int]) -> list[str]:
    found: list[str] = []
    for documents, some in job.texts_of(split, np.array(wanted, dtype=np.int64)):
        assert len(documents) == some.stop - some.start
        found += [documents.blob(i).decode() for i in range(len(documents))]
    return found


@pytest.mark.parametrize("piece", [1, 300, 1 << 20])
def test_few_texts_of_a_split_are_read_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    job = job_of(written(tmp_path / "in.jsonl"), tmp_path)
    assert len(job.splits) > 3
    monkeypatch.setattr(pieces, "read_split", lambda *_: pytest.fail("the split was read through"))
    monkeypatch.setattr(pieces, "PIECE_BYTES", piece)
    for split in range(len(job.splits)):
        first, n = int(job.bases[split]), int(job.bases[split + 1] - job.bases[split])
        wanted = [0, n // 2, n // 2 + 1, n - 1]
        assert asked(job, split, wanted) == [TEXTS[first + place] for place in wanted]
        assert asked(job, split, []) == []


@pytest.mark.parametrize("name", ["in.jsonl", "in.jsonl.gz"])
def test_many_texts_and_those_of_packed_files_come_by_reading_through(tmp_path: Path, name: str) -> None:
    job = job_of(written(tmp_path / name), tmp_path)
    for split in range(len(job.splits)):
        first, n = int(job.bases[split]), int(job.bases[split + 1] - job.bases[split])
        for wanted in ([*range(n)], [1, n - 1], [*range(0, n, 2)]):
            assert asked(job, split, wanted) == [TEXTS[first + place] for place in wanted]


@pytest.mark.parametrize("change", ["same size", "no record", "cut short", "removed"])
def test_a_text_that_was_changed_in_between_is_noticed(tmp_path: Path, change: str) -> None:
    path = written(tmp_path / "in.jsonl")
    job = job_of(path, tmp_path)
    data = path.read_bytes()
    changes: dict[str, Any] = {
        "same size": data.replace(b"text 0 ", b"text 1 "),
        "no record": data.replace(b'{"id": 0', b'["id": 0'),
        "cut short": data[:20],
    }
    if change == "removed":
        path.unlink()
    else:
        path.write_bytes(changes[change])
    job.storage.put("some-wanted/000000", places=np.array([0, 1]))
    with pytest.raises(InputError if change == "removed" else InputChanged, match=r"in\.jsonl"):
        read_again(job)


def read_again(job: Job) -> None:
    bring(job, 0, "some")
    with collected(job, brought_texts(job, "some", [0]), is_sketched=False):
        pass
