"""The limit of one record in whole runs: where it comes from, that all readers get it, and that memory is kept to."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.reading import zstd

import neardup
from neardup.engine import space
from neardup.engine.space import Budget
from neardup.engine.threads import in_order
from neardup.errors import InputError
from neardup.index.stream.lines import LineReader, chunks
from neardup.inputs.reader import Reader, open_inputs
from neardup.inputs.source import BATCH_BYTES, ReadOptions, RecordLimit
from neardup.params import RunOptions
from neardup.session import Run
from neardup.tuning import make_spec
from neardup.types import Alone, NeedsRoom

MB = 1 << 20


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One record may have a ten-thousandth of the memory."""
    monkeypatch.setattr(space, "RECORD_SHARE", 1e-5)
    monkeypatch.setattr(space, "resident_memory", lambda: 300 * MB)  # not what the tests before have left


def collection(path: Path, large: int = 100_000) -> Path:
    texts = ["the quick brown fox jumps over the dog", "x" * large, "the quick brown fox jumps over the dog", "another"]
    path.write_text("".join(json.dumps({"id": f"n{i}", "text": text}) + "\n" for i, text in enumerate(texts)))
    return path


@pytest.mark.usefixtures("small")
def test_a_run_sets_the_limit_and_its_result_names_it(tmp_path: Path) -> None:
    path = collection(tmp_path / "x.jsonl")
    found = neardup.find(path, memory="600MB", on_bad="skip")
    assert (found.summary.documents, found.summary.bad) == (3, 1)
    assert found.pairs.to_pylist()[0]["id_b"] == "n2"
    fault = found.faults[0]
    assert (fault.source, fault.row) == (str(path), 2)
    assert "and a memory limit of 600.0 MB allows" in fault.reason
    with pytest.raises(InputError, match=r":2: the line has .* Raise --memory \(memory=\) to \d+MB\. Or leave out"):
        neardup.find(path, memory="600MB")


@pytest.mark.usefixtures("small")
def test_dedup_keeps_what_is_too_large_and_cuts_the_right_rows(tmp_path: Path) -> None:
    path = collection(tmp_path / "x.jsonl")
    out = tmp_path / "clean.jsonl"
    neardup.dedup(path, output=out, memory="600MB", on_bad="skip")
    lines = path.read_text().splitlines()
    assert out.read_text().splitlines() == [lines[0], lines[1], lines[3]]


@pytest.mark.usefixtures("small")
def test_the_collection_that_is_held_against_another_goes_by_the_same_limit(tmp_path: Path) -> None:
    one, two = collection(tmp_path / "one.jsonl", 10), collection(tmp_path / "two.jsonl")
    with pytest.raises(InputError, match=r"two\.jsonl:2: the line has"):
        neardup.find(one, against=two, memory="600MB")


def test_the_cure_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(space, "resident_memory", lambda: 300 * MB)
    budget = Budget.of(500_000_000)
    limit = RecordLimit()
    limit.set(budget.record, memory=budget.limit, growth=1 / space.RECORD_SHARE, together=1)
    for size in (budget.record + 1, 3 * budget.record, 5_000_000_000):
        _, cure = limit.refusal("the line", size)
        wanted = int(cure.split(" to ")[1].removesuffix("MB."))
        raised = Budget.of(wanted * 1_000_000)
        assert size <= raised.record <= 1.05 * size + MB
        _, cure = limit.refusal("the file", size, most=limit.whole)
        raised = Budget.of(int(cure.split(" to ")[1].removesuffix("MB.")) * 1_000_000)
        assert size <= 3 * raised.record + 3


