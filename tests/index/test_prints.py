"""No hash stands for a text, an id or a spec: with prints of two bits or none, and for texts of one print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import settings
from starlette.testclient import TestClient
from tests.index.prints import WORSE, constant, crippled, forged, honest, mixed, two_bits, weak_pairs
from tests.index.test_state_machine import SETTINGS, Machine
from tests.index.tiny import tiny
from tests.oracles.jaccard import jaccard
from tests.oracles.text import shingles

from neardup import Index, InputError, SpecMismatch
from neardup.cli import main
from neardup.index import answers, checking, core
from neardup.inputs import names
from neardup.server.app import Service
from neardup.stages import postings
from neardup.types import Documents

OPTIONS: dict[str, Any] = {
    "threshold": 0.3, "recall": 0.9999999, "shingle": "char:9", "slots": 128, "bands": "128x1",
}  # fmt: skip


class TestMachineWithOnePrint(Machine.TestCase):  # type: ignore[name-defined]
    """Any sequence of changes and questions, where all texts and ids have one print."""

    settings = settings(SETTINGS, max_examples=12)

    def setUp(self) -> None:
        self.enterContext(crippled(constant))


class TestMachineWithFourPrints(Machine.TestCase):  # type: ignore[name-defined]
    """The same with four prints, so that some of them differ."""

    settings = settings(SETTINGS, max_examples=12)

    def setUp(self) -> None:
        self.enterContext(crippled(two_bits))


def similarity(a: str, b: str) -> float:
    return float(jaccard(shingles(a, "char:9", "nfc"), shingles(b, "char:9", "nfc")))


@pytest.fixture(params=["memory", "disk", "segments"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """An index that finds every pair from 0.3 on."""
    path = None if request.param == "memory" else tmp_path / "index"
    with Index.create(path, **OPTIONS) as index:
        if request.param == "segments":
            with tiny():
                yield index
        else:
            yield index


def test_texts_of_one_print_are_told_apart(empty: Any) -> None:
    """2,000 draws of three characters give some 380 such pairs; a tenth of them is as good."""
    pairs = weak_pairs(40)
    for number, (a, b) in enumerate(pairs):
        assert [made.is_new for made in empty.add_if_new([f"a{number}", f"b{number}"], [a, b], threshold=0.8)] == [
            True,
            True,
        ]
    expected = [(f"{one}{number}", f"{other}{number}", similarity(*pair))
                for number, pair in enumerate(pairs) for one, other in ("ab", "ba")]  # fmt: skip
    texts = [text for pair in pairs for text in pair]
    answers = empty.query(texts, top=None)
    for (one, other, value), hits, text in zip(expected, answers, texts, strict=True):
        assert [(hit.id, hit.similarity) for hit in hits] == [(one, 1.0), (other, value)]
        assert empty.query(text, top=None) == hits
        assert empty.get(one).text == text
    assert empty.query(texts, threshold=0.9, top=None) == [hits[:1] for hits in answers]
    assert empty.pairs().num_rows == len(pairs)


def test_a_text_is_found_behind_another_one_of_its_print(empty: Any) -> None:
    """What is like nothing asked for must not hide what is: the one added first is read for its print."""
    for a, b in weak_pairs(10, seed=2):
        empty.add(["decoy", "found"], [a, b], on_duplicate="replace")
        query = b + " and a tail"
        assert similarity(query, a) < 0.3 < 0.7 < similarity(query, b)
        assert [(hit.id, hit.similarity) for hit in empty.query(query, top=None)] == [("found", similarity(query, b))]
        (made,) = empty.add_if_new(["late"], [query])
        assert (made.is_new, made.match.id, made.match.similarity) == (False, "found", similarity(query, b))


def test_forged_text_is_no_copy() -> None:
    victim = b"the committee agreed to publish the minutes of the inquiry together with the evidence."
    victim = victim[: len(victim) // 16 * 16]
    words = b"buy cheap pills now, best prices, no questions asked, limited offer, click here today "
    fake = forged(victim, words)
    both = Documents.from_bytes([victim, fake])
    assert len(set(np.asarray(honest(both)).tolist())) == 1
    with Index.create(
        threshold=0.1, recall=0.9999999, shingle="byte:3", normalize="none", slots=128, bands="128x1"
    ) as index:
        made = index._core.sketcher.prepare(both, ["victim", "fake"])
        added = index._store(made, "error", strict=True)
        assert added == ["added", "added"]
        hits = index.query(victim.decode(), top=None)
        a, b = (frozenset(text[i : i + 3] for i in range(len(text) - 2)) for text in (victim, fake))
        assert (hits[0].id, hits[0].similarity) == ("victim", 1.0)
        assert all(hit.similarity == len(a & b) / len(a | b) for hit in hits[1:])


def test_who_takes_equal_prints_for_copies_is_seen(empty: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The known bad one: what queries did before texts were compared."""
    ((a, b),) = weak_pairs(1)
    empty.add(["a", "b"], [a, b])
    assert [hit.similarity for hit in empty.query(a, top=None)] == [1.0, similarity(a, b)]
    monkeypatch.setattr(answers, "_are_copies", lambda reading, numbers, *rest: np.ones(numbers.size, np.bool_))
    assert [hit.similarity for hit in empty.query([a, b], top=None)[0]] == [1.0, 1.0]


