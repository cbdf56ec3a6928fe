"""Files broken in every way we could think of: a clear message or a counted skip, nothing half-written."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from tests.adversarial.command import check_clean_failure, neardup

GOOD = b"""{"id": "a", "text": "a good and long enough text"}
{"id": "b", "text": "a good and long enough text"}
"""

BAD_LINES = {
    "cut short": b'{"id": "x", "text": "cut',
    "not JSON": b"plain words",
    "text is null": b'{"id": "x", "text": null}',
    "text is a number": b'{"id": "x", "text": 17}',
    "text is a list": b'{"id": "x", "text": ["a", "b"]}',
    "text is an object": b'{"id": "x", "text": {"a": "b"}}',
    "text is missing": b'{"id": "x", "body_text": "words"}',
    "an array": b'["x", "words"]',
    "a string": b'"words"',
    "a number": b"12",
    "a lone surrogate": b'{"id": "x", "text": "half \\ud800 pair"}',
    "invalid UTF-8": b'{"id": "x", "text": "\xff\xfe bytes"}',
    "an overlong form": b'{"id": "x", "text": "\xc0\xaf"}',
    "two objects": b'{"id": "x", "text": "one"} {"id": "y", "text": "two"}',
    "a bare control character": b'{"id": "x", "text": "tab\x01here"}',
    "a bad escape": b'{"id": "x", "text": "\\q"}',
    "id is an object": b'{"id": {"a": 1}, "text": "words"}',
    "a cut escape": b'{"id": "x", "text": "\\u12"}',
    "nothing but a brace": b"{",
}


@pytest.mark.parametrize("name", sorted(BAD_LINES))
def test_a_bad_line_fails_with_its_place_and_leaves_no_output(tmp_path: Path, name: str):
    (tmp_path / "in.jsonl").write_bytes(
        GOOD + BAD_LINES[name] + b"\n" + GOOD.replace(b'"a"', b'"c"').replace(b'"b"', b'"d"')
    )
    run = neardup("find", tmp_path / "in.jsonl", "-o", tmp_path / "out.parquet")
    check_clean_failure(run, 1, "in.jsonl:3")
    assert os.listdir(tmp_path) == ["in.jsonl"]


def test_every_bad_line_is_skipped_counted_and_costs_one_line(tmp_path: Path):
    source = tmp_path / "in.jsonl"
    source.write_bytes(
        GOOD
        + b"".join(bad + b"\n" for bad in BAD_LINES.values())
        + GOOD.replace(b'"a"', b'"c"').replace(b'"b"', b'"d"')
    )
    run = neardup("find", source, "--on-bad", "skip", "-o", tmp_path / "out.jsonl", "--json")
    assert run.returncode == 0, run.stderr.decode()
    summary = json.loads(run.stdout)
    assert summary["bad"] == len(BAD_LINES)
    assert summary["documents"] == 4
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 6


HARMLESS = {
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD, 2),
    "CRLF": (GOOD.replace(b"\n", b"\r\n"), 2),
    "no newline at the end": (GOOD[:-1], 2),
    "blank lines": (b"\n\n" + GOOD.replace(b"\n", b"\n\n"), 2),
    "white space around": (b"  " + GOOD.replace(b"\n", b"  \n"), 2),
    "duplicate ids": (GOOD.replace(b'"b"', b'"a"'), 2),
    "an empty text": (GOOD + b'{"id": "c", "text": ""}\n', 3),
    "an escaped NUL": (GOOD + b'{"id": "c", "text": "nul \\u0000 inside"}\n', 3),
    "a surrogate pair": (GOOD + b'{"id": "c", "text": "\\ud83d\\ude00"}\n', 3),
    "nested fields": (
        GOOD + b'{"meta": {"text": "no", "x": [1, {"text": 2}]}, "id": "c", "text": "yes"}\n',
        3,
    ),
    "fields in another order": (GOOD + b'{"text": "yes", "z": null, "id": "c"}\n', 3),
    "escaped names of fields": (GOOD + b'{"\\u0069d": "c", "te\\u0078t": "yes"}\n', 3),
}


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_what_is_only_odd_is_read(tmp_path: Path, name: str):
    content, documents = HARMLESS[name]
    (tmp_path / "in.jsonl").write_bytes(content)
    run = neardup("find", tmp_path / "in.jsonl", "--json", "-o", tmp_path / "out.jsonl")
    assert run.returncode == 0, run.stderr.decode()
    summary = json.loads(run.stdout)
    assert (summary["documents"], summary["bad"], summary["pairs"]) == (documents, 0, 1)
    pair = json.loads((tmp_path / "out.jsonl").read_text())
    assert pair["similarity"] == 1.0


def test_the_last_of_duplicate_keys_counts_as_json_says(tmp_path: Path):
    (tmp_path / "in.jsonl").write_bytes(GOOD + b'{"id": "c", "text": "other", "text": "a good and long enough text"}\n')
    run = neardup("find", tmp_path / "in.jsonl", "--json", "-o", tmp_path / "out.jsonl")
    assert run.returncode == 0, run.stderr.decode()
    assert json.loads(run.stdout)["pairs"] == 3


def test_an_empty_file_is_an_empty_collection_or_a_clear_error(tmp_path: Path):
    (tmp_path / "in.jsonl").write_bytes(b"")
    run = neardup("find", tmp_path / "in.jsonl", "--json", "-o", tmp_path / "out.jsonl")
    if run.returncode:
        check_clean_failure(run, 1, "in.jsonl")
    else:
        assert json.loads(run.stdout)["documents"] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["absent.jsonl"], 1, "absent.jsonl"),
        (["folder"], 1, "folder"),
        (["in.jsonl", "--text", "no_such"], 1, "no_such"),
        (["in.jsonl", "--id", "no_such"], 1, "no_such"),
        (["in.unknown"], 1, "--input-format"),
        (["cut.jsonl.gz"], 1, "cut.jsonl.gz"),
        (["noise.parquet"], 1, "noise.parquet"),
        (["noise.arrow"], 1, "noise.arrow"),
        (["in.jsonl", "-t", "0"], 2, "threshold"),
        (["in.jsonl", "-t", "1.5"], 2, "threshold"),
        (["in.jsonl", "--shingle", "chr:3"], 2, "char"),
        (["in.jsonl", "--bands", "many"], 2, "bands"),
        (["in.jsonl", "-o", "no/such/folder/out.parquet"], 1, "out.parquet"),
        (["in.jsonl", "-o", "folder"], None, "folder"),
        (["in.jsonl", "-o", "in.jsonl"], 2, "in.jsonl"),
        ([], 2, "INPUT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_said_with_its_exit_code(tmp_path: Path, arguments, code, word):
    (tmp_path / "in.jsonl").write_bytes(GOOD)
    (tmp_path / "in.unknown").write_bytes(GOOD)
    (tmp_path / "folder").mkdir()
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(GOOD * 100)[:-20])
    (tmp_path / "noise.parquet").write_bytes(os.urandom(500))
    (tmp_path / "noise.arrow").write_bytes(os.urandom(500))
    before = sorted(os.listdir(tmp_path))
    run = neardup("find", *arguments, cwd=tmp_path)
    check_clean_failure(run, run.returncode if code is None and run.returncode in (1, 2) else code, word)
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "in.jsonl").read_bytes() == GOOD


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads every file")
def test_an_unreadable_file_is_named(tmp_path: Path):
    (tmp_path / "in.jsonl").write_bytes(GOOD)
    (tmp_path / "in.jsonl").chmod(0)
    check_clean_failure(neardup("find", tmp_path / "in.jsonl"), 1, "in.jsonl")


def test_a_million_blank_lines_are_counted(tmp_path: Path):
    (tmp_path / "in.jsonl").write_bytes(b"\n" * 1_000_000 + GOOD)
    run = neardup("find", tmp_path / "in.jsonl", "--json", "-o", tmp_path / "out.jsonl")
    assert run.returncode == 0, run.stderr.decode()
    summary = json.loads(run.stdout)
    assert (summary["documents"], summary["blank"], summary["pairs"]) == (2, 1_000_000, 1)
