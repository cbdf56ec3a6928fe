"""What clean copies are called, and that they appear together, or not at all, or can be finished."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neardup.errors import InputError, OutputError
from neardup.inputs.source import ReadOptions
from neardup.tasks.rewrite.copy_names import OutputSet, Target, plan_outputs
from neardup.tasks.rewrite.files import rewrite_file
from neardup.tasks.rewrite.model import Annotation, Rewrite
from neardup.tasks.rewrite.writer import CleanWriter

OPTIONS = ReadOptions()
NOTHING = np.empty(0, dtype=np.int64)
FIRST = np.array([1], dtype=np.int64)
LINES = b'{"text": "a"}\n{"text": "b"}\n'
CLEAN = b'{"text": "b"}\n'


def made(folder: Path, *names: str, content: bytes = LINES) -> list[tuple[str, str]]:
    """Files, and what an OutputSet takes for them."""
    sources = []
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        sources.append((str(path), format_of(str(path))))
    return sources


def format_of(path: str) -> str:
    return {".csv": "csv", ".txt": "text"}.get(Path(path).suffix, "jsonl")


def planned(sources: Sequence[tuple[str, str]], output: Path | str, **more: Any) -> OutputSet:
    return plan_outputs(sources, str(output), options=OPTIONS, **more)


def write_all(outputs: OutputSet, **how: Any) -> list[str]:
    """Write every target without its first document; return the sources that were rewritten."""
    rewrote = []
    with CleanWriter(outputs, token="run", **how) as writer:
        for target in outputs:
            if not writer.is_done(target):
                writer.rewrite(target, job(target, removed=FIRST))
                rewrote.append(os.path.basename(target.source))
    return rewrote


def job(target: Target, **how: Any) -> Rewrite:
    return Rewrite(target.source, format_of(target.source), OPTIONS, **how)


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_single_input_may_name_its_output(tmp_path: Path):
    write_all(planned(made(tmp_path, "a.jsonl"), tmp_path / "b.jsonl"))
    assert (tmp_path / "b.jsonl").read_bytes() == CLEAN
    write_all(planned(made(tmp_path, "a.data"), tmp_path / "b.ndjson"))
    assert (tmp_path / "b.ndjson").read_bytes() == CLEAN


@pytest.mark.parametrize("there", [True, False])
def test_a_single_input_into_a_folder_keeps_its_name(tmp_path: Path, there: bool):
    if there:
        (tmp_path / "out").mkdir()
    write_all(planned(made(tmp_path, "a.jsonl"), f"{tmp_path}/out{'' if there else '/'}"))
    assert names_in(tmp_path / "out") == ["a.jsonl"]


def test_several_inputs_keep_their_places_below_what_they_have_in_common(tmp_path: Path):
    sources = made(tmp_path, "in/x/a.jsonl", "in/y/a.jsonl", "in/y/z/b.jsonl")
    write_all(planned(sources, tmp_path / "out"))
    assert names_in(tmp_path / "out") == ["x/a.jsonl", "y/a.jsonl", "y/z/b.jsonl"]


def test_files_of_a_given_folder_keep_their_places_in_it(tmp_path: Path):
    sources = made(tmp_path, "in/x/a.jsonl")
    write_all(planned(sources, tmp_path / "out", base=str(tmp_path / "in")))
    assert names_in(tmp_path / "out") == ["x/a.jsonl"]


def test_outputs_that_cannot_be_are_refused_with_the_cure(tmp_path: Path):
    one, two = made(tmp_path, "a.jsonl", "b.jsonl")
    packed = made(tmp_path, "c.jsonl.gz")[0]
    with pytest.raises(InputError, match=r"is named as csv.* jsonl as the input is"):
        planned([one], tmp_path / "b.csv")
    with pytest.raises(InputError, match=r"would be gzip compressed where the input .* is not. End its name without"):
        planned([one], tmp_path / "b.jsonl.gz")
    with pytest.raises(InputError, match=r"would be not compressed where the input .* is gzip. End its name in .gz"):
        planned([packed], tmp_path / "b.jsonl")
    with pytest.raises(InputError, match="is a file, and 2 input files need a folder"):
        planned([one, two], tmp_path / "c.jsonl.gz")
    with pytest.raises(OutputError, match=r"there is no folder .*/gone\. Make the folder first"):
        planned([one], tmp_path / "gone" / "b.jsonl")
    with pytest.raises(OutputError, match=r"there is no folder .*/gone\. Make the folder first"):
        planned([one, two], tmp_path / "gone" / "out")
    with pytest.raises(InputError, match="there are no input files"):
        planned([], tmp_path / "out")
    with pytest.raises(InputError, match=r"standard input can be read only once.* Save it as a file first"):
        planned([("-", "jsonl")], "-")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "a.jsonl").mkdir()
    with pytest.raises(OutputError, match=r"a\.jsonl: Is a directory"):
        planned([one], tmp_path / "taken")
    assert names_in(tmp_path) == ["a.jsonl", "b.jsonl", "c.jsonl.gz"]


def test_no_input_is_written_over(tmp_path: Path):
    one, two = made(tmp_path, "in/a.jsonl", "in/b.jsonl")
    os.link(one[0], tmp_path / "hard.jsonl")
    (tmp_path / "soft.jsonl").symlink_to(one[0])
    for output in (tmp_path / "in" / "a.jsonl", tmp_path / "hard.jsonl", tmp_path / "soft.jsonl", tmp_path / "in"):
        with pytest.raises(InputError, match=r"is the input .*a\.jsonl. Give -o another place"):
            planned([one], output)
    with pytest.raises(InputError, match="is the input"):
        planned([one, two], tmp_path / "in")
    with pytest.raises(InputError, match=r"is the input .*b\.jsonl"):
        planned([one], two[0], inputs=[two[0]])


def test_copies_appear_only_together(tmp_path: Path):
    sources = made(tmp_path, "in/a.jsonl", "in/b/b.jsonl")
    (tmp_path / "in/b/b.jsonl").write_bytes(b"")
    with pytest.raises(InputError, match="was changed"):
        write_all(planned(sources, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_replaced_copy_keeps_its_rights_and_a_link_stays_a_link(tmp_path: Path):
    (tmp_path / "old.jsonl").write_bytes(b"old")
    (tmp_path / "old.jsonl").chmod(0o640)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "old.jsonl")
    write_all(planned(made(tmp_path, "a.jsonl"), tmp_path / "link.jsonl"))
    assert (tmp_path / "link.jsonl").is_symlink()
    assert (tmp_path / "old.jsonl").read_bytes() == CLEAN
    assert stat.S_IMODE((tmp_path / "old.jsonl").stat().st_mode) == 0o640


class Stopped(Exception):
    """A run that ends in the middle."""


def interrupt_after(outputs: OutputSet, count: int, done: dict[str, int], *, keep_parts: bool) -> None:
    writer = CleanWriter(outputs, token="run", keep_parts=keep_parts, on_file_done=done.__setitem__)
    with writer:
        for target in outputs.targets[:count]:
            writer.rewrite(target, job(target, removed=FIRST))
        raise Stopped


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path):
    sources = made(tmp_path, "in/a.jsonl", "in/b.jsonl", "in/c.jsonl")
    outputs = planned(sources, tmp_path / "out")
    done: dict[str, int] = {}
    with pytest.raises(Stopped):
        interrupt_after(outputs, 2, done, keep_parts=True)
    out = tmp_path / "out"
    assert done == {str(out / "a.jsonl"): len(CLEAN), str(out / "b.jsonl"): len(CLEAN)}
    assert names_in(out) == [".a.jsonl.run.neardup-part", ".b.jsonl.run.neardup-part"]
    (out / ".b.jsonl.run.neardup-part").write_bytes(b"cut")
    (out / ".c.jsonl.run.neardup-part").write_bytes(b"written when the run was killed, and not whole")
    assert write_all(planned(sources, out), done=done) == ["b.jsonl", "c.jsonl"]
    assert names_in(out) == ["a.jsonl", "b.jsonl", "c.jsonl"]
    assert {path.read_bytes() for path in out.iterdir()} == {CLEAN}


def test_a_run_killed_while_names_were_given_out_is_finished(tmp_path: Path):
    sources = made(tmp_path, "in/a.jsonl", "in/b.jsonl")
    outputs = planned(sources, tmp_path / "out")
    done: dict[str, int] = {}
    with pytest.raises(Stopped):
        interrupt_after(outputs, 2, done, keep_parts=True)
    out = tmp_path / "out"
    (out / ".a.jsonl.run.neardup-part").rename(out / "a.jsonl")
    assert write_all(planned(sources, out), done=done) == ["a.jsonl"]
    assert [(name, (out / name).read_bytes()) for name in names_in(out)] == [("a.jsonl", CLEAN), ("b.jsonl", CLEAN)]


def test_without_a_workdir_nothing_is_left_of_an_interrupted_run(tmp_path: Path):
    outputs = planned(made(tmp_path, "in/a.jsonl", "in/b.jsonl"), tmp_path / "out" / "")
    with pytest.raises(Stopped):
        interrupt_after(outputs, 1, {}, keep_parts=False)
    assert not (tmp_path / "out").exists()


class Full(io.RawIOBase):
    """A disk with room for some bytes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self.room -= size
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return size


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst", "x.csv", "x.parquet", "x.arrow"])
def test_a_full_disk_is_what_the_system_says_in_every_format(tmp_path: Path, name: str):
    path = tmp_path / name
    rng = np.random.default_rng(5)
    texts = [rng.bytes(200).hex() for _ in range(2000)]
    table = pa.table({"text": texts})
    if ".jsonl" in name:
        plain = "".join(f'{{"text": "{text}"}}\n' for text in texts).encode()
        path.write_bytes(plain)
        if name != "x.jsonl":
            with pa.CompressedOutputStream(str(path), "gzip" if name.endswith("gz") else "zstd") as packed:
                packed.write(plain)
    elif name == "x.csv":
        path.write_text("text\n" + "\n".join(texts))
    elif name == "x.parquet":
        pq.write_table(table, path, row_group_size=100)
    else:
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    format = name.split(".")[1]
    with pytest.raises(OSError, match="No space left on device"):
        rewrite_file(Rewrite(str(path), format, OPTIONS, removed=np.array([5])), Full(50_000))  # type: ignore[arg-type]


