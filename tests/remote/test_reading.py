"""Inputs at addresses: the same records as from files, the same rules for folders, and faults in words."""

from __future__ import annotations

import glob
import gzip
import io
import itertools
import os
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.remote.conftest import Bucket, lines
from tests.remote.stores import variables

import neardup
from neardup.cli import main
from neardup.engine.observe import Silent
from neardup.errors import InputChanged, InputError, MissingDependency
from neardup.inputs import remote, stores
from neardup.inputs.addresses import real_place
from neardup.inputs.reader import open_inputs
from neardup.inputs.stream import ByteStream, open_at

HOSTILE = [
    "a b.jsonl",
    "a%20b.jsonl",
    "50%.jsonl",
    "#1.jsonl",
    "a?b=c.jsonl",
    "é漢.jsonl",
    "e\u0301.jsonl",
    "[x].jsonl",
]


def records(path: str | Path, **options: Any) -> list[tuple[str, Any, bytes]]:
    """Source below what was given, id and text of each document."""
    found = []
    for part in open_inputs(path, **options).parts:
        for task in part.tasks():
            batch = task()
            ids = batch.ids.to_pylist() if batch.ids is not None else batch.rows.tolist()
            documents = batch.documents
            bounds = documents.offsets.tolist()
            texts = [documents.data[a:b].tobytes() for a, b in itertools.pairwise(bounds)]
            below = [str(each).removeprefix(str(path)) for each in ids]
            found += [(name, part.name.removeprefix(str(path)), text) for name, text in zip(below, texts, strict=True)]
    return found


def test_a_folder_is_read_as_its_files_are_by_the_same_rules(folder: Path, bucket: Bucket) -> None:
    address = bucket.put_folder(folder, "some/in")
    bucket.put("some/in/", b"")  # as consoles make folders
    bucket.put("some/in/void/", b"")
    here, there = open_inputs(folder), open_inputs(address)
    assert [part.name.replace(address, str(folder)) for part in there.parts] == [part.name for part in here.parts]
    assert there.total_bytes == here.total_bytes
    found = [(each.reason, each.suffix, each.count) for each in there.passed_over]
    assert found == [(each.reason, each.suffix, each.count) for each in here.passed_over]
    assert len(found) > 2
    assert records(address) == records(folder) != []


def test_pairs_of_an_address_are_those_of_the_files(folder: Path, bucket: Bucket) -> None:
    address = bucket.put_folder(folder, "x")
    here = neardup.find(folder, shingle="word:2", threshold=0.5).pairs.to_pylist()
    there = neardup.find(Path(address), shingle="word:2", threshold=0.5).pairs.to_pylist()
    named = [{k: v.replace(address, str(folder)) if isinstance(v, str) else v for k, v in row.items()} for row in there]
    assert named == here != []


def test_a_pattern_names_what_it_names_in_a_folder(folder: Path, bucket: Bucket) -> None:
    address = bucket.put_folder(folder, "deep/in")
    for pattern in ("*.jsonl", "*", "**/*.parquet", "*/c.parquet", "t[0-2].txt", "?.csv", "s*/*.[ap]*", ".h*", "**"):
        wanted = sorted(
            os.path.relpath(p, folder) for p in glob.glob(f"{folder}/{pattern}", recursive=True) if os.path.isfile(p)
        )
        found = [
            path.removeprefix(f"{address}/")
            for path, each in remote.matching(f"{address}/{pattern}")
            if not each.is_folder
        ]
        assert sorted(found) == wanted, pattern
    with pytest.raises(InputError, match="no file matches"):
        open_inputs(f"{address}/*.none")


