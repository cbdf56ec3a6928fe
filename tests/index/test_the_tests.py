"""The oracle against the other oracles, and the state machine against indexes that are known to be wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from tests.index.test_state_machine import Machine
from tests.index.workload import GROUPS, MEMBERS, VERSIONS, answer
from tests.oracles.index import NaiveIndex
from tests.oracles.pairs import naive_pairs
from tests.oracles.text import collection

from neardup import Index

TEXTS = st.lists(st.text(alphabet="ab é\u0301", max_size=8), max_size=10)


@given(TEXTS, st.sampled_from([0.3, 0.5, 0.8, 1.0]), st.sampled_from(["char:2", "word:1"]))
def test_the_naive_index_answers_what_comparing_every_pair_finds(
    texts: list[str], threshold: float, shingle: str
) -> None:
    naive = NaiveIndex(threshold, shingle)
    naive.add(range(len(texts)), texts)
    expected = naive_pairs(collection(texts, shingle), threshold)
    assert naive.pairs() == {frozenset(map(str, pair)): similarity for pair, similarity in expected.items()}
    found = {
        (min(asked, id), max(asked, id)): similarity
        for asked, text in enumerate(texts)
        for id, similarity in naive.query(text)
        if id != asked
    }
    assert found == expected


def test_the_versions_of_a_group_are_told_apart() -> None:
    for group in range(GROUPS):
        answers = [answer(group, version) for version in range(VERSIONS)]
        assert all(len(hits) == MEMBERS for hits in answers)
        assert all(answers[i] != answers[j] for i in range(VERSIONS) for j in range(i))


def without_the_third_hit(query: Callable[..., Any]) -> Callable[..., Any]:
    def broken(self: Any, texts: Any, **options: Any) -> Any:
        found = query(self, texts, **options)
        if isinstance(texts, str):
            return found[:2]
        return [hits[:2] + hits[3:] for hits in found]

    return broken


def last_first(place: tuple[int, Any]) -> tuple[float, int]:
    return -place[1].similarity, -place[0]


def with_the_last_of_equals_first(query: Callable[..., Any]) -> Callable[..., Any]:
    def broken(self: Any, texts: Any, **options: Any) -> Any:
        found = query(self, texts, **options)
        if isinstance(texts, str) or options.get("exact") is False:
            return found
        return [[hit for _, hit in sorted(enumerate(hits), key=last_first)] for hits in found]

    return broken


def that_forgets_the_last(remove: Callable[..., Any]) -> Callable[..., Any]:
    def broken(self: Any, ids: Any, **options: Any) -> Any:
        return remove(self, ids[:-1] or ids, **options) if len(ids) > 2 else remove(self, ids, **options)

    return broken


def that_looks_only_at_what_was_there(add_if_new: Callable[..., Any]) -> Callable[..., Any]:
    def broken(self: Any, ids: Any, texts: Any, **options: Any) -> Any:
        told = add_if_new(self, ids, texts, **options)
        for id, text, admission in zip(ids, texts, told, strict=True):
            if admission.match is not None and admission.match.id in ids:
                self.add([id], [text], on_duplicate="skip")
        return told

    return broken


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "breaking"),
    [
        ("query", without_the_third_hit),
        ("query", with_the_last_of_equals_first),
        ("remove", that_forgets_the_last),
        ("add_if_new", that_looks_only_at_what_was_there),
    ],
)
def test_the_machine_sees_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, method: str, breaking: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    monkeypatch.setattr(Index, method, breaking(getattr(Index, method)))
    few = settings(
        max_examples=1000,  # it ends at the first that shows the fault, mostly among the first twenty
        stateful_step_count=25,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=few)
