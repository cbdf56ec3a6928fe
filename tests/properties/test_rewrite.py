"""A clean copy is the file without the pieces that were removed, however the bytes look and are cut into blocks."""

from __future__ import annotations

import codecs
import csv
import io
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from neardup.inputs.reader import open_inputs
from neardup.inputs.source import ReadOptions
from neardup.tasks.rewrite import blocks
from neardup.tasks.rewrite.files import rewrite_file
from neardup.tasks.rewrite.model import Annotation, Rewrite

LETTERS = "ab ,;\t\"\\'{}ü中😀\u2028\x0b\x85"
TEXTS = st.text(st.sampled_from(LETTERS), max_size=8)
ENDS = st.sampled_from(["\n", "\r\n"])
SIZES = st.sampled_from([4, 8, 64, 4 << 20])


@dataclass(frozen=True)
class Piece:
    """A part of a file that is kept or goes as a whole."""

    text: str
    is_document: bool

    def __str__(self) -> str:
        return self.text


def rewritten(
    content: bytes,
    suffix: str,
    removed: Sequence[int],
    *,
    size: int,
    encoding: str,
    annotation: Annotation | None = None,
) -> tuple[bytes, int]:
    """Rewrite bytes in blocks of ``size``."""
    out = io.BytesIO()
    usual = blocks.BLOCK_BYTES
    blocks.BLOCK_BYTES = size
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/x.{suffix}"
            with open(path, "wb") as file:
                file.write(content)
            options = ReadOptions(encoding=encoding, text="text", id="id")
            rows = np.array(removed, dtype=np.int64)
            count = rewrite_file(Rewrite(path, suffix, options, rows, annotation), out)
    finally:
        blocks.BLOCK_BYTES = usual
    return out.getvalue(), count


