"""JSON Lines: every odd line gives a record, or a reason and costs itself."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from tests.unit.reading import zstd

from neardup.errors import InputError
from neardup.inputs.source import ReadOptions
from neardup.inputs.text.jsonl import JsonlSource
from neardup.types import SLACK, Batch

GOOD = b'{"id": "a", "text": "one"}\n'


def batches(path: Path | str, **options: object) -> list[Batch]:
    return [task() for task in JsonlSource(path, ReadOptions(**options)).tasks()]  # type: ignore[arg-type]


def texts(read: list[Batch]) -> list[str]:
    return [batch.documents.blob(i).decode() for batch in read for i in range(len(batch.documents))]


def ids(read: list[Batch]) -> list[object]:
    return [id for batch in read for id in batch.ids.to_pylist()]


def reason(path: Path, line: bytes, **options: object) -> str:
    """Why ``line`` is bad when it stands between two good ones, which must survive."""
    path.write_bytes(GOOD + line + b"\n" + GOOD)
    (batch,) = batches(path, on_bad="skip", **options)
    assert batch.rows.tolist() == [1, 3]
    assert batch.bad == 1
    (fault,) = batch.faults
    assert fault.row == 2
    return fault.reason


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "docs.jsonl"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"id": 1, "text": "cut', "no valid JSON: Unterminated string"),
        (b'{"id": 1, "text": "a"', "no valid JSON: Expecting ',' delimiter"),
        (b'{"id": 1, "text": "a"} x', "no valid JSON: Extra data at character 24"),
        (b'{"id": 1, "text": "a",}', "no valid JSON"),
        (b'{"id": 1, "text": null}', "the field 'text' is null"),
        (b'{"id": 1, "text": 7}', "the field 'text' is a number, not a string"),
        (b'{"id": 1, "text": true}', "the field 'text' is true or false, not a string"),
        (b'{"id": 1, "text": ["a"]}', "the field 'text' is a list, not a string"),
        (b'{"id": 1, "text": {"text": "a"}}', "the field 'text' is an object, not a string"),
        (b'{"id": 1, "body": "a"}', "there is no field 'text'"),
        (b"{}", "there is no field 'text'"),
        (b'{"text": "a"}', "there is no field 'id'"),
        (b'{"id": null, "text": "a"}', "the field 'id' is null"),
        (b'{"id": 1.5, "text": "a"}', "the field 'id' is a number, not a string or a whole number"),
        (b'{"id": true, "text": "a"}', "the field 'id' is true or false"),
        (b'{"id": [1], "text": "a"}', "the field 'id' is a list"),
        (b'["a", "b"]', "a list, not an object"),
        (b'"text"', "a string, not an object"),
        (b"12", "a number, not an object"),
        (b"null", "null, not an object"),
        (b'{"id": 1, "text": "\\ud800"}', "the field 'text' has the lone surrogate \\ud800 at character 1"),
        (b'{"id": 1, "text": "ab\\udc00\\ud800"}', "the lone surrogate \\udc00 at character 3"),
        (b'{"id": 1, "text": "\\ud800\\ud800"}', "the lone surrogate \\ud800 at character 1"),
        (b'{"id": 1, "text": "\\ud800\\ue000"}', "the lone surrogate \\ud800 at character 1"),
        (b'{"id": "\\udfff", "text": "a"}', "the field 'id' has the lone surrogate \\udfff"),
        (b'{"id": 1, "text": "\xed\xa0\x80"}', "byte 0xed at byte 20 of the line is no valid utf-8"),
        (b'{"id": 1, "text": "\xff"}', "byte 0xff at byte 20 of the line is no valid utf-8"),
        (b'{"id": 1, "text": "\xc3"}', "byte 0xc3 at byte 20"),
        (b'{"id": 1, "text": "\xc0\xaf"}', "byte 0xc0 at byte 20"),
        (b'{"id": 1, "text": "\xf4\x90\x80\x80"}', "byte 0xf4 at byte 20"),
        (b'{"id": 1, "text": "a", "x": "\xf5"}', "byte 0xf5 at byte 30"),
        (b'\xef\xbb\xbf{"id": 1, "text": "a"}', "a byte order mark comes before the record"),
        (b'{"id": 1, "text": "a\x00"}', "no valid JSON: Invalid control character"),
        (b'{"id": 1, "text": "a\tb"}', "no valid JSON: Invalid control character"),
        (b'{"id": 1, "text": "\\x41"}', "no valid JSON: Invalid \\escape"),
        (b'{"id": 1, "text": "a", "x": NaN}', "no valid JSON: NaN is not a JSON number"),
        (b'{"id": 1, "text": "a", "x": -Infinity}', "no valid JSON: -Infinity is not a JSON number"),
        (b'{"id": 1, "text": "a", "x": 01}', "no valid JSON"),
        (b"{'id': 1, 'text': 'a'}", "no valid JSON"),
        (b"not json", "no valid JSON"),
        (b'{"id": 1, "text": "a", "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"id": 1, "text": "a"}{"id": 2, "text": "b"}', "no valid JSON: Extra data"),
        (b"\x0c", "no valid JSON"),
    ],
)
def test_bad_line_costs_itself_and_says_why(path: Path, line: bytes, says: str) -> None:
    assert says in reason(path, line)


@pytest.mark.parametrize(
    ("line", "text", "id"),
    [
        (b'{"text": "a", "id": "x"}', "a", "x"),
        (b' \t{ "text"\t:\r"a" , "id" : "x" } \r', "a", "x"),
        (b'{"id": "x", "text": ""}', "", "x"),
        (b'{"id": "", "text": "a"}', "a", ""),
        (
            b'{"id": "x", "text": "q\\" b\\\\ s\\/ n\\n t\\t r\\r b\\b f\\f"}',
            'q" b\\ s/ n\n t\t r\r b\b f\f',
            "x",
        ),
        (
            b'{"id": "x", "text": "\\u0041\\u00e9\\u4E2d\\ud83d\\uDE00\\u0000"}',
            "A\u00e9\u4e2d\U0001f600\0",
            "x",
        ),
        ('{"id": "é", "text": "é中😀 ü中中 ß"}'.encode(), "é中😀 ü中中 ß", "é"),
        (b'{"\\u0069d": "x", "te\\u0078t": "a"}', "a", "x"),
        (b'{"text": "first", "id": "x", "text": "last"}', "last", "x"),
        (b'{"text": 3, "id": null, "text": "last", "id": "x"}', "last", "x"),
        (b'{"text": "a rather long first text", "id": "x", "text": "z"}', "z", "x"),
        (b'{"x": {"text": "inner", "id": 9}, "text": "outer", "id": "x"}', "outer", "x"),
        (b'{"x": [[], {}, [1, {"a": [null, true, false, -1.5e+3]}]], "text": "a", "id": "x"}', "a", "x"),
        (b'{"x": "\\ud800", "text": "a", "id": "x"}', "a", "x"),
        (b'{"x": 1e999, "text": "a", "id": "x"}', "a", "x"),
        (b'{"x": ' + b"9" * 5000 + b', "text": "a", "id": "x"}', "a", "x"),
        (b'{"x": ' + b"[" * 100 + b"]" * 100 + b', "text": "a", "id": "x"}', "a", "x"),
        (b'{"id": 17, "text": "a"}', "a", "17"),
        (b'{"id": -0, "text": "a"}', "a", "0"),
        (b'{"id": 18446744073709551616, "text": "a"}', "a", "18446744073709551616"),
    ],
)
def test_odd_line_is_read(path: Path, line: bytes, text: str, id: str) -> None:
    path.write_bytes(GOOD + line + b"\n" + GOOD)
    read = batches(path)
    assert texts(read) == ["one", text, "one"]
    assert ids(read) == ["a", id, "a"]


def test_integer_ids_stay_integers(path: Path) -> None:
    numbers = [0, -1, 123456789012345678, 2**63 - 1, -(2**63)]
    path.write_text("".join(f'{{"id": {n}, "text": "t"}}\n' for n in numbers))
    (batch,) = batches(path)
    assert batch.ids.type == pa.int64()
    assert batch.ids.to_pylist() == numbers


def test_string_ids_are_large_strings(path: Path) -> None:
    path.write_bytes(GOOD * 3)
    (batch,) = batches(path)
    batch.ids.validate(full=True)
    assert batch.ids.type == pa.large_string()


def test_without_an_id_column_there_are_rows_only(path: Path) -> None:
    path.write_bytes(b'\n{"text": "a"}\n\n{"text": "b"}')
    (batch,) = batches(path)
    assert batch.ids is None
    assert batch.rows.tolist() == [2, 4]


def test_documents_have_the_slack_that_kernels_need(path: Path) -> None:
    path.write_bytes(GOOD)
    (batch,) = batches(path)
    assert batch.documents.data.size >= int(batch.documents.offsets[-1]) + SLACK


def test_fail_names_file_line_reason_and_cure(path: Path) -> None:
    path.write_bytes(GOOD + b'{"id": 1, "text": null}\n')
    with pytest.raises(InputError, match=r"docs\.jsonl:2: the field 'text' is null.*--on-bad skip"):
        batches(path)


def test_undecodable_bytes_point_to_the_encoding_option(path: Path) -> None:
    path.write_bytes(GOOD + b'{"id": 1, "text": "caf\xe9"}\n')
    with pytest.raises(InputError, match=r"0xe9.*--encoding"):
        batches(path)


def test_columns_are_guessed_from_the_first_record(path: Path) -> None:
    path.write_bytes(b'\n{broken\n{"uuid": 5, "body": "b", "n": 1}\n{"body": "c", "uuid": 6}\n')
    read = batches(path, on_bad="skip")
    assert texts(read) == ["b", "c"]
    assert ids(read) == [5, 6]
    assert read[0].faults[0].row == 2


def test_named_columns_win(path: Path) -> None:
    path.write_bytes(b'{"id": 1, "text": "t", "name": "n", "title": "T"}\n')
    read = batches(path, text="title", id="name")
    assert (texts(read), ids(read)) == (["T"], ["n"])


def test_one_column_may_be_text_and_id(path: Path) -> None:
    path.write_bytes(b'{"text": "t"}\n')
    read = batches(path, id="text")
    assert (texts(read), ids(read)) == (["t"], ["t"])


@pytest.mark.parametrize("options", [{"text": "boddy"}, {"id": "boddy"}, {"text": "boddy", "on_bad": "skip"}])
def test_missing_column_lists_the_columns(path: Path, options: dict[str, str]) -> None:
    path.write_bytes(b'{"text": "t", "body": "b"}\n')
    with pytest.raises(InputError, match=r"'boddy'.*'text', 'body'.*'body'"):
        batches(path, **options)


def test_file_without_any_record_has_only_bad_lines(path: Path) -> None:
    path.write_bytes(b"[1]\n\n\ntext\n")
    (batch,) = batches(path, on_bad="skip")
    assert (len(batch.documents), batch.bad, batch.blank) == (0, 2, 2)


def test_only_a_thousand_faults_are_listed(path: Path) -> None:
    path.write_bytes(GOOD + b"x\n" * 1050)
    (batch,) = batches(path, on_bad="skip")
    assert (batch.bad, len(batch.faults)) == (1050, 1000)


def test_empty_file_has_no_batches(path: Path) -> None:
    path.write_bytes(b"")
    assert batches(path) == []


@pytest.mark.parametrize("content", [b"\n", b"\n\n\n", b" \r\n\t\n", b"\r\n", b"  "])
def test_blank_lines_are_counted_and_no_fault(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    (batch,) = batches(path)
    assert (batch.blank, batch.bad, len(batch.documents)) == (content.count(b"\n") or 1, 0, 0)


def test_blank_lines_cost_no_work_of_python(path: Path) -> None:
    """A thousand times the lines are read with the same number of calls."""
    calls = []
    for count in (1000, 1_000_000, 1000, 1_000_000):  # the first two load what is needed
        path.write_bytes(b"\n" * count)
        calls.append(0)

        def called(frame: object, event: str, argument: object) -> None:
            calls[-1] += event == "call"

        sys.setprofile(called)
        try:
            read = batches(path)
        finally:
            sys.setprofile(None)
        assert sum(batch.blank for batch in read) == count
    assert calls[3] < calls[2] + 100


def test_no_final_newline_and_crlf_and_mark_at_the_start(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n") + GOOD.strip())
    (batch,) = batches(path)
    assert texts([batch]) == ["one", "one"]
    assert batch.consumed == path.stat().st_size


@pytest.mark.parametrize("block", [1, 2, 7, 100])
def test_block_bounds_the_documents_of_a_batch(path: Path, block: int) -> None:
    path.write_bytes(b"".join(b'{"id": %d, "text": "t%d"}\n' % (i, i) for i in range(50)))
    read = batches(path, block=block)
    assert max(len(batch.documents) for batch in read) <= block
    assert ids(read) == list(range(50))
    assert [row for batch in read for row in batch.rows.tolist()] == list(range(1, 51))
    assert sum(batch.consumed for batch in read) == path.stat().st_size


def test_tasks_may_run_in_any_order(path: Path) -> None:
    path.write_bytes(b"".join(b'{"id": %d, "text": "t"}\n' % i for i in range(20)))
    tasks = list(JsonlSource(path, ReadOptions(block=3)).tasks())
    read = [task() for task in reversed(tasks)][::-1]
    assert ids(read) == list(range(20))


def test_one_long_line_is_read(path: Path) -> None:
    """Reading it in a square of its length would take days."""
    long = "word \\n\\u00e9 " * 1_600_000
    path.write_text('{"id": 1, "text": "short"}\n{"id": 2, "text": "' + long + '"}\n{"id": 3, "text": "short"}')
    assert path.stat().st_size > 20_000_000
    read = batches(path)
    assert [len(text) for text in texts(read)] == [5, 8 * 1_600_000, 5]


@pytest.mark.parametrize(
    ("line", "items"),
    [
        (b'["b", "a", "b"]', b"b\xffa\xffb"),
        (b'[1, -20, "x y", "\\u00e9"]', b"1\xff-20\xffx y\xff\xc3\xa9"),
        (b"[ ]", b""),
        (b"[-0, 123456789012345678901234567890]", b"0\xff123456789012345678901234567890"),
        (b'"  milk\\tbread \\n eggs "', b"milk\xffbread\xffeggs"),
        ('"a\u3000b\u00a0c\u2003\u2028d é"'.encode(), b"a\xffb\xffc\xffd\xff\xc3\xa9"),
        (b'" \\u3000 "', b""),
        (
            '"a\u200bb \u2044c\u1681\u3001"'.encode(),
            b"a\xe2\x80\x8bb\xff\xe2\x81\x84c\xe1\x9a\x81\xe3\x80\x81",
        ),
        (b'""', b""),
    ],
)
def test_sets_are_lists_or_strings(path: Path, line: bytes, items: bytes) -> None:
    path.write_bytes(b'{"text": ' + line + b', "id": 1}\n{"id": 2, "text": ["next"]}')
    (batch,) = batches(path, item=True)
    assert [batch.documents.blob(i) for i in range(2)] == [items, b"next"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"[1.5]", "1.5"),
        (b"[true]", "True"),
        (b'["a", null]', "None"),
        (b"[[1]]", "list"),
        (b'["\\ud800"]', "surrogate"),
        (b'{"a": 1}', "an object, not a list or a string"),
        (b"7", "a number"),
    ],
)
def test_set_with_another_kind_of_item_is_bad(path: Path, value: bytes, says: str) -> None:
    assert says in reason(path, b'{"id": 1, "text": ' + value + b"}", item=True)


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstd)])
def test_compressed_files_of_several_members(tmp_path: Path, suffix: str, pack: object) -> None:
    path = tmp_path / f"docs.jsonl{suffix}"
    data = b"".join(b'{"id": %d, "text": "t%d"}\n' % (i, i) for i in range(1000))
    path.write_bytes(pack(data[:7000]) + pack(data[7000:]))  # type: ignore[operator]
    read = batches(path)
    assert ids(read) == list(range(1000))
    assert sum(batch.consumed for batch in read) == path.stat().st_size


def test_latin_1_and_other_encodings(path: Path) -> None:
    line = '{"id": "ü", "text": "café £"}\n'
    for encoding in ("latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig", "UTF8"):
        path.write_bytes((line * 3).encode(encoding))
        read = batches(path, encoding=encoding)
        assert texts(read) == ["café £"] * 3
        assert ids(read) == ["ü"] * 3


def test_byte_unknown_to_the_encoding_costs_its_line(path: Path) -> None:
    assert "no valid cp1252" in reason(path, b'{"id": 1, "text": "\x81"}', encoding="cp1252")
    assert "no valid ascii" in reason(path, b'{"id": 1, "text": "\xe9"}', encoding="ascii")


@pytest.mark.parametrize("encoding", ["latin-one", "rot13", "hex"])
def test_unknown_encoding_is_an_error(path: Path, encoding: str) -> None:
    path.write_bytes(GOOD)
    with pytest.raises(InputError, match="encod"):
        batches(path, encoding=encoding)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_standard_input_plain_or_compressed(monkeypatch: pytest.MonkeyPatch, pack: object) -> None:
    packed: bytes = pack(GOOD * 10_000)  # type: ignore[operator]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(packed)))
    read = batches("-")
    assert len(texts(read)) == 10_000
    assert sum(batch.consumed for batch in read) == len(packed)
