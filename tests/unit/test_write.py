"""What is written reads back exactly, appears whole or not at all, and says what made it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import warm

from neardup.arrays import numbers
from neardup.errors import InputError, OutputError, SpoolError
from neardup.inputs.names import Ids
from neardup.outputs import write
from neardup.outputs.atomic import AtomicFiles, check_target, temporary_name
from neardup.outputs.rows import RowTable
from neardup.outputs.write import Output, output_format, remove_leftovers, write_table, write_tables
from neardup.spool import Workdir
from neardup.types import Batch, Documents

SPEC: dict[str, Any] = {"id": "0123456789ab", "threshold": 0.8}
AWKWARD = [
    'say "a", "b"',
    "two\nlines\r\n",
    "tab\tand\x00nul\x1f",
    "c:\\temp\\a",
    "naïve 漢字 🙂",
    "",
    " blank ",
]


def pairs(ids_a: list[Any], ids_b: list[Any], similarity: list[float]) -> pa.Table:
    kind = pa.int64() if all(isinstance(name, int) for name in ids_a) else pa.large_string()
    columns = {"id_a": pa.array(ids_a, kind), "id_b": pa.array(ids_b, kind), "similarity": similarity}
    return pa.table(columns)


AWKWARD_PAIRS = pairs(AWKWARD, AWKWARD[::-1], [1 / 3, 0.8, 1.0, 0.1 + 0.2, 5e-324, 1e22, 0.0])


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().decode().split("\n")[:-1]]


def read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return [{**row, "similarity": float(row["similarity"])} for row in csv.DictReader(stream, strict=True)]


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(".part"))


def test_jsonl_reads_back_exactly(tmp_path: Path) -> None:
    write_table(AWKWARD_PAIRS, tmp_path / "p.jsonl", format=None, spec=SPEC)
    assert read_jsonl(tmp_path / "p.jsonl") == AWKWARD_PAIRS.to_pylist()


def test_csv_reads_back_exactly(tmp_path: Path) -> None:
    write_table(AWKWARD_PAIRS, tmp_path / "p.csv", format=None, spec=SPEC)
    assert read_csv(tmp_path / "p.csv") == AWKWARD_PAIRS.to_pylist()


def test_parquet_reads_back_exactly_and_carries_the_spec(tmp_path: Path) -> None:
    write_table(AWKWARD_PAIRS, tmp_path / "p.parquet", format=None, spec=SPEC)
    table = pq.read_table(tmp_path / "p.parquet")
    assert table.to_pylist() == AWKWARD_PAIRS.to_pylist()
    assert json.loads(table.schema.metadata[b"neardup"]) == SPEC
    assert pq.ParquetFile(tmp_path / "p.parquet").metadata.row_group(0).column(0).compression == "ZSTD"
    assert not (tmp_path / "p.parquet.spec.json").exists()


@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"])),
            st.one_of(st.integers(0, 9), st.floats(allow_nan=False, allow_infinity=False)),
        ),
        min_size=1,
    )
)
def test_any_text_and_any_float_read_back_exactly(tmp_path_factory: Any, rows: list[tuple[str, float]]) -> None:
    folder = tmp_path_factory.mktemp("round")
    names, values = [row[0] for row in rows], [float(row[1]) for row in rows]
    table = pairs(names, names[::-1], values)
    for name, read in (("p.jsonl", read_jsonl), ("p.csv", read_csv)):
        write_table(table, folder / name, format=None, spec=SPEC)
        back = read(folder / name)
        assert back == table.to_pylist()
        assert [str(row["similarity"]) for row in back] == [str(value) for value in values]  # -0.0 too


@pytest.mark.parametrize("name", ["p.jsonl", "p.csv"])
def test_text_formats_leave_the_spec_in_a_side_file(tmp_path: Path, name: str) -> None:
    write_table(AWKWARD_PAIRS, tmp_path / name, format=None, spec=SPEC)
    assert json.loads((tmp_path / f"{name}.spec.json").read_text()) == SPEC


def test_integer_ids_stay_integers(tmp_path: Path) -> None:
    table = pairs([1, 2**62], [2, -5], [1.0, 0.5])
    write_table(table, tmp_path / "p.jsonl", format=None, spec=SPEC)
    write_table(table, tmp_path / "p.parquet", format=None, spec=SPEC)
    assert read_jsonl(tmp_path / "p.jsonl") == table.to_pylist()
    assert pq.read_schema(tmp_path / "p.parquet").field("id_a").type == pa.int64()


def test_a_whole_number_stays_a_float_in_json(tmp_path: Path) -> None:
    write_table(pairs(["a"], ["b"], [1.0]), tmp_path / "p.jsonl", format=None, spec=SPEC)
    assert (tmp_path / "p.jsonl").read_text() == '{"id_a": "a", "id_b": "b", "similarity": 1.0}\n'


def test_csv_is_that_of_rfc_4180(tmp_path: Path) -> None:
    write_table(pairs(['a,"b"'], [""], [0.5]), tmp_path / "p.csv", format=None, spec=SPEC)
    assert (tmp_path / "p.csv").read_bytes() == b'id_a,id_b,similarity\r\n"a,""b""","",0.5\r\n'


