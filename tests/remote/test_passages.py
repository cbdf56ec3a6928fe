"""Passages are cut out of objects as out of files: read at addresses, written at addresses, all or none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.remote.conftest import Bucket

import neardup
from neardup.cli import main
from neardup.tasks.repeats.decided import DecidedCuts

NOTICE = "All rights are reserved by us, everywhere and for all times."
CUT = ("--min-bytes", "40", "--snap", "sentence", "--min-left", "5", "--threads", "1", "-q")


def passages(*words: str) -> Result:
    return CliRunner().invoke(main, ["passages", *words, "--cut", "first", *CUT], prog_name="neardup")


def some(name: str) -> bytes:
    rows = [{"id": f"{name}{i}", "text": f"The story is {name}{i}. {NOTICE}"} for i in range(3)]
    return "".join(json.dumps(row) + "\n" for row in [*rows, {"id": f"{name}x", "text": NOTICE}]).encode()


def test_copies_and_tables_of_objects_are_those_of_files(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("raw", "here"):
        Path(folder).mkdir()
    for name in "ab":
        Path("raw", f"{name}.jsonl").write_bytes(some(name))
        Path("raw", f"{name}.txt").write_text(f"A file {name}. {NOTICE}")
    address, there = bucket.put_folder(Path("raw"), "raw"), f"s3://{bucket.name}/out"
    for source, out in (("raw", "here"), (address, there)):
        done = passages(source, "-o", f"{out}/clean/", "--spans", f"{out}/spans.jsonl", "--cuts", f"{out}/cuts.csv")
        assert done.exit_code == 0, done.output
    wanted = {path.relative_to("here").as_posix(): path.read_bytes() for path in Path("here").rglob("*.*")}
    found = {key.removeprefix("out/"): data for key, data in bucket.objects().items() if key.startswith("out/")}
    assert sorted(found) == sorted(wanted)
    assert len([name for name in wanted if name.startswith("clean/")]) == 4
    assert len(found["clean/b.jsonl"].splitlines()) == 3
    for name, data in found.items():
        assert data.replace(address.encode(), b"raw") == wanted[name], name


def test_an_object_is_cut_into_a_file_and_a_file_into_an_object(bucket: Bucket, tmp_path: Path) -> None:
    address = bucket.put("in.jsonl", some("a"))
    assert passages(address, "-o", str(tmp_path / "here.jsonl")).exit_code == 0
    (tmp_path / "in.jsonl").write_bytes(some("a"))
    assert passages(str(tmp_path / "in.jsonl"), "-o", f"s3://{bucket.name}/there.jsonl").exit_code == 0
    assert bucket.objects()["there.jsonl"] == (tmp_path / "here.jsonl").read_bytes()
    rows = [json.loads(line) for line in bucket.objects()["there.jsonl"].splitlines()]
    assert [row["text"] for row in rows] == [f"The story is a0. {NOTICE}", "The story is a1.", "The story is a2."]


def test_an_object_that_changed_is_refused_and_nothing_is_written(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = bucket.put("in.jsonl", some("a"))
    documents_of = DecidedCuts.documents_of

    def change(self: DecidedCuts, source: str) -> object:
        bucket.put("in.jsonl", some("a").replace(b"The story", b"Changed is"))
        return documents_of(self, source)

    monkeypatch.setattr(DecidedCuts, "documents_of", change)
    done = passages(address, "-o", f"s3://{bucket.name}/out.jsonl")
    assert done.exit_code == 1
    assert "was changed since it was read" in " ".join(done.stderr.split())
    assert list(bucket.objects()) == ["in.jsonl"]


def test_dedup_cuts_passages_of_objects_too(bucket: Bucket) -> None:
    twice = some("a") + some("a").replace(b'"a', b'"again ')
    address = bucket.put("in.jsonl", twice)
    out = f"s3://{bucket.name}/out.jsonl"
    done = neardup.dedup(address, output=out, passages="first", min_bytes=40, snap="sentence", min_left=5)
    assert done.data == [out]
    assert done.removed.num_rows >= 4
    rows = [json.loads(line) for line in bucket.objects()["out.jsonl"].splitlines()]
    assert sum(NOTICE in row["text"] for row in rows) == 1