@pytest.mark.parametrize("worse", list(WORSE))
def test_copies_are_found_whatever_became_of_the_first(empty: Any, worse: str) -> None:
    """Crowds of copies, near-copies and copies after normalisation among texts of one print, some of them removed."""
    base = "a sentence that comes back again and again, with its café"
    with crippled(WORSE[worse]):
        texts = [
            base,
            base,
            base + "!",
            base,
            base.replace("é", "e\u0301"),
            base + "!",
            "something else entirely",
            base,
        ]
        ids = [f"d{i}" for i in range(len(texts))]
        empty.add(ids, texts)
        left = dict(zip(ids, texts, strict=True))
        for gone in [None, "d0", "d1", "d2", "d4"]:
            if gone is not None:
                empty.remove(gone)
                del left[gone]
            for query in (base, base + "!"):
                values = [(id, similarity(query, text)) for id, text in left.items()]
                near = sorted((pair for pair in values if pair[1] >= 0.3), key=lambda pair: -pair[1])
                assert [(hit.id, hit.similarity) for hit in empty.query(query, top=None)] == near
                asked = empty.query([query, base, query], top=3)
                assert [(hit.id, hit.similarity) for hit in asked[2]] == near[:3]
        empty.compact()
        assert [hit.id for hit in empty.query(base, top=None)][:3] == ["d3", "d7", "d5"]
        assert empty.verify().ok


@pytest.mark.parametrize("worse", list(WORSE))
@pytest.mark.parametrize("on_duplicate", ["error", "skip", "replace"])
def test_build_compares_ids_and_not_their_prints(tmp_path: Path, worse: str, on_duplicate: str) -> None:
    documents = {f"id {i}": f"text number {i} of a few, {i * i}" for i in range(40)}
    with tiny(), crippled(WORSE[worse]):
        with Index.build(tmp_path / "distinct", list(documents.items()), **OPTIONS) as index:
            assert {id: index.get(id).text for id in index} == documents
            assert "id 40" not in index
        again = [*documents.items(), ("id 7", "another seven")]
        if on_duplicate == "error":
            with pytest.raises(InputError, match="id 7"):
                Index.build(tmp_path / "again", again, **OPTIONS)
            return
        with Index.build(tmp_path / "again", again, on_duplicate=on_duplicate, **OPTIONS) as index:
            expected = dict(again) if on_duplicate == "replace" else documents
            assert {id: index.get(id).text for id in index} == expected


