"""Texts made against the hashes: no similarity is said that is not theirs, no document goes that is nobody's copy.

Oracles are sets of Python strings. Each attack is first shown to work on the hash that it was made for.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from tests.adversarial.forging import crowding_items, forged, solved_words, weak_texts
from tests.twins import hashing

import neardup
from neardup.engine.reading import copies
from neardup.kernels.hashing import CHUNK, HASH_PARAMS, new_cursor
from neardup.kernels.verify import _fill_table
from neardup.native.declare import kernel
from neardup.params import Shingle
from neardup.stages import sketch as sketch_stage
from neardup.stages.shingle import Hasher
from neardup.types import Documents

VICTIM = (
    "The committee met on Tuesday and agreed to publish the full minutes of the inquiry, together with the evidence of "
    "all twelve witnesses, before the end of the month....."
)
SPAM = "BUY CHEAP PILLS NOW!!! visit our shop, best prices, no questions asked, limited offer, click here. " * 3
MEMORY = [None, "2GB"]


@pytest.fixture(scope="module")
def pair() -> tuple[str, str]:
    other = forged(VICTIM, SPAM)
    prints = sketch_stage.fingerprints(Documents.from_texts([VICTIM, other]))
    assert prints[0].tolist() == prints[1].tolist(), "the forgery does not meet the print that it was made for"
    assert other != VICTIM
    return VICTIM, other


def grams(text: str, k: int = 9) -> set[str]:
    return {text[i : i + k] for i in range(len(text) - k + 1)}


def jaccard(a: str, b: str) -> float:
    return len(grams(a) & grams(b)) / len(grams(a) | grams(b))


@pytest.mark.parametrize("workdir", [False, True])
@pytest.mark.parametrize(
    "how", [{}, {"exact": True}, {"measure": "containment"}, {"seed": 987654321}, {"collapse_exact": True}]
)
def test_a_forged_print_makes_no_pair(tmp_path: Path, pair: tuple[str, str], how: dict, workdir: bool):
    texts = [*pair, pair[0], "something else altogether", pair[1]]
    place = {"workdir": tmp_path / "work"} if workdir else {}
    found = neardup.find(texts, **how, **place)
    assert found.summary.exact_copies == 2
    expected = [] if "collapse_exact" in how else [(0, 2, 1.0), (1, 4, 1.0)]
    assert [tuple(row.values())[:3] for row in found.pairs.to_pylist()] == expected


@pytest.mark.parametrize("how", [{}, {"exact": True}, {"measure": "containment"}, {"verify": "text"}])
@pytest.mark.parametrize("step", ["find_copies", "link"])
def test_a_run_that_is_resumed_tells_a_forgery_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str], step: str, how: dict
):
    source = tmp_path / "in.jsonl"
    rows = [{"id": name, "text": text} for name, text in (("forged", pair[1]), ("victim", pair[0]), ("copy", pair[0]))]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def die(*args: object, **options: object) -> None:
        raise RuntimeError("killed here")

    with monkeypatch.context() as patched:
        patched.setattr(f"neardup.engine.run.{step}", die)
        with pytest.raises(RuntimeError, match="killed here"):
            neardup.find(source, workdir=tmp_path / "work", **how)
    found = neardup.find(source, workdir=tmp_path / "work", resume=True, **how).pairs.to_pylist()
    assert [tuple(row.values())[:3] for row in found] == [("victim", "copy", 1.0)]


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("verify", ["hash", "text"])
def test_dedup_keeps_the_victim_of_a_forgery(pair: tuple[str, str], memory: str | None, verify: str):
    clean, removed = neardup.dedup([pair[1], *pair, pair[0]], keep="first", memory=memory, verify=verify)
    assert clean == [pair[1], pair[0]]
    gone = removed.select(["id", "keeper"]).to_pylist()
    assert gone == [{"id": 2, "keeper": 0}, {"id": 3, "keeper": 1}]


def test_two_thousand_weak_pairs_get_the_similarity_that_is_theirs():
    draw = random.Random(1)
    pairs = [weak_texts(draw) for _ in range(2000)]
    prints = sketch_stage.fingerprints(Documents.from_texts([text for both in pairs for text in both]))
    colliding = int(np.all(prints[::2] == prints[1::2], axis=1).sum())
    assert colliding > 200, f"only {colliding} of 2,000 draws share a print: the attack has lost its point"
    texts = [text for both in pairs for text in both]
    for how in ({}, {"exact": True}):
        found = neardup.find(texts, threshold=0.3, **how).pairs.to_pylist()
        close = {(row["id_a"], row["id_b"]): row["similarity"] for row in found}
        assert all(close.get((2 * i, 2 * i + 1), 0.0) in (0.0, jaccard(*both)) for i, both in enumerate(pairs))
        if how:
            expected = {(2 * i, 2 * i + 1): jaccard(*both) for i, both in enumerate(pairs) if jaccard(*both) >= 0.3}
            assert close == expected


def test_known_bad_copies_by_print_alone_fail_the_same_check(monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str]):
    monkeypatch.setattr(copies, "_verified", lambda collection, of, members, **_: (of, members))
    assert neardup.find(list(pair)).pairs.to_pylist() == [{"id_a": 0, "id_b": 1, "similarity": 1.0}]


def test_an_index_and_a_report_tell_a_forgery_from_its_victim(tmp_path: Path, pair: tuple[str, str]):
    with neardup.Index.create(None, threshold=0.8) as index:
        index.add(["victim"], [pair[0]])
        assert index.query(pair[1]) == []
        assert index.add_if_new("forged", pair[1]).is_new
        assert [(hit.id, hit.similarity) for hit in index.query(pair[0])] == [("victim", 1.0)]
    source = tmp_path / "in.jsonl"
    rows = [{"id": i, "text": text} for i, text in enumerate((*pair, pair[0]))]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    reported = neardup.report(source, tmp_path / "report")
    assert reported.summary.pairs == 1


@pytest.mark.parametrize("seed", [1, pytest.param(42, marks=pytest.mark.soak)])
@pytest.mark.parametrize("how", [{}, {"exact": True}, {"measure": "containment"}, {"verify": "text"}])
def test_words_solved_to_share_public_hashes_are_no_pair(seed: int, how: dict):
    ones, others = solved_words(8, seed)
    key = Hasher(Shingle("word", 1), seed).params.key
    assert [hashing.hash_bytes(w.encode(), key) for w in ones] == [hashing.hash_bytes(w.encode(), key) for w in others]
    assert not set(ones) & set(others)
    texts = [" ".join(ones), " ".join(others)]
    for shingle in ("word:1", "word:3"):
        assert neardup.find(texts, shingle=shingle, threshold=0.1, seed=seed, **how).pairs.to_pylist() == []
    assert neardup.compare(*texts, shingle="word:1", seed=seed).jaccard == 0.0
    with neardup.Index.create(None, threshold=0.5, shingle="word:1", seed=seed) as index:
        index.add(["ones"], texts[:1])
        assert index.query(texts[1]) == []
        assert index.add_if_new("others", texts[1]).is_new


def test_known_bad_check_by_the_public_hash_is_fooled_and_comparing_shingles_is_not(monkeypatch: pytest.MonkeyPatch):
    ones, others = solved_words(8, 1)
    texts = [" ".join(ones), " ".join(others)]
    monkeypatch.setattr(Hasher, "private", classmethod(lambda cls, shingle: cls(shingle, 1)))
    for how in ({}, {"exact": True}, {"measure": "containment"}):
        fooled = neardup.find(texts, shingle="word:1", threshold=0.9, **how).pairs.to_pylist()
        assert [row["similarity"] for row in fooled] == [1.0]
        assert neardup.find(texts, shingle="word:1", threshold=0.9, verify="text", **how).pairs.to_pylist() == []


@kernel(HASH_PARAMS, "read(uint8[::1]), int64, int64, int64")
def _filled(params, data, begin, stop, bits):
    table = np.full((1 << bits) + (1 << (bits - 1)) + 64, np.uint64(0xFFFFFFFFFFFFFFFF))
    return _fill_table(params, data, begin, stop, new_cursor(params, CHUNK), np.uint64(64 - bits), table)


def test_items_that_crowd_a_table_are_given_up_there_and_sorted_instead():
    """Steps are counted, so no clock: under the public key the table gives up, under a private one it never does."""
    items = crowding_items(5_000, 1)
    blob = b"\xff".join(item.encode() for item in items)
    documents = Documents.from_bytes([blob])
    public, private = Hasher(Shingle.parse("item"), 1), Hasher.private(Shingle.parse("item"))

    def distinct(hasher: Hasher) -> int:
        return _filled(hasher.params, documents.data, 0, len(blob), 16)

    assert distinct(public) == -1
    assert distinct(private) == len(set(items))
    found = neardup.find([items, [*items[:-3], "xxxxxxx"]], shingle="item", threshold=0.5, exact=True).pairs.to_pylist()
    assert [row["similarity"] for row in found] == [(len(items) - 3) / (len(items) + 1)]
