"""What the routes answer when all is well, over an index in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import ROSES, Serving

import neardup
from neardup.server.app import FEW_REQUESTS

ROSE = ROSES["rose"]
AT_ONCE = {"text": ROSE, "top": 1}, {"text": ROSE, "any": True}, {"text": ROSES[17]}, {"text": ""}, {"text": "no"}


def test_query_of_a_text_gives_the_index_own_hits(client: TestClient, index: neardup.Index) -> None:
    answer = client.post("/query", json={"text": ROSE, "top": 5})
    assert answer.status_code == 200
    assert answer.json() == {"hits": [hit.as_dict() for hit in index.query(ROSE, top=5)]}
    assert [hit["id"] for hit in answer.json()["hits"]] == ["rose", "rose-2"]
    assert answer.json()["hits"][0]["similarity"] == 1.0


def test_query_of_texts_gives_a_result_for_each(client: TestClient, index: neardup.Index) -> None:
    texts = [ROSE, "", ROSES[17], "nothing that was ever said"]
    answer = client.post("/query", json={"texts": texts, "top": 1})
    expected = [{"hits": [hit.as_dict() for hit in hits]} for hits in index.query(texts, top=1)]
    assert answer.json() == {"results": expected}
    assert [len(result["hits"]) for result in answer.json()["results"]] == [1, 0, 1, 0]
    assert answer.json()["results"][2]["hits"][0]["id"] == 17
    assert client.post("/query", json={"texts": []}).json() == {"results": []}


def test_threshold_above_that_of_the_index_drops_hits(client: TestClient) -> None:
    answer = client.post("/query", json={"text": ROSE, "threshold": 1.0})
    assert [hit["id"] for hit in answer.json()["hits"]] == ["rose"]


def test_candidates_that_are_not_checked_have_no_similarity(client: TestClient) -> None:
    hits = client.post("/query", json={"text": ROSE, "exact": False}).json()["hits"]
    assert {hit["similarity"] for hit in hits} == {None}


def test_texts_of_the_hits_are_given_on_request(client: TestClient) -> None:
    one = client.post("/query", json={"text": ROSE, "with_text": True}).json()["hits"]
    assert [hit["text"] for hit in one] == [ROSES["rose"], ROSES["rose-2"]]
    many = client.post("/query", json={"texts": [ROSE], "with_text": True}).json()["results"][0]["hits"]
    assert many == one


def test_marks_are_code_points_of_the_original_texts(client: TestClient, index: neardup.Index) -> None:
    stored = "🌹🌹 cafe\u0301 au lait, and a very long walk along the river bank in the evening"
    asked = "café au lait, and a very long walk along the river bank in the evening 🌹"
    index.add("walk", stored)
    answer = client.post("/query", json={"text": asked, "passages": True, "with_text": True})
    hit = answer.json()["hits"][0]
    assert hit["id"] == "walk"
    assert hit["text"] == stored
    assert [stored[start:end].strip() for start, end in hit["marks"]] == [stored[3:]]
    assert [asked[start:end].strip() for start, end in hit["query_marks"]] == [asked[:-2]]
    assert hit["links"] == [0]


def test_document_is_added_found_given_and_removed(client: TestClient, index: neardup.Index) -> None:
    added = client.post("/documents", json={"id": "new", "text": "a text that is new to all of us here"})
    assert (added.status_code, added.json()) == (201, {"id": "new", "status": "added"})
    found = client.post("/query", json={"text": "a text that is new to all of us here"}).json()["hits"]
    assert [hit["id"] for hit in found] == ["new"]
    given = client.get("/documents/new")
    assert (given.status_code, given.json()) == (200, {"id": "new", "text": "a text that is new to all of us here"})
    removed = client.delete("/documents/new")
    assert (removed.status_code, removed.content) == (204, b"")
    assert "content-length" not in removed.headers
    assert client.get("/documents/new").status_code == 404
    assert client.delete("/documents/new").status_code == 404
    assert "new" not in index


@pytest.mark.parametrize(
    ("option", "status", "told", "left"),
    [
        ("error", 409, None, ROSES["rose"]),
        ("skip", 200, "skipped", ROSES["rose"]),
        ("replace", 200, "replaced", "another"),
    ],
)
def test_id_that_is_there_is_what_on_duplicate_says(
    client: TestClient, option: str, status: int, told: str | None, left: str
) -> None:
    answer = client.post(f"/documents?on_duplicate={option}", json={"id": "rose", "text": "another"})
    assert answer.status_code == status
    assert answer.json().get("status") == told
    assert client.get("/documents/rose").json()["text"] == left


def test_near_duplicate_is_not_added_if_new_is_asked(client: TestClient, index: neardup.Index) -> None:
    near = client.post("/documents?if_new=true", json={"id": "rose-3", "text": ROSE + "!"})
    assert near.status_code == 200
    assert near.json()["status"] == "near-duplicate"
    assert near.json()["match"]["similarity"] == pytest.approx(index.query(ROSE + "!", top=1)[0].similarity)
    assert "rose-3" not in index
    new = client.post("/documents?if_new=true", json={"id": "n", "text": "something that no poet has ever said"})
    assert (new.status_code, new.json()) == (201, {"id": "n", "status": "added"})
    taken = client.post("/documents?if_new=true", json={"id": "n", "text": "yet another thing that nobody ever said"})
    assert (taken.status_code, taken.json()["field"]) == (409, "id")


@pytest.mark.parametrize(
    "id", ["a/b", "ä€🌹", "a b", "a?b=c&d#e", "..", "/", "//", "100%", "%41", "\n", "a\nb", "a\x00b", "q\"'\\"]
)
def test_id_of_any_characters_is_reached(client: TestClient, index: neardup.Index, id: str) -> None:
    from urllib.parse import quote

    text = f"the document with the id {id} and no other"
    assert client.post("/documents", json={"id": id, "text": text}).status_code == 201
    path = "/documents/" + quote(id, safe="").replace(".", "%2E")
    assert client.get(path).json() == {"id": id, "text": text}
    assert client.delete(path).status_code == 204
    assert id not in index


def test_number_and_its_digits_are_one_id(client: TestClient) -> None:
    assert client.get("/documents/17").json() == {"id": 17, "text": ROSES[17]}
    assert client.post("/documents", json={"id": "17", "text": "x"}).status_code == 409
    assert client.delete("/documents/17").status_code == 204
    assert client.get("/documents/17").status_code == 404


def test_info_tells_the_index_and_not_its_place(client: TestClient, index: neardup.Index) -> None:
    info = client.get("/info").json()
    expected = index.info().as_dict()
    assert info.pop("read_only") is False
    assert "path" not in info
    assert info == {name: value for name, value in expected.items() if name != "path"}
    assert info["documents"] == len(ROSES)


def test_health_answers(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    assert client.head("/health").status_code == 200


def test_page_is_sent_with_a_strict_policy(client: TestClient) -> None:
    for path, kind in [("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")]:
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["x-content-type-options"] == "nosniff"
        policy = answer.headers["content-security-policy"].split("; ")
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert not any("unsafe" in rule or "*" in rule for rule in policy)
        assert len(policy) == 7


def test_queries_at_once_get_their_own_answers(client: TestClient, index: neardup.Index) -> None:
    texts = [f"{number} bottles of beer on the wall, {number} bottles of beer, take one down" for number in range(40)]
    index.add([f"bottles-{number}" for number in range(40)], texts)

    def ask(number: int) -> str:
        answer = client.post("/query", json={"text": texts[number], "top": 1 + number % 2})
        return str(answer.json()["hits"][0]["id"])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(40))) == [f"bottles-{number}" for number in range(40)]


def test_service_that_stops_is_not_ready(index: neardup.Index, serving: Serving) -> None:
    client = serving(index)
    assert client.get("/ready").json() == {"status": "ok"}
    client.app.stop()
    answer = client.get("/ready")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert client.get("/health").status_code == 200  # it lives, until it has ended


def test_any_gives_one_verified_hit_at_most(client: TestClient, index: neardup.Index) -> None:
    index.add([f"crowd-{number}" for number in range(300)], [ROSE + "!" * (number % 7) for number in range(300)])
    for threshold in (None, 0.9):
        (hit,) = client.post("/query", json={"text": ROSE, "any": True, "threshold": threshold}).json()["hits"]
        assert hit == index.seen(ROSE, threshold=threshold).as_dict()  # type: ignore[union-attr]
    texts = [ROSE, "nothing like it", ROSES[17]]
    results = client.post("/query", json={"texts": texts, "any": True, "with_text": True}).json()["results"]
    assert [len(result["hits"]) for result in results] == [1, 0, 1]
    assert results[2]["hits"][0]["text"] == ROSES[17]


def test_a_query_is_answered_alike_alone_and_among_others(client: TestClient, index: neardup.Index) -> None:
    """The event loop answers it if few requests wait; the groups count what the threads answer."""
    service = client.app
    index.add("long", "a word " * 5000)
    index.add(
        [f"crowd-{number}" for number in range(40)], ["many are like this text" + "!" * number for number in range(40)]
    )
    for others in (0, 1):
        service.metrics.begun = FEW_REQUESTS + others
        before = service._readers.groups
        answers = [client.post("/query", json=body).json() for body in AT_ONCE]
        assert service._readers.groups - before == others * len(AT_ONCE)
        if others == 0:
            expected = answers
    assert answers == expected
    service.metrics.begun = 1
    before = service._readers.groups
    slow = [
        {"text": "a word " * 5000},  # a long text
        {"text": "many are like this text"},  # many candidates
        {"text": ROSE, "exact": False},
        {"text": ROSE, "nearest": True},
        {"text": ROSE, "with_text": True},
        {"texts": [ROSE]},
    ]
    for body in slow:
        assert client.post("/query", json=body).status_code == 200
    assert service._readers.groups - before == len(slow)


def test_compact_merges_and_says_what_has_changed(tmp_path: Path, serving: Serving) -> None:
    with neardup.Index.create(tmp_path / "i") as index:
        for number in range(3):
            index.add(number, f"{number} is a number, and so is {number + 5}")
            index._upkeep.flush()
        index.remove([1])
        client = serving(index)
        told = client.post("/compact", json={}).json()
        assert (told["segments_before"], told["segments"]) == (3, 1)
        assert told["bytes"] == index.info().total_bytes < told["bytes_before"]
        assert client.post("/compact", json={}).json()["segments_before"] == 1
        assert client.post("/compact", json={"all": True}).json()["field"] == "all"
        assert [hit["id"] for hit in client.post("/query", json={"text": index.get(2).text}).json()["hits"]][:1] == [2]


def test_compact_needs_an_index_that_may_be_written(folder: Path, serving: Serving) -> None:
    with neardup.Index.open(folder, read_only=True) as index:
        assert serving(index).post("/compact", json={}).status_code == 403