def test_ids_are_quoted_in_csv_if_a_reader_might_drop_their_ends(tmp_path: Path) -> None:
    for name in ("x\t", "\tx", " x", "x ", ""):
        write_table(pairs([name], ["b"], [0.5]), tmp_path / "p.csv", format=None, spec=SPEC)
        assert (tmp_path / "p.csv").read_bytes().splitlines()[1] == f'"{name}",b,0.5'.encode()


def test_clusters_with_missing_values_and_other_types(tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": pa.array(["a", None]).dictionary_encode(),
            "cluster": pa.array([0, None], pa.int32()),
            "kept": [True, None],
            "similarity": pa.array([float("nan"), None]),
        }
    )
    write_table(table, tmp_path / "c.jsonl", format=None, spec=SPEC)
    write_table(table, tmp_path / "c.csv", format=None, spec=SPEC)
    empty = {"id": None, "cluster": None, "kept": None, "similarity": None}
    assert read_jsonl(tmp_path / "c.jsonl") == [{**empty, "id": "a", "cluster": 0, "kept": True}, empty]
    assert (tmp_path / "c.csv").read_text() == "id,cluster,kept,similarity\na,0,true,\n,,,\n"


def test_a_column_that_is_no_text_or_number_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="list"):
        write_table(pa.table({"x": [[1]]}), tmp_path / "p.csv", format=None, spec=SPEC)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.parquet"])
def test_a_table_without_rows_is_written(tmp_path: Path, name: str) -> None:
    write_table(pairs([], [], []).cast(AWKWARD_PAIRS.schema), tmp_path / name, format=None, spec=SPEC)
    assert (tmp_path / name).exists()
    if name == "p.csv":
        assert (tmp_path / name).read_bytes() == b"id_a,id_b,similarity\r\n"


def test_rows_of_many_chunks_keep_their_order(tmp_path: Path) -> None:
    count = 300_000
    table = pa.concat_tables([pairs(list(range(count)), list(range(1, count + 1)), [0.5] * count).slice(7)] * 2)
    write_table(table, tmp_path / "p.csv", format=None, spec=SPEC)
    write_table(table.slice(5, 10), tmp_path / "slice.jsonl", format=None, spec=SPEC)
    lines = (tmp_path / "p.csv").read_bytes().split(b"\r\n")
    assert lines[1:-1] == [b"%d,%d,0.5" % (row, row + 1) for row in range(7, count)] * 2
    assert read_jsonl(tmp_path / "slice.jsonl") == table.slice(5, 10).to_pylist()


def test_suffixes_choose_format_and_compression(tmp_path: Path) -> None:
    write_table(AWKWARD_PAIRS, tmp_path / "p.jsonl.gz", format=None, spec=SPEC)
    rows = [json.loads(line) for line in gzip.decompress((tmp_path / "p.jsonl.gz").read_bytes()).splitlines()]
    assert rows == AWKWARD_PAIRS.to_pylist()
    assert output_format("P.NDJSON", None) == "jsonl"
    assert output_format("p.csv.zst", None) == "csv"
    assert output_format("p.txt", "csv") == "csv"
    assert output_format("-", None) == "jsonl"


