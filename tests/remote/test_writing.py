"""Outputs at addresses: the same bytes as in files, each object whole or not at all, all of a run or none."""

from __future__ import annotations

import gc
import json
import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from tests import warm
from tests.remote.conftest import Bucket, lines
from tests.remote.test_reading import told

import neardup
from neardup.cli import main
from neardup.errors import InputError, OutputError
from neardup.outputs import uploads
from neardup.outputs.atomic import AtomicFiles
from neardup.outputs.renames import Rename, UnfinishedError

LARGE = (2 * uploads.PART) + 12_345
"""Bytes of an object of three parts, the last a small one."""


def run(*words: str) -> None:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output


def write(outputs: dict[Any, bytes], check: Callable[[], object] = lambda: None) -> None:
    with AtomicFiles() as files:
        for target, data in outputs.items():
            files.open(target).write(data)
        check()


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_clean_copies_and_tables_are_those_that_files_get(folder: Path, bucket: Bucket, tmp_path: Path) -> None:
    source, there, here = bucket.put_folder(folder, "raw"), f"s3://{bucket.name}/out", tmp_path / "out"
    here.mkdir()
    how = ("--shingle", "word:2", "-t", "0.5", "--on-bad", "skip")
    for inputs, out in ((str(folder), str(here)), (source, there)):
        run("dedup", inputs, "-o", f"{out}/clean/", "--removed", f"{out}/removed.csv", *how)
        run("find", inputs, "-o", f"{out}/pairs.jsonl", "--clusters", f"{out}/clusters.jsonl.gz", *how)
    wanted = files_of(here)
    found = {key.removeprefix("out/"): data for key, data in bucket.objects().items() if key.startswith("out/")}
    assert len(wanted) > 8
    assert sorted(found) == sorted(wanted)
    for name, data in found.items():
        if name.endswith(".gz") and not name.startswith("clean/"):
            continue  # it has the names of the inputs in it, packed
        assert data.replace(source.encode(), str(folder).encode()) == wanted[name], name


def test_a_copy_of_one_object_goes_where_it_is_named_and_replaces_what_was_there(bucket: Bucket) -> None:
    address = bucket.put("x.jsonl", lines("one two three four", "one two three four", "else"))
    bucket.put("y.jsonl", b"old")
    cleaned = neardup.dedup(address, output=f"s3://{bucket.name}/y.jsonl")
    assert cleaned.data == [f"s3://{bucket.name}/y.jsonl"]
    assert bucket.objects()["y.jsonl"] == lines("one two three four", "else")