def test_a_full_disk_is_told_with_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sources = made(tmp_path, "in/a.jsonl", "in/b.jsonl")
    fsync = os.fsync
    calls = []

    def second_fails(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", second_fails)
    done: dict[str, int] = {}
    with pytest.raises(OutputError, match=r"b\.jsonl: No space left.* --resume; 1 of 2 files are finished and kept"):
        write_all(planned(sources, tmp_path / "out"), keep_parts=True, on_file_done=done.__setitem__)
    assert names_in(tmp_path / "out") == [".a.jsonl.run.neardup-part"]
    assert write_all(planned(sources, tmp_path / "out"), done=done) == ["b.jsonl"]
    calls.clear()
    with pytest.raises(OutputError, match=r"b\.jsonl: No space left on device. Free some space or give a file"):
        write_all(planned(sources, tmp_path / "other"))
    assert not (tmp_path / "other").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_device_is_told(tmp_path: Path):
    with pytest.raises(OutputError, match="cannot write /dev/full: No space left on device"):
        write_all(planned(made(tmp_path, "a.jsonl", content=LINES * 100_000), "/dev/full"))
    with pytest.raises(OutputError, match="cannot write /dev/full: No space left on device"):
        write_all(planned(made(tmp_path, "b.jsonl"), "/dev/full"))


def test_texts_are_copied_with_rights_and_times(tmp_path: Path):
    sources = made(tmp_path, "in/x/a.txt", "in/b.txt", "in/y/gone.txt", content=b"text\r\n")
    os.utime(sources[0][0], ns=(10**18, 10**18 + 7))
    os.chmod(sources[0][0], 0o604)
    outputs = planned(sources, tmp_path / "out", base=str(tmp_path / "in"))
    with CleanWriter(outputs, token="run") as writer:
        for target in outputs.targets[:2]:
            writer.copy(target)
    assert names_in(tmp_path / "out") == ["b.txt", "x/a.txt"]
    facts = (tmp_path / "out/x/a.txt").stat()
    assert (facts.st_mtime_ns, stat.S_IMODE(facts.st_mode)) == (10**18 + 7, 0o604)
    assert (tmp_path / "out/x/a.txt").read_bytes() == b"text\r\n"


class Stdout:
    def __init__(self) -> None:
        self.buffer = io.BytesIO()

    def flush(self) -> None:
        """Nothing is held back."""


def streamed(
    sources: Sequence[tuple[str, str]], monkeypatch: pytest.MonkeyPatch, annotation: Annotation | None = None
) -> bytes:
    stdout = Stdout()
    monkeypatch.setattr(sys, "stdout", stdout)
    outputs = planned(sources, "-")
    with CleanWriter(outputs, token="run") as writer:
        for target in outputs:
            assert target == Target(sources[outputs.targets.index(target)][0], None)
            if format_of(target.source) == "text":
                writer.copy(target)
            elif annotation is not None:
                writer.rewrite(target, job(target, annotation=annotation))
            else:
                writer.rewrite(target, job(target))
    monkeypatch.undo()
    return stdout.buffer.getvalue()


def test_lines_of_several_files_make_one_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sources = made(tmp_path, "a.jsonl", "b.jsonl", "c.jsonl")
    Path(sources[0][0]).write_bytes(b'\xef\xbb\xbf{"text": "a"}')
    Path(sources[1][0]).write_bytes(b'\xef\xbb\xbf{"text": "b"}\n')
    with pa.CompressedOutputStream(str(tmp_path / "d.jsonl.zst"), "zstd") as packed:
        packed.write(LINES)
    out = streamed([*sources, (str(tmp_path / "d.jsonl.zst"), "jsonl")], monkeypatch)
    assert out == b'\xef\xbb\xbf{"text": "a"}\n{"text": "b"}\n' + LINES + LINES


def test_tables_of_one_header_make_one_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sources = made(tmp_path, "a.csv", "b.csv", "c.csv", "d.csv")
    contents = [b"\n", b"id,text\r\n1,a", b'\n"id","text"\n2,b\n', b"id,text\n"]
    for (path, _), content in zip(sources, contents, strict=True):
        Path(path).write_bytes(content)
    assert streamed(sources, monkeypatch) == b"id,text\r\n1,a\n2,b\n"
    row = np.array([2], dtype=np.int64)
    two = made(tmp_path, "x.csv", "y.csv", content=b"id,text\n1,a\n")
    note = Annotation(row, row, pa.array([1]), np.array([1.0]))
    assert streamed(two, monkeypatch, note) == b"id,text,cluster,keeper,similarity\n1,a,2,1,1.0\n1,a,2,1,1.0\n"


def test_what_cannot_follow_each_other_is_no_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sources = made(tmp_path, "a.jsonl", "b.csv", "c.txt", "d.txt", content=b"id,text\n1,a\n")
    with pytest.raises(InputError, match=r"2 inputs of format csv and jsonl cannot be one stream.* Give -o a folder"):
        planned(sources[:2], "-")
    with pytest.raises(InputError, match="2 inputs of format text cannot be one stream"):
        planned(sources[2:], "-")
    for content in (b"id;text\n1;a\n", b"id,text,more\n1,a,b\n", b"1,a\n"):
        (tmp_path / "e.csv").write_bytes(content)
        with pytest.raises(InputError, match=r"e\.csv has another header, delimiter or number of fields than .*b\.csv"):
            planned([sources[1], (str(tmp_path / "e.csv"), "csv")], "-")
    assert streamed([sources[2]], monkeypatch) == b"id,text\n1,a\n"
    (tmp_path / "z.txt.gz").write_bytes(gzip.compress(b"text"))
    assert streamed([(str(tmp_path / "z.txt.gz"), "text")], monkeypatch) == b"text"
    with pytest.raises(InputError, match="would be not compressed"):
        planned([(str(tmp_path / "z.txt.gz"), "text")], tmp_path / "z.txt")
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "x.parquet")
    out = streamed([(str(tmp_path / "x.parquet"), "parquet")], monkeypatch)
    assert out == (tmp_path / "x.parquet").read_bytes()


def test_a_device_is_written_in_place(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        write_all(planned(made(tmp_path, "a.jsonl"), pipe))
        assert reader.stdout is not None
        assert reader.stdout.read() == CLEAN
    assert stat.S_ISFIFO(pipe.stat().st_mode)