@pytest.mark.parametrize(
    ("name", "format", "words"),
    [
        ("p.ods", None, r"p\.ods does not tell a format"),
        ("p", None, "does not tell a format"),
        ("p.csv", "cvs", "Did you mean 'csv'"),
        ("p.parquet.gz", None, "compressed inside"),
    ],
)
def test_a_name_without_a_known_format_is_refused(name: str, format: str | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        output_format(name, format)


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def write_and_stop() -> None:
        with AtomicFiles() as files:
            files.open(target).write(b"new")
            files.open(tmp_path / "b.txt").write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_stop()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_files_appear_together_or_not_at_all(tmp_path: Path) -> None:
    bad = pa.table({"x": [[1]]})
    with pytest.raises(TypeError):
        write_tables([Output(AWKWARD_PAIRS, tmp_path / "p.csv"), Output(bad, tmp_path / "c.csv")], spec=SPEC)
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_file_keeps_its_rights_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "a.txt", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with AtomicFiles() as files:
        files.open(link).write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_full_device_is_an_output_error_with_a_cure() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with pytest.raises(OutputError, match=r"/dev/full: No space left on device\. Free some space"):
        write_table(AWKWARD_PAIRS, "/dev/full", format="csv", spec=SPEC)


@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.parquet", "p.csv.gz"])
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    count = 200_000
    table = pairs([f"{row * 7919 % count:x}" for row in range(count)], ["b"] * count, [0.5] * count)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))  # Python ignores SIGXFSZ: write fails with EFBIG
    try:
        with pytest.raises(OutputError, match=r"p\..*File too large"):
            write_table(table, tmp_path / name, format=None, spec=SPEC)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_found_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"No such file or directory\. Make the folder"):
        check_target(tmp_path / "none" / "p.csv")
    with pytest.raises(OutputError, match="Is a directory"):
        check_target(tmp_path)
    check_target(tmp_path / "p.csv")
    check_target(os.devnull)
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_takes_every_format(tmp_path: Path) -> None:
    script = (
        "import sys, pyarrow as pa; from neardup.outputs.write import write_table;"
        "write_table(pa.table({'x': ['a', 'b']}), '-', format=sys.argv[1], spec={'id': 'x'})"
    )
    out = {format: warm.run(["-c", script, format]).stdout for format in ("jsonl", "csv", "parquet")}
    assert out["jsonl"] == b'{"x": "a"}\n{"x": "b"}\n'
    assert out["csv"] == b"x\r\na\r\nb\r\n"
    assert pq.read_table(io.BytesIO(out["parquet"])).to_pydict() == {"x": ["a", "b"]}


def as_stream(table: pa.Table, sizes: list[int]) -> pa.RecordBatchReader:
    """The table as a stream of batches of these sizes, again and again, empty ones too."""

    def batches() -> Iterator[pa.RecordBatch]:
        start = turn = 0
        while start < table.num_rows:
            size = sizes[turn % len(sizes)]
            yield from table.slice(start, size).combine_chunks().to_batches() or [table.schema.empty_table()]
            start, turn = start + size, turn + 1

    return pa.RecordBatchReader.from_batches(table.schema, batches())


@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.parquet", "p.csv.gz", "p.jsonl.zst"])
@pytest.mark.parametrize("sizes", [[1, 2], [7, 1000], [100_000]])
def test_a_stream_gives_the_bytes_of_the_table_for_any_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, sizes: list[int]
) -> None:
    for limit, value in (("_TEXT_ROWS", 500), ("_TEXT_BYTES", 9000), ("_GROUP_ROWS", 900), ("_GROUP_BYTES", 30_000)):
        monkeypatch.setattr(write, limit, value)
    count = 3000 if len(sizes) == 1 or sizes[1] > 2 else 1200
    names = [f"{row * 7919 % count:x}" * (row % 40) for row in range(count)]
    table = pairs(names, [None, *names[:-1]], [row / 7 for row in range(count)])
    write_table(table, tmp_path / name, format=None, spec=SPEC)
    write_table(as_stream(table, sizes), tmp_path / f"streamed.{name}", format=None, spec=SPEC)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"streamed.{name}").read_bytes()
    if name == "p.parquet":
        assert pq.read_table(tmp_path / name).to_pylist() == table.to_pylist()
        assert pq.ParquetFile(tmp_path / name).num_row_groups > 1


def test_row_groups_are_bounded_by_bytes(tmp_path: Path) -> None:
    count = 30_000
    table = pairs(["x" * 2000 + str(row) for row in range(count)], ["b"] * count, [0.5] * count)
    write_table(as_stream(table, [999]), tmp_path / "p.parquet", format=None, spec=SPEC)
    groups = pq.ParquetFile(tmp_path / "p.parquet").metadata
    assert groups.num_row_groups == 4  # 61 MB in groups of 16 MiB
    assert all(
        sum(groups.row_group(i).column(j).total_uncompressed_size for j in range(3)) < 20e6
        for i in range(groups.num_row_groups)
    )


@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.parquet"])
def test_a_stream_without_rows_is_written_like_a_table_without_rows(tmp_path: Path, name: str) -> None:
    empty = AWKWARD_PAIRS.slice(0, 0)
    write_table(empty, tmp_path / name, format=None, spec=SPEC)
    write_table(as_stream(empty, [1]), tmp_path / f"s.{name}", format=None, spec=SPEC)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"s.{name}").read_bytes()