def test_a_file_of_this_machine_is_copied_to_an_address_and_back(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text\na b c d e\na b c d e\nf\n")
    run("dedup", str(tmp_path / "x.csv"), "-o", f"s3://{bucket.name}/y.csv")
    run("dedup", f"s3://{bucket.name}/y.csv", "-o", str(tmp_path / "z.csv"))
    assert (tmp_path / "z.csv").read_text() == "text\na b c d e\nf\n"


@pytest.mark.parametrize("size", [0, 1, uploads.PART, uploads.PART + 1, LARGE])
def test_an_object_is_seen_when_it_is_finished_and_not_before(bucket: Bucket, tmp_path: Path, size: int) -> None:
    made = tmp_path / "made"
    made.write_bytes(random.Random(size).randbytes(size))
    sent = uploads.Uploads(lambda: iter([Rename(str(made), f"s3://{bucket.name}/x.gz")]))
    sent.begin()
    assert bucket.objects() == {}
    sent.finish()
    assert bucket.objects() == {"x.gz": made.read_bytes()}


def test_what_is_given_up_is_never_seen_not_even_at_the_end_of_the_process(bucket: Bucket) -> None:
    code = (
        "import sys; from neardup.outputs.atomic import AtomicFiles\n"
        "from neardup.outputs import uploads\n"
        "uploads.Uploads.finish = lambda self: sys.exit('stopped')\n"
        "with AtomicFiles() as files:\n"
        "    files.open(sys.argv[1]).write(bytes(uploads.PART + 1))\n"
        "    files.open(sys.argv[2]).write(b'small')\n"
    )
    done = warm.run(
        ["-c", code, f"s3://{bucket.name}/large", f"s3://{bucket.name}/small"], env=dict(os.environ), encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (1, "stopped\n")
    assert bucket.objects() == {}


def test_on_an_error_nothing_is_written_and_what_was_there_stays(bucket: Bucket) -> None:
    address = bucket.put("x.csv", b"old")
    with pytest.raises(ZeroDivisionError):
        write({address: b"new", f"s3://{bucket.name}/y.csv": b"new"}, lambda: 1 / 0)
    gc.collect()
    assert bucket.objects() == {"x.csv": b"old"}


def test_the_first_output_is_there_before_the_others_and_a_table_here_before_the_copies(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[list[str], bool]] = []
    plain = uploads.Uploads._finish

    def finish(self: uploads.Uploads, rename: Rename) -> None:
        plain(self, rename)
        seen.append((sorted(bucket.objects()), (tmp_path / "here.csv").exists()))

    monkeypatch.setattr(uploads.Uploads, "_finish", finish)
    with AtomicFiles() as files:
        for name in ("c", "a", "b"):
            files.open(f"s3://{bucket.name}/{name}").write(b"x")
        files.open(tmp_path / "here.csv").write(b"x")
    assert seen[0] == (["c"], False)
    seen.clear()
    with AtomicFiles() as files:
        files.open(tmp_path / "here.csv").write(b"x")
        files.open(f"s3://{bucket.name}/d").write(b"x")
    assert seen == [(["a", "b", "c", "d"], True)]


@contextmanager
def refusing_proxy(to: str, refuses: Any) -> Iterator[str]:
    """Passes requests on, but for those that it refuses by method and path; its address."""
    target = urlsplit(to).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self._body()
            if refuses(self.command, self.path):
                status, data, headers = 403, b"<Error><Code>AccessDenied</Code></Error>", []
            else:
                passed = HTTPConnection(target)
                given = {k: v for k, v in self.headers.items() if k.lower() not in ("transfer-encoding", "expect")}
                passed.request(self.command, self.path, body, {**given, "Content-Length": str(len(body))})
                answer = passed.getresponse()
                status, data, headers = answer.status, answer.read(), answer.getheaders()
                passed.close()
            self.send_response(status)
            kept = [
                (k, v) for k, v in headers if k.lower() not in ("content-length", "transfer-encoding", "connection")
            ]
            size = dict(headers).get("Content-Length", "0") if self.command == "HEAD" else str(len(data))
            for name, value in [*kept, ("Content-Length", size)]:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                found += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return found

        do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_part_that_the_store_refuses_leaves_no_object(
    bucket: Bucket, server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusing_proxy(server["AWS_ENDPOINT_URL"], lambda method, path: "partNumber=2" in path) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        above = f"s3://{bucket.name}"
        with pytest.raises(OutputError, match=r"large cannot be written: .*not allowed"):
            write({f"{above}/small": b"x", f"{above}/large": bytes(LARGE), tmp_path / "here": b"x"})
        gc.collect()
    assert bucket.objects() == {}
    assert os.listdir(tmp_path) == []


def test_where_some_objects_are_there_and_one_is_refused_it_is_said_which(
    bucket: Bucket, server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusing_proxy(
        server["AWS_ENDPOINT_URL"], lambda method, path: method != "GET" and "second" in path
    ) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        said = r"second cannot be written.*1 of the outputs are there already.*first"
        with pytest.raises(UnfinishedError, match=said):
            write({f"s3://{bucket.name}/first": b"x", f"s3://{bucket.name}/second": b"x"})
        gc.collect()
    assert bucket.objects() == {"first": b"x"}


def test_who_may_not_write_hears_it_before_the_run(
    bucket: Bucket, server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = bucket.put("x.jsonl", lines("a", "b"))
    with refusing_proxy(server["AWS_ENDPOINT_URL"], lambda method, path: method in ("PUT", "POST")) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        monkeypatch.setattr("neardup.inputs.stores._stores", {})
        monkeypatch.setattr("neardup.session.Run.__enter__", lambda self: pytest.fail("the run began"))
        for words in (("find", source, "-o"), ("dedup", source, "-o")):
            assert "not allowed with the credentials" in told(*words, f"s3://{bucket.name}/y/x.jsonl")
    assert sorted(bucket.objects()) == ["x.jsonl"]


def test_a_trial_leaves_nothing_that_is_seen(bucket: Bucket) -> None:
    uploads.check_writable(f"s3://{bucket.name}/some/x.csv")
    assert bucket.objects() == {}
    bucket.put("some/x.csv/y", b"")
    with pytest.raises(OutputError, match="there are objects below it"):
        uploads.check_writable(f"s3://{bucket.name}/some/x.csv")


def test_an_output_is_no_input_and_lies_in_none(bucket: Bucket) -> None:
    source = bucket.put("in/x.jsonl", lines("a", "b"))
    above = source.removesuffix("/x.jsonl")
    assert "is an input too" in told("find", source, "-o", source)
    assert "is an input too" in told("find", above, "-o", source)
    assert "is an input too" in told("find", f"{above}/*.jsonl", "-o", source)
    assert "is the input" in told("dedup", source, "-o", source)
    assert "is inside the folder" in told("dedup", above, "-o", f"{above}/clean")


def test_copies_go_on_where_a_run_was_interrupted(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = bucket.put("in/x.jsonl", lines("a b c d e f", "a b c d e f", "g")).removesuffix("/x.jsonl")
    bucket.put("in/y.jsonl", lines("h i j k l m", "a b c d e f"))
    out, work = f"s3://{bucket.name}/out", tmp_path / "work"
    with monkeypatch.context() as patch:
        patch.setattr(uploads.Uploads, "begin", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            neardup.dedup(Path(source), output=out, workdir=work)
    assert sorted(bucket.objects()) == ["in/x.jsonl", "in/y.jsonl"]
    neardup.dedup(Path(source), output=out, workdir=work, resume=True)
    found = bucket.objects()
    assert found["out/x.jsonl"] == lines("a b c d e f", "g")
    assert found["out/y.jsonl"] == lines("h i j k l m")
    assert os.listdir(tmp_path) == []


def test_what_fsspec_reaches_is_written_under_another_name_first() -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec: pip install 'neardup[remote]'")
    store = fsspec.filesystem("memory")
    store.pipe({"/from/x.jsonl": lines("one two three", "one two three"), "/to/x.jsonl": b"old"})
    neardup.dedup(Path("memory://from/x.jsonl"), output="memory://to/x.jsonl")
    assert store.find("/to") == ["/to/x.jsonl"]
    assert json.loads(store.cat("/to/x.jsonl"))["text"] == "one two three"
    with pytest.raises(InputError, match="does not exist"):
        neardup.dedup(Path("memory://from/y.jsonl"), output="memory://to/x.jsonl")


def test_where_no_name_can_be_changed_a_file_is_written_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec", reason="needs fsspec: pip install 'neardup[remote]'")
    store = fsspec.filesystem("memory")
    monkeypatch.setattr(type(store), "mv", lambda *_, **__: 1 / 0)
    store.pipe({"/flat/x.jsonl": lines("one two three", "one two three"), "/flat/to/x.jsonl": b"old"})
    neardup.dedup(Path("memory://flat/x.jsonl"), output="memory://flat/to/x.jsonl")
    assert store.find("/flat/to") == ["/flat/to/x.jsonl"]
    assert store.cat("/flat/to/x.jsonl") == lines("one two three")
