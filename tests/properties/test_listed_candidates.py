"""The listed candidates are exactly the pairs whose signatures agree in a band, each with true evidence."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import text as oracle
from tests.properties.strategies import collections

import neardup
from neardup.engine.banding import listed
from neardup.engine.space import Budget, Space
from neardup.stages.screen import SMALL


def expected(documents: list[tuple[str, str]], result: neardup.Result, shingle: str, threshold: float) -> list[Any]:
    """Compare all pairs of distinct texts slot by slot; a signature comes from ``neardup.sketch``.

    There are no large buckets. So a pair was checked if it agrees in enough fields: the lowest bits of its first slots.
    """
    first = {value: id for id, value in reversed(documents) if value}  # the first of equal texts stands for them
    texts = [(id, value) for id, value in documents if first.get(value) == id]
    count, width = map(int, result.summary.bands.split("x"))
    slots, screen, rows = result.summary.slots, result.spec.screen, []
    sketched = neardup.sketch([value for _, value in texts], shingle=shingle, normalize="none", slots=slots)
    sets = [set(oracle.shingles(value, shingle, "none")) for _, value in texts]
    for i, j in combinations(range(len(texts)), 2):
        a, b = sketched.signatures.values[i].tolist(), sketched.signatures.values[j].tolist()
        bands = [k for k in range(count) if a[k * width : (k + 1) * width] == b[k * width : (k + 1) * width]]
        if not bands:
            continue
        estimate = sum(x == y for x, y in zip(a, b, strict=True)) / slots
        similarity = len(sets[i] & sets[j]) / len(sets[i] | sets[j])
        fields = sum((x ^ y) % 2**screen.width == 0 for x, y in list(zip(a, b, strict=True))[: screen.fields])
        kept = fields >= (screen.least_alone if len(bands) == 1 else screen.least)
        verdict = listed.DROPPED if not kept else listed.PAIR if similarity >= threshold else listed.BELOW
        bands_met = " ".join(str(k + 1) for k in bands)
        rows.append((texts[i][0], texts[j][0], bands_met, estimate, similarity, verdict))
    return rows


@given(collections(), st.sampled_from(["char:3", "word:1"]), st.sampled_from([0.4, 0.8]))
def test_each_candidate_is_listed_once_with_true_evidence(
    documents: list[tuple[str, str]], shingle: str, threshold: float
) -> None:
    how = {"shingle": shingle, "normalize": "none", "threshold": threshold}
    result = neardup.find(documents, candidates=True, **how)
    listing = result.candidates.to_pylist()
    assert [tuple(row.values()) for row in listing] == expected(documents, result, shingle, threshold)
    assert result.pairs == neardup.find(documents, **how).pairs
    # a pair that is dropped counts in each band
    often = (len(row["bands"].split()) if row["verdict"] == listed.DROPPED else 1 for row in listing)
    assert sum(often) == result.summary.candidates
    assert sum(row["verdict"] != listed.DROPPED for row in listing) == result.summary.checked


@pytest.mark.parametrize("number", [40, 200])
def test_the_verdict_is_pair_exactly_for_the_pairs_that_were_found(number: int) -> None:
    """Of 200 texts, some buckets are larger than those whose pairs are screened by their bits."""
    draw = random.Random(5)
    words = [f"word{i}" for i in range(30)]
    texts = [" ".join("other" if draw.random() < 0.08 else word for word in words) for _ in range(number)]
    texts = sorted(set(texts))  # exact copies would be listed once
    result = neardup.find(texts, shingle="char:4", threshold=0.8, candidates=True)
    listing = result.candidates.to_pylist()
    assert {pair for pair, verdict in rows(result) if verdict == listed.PAIR} == set(
        zip(result.pairs["id_a"].to_pylist(), result.pairs["id_b"].to_pylist(), strict=True)
    )
    for row in listing:
        assert (row["similarity"] >= 0.8) == (row["verdict"] == listed.PAIR) or row["verdict"] == listed.DROPPED
    assert sum(row["verdict"] != listed.DROPPED for row in listing) == result.summary.checked
    assert len(listing) > len(result.pairs) > 100
    largest = Counter((row["id_a"], band) for row in listing for band in row["bands"].split()).most_common(1)[0][1]
    assert (largest >= SMALL) == (number == 200)


def test_the_listing_does_not_depend_on_memory_and_threads(
    repository: Path, none_at_hand: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = repository / "examples" / "abstracts.jsonl"
    once = neardup.find(path, candidates=True, threads=1).candidates
    monkeypatch.setattr(listed, "BUCKET_ROWS", 7)
    monkeypatch.setattr(listed, "PAIRS_AT_A_TIME", 3)
    monkeypatch.setattr(listed, "ROW_BYTES", 1 << 40)  # so a band is grouped in as many parts as there can be
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(8_000_000, 6_000_000)))
    again = neardup.find(path, candidates=True, threads=2).candidates
    assert once.equals(again)
    assert set(once["verdict"].to_pylist()) == {listed.DROPPED, listed.BELOW, listed.PAIR}


def test_a_run_killed_after_every_checkpoint_lists_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    lines = [" ".join("other" if draw.random() < 0.12 else f"word{i}" for i in range(30)) for _ in range(60)]
    source = tmp_path / "texts.txt"
    source.write_text("\n".join(lines), encoding="utf-8")
    how: dict[str, Any] = {"input_format": "lines", "threshold": 0.8, "bands": "8x4", "crowd": 5, "candidates": True}
    expected = neardup.find(source, **how).candidates
    assert set(expected["verdict"].to_pylist()) == {listed.DROPPED, listed.BELOW, listed.PAIR}
    plain = Space.checkpoint

    def killed(self: Space, **changes: Any) -> None:
        plain(self, **changes)
        raise KeyboardInterrupt

    monkeypatch.setattr("neardup.engine.space.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(Space, "checkpoint", killed)
    for attempt in range(50):
        with suppress(KeyboardInterrupt):
            found = neardup.find(source, workdir=tmp_path / "work", resume=attempt > 0, **how)
            break
    assert attempt > 10
    assert found.candidates.equals(expected)


def test_of_the_pairs_of_a_crowd_those_that_were_found_are_listed_and_no_others() -> None:
    draw = random.Random(5)
    texts = [" ".join("other" if draw.random() < 0.1 else f"word{i}" for i in range(30)) for _ in range(60)]
    result = neardup.find(texts, shingle="char:4", threshold=0.7, crowd=10, candidates=True)
    assert result.summary.crowds
    found = set(zip(result.pairs["id_a"].to_pylist(), result.pairs["id_b"].to_pylist(), strict=True))
    assert {pair for pair, verdict in rows(result) if verdict == listed.PAIR} == found
    assert all(row["similarity"] < 0.7 for row in result.candidates.to_pylist() if row["verdict"] != listed.PAIR)


def rows(result: neardup.Result) -> list[tuple[tuple[int, int], str]]:
    """Return the ids and the verdict of each candidate."""
    return [((row["id_a"], row["id_b"]), row["verdict"]) for row in result.candidates.to_pylist()]


@pytest.mark.parametrize("how", [{"exact": True}, {"measure": "containment"}, {"against": ["a rose is a rose"]}])
def test_a_search_without_bands_has_no_candidates_to_list(how: dict[str, Any]) -> None:
    with pytest.raises(neardup.InputError, match="this search has no bands"):
        neardup.find(["a rose is a rose", "a rose is a rose!"], candidates=True, **how)