def test_a_stream_is_written_in_memory_that_does_not_grow_with_it() -> None:
    batch = pa.record_batch({"id_a": [f"document {row}" for row in range(50_000)], "similarity": [0.5] * 50_000})
    peaks = []
    for times in (60, 240):
        peak = 0

        def batches(times: int = times) -> Iterator[pa.RecordBatch]:
            nonlocal peak
            for _ in range(times):
                peak = max(peak, pa.total_allocated_bytes())
                yield batch

        stream = pa.RecordBatchReader.from_batches(batch.schema, batches())
        write_table(stream, os.devnull, format="parquet", spec=SPEC)
        peaks.append(peak)
    assert peaks[1] < 1.2 * peaks[0]


def test_an_error_in_the_stream_leaves_nothing_behind(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield AWKWARD_PAIRS.to_batches()[0]
        raise SpoolError("the work on disk is damaged")

    stream = pa.RecordBatchReader.from_batches(AWKWARD_PAIRS.schema, batches())
    with pytest.raises(SpoolError, match="damaged"):
        write_table(stream, tmp_path / "p.parquet", format=None, spec=SPEC)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from neardup.outputs.atomic import AtomicFiles\n"
        "with AtomicFiles() as files:\n"
        "    files.open('p.csv').write(b'half'); files.open('p.csv.spec.json'); files.open('other.csv')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    warm.run(["-c", script], cwd=tmp_path)
    assert len(leftovers(tmp_path)) == 3
    with AtomicFiles() as files:
        files.open(tmp_path / "p.csv").write(b"whole")
        remove_leftovers(tmp_path / "p.csv")
        assert len(leftovers(tmp_path)) == 2
    assert (tmp_path / "p.csv").read_bytes() == b"whole"
    assert [name.startswith(".other.csv.") for name in leftovers(tmp_path)] == [True]


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system does not tell when a process began")
def test_a_number_of_a_process_that_is_used_again_keeps_nothing(tmp_path: Path) -> None:
    mine = temporary_name(tmp_path / "p.csv")
    other = tmp_path / f".p.csv.{os.getpid():x}.1-00000000.part"
    for path in (mine, other):
        path.write_bytes(b"half")
    remove_leftovers(tmp_path / "p.csv")
    assert list(tmp_path.iterdir()) == [mine]


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        for suffix in ("jsonl", "csv", "parquet", "csv.gz", "jsonl.zst"):
            write_table(AWKWARD_PAIRS, tmp_path / f"{name}.{suffix}", format=None, spec=SPEC)
    for suffix in ("jsonl", "csv", "parquet", "csv.gz", "jsonl.zst"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
    assert leftovers(tmp_path) == []


PLAIN = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=' \t,"\\', min_codepoint=33), min_size=1)
WHOLE = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-120, 120) | st.sampled_from([10**n for n in range(19)])
STEPS = st.lists(st.integers(1, 3), min_size=1, max_size=4)


def batches_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Any]]:
    """Batches: a list of ids or, for a batch whose ids are made, the name of its source and the steps between rows."""
    kinds = st.lists(WHOLE, min_size=1, max_size=4) | st.lists(texts, min_size=1, max_size=4)
    return st.lists(kinds | st.tuples(st.sampled_from(["a.jsonl", "b c/d"]), STEPS), min_size=1, max_size=5)


def collected(batches: list[Any]) -> tuple[Ids, list[Any]]:
    """The ids of such batches, and what they are by the rule for ids, in Python."""
    ids, expected = Ids(), []
    for batch in batches:
        source, rows = batch if isinstance(batch, tuple) else ("c", [1] * len(batch))
        place, brought = np.cumsum(rows), None
        if isinstance(batch, list):
            brought = pa.array(batch, pa.int64() if isinstance(batch[0], int) else pa.large_string())
        ids.append(Batch(Documents.from_texts([""] * len(rows)), source, place, brought))
        expected += batch if brought is not None else [f"{source}:{row}" for row in place.tolist()]
    is_whole = all(isinstance(each, int) for each in expected)
    return ids, expected if is_whole else [str(each) for each in expected]