def rows_read(content: bytes, suffix: str, encoding: str) -> list[int]:
    """The rows of the documents as the reader numbers them."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.{suffix}"
        with open(path, "wb") as file:
            file.write(content)
        reader = open_inputs(path, text="text", id="id", encoding=encoding, on_bad="skip")
        return [row for source in reader.parts for task in source.tasks() for row in task().rows.tolist()]


def placed(pieces: Sequence[Piece], first: int) -> dict[int, int]:
    """The line at which each document begins, counted by newlines alone, to its place among the pieces."""
    rows = {}
    line = first
    for place, piece in enumerate(pieces):
        if piece.is_document:
            rows[line] = place
        line += piece.text.count("\n")
    return rows


@st.composite
def json_pieces(draw: st.DrawFn) -> list[Piece]:
    pieces = []
    for number in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["document"] * 4 + ["blank", "bad"]))
        end = draw(ENDS)
        if kind == "document":
            record = {"id": number, "text": draw(TEXTS)} | draw(
                st.dictionaries(TEXTS.map("x".__add__), TEXTS, max_size=1)
            )
            text = json.dumps(record, ensure_ascii=draw(st.booleans()))
            space = draw(st.sampled_from(["", "", " ", "\t "]))
            pieces.append(Piece(space + text + draw(st.sampled_from(["", " ", "\t"])) + end, True))
        elif kind == "blank":
            pieces.append(Piece(draw(st.sampled_from(["", " ", "\t"])) + end, False))
        else:
            pieces.append(Piece(draw(st.sampled_from(['{"text": ', "[1]", "}", '{"id": 3, "text": 5}'])) + end, False))
    return without_last_newline(draw, pieces)


def without_last_newline(draw: st.DrawFn, pieces: list[Piece]) -> list[Piece]:
    if pieces and draw(st.booleans()):
        last = pieces[-1]
        pieces[-1] = Piece(last.text.rstrip("\r\n"), last.is_document)
    return pieces


def encoded(pieces: Sequence[Piece], encoding: str, mark: bytes) -> bytes:
    return mark + b"".join(piece.text.encode(encoding) for piece in pieces)


ENCODINGS = st.sampled_from(
    [("utf-8", b""), ("utf-8", codecs.BOM_UTF8), ("utf-16-le", codecs.BOM_UTF16_LE), ("utf-32-be", b"")]
)


@given(json_pieces(), ENCODINGS, SIZES, st.data())
def test_a_copy_of_json_lines_is_the_kept_bytes(
    pieces: list[Piece], encoding: tuple[str, bytes], size: int, data: st.DataObject
):
    codec, mark = encoding
    content = encoded(pieces, codec, mark)
    rows = placed(pieces, 1)
    assert rows_read(content, "jsonl", codec) == list(rows)
    removed = sorted(data.draw(st.sets(st.sampled_from(sorted(rows))) if rows else st.just(set())))
    gone = {rows[row] for row in removed}
    expected = encoded([piece for i, piece in enumerate(pieces) if i not in gone], codec, mark)
    out, count = rewritten(content, "jsonl", removed, size=size, encoding=codec)
    assert out == expected
    assert count == sum(piece.text.strip(" \t\r\n") != "" for piece in pieces)


@given(json_pieces(), ENCODINGS, SIZES, st.data())
def test_an_annotated_copy_of_json_lines_differs_by_its_fields_only(
    pieces: list[Piece], encoding: tuple[str, bytes], size: int, data: st.DataObject
):
    codec, mark = encoding
    rows = placed(pieces, 1)
    chosen = sorted(data.draw(st.sets(st.sampled_from(sorted(rows))) if rows else st.just(set())))
    numbers = np.array(chosen, dtype=np.int64)
    keepers = pa.array([data.draw(TEXTS) for _ in chosen], pa.large_string())
    annotation = Annotation(numbers, numbers * 2, keepers, numbers / 7)
    out, count = rewritten(encoded(pieces, codec, mark), "jsonl", [], size=size, encoding=codec, annotation=annotation)
    lines = iter(out.removeprefix(mark).decode(codec).split("\n"))
    for place, piece in enumerate(pieces):
        line = next(lines)
        old = piece.text.removesuffix("\n")
        if not piece.is_document:
            assert line == old
            continue
        record, before = json.loads(line), json.loads(old)
        row = next(row for row, at in rows.items() if at == place)
        known = row in chosen
        keeper = keepers[chosen.index(row)].as_py() if known else None
        added = (
            {"cluster": 2 * row, "keeper": keeper, "similarity": row / 7}
            if known
            else dict.fromkeys(["cluster", "keeper", "similarity"])
        )
        assert record == before | added
        head = old.rstrip().removesuffix("}")
        assert line.startswith(head + ', "cluster": ')
        assert line.endswith(old[len(head) :])
    bad = sum(not piece.is_document and piece.text.strip(" \t\r\n") != "" for piece in pieces)
    assert count == len(rows) + bad


@st.composite
def table(draw: st.DrawFn, delimiter: str) -> list[Piece]:
    """A header, records and blank lines, and lines that are no records."""

    def cell(text: str) -> str:
        must = any(character in text for character in f'{delimiter}"\r\n')
        return '"' + text.replace('"', '""') + '"' if must or draw(st.booleans()) else text

    cells = st.text(st.sampled_from(LETTERS + "\r\n"), max_size=8)
    names = [draw(st.sampled_from([name, f'"{name}"'])) for name in ("id", "text")]
    pieces = [Piece(delimiter.join(names) + draw(ENDS), False)]
    for number in range(draw(st.integers(0, 10))):
        kind = draw(st.sampled_from(["record"] * 4 + ["blank", "bad"]))
        if kind == "record":
            pieces.append(Piece(delimiter.join([cell(f"n{number}"), cell(draw(cells))]) + draw(ENDS), True))
        elif kind == "blank":
            pieces.append(Piece(draw(ENDS), False))
        else:
            pieces.append(Piece(f"one{draw(ENDS)}", False))
    return without_last_newline(draw, pieces) if pieces[-1].is_document else pieces


@given(st.sampled_from([",", ";"]).flatmap(table), ENCODINGS, SIZES, st.data())
def test_a_copy_of_a_table_is_the_kept_bytes(
    pieces: list[Piece], encoding: tuple[str, bytes], size: int, data: st.DataObject
):
    codec, mark = encoding
    content = encoded(pieces, codec, mark)
    rows = placed(pieces, 1)
    assert rows_read(content, "csv", codec) == list(rows)
    removed = sorted(data.draw(st.sets(st.sampled_from(sorted(rows))) if rows else st.just(set())))
    gone = {rows[row] for row in removed}
    expected = encoded([piece for i, piece in enumerate(pieces) if i not in gone], codec, mark)
    out, count = rewritten(content, "csv", removed, size=size, encoding=codec)
    assert out == expected
    bad = sum(piece.text.startswith("one") for piece in pieces)
    assert count == len(rows) + bad


@given(table(","), SIZES, st.data())
def test_an_annotated_table_reads_back_with_its_fields(pieces: list[Piece], size: int, data: st.DataObject):
    rows = placed(pieces, 1)
    chosen = sorted(data.draw(st.sets(st.sampled_from(sorted(rows))) if rows else st.just(set())))
    numbers = np.array(chosen, dtype=np.int64)
    keepers = [data.draw(st.text(st.sampled_from(LETTERS + "\r\n"), max_size=8)) for _ in chosen]
    annotation = Annotation(numbers, numbers * 2, pa.array(keepers, pa.large_string()), numbers / 7)
    out, _ = rewritten(encoded(pieces, "utf-8", b""), "csv", [], size=size, encoding="utf-8", annotation=annotation)

    def parsed(text: str) -> list[list[str]]:
        return [row for row in csv.reader(io.StringIO(text, newline="")) if len(row) > 1]

    before = parsed("".join(piece.text for piece in pieces))
    after = parsed(out.decode())
    added = {row: [str(row * 2), keepers[i], repr(row / 7)] for i, row in enumerate(chosen)}
    expected = [["cluster", "keeper", "similarity"], *(added.get(row, ["", "", ""]) for row in rows)]
    assert after == [old + new for old, new in zip(before, expected, strict=True)]
    assert out.decode().count("one\r\n") + out.decode().count("one\n") >= sum(
        piece.text.startswith("one") for piece in pieces
    )


VALUES = st.one_of(st.none(), st.integers(-5, 5))
RECORDS = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "list": st.none() | st.lists(VALUES, max_size=3),
        "struct": st.none() | st.fixed_dictionaries({"a": VALUES, "b": st.none() | st.lists(TEXTS, max_size=2)}),
        "kind": st.none() | st.sampled_from(["x", "y"]),
    }
)
SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("list", pa.list_(pa.int64())),
        ("struct", pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])),
        ("kind", pa.dictionary(pa.int32(), pa.string())),
    ]
)


@given(st.lists(RECORDS, min_size=1, max_size=20), st.integers(1, 9), st.sampled_from(["parquet", "arrow"]), st.data())
def test_a_columnar_copy_has_the_kept_rows(records: list[Any], chunk: int, format: str, data: st.DataObject):
    source = pa.Table.from_pylist(records, schema=SCHEMA)
    removed = data.draw(st.sets(st.integers(1, len(records))))
    stored = io.BytesIO()
    if format == "parquet":
        pq.write_table(source, stored, row_group_size=chunk)
    else:
        with pa.ipc.new_stream(stored, SCHEMA) as writer:
            writer.write_table(source, max_chunksize=chunk)
    out, _ = rewritten(stored.getvalue(), format, sorted(removed), size=4 << 20, encoding="utf-8")
    clean = pq.read_table(io.BytesIO(out)) if format == "parquet" else pa.ipc.open_stream(out).read_all()
    clean.validate(full=True)
    assert clean.schema.names == SCHEMA.names
    assert clean.to_pylist() == [record for row, record in enumerate(source.to_pylist(), 1) if row not in removed]


def test_no_file_is_left_open_by_a_copy():
    """Descriptors are counted where the system shows them."""
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        return
    content = b'id,text\n1,a\n2,"b\n"\n'
    rewritten(content, "csv", [2], size=8, encoding="utf-8")
    before = len(os.listdir(folder))
    for _ in range(5):
        rewritten(content, "csv", [2], size=8, encoding="utf-8")
        rewritten(b'{"text": "a", "id": 1}\n', "jsonl", [1], size=8, encoding="utf-8")
    assert len(os.listdir(folder)) == before
