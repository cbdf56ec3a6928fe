"""A server that speaks S3, and a bucket of its own for each test."""

from __future__ import annotations

import gzip
import json
import random
import warnings
import zipfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from tests.remote.stores import running_store

_numbers = count()


def lines(*texts: str) -> bytes:
    return "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()


@pytest.fixture(scope="session")
def server() -> Iterator[dict[str, str]]:
    with running_store() as found:
        yield found


class Bucket:
    """A bucket, by the client of its makers."""

    def __init__(self, client: Any, name: str) -> None:
        self._client, self.name = client, name
        client.create_bucket(Bucket=name)

    def put(self, key: str, data: bytes) -> str:
        """Write an object; its address."""
        self._client.put_object(Bucket=self.name, Key=key, Body=data)
        return f"s3://{self.name}/{key}"

    def put_folder(self, folder: Path, under: str) -> str:
        """Write the files of a folder; their address."""
        for path in folder.rglob("*"):
            if path.is_file():
                self.put(f"{under}/{path.relative_to(folder).as_posix()}", path.read_bytes())
        return f"s3://{self.name}/{under}"

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket=self.name, Key=key)

    def objects(self) -> dict[str, bytes]:
        """All objects that are seen, by their keys."""
        found = self._client.list_objects_v2(Bucket=self.name).get("Contents", [])
        keys = [each["Key"] for each in found]
        return {key: self._client.get_object(Bucket=self.name, Key=key)["Body"].read() for key in keys}


@pytest.fixture
def bucket(server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Bucket:
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import boto3

        return Bucket(boto3.client("s3"), f"bucket-{next(_numbers)}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of each kind, several with the same texts, and with what is passed over."""
    rng = random.Random(7)
    texts = [
        " ".join(rng.choices(["one", "two", "three", "four", "five", "six", "seven", "eight"], k=30)) for _ in range(60)
    ]
    top = tmp_path / "in"
    (top / "sub" / ".git").mkdir(parents=True)
    (top / "a.jsonl").write_bytes(lines(*texts[:20], texts[3]))
    (top / "b.jsonl.gz").write_bytes(gzip.compress(lines(*texts[20:40]), mtime=0))
    table = pa.table({"id": [f"p{i}" for i in range(60)], "text": texts})
    pq.write_table(table, top / "sub" / "c.parquet", row_group_size=13)
    feather.write_feather(table, top / "sub" / "d.arrow")
    (top / "e.csv").write_text("id,text\n" + "".join(f"c{i},{text}\n" for i, text in enumerate(texts[:9])))
    for i, text in enumerate(texts[:5]):
        (top / f"t{i}.txt").write_text(text)
    (top / "web.html").write_text(f"<html><body><p>{texts[7]}</p></body></html>")
    with zipfile.ZipFile(top / "z.zip", "w") as archive:
        archive.writestr("in.jsonl", lines(*texts[:4]))
    (top / "empty.jsonl").touch()
    (top / ".hidden.jsonl").write_bytes(lines("hidden"))
    (top / "sub" / ".git" / "x.jsonl").write_bytes(lines("hidden"))
    (top / "photo.jpg").write_bytes(b"\xff\xd8")
    (top / "config.json").write_text('{\n"a": 1}')
    return top