def by_rows(ids: Ids, left: Any, right: Any, similarity: Any, step: int = 7) -> RowTable:
    schema = pa.schema([("id_a", ids.type), ("id_b", ids.type), ("similarity", pa.float64()), ("side", pa.string())])
    left, right, similarity = np.array(left), np.array(right), np.array(similarity, dtype=np.float64)
    sides = pa.array([SIDES[row % 3] for row in range(left.size)], pa.large_string())
    parts = [slice(start, start + step) for start in range(0, left.size, step)]
    pieces = ([left[part], right[part], numbers(similarity[part]), sides[part]] for part in parts)
    return RowTable(schema, ids, pieces)


SIDES = ["a", "both", 'b, "c"']


def pairs_in(count: int, most: int) -> st.SearchStrategy[list[Any]]:
    fraction = st.builds(lambda part, whole: part / whole, st.integers(1, 9), st.integers(9, 40))
    return st.lists(
        st.tuples(st.integers(0, count - 1), st.integers(0, count - 1), fraction), min_size=1, max_size=most
    )


@given(data=st.data(), batches=batches_of(PLAIN))
def test_rows_are_written_as_the_csv_and_json_modules_write_their_ids(data: st.DataObject, batches: list[Any]) -> None:
    ids, expected = collected(batches)
    chosen = data.draw(pairs_in(len(expected), 20))
    records = [(expected[a], expected[b], value, SIDES[i % 3]) for i, (a, b, value) in enumerate(chosen)]
    out = io.StringIO(newline="")
    csv.writer(out).writerows([("id_a", "id_b", "similarity", "side"), *records])
    names = ["id_a", "id_b", "similarity", "side"]
    lines = [json.dumps(dict(zip(names, record, strict=True)), ensure_ascii=False) + "\n" for record in records]
    for format, text in (("csv", out.getvalue()), ("jsonl", "".join(lines))):
        table = by_rows(ids, *zip(*chosen, strict=True))
        assert ids.batches(write._csv_text if format == "csv" else write._json_escaped) is not None
        assert b"".join(map(bytes, write._lines(table.schema, table, format))).decode() == text


@given(data=st.data(), batches=batches_of(st.sampled_from([*AWKWARD, "plain", "x\t", "\tx", "p\x7f"])))
def test_rows_are_written_as_their_arrow_batches_are(data: st.DataObject, batches: list[Any]) -> None:
    ids, expected = collected(batches)
    chosen = data.draw(pairs_in(len(expected), 20))
    assert by_rows(ids, *zip(*chosen, strict=True)).read_all()["id_b"].to_pylist() == [
        expected[b] for _, b, _ in chosen
    ]
    written = []
    for step in (3, 100):
        for format in ("csv", "jsonl"):
            table = by_rows(ids, *zip(*chosen, strict=True), step)
            whole = by_rows(ids, *zip(*chosen, strict=True), step).read_all()
            written += [
                [bytes(piece) for piece in write._lines(whole.schema, given, format)]
                for given in (whole.to_batches(), table)
            ]
    assert written[0:4] == written[4:8]
    assert written[0::2] == written[1::2]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("kind", ["text", "whole"])
def test_rows_are_cut_into_the_pieces_that_the_rule_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, kind: str
) -> None:
    """A piece ends with the row that makes it 500 rows, or 9,000 bytes: 8 a column and those of its texts."""
    monkeypatch.setattr(write, "_TEXT_ROWS", 500)
    monkeypatch.setattr(write, "_TEXT_BYTES", 9000 if kind == "text" else 1 << 20)
    names: list[Any] = [f"{i}x" * (i % 50 + 1) for i in range(400)] if kind == "text" else list(range(400))
    ids, expected = collected([names[:150], names[150:151], names[151:]])
    left, right = np.arange(1600) % 397, np.arange(1600) * 7 % 400
    lines, size = [0], 0
    for row, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        size += 4 * 8 + len(SIDES[row % 3]) + sum(len(name) for name in (expected[a], expected[b]) if kind == "text")
        lines[-1] += 1
        if lines[-1] == 500 or size >= write._TEXT_BYTES:
            lines, size = [*lines, 0], 0
    lines = [count for count in lines if count]
    assert len(lines) > 3
    values = left / 400
    for step in (9, 1600):
        table = by_rows(ids, left, right, values, step)
        pieces = [bytes(piece) for piece in write._lines(table.schema, table, format)][format == "csv" :]
        assert [piece.count(b"\n") for piece in pieces] == lines
    ids.spill(Workdir.create(tmp_path / "work", {"spec_id": "x"}))
    assert ids.batches(lambda cells: cells) is None
    table = by_rows(ids, left, right, values)
    assert [bytes(piece) for piece in write._lines(table.schema, table, format)][format == "csv" :] == pieces