@pytest.mark.parametrize("first", [0, 1, 999, 1000, 3500, 5000, 9999])
def test_a_stream_gives_the_bytes_from_any_place_on(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr(remote, "_FIRST", 1000)
    monkeypatch.setattr(remote, "PIECE", 700)
    data = random.Random(1).randbytes(5000)
    with open_at(bucket.put("x.bin", data), first) as stream:
        assert stream.read(3) == data[first : first + 3]
        assert b"".join(iter(lambda: stream.read(450), b"")) == data[first + 3 :]
        assert stream.tell() == min(5000, max(first, min(first, 5000) + len(data[first:])))
    with ByteStream(bucket.put("x.jsonl.gz", gzip.compress(data))) as packed:
        assert packed.read(6000) == data
        assert packed.stored == len(gzip.compress(data))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_is_taken_as_it_is(bucket: Bucket, name: str) -> None:
    bucket.put(f"in/{name}", lines("a text"))
    bucket.put("in/other.txt", b"other")
    address = f"s3://{bucket.name}/in/{name}"
    assert address in [part.name for part in open_inputs(f"s3://{bucket.name}/in").parts]
    if "?" not in name:  # which could be options
        assert [row[2] for row in records(Path(address))] == [b"a text"]
    else:
        assert [row[2] for row in records(address.replace("?", "[?]"))] == [b"a text"]


def test_a_name_that_no_client_can_ask_for_is_told(bucket: Bucket) -> None:
    bucket.put("in//x.jsonl", lines("a text"))
    bucket.put("in/y.jsonl", lines("a text"))
    with pytest.raises(InputError, match=r"in//x\.jsonl cannot be read: its name has two slashes in a row"):
        open_inputs(f"s3://{bucket.name}/in")


def test_of_parquet_only_the_columns_that_are_needed_are_fetched(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neardup.inputs.columnar.parquet.PAGE_BYTES", 1 << 10)  # else what lies between is fetched too
    monkeypatch.setattr("neardup.inputs.columnar.parquet.NEAR_BYTES", 1)  # each row group by itself, the next ahead
    rng = random.Random(3)
    texts = [f"text {i}" for i in range(2000)]
    table = pa.table({"blob": [rng.randbytes(1000) for _ in texts], "text": texts})
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=500, compression="none")
    address = bucket.put("x.parquet", out.getvalue())
    asked: list[int] = []
    plain = remote.RemoteFile.range
    monkeypatch.setattr(
        remote.RemoteFile, "range", lambda self, start, size: asked.append(size) or plain(self, start, size)
    )
    assert [row[2].decode() for row in records(address)] == texts
    assert sum(asked) < 0.2 * len(out.getvalue())


@pytest.mark.parametrize("what", ["replaced by another", "removed"])
def test_an_object_that_changes_while_it_is_read_is_noticed(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(remote, "_FIRST", 1000)
    monkeypatch.setattr(remote, "PIECE", 1000)
    address = bucket.put("x.jsonl", lines(*"abcdefgh" * 100))
    with open_at(address) as stream:
        assert len(stream.read(500)) == 500
        if what == "removed":
            bucket.delete("x.jsonl")
        else:
            bucket.put("x.jsonl", lines(*"hgfedcba" * 100))  # as large
        with pytest.raises(InputChanged, match=f"{address} was {what}"):
            list(iter(lambda: stream.read(1000), b""))


def test_a_clean_copy_of_an_object_that_was_replaced_is_not_made(bucket: Bucket, tmp_path: Path) -> None:
    address = bucket.put("x.jsonl", lines("one two three four five six", "one two three four five six", "else"))

    class Replacing(Silent):
        def stage(self, name: str, total: int | None, unit: str) -> None:
            if name == "choose":
                bucket.put("x.jsonl", lines("one two three four five six", "else", "one two three four five six"))

    with pytest.raises(InputChanged, match=r"x\.jsonl"):
        neardup.dedup(address, output=tmp_path / "clean.jsonl", observer=Replacing())
    assert os.listdir(tmp_path) == []


@contextmanager
def answering(old: bytes, new: bytes, *, tag: str) -> Iterator[int]:
    """Serve an object that is ``old`` until its bytes are requested, which are ``new``; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        now, tag_now = old, "old"

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("ETag", f'"{type(self).tag_now}"')
            self.send_header("Content-Length", str(len(type(self).now)))
            self.end_headers()

        def do_GET(self) -> None:
            type(self).tag_now = tag
            part = new[: len(old)]
            self.send_response(206)
            self.send_header("ETag", f'"{tag}"')
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part)
            type(self).now = new if tag != "old" else old

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize(
    ("new", "tag", "said"),
    [
        (b"other text\n" * 30, "new", "was replaced by another"),
        (b"other text\n" * 3, "new", "was replaced by another"),
        (b"text " * 4 + b"\n" * 30, "new", "was replaced by another"),  # as large
        (b"<p>Log in", "old", "gave fewer than the 50 bytes"),
        (b"", "old", "gave fewer than the 50 bytes"),
    ],
)
@pytest.mark.parametrize("last", [b"\n", b"\xc1", b"\x3e"])
def test_a_small_object_is_read_as_it_is_or_not_at_all(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, new: bytes, tag: str, said: str, last: bytes
) -> None:
    old = b"text " * 9 + b"text" + last
    with answering(old, new, tag=tag) as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        with open_at(f"s3://small-{port}/x.txt") as stream, pytest.raises(InputError, match=said):
            list(iter(lambda: stream.read(1000), b""))
    with answering(old, old, tag="old") as port:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        with open_at(f"s3://small-{port}/x.txt") as stream:
            assert b"".join(iter(lambda: stream.read(1000), b"")) == old


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3a://bucket/x", "s3://bucket/x/"),
        ("abfss://c@a.dfs.core.windows.net/x", "abfs://c@a.dfs.core.windows.net/x"),
        ("ssh://Me@Host/x//y", "sftp://Me@host/x/y"),
        ("hdfs://NameNode:8020//x", "hdfs://namenode:8020/x"),
    ],
)
def test_two_spellings_of_an_address_are_one(one: str, other: str) -> None:
    assert real_place(one) == real_place(other)
    assert real_place(one) != real_place(other + "X")


@pytest.mark.parametrize("scheme", ["s3", "gs", "abfs", "hdfs", "sftp", "memory"])
@pytest.mark.parametrize("rest", ["./x.jsonl", "in/../x.jsonl", "in/..", "."])
def test_an_address_that_leads_elsewhere_is_refused(scheme: str, rest: str) -> None:
    with pytest.raises(InputError, match=r"has '\.' or '\.\.' between slashes"):
        real_place(f"{scheme}://bucket/{rest}")


def test_an_output_whose_address_leads_to_the_input_is_refused(bucket: Bucket) -> None:
    address = bucket.put("x.jsonl", data := lines("one two three", "one two three"))
    for name in ("./x.jsonl", "y/../x.jsonl"):
        assert "between slashes" in told("dedup", address, "-o", f"s3://{bucket.name}/{name}")
    assert bucket.objects() == {"x.jsonl": data}


@contextmanager
def refusing(status: int, body: bytes) -> Iterator[int]:
    """A server that gives one answer to all; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def told(*words: str) -> str:
    """What the command says on failing, in one line."""
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code in (1, 2), result.output
    assert "Traceback" not in result.output
    assert "s3cr3t" not in result.output
    return " ".join(result.stderr.split())


def test_what_is_not_there_is_told_with_its_address(bucket: Bucket) -> None:
    assert f"s3://{bucket.name}/x.jsonl does not exist. Check the bucket" in told("find", f"s3://{bucket.name}/x.jsonl")
    assert "s3://nobody/x.jsonl does not exist. Check the bucket" in told("find", "s3://nobody/x.jsonl")
    assert "no file matches s3://nobody/*.jsonl" in told("find", "s3://nobody/*.jsonl")
    assert "does not exist" in told("dedup", "s3://nobody", "-o", "x")


def test_who_is_refused_reads_which_variables_count(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    with refusing(403, b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>") as port:
        for name, value in variables(port).items():
            monkeypatch.setenv(name, value)
        for place in ("x.jsonl", "*.jsonl"):
            message = told("find", f"s3://denied-{port}/{place}")
            assert "not allowed with the credentials at hand" in message
            assert "AWS_ACCESS_KEY_ID" in message


def test_a_store_that_does_not_answer_is_told(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    message = told("find", f"s3://silent-{port}/x.jsonl")
    assert "the store does not answer" in message
    assert "AWS_ENDPOINT_URL" in message


def test_a_store_that_says_nothing_is_not_waited_for(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "SILENCE", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(20)
        port = silent.getsockname()[1]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        assert "the store does not answer" in told("find", f"s3://mute-{port}/x.jsonl")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://key:s3cr3t@bucket/x.jsonl", "has a key or a password in it"),
        ("s3://bucket/x.jsonl?secret_key=s3cr3t", "is followed by options"),
        ("abfss://box:s3cr3t@account.dfs.core.windows.net/x.jsonl", "has a key or a password in it"),
        ("s3://bucket/x.jsonl", "workdir is s3://bucket2"),
    ],
)
def test_what_an_address_must_not_say_is_refused_and_never_shown(bucket: Bucket, address: str, said: str) -> None:
    if "workdir" in said:
        address = bucket.put("x.jsonl", lines("a", "b"))
        assert said in told("find", address, "--workdir", "s3://bucket2/place")
        return
    assert said in told("find", address)
    assert said in told("find", bucket.put("x.jsonl", lines("a")), "-o", address)


def test_a_list_that_begins_with_an_address_is_no_list_of_texts(bucket: Bucket) -> None:
    with pytest.raises(InputError, match="Give Path objects"):
        neardup.find(["s3://bucket/x.jsonl", "s3://bucket/y.jsonl"])


def test_an_address_of_a_file_is_its_path(tmp_path: Path) -> None:
    (tmp_path / "a b.jsonl").write_bytes(lines("a text"))
    for address in (f"file://{tmp_path}/a b.jsonl", f"file://{tmp_path}/a%20b.jsonl"):
        assert [row[2] for row in records(address)] == [b"a text"]


def test_other_addresses_are_read_through_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec: pip install 'neardup[remote]'")
    fsspec.filesystem("memory").pipe({"/box/in/x.jsonl": lines("a", "b"), "/box/in/sub/y.txt": b"c"})
    assert [row[2] for row in records("memory://box/in")] == [b"c", b"a", b"b"]
    monkeypatch.setattr(stores, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"pip install 'neardup\[remote\]'"):
        open_inputs("sftp://host/x.jsonl")
