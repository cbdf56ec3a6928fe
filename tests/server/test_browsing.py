"""Looking around over HTTP: pages of documents, numbers, the nearest below the threshold, and containment."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import ROSES
from tests.warm import LIMIT

import neardup
from neardup.server.jobs import IndexReader
from neardup.server.limits import ServiceLimits
from neardup.server.problems import Problem
from neardup.server.wire import Query

ROSE = ROSES["rose"]
FAR = "A rose is a rose, said nobody, and the fox went home in the rain."


def pages(client: TestClient, **parameters: Any) -> list[list[dict[str, Any]]]:
    """The documents of each page, from the first to the last."""
    found: list[list[dict[str, Any]]] = []
    while True:
        answer = client.get("/documents", params=parameters).json()
        found.append(answer["documents"])
        if "next" not in answer:
            return found
        parameters["after"] = answer["next"]


def test_pages_together_are_all_documents(client: TestClient) -> None:
    def told(**parameters: Any) -> list[dict[str, Any]]:
        found = [document for page in pages(client, **parameters) for document in page]
        assert all(document.pop("added").endswith("Z") for document in found)
        return found

    assert [len(page) for page in pages(client, size=3, opening=6)] == [3, 1]
    assert told(size=3, opening=6) == [
        {"id": id, "characters": len(text), "opening": text[:6]} for id, text in ROSES.items()
    ]
    assert told(order="newest", opening=0) == [{"id": id} for id in reversed(ROSES)]
    assert told(prefix="rose-", opening=0) == [{"id": "rose-2"}]


def test_a_prefix_may_be_any_text(index: neardup.Index, client: TestClient) -> None:
    index.add(["ä&b=%", "ä"], ["one", "another"])
    assert [document["id"] for page in pages(client, prefix="ä&") for document in page] == ["ä&b=%"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("size=0", "size"),
        ("size=201", "size"),
        ("size=ten", "size"),
        ("opening=1001", "opening"),
        ("after=-1", "after"),
        ("after=99999999999999999999", "after"),
        ("order=id", "order"),
        ("prefix=" + "a" * 1025, "prefix"),
        ("pages=2", "pages"),
        ("size=1&size=2", "size"),
        ("prefix=%ff", None),
    ],
)
def test_parameters_that_cannot_be_used_are_named(client: TestClient, query: str, field: str | None) -> None:
    answer = client.get(f"/documents?{query}")
    assert answer.status_code == 422
    assert answer.json().get("field") == field


def test_statistics_are_those_of_the_index_and_since_the_start(index: neardup.Index, client: TestClient) -> None:
    index.add(["copy"], [ROSE])
    told = client.get("/statistics").json()
    assert (told["documents"], told["distinct"], told["copied"], told["sharing"]) == (5, 4, 2, 3)
    assert (told["documents_at_start"], told["changes_since_start"]) == (4, 1)
    assert told["recall_curve"][-1] == {"similarity": 1.0, "probability": 1.0}


def test_the_nearest_lie_below_the_threshold_too(index: neardup.Index, client: TestClient) -> None:
    assert client.post("/query", json={"text": FAR}).json() == {"hits": []}
    hits = client.post("/query", json={"text": FAR, "nearest": True, "exhaustive": True}).json()["hits"]
    assert [hit["id"] for hit in hits] == ["rose", "rose-2", 17]
    for hit in hits:
        assert hit["similarity"] == neardup.jaccard(FAR, ROSES[hit["id"]], "char:5")
        assert hit["recall"] == 1.0
    by_bands = client.post("/query", json={"text": FAR, "nearest": True}).json()["hits"]
    assert [hit["id"] for hit in by_bands] == [hit["id"] for hit in hits if hit["bands"]]
    shape = index.spec.bands
    for hit in by_bands:
        assert hit["recall"] == pytest.approx(1 - (1 - hit["similarity"] ** shape.rows) ** shape.bands)


def test_a_threshold_of_the_nearest_may_be_any(client: TestClient) -> None:
    wanted = {"texts": [FAR, ROSE], "nearest": True, "exhaustive": True, "threshold": 0.3, "top": 1}
    results = client.post("/query", json=wanted).json()["results"]
    assert [[hit["id"] for hit in result["hits"]] for result in results] == [["rose"], ["rose"]]
    assert results[0]["hits"][0]["similarity"] < 0.6


def test_containment_is_that_of_the_index(client: TestClient, index: neardup.Index) -> None:
    part = "is a rose is a rose, said the poet"
    answer = client.post("/query", json={"text": part, "measure": "containment", "with_text": True, "threshold": 0.5})
    hits = answer.json()["hits"]
    assert [{name: hit[name] for name in ("id", "similarity", "contained")} for hit in hits] == [
        hit.as_dict() for hit in index.query(part, measure="containment", threshold=0.5)
    ]
    assert [(hit["id"], hit["contained"], hit["text"]) for hit in hits] == [
        (id, "query", ROSES[id]) for id in ("rose", "rose-2")
    ]


@pytest.mark.parametrize("wanted", [{"measure": "containment"}, {"nearest": True, "exhaustive": True}])
def test_what_reads_all_texts_ends_when_its_time_is_over(index: neardup.Index, wanted: Any) -> None:
    reader = IndexReader(index, ServiceLimits(answer_seconds=1e-9))
    with pytest.raises(Problem, match="not all stored texts") as late:
        reader.query(Query(text=ROSE, **wanted))
    assert late.value.status == 504


def test_queries_by_the_bands_do_not_wait_for_one_that_reads_all_texts(
    index: neardup.Index, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()

    def statistics() -> None:
        begun.set()
        assert go.wait(LIMIT)
        raise ZeroDivisionError

    monkeypatch.setattr(index, "statistics", statistics)
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(client.get, "/statistics")
        assert begun.wait(LIMIT)
        assert client.post("/query", json={"text": ROSE}).status_code == 200
        go.set()
        assert slow.result(LIMIT).status_code == 500
