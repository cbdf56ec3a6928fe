"""Clean copies of JSONL, lines, CSV and TSV: what is kept is kept byte for byte."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from neardup.errors import InputError
from neardup.inputs.source import ReadOptions
from neardup.tasks.rewrite import blocks as rewrite_blocks
from neardup.tasks.rewrite.files import rewrite_file
from neardup.tasks.rewrite.model import Annotation, Rewrite

NOTHING = np.empty(0, dtype=np.int64)


def rewritten(
    path: Path,
    format: str,
    removed: Sequence[int] = (),
    *,
    annotation: Annotation | None = None,
    options: ReadOptions | None = None,
    plain: bool = False,
    head: bool = True,
) -> tuple[bytes, int]:
    out = io.BytesIO()
    rows = np.array(removed, dtype=np.int64)
    job = Rewrite(str(path), format, options or ReadOptions(), rows, annotation)
    count = rewrite_file(job, out, plain=plain, head=head)
    return out.getvalue(), count


def saved(folder: Path, name: str, content: bytes) -> Path:
    """A file, compressed as its name says."""
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(content))
    elif name.endswith(".zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as packed:
            packed.write(content)
    else:
        path.write_bytes(content)
    return path


def unpacked(name: str, content: bytes) -> bytes:
    if name.endswith(".gz"):
        return gzip.decompress(content)
    if name.endswith(".zst"):
        return pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
    return content


def notes(rows: Sequence[int], keepers: Sequence[int | str | None], similarities: Sequence[float]) -> Annotation:
    clusters = np.array(rows, dtype=np.int64) * 10
    numbers = all(isinstance(keeper, int) for keeper in keepers)
    ids = pa.array(keepers, pa.int64() if numbers else pa.large_string())
    return Annotation(np.array(rows, dtype=np.int64), clusters, ids, np.array(similarities, dtype=np.float64))


MIXED = (
    b'\xef\xbb\xbf{"id": 1, "text": "a"}\r\n'
    b"\n"
    b'{"id": 2,"text":"b" } \n'
    b"   \r\n"
    b"{malformed\n"
    b'\t{"text": "\xc3\xbc", "id": 3}\n'
    b'{"id": 4, "text": "\xff"}\n'
    b'{"id": 5, "text": "last"}'
)


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst"])
@pytest.mark.parametrize("removed", [[], [1], [3], [8], [1, 3, 6, 8], [6, 8]])
def test_kept_lines_of_json_are_the_same_bytes(tmp_path: Path, name: str, removed: list[int]):
    lines = MIXED.removeprefix(b"\xef\xbb\xbf").splitlines(keepends=True)
    expected = b"\xef\xbb\xbf" + b"".join(line for i, line in enumerate(lines, 1) if i not in removed)
    out, count = rewritten(saved(tmp_path, name, MIXED), "jsonl", removed)
    assert unpacked(name, out) == expected
    assert count == 6


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl.zst", "x.csv.gz"])
def test_a_file_that_loses_nothing_is_copied_as_it_is_stored(tmp_path: Path, name: str):
    path = saved(tmp_path, name, b'id,text\n1,a\n2,"b\n"\n')
    out, count = rewritten(path, name.split(".")[1])
    assert out == path.read_bytes()
    assert count == (2 if "csv" in name else 4)


def test_compressed_copies_do_not_tell_the_time_or_the_name(tmp_path: Path):
    content = b'{"text": "a"}\n{"text": "b"}\n'
    one, _ = rewritten(saved(tmp_path, "one.jsonl.gz", content), "jsonl", [1])
    two, _ = rewritten(saved(tmp_path, "two.jsonl.gz", content), "jsonl", [1])
    assert one == two
    assert one[4:8] == bytes(4)  # RFC 1952: MTIME
    assert one[3] == 0  # FLG: no name, no comment


def test_plain_copies_of_compressed_files_are_not_compressed(tmp_path: Path):
    path = saved(tmp_path, "x.jsonl.gz", MIXED)
    assert rewritten(path, "jsonl", plain=True)[0] == MIXED
    assert rewritten(path, "jsonl", plain=True, head=False)[0] == MIXED[3:]


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-16", b"\xff\xfe"),
        ("utf-16", b"\xfe\xff"),
        ("utf-16-le", b""),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32", b"\xff\xfe\0\0"),
        ("utf-32", b"\0\0\xfe\xff"),
        ("utf-32-le", b""),
        ("latin-1", b""),
        ("cp1252", b""),
        ("cp037", b""),
        ("shift_jis", b""),
        ("gb18030", b""),
    ],
)
@pytest.mark.parametrize("size", [16, 4 << 20])
def test_lines_are_cut_in_every_encoding(
    tmp_path: Path, encoding: str, mark: bytes, size: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rewrite_blocks, "BLOCK_BYTES", size)
    order = {b"\xff\xfe": "-le", b"\xfe\xff": "-be", b"\xff\xfe\0\0": "-le", b"\0\0\xfe\xff": "-be"}
    codec = encoding.removesuffix("-be") + order[mark] if mark else encoding
    # U+0A0A and U+0A00 have the byte of a newline in them, and are none
    odd = "\u0a0a\u0a00" if "utf" in encoding else "テスト" if "shift" in encoding else "~"
    last = f'{{"text": "{odd}"}}'
    lines = [f"{last}\r\n", "\n", '{"text": "b"}  \n', '{"text": "c"}\t\r\n', last]
    path = saved(tmp_path, "x.jsonl", mark + b"".join(line.encode(codec) for line in lines))
    options = ReadOptions(encoding=encoding)
    out, count = rewritten(path, "jsonl", [1, 4], options=options)
    assert out == mark + b"".join(lines[i].encode(codec) for i in (1, 2, 4))
    assert count == 4
    noted, _ = rewritten(path, "jsonl", annotation=notes([3, 5], ["ü", "x"], [0.5, 1.0]), options=options)
    text = noted.removeprefix(mark).decode(codec)
    assert text.replace(', "cluster": null, "keeper": null, "similarity": null', "").startswith(lines[0] + lines[1])
    records = [json.loads(line) for line in text.split("\n") if line.strip()]
    assert [record["cluster"] for record in records] == [None, 30, None, 50]
    assert records[1]["keeper"] == "ü"


def test_text_whose_newlines_have_no_bytes_of_their_own_is_refused(tmp_path: Path):
    path = saved(tmp_path, "x.jsonl", b'{"text": "a"}\n')
    with pytest.raises(InputError, match=r"x\.jsonl: a clean copy cannot be cut from text in utf-7.* UTF-8"):
        rewritten(path, "jsonl", [1], options=ReadOptions(encoding="utf-7"))


def test_plain_lines_are_documents_unless_they_are_empty(tmp_path: Path):
    content = b"one\r\n\r\n  \ntwo\n\nthree"
    out, count = rewritten(saved(tmp_path, "x.txt", content), "lines", [1, 6])
    assert out == b"\r\n  \ntwo\n\n"
    assert count == 4


def test_a_line_longer_than_a_block_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rewrite_blocks, "BLOCK_BYTES", 64)
    lines = [json.dumps({"text": "x" * size}).encode() + b"\n" for size in (1, 1000, 5, 100_000, 3, 64, 2)]
    path = saved(tmp_path, "x.jsonl", b"".join(lines))
    assert rewritten(path, "jsonl", [3, 6])[0] == b"".join(lines[i] for i in (0, 1, 3, 4, 6))
    assert rewritten(path, "jsonl", [2, 4])[0] == b"".join(lines[i] for i in (0, 2, 4, 5, 6))


def test_a_file_that_lost_its_lines_since_it_was_read_is_refused(tmp_path: Path):
    path = saved(tmp_path, "x.jsonl", b'{"text": "a"}\n')
    with pytest.raises(InputError, match=r"x\.jsonl was changed since it was read: of 2 documents to find again, 1 "):
        rewritten(path, "jsonl", [1, 2])
    with pytest.raises(InputError, match="was changed"):
        rewritten(path, "jsonl", annotation=notes([1, 2], ["a", "b"], [1, 1]))
    table = saved(tmp_path, "x.csv", b'id,text\n1,"a\nb"\n')
    with pytest.raises(InputError, match="was changed"):
        rewritten(table, "csv", [3])
    with pytest.raises(InputError, match="does not exist"):
        rewritten(tmp_path / "gone.jsonl", "jsonl", [3])


def test_standard_input_cannot_be_read_twice():
    with pytest.raises(InputError, match="standard input can be read only once"):
        rewrite_file(Rewrite("-", "jsonl", ReadOptions()), io.BytesIO())


TABLE = (
    b"\xef\xbb\xbf\r\n"
    b'"id";"text"\r\n'
    b'1;"two\n\nlines"\r\n'
    b"\n"
    b"\r\n"
    b"2;plain;too many\n"
    b'bad;"never closed\n'
    b'3;"say ""hi"""\n'
    b'4;"ends in newlines\r\n\r\n"\r\n'
    b"5;last"
)
"""Rows: 3 (to 5), 8 and 9 (bad), 10, 11 (to 13), 14."""
PIECES = {3: b'1;"two\n\nlines"\r\n', 10: b'3;"say ""hi"""\n', 11: b'4;"ends in newlines\r\n\r\n"\r\n', 14: b"5;last"}


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.csv.zst"])
@pytest.mark.parametrize("size", [8, 4 << 20])
@pytest.mark.parametrize("removed", [[3], [10], [11], [14], [3, 11], [3, 10, 11, 14]])
def test_records_of_csv_go_whole_and_all_else_stays(
    tmp_path: Path, name: str, size: int, removed: list[int], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(rewrite_blocks, "BLOCK_BYTES", size)
    expected = TABLE
    for row in removed:
        assert expected.count(PIECES[row]) == 1
        expected = expected.replace(PIECES[row], b"")
    out, count = rewritten(saved(tmp_path, name, TABLE), "csv", removed)
    assert unpacked(name, out) == expected
    assert count == 6


def test_csv_in_another_encoding_is_cut_by_its_own_bytes(tmp_path: Path):
    text = TABLE[3:].decode()
    path = saved(tmp_path, "x.csv", text.encode("utf-16"))
    out, _ = rewritten(path, "csv", [3, 10], options=ReadOptions(encoding="utf-16"))
    assert out.decode("utf-16") == text.replace(PIECES[3].decode(), "").replace(PIECES[10].decode(), "")
    assert out[:2] == path.read_bytes()[:2]


def test_without_its_head_a_table_can_follow_another(tmp_path: Path):
    path = saved(tmp_path, "x.csv", TABLE)
    body = TABLE[TABLE.index(b"1;") :]
    assert rewritten(path, "csv", head=False)[0] == body
    assert rewritten(path, "csv", [3], head=False)[0] == body.replace(PIECES[3], b"")
    note = notes([3], ["k"], [1.0])
    whole = rewritten(path, "csv", annotation=note)[0]
    assert rewritten(path, "csv", annotation=note, head=False)[0] == whole[whole.index(b"1;") :]


def test_stray_quotes_of_tsv_take_no_line_with_them(tmp_path: Path):
    content = b'id\ttext\n1\t"Hello, he said\n2\tworld"\n3\t"two\nlines"\n4\tx\n'
    path = saved(tmp_path, "x.tsv", content)
    assert rewritten(path, "tsv", [2])[0] == content.replace(b'1\t"Hello, he said\n', b"")
    assert rewritten(path, "tsv", [4])[0] == content.replace(b'3\t"two\nlines"\n', b"")


def test_a_table_without_header_or_rows_keeps_its_lines(tmp_path: Path):
    assert rewritten(saved(tmp_path, "x.csv", b"1,a\n2,b\n"), "csv", [1])[0] == b"2,b\n"
    assert rewritten(saved(tmp_path, "y.csv", b"\n\r\n"), "csv")[0] == b"\n\r\n"
    assert rewritten(saved(tmp_path, "z.csv", b""), "csv") == (b"", 0)


def test_an_annotated_object_gets_three_fields_behind_its_own(tmp_path: Path):
    path = saved(tmp_path, "x.jsonl", MIXED)
    out, count = rewritten(path, "jsonl", annotation=notes([1, 6], ['say "hi"\n', "ключ"], [1.0, float("nan")]))
    lines = out.removeprefix(b"\xef\xbb\xbf").splitlines(keepends=True)
    old = MIXED.removeprefix(b"\xef\xbb\xbf").splitlines(keepends=True)
    assert [lines[i] == old[i] for i in range(8)] == [False, True, False, True, True, False, True, False]
    assert lines[0].startswith(b'{"id": 1, "text": "a", "cluster": 10, ')
    assert [lines[0][-2:], lines[2][-4:]] == [b"\r\n", b"l} \n"]
    records = [json.loads(lines[i]) for i in (0, 2, 5, 7)]
    added = [{name: record[name] for name in ("cluster", "keeper", "similarity")} for record in records]
    none = {"cluster": None, "keeper": None, "similarity": None}
    assert added[0] == {"cluster": 10, "keeper": 'say "hi"\n', "similarity": 1.0}
    assert added[2] == {"cluster": 60, "keeper": "ключ", "similarity": None}
    assert [added[1], added[3]] == [none, none]
    assert count == 6


def test_names_that_are_taken_get_a_prefix(tmp_path: Path):
    path = saved(tmp_path, "x.jsonl", b'bad\n{"text": "a", "keeper": 3}\n')
    record = json.loads(rewritten(path, "jsonl", annotation=notes([2], [7], [0.5]))[0].splitlines()[1])
    assert record == {
        "text": "a",
        "keeper": 3,
        "neardup_cluster": 20,
        "neardup_keeper": 7,
        "neardup_similarity": 0.5,
    }
    table = saved(tmp_path, "x.csv", b"id,text,cluster\n1,a,b\n")
    out = rewritten(table, "csv", annotation=notes([2], [7], [0.5]))[0]
    assert out == b"id,text,cluster,neardup_cluster,neardup_keeper,neardup_similarity\n1,a,b,20,7,0.5\n"
    full = saved(tmp_path, "y.csv", b"id,text,cluster,neardup_keeper\n1,a,b,c\n")
    with pytest.raises(InputError, match="has the columns 'cluster', 'neardup_keeper' already"):
        rewritten(full, "csv", annotation=notes([2], [7], [0.5]))


def test_an_annotated_record_gets_three_more_fields(tmp_path: Path):
    keepers = ['a "quoted"; id', "x\r\ny", "", "ü"]
    annotation = notes([3, 10, 11, 14], keepers, [1.0, 0.1, 1 / 3, float("nan")])
    out, count = rewritten(saved(tmp_path, "x.csv", TABLE), "csv", annotation=annotation)
    assert count == 6
    for untouched in (b"2;plain;too many\n", b'bad;"never closed\n', b'"id";"text";cluster;keeper;similarity\r\n'):
        assert untouched in out
    good = out.replace(b'bad;"never closed\n', b"").removeprefix(b"\xef\xbb\xbf").decode()
    rows = [row for row in csv.reader(io.StringIO(good, newline=""), delimiter=";") if row]
    assert [row[2:] for row in rows if len(row) == 5] == [
        ["cluster", "keeper", "similarity"],
        ["30", keepers[0], "1.0"],
        ["100", keepers[1], "0.1"],
        ["110", keepers[2], repr(1 / 3)],
        ["140", keepers[3], ""],
    ]
    assert [row[0] for row in rows] == ["id", "1", "2", "3", "4", "5"]


def test_an_id_that_the_encoding_lacks_is_named(tmp_path: Path):
    path = saved(tmp_path, "x.csv", b"id,text\n1,a\n")
    with pytest.raises(InputError, match=r"x\.csv: the id 'ключ' has characters that iso8859_1 lacks"):
        rewritten(path, "csv", annotation=notes([2], ["ключ"], [1.0]), options=ReadOptions(encoding="latin-1"))


def test_lines_have_no_fields_to_annotate(tmp_path: Path):
    with pytest.raises(InputError, match="a document of format 'lines' has no fields"):
        rewritten(saved(tmp_path, "x.txt", b"a\n"), "lines", annotation=notes([1], ["a"], [1.0]))
