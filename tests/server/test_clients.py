"""Clients that common generators make of ``/openapi.json`` talk to a real service: insert, query, stream, remove.

In Python with openapi-python-client. In TypeScript with openapi-typescript, openapi-fetch and typescript 5, where the
environment variable NEARDUP_NODE_MODULES names a folder that npm has put them into.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.running import Running
from tests.warm import LIMIT

from neardup.server import openapi
from neardup.server.limits import ServiceLimits

HERE = Path(__file__).resolve().parent
TOKEN = "word-of-the-writer"


@pytest.fixture
def service(folder: Path, tmp_path: Path, running: Callable[..., Running]) -> Running:
    """A service over the small index that asks for a token."""
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(f"write {TOKEN}\n")
    tokens.chmod(0o600)
    return running(folder, "--token-file", str(tokens))


def described(service: Running) -> bytes:
    """What the service says of itself."""
    asked = urllib.request.Request(f"{service.url}/openapi.json", headers={"authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(asked) as answer:
        return answer.read()


@pytest.fixture
def generated(service: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name of the package that openapi-python-client makes, without a warning; it can be imported."""
    pytest.importorskip("openapi_python_client", reason="openapi-python-client is not installed")
    from openapi_python_client import generate
    from openapi_python_client.config import Config, ConfigFile, MetaType

    source = tmp_path / "openapi.json"
    source.write_bytes(described(service))
    config = Config.from_sources(
        ConfigFile(post_hooks=[]), MetaType.NONE, source, "utf-8", overwrite=False, output_path=tmp_path / "made_client"
    )
    assert generate(config=config) == []
    monkeypatch.syspath_prepend(tmp_path)
    yield "made_client"
    for name in [name for name in sys.modules if name.partition(".")[0] == "made_client"]:
        del sys.modules[name]


def test_the_python_client_inserts_queries_streams_and_removes(generated: str, service: Running) -> None:
    def module(name: str) -> Any:
        return importlib.import_module(f"{generated}.{name}")

    def call(name: str, *words: Any, **options: Any) -> Any:
        return module(f"api.default.{name}").sync(*words, client=client, **options)

    models, types = module("models"), module("types")
    with module("client").AuthenticatedClient(base_url=service.url, token=TOKEN) as client:
        fox = "the quick brown fox jumps over the lazy dog"
        assert call("add_document", body=models.Document(id="a/fox", text=fox)).status == "added"
        assert call("get_document", "a/fox").text == fox
        answer = call("query", body=models.QueryText(text=fox + "!", passages=True))
        assert isinstance(answer, models.Answer)
        assert [hit.id for hit in answer.hits] == ["a/fox"]
        assert answer.hits[0].marks == [[0, len(fox)]]
        several = call(
            "query", body=models.QueryTexts(texts=[fox, "the lazy dog"], nearest=True, exhaustive=True, top=1)
        )
        assert isinstance(several, models.Answers)
        assert [len(each.hits) for each in several.results] == [1, 1]

        lines = [{"id": 1, "text": "one line"}, {"id": "a/fox", "text": "again"}, {"id": 2}]
        sent = io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        told = call("stream_documents", body=types.File(payload=sent))
        statuses = [models.LineStatus.from_dict(json.loads(line)) for line in told.payload]
        assert [(each.line, each.status) for each in statuses] == [(1, "added"), (2, "duplicate"), (3, "bad")]

        listed = call("list_documents", prefix="a/")
        assert [document.id for document in listed.documents] == ["a/fox"]
        assert listed.documents[0].added.year >= 2024
        removed = module("api.default.remove_document").sync_detailed("a/fox", client=client)
        assert removed.status_code == 204
        problem = call("get_document", "a/fox")
        assert isinstance(problem, models.ProblemBody)
        assert problem.field == "id"
        assert call("remove_old_documents", older_than="1d", dry_run=True).removed == 0
        assert call("info").read_only is False
        assert call("statistics").documents == call("info").documents
        assert call("ready").status == call("health").status == "ok"
        assert "neardup_documents" in call("metrics")
        assert call("openapi").to_dict()["openapi"] == "3.1.0"


@pytest.mark.slow
def test_the_typescript_client_inserts_queries_streams_and_removes(service: Running, tmp_path: Path) -> None:
    modules = os.environ.get("NEARDUP_NODE_MODULES")
    node = shutil.which("node")
    if node is None or modules is None:
        pytest.skip("node is not at hand, or NEARDUP_NODE_MODULES names no folder with openapi-typescript")
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "openapi.json").write_bytes(described(service))
    shutil.copy(HERE / "client.ts", tmp_path)
    options = "--strict --target es2022 --module commonjs --moduleResolution node10 --types node --skipLibCheck"
    for command in (
        ["node_modules/openapi-typescript/bin/cli.js", "openapi.json", "-o", "api.ts"],
        ["node_modules/typescript/bin/tsc", *options.split(), "client.ts"],
        ["client.js", service.url, TOKEN],
    ):
        done = subprocess.run(
            [node, *command], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "done\n"


def test_every_operation_has_a_name_and_every_schema_a_type() -> None:
    """What generators make names and types of. Where a type is left open they make ``Any`` or nothing."""
    told = openapi.document(ServiceLimits(), 0.7)
    operations = [
        operation for methods in told["paths"].values() for name, operation in methods.items() if name != "parameters"
    ]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    parameters = [each for operation in operations for each in operation.get("parameters", [])]
    assert all(each["schema"].get("type") for each in parameters)
    for schema in told["components"]["schemas"].values():
        assert schema["type"] == "object"
        assert set(schema.get("required", ())) <= set(schema["properties"])
    assert '"items": false' not in json.dumps(told)
