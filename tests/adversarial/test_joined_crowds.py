"""Crowds under the exact join and under containment: a star says all that the pairs inside it would say.

The oracle compares plain Python sets. It knows no leaders: it holds what is listed against all pairs, and asks that
each true pair is listed or lies inside one crowd, and that each crowd is as near to its leader as the rule wants.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracles.results import as_bytes, crowd_members, groups, pair_map

import neardup
from neardup.cli import main
from neardup.engine.joins import common, crowds
from neardup.engine.space import Budget
from neardup.errors import InputError

JOINS: dict[str, dict[str, Any]] = {"exact": {"exact": True}, "containment": {"measure": "containment"}}
WORDS = [f"{chr(97 + i % 26)}{i * 7919 % 99991}" for i in range(4000)]


def near_copies(number: int, *, seed: int = 1, length: int = 120, edits: int = 2) -> list[str]:
    """Different pages that have all but a few words of one in common."""
    rng = random.Random(seed)
    page = rng.choices(WORDS, k=length)
    made: dict[str, None] = {}
    while len(made) < number:
        words = list(page)
        for _ in range(rng.randint(1, edits)):
            words[rng.randrange(length)] = rng.choice(WORDS)
        made[" ".join(words)] = None
    return list(made)


def mixed(number: int) -> list[str]:
    """Two sets of near-copies, pages beside, copies, and documents that are near to some of a crowd only."""
    rng = random.Random(9)
    pages = [" ".join(rng.choices(WORDS, k=80)) for _ in range(30)]
    first, second = near_copies(number), near_copies(number // 2, seed=2, edits=4)
    halves = [text.rsplit(" ", 30)[0] for text in first[:8]]
    parts = [" ".join(text.split()[20:60]) for text in second[:5]]
    return [*first, *pages, *second, *(text + " and more" for text in pages), *halves, *parts, *first[:40], *first[:9]]


def word_sets(texts: list[str]) -> list[frozenset[str]]:
    return [frozenset(text.split()) for text in texts]


def similarity(a: frozenset[Any], b: frozenset[Any], how: str) -> float:
    return len(a & b) / (len(a | b) if how == "exact" else min(len(a), len(b)))


def jaccard(a: frozenset[Any], b: frozenset[Any]) -> float:
    return len(a & b) / len(a | b)


def hold_against_all_pairs(sets: list[frozenset[Any]], found: Any, how: str, threshold: float, limit: int) -> None:
    listed = pair_map(found.pairs)
    crowd: dict[int, int] = {}
    for leader, size in zip(found.crowds["leader"].to_pylist(), found.crowds["documents"].to_pylist(), strict=True):
        near = [i for i, s in enumerate(sets) if jaccard(s, sets[leader]) >= (1 + threshold) / 2]
        inside = [i for i in near if i == leader or frozenset((i, leader)) in listed]
        assert limit < size <= len(inside)
        for i in inside:
            crowd.setdefault(i, leader)
    for i, a in enumerate(sets):
        for j in range(i):
            value = similarity(a, sets[j], how) if a and sets[j] else 0.0
            pair = frozenset((i, j))
            if value < threshold:
                assert pair not in listed
            elif pair in listed:
                assert listed[pair] == value
            else:
                leaders = [lead for lead in found.crowds["leader"].to_pylist() if {i, j}.isdisjoint({lead})]
                assert any(frozenset((i, k)) in listed and frozenset((j, k)) in listed for k in leaders), (i, j, value)


@pytest.mark.parametrize("how", JOINS)
@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_each_pair_is_listed_or_inside_a_crowd(how: str, threshold: float) -> None:
    texts = mixed(160)
    found = neardup.find(texts, shingle="word:1", threshold=threshold, crowd=60, threads=2, **JOINS[how])
    assert found.summary.crowds >= 2
    assert found.summary.crowd_documents >= 200
    assert found.pairs.num_rows < 6000
    hold_against_all_pairs(word_sets(texts), found, how, threshold, 60)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.frozensets(st.integers(0, 14), min_size=1, max_size=12), max_size=60),
    st.sampled_from([0.2, 0.5, 0.6, 0.8, 1.0]),
    st.sampled_from(list(JOINS)),
    st.integers(2, 6),
    st.sampled_from([None, 1, 30]),
    st.randoms(use_true_random=False),
)
def test_whatever_is_taken_for_a_crowd_no_pair_is_lost(rows, threshold, how, limit, fit, chosen) -> None:
    """With any documents for leaders, in any pieces: what may lead decides about time only."""

    def any_of(collection, rows, weight, keys):
        some = rows[[i for i in range(rows.size) if chosen.random() < 0.4]]
        return some, crowds.np.arange(some.size + 1)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(crowds, "samples", any_of)
        patched.setattr(common.JoinWork, "fit", fit)
        found = neardup.find(
            [sorted(row) for row in rows], shingle="item", threshold=threshold, crowd=limit, threads=1, **JOINS[how]
        )
    if found.summary.exact_copies == 0:
        hold_against_all_pairs(rows, found, how, threshold, limit)


@pytest.mark.parametrize("how", JOINS)
def test_neither_threads_nor_memory_nor_pieces_change_a_crowd(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = mixed(300)
    options: dict[str, Any] = {"threshold": 0.8, "shingle": "char:5", "crowd": 50, **JOINS[how]}
    whole = neardup.find(texts, threads=1, **options)
    assert whole.summary.crowds >= 2
    threaded = neardup.find(texts, threads=3, **options)
    monkeypatch.setattr(Budget, "of", classmethod(lambda cls, limit: Budget(900_000, 700_000)))
    small = neardup.find(texts, threads=2, workdir=tmp_path / "work", block=50, **options)
    assert small.summary.spooled > 0
    for other in (threaded, small):
        for table in ("pairs", "clusters", "crowds"):
            assert as_bytes(getattr(other, table)) == as_bytes(getattr(whole, table))


@pytest.mark.parametrize("how", JOINS)
def test_the_order_of_the_input_changes_no_crowd(how: str) -> None:
    texts = near_copies(150) + near_copies(90, seed=5)
    named = list(enumerate(texts))
    options: dict[str, Any] = {"threshold": 0.8, "crowd": 50, **JOINS[how]}
    found = neardup.find(named, **options)
    random.Random(4).shuffle(named)
    again = neardup.find(named, **options)
    assert pair_map(again.pairs) == pair_map(found.pairs)
    assert sorted(again.crowds.to_pylist(), key=str) == sorted(found.crowds.to_pylist(), key=str)
    assert groups(again.clusters) == groups(found.clusters)


@pytest.mark.parametrize("how", JOINS)
def test_near_copies_cost_a_step_each_and_not_one_for_each_pair(how: str) -> None:
    for number in (1500, 3000):
        found = neardup.find(near_copies(number), threshold=0.8, **JOINS[how])
        assert found.crowds["documents"].to_pylist() == [number]
        assert found.pairs.num_rows == number - 1
        assert found.summary.checked < number
        assert found.summary.candidates < 20 * number
        (members,) = crowd_members(found.crowds, found.pairs).values()
        assert members == set(range(number))


@pytest.mark.parametrize("how", JOINS)
def test_up_to_the_limit_and_without_one_all_pairs_are_listed(how: str) -> None:
    texts = near_copies(200)
    for crowd in (0, 200, 1000):
        found = neardup.find(texts, threshold=0.8, crowd=crowd, **JOINS[how])
        assert found.summary.crowds == 0
        assert found.pairs.num_rows == 200 * 199 // 2
    assert neardup.find(texts, threshold=0.8, crowd=199, **JOINS[how]).pairs.num_rows == 199


@pytest.mark.parametrize("how", JOINS)
def test_documents_of_a_crowd_are_counted_with_their_copies(how: str) -> None:
    texts = [text for text in near_copies(20) for _ in range(4)]
    found = neardup.find(texts, threshold=0.8, crowd=50, **JOINS[how])
    assert found.crowds["documents"].to_pylist() == [80]
    assert found.pairs.num_rows == 79
    once = neardup.find(texts, threshold=0.8, crowd=50, collapse_exact=True, **JOINS[how])
    assert once.summary.crowds == 0
    assert once.pairs.num_rows == 20 * 19 // 2


def test_zero_lists_every_pair_under_banding_too() -> None:
    found = neardup.find(["one text that all have"] * 1200, crowd=0)
    assert found.summary.crowds == 0
    assert found.pairs.num_rows == 1200 * 1199 // 2


def test_the_pairs_between_two_collections_are_all_listed() -> None:
    texts = near_copies(120)
    found = neardup.find(texts[:60], against=texts[60:], threshold=0.8, crowd=10)
    assert found.pairs.num_rows == 60 * 60


def test_a_clean_collection_keeps_one_of_a_crowd_that_was_joined() -> None:
    kept, removed = neardup.dedup(near_copies(150), threshold=0.8, crowd=50, exact=True)
    assert len(kept) == 1
    assert removed.num_rows == 149


@pytest.mark.parametrize("value", [-1, 1, True, 2.0, "many"])
def test_other_limits_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="or 0 to list every pair"):
        neardup.find(["a text"], crowd=value)


@pytest.mark.parametrize("how", ["--exact", "--measure=containment"])
def test_the_command_names_joined_crowds_and_lists_all_pairs_when_told_to(how: str, tmp_path: Path) -> None:
    pages = tmp_path / "pages.txt"
    pages.write_text("\n".join(near_copies(80)), "utf-8")

    def run(crowd: int) -> Result:
        options = ["--input-format", "lines", how, "--crowd", str(crowd), "--format", "csv"]
        return CliRunner().invoke(main, ["find", str(pages), *options], catch_exceptions=False)

    starred = run(50)
    assert len(starred.stdout.splitlines()) == 1 + 79
    assert "1 of 80 documents in all, listed as stars" in starred.stderr
    everything = run(0)
    assert len(everything.stdout.splitlines()) == 1 + 80 * 79 // 2
    assert "crowds" not in everything.stderr