def test_a_reader_without_a_run_goes_by_what_is_free(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("neardup.inputs.source.available_memory", lambda: 100 * BATCH_BYTES)
    path = tmp_path / "x.txt"
    for size in (5 * BATCH_BYTES, 5 * BATCH_BYTES + 1):
        path.write_bytes(b"x" * size)
        batches = [task() for source in open_inputs(path, on_bad="skip").parts for task in source.tasks()]
        assert sum(batch.bad for batch in batches) == (size > 5 * BATCH_BYTES)
    with pytest.raises(InputError, match="the memory that is free allows"):
        [task() for task in open_inputs(path).tasks()]


def test_an_index_refuses_what_it_cannot_hold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("neardup.inputs.source.available_memory", lambda: 0)
    path = collection(tmp_path / "x.jsonl", 5_000_000)
    index = neardup.Index.create()
    with pytest.raises(InputError, match=r"x\.jsonl:2: the line has 5\.0 MB"):
        index.add(path)
    added = neardup.Index.create().add(path, on_bad="skip")
    assert (added.added, added.bad) == (3, 1)
    with neardup.Index.build(tmp_path / "built", path, on_bad="skip") as built:
        assert (len(built), built.built.bad if built.built else None) == (3, 1)


# a stream that is let through


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
@pytest.mark.parametrize("on_bad", ["skip", "fail"])
def test_a_stream_passes_over_a_line_that_is_too_long(tmp_path: Path, pack: Any, on_bad: str) -> None:
    lines = [b"one", b"x" * 12_000_000, b"three", b"", b"y" * 30_000_000, b"six", b"z" * 9_000_000]
    path = tmp_path / ("x.txt" + {bytes: "", gzip.compress: ".gz"}.get(pack, ".zst"))
    path.write_bytes(pack(b"\n".join(lines)))
    options = ReadOptions(on_bad=on_bad, limit=RecordLimit(5_000_000))
    reader = LineReader(str(path), options, "lines")
    passed: list[bytes] = []
    rows: list[int] = []
    bad: list[str] = []

    def read_all() -> None:
        for chunk in chunks([reader], options):
            batch, its_lines = reader.read(chunk)
            passed.extend(its_lines)
            rows.extend(batch.rows.tolist())
            bad.extend(f"{fault.row} {fault.reason[:12]}" for fault in batch.faults)

    if on_bad == "fail":
        with pytest.raises(InputError, match=r":2: the line has 12\.0 MB"):
            read_all()
    else:
        read_all()
        assert (passed, rows) == ([b"one\n", b"three\n", b"six\n"], [1, 3, 6])
        assert bad == ["2 the line has", "5 the line has", "7 the line has"]


# large records are worked on one at a time


def test_large_items_are_worked_on_alone_and_in_order() -> None:
    busy, most, order = [0], [0], []
    lock = threading.Lock()

    def work(item: Any) -> int:
        with lock:
            busy[0] += 1
            large = isinstance(item, Alone)
            if large:
                most[0] = max(most[0], busy[0])
        value = item() if large else item
        with lock:
            busy[0] -= 1
        return int(value)

    items = [i if i % 5 else Alone(lambda i=i: i) for i in range(200)]  # type: ignore[misc]
    for threads in (1, 2, 8):
        order = list(in_order(work, items, threads=threads))
        assert order == list(range(200))
    assert most[0] == 1


def test_an_item_that_turns_out_large_is_done_again_alone() -> None:
    def work(item: Any) -> int:
        if isinstance(item, Alone):
            assert threading.current_thread() is threading.main_thread()
            return int(item())  # type: ignore[call-overload]
        if item % 3 == 0:
            raise NeedsRoom(Alone(lambda: item))
        return int(item)

    for threads in (1, 2, 8):
        assert list(in_order(work, range(100), threads=threads)) == list(range(100))


def test_compressed_texts_that_turn_out_large_are_read_in_a_run(tmp_path: Path) -> None:
    for i in range(6):
        (tmp_path / f"{i}.txt.zst").write_bytes(zstd(f"word{i} ".encode() * 2_000_000))
    (tmp_path / "small.txt").write_text("small")
    limit = RecordLimit()
    limit.set(20 * MB, memory=600 * MB, growth=10, together=MB)
    reader = open_inputs(tmp_path, glob="*", limit=limit)
    told = []

    def work(task: Any) -> Any:
        batch = task()
        if batch.documents.nbytes > MB:
            told.append(isinstance(task, Alone))
        return batch

    batches = list(in_order(work, reader.tasks(), threads=4))
    assert [batch.documents.nbytes for batch in batches] == [12_000_000] * 6 + [5]
    assert told == [True] * 6


def test_lines_and_rows_that_are_large_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    record = json.dumps({"text": "x" * (9 * MB)}) + "\n"
    path.write_text(record + '{"text": "small"}\n' * 400_000)
    limit = RecordLimit()
    limit.set(20 * MB, memory=600 * MB, growth=10, together=MB)
    tasks = list(open_inputs(path, limit=limit).tasks())
    assert [isinstance(task, Alone) for task in tasks][:2] == [True, False]
    frame = pa.table({"text": ["small", "x" * (9 * MB), "small"]})
    tasks = list(open_inputs(frame, limit=limit).tasks())
    assert [isinstance(task, Alone) for task in tasks] == [False, True, False]


# resuming


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("on_bad", ["skip", "fail"])
def test_a_resumed_run_passes_over_what_it_began_to_pass_over(tmp_path: Path, on_bad: str) -> None:
    path = collection(tmp_path / "x.jsonl")
    spec = make_spec()

    def run(memory: str, *, resume: bool) -> Run:
        reader = open_inputs(path, on_bad=on_bad)
        return Run(reader, spec, RunOptions(1, memory, tmp_path / "work", resume))

    first = run("600MB", resume=False)
    first.__enter__()
    began = first.reader.options.limit.largest
    first.space.checkpoint()
    first.__exit__(RuntimeError, RuntimeError(), None)
    with run("4GB", resume=True) as second:
        limit = second.reader.options.limit
        assert (limit.largest == began) == (on_bad == "skip")
        reason, _ = limit.refusal("the line", 10**9)
        assert ("600.0 MB" in reason) == (on_bad == "skip")


@pytest.mark.parametrize(
    ("word", "size", "options"),
    [("a! ", 1_000_000, ["--unit", "sentence"]), ("words ", 4_000_000, ["--min-words", "20"])],
)
def test_passages_refuse_a_record_whose_units_would_not_fit_into_the_limit(
    tmp_path: Path, word: str, size: int, options: list[str]
) -> None:
    """Each took some 100 MB above 500: for a letter of text, units take up to 240 times its bytes."""
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"text": word * (size // len(word))}))
    command = [sys.executable, "-m", "neardup", "passages", str(path), *options, "--cut", "first", "--memory", "500MB"]
    done = subprocess.run([*command, "-o", str(tmp_path / "o")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"{path}:1: the line has {size / 1e6:.1f} MB" in done.stderr or "1,000,0" in done.stderr
    assert "Raise --memory" in done.stderr


# memory, for real


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of a process")
@pytest.mark.parametrize(
    "name", ["x.jsonl.zst", "x.csv.zst", "x.txt.zst", "x.lines", "x.parquet", "x.arrow", "quoted.csv"]
)
@pytest.mark.parametrize("on_bad", ["skip", "fail"])
def test_a_bomb_of_three_gigabytes_stays_within_500_mb(tmp_path: Path, name: str, on_bad: str) -> None:
    import pyarrow.parquet as pq

    path = tmp_path / name
    if name.endswith((".zst", ".lines", "quoted.csv")):
        codec: Any = "zstd" if name.endswith(".zst") else None
        with pa.output_stream(str(path), compression=codec) as file:
            file.write(b'id,text\n1,"' if "csv" in name else b"")
            for _ in range(3000):
                file.write(b"a" * 999_999 + (b"\n" if name == "quoted.csv" else b"a"))
    elif name == "x.parquet":
        values = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), pa.array(["x" * 30_000_000]))
        pq.write_table(pa.table({"text": values}), path)
    else:
        text = pa.table({"text": pa.array(["x" * 1_000_000] * 3000, pa.large_string())})
        with pa.ipc.new_file(path, text.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(text)
        del text
    form = ["--input-format", "lines"] if name == "x.lines" else []
    glob = [str(path)]
    code = (
        "import sys; from neardup.cli import main; from neardup.spool import peak_memory\n"
        "try: main()\nfinally: print('peak', peak_memory(), file=sys.stderr)"
    )
    args = ["find", *glob, *form, "--on-bad", on_bad, "--memory", "500MB", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    peak = int(done.stderr.rsplit("peak ", 1)[1])
    assert peak < 520e6, done.stderr
    assert done.returncode == (1 if on_bad == "fail" else 0), done.stderr


def test_the_first_look_at_the_inputs_keeps_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads a record of each input, which may have gigabytes."""
    looked: list[bool] = []
    monkeypatch.setattr(Reader, "check", lambda self: looked.append(self.options.limit.is_set))
    neardup.find(["one and two", "one and two!"])
    neardup.passages(["one and two", "one and two!"])
    assert len(looked) >= 2
    assert all(looked)