def test_many_ids_of_one_key_are_looked_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids can be chosen so; 1,000 of them at once must not list those that are there 1,000 times."""
    asked = []
    plain = postings.lookup

    def noted(runs: Any, table: Any, keys: Any, *rest: Any, **options: Any) -> Any:
        asked.append(keys.shape[1])
        return plain(runs, table, keys, *rest, **options)

    with crippled(constant), Index.create(tmp_path / "index", **OPTIONS) as index:
        index.add([f"old {i}" for i in range(100)], ["text"] * 100)
        monkeypatch.setattr("neardup.stages.postings.lookup", noted)
        found = index.get_many([f"old {i}" for i in range(0, 200, 2)])
        assert [stored is not None for stored in found] == [True] * 50 + [False] * 50
    assert asked == [1]


def test_prints_that_fall_into_one_cell_are_told_apart() -> None:
    """A flood: their search is bounded, and a twin that it misses is its own."""
    flood = [value for value in range(2_000_000) if mixed(value) % 4096 == 0][:400]
    prints = np.array(flood + flood[:10], dtype=np.uint64)
    keys = np.zeros((2, prints.size), dtype=np.uint32)
    run = postings.make_run(0, keys, prints, np.ones(prints.size, dtype=np.bool_))
    table = run.fields.reshape(1, -1)
    found = postings.lookup([run], table, keys[:1, :1], np.ones(1, dtype=np.bool_), first_row=0)
    assert found.numbers.tolist() == list(range(410))
    twins = prints[found.same_text]
    assert (twins == prints).all()
    assert found.same_text[:400].tolist() == list(range(400))


def test_ids_of_one_hash_are_not_taken_for_one_by_verify(empty: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    empty.add(["a", "b", "c"], ["one text", "two texts", "three texts"])
    monkeypatch.setattr(checking, "hash", lambda text: 7, raising=False)
    assert empty.verify().ok
    monkeypatch.setattr(checking, "hash", lambda text: len(text), raising=False)
    assert empty.verify().ok


def test_specs_of_one_id_are_not_one_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Index.create(**OPTIONS) as one, Index.create(**{**OPTIONS, "seed": 7}) as other:
        monkeypatch.setattr(type(one.spec), "id", "0123456789ab")
        with pytest.raises(SpecMismatch, match="seed"):
            core.check_same(one.spec, other.spec, "other")
        core.check_same(one.spec, one.spec, "itself")


@pytest.mark.parametrize("worse", [None, *WORSE])
def test_service_tells_texts_and_ids_apart(worse: str | None) -> None:
    print_of = WORSE[worse] if worse else honest
    ((a, b),) = weak_pairs(1, seed=5)
    with crippled(print_of), Index.create(**{**OPTIONS, "threshold": 0.5}) as index:
        service = Service(index)
        try:
            client = TestClient(service)
            for id, text, status in (("a", a, "added"), ("b", b, "added"), ("c", a, "near-duplicate")):
                told = client.post("/documents?if_new=true", json={"id": id, "text": text}).json()
                assert told["status"] == status
                if status != "added":
                    assert told["match"] == {"id": "a", "similarity": 1.0}
            lines = [{"id": "d", "text": b}, {"id": "e", "text": "a text that is quite its own"}]
            body = "".join(json.dumps(line) + "\n" for line in lines)
            kind = {"content-type": "application/x-ndjson"}
            told = client.post("/documents?if_new=true", content=body, headers=kind).text.splitlines()
            assert [json.loads(line)["status"] for line in told] == ["near-duplicate", "added"]
            hits = client.post("/query", json={"text": b}).json()["hits"]
            assert [(hit["id"], hit["similarity"]) for hit in hits] == [("b", 1.0)]
            assert client.get("/documents/a").json()["text"] == a
            assert client.delete("/documents/c").status_code == 404
            assert client.delete("/documents/a").status_code in (200, 204)
            assert client.get("/documents/b").json()["text"] == b
        finally:
            service.close()


@pytest.mark.parametrize("worse", [None, *WORSE])
@pytest.mark.parametrize("named", [True, False])
def test_stream_lets_every_new_text_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worse: str | None, named: bool
) -> None:
    """Also where it names texts itself, and the hashes that it names them by are one."""
    monkeypatch.setattr(names.hashlib, "blake2b", lambda data, digest_size: _Digest(digest_size))
    texts = [text for pair in weak_pairs(6, seed=8) for text in pair] + ["", " ", "short"]
    rows = [{"id": f"id {i}", "text": text} if named else {"text": text} for i, text in enumerate(texts)]
    body = "".join(json.dumps(row) + "\n" for row in rows)
    path = str(tmp_path / "index")
    Index.create(path, **{**OPTIONS, "threshold": 0.5}).close()
    run = ["index", "dedup-stream", path, "-"]
    with crippled(WORSE[worse] if worse else honest):
        told = CliRunner().invoke(main, run, input=body + body)
        assert told.exit_code == 0, told.output
        assert told.stdout == body
        assert CliRunner().invoke(main, run, input=body).stdout == ""
        with Index.open(path, read_only=True) as index:
            assert [index.get(id).text for id in index] == texts


class _Digest:
    """A hash of no bits."""

    def __init__(self, size: int) -> None:
        self._size = size

    def hexdigest(self) -> str:
        return "00" * self._size
