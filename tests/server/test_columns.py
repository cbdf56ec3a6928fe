"""Columns beside the texts over HTTP: stored, returned, and compared with filters."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import ROSES, Serving

import neardup
from neardup.server.tokens import READ, Tokens

ROSE = ROSES["rose"]
COLUMNS: dict[str, Any] = {"tenant": "a", "n": 1, "deep": {"list": [None, True, 10**30]}}


def test_columns_are_stored_and_come_back(client: TestClient, index: neardup.Index) -> None:
    assert client.post("/documents", json={"id": "c", "text": ROSE, "columns": COLUMNS}).status_code == 201
    for empty in (None, {}):
        assert client.post("/documents", json={"id": f"{empty}", "text": ROSE, "columns": empty}).status_code == 201
    line = json.dumps({"id": "streamed", "text": ROSE, "columns": {"tenant": "b"}})
    told = client.post("/stream", content=line, headers={"content-type": "application/x-ndjson"})
    assert json.loads(told.text)["status"] == "added"
    added = client.post("/documents?if_new=true", json={"id": "new", "text": "All new words.", "columns": {"x": 1}})
    assert added.status_code == 201
    expected = {"c": COLUMNS, "streamed": {"tenant": "b"}, "new": {"x": 1}}
    for id in index:
        assert client.get(f"/documents/{id}").json().get("columns") == expected.get(id)
    assert {
        each["id"]: each["columns"] for each in client.get("/documents").json()["documents"] if "columns" in each
    } == (expected)
    hits = client.post("/query", json={"text": ROSE, "top": 100}).json()["hits"]
    assert {hit["id"]: hit["columns"] for hit in hits if "columns" in hit} == {
        id: columns for id, columns in expected.items() if id != "new"
    }


@pytest.mark.parametrize("kind", [{}, {"nearest": True}, {"nearest": True, "exhaustive": True}, {"exact": False},
                                  {"measure": "containment"}, {"with_text": True}])  # fmt: skip
def test_a_filter_goes_with_every_kind_of_query(client: TestClient, index: neardup.Index, kind: dict[str, Any]) -> None:
    index.add(["c", "d"], [ROSE, ROSE], [COLUMNS, {"tenant": "b", "n": True}])

    def found(**where: Any) -> list[Any]:
        answer = client.post("/query", json={"text": ROSE, "where": where, **kind})
        assert answer.status_code == 200, answer.text
        return [hit["id"] for hit in answer.json()["hits"]]

    assert found(tenant="a") == found(n=1.0) == found(tenant="a", n=1) == ["c"]
    assert found(n=True) == ["d"]
    assert found(tenant="a", n=2) == found(absent=None) == []
    answer = client.post("/query", json={"texts": [ROSE, ROSE], "where": {"tenant": "b"}, **kind})
    assert [[hit["id"] for hit in each["hits"]] for each in answer.json()["results"]] == [["d"], ["d"]]


def test_queries_that_wait_together_keep_their_own_filters(index: neardup.Index, serving: Serving) -> None:
    index.add(["c", "d"], [ROSE, ROSE], [{"t": "a"}, {"t": True}])
    client = serving(index)
    asked = [{"t": "a"}, {"t": True}, {"t": 1}, None]
    every = [client.post("/query", json={"text": ROSE, "where": where}).json()["hits"] for where in asked]
    assert [[hit["id"] for hit in hits] for hits in every] == [["c"], ["d"], [], ["rose", "c", "d", "rose-2"]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"where": {}}, "where"),
        ({"where": {"a": [1]}}, "where"),
        ({"where": {"a": {"b": 1}}}, "where"),
        ({"where": [1]}, "where"),
        ({"where": "a"}, "where"),
        ({"where": {"a": "x" * 17000}}, "where"),
    ],
)
def test_a_filter_that_cannot_be_used_is_named(client: TestClient, body: dict[str, Any], field: str) -> None:
    answer = client.post("/query", json={"text": ROSE, **body})
    assert answer.status_code == 422
    assert answer.json()["field"].startswith(field)


@pytest.mark.parametrize(
    "columns", [[1], "a", {"a": "x" * 17000}, json.loads("[" * 40 + "]" * 40), {"a": [[[1]] * 6000]}]
)
def test_columns_that_cannot_be_stored_are_named(client: TestClient, index: neardup.Index, columns: Any) -> None:
    body = {"id": "c", "text": ROSE, "columns": columns}
    answer = client.post("/documents", json=body)
    assert (answer.status_code, answer.json()["field"]) == (422, "columns")
    told = client.post("/stream", content=json.dumps(body), headers={"content-type": "application/x-ndjson"})
    assert json.loads(told.text)["status"] == "bad"
    assert len(index) == len(ROSES)


def test_documents_are_listed_and_removed_by_their_columns(client: TestClient, index: neardup.Index) -> None:
    index.add([1, 2, 3], [ROSE] * 3, [{"t": "ü&="}, {"t": "b"}, {"t": "ü&="}])
    where = "?where=" + quote(json.dumps({"t": "ü&="}))
    assert [each["id"] for each in client.get("/documents" + where).json()["documents"]] == [1, 3]
    answer = client.delete("/documents" + where)
    assert (answer.status_code, answer.json()) == (200, {"removed": 2})
    assert list(index) == [*ROSES, 2]
    assert client.delete("/documents" + where).json() == {"removed": 0}


@pytest.mark.parametrize("given", ["where=", "where={}", "where=[]", "where={a:1}", 'where={"a":[1]}',
                                   'where={"a":NaN}', 'where={"a":1}&older_than=1d',
                                   'where={"a":1}&dry_run=true'])  # fmt: skip
def test_nothing_is_removed_by_a_filter_that_cannot_be_used(
    client: TestClient, index: neardup.Index, given: str
) -> None:
    index.add("c", ROSE, {"a": 1})
    answer = client.delete(f"/documents?{given}")
    assert answer.status_code == 422
    assert answer.json()["field"] in ("where", "older_than", "dry_run")
    assert "c" in index


def test_a_reader_may_not_remove_by_columns(index: neardup.Index, serving: Serving) -> None:
    client = serving(index, tokens=Tokens({"word": READ}))
    answer = client.delete('/documents?where={"a":1}', headers={"authorization": "Bearer word"})
    assert answer.status_code == 403
